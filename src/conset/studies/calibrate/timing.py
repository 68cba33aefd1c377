"""Timing: probes executed over MPI, on every rank of a job.

What `conset run` executes, executed again and again.

All exchanges are made first. Then rounds: each has every probe once, in an order drawn anew, so
that drift and the neighbours' noise spread over all of them; the first round is not counted and
says how many fit into the time. A barrier before each probe is outside the clock. The time of a
probe is from the first start to the last end of the ranks that have part in it where all are on one
machine with one clock, else the longest of their own durations.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from conset.base import duration_text
from conset.execution import (
    POLL_INTERVAL_S,
    Exchange,
    Given,
    Plan,
    Result,
    Tell,
    Waiter,
    cores_and_ranks,
    library_name,
    require_ranks,
    times_over_ranks,
)

LEAST, MOST = 3, 25
"""Repetitions that count."""
_UNUSED_TAG = 32000


@dataclass(frozen=True)
class Probed:
    """A probe as a rank needs it.

    Attributes:
        name: of the probe.
        watch: the rank whose end counts; None: the last end.
        late_s: how much later who receives begins [s].
        plan: of the first ranks of the job.
    """

    name: str
    watch: int | None
    late_s: float
    plan: Plan


def time_tasks(comm: MPI.Intracomm, given: Given, tell: Tell) -> Result | None:
    """Executes all probes, round after round; the result on rank 0. The task of `prober`.

    Args:
        comm: at least as many ranks as any plan has.
        given: a plan for each probe by its name. Orders: `tasks`, what else a probe has;
            `budget_s`, of all rounds together, the first included (`LEAST` rounds are made in any
            case); `timeout_s`, of one exchange; `seed`, of the order of probes.
        tell: hears on rank 0 how far it is.

    Raises:
        InputError: fewer ranks than a plan has. ExecutionError: an exchange passed the time-out.
    """
    orders = given.orders
    tasks = [Probed(**task, plan=given.plans[task["name"]]) for task in orders["tasks"]]
    budget_s: float = orders["budget_s"]
    require_ranks(comm, max(task.plan.ranks for task in tasks), "calibration")
    began = time.monotonic()
    cores, local, one_machine = cores_and_ranks(comm)
    waiter = Waiter(POLL_INTERVAL_S if local > cores else 0.0, orders["timeout_s"])
    exchanges = _Exchanges(comm, tasks, waiter)
    retransmitted = _Retransmitted(comm)
    random = np.random.default_rng(orders["seed"])
    rounds, done = 1, 0
    ready = time.monotonic()
    clock: list[np.ndarray[Any, Any]] = []
    again = np.zeros(len(tasks), np.int64)
    first_s = 0.0
    while done <= rounds:
        times = np.empty((2, len(tasks)))
        for place, k in enumerate(random.permutation(len(tasks)).tolist()):
            if comm.rank == 0:
                left_s = (rounds + 1 - done - place / len(tasks)) * first_s
                probe = f"probe {place + 1} of {len(tasks)}"
                tell(
                    0.0,
                    f"round {done} of {rounds}, {probe}, about {duration_text(left_s)} left"
                    if done
                    else f"first round, {probe}",
                )
            sent = retransmitted.count()
            waiter.barrier(comm)
            times[:, k] = exchanges.run(k)
            if done:
                again[k] += retransmitted.count() - sent
        clock.append(times)
        done += 1
        used = time.monotonic() - began
        if done == 1:
            first_s = time.monotonic() - ready
            rounds = int(np.clip((budget_s - used) / max(first_s, 1e-3), LEAST, MOST))
        elif done > LEAST and used + first_s > budget_s:
            rounds = done - 1
        rounds = comm.bcast(rounds)
    waiter.barrier(comm)
    exchanges.close()
    found = exchanges.times(np.stack(clock[1:]), one_machine)
    total = np.zeros_like(again)
    comm.Reduce(again, total, MPI.SUM)
    if comm.rank:
        return None
    return {
        "mpi": library_name(),
        "cores": cores,
        "local_ranks": local,
        "times_s": {task.name: found[:, k].tolist() for k, task in enumerate(tasks)},
        "retransmissions": {task.name: int(total[k]) for k, task in enumerate(tasks)}
        if retransmitted.known
        else {},
        "elapsed_s": time.monotonic() - began,
    }


class _Exchanges:
    """One rank's exchanges of all tasks, on one pair of buffers: no two run at once."""

    def __init__(self, comm: MPI.Intracomm, tasks: Sequence[Probed], waiter: Waiter) -> None:
        self.comm, self.tasks, self.waiter = comm, tasks, waiter
        rank = comm.rank
        parts: dict[int, MPI.Intracomm] = {}
        for ranks in sorted({task.plan.ranks for task in tasks}):
            parts[ranks] = cast(MPI.Intracomm, comm.Split(int(rank >= ranks), rank))
        self._parts = parts
        sizes = [
            (int(t.plan.send_bytes[rank]), int(t.plan.receive_bytes[rank]))
            for t in tasks
            if rank < t.plan.ranks
        ]
        # written, or all of its pages were one page of zeros, in a cache
        send = np.full(max((size for size, _ in sizes), default=0), 1, np.uint8)
        receive = np.zeros(max((size for _, size in sizes), default=0), np.uint8)
        self._exchanges = [
            Exchange(
                parts[task.plan.ranks],
                task.plan,
                send[: int(task.plan.send_bytes[rank])],
                receive[: int(task.plan.receive_bytes[rank])],
                timeout_s=waiter.timeout_s,
                poll_interval_s=waiter.poll_interval_s,
            )
            if rank < task.plan.ranks
            else None
            for task in tasks
        ]
        self._busy = [
            rank < plan.ranks
            and (
                plan.sync.barriers(plan.phases) > 0  # barriers of all, also of who sends nothing
                or any(each.peer[each.of(rank)].size for each in (plan.sends, plan.receives))
            )
            for plan in (task.plan for task in tasks)
        ]

    def run(self, k: int) -> tuple[float, float]:
        """(begin, end) of a task on the clock of this machine [s]."""
        exchange, task = self._exchanges[k], self.tasks[k]
        start = time.monotonic()
        if exchange is None or not self._busy[k]:
            return start, start
        receives = task.plan.receives
        if task.late_s and receives.peer[receives.of(self.comm.rank)].size:
            # inside MPI, as a rank that waits for something else
            while time.monotonic() - start < task.late_s:
                self.comm.Iprobe(tag=_UNUSED_TAG)
                time.sleep(POLL_INTERVAL_S)  # others may need the core
        exchange.exchange()
        return start, time.monotonic()

    def times(self, clock: np.ndarray[Any, Any], one_machine: bool) -> np.ndarray[Any, Any]:
        """shape=(rounds, tasks) [s], on rank 0; `clock` has shape=(rounds, 2, tasks)."""
        busy = np.array(self._busy)
        watched = np.array([task.watch in (None, self.comm.rank) for task in self.tasks])
        own = clock.swapaxes(0, 1).copy()
        own[0, :, ~busy] = np.inf
        own[1, :, ~(busy & watched)] = -np.inf
        return np.maximum(times_over_ranks(self.comm, own, one_machine, self.waiter), 1e-9)

    def close(self) -> None:
        """Frees everything."""
        for exchange in self._exchanges:
            if exchange is not None:
                exchange.close()
        for part in self._parts.values():
            part.Free()


class _Retransmitted:
    """Segments that TCP of this rank's network namespace has sent again.

    Of the ranks in one, the first counts.
    """

    _COUNTERS = Path("/proc/net/snmp")

    def __init__(self, comm: MPI.Intracomm) -> None:
        try:
            here = f"{os.uname().nodename} {os.readlink('/proc/self/ns/net')}"
        except OSError:
            here = ""
        places = comm.allgather(here)
        self._counts = bool(here) and places.index(here) == comm.rank
        self.known = all(places)

    def count(self) -> int:
        """So far; 0 on ranks that do not count."""
        if not self._counts:
            return 0
        try:
            rows = [
                line.split()
                for line in self._COUNTERS.read_text().splitlines()
                if line.startswith("Tcp:")
            ]
            return int(rows[1][rows[0].index("RetransSegs")])
        except (OSError, ValueError, IndexError):
            return 0
