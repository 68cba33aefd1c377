"""Measure: a plan beside its rivals in one job, paired by repetition, every received byte checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.executor import Executor, require_size
from conset.execution.payload import describe_wrong, fill_buffer
from conset.execution.plan import Plan
from conset.execution.rivals import BASELINES, Exchange
from conset.execution.wait import POLL_INTERVAL_S, Waiter, cores_and_ranks

Tamper = Callable[[str, int, NDArray[np.uint8]], None]
"""Called after an exchange with its name, the repetition and the receive buffer; tests change a byte."""


@dataclass(frozen=True)
class Measurement:
    """What rank 0 has after all repetitions; JSON-ready, so that it can cross between processes.

    Attributes:
        mpi: name and version of the library.
        ranks: size of the job.
        cores: cores of the machine of rank 0 that its ranks may use.
        local_ranks: ranks on the machine of rank 0.
        one_machine: whether that are all.
        times_s: by variant, a time per repetition [s], the first repetition dropped.
        bytes_checked: over ranks, repetitions and variants.
        mismatches: of these.
        wrong: the first wrong byte of each rank that has one, in words.
    """

    mpi: str
    ranks: int
    cores: int
    local_ranks: int
    one_machine: bool
    times_s: dict[str, list[float]]
    bytes_checked: int
    mismatches: int
    wrong: list[str]

    def to_object(self) -> dict[str, object]:
        """As a JSON object."""
        return asdict(self)


def measure_plan(
    comm: MPI.Intracomm, plan: Plan, *, repeat: int, timeout_s: float | None = None, tamper: Tamper | None = None
) -> Measurement | None:
    """Runs the plan and every rival `repeat` times after one repetition that is dropped; the result on rank 0.

    The time of a repetition: on one machine, with one clock, the last end minus the first start over the ranks; on
    several the longest of the ranks' own durations. A barrier before each exchange, the filling of buffers and the
    check of bytes stand outside the clock. Even and odd repetitions run the variants in opposite orders.

    Raises:
        InputError: sizes of job and plan differ. ExecutionError: an exchange passed the time-out.
    """
    require_size(comm, plan)
    rank = comm.rank
    cores, local, one_machine = cores_and_ranks(comm)
    waiter = Waiter(POLL_INTERVAL_S if local > cores else 0.0, timeout_s)
    sends, receives = plan.pair_ranges(rank)
    send = fill_buffer(sends, int(plan.send_bytes[rank]), rank, sending=True)
    expected = fill_buffer(receives, int(plan.receive_bytes[rank]), rank, sending=False)
    received = np.empty_like(expected)
    variants: dict[str, Exchange] = {
        "schedule": Executor(comm, plan, send, received, timeout_s=timeout_s, poll_interval_s=waiter.poll_interval_s)
    }
    variants |= {name: make(comm, plan, send, received, waiter) for name, make in BASELINES.items()}
    clock = np.empty((2, repeat + 1, len(variants)))
    mismatches, first = 0, ""
    for repetition in range(repeat + 1):
        order = list(enumerate(variants.items()))
        for column, (name, variant) in order if repetition % 2 == 0 else order[::-1]:
            np.bitwise_not(expected, out=received)  # wrong at every place
            waiter.barrier(comm)
            clock[0, repetition, column] = time.monotonic()
            variant.exchange()
            clock[1, repetition, column] = time.monotonic()
            if tamper is not None:
                tamper(name, repetition, received)
            count, text = describe_wrong(received, expected, receives)
            mismatches += count
            if count and not first:
                first = f"rank {rank}: {text} ({name}, repetition {repetition})"
    waiter.barrier(comm)
    for variant in variants.values():
        variant.close()
    times = _times(comm, clock, one_machine)
    found = comm.gather((expected.size, mismatches, first))
    if found is None:
        return None
    return Measurement(
        mpi=_library(),
        ranks=comm.size,
        cores=cores,
        local_ranks=local,
        one_machine=one_machine,
        times_s={name: times[1:, column].tolist() for column, name in enumerate(variants)},
        bytes_checked=sum(size for size, _, _ in found) * (repeat + 1) * len(variants),
        mismatches=sum(count for _, count, _ in found),
        wrong=[text for _, _, text in found if text],
    )


def _times(comm: MPI.Intracomm, clock: NDArray[np.float64], one_machine: bool) -> NDArray[np.float64]:
    """shape=(repetitions, variants) [s], over all ranks; CLOCK_MONOTONIC is one clock on one machine only."""
    shape = clock.shape[1:]
    first, last, longest = np.empty(shape), np.empty(shape), np.empty(shape)
    if one_machine:
        comm.Allreduce(clock[0], first, MPI.MIN)
        comm.Allreduce(clock[1], last, MPI.MAX)
        last -= first
        return last
    comm.Allreduce(clock[1] - clock[0], longest, MPI.MAX)
    return longest


def _library() -> str:
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(str(part) for part in version)}"
