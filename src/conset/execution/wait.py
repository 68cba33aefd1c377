"""Waiting for MPI without blocking in it.

Look, yield, nap where ranks exceed cores, give up at a deadline.

MPI libraries poll. With more ranks than cores a rank that waits inside a blocking call burns the
slice that a working one needs (a barrier of 16 ranks on two cores takes several times as long), and
nothing inside it can pass a deadline.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from conset.base.errors import ExecutionError

if TYPE_CHECKING:
    from mpi4py import MPI

POLL_INTERVAL_S = 100e-6
"""Longest nap between two looks where ranks exceed cores [s]."""
_POLLS_PER_CHECK = 16
"""Looks before the first nap, and between two looks at the clock."""
_BOOT, _TIME = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/time")
_SHORTEST_NAP = 8
"""The first nap is that part of the longest: each is twice the one before.

The core's executor naps alike.
"""


class Pending(Protocol):
    """What may have to be waited for: a request of MPI, or a place among the sends in flight."""

    def Test(self) -> bool:  # noqa: N802  as mpi4py has it
        """Whether it has ended, or is free."""


class Waiter:
    """Waits for requests one at a time.

    Attributes:
        poll_interval_s: longest nap between looks [s]; 0 where every rank has a core.
        timeout_s: longest time between `begin` and the end of a wait [s], None: no limit.
    """

    def __init__(self, poll_interval_s: float = 0.0, timeout_s: float | None = None) -> None:
        self.poll_interval_s = poll_interval_s
        self.timeout_s = timeout_s
        self.begin()

    def begin(self) -> None:
        """Starts the deadline's clock."""
        self._began = time.monotonic()

    def wait(self, request: Pending, missing: Callable[[], str]) -> None:
        """Returns when `request` has ended.

        Raises:
            ExecutionError: the deadline has passed; `missing` says what for.
        """
        polls, nap = 0, 0.0
        while not request.Test():
            polls += 1
            if polls <= _POLLS_PER_CHECK or not self.poll_interval_s:
                os.sched_yield()
                nap = self.poll_interval_s / _SHORTEST_NAP
            else:
                time.sleep(nap)
                nap = min(2 * nap, self.poll_interval_s)
            if polls % _POLLS_PER_CHECK == 0 and self.timeout_s is not None:
                waited = time.monotonic() - self._began
                if waited > self.timeout_s:
                    raise ExecutionError(f"{missing()} after {waited:.1f} s")

    def barrier(self, comm: MPI.Comm) -> None:
        """A barrier under a deadline of its own."""
        self.begin()
        self.wait(
            comm.Ibarrier(), lambda: f"rank {comm.rank}: other ranks have not reached the barrier"
        )


def cores_and_ranks(comm: MPI.Comm) -> tuple[int, int, bool]:
    """Cores that the ranks on this machine may use, the number of those ranks.

    And whether they are all ranks.

    Collective. One machine is one running kernel with one CLOCK_MONOTONIC: MPI tells hosts from
    each other, but several of them may be network namespaces or containers that share cores and
    clock. Launchers may bind each rank to a core of its own, so the cores of all ranks are put
    together.
    """
    try:  # the kernel that runs here, in this time namespace
        system = f"{_BOOT.read_text().strip()} {_TIME.stat().st_ino}"
    except OSError:  # another system, or an older one
        system = platform.node()
    here = comm.Split(int.from_bytes(sha256(system.encode()).digest()[:4]) >> 1)
    cores = set[int]().union(*here.allgather(os.sched_getaffinity(0)))
    ranks = here.size
    here.Free()
    return len(cores), ranks, ranks == comm.size
