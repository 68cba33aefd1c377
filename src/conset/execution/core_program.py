"""The core's open program as Python has it.

Its errors as conset's, and buffers kept while they are spooled.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conset import _core
from conset.base.errors import ConsetError, ExecutionError, InputError
from conset.execution.agreement import error_of
from conset.execution.binding import library
from conset.execution.buffers import find_buffer

if TYPE_CHECKING:
    from mpi4py import MPI

NativeProgram = _core.ProgramOfInts | _core.ProgramOfPointers
_NATIVE: dict[int, type[NativeProgram]] = {4: _core.ProgramOfInts, 8: _core.ProgramOfPointers}
"""By the size of a handle [B]."""
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
        mpi = library()  # whose handles are of a size that is known
        make = _NATIVE[MPI._sizeof(MPI.Comm)]
        self._native: NativeProgram | None = _translated(
            lambda: make(
                mpi=mpi,
                comm=MPI._handleof(comm),
                part=part,
                packet_bytes=packet_bytes,
                credits=credits,
                timeout_s=timeout_s,
            )
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

    def told(self, call: Callable[[NativeProgram], Result]) -> Result:
        """What the core says.

        Raises:
            ConsetError: the core's; ExecutionError too where the program is closed. What a function
                of the caller, or a signal's handler, raises passes as it is.
        """
        native = self._native
        if native is None:
            raise _closed()
        return _translated(lambda: call(native))

    def send(self, number: int, elements: Any) -> None:
        """Sends all elements of a buffer on a connection."""
        self._on_buffer("send", number, elements, writable=False)

    def receive(self, number: int, elements: Any) -> None:
        """Fills a buffer from a connection."""
        self._on_buffer("receive", number, elements, writable=True)

    def spool_send(self, number: int, elements: Any) -> None:
        """Queues a buffer to be sent, and keeps it."""
        self._on_buffer("spool_send", number, elements, writable=False)
        self._keep(number, elements)

    def spool_receive(self, number: int, elements: Any) -> None:
        """Queues a buffer to be filled, and keeps it."""
        self._on_buffer("spool_receive", number, elements, writable=True)
        self._keep(number, elements)

    def spool_wait(self, number: int) -> None:
        """Waits for what is spooled on a connection, and gives its buffers back."""
        self.told(lambda native: native.spool_wait(number))
        _give_back(self._spools.pop(number, []))

    def phase_end(self) -> None:
        """Ends the phase; what was spooled in it is given back, if it has ended."""
        try:
            self.told(lambda native: native.phase_end())
        finally:
            if self._native is not None and not self._native.in_phase:
                self._give_all_back()

    def close(self) -> None:
        """Closes the connections."""
        self.told(lambda native: native.close())
        self._native = None
        self._give_all_back()

    def _on_buffer(self, what: str, number: int, elements: Any, *, writable: bool) -> None:
        """Elements may come one by one: as little as can be is done for each."""
        if self._native is None:
            raise _closed()
        try:
            getattr(self._native, what)(number, elements)
        except _core.ProgramFailure as failure:
            raise _error_of(failure) from None
        except (BufferError, TypeError, ValueError):
            _require_elements(elements, writable)
            raise

    def _keep(self, number: int, elements: Any) -> None:
        self._spools.setdefault(number, []).append(memoryview(elements))

    def _give_all_back(self) -> None:
        for memories in self._spools.values():
            _give_back(memories)
        self._spools.clear()


def read_part(path: Path, rank: int, ranks: int) -> _core.RankConnections:
    """What a plan file has for one rank.

    Raises:
        InputError: no such file, none of connections, broken, or of another number of ranks.
    """
    return _translated(lambda: _core.read_connections(str(path), rank, ranks))


def _translated(call: Callable[[], Result]) -> Result:
    try:
        return call()
    except _core.ProgramFailure as failure:
        raise _error_of(failure) from None


def _closed() -> ExecutionError:
    return ExecutionError("the program is closed")


def _error_of(failure: _core.ProgramFailure) -> ConsetError:
    code, text = failure.args
    return error_of(code, text)


def _give_back(memories: list[memoryview]) -> None:
    for memory in memories:
        memory.release()


def _require_elements(given: Any, writable: bool) -> None:
    """Says what is wrong with a buffer that the core does not take; nothing where it is fine.

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
