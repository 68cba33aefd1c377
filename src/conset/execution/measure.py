"""Measure: a plan beside its baselines in one job, paired by repetition, every received byte checked.

Payload: a byte is a function of (source, target, offset from the first byte of the pair), mixed so that a swap of
messages, a shift by any number of bytes or a part in another's place shows; neighbouring bytes are unrelated.

Baselines are what an application would call without a schedule, on the same buffers:

- `naive`: all receives, then all sends, in rank order, one message per pair of ranks; wait for everything.
- `alltoallv`: `MPI_Alltoallv`.
- `neighbor_alltoallv`: `MPI_Neighbor_alltoallv` on a graph communicator of the pairs that there are.

Beside a program they deliver its messages directly, in the same buffers: of building blocks one repetition after the
other. Its `naive` has persistent requests as the program has, for each message one; a rank waits after each repetition.

The two collectives are the library's own blocking calls: how they wait is part of what is compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.exchange import Exchange, require_ranks
from conset.execution.plan import PairRanges, Plan
from conset.execution.wait import POLL_INTERVAL_S, Waiter, cores_and_ranks

_SOURCE, _TARGET = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
Bytes = NDArray[np.uint8]
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


class Variant(Protocol):
    """Anything that delivers the bytes of a plan."""

    def exchange(self) -> None:
        """Delivers everything once."""

    def close(self) -> None:
        """Frees what MPI holds."""


class Naive:
    """Posts everything in rank order, as halo exchanges are mostly written."""

    def __init__(self, comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes, waiter: Waiter) -> None:
        sends, receives = plan.pair_ranges(comm.rank)
        self._comm = comm.Dup()
        self._waiter = waiter
        self._receives = _views(receives, recvbuf)
        self._sends = _views(sends, sendbuf)

    def exchange(self) -> None:
        """Irecv of all, Isend of all, and a look at one after the other until they end."""
        self._waiter.begin()
        requests = [self._comm.Irecv([view, MPI.BYTE], peer) for peer, view in self._receives]
        requests += [self._comm.Isend([view, MPI.BYTE], peer) for peer, view in self._sends]
        for request in requests:
            self._waiter.wait(request, self._missing)

    def _missing(self) -> str:
        return f"rank {self._comm.rank}: naive exchange: messages are missing"

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


_Runs = Sequence[tuple[PairRanges, PairRanges]]
"""What a rank sends and receives, run after run; of a schedule there is one run."""


class Alltoallv:
    """`MPI_Alltoallv` over all ranks, zero counts included; one for each run."""

    def __init__(self, comm: MPI.Intracomm, runs: _Runs, sendbuf: Bytes, recvbuf: Bytes) -> None:
        self._comm = comm.Dup()
        everyone = np.arange(comm.size, dtype=np.int32)
        self._calls = [
            ([sendbuf, *_dense(sends, everyone), MPI.BYTE], [recvbuf, *_dense(receives, everyone), MPI.BYTE])
            for sends, receives in runs
        ]

    def exchange(self) -> None:
        """The collective, run after run."""
        for out, into in self._calls:
            self._comm.Alltoallv(out, into)

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


class NeighborAlltoallv:
    """`MPI_Neighbor_alltoallv` over the pairs that exchange anything; one for each run, zero counts included."""

    def __init__(self, comm: MPI.Intracomm, plan: Plan, runs: _Runs, sendbuf: Bytes, recvbuf: Bytes) -> None:
        to, from_ = (ranges.peer for ranges in plan.pair_ranges(comm.rank))
        self._comm = comm.Create_dist_graph_adjacent(from_.tolist(), to.tolist(), reorder=False)
        self._calls = [
            ([sendbuf, *_dense(sends, to), MPI.BYTE], [recvbuf, *_dense(receives, from_), MPI.BYTE])
            for sends, receives in runs
        ]

    def exchange(self) -> None:
        """The collective, run after run."""
        for out, into in self._calls:
            self._comm.Neighbor_alltoallv(out, into)

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


def _baselines(
    comm: MPI.Intracomm, plan: Plan, direct: Plan | None, send: Bytes, received: Bytes, waiter: Waiter
) -> dict[str, Variant]:
    """By the name in results."""
    if direct is None:
        own, runs = plan, [plan.pair_ranges(comm.rank)]
        naive: Variant = Naive(comm, plan, send, received, waiter)
    else:
        own, phases = direct, range(direct.phases)
        runs = [(PairRanges.of(own.sends, comm.rank, k), PairRanges.of(own.receives, comm.rank, k)) for k in phases]
        naive = _exchange(comm, direct, send, received, waiter)
    return {
        "naive": naive,
        "alltoallv": Alltoallv(comm, runs, send, received),
        "neighbor_alltoallv": NeighborAlltoallv(comm, own, runs, send, received),
    }


def _exchange(comm: MPI.Intracomm, plan: Plan, send: Bytes, received: Bytes, waiter: Waiter) -> Exchange:
    return Exchange(comm, plan, send, received, timeout_s=waiter.timeout_s, poll_interval_s=waiter.poll_interval_s)


def _views(ranges: PairRanges, buffer: Bytes) -> list[tuple[int, Bytes]]:
    columns = zip(ranges.peer.tolist(), ranges.offset.tolist(), ranges.bytes.tolist(), strict=True)
    return [(peer, buffer[offset : offset + size]) for peer, offset, size in columns]


def _dense(ranges: PairRanges, peers: NDArray[np.int32]) -> tuple[list[int], list[int]]:
    """Counts and displacements for `peers`, in rank order and among them all that have any."""
    counts, displacements = np.zeros((2, peers.size), np.int64)
    at = np.searchsorted(peers, ranges.peer)
    counts[at], displacements[at] = ranges.bytes, ranges.offset
    return counts.tolist(), displacements.tolist()


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
    comm: MPI.Intracomm, plan: Plan, *, direct: Plan | None = None, repeat: int, timeout_s: float | None = None,
    tamper: Tamper | None = None,
) -> Measurement | None:  # fmt: skip
    """Runs the plan and every baseline `repeat` times after one repetition that is dropped; the result on rank 0.

    `direct` is what the baselines send (`plan_baseline`), in the same buffers; None: what the plan says.

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
    variants: dict[str, Variant] = {"schedule": _exchange(comm, plan, send, received, waiter)}
    variants |= _baselines(comm, plan, direct, send, received, waiter)
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
    times = times_over_ranks(comm, clock, one_machine)
    found = comm.gather((expected.size, mismatches, first))
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
    )


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
