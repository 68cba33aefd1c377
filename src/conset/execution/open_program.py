"""Connections are opened as a set, phase after phase, and elements stream through them.

Problem: a program computes while it communicates, element by element, on several connections at
once. Idea: as Feldmann, Stricker and Warfel have it: `instantiate` opens the connections of a
phase, which are then used in any order, and changing the set is a switch. Elements travel in
packets under credits; what moves when is the core's
(`cpp/include/conset/connections/open_program.hpp`). Here are buffers, names, errors and signals.
Invariant: no wait is inside MPI or under Python's lock; Ctrl-C and the deadline end every one.
Reference: Feldmann, Stricker, Warfel, ConSet, sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from conset import _core
from conset.base.errors import UsageError, unknown_name
from conset.execution.agreement import ClosedTogether, agreed
from conset.execution.connection import DIRECTIONS, Connection, Direction, PhaseConnection
from conset.execution.core_program import CoreProgram

if TYPE_CHECKING:
    from mpi4py import MPI

PACKET_BYTES = 4096
CREDITS = 4
MAX_PACKET_BYTES, MAX_CREDITS = 2**30, 2**20


@dataclass(frozen=True)
class Block:
    """A block of a program.

    Attributes:
        name: for people.
        phases: of its schedule.
        repeat: how often it runs before the next block.
        turns: every second repetition runs the phases backwards.
    """

    name: str
    phases: int
    repeat: int
    turns: bool


@dataclass(frozen=True)
class SwitchTimes:
    """Sums of this rank since the program was opened.

    Attributes:
        phases: that have ended.
        switches: from one context to another; the first `instantiate` is none.
        drain_s: until what was under way had arrived and was read [s].
        synchronization_s: waiting for all ranks [s].
        setup_s: closing connections and opening others [s].
        packets: that were sent, end marks included.
        elements: that were sent.
    """

    phases: int
    switches: int
    drain_s: float
    synchronization_s: float
    setup_s: float
    packets: int
    elements: int


class OpenProgram(ClosedTogether):
    """A program whose phases this rank opens, one after the other; of `conset.program_open`.

    A context manager.

    >>> with conset.program_open("x.plan", comm) as program:
    ...     for block, phase in program.steps():
    ...         program.instantiate(block, phase)
    ...         ...
    ...         program.phase_end()

    Attributes:
        comm: a duplicate of the application's communicator.
        blocks: of the program, in the order in which they run.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        part: _core.RankConnections,
        packet_bytes: int,
        credits: int,
        timeout_s: float | None,
    ) -> None:
        """Collective; use `conset.program_open`, which sees to it that parts belong together.

        Args:
            comm: duplicated.
            part: this rank's connections.
            packet_bytes: of elements in a packet [B], the same on all ranks.
            credits: packets of a connection that may be filled, under way or unread, the same on
                all ranks.
            timeout_s: longest time of a wait in which nothing moves [s]; None: no limit.
        """
        from mpi4py import MPI

        self.comm: MPI.Intracomm = comm.Dup()
        self._known: dict[tuple[int, bool], Connection] = {}
        try:
            self.comm.Set_errhandler(MPI.ERRORS_RETURN)
            with agreed(self.comm):
                self._core = CoreProgram(self.comm, part, packet_bytes, credits, timeout_s or 0.0)
        except BaseException:
            self.comm.Free()
            raise
        sizes = np.diff(part.schedule_phases)[part.block_schedule].tolist()
        rows = zip(part.names, sizes, part.repeat.tolist(), part.turns.tolist(), strict=True)
        self.blocks = tuple(
            Block(name, phases, repeat, bool(turns)) for name, phases, repeat, turns in rows
        )

    def phases(self, block: int | str) -> int:
        """How many phases a block has, by its number or name.

        Raises:
            UsageError: no such block.
        """
        return self.blocks[self._number_of(block)].phases

    def connections(self, block: int | str, phase: int) -> tuple[PhaseConnection, ...]:
        """This rank's connections in a phase, in posting order; the phase need not be open.

        Raises:
            UsageError: no such block or phase.
        """
        number = self._number_of(block)
        g = self._core.told(lambda native: native.global_phase(number, phase))
        part = self._core.part
        at = slice(*part.offsets[g : g + 2].tolist())
        columns = (part.peer, part.send, part.order, part.bytes, part.bandwidth, part.latency)
        found = [
            PhaseConnection(peer, DIRECTIONS[send], order, size, rate, time)
            for peer, send, order, size, rate, time in zip(
                *(each[at].tolist() for each in columns), strict=True
            )
        ]
        return tuple(sorted(found, key=lambda each: each.order))

    def steps(self) -> Iterator[tuple[int, int]]:
        """(block, phase) of all that the program runs.

        Blocks again and again, those that turn forth and back.
        """
        for number, block in enumerate(self.blocks):
            for repetition in range(block.repeat):
                phases = range(block.phases)
                yield from (
                    (number, p)
                    for p in (reversed(phases) if block.turns and repetition % 2 else phases)
                )

    def instantiate(self, block: int | str, phase: int) -> None:
        """Opens a phase; all ranks open the same ones in the same order.

        Where it shares its context with the phase before, nothing is waited for. Else this is a
        switch: what was sent is read, all ranks come, connections are closed and opened.

        Raises:
            UsageError: no such block or phase.
            ExecutionError: another phase has not ended, the deadline has passed, or MPI failed.
        """
        number = self._number_of(block)
        self._core.told(lambda native: native.instantiate(number, phase))

    def connection(self, peer: int, direction: Direction) -> Connection:
        """An open connection of the phase.

        Raises:
            UsageError: the phase does not hold it: names block, phase, both ranks with their nodes,
                and a phase that does; or another word than `send` and `receive`. ExecutionError: no
                phase is open.
        """
        if direction not in DIRECTIONS:
            raise unknown_name("direction", str(direction), DIRECTIONS)
        sends = direction == "send"
        number = self._core.told(lambda native: native.connection(peer, sends))
        known = self._known.get((peer, sends))
        if known is None:
            known = self._known[peer, sends] = Connection(self._core, number, peer, direction)
        return known

    def progress(self) -> bool:
        """Goes on with what is spooled, without waiting, and sends packets that are not full.

        False: nothing is left.

        Raises:
            ExecutionError: MPI failed.
        """
        return self._core.told(lambda native: native.progress())

    def phase_end(self) -> None:
        """Ends the phase: all that was sent has left, all that was sent to this rank has been read.

        Raises:
            InputError: elements were not read; the phase has ended.
            ExecutionError: no phase is open, the deadline has passed, or MPI failed.
        """
        self._core.phase_end()

    @property
    def times(self) -> SwitchTimes:
        """Sums of this rank so far."""
        found = self._core.told(lambda native: native.times)
        return SwitchTimes(
            found.phases,
            found.switches,
            found.drain_s,
            found.synchronization_s,
            found.setup_s,
            found.packets,
            found.elements,
        )

    def close(self) -> None:
        """Closes the connections; collective. A closed program stays closed.

        Raises:
            ExecutionError: a phase has not ended.
        """
        if not self._core.closed:
            failed = self._core.failed
            self._core.close()
            if not failed:  # else messages may be under way on it
                self.comm.Free()

    def __repr__(self) -> str:
        state = (
            "closed"
            if self._core.closed
            else f"rank={self._core.part.rank}, ranks={self._core.part.ranks}"
        )
        return f"OpenProgram({state}, blocks={len(self.blocks)})"

    def _number_of(self, block: int | str) -> int:
        if not isinstance(block, str):
            if not 0 <= block < len(self.blocks):
                raise UsageError(f"block {block}: must be from 0 to {len(self.blocks) - 1}")
            return int(block)
        found = [number for number, each in enumerate(self.blocks) if each.name == block]
        if not found:
            raise unknown_name("block", block, [each.name for each in self.blocks])
        if len(found) > 1:
            raise UsageError(
                f"block '{block}': blocks {found[0]} and {found[1]} have this name: give a number"
            )
        return found[0]


def require_packets(packet_bytes: int, credits: int, timeout_s: float | None) -> None:
    """Checks the settings of a program.

    Raises:
        UsageError: one is out of range; names it.
    """
    for name, value, most in (
        ("packet_bytes", packet_bytes, MAX_PACKET_BYTES),
        ("credits", credits, MAX_CREDITS),
    ):
        if not 1 <= value <= most:
            raise UsageError(f"{name} {value}: must be from 1 to {most}", options=[name])
    if timeout_s is not None and not (isfinite(timeout_s) and timeout_s > 0):
        raise UsageError(
            f"timeout_s {timeout_s}: must be above 0, and finite", options=["timeout_s"]
        )
