"""Measure: a plan beside its baselines in one job, paired by repetition, every received byte checked.

Payload: a byte is a function of (source, target, offset from the first byte of the pair), mixed so that a swap of
messages, a shift by any number of bytes or a part in another's place shows; neighbouring bytes are unrelated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.baselines import Variant, make_baselines, make_exchange
from conset.execution.connected import Connected, Opening, slowest_parts
from conset.execution.exchange import require_ranks
from conset.execution.plan import PairRanges, Plan
from conset.execution.wait import POLL_INTERVAL_S, Waiter, cores_and_ranks

_SOURCE, _TARGET = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
Tamper = Callable[[str, int, NDArray[np.uint8]], None]
"""Called after an exchange with its name, the repetition and the receive buffer; tests change a byte."""


def fill_payload(source: int, target: int, size: int) -> NDArray[np.uint8]:
    """shape=(size), uint8: what `source` sends to `target`."""
    words = np.arange(-(-size // 8), dtype=np.uint64)
    words += np.uint64(((source + 1) * _SOURCE + (target + 1) * _TARGET) % 2**64)
    # the finalizer of splitmix64: every bit of the input moves every bit of the output
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words.astype("<u8", copy=False).view(np.uint8)[:size]


def fill_buffer(ranges: PairRanges, size: int, rank: int, *, sending: bool) -> NDArray[np.uint8]:
    """shape=(size), uint8: the whole send buffer of `rank`, or what its receive buffer must be."""
    buffer = np.zeros(size, np.uint8)
    for peer, offset, count in zip(ranges.peer.tolist(), ranges.offset.tolist(), ranges.bytes.tolist(), strict=True):
        source, target = (rank, peer) if sending else (peer, rank)
        buffer[offset : offset + count] = fill_payload(source, target, count)
    return buffer


def describe_wrong(received: NDArray[np.uint8], expected: NDArray[np.uint8], ranges: PairRanges) -> tuple[int, str]:
    """How many bytes are wrong, and the first in words: `byte 17 from rank 5 is 0xab, must be 0x12`."""
    wrong = np.flatnonzero(received != expected)
    if not wrong.size:
        return 0, ""
    at = int(wrong[0])
    k = int(np.flatnonzero((ranges.offset <= at) & (at < ranges.offset + ranges.bytes))[0])
    text = (
        f"byte {at - ranges.offset[k]} from rank {ranges.peer[k]} is {received[at]:#04x}, must be {expected[at]:#04x}"
    )
    return int(wrong.size), text


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
        switch_parts: of a program run through connections: switches, drain [s], synchronization [s] and set-up [s] of
            the slowest rank, a list per repetition; None: it was not.
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
    switch_parts: list[list[float]] | None = None

    def to_object(self) -> dict[str, object]:
        """As a JSON object."""
        return asdict(self)


def measure_plan(
    comm: MPI.Intracomm, plan: Plan, *, direct: Plan | None = None, opening: Opening | None = None,
    ordered: bool = False, repeat: int, timeout_s: float | None = None, tamper: Tamper | None = None,
) -> Measurement | None:  # fmt: skip
    """Runs the plan and every baseline `repeat` times after one repetition that is dropped; the result on rank 0.

    `direct` is what the baselines send (`plan_baseline`), in the same buffers; None: what the plan says. `opening`
    opens the same program of blocks, which then also runs through connections; `ordered`: its patterns have an order.

    The time of a repetition: on one machine, with one clock, the last end minus the first start over the ranks; on
    several the longest of the ranks' own durations. A barrier before each exchange, the filling of buffers and the
    check of bytes stand outside the clock. Even and odd repetitions run the variants in opposite orders.

    Raises:
        InputError: sizes of job and plan differ. ExecutionError: an exchange passed the time-out.
    """
    require_ranks(comm, plan.ranks, "plan")
    rank = comm.rank
    cores, local, one_machine = cores_and_ranks(comm)
    waiter = Waiter(POLL_INTERVAL_S if local > cores else 0.0, timeout_s)
    sends, receives = (plan if direct is None else direct).pair_ranges(rank)
    send = fill_buffer(sends, int(plan.send_bytes[rank]), rank, sending=True)
    expected = fill_buffer(receives, int(plan.receive_bytes[rank]), rank, sending=False)
    received = np.empty_like(expected)
    variants: dict[str, Variant] = {"schedule": make_exchange(comm, plan, send, received, waiter)}
    connected = None
    if opening is not None:
        connected = Connected(opening(comm, timeout_s), sends, receives, send, received, ordered=ordered)
        variants["connections"] = connected
    variants |= make_baselines(comm, plan, direct, send, received, waiter)
    check = _Check(expected, received, receives, rank, tamper)
    clock = np.empty((2, repeat + 1, len(variants)))
    for repetition in range(repeat + 1):
        order = list(enumerate(variants.items()))
        for column, (name, variant) in order if repetition % 2 == 0 else order[::-1]:
            np.bitwise_not(expected, out=received)  # wrong at every place
            if connected is not None and name == "connections":
                connected.prepare()
            waiter.barrier(comm)
            clock[0, repetition, column] = time.monotonic()
            variant.exchange()
            clock[1, repetition, column] = time.monotonic()
            check.compare(name, repetition)
    waiter.barrier(comm)
    parts = None if connected is None else slowest_parts(comm, connected.parts)[1:].tolist()
    for variant in variants.values():
        variant.close()
    times = times_over_ranks(comm, clock, one_machine)
    found = comm.gather((expected.size, check.mismatches, check.first))
    if found is None:
        return None
    return Measurement(
        mpi=library_name(),
        ranks=comm.size,
        cores=cores,
        local_ranks=local,
        one_machine=one_machine,
        times_s={name: times[1:, column].tolist() for column, name in enumerate(variants)},
        bytes_checked=sum(size for size, _, _ in found) * (repeat + 1) * len(variants),
        mismatches=sum(count for _, count, _ in found),
        wrong=[text for _, _, text in found if text],
        switch_parts=parts,
    )


@dataclass
class _Check:
    """Wrong bytes of one rank, counted over exchanges.

    Attributes:
        expected: what must be received.
        received: what is.
        receives: where it comes from.
        rank: this one.
        tamper: called before a comparison.
        mismatches: so far.
        first: the first wrong byte, in words.
    """

    expected: NDArray[np.uint8]
    received: NDArray[np.uint8]
    receives: PairRanges
    rank: int
    tamper: Tamper | None
    mismatches: int = 0
    first: str = ""

    def compare(self, name: str, repetition: int) -> None:
        """Compares what an exchange has delivered."""
        if self.tamper is not None:
            self.tamper(name, repetition, self.received)
        count, text = describe_wrong(self.received, self.expected, self.receives)
        self.mismatches += count
        if count and not self.first:
            self.first = f"rank {self.rank}: {text} ({name}, repetition {repetition})"


def times_over_ranks(comm: MPI.Intracomm, clock: NDArray[np.float64], one_machine: bool) -> NDArray[np.float64]:
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


def library_name() -> str:
    """Name and version of the MPI library."""
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(str(part) for part in version)}"
