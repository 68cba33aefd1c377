"""Connected: a program of blocks run through connections, as one of what `measure_plan` compares.

The same bytes as the program's plan, in the same buffers: what a pair of ranks exchanges is one
range in both, and the connections of the pair carry it piece after piece in the order of the
phases. In a phase everything is spooled in posting order, so all its messages travel interleaved;
then the rank waits for each and ends the phase. Where a pattern has an order between messages, a
rank uses its connections one after the other instead, in posting order: that keeps it.

The first context is open before a time is taken, as a plan's requests are made before: the switches
of an exchange are those between its phases.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset import _core
from conset.execution.baselines import Bytes
from conset.execution.connection import Direction
from conset.execution.core_program import read_part
from conset.execution.open_program import CREDITS, PACKET_BYTES, OpenProgram
from conset.execution.plan import PairRanges

if TYPE_CHECKING:
    from conset.execution.connection_entries import ConnectionEntries


def open_connections(
    comm: MPI.Intracomm, opened: ConnectionEntries | Path, timeout_s: float | None
) -> OpenProgram:
    """Opens the connections of a program, or those in a plan file; collective.

    Like `program_open`, without what 16 ranks need not import.
    """
    if isinstance(opened, Path):
        part = read_part(opened, comm.rank, comm.size)
    else:
        part = _core.RankConnections(**opened.of_rank(comm.rank))
    return OpenProgram(comm, part, PACKET_BYTES, CREDITS, timeout_s)


class Step(NamedTuple):
    """A phase as it is executed: what its connections carry, in posting order."""

    block: int
    phase: int
    moves: list[tuple[int, Direction, Bytes]]


class Connected:
    """All blocks, as often as they repeat, every message through a connection of its phase.

    Attributes:
        parts: of every exchange so far: switches, drain [s], synchronization [s], set-up [s] of
            this rank.
    """

    def __init__(
        self,
        program: OpenProgram,
        sends: PairRanges,
        receives: PairRanges,
        sendbuf: Bytes,
        recvbuf: Bytes,
        *,
        ordered: bool = False,
    ) -> None:
        self._program, self._ordered = program, ordered
        self._steps = _steps(program, {"send": (sends, sendbuf), "receive": (receives, recvbuf)})
        self.parts: list[tuple[int, float, float, float]] = []

    def prepare(self) -> None:
        """Opens the first context; collective."""
        if self._steps:
            self._program.instantiate(self._steps[0].block, self._steps[0].phase)
            self._program.phase_end()

    def exchange(self) -> None:
        """Everything once."""
        program = self._program
        before = self._sums()
        for block, phase, moves in self._steps:
            program.instantiate(block, phase)
            spooled = []
            for peer, direction, view in moves:
                connection = program.connection(peer, direction)
                (connection.spool_send if direction == "send" else connection.spool_receive)(view)
                if self._ordered:
                    connection.spool_wait()
                spooled.append(connection)
            for connection in spooled:
                connection.spool_wait()
            program.phase_end()
        count, *seconds = (after - first for after, first in zip(self._sums(), before, strict=True))
        self.parts.append((int(count), *seconds))  # type: ignore[arg-type]

    def _sums(self) -> tuple[int, float, float, float]:
        times = self._program.times
        return times.switches, times.drain_s, times.synchronization_s, times.setup_s

    def close(self) -> None:
        """Closes the program; collective."""
        self._program.close()


def _steps(program: OpenProgram, ends: dict[Direction, tuple[PairRanges, Bytes]]) -> list[Step]:
    """Every phase in the order of execution, and where its bytes lie."""
    ranges = {
        (direction, peer): begin
        for direction, (pairs, _) in ends.items()
        for peer, begin in _begins(pairs)
    }
    done: dict[tuple[Direction, int], int] = defaultdict(int)
    steps = []
    for block, phase in program.steps():
        moves: list[tuple[int, Direction, Bytes]] = []
        for each in program.connections(block, phase):
            key = each.direction, each.peer
            at = ranges[key] + done[key]
            moves.append((each.peer, each.direction, ends[each.direction][1][at : at + each.bytes]))
            done[key] += each.bytes
        steps.append(Step(block, phase, moves))
    return steps


def _begins(pairs: PairRanges) -> list[tuple[int, int]]:
    """(peer, where its range begins)."""
    return list(zip(pairs.peer.tolist(), pairs.offset.tolist(), strict=True))


def slowest_parts(
    comm: MPI.Intracomm, parts: list[tuple[int, float, float, float]]
) -> NDArray[np.float64]:
    """shape=(exchanges, 4).

    Switches, drain, synchronization and set-up of the slowest rank in each; collective.
    """
    own = np.array(parts, np.float64).reshape(-1, 4)
    most = np.empty_like(own)
    comm.Allreduce(own, most, MPI.MAX)
    return most
