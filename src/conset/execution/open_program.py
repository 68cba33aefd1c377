"""Connections are opened as a set, phase after phase, and elements stream through them.

Problem: a program computes while it communicates, element by element, on several connections at
once.

Idea: as Feldmann, Stricker and Warfel have it: `instantiate` opens the connections of a phase,
which are then used in any order, and changing the set is a switch. Elements travel in packets under
credits; what moves when is the core's (`cpp/include/conset/connections/open_program.hpp`). Here are
buffers, which are kept while they are spooled, names, errors and signals.

Invariant: no wait is inside MPI or under Python's lock; Ctrl-C and the deadline end every one.

Reference: Feldmann, Stricker, Warfel, ConSet, sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import DTypeLike

from conset import _core
from conset.base import Array, ExecutionError, InputError, UsageError, unknown_name
from conset.execution.agreement import ClosedTogether, agreed, error_of
from conset.execution.buffers import by_handle, find_buffer, library

if TYPE_CHECKING:
    from mpi4py import MPI

NativeProgram = _core.ProgramOfInts | _core.ProgramOfPointers
Result = TypeVar("Result")


class CoreProgram:
    """One rank's program in the core; every call of it goes through here.

    Attributes:
        part: this rank's connections.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        part: _core.RankConnections,
        packet_bytes: int,
        credits: int,
        timeout_s: float,
    ) -> None:
        """Local; the program makes no call of MPI yet.

        Args:
            comm: the program's alone.
            part: this rank's connections.
            packet_bytes: of elements in a packet [B].
            credits: packets of a connection that may be filled, under way or unread.
            timeout_s: of a wait in which nothing moves [s]; 0: no limit.
        """
        from mpi4py import MPI

        self.part = part
        self._spools: dict[int, list[memoryview]] = {}
        make = by_handle(_core.ProgramOfInts, _core.ProgramOfPointers)
        with _errors_of_core():
            self._native: NativeProgram | None = make(
                mpi=library(),
                comm=MPI._handleof(comm),
                part=part,
                packet_bytes=packet_bytes,
                credits=credits,
                timeout_s=timeout_s,
            )

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native is None

    @property
    def failed(self) -> bool:
        """Whether a wait was given up, or a call of MPI failed.

        Messages may be left on the communicator.
        """
        return self._native is not None and self._native.failed

    def checked(self, call: Callable[[NativeProgram], Result]) -> Result:
        """What the core says.

        Raises:
            ConsetError: the core's; ExecutionError too where the program is closed. What a function
                of the caller, or a signal's handler, raises passes as it is.
        """
        native = self._open()
        with _errors_of_core():
            return call(native)

    def move(self, what: str, number: int, elements: Any, *, keep: bool = False) -> None:
        """Sends all elements of a buffer on a connection, or fills it; keeps one that is spooled.

        Elements may come one by one: as little as can be is done for each.
        """
        native = self._open()
        try:
            getattr(native, what)(number, elements)
        except _core.ProgramFailure as failure:
            raise error_of(*failure.args) from None
        except (BufferError, TypeError, ValueError):
            if isinstance(elements, int | float | complex) and not what.endswith("receive"):
                self.move(what, number, np.array(elements), keep=keep)
                return
            _require_elements(elements, writable=what.endswith("receive"))
            raise
        if keep:
            self._spools.setdefault(number, []).append(memoryview(elements))

    def spool_wait(self, number: int) -> None:
        """Waits for what is spooled on a connection, and gives its buffers back."""
        self.checked(lambda native: native.spool_wait(number))
        self._give_back([number])

    def phase_end(self) -> None:
        """Ends the phase; what was spooled in it is given back, if it has ended."""
        try:
            self.checked(lambda native: native.phase_end())
        finally:
            if self._native is not None and not self._native.in_phase:
                self._give_back(self._spools)

    def close(self) -> None:
        """Closes the connections."""
        self.checked(lambda native: native.close())
        self._native = None
        self._give_back(self._spools)

    def _open(self) -> NativeProgram:
        if self._native is None:
            raise ExecutionError("the program is closed")
        return self._native

    def _give_back(self, numbers: Iterable[int]) -> None:
        """What was spooled on some connections."""
        for number in tuple(numbers):
            for memory in self._spools.pop(number, ()):
                memory.release()


def read_part(path: Path, rank: int, ranks: int) -> _core.RankConnections:
    """What a plan file has for one rank.

    Raises:
        InputError: no such file, none of connections, broken, or of another number of ranks.
    """
    with _errors_of_core():
        return _core.read_connections(str(path), rank, ranks)


@contextmanager
def _errors_of_core() -> Iterator[None]:
    """Within: what the core finds wrong is an error of conset."""
    try:
        yield
    except _core.ProgramFailure as failure:
        raise error_of(*failure.args) from None


def _require_elements(given: Any, *, writable: bool) -> None:
    """Return what is wrong with a buffer that the core does not take; nothing where it is fine.

    Raises:
        InputError: no contiguous buffer on this machine of numbers or bytes, or a read-only one to
            receive in.
    """
    buffer = find_buffer(given, "elements")
    if buffer.device:
        raise InputError(
            "elements: of a device, which only MPI can reach: packets are put together "
            "on this machine"
        )
    if writable and not buffer.writable:
        raise InputError("elements: must be writable")


Direction = Literal["send", "receive"]
DIRECTIONS: tuple[Direction, Direction] = ("receive", "send")
"""By the flag of an entry that sends."""


@dataclass(frozen=True)
class PhaseConnection:
    """This rank's end of a connection of a phase, whether the phase is open or not.

    Attributes:
        peer: the rank at the other end.
        direction: `send` or `receive`, of this rank.
        order: position in this rank's posting order of the phase, from 0.
        id: as the pattern of the block calls it, else its message's index; the same at both ends.
        bytes: what the pattern sends through it in the phase [B].
        bandwidth_Bps: guaranteed at least [B/s]; infinite: no limit.
        latency_s: of an element, guaranteed at most [s].
    """

    peer: int
    direction: Direction
    order: int
    id: int
    bytes: int
    bandwidth_Bps: float  # noqa: N815
    latency_s: float


class Connection:
    """An open connection, of `OpenProgram.connection`; of use until the phase ends.

    Elements are those of NumPy's dtype, or of the buffer's format; both ends keep to one size of
    elements in a phase.

    Attributes:
        peer: the rank at the other end.
        direction: `send` or `receive`.
    """

    def __init__(self, core: CoreProgram, number: int, peer: int, direction: Direction) -> None:
        self.peer, self.direction = peer, direction
        self._core, self._number = core, number

    def send_elements(self, elements: Any) -> None:
        """Sends all elements of a contiguous array or buffer, or one plain number.

        Which is free again when this returns. A number is sent as NumPy takes it: `float` as
        float64, `int` as int64.

        Waits where the connection has no credits left, until its receiver has read.

        Raises:
            UsageError: the connection receives, or its phase has ended.
            InputError: no contiguous buffer of numbers or bytes, or elements of another size than
                before.
            ExecutionError: the deadline has passed, or MPI failed.
        """
        self._core.move("send", self._number, elements)

    def receive_elements(self, elements: Any) -> None:
        """Fills a contiguous, writable array or buffer with the next elements.

        Waits until they are there.

        Raises:
            UsageError: the connection sends, or its phase has ended.
            InputError: no contiguous buffer that can be written, elements of another size than they
                were sent in, or more of them than the peer has sent in this phase.
            ExecutionError: the deadline has passed, or MPI failed.
        """
        self._core.move("receive", self._number, elements)

    def receive_element(self, dtype: DTypeLike = np.float64) -> Any:
        """Returns the next element, as a plain number; the other end of `send_elements(3.0)`.

        Waits until it is there.

        Args:
            dtype: of the element, as it was sent.

        Raises: as `receive_elements`.
        """
        element = np.empty((), dtype)
        self.receive_elements(element)
        return element.item()

    def send_computed(
        self, count: int, dtype: DTypeLike, producer: Callable[[Array], object]
    ) -> None:
        """Sends `count` elements that `producer` writes straight into packets (systolic).

        Args:
            count: elements.
            dtype: of one.
            producer: called with an array of the next elements, one run after the other; it writes
                all of them and keeps none of the array. It may use other connections. What it
                raises ends the call: the elements of its run are not sent, those before are.

        Raises:
            As `send_elements`; ExecutionError: the producer kept the array.
        """
        element, lent = _lending("send_computed", dtype, producer)
        self._core.checked(
            lambda native: native.send_computed(self._number, count, element.itemsize, lent)
        )

    def receive_apply(
        self, count: int, dtype: DTypeLike, operator: Callable[[Array], object]
    ) -> None:
        """Hands `count` elements to `operator` where they lie in packets.

        As they arrive (systolic).

        Args:
            count: elements.
            dtype: of one.
            operator: called with a read-only array of the next elements, one run after the other,
                at least one; it keeps none of the array. It may use other connections. What it
                raises ends the call: the elements of its run stay unread.

        Raises:
            As `receive_elements`; ExecutionError: the operator kept the array.
        """
        element, lent = _lending("receive_apply", dtype, operator)
        self._core.checked(
            lambda native: native.receive_apply(self._number, count, element.itemsize, lent)
        )

    def spool_send(self, elements: Any) -> None:
        """Sends a buffer in the background of other calls.

        It is the program's until `spool_wait` or `phase_end`.

        Raises: as `send_elements`.
        """
        self._core.move("spool_send", self._number, elements, keep=True)

    def spool_receive(self, elements: Any) -> None:
        """Fills a buffer in the background of other calls.

        It is the program's until `spool_wait` or `phase_end`.

        Raises: as `receive_elements`.
        """
        self._core.move("spool_receive", self._number, elements, keep=True)

    def spool_wait(self) -> None:
        """Returns when all that was spooled on the connection has left, or arrived.

        Raises:
            InputError: more is received than was sent.
            ExecutionError: the deadline has passed, or MPI failed.
        """
        self._core.spool_wait(self._number)

    def __repr__(self) -> str:
        return f"Connection({self.direction}, peer={self.peer})"


def _lending(
    what: str, dtype: DTypeLike, function: Callable[[Array], object]
) -> tuple[np.dtype[Any], Callable[[memoryview], None]]:
    """The type of an element, and `function` with memory of a packet for its array."""
    element = np.dtype(dtype)
    if element.hasobject or not element.itemsize:
        raise InputError(f"{what}: elements of {element}: numbers or bytes required")

    def lent(memory: memoryview) -> None:
        array = np.frombuffer(memory, element)
        watched = ref(array)
        function(array)
        del array
        if watched() is not None:
            raise ExecutionError(
                f"{what}: the function has kept its array, whose memory is a packet's"
            )

    return element, lent


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
        self._known: dict[int, Connection] = {}
        self._phase = 0, 0
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
        g = self._core.checked(lambda native: native.global_phase(number, phase))
        part = self._core.part
        at = slice(*part.offsets[g : g + 2].tolist())
        sizes = part.bytes, part.bandwidth, part.latency
        columns = (part.peer, part.send, part.order, part.id, *sizes)
        found = [
            PhaseConnection(peer, DIRECTIONS[send], *others)
            for peer, send, *others in zip(*(each[at].tolist() for each in columns), strict=True)
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
        self._core.checked(lambda native: native.instantiate(number, phase))
        self._phase = number, phase

    def connection(
        self, peer: int | None = None, direction: Direction | None = None, *, id: int | None = None
    ) -> Connection:
        """An open connection of the phase, by its peer and direction or by its id.

        Raises:
            UsageError: the phase does not hold it: names block, phase, both ranks with their nodes,
                and a phase that does; it holds several of this peer and direction: names their ids;
                another word than `send` and `receive`; a peer and an id. ExecutionError: no phase
                is open.
        """
        if id is not None:
            if peer is not None or direction is not None:
                raise UsageError(f"connection: id {id} beside a peer: one of both required")
            number = self._core.checked(lambda native: native.connection_of(id))
        elif peer is None or direction not in DIRECTIONS:
            raise unknown_name("direction", str(direction), DIRECTIONS)
        else:
            number = self._core.checked(lambda native: native.connection(peer, direction == "send"))
        if number not in self._known:
            end = next(
                each
                for each in self.connections(*self._phase)
                if id == each.id or (peer, direction) == (each.peer, each.direction)
            )
            self._known[number] = Connection(self._core, number, end.peer, end.direction)
        return self._known[number]

    def progress(self) -> bool:
        """Goes on with what is spooled, without waiting, and sends packets that are not full.

        False: nothing is left.

        Raises:
            ExecutionError: MPI failed.
        """
        return self._core.checked(lambda native: native.progress())

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
        found = self._core.checked(lambda native: native.times)
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
