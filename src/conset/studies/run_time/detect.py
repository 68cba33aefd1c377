"""Detect: send, detect, receive, for ranks that do not know who sends to them, as a baseline.

Problem. A rank knows what it sends and nothing of what it receives: it can post no receive and not
say when it is done. Idea. Every message is sent synchronously; a rank looks for what has come,
takes it in and copies it to its place in the
    application's buffer. When its own messages are taken it enters a barrier that does not block;
    when that ends, all ranks' messages are taken, its own receives among them.
Invariant. Two exchanges in turn use two tags: a rank may still be in the barrier of one when
another starts the next. Cost. Nothing to set up; in every exchange a look for each message, a copy
of every byte and a barrier. Reference. Wang and Ranka, Scheduling of unstructured communication on
the Intel iPSC/860, section 3 (busy waiting for
    incoming messages); Hoefler, Siebert and Lumsdaine, Scalable communication protocols for dynamic
    sparse data exchange (the barrier that ends it).
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.run_time import SetupTimes
from conset.execution.wait import Waiter
from conset.studies.run_time.costs import DETECT

Bytes = NDArray[np.uint8]


class SendDetectReceive:
    """Exchanges what every rank sends; what a rank receives lies by source, without gaps."""

    method, sync, phases, times = DETECT, "none", 1, SetupTimes(0, 0, 0)

    def __init__(self, comm: MPI.Intracomm, sends: list[tuple[int, Bytes]], waiter: Waiter) -> None:
        self._comm = comm.Dup()
        self._waiter = waiter
        self._sends = sends
        self.recvbuf: Bytes = np.zeros(0, np.uint8)
        self._tag = 0

    def exchange(self) -> None:
        """Sends, takes in what comes, and copies it to its place."""
        self._waiter.begin()
        round_ = _Round(self._comm, self._tag, self._sends)
        self._waiter.wait(
            round_, lambda: f"rank {self._comm.rank}: other ranks have not taken all messages"
        )
        self._tag = 1 - self._tag
        size = sum(part.size for _, part in round_.found)
        if self.recvbuf.size != size:
            self.recvbuf = np.empty(size, np.uint8)
        np.concatenate(
            [part for _, part in sorted(round_.found, key=lambda pair: pair[0])] or [self.recvbuf],
            out=self.recvbuf,
        )

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


class _Round:
    """One exchange; `Test` takes a step, and says whether it has ended."""

    def __init__(self, comm: MPI.Intracomm, tag: int, sends: list[tuple[int, Bytes]]) -> None:
        self._comm, self._tag = comm, tag
        self._sends = [comm.Issend([part, MPI.BYTE], peer, tag) for peer, part in sends]
        self._receives: list[MPI.Request] = []
        self._barrier: MPI.Request | None = None
        self._status = MPI.Status()
        self.found: list[tuple[int, Bytes]] = []

    def Test(self) -> bool:  # noqa: N802  as mpi4py has it
        while self._comm.Iprobe(MPI.ANY_SOURCE, self._tag, self._status):
            source = self._status.Get_source()
            part = np.empty(self._status.Get_count(MPI.BYTE), np.uint8)
            self._receives.append(self._comm.Irecv([part, MPI.BYTE], source, self._tag))
            self.found.append((source, part))
        if self._barrier is None:
            if MPI.Request.Testall(self._sends):
                self._barrier = self._comm.Ibarrier()
            return False
        return bool(self._barrier.Test() and MPI.Request.Testall(self._receives))
