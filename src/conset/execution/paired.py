"""Paired: several plans of one pattern timed beside each other in one job.

And what applications call without a plan.

Problem: which of many ways to send a pattern is fastest, on a network whose state drifts and where
one exchange may take a second. Idea: every repetition runs all contenders, in an order that turns
and is reversed from one to the next, so that what drifts meets all alike and times can be compared
in pairs. Repetitions go on until the intervals of the paired ratios are narrow enough. A contender
that is clearly slower than the best is not repeated further: its place in the order of winners is
known, and time goes to those that are close. Invariant: what was run last is run again only after a
barrier; every received byte of every exchange is checked. Who stops, and who goes on, rank 0
decides from the times over all ranks, and all are told.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from conset.base.errors import InputError
from conset.execution.baselines import Variant, make_baselines, make_exchange
from conset.execution.measure import MeasuredRank, Measurement, Tamper, times_over_ranks
from conset.execution.plan import Plan
from conset.execution.stopping import Race, Stopped, Stopping


@dataclass(frozen=True, kw_only=True)
class PairedMeasurement(Stopped, Measurement):
    """Of contenders; `times_s` is shorter for those that were clearly slower."""


def measure_paired(
    comm: MPI.Intracomm,
    direct: Plan,
    plans: Mapping[str, Plan],
    baselines: Sequence[str],
    stopping: Stopping,
    *,
    fixed: Collection[str] = (),
    timeout_s: float | None = None,
    tamper: Tamper | None = None,
) -> PairedMeasurement | None:
    """Runs plans and baselines in turns as `stopping` says; the result on rank 0.

    A time is what `measure_plan` takes: the last end minus the first start over the ranks of one
    machine, else the longest of the ranks' own. Barriers, filling of buffers and checks stand
    outside the clock.

    Args:
        comm: as many ranks as the plans have.
        direct: every message directly, which says what is where in the buffers; what the baselines
            send.
        plans: by name; all deliver what `direct` does.
        baselines: names that `make_baselines` knows; `naive` among them, which ratios are to.
        stopping: when repetitions end.
        fixed: contenders that are repeated to the end, however slow.
        timeout_s: longest time of one exchange of a plan [s].
        tamper: called after an exchange with its name, the repetition and the receive buffer.

    Raises:
        InputError: sizes of job and plan differ, or a plan has other buffers. ExecutionError: an
            exchange passed the time-out.
    """
    own = MeasuredRank.of(comm, direct, timeout_s, tamper)
    for name, plan in plans.items():
        same = np.array_equal(plan.send_bytes, direct.send_bytes)
        if not same or not np.array_equal(plan.receive_bytes, direct.receive_bytes):
            raise InputError(f"contender {name}: does not send what the others do")
    rank, waiter, buffers = comm.rank, own.waiter, (own.send, own.received)
    variants: dict[str, Variant] = {
        name: make_exchange(comm, plan, *buffers, waiter) for name, plan in plans.items()
    }
    variants |= make_baselines(comm, direct, None, *buffers, waiter, baselines)
    names = list(variants)
    race = Race(names, stopping, frozenset(fixed) | {"naive"})
    going = np.ones(len(names), np.uint8)
    clock = np.zeros((2, len(names)))
    repetition = 0
    began = time.monotonic()
    while going.any():
        for k in _order(np.flatnonzero(going).tolist(), repetition):
            clock[:, k] = own.time(names[k], variants[names[k]], repetition)
        took = times_over_ranks(comm, clock, own.one_machine, waiter)
        if rank == 0:
            going = race.after(repetition, took, going, time.monotonic() - began)
        waiter.begin()
        waiter.wait(comm.Ibcast(going), lambda: f"rank {rank}: waits to hear whether to go on")
        repetition += 1
    measuring_s = time.monotonic() - began
    waiter.barrier(comm)
    for variant in variants.values():
        variant.close()
    facts = own.gather_facts()
    if facts is None:
        return None
    return PairedMeasurement(
        times_s=race.times_s, stopped=race.stopped, measuring_s=measuring_s, **facts
    )


def _order(contenders: list[int], repetition: int) -> list[int]:
    """Turned by a third from one repetition to the next, and reversed in every second."""
    first = repetition * max(1, len(contenders) // 3) % len(contenders)
    order = contenders[first:] + contenders[:first]
    return order if repetition % 2 == 0 else order[::-1]
