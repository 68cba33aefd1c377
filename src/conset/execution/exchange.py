"""Exchange: carries out one rank's part of a plan, on buffers that are the caller's.

Problem: move the bytes of a plan in its phases, kept apart as its policy says, again and again.

Idea: every message has a persistent request, made once on a duplicated communicator (the
application's tags cannot meet ours). What is started when, what waits for what and how waiting
looks is the core's: `cpp/include/conset/execution/rank_executor.hpp` describes it, for every
language. Here are buffers, names and errors, and plans that the ranks of a communicator have agreed
to execute.

Invariant: a rank gives its signals before it waits, and waits for nothing but what the graph in
`check` knows: a plan that passes there ends here, eager or rendezvous. No wait is inside MPI.

Cost: one call of MPI to start a message, or less (neighbours are started together), and one or two
to see it end.

Departure: Wang and Ranka wait for all signals of a phase before they send; here a message goes when
its own came.

Reference: Wang and Ranka, Scheduling of unstructured communication on the Intel iPSC/860 (S1 is
`ready`, S2 `none`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from conset.base import ExecutionError, InputError, count_of
from conset.execution.agreement import (
    POLL_INTERVAL_S,
    ClosedTogether,
    agreed,
    cores_and_ranks,
    require_same,
)
from conset.execution.buffers import (
    Buffer,
    Layout,
    NativeExecutor,
    find_buffers,
    make_native,
    rank_items,
)
from conset.execution.plan import Plan, RankPlan, plan_digest

if TYPE_CHECKING:
    from mpi4py import MPI

    from conset import _core

_UNINTERRUPTED_S = 0.05
"""Longest time in the core [s].

Between two of them Python looks for signals (Ctrl-C) and the deadline.
"""


class Exchange(ClosedTogether):
    """One rank's part of a plan over MPI; a context manager that frees its requests.

    >>> with conset.plan(schedule, comm).exchange(sendbuf, recvbuf) as exchange:
    ...     for _ in range(steps):
    ...         exchange.start()
    ...         compute_interior()
    ...         exchange.wait()

    Where bytes lie in the buffers: see `conset.execution.plan`, or the lists of a layout. From
    `start` to the end of `wait` the buffers belong to the exchange. Making and closing one is
    collective over its communicator; several may run at once.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        plan: Plan | RankPlan,
        sendbuf: Any,
        recvbuf: Any,
        *,
        layout: Layout | None = None,
        timeout_s: float | None = None,
        poll_interval_s: float | None = None,
    ) -> None:
        """Makes the requests; what goes wrong on one rank is an error on all, and nothing is sent.

        Args:
            comm: as many ranks as the plan has; duplicated.
            plan: what to execute, or this rank's part of it; one from `make_plan` has been
                checked to end.
            sendbuf: a contiguous array or buffer, of the plan's `send_bytes` of the rank; of
                a device by its `__cuda_array_interface__`, for an MPI library that can reach it.
            recvbuf: the same, writable, of `receive_bytes`; shares no byte with `sendbuf`.
            layout: which rows of the arrays are sent, and where what arrives is put or added; None:
                the arrays are the plan's buffers, byte by byte.
            timeout_s: longest time of one exchange [s]; None: no limit.
            poll_interval_s: longest pause between polls [s]; None: 100 us where ranks on this
                machine exceed cores, else 0.

        Raises:
            InputError: communicator, plan, buffers and layout do not fit each other, on this rank
                or another.
            ExecutionError: MPI made no request.
        """
        with agreed(comm):
            require_ranks(comm, plan.ranks, "plan")
            part = plan if isinstance(plan, RankPlan) else RankPlan(plan, comm.rank)
            native_plan = part.to_core()
            send, receive = find_buffers(sendbuf, recvbuf)
            items = None if layout is None else rank_items(layout, part, send, receive)
            if items is None:
                _require_bytes(part, send, receive)
        if poll_interval_s is None:
            cores, ranks, _ = cores_and_ranks(comm)
            poll_interval_s = POLL_INTERVAL_S if ranks > cores else 0.0
        self.plan = part
        self.poll_interval_s = poll_interval_s
        self.timeout_s = timeout_s
        self._started_s: float | None = None
        self._make(comm.Dup(), native_plan, items, send, receive)

    def _make(
        self,
        comm: MPI.Intracomm,
        plan: _core.RankPlan,
        items: _core.RankItems | None,
        send: Buffer,
        receive: Buffer,
    ) -> None:
        """Makes the requests on `comm`, which the exchange owns and frees where that fails."""
        from mpi4py import MPI

        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.comm: MPI.Intracomm = comm
        self._native: NativeExecutor | None = None
        try:
            with agreed(comm):
                self._native = make_native(comm, plan, items, send, receive)
                try:
                    self._native.prepare()
                except RuntimeError as error:
                    raise self._failed(error) from None
        except BaseException:
            if self._native is not None:
                self._native.release()
            comm.Free()
            raise

    def start(self) -> None:
        """Starts an exchange and returns; it goes on in `progress` and ends in `wait`.

        Raises:
            ExecutionError: the exchange before has not ended, or the exchange is closed.
        """
        native = self._open("start")
        if self._started_s is not None:
            raise ExecutionError("start: the exchange before has not ended, call wait first")
        self._started_s = time.monotonic()
        try:
            native.start()
        except RuntimeError as error:
            raise self._failed(error) from None

    def progress(self) -> bool:
        """Goes on as far as possible without waiting.

        True when nothing of the exchange is left to do but `wait`.

        Raises:
            ExecutionError: no exchange was started, or MPI failed.
        """
        native = self._open("progress")
        self._require_started("progress")
        try:
            return native.progress()
        except RuntimeError as error:
            raise self._failed(error) from None

    def wait(self) -> None:
        """Ends the exchange: the receive buffer is complete, the send buffer free.

        Raises:
            ExecutionError: no exchange was started, or the time-out has passed; names the phase and
                the peers that are missing.
        """
        native = self._open("wait")
        started_s = self._require_started("wait")
        end_s = np.inf if self.timeout_s is None else started_s + self.timeout_s
        try:
            while not native.wait(
                min(_UNINTERRUPTED_S, end_s - time.monotonic()), self.poll_interval_s
            ):
                if time.monotonic() > end_s:
                    waited = time.monotonic() - started_s
                    raise ExecutionError(
                        f"rank {self.comm.rank}: {native.missing()} after {waited:.1f} s"
                    )
        except RuntimeError as error:
            raise self._failed(error) from None
        self._started_s = None

    def exchange(self) -> None:
        """One whole exchange: `start` and `wait`."""
        self.start()
        self.wait()

    def close(self) -> None:
        """Frees the requests and the communicator; collective. A closed exchange stays closed.

        Raises:
            ExecutionError: an exchange is running: its buffers are still MPI's.
        """
        native = self._native
        if native is None:
            return
        if self._started_s is not None:
            raise ExecutionError("close: an exchange is running, call wait first")
        self._native = None
        self._release(native)

    def _release(self, native: NativeExecutor) -> None:
        native.release()
        self.comm.Free()

    def _open(self, what: str) -> NativeExecutor:
        if self._native is None:
            raise ExecutionError(f"{what}: the exchange is closed")
        return self._native

    def _require_started(self, what: str) -> float:
        if self._started_s is None:
            raise ExecutionError(f"{what}: no exchange is running, call start first")
        return self._started_s

    def _failed(self, error: RuntimeError) -> ExecutionError:
        # MPICH prints its stack, a line a call
        return ExecutionError(f"rank {self.comm.rank}: {'; '.join(str(error).splitlines())}")


def require_ranks(comm: MPI.Comm, ranks: int, what: str) -> None:
    """Checks first of all that there are as many ranks as `what`, a plan or a pattern, has.

    Raises:
        InputError: another number; one rank means that launcher and library do not belong together.
    """
    if comm.size != ranks:
        hint = (
            " (a launcher of another MPI library starts every rank alone)" if comm.size == 1 else ""
        )
        raise InputError(
            f"the MPI job has {count_of(comm.size, 'rank')}, the {what} {ranks}: must agree{hint}"
        )


def _require_bytes(plan: RankPlan, send: Buffer, receive: Buffer) -> None:
    """Checks that plain buffers hold what the plan moves, and nothing else.

    A longer one most likely has another layout, such as a block for every rank as `MPI_Alltoall`
    has it, and would be sent from the wrong places.
    """
    for buffer, exact in ((send, plan.send_bytes), (receive, plan.receive_bytes)):
        if buffer.bytes < exact or buffer.bytes > exact > 0:
            raise InputError(
                f"{buffer.name} has {buffer.bytes} bytes: exactly {exact} required, the messages "
                "one after the other, without a block of the rank's own"
            )
        if buffer.device and plan.forwards:
            raise InputError(
                f"{buffer.name}: of a device, which only MPI can reach, but the plan "
                "forwards messages"
            )


class CommPlan:
    """A plan that the ranks of a communicator execute together, each its part.

    Of `conset.plan(schedule, comm)`.

    Attributes:
        comm: the application's communicator.
        part: what this rank executes.
    """

    def __init__(self, comm: MPI.Intracomm, part: RankPlan) -> None:
        self.comm, self.part = comm, part
        self._closed = False

    def exchange(
        self,
        sendbuf: Any,
        recvbuf: Any,
        *,
        layout: Layout | None = None,
        timeout_s: float | None = None,
        poll_interval_s: float | None = None,
    ) -> Exchange:
        """A persistent exchange on these buffers; collective.

        Several may be there, and run, at once.

        Args:
            sendbuf: a contiguous array or buffer, exactly `part.send_bytes`.
            recvbuf: the same, writable, exactly `part.receive_bytes`; shares no byte with
                `sendbuf`.
            layout: which rows of the arrays are sent, and where what arrives is put or added; None:
                the arrays hold messages by target, those received by source, then by index.
            timeout_s: longest time of one exchange [s]; None: no limit.
            poll_interval_s: longest pause between polls [s]; None: by ranks and cores of this
                machine.

        Raises:
            InputError: buffers, layout and plan do not fit each other, on this rank or another.
            ExecutionError: the plan is closed, or MPI made no request.
        """
        if self._closed:
            raise ExecutionError("exchange: the plan is closed")
        return Exchange(
            self.comm,
            self.part,
            sendbuf,
            recvbuf,
            layout=layout,
            timeout_s=timeout_s,
            poll_interval_s=poll_interval_s,
        )

    def close(self) -> None:
        """Makes no more exchanges; those that there are go on."""
        self._closed = True

    def __enter__(self) -> CommPlan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        part = self.part
        return (
            f"CommPlan(rank={part.rank}, ranks={part.ranks}, phases={part.phases}, "
            f"sync={part.sync})"
        )


def plan_on(
    comm: MPI.Intracomm, make: Callable[[], Plan], file: Path | None, settings: str
) -> CommPlan:
    """The plan that `make` makes, on `comm`; collective.

    Of a file rank 0 makes it and gives every rank its part, the others look that theirs is the
    same; of a noun, that every rank has, every rank makes it.

    Args:
        comm: as many ranks as the plan has.
        make: makes the plan, the same on every rank.
        file: of which; None: of a noun.
        settings: what else it depends on.

    Raises:
        ConsetError: what `make` raises on a rank, on every one.
        InputError: plan and communicator, or the plans of ranks, differ.
    """
    require_same(comm, settings, "plan with")
    part, plan = share_parts(comm, file, make, RankPlan, "plan")
    if file is None and plan is not None:
        require_same(comm, plan_digest(plan), "plan of digest")
    return CommPlan(comm, part)


class _OfRanks(Protocol):
    @property
    def ranks(self) -> int: ...


Whole = TypeVar("Whole", bound=_OfRanks)
Part = TypeVar("Part")


def share_parts(
    comm: MPI.Intracomm,
    file: Path | None,
    make: Callable[[], Whole],
    part_of: Callable[[Whole, int], Part],
    what: str,
) -> tuple[Part, Whole | None]:
    """This rank's part of `what`, and the whole where this rank has made it; collective.

    Of a file rank 0 makes it and gives every rank its part, the others check that theirs is the
    same; of an object, that every rank has, every rank makes it.

    Raises:
        ConsetError: what `make` raises on a rank, on every one.
        InputError: a file cannot be read, files differ, or another number of ranks.
    """
    with agreed(comm):
        try:
            content = "" if file is None else sha256(file.read_bytes()).hexdigest()[:16]
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from None
    named = "of a schedule or program" if file is None else f"of a file of digest {content}"
    require_same(comm, named, what)
    whole: Whole | None = None
    with agreed(comm):
        if file is None or comm.rank == 0:
            whole = make()
            require_ranks(comm, whole.ranks, what)
    if file is None:
        assert whole is not None
        return part_of(whole, comm.rank), whole
    parts = None if whole is None else [part_of(whole, rank) for rank in range(comm.size)]
    return comm.scatter(parts), whole
