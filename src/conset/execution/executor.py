"""Executor: carries out one rank's part of a plan, again and again, on buffers that are the caller's.

Problem. Move the bytes of a plan in its phases, kept apart as its policy says.
Idea. Every message has a persistent request, made once on a duplicated communicator (the application's tags cannot
    meet ours). What is started when, what waits for what and how waiting looks is the core's:
    `cpp/include/conset/execution/rank_executor.hpp` says it, for every language. Here are buffers, names and errors.
Invariant. A rank gives its signals before it waits, and waits for nothing but what the graph in `check` knows: a plan
    that passes there ends here, eager or rendezvous. No wait is inside MPI.
Cost. One call of MPI to start a message, or less (neighbours are started together), and one or two to see it end.
Departure. Wang and Ranka wait for all signals of a phase before they send; here a message goes when its own came.
Reference. Wang and Ranka, Scheduling of unstructured communication on the Intel iPSC/860 (S1 is `ready`, S2 `none`).
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import ExecutionError, InputError
from conset.execution.binding import NativeExecutor, make_native
from conset.execution.plan import MAX_BYTES, Copies, Operations, Plan
from conset.execution.wait import POLL_INTERVAL_S, cores_and_ranks
from conset.schedule.sync import KINDS
from conset.units import count_of

if TYPE_CHECKING:
    from mpi4py import MPI

_UNINTERRUPTED_S = 0.05
"""Longest time in the core [s]: between two of them Python looks for signals (Ctrl-C) and the deadline."""


class Executor:
    """One rank's part of a plan over MPI; a context manager that frees its requests.

    >>> with Executor(comm, plan, sendbuf, recvbuf) as executor:
    ...     for _ in range(steps):
    ...         executor.exchange()

    Where bytes lie in the buffers: see `conset.execution.plan`. From `start` to the end of `wait` the buffers belong
    to the exchange. Making and closing an executor is collective over `comm`.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        plan: Plan,
        sendbuf: Any,
        recvbuf: Any,
        *,
        timeout_s: float | None = None,
        poll_interval_s: float | None = None,
    ) -> None:
        """Makes the requests.

        Args:
            comm: as many ranks as the plan has; duplicated.
            plan: what to execute; one from `plan_schedule` has been checked to end.
            sendbuf: contiguous, at least `plan.send_bytes[rank]` bytes.
            recvbuf: contiguous and writable, at least `plan.receive_bytes[rank]` bytes.
            timeout_s: longest time of one exchange [s]; None: no limit.
            poll_interval_s: longest pause between polls [s]; None: 100 us where ranks on this machine exceed cores,
                else 0.

        Raises:
            InputError: communicator, plan and buffers do not fit each other.
            ExecutionError: MPI made no request.
        """
        require_size(comm, plan)
        self.plan = plan
        send = _as_bytes(sendbuf, int(plan.send_bytes[comm.rank]), "sendbuf")
        receive = _as_bytes(recvbuf, int(plan.receive_bytes[comm.rank]), "recvbuf")
        if receive.size and not receive.flags.writeable:
            raise InputError("recvbuf: must be writable")
        if np.may_share_memory(send, receive):
            raise InputError("recvbuf: must not overlap sendbuf, whose bytes would be overwritten before they are sent")
        if poll_interval_s is None:
            cores, ranks, _ = cores_and_ranks(comm)
            poll_interval_s = POLL_INTERVAL_S if ranks > cores else 0.0
        self.poll_interval_s = poll_interval_s
        self.timeout_s = timeout_s
        native_plan = rank_plan(plan, comm.rank)
        self.comm: MPI.Intracomm = comm.Dup()
        self._native: NativeExecutor = make_native(self.comm, native_plan, send, receive)
        self._started_s: float | None = None
        try:
            self._native.prepare()
        except RuntimeError as error:
            self._native.release()
            raise self._failed(error) from None

    def start(self) -> None:
        """Starts an exchange and returns; it goes on in `progress` and ends in `wait`.

        Raises:
            ExecutionError: the exchange before has not ended.
        """
        if self._started_s is not None:
            raise ExecutionError("start: the exchange before has not ended, call wait first")
        self._started_s = time.monotonic()
        try:
            self._native.start()
        except RuntimeError as error:
            raise self._failed(error) from None

    def progress(self) -> bool:
        """Goes on as far as possible without waiting; True when nothing of the exchange is left to do but `wait`."""
        try:
            return self._native.progress()
        except RuntimeError as error:
            raise self._failed(error) from None

    def wait(self) -> None:
        """Ends the exchange: the receive buffer is complete, the send buffer free.

        Raises:
            ExecutionError: the time-out has passed; names the phase and the peers that are missing.
        """
        if self._started_s is None:
            return
        end_s = np.inf if self.timeout_s is None else self._started_s + self.timeout_s
        try:
            while not self._native.wait(min(_UNINTERRUPTED_S, end_s - time.monotonic()), self.poll_interval_s):
                if time.monotonic() > end_s:
                    waited = time.monotonic() - self._started_s
                    raise ExecutionError(f"{self._missing()} after {waited:.1f} s")
        except RuntimeError as error:
            raise self._failed(error) from None
        self._started_s = None

    def exchange(self) -> None:
        """One whole exchange: `start` and `wait`."""
        self.start()
        self.wait()

    def _missing(self) -> str:
        """Who is waited for, in words."""
        missing = self._native.missing()
        causes = [
            f"{what} {', '.join(map(str, dict.fromkeys(peers.tolist())))}"
            for what, peers in (
                ("no data from", missing.data),
                ("no signal from", missing.signals),
                ("data not taken by", missing.taken),
                ("signal not taken by", missing.noticed),
            )
            if peers.size
        ]
        why = "; ".join(causes) or "other ranks not at the barrier"
        return f"rank {self.comm.rank}: {_step_name(self.plan, missing.step)}, sync {self.plan.sync}: {why}"

    def _failed(self, error: RuntimeError) -> ExecutionError:
        return ExecutionError(f"rank {self.comm.rank}: {error}")

    def close(self) -> None:
        """Frees the requests and the communicator; collective.

        Raises:
            ExecutionError: an exchange is running: its buffers are still MPI's.
        """
        if self._started_s is not None:
            raise ExecutionError("close: an exchange is running, call wait first")
        self._native.release()
        if self.comm:
            self.comm.Free()

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # after an error others may never come to a collective call, and running requests cannot be freed
        if kind is None:
            self.close()


def require_size(comm: MPI.Comm, plan: Plan) -> None:
    """Checks first of all that there are as many ranks as the plan has.

    Raises:
        InputError: another number; one rank means that launcher and library do not belong together.
    """
    if comm.size != plan.ranks:
        hint = " (a launcher of another MPI library starts every rank alone)" if comm.size == 1 else ""
        raise InputError(f"the MPI job has {count_of(comm.size, 'rank')}, the plan {plan.ranks}: must agree{hint}")


def _as_bytes(buffer: Any, least: int, what: str) -> NDArray[np.uint8]:
    try:
        array = np.frombuffer(buffer, np.uint8) if memoryview(buffer).nbytes else np.zeros(0, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise InputError(f"{what}: must be one contiguous buffer: {error}") from None
    if array.size < least:
        raise InputError(f"{what} has {array.size} bytes: the plan needs at least {least}")
    return array


def rank_plan(plan: Plan, rank: int) -> _core.RankPlan:
    """One rank's part of a plan, for the core.

    Raises:
        InputError: a transfer is larger than MPI carries.
    """
    sends, receives = plan.sends.of(rank), plan.receives.of(rank)
    need_offsets, needs = np.zeros(0, np.int64), np.zeros(0, np.int32)
    if plan.needs is not None:
        rows = plan.needs.offsets[sends.start : sends.stop + 1]
        need_offsets = rows - rows[0]
        needs = (plan.needs.receive[rows[0] : rows[-1]] - receives.start).astype(np.int32)
    return _core.RankPlan(
        phases=plan.phases,
        sync=KINDS.index(plan.sync.kind),
        every=plan.sync.every,
        in_flight=plan.in_flight or 0,
        sends=_operations(plan.sends, rank),
        receives=_operations(plan.receives, rank),
        work_bytes=0 if plan.work_bytes is None else int(plan.work_bytes[rank]),
        packs=_copies(plan.packs, sends),
        unpacks=_copies(plan.unpacks, receives),
        need_offsets=need_offsets,
        needs=needs,
    )


def _operations(operations: Operations, rank: int) -> _core.RankOperations:
    rows = operations.of(rank)
    if operations.bytes[rows].size and int(operations.bytes[rows].max()) > MAX_BYTES:
        raise InputError(f"rank {rank}: a transfer has {operations.bytes[rows].max()} bytes, MPI carries {MAX_BYTES}")
    work = np.zeros(0, bool) if operations.work is None else operations.work[rows]
    return _core.RankOperations(
        phase=np.ascontiguousarray(operations.phase[rows]),
        peer=np.ascontiguousarray(operations.peer[rows]),
        offset=np.ascontiguousarray(operations.offset[rows]),
        bytes=np.ascontiguousarray(operations.bytes[rows]),
        work=np.ascontiguousarray(work, np.uint8),
    )


def _copies(copies: Copies | None, operations: slice) -> _core.RankCopies | None:
    """Those of the operations of a rank."""
    if copies is None:
        return None
    offsets = copies.offsets[operations.start : operations.stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    return _core.RankCopies(
        offsets=offsets - offsets[0],
        work=np.ascontiguousarray(copies.work[rows], np.uint8),
        source=np.ascontiguousarray(copies.source[rows]),
        target=np.ascontiguousarray(copies.target[rows]),
        bytes=np.ascontiguousarray(copies.bytes[rows]),
    )


def _step_name(plan: Plan, number: int) -> str:
    every = plan.sync.every
    if plan.sync.kind == "none":
        return "all phases"
    return (
        f"phase {number}" if every == 1 else f"phases {number * every} to {min((number + 1) * every, plan.phases) - 1}"
    )
