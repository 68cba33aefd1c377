"""A plan beside its baselines in one job, paired by repetition, every received byte checked.

What every measurement of a rank has stands here too (`MeasuredRank`): buffers, the clock around an
exchange, the check.

Payload: a byte is a function of (source, target, offset from the first byte of the pair), mixed so
that a swap of messages, a shift by any number of bytes or a part in another's place shows;
neighbouring bytes are unrelated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.baselines import Alltoall, Variant, make_baselines, make_exchange
from conset.execution.connected import Connected, Opening, slowest_parts
from conset.execution.exchange import require_ranks
from conset.execution.job_progress import Tell, nobody
from conset.execution.plan import PairRanges, Plan
from conset.execution.wait import POLL_INTERVAL_S, Waiter, cores_and_ranks

_SOURCE, _TARGET = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
Tamper = Callable[[str, int, NDArray[np.uint8]], None]
"""Called after an exchange with its name, the repetition and the receive buffer.

Tests change a byte.
"""


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
    for peer, offset, count in zip(
        ranges.peer.tolist(), ranges.offset.tolist(), ranges.bytes.tolist(), strict=True
    ):
        source, target = (rank, peer) if sending else (peer, rank)
        buffer[offset : offset + count] = fill_payload(source, target, count)
    return buffer


def describe_wrong(
    received: NDArray[np.uint8], expected: NDArray[np.uint8], ranges: PairRanges
) -> tuple[int, str]:
    """How many bytes are wrong, and the first in words.

    `byte 17 from rank 5 is 0xab, must be 0x12`.
    """
    wrong = np.flatnonzero(received != expected)
    if not wrong.size:
        return 0, ""
    at = int(wrong[0])
    k = int(np.flatnonzero((ranges.offset <= at) & (at < ranges.offset + ranges.bytes))[0])
    text = (
        f"byte {at - ranges.offset[k]} from rank {ranges.peer[k]} is {received[at]:#04x}, must "
        f"be {expected[at]:#04x}"
    )
    return int(wrong.size), text


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What rank 0 has at the end; JSON-ready, so that it can cross between processes.

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

    def to_object(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class PlanMeasurement(Measurement):
    """Of a plan beside its baselines.

    Attributes:
        switch_parts: of a program run through connections: switches, drain [s], synchronization [s]
            and set-up [s] of the slowest rank, a list per repetition; None: it was not.
    """

    switch_parts: list[list[float]] | None


def measure_plan(
    comm: MPI.Intracomm,
    plan: Plan,
    *,
    direct: Plan | None = None,
    opening: Opening | None = None,
    ordered: bool = False,
    repeat: int,
    timeout_s: float | None = None,
    tell: Tell = nobody,
    tamper: Tamper | None = None,
) -> PlanMeasurement | None:
    """Runs the plan and every baseline `repeat` times after one repetition that is dropped.

    The result on rank 0.

    `direct` is what the baselines send (`plan_baseline`), in the same buffers; None: what the plan
    says. `opening` opens the same program of blocks, which then also runs through connections;
    `ordered`: its patterns have an order. `tell` hears on rank 0 how much is done.

    The time of a repetition: on one machine, with one clock, the last end minus the first start
    over the ranks; on several the longest of the ranks' own durations. A barrier before each
    exchange, the filling of buffers and the check of bytes stand outside the clock. Even and odd
    repetitions run the variants in opposite orders.

    Raises:
        InputError: sizes of job and plan differ. ExecutionError: an exchange passed the time-out.
    """
    own = MeasuredRank.of(comm, plan if direct is None else direct, timeout_s, tamper)
    buffers = own.send, own.received
    variants: dict[str, Variant] = {"schedule": make_exchange(comm, plan, *buffers, own.waiter)}
    connected = None
    if opening is not None:
        connected = Connected(
            opening(comm, timeout_s), own.sends, own.check.receives, *buffers, ordered=ordered
        )
        variants["connections"] = connected
    variants |= make_baselines(comm, plan, direct, *buffers, own.waiter)
    clock = np.empty((2, repeat + 1, len(variants)))
    for repetition in range(repeat + 1):
        order = list(enumerate(variants.items()))
        for place, (column, (name, variant)) in enumerate(
            order if repetition % 2 == 0 else order[::-1]
        ):
            tell((repetition + place / len(order)) / (repeat + 1), "")
            clock[:, repetition, column] = own.time(name, variant, repetition)
    own.waiter.barrier(comm)
    parts = None if connected is None else slowest_parts(comm, connected.parts)[1:].tolist()
    for variant in variants.values():
        variant.close()
    times = times_over_ranks(comm, clock, own.one_machine, own.waiter)
    facts = own.gather_facts()
    if facts is None:
        return None
    by_name = {name: times[1:, column].tolist() for column, name in enumerate(variants)}
    return PlanMeasurement(times_s=by_name, switch_parts=parts, **facts)


@dataclass
class ByteCheck:
    """Wrong bytes of one rank, counted over exchanges.

    Attributes:
        expected: what must be received.
        receives: where it comes from.
        rank: this one.
        tamper: called before a comparison.
        checked: bytes compared so far.
        mismatches: of these.
        first: the first wrong byte, in words.
    """

    expected: NDArray[np.uint8]
    receives: PairRanges
    rank: int
    tamper: Tamper | None
    checked: int = 0
    mismatches: int = 0
    first: str = ""

    def spoil(self, received: NDArray[np.uint8]) -> None:
        """Makes a receive buffer wrong at every place."""
        np.bitwise_not(self.expected[: received.size], out=received)

    def compare(self, name: str, repetition: int, received: NDArray[np.uint8]) -> None:
        """Compares what an exchange has delivered, all of which is wrong where its size is."""
        if self.tamper is not None:
            self.tamper(name, repetition, received)
        if received.size == self.expected.size:
            count, text = describe_wrong(received, self.expected, self.receives)
        else:
            count, text = (
                self.expected.size,
                f"received {received.size} bytes, must be {self.expected.size}",
            )
        self.checked += self.expected.size
        self.mismatches += count
        if count and not self.first:
            self.first = f"rank {self.rank}: {text} ({name}, repetition {repetition})"


@dataclass(frozen=True)
class MeasuredRank:
    """One rank of a measurement: where it runs, how it waits, its buffers and their check.

    Attributes:
        comm: of all ranks.
        cores: of this machine that its ranks may use.
        local_ranks: on this machine.
        one_machine: whether that are all.
        waiter: naps where ranks exceed cores.
        sends: what lies where in the send buffer.
        send: the send buffer.
        received: the receive buffer.
        check: of what is received.
    """

    comm: MPI.Intracomm
    cores: int
    local_ranks: int
    one_machine: bool
    waiter: Waiter
    sends: PairRanges
    send: NDArray[np.uint8]
    received: NDArray[np.uint8]
    check: ByteCheck

    @staticmethod
    def of(
        comm: MPI.Intracomm, direct: Plan, timeout_s: float | None, tamper: Tamper | None
    ) -> MeasuredRank:
        """Fills the buffers of a plan that sends every message directly.

        Raises:
            InputError: sizes of job and plan differ.
        """
        require_ranks(comm, direct.ranks, "plan")
        sends, receives = direct.pair_ranges(comm.rank)
        send = fill_buffer(sends, int(direct.send_bytes[comm.rank]), comm.rank, sending=True)
        expected = fill_buffer(
            receives, int(direct.receive_bytes[comm.rank]), comm.rank, sending=False
        )
        return MeasuredRank.with_buffers(
            comm, timeout_s, sends, send, ByteCheck(expected, receives, comm.rank, tamper)
        )

    @staticmethod
    def with_buffers(
        comm: MPI.Intracomm,
        timeout_s: float | None,
        sends: PairRanges,
        send: NDArray[np.uint8],
        check: ByteCheck,
    ) -> MeasuredRank:
        """Looks where the ranks run; collective."""
        cores, local, one_machine = cores_and_ranks(comm)
        waiter = Waiter(POLL_INTERVAL_S if local > cores else 0.0, timeout_s)
        return MeasuredRank(
            comm,
            cores,
            local,
            one_machine,
            waiter,
            sends,
            send,
            np.empty_like(check.expected),
            check,
        )

    def time(self, name: str, variant: Variant, repetition: int) -> tuple[float, float]:
        """(start, end) [s] of an exchange on this rank's clock.

        What is done before and after stands outside.
        """
        self.check.spoil(self.received)
        if isinstance(variant, Connected):
            variant.prepare()
        self.waiter.barrier(self.comm)
        start_s = time.monotonic()
        variant.exchange()
        end_s = time.monotonic()
        if isinstance(variant, Alltoall):
            variant.collect()
        self.check.compare(name, repetition, self.received)
        return start_s, end_s

    def gather_facts(self) -> dict[str, Any] | None:
        """What a `Measurement` says but for times, on rank 0; collective."""
        found = self.comm.gather((self.check.checked, self.check.mismatches, self.check.first))
        if found is None:
            return None
        return {
            "mpi": library_name(),
            "ranks": self.comm.size,
            "cores": self.cores,
            "local_ranks": self.local_ranks,
            "one_machine": self.one_machine,
            "bytes_checked": sum(size for size, _, _ in found),
            "mismatches": sum(count for _, count, _ in found),
            "wrong": [text for _, _, text in found if text],
        }


def times_over_ranks(
    comm: MPI.Intracomm, clock: NDArray[np.float64], one_machine: bool, waiter: Waiter
) -> NDArray[np.float64]:
    """Times over all ranks, without blocking in MPI.

    CLOCK_MONOTONIC is one clock on one machine only.

    Args:
        comm: of all ranks.
        clock: shape=(2, …): starts and ends [s] of this rank.
        one_machine: whether all ranks have one clock.
        waiter: how to wait.

    Returns:
        shape=(…) [s]: the last end minus the first start, or the longest of the ranks' own.
    """
    first, last = np.empty(clock.shape[1:]), np.empty(clock.shape[1:])

    def missing() -> str:
        return f"rank {comm.rank}: times of other ranks are missing"

    waiter.begin()
    if one_machine:
        waiter.wait(comm.Iallreduce(np.ascontiguousarray(clock[0]), first, MPI.MIN), missing)
        waiter.wait(comm.Iallreduce(np.ascontiguousarray(clock[1]), last, MPI.MAX), missing)
        return last - first
    waiter.wait(comm.Iallreduce(clock[1] - clock[0], last, MPI.MAX), missing)
    return last


def library_name() -> str:
    """Name and version of the MPI library."""
    name, version = MPI.get_vendor()
    return f"{name} {'.'.join(str(part) for part in version)}"
