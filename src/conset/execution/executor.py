"""Executor: carries out one rank's part of a plan, again and again, on buffers that are the caller's.

Problem. Move the bytes of a plan in its phases, kept apart as its policy says.
Idea. Every message has a persistent request, made once on a duplicated communicator (the application's tags cannot
    meet ours) and started one by one in phase order: messages of one pair do not overtake, so one tag is enough. A rank
    goes from step to step, a step being all that it does between two of its waits, and starts the receives of a step
    first: no more are ever posted than those of one step (`conset.schedule.posting` counts them).
    `none`: one step: start all receives, then all sends, wait at the end.
    `local`: a step a phase: start its receives and sends, wait for both.
    `ready`: also signal the sources of a phase once its receives are posted; a send starts after its target's signal.
    `barrier:k`: a step is a group of k phases; its receives are posted before the barrier that it begins with, so
    every message is expected. Ranks without a message in a group take part in its barrier.
    Sends start in posting order, one that may not start yet holds those behind it. With N sends in flight at most N
    have started and not ended: whichever ends first (locally, as `MPI_Test` says) makes place for the next.
Invariant. A rank gives its signals before it waits, and waits for nothing but what the graph in `check` knows: a plan
    that passes there ends here, eager or rendezvous. No wait is inside MPI.
Cost. Some 0.5 us a message above MPI's own (Start and Test from Python).
Departure. Wang and Ranka wait for all signals of a phase before they send; here a message goes when its own came.
Reference. Wang and Ranka, Scheduling of unstructured communication on the Intel iPSC/860 (S1 is `ready`, S2 `none`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import ExecutionError, InputError
from conset.execution.plan import MAX_BYTES, Operations, Plan
from conset.execution.wait import POLL_INTERVAL_S, Pending, Waiter, cores_and_ranks
from conset.units import count_of

if TYPE_CHECKING:
    from mpi4py import MPI

_DATA, _SIGNAL = 1, 2


class _Slots:
    """The sends that a rank has open, at most `count`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._open: list[MPI.Prequest] = []

    def take(self, request: MPI.Prequest) -> None:
        """A slot for a send that starts now; there must be one."""
        self._open.append(request)

    def Test(self) -> bool:  # noqa: N802
        """Whether there is a slot: at the first send that has ended, the oldest first."""
        if len(self._open) < self._count:
            return True
        for k, request in enumerate(self._open):
            if request.Test():
                del self._open[k]
                return True
        return False


@dataclass
class _Step:
    """What a rank does between two of its waits; lists run over its operations in posting order."""

    name: str
    sends: list[MPI.Prequest] = field(default_factory=list)
    receives: list[MPI.Prequest] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    signals_out: list[MPI.Prequest] = field(default_factory=list)
    signals_in: list[MPI.Prequest] = field(default_factory=list)


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
            poll_interval_s: pause between polls [s]; None: 100 us where ranks on this machine exceed cores, else 0.

        Raises:
            InputError: communicator, plan and buffers do not fit each other.
        """
        require_size(comm, plan)
        self.plan = plan
        self._send = _as_bytes(sendbuf, int(plan.send_bytes[comm.rank]), "sendbuf")
        self._receive = _as_bytes(recvbuf, int(plan.receive_bytes[comm.rank]), "recvbuf")
        if self._receive.size and not self._receive.flags.writeable:
            raise InputError("recvbuf: must be writable")
        if np.may_share_memory(self._send, self._receive):
            raise InputError("recvbuf: must not overlap sendbuf, whose bytes would be overwritten before they are sent")
        if poll_interval_s is None:
            cores, ranks, _ = cores_and_ranks(comm)
            poll_interval_s = POLL_INTERVAL_S if ranks > cores else 0.0
        self.waiter = Waiter(poll_interval_s, timeout_s)
        self.comm: MPI.Intracomm = comm.Dup()
        self._empty = bytearray(1)
        self._steps = self._make_steps()
        self._running: Iterator[Pending] | None = None
        self._pending: Pending | None = None
        self._step = self._steps[0] if self._steps else _Step("")

    def _make_steps(self) -> list[_Step]:
        from mpi4py import MPI

        plan, rank, sync = self.plan, self.comm.rank, self.plan.sync
        sends, receives = (_rows(operations, rank) for operations in (plan.sends, plan.receives))
        if sync.kind in ("none", "barrier"):
            # groups without a message of this rank stay in the list: it takes part in their barriers
            numbers = list(range(sync.groups(plan.phases)))
        else:
            numbers = sorted({row[0] for row in (*sends, *receives)})
        steps = {number: _Step(_step_name(plan, number)) for number in numbers}
        for phase, peer, offset, size in receives:
            step = steps[0 if sync.kind == "none" else phase // sync.every]
            step.sources.append(peer)
            step.receives.append(self.comm.Recv_init([self._receive[offset : offset + size], MPI.BYTE], peer, _DATA))
            if sync.kind == "ready":
                step.signals_out.append(self.comm.Send_init([self._empty, 0, MPI.BYTE], peer, _SIGNAL))
        for phase, peer, offset, size in sends:
            step = steps[0 if sync.kind == "none" else phase // sync.every]
            step.targets.append(peer)
            step.sends.append(self.comm.Send_init([self._send[offset : offset + size], MPI.BYTE], peer, _DATA))
            if sync.kind == "ready":
                step.signals_in.append(self.comm.Recv_init([self._empty, 0, MPI.BYTE], peer, _SIGNAL))
        return list(steps.values())

    def _protocol(self) -> Iterator[Pending]:
        """The exchange; yields what must end, or be free, before it goes on."""
        steps, barriers = self._steps, self.plan.sync.kind == "barrier"
        for index, step in enumerate(steps):
            _post_receives(step)
            if barriers and index:
                yield self.comm.Ibarrier()
            self._step = step
            for request in step.signals_out:
                request.Start()
            slots = None if self.plan.in_flight is None else _Slots(self.plan.in_flight)
            for k, request in enumerate(step.sends):
                if step.signals_in:
                    yield step.signals_in[k]
                if slots is not None:
                    yield slots
                    slots.take(request)
                request.Start()
            yield from step.receives
            yield from step.sends
        for step in steps:
            self._step = step
            yield from step.signals_out

    def start(self) -> None:
        """Starts an exchange and returns; it goes on in `progress` and ends in `wait`.

        Raises:
            ExecutionError: the exchange before has not ended.
        """
        if self._running is not None:
            raise ExecutionError("start: the exchange before has not ended, call wait first")
        self.waiter.begin()
        self._running = self._protocol()
        self._pending = next(self._running, None)
        self.progress()

    def progress(self) -> bool:
        """Goes on as far as possible without waiting; True when nothing of the exchange is left to do but `wait`."""
        while self._running is not None and self._pending is not None:
            if not self._pending.Test():
                return False
            self._pending = next(self._running, None)
        return True

    def wait(self) -> None:
        """Ends the exchange: the receive buffer is complete, the send buffer free.

        Raises:
            ExecutionError: the time-out has passed; names the phase and the peers that are missing.
        """
        if self._running is None:
            return
        for request in () if self._pending is None else (self._pending,):
            self.waiter.wait(request, self._missing)
        for request in self._running:
            self.waiter.wait(request, self._missing)
        self._running = self._pending = None

    def exchange(self) -> None:
        """One whole exchange: `start` and `wait`."""
        self.start()
        self.wait()

    def _missing(self) -> str:
        """Who is waited for, in words."""
        step = self._step

        def open_ones(requests: list[MPI.Prequest], peers: list[int]) -> str:
            left = [peer for request, peer in zip(requests, peers, strict=True) if not request.Test()]
            return ", ".join(str(peer) for peer in dict.fromkeys(left))

        causes = [
            f"{what} {peers}"
            for what, peers in (
                ("no data from", open_ones(step.receives, step.sources)),
                ("no signal from", open_ones(step.signals_in, step.targets) if step.signals_in else ""),
                ("data not taken by", open_ones(step.sends, step.targets)),
            )
            if peers
        ]
        why = "; ".join(causes) or "other ranks not at the barrier"
        return f"rank {self.comm.rank}: {step.name}, sync {self.plan.sync}: {why}"

    def close(self) -> None:
        """Frees the requests and the communicator; collective.

        Raises:
            ExecutionError: an exchange is running: its buffers are still MPI's.
        """
        if self._running is not None:
            raise ExecutionError("close: an exchange is running, call wait first")
        for step in self._steps:
            for request in (*step.sends, *step.receives, *step.signals_out, *step.signals_in):
                request.Free()
        self._steps = []
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


def _post_receives(step: _Step) -> None:
    for request in (*step.receives, *step.signals_in):
        request.Start()


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


def _rows(operations: Operations, rank: int) -> list[tuple[int, int, int, int]]:
    """(phase, peer, offset, bytes) of one rank's operations."""
    rows = operations.of(rank)
    if operations.bytes[rows].size and int(operations.bytes[rows].max()) > MAX_BYTES:
        raise InputError(f"rank {rank}: a transfer has {operations.bytes[rows].max()} bytes, MPI carries {MAX_BYTES}")
    columns = (operations.phase, operations.peer, operations.offset, operations.bytes)
    return list(zip(*(column[rows].tolist() for column in columns), strict=True))


def _step_name(plan: Plan, number: int) -> str:
    every = plan.sync.every
    if plan.sync.kind == "none":
        return "all phases"
    return (
        f"phase {number}" if every == 1 else f"phases {number * every} to {min((number + 1) * every, plan.phases) - 1}"
    )
