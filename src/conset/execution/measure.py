"""Measure: plans and what applications call without one, timed beside each other in one job.

Every byte checked.

Problem: which of many ways to send a pattern is fastest, on a network whose state drifts and where
one exchange may take a second.
Idea: every repetition runs all contenders, in an order that turns and is reversed from one to the
next, so that what drifts meets all alike and times can be compared in pairs. Repetitions go on
until `Stopping` ends them; a contender that is clearly slower than the best is not repeated
further, and time goes to those that are close.
Invariant: what was run last is run again only after a barrier; every received byte of every
exchange is checked. Who goes on, rank 0 decides from the times over all ranks, and all ranks
receive it.

What every measurement of a rank has is here too (`MeasuredRank`): buffers, the clock around an
exchange, the check. Payload: a byte is a function of (source, target, offset from the first byte of
the pair), mixed so that a swap of messages, a shift by any number of bytes or a part in another's
place shows; neighbouring bytes are unrelated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from conset.base import Bytes, Floats, InputError
from conset.execution.agreement import POLL_INTERVAL_S, Waiter, cores_and_ranks
from conset.execution.baselines import (
    Baseline,
    Connected,
    Variant,
    make_baselines,
    make_exchange,
    open_connections,
    slowest_parts,
)
from conset.execution.exchange import require_ranks
from conset.execution.job import CONNECTED, DIRECT, SCHEDULE, Given, Result, Tell
from conset.execution.plan import PairRanges, Plan
from conset.execution.stopping import Race, Stopping

_SOURCE, _TARGET = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
Tamper = Callable[[str, int, Bytes], None]
"""Called after an exchange with its name, the repetition and the receive buffer.

Tests change a byte.
"""


def fill_payload(source: int, target: int, size: int) -> Bytes:
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


def fill_buffer(ranges: PairRanges, size: int, rank: int, *, sending: bool) -> Bytes:
    """shape=(size), uint8: the whole send buffer of `rank`, or what its receive buffer must be."""
    buffer = np.zeros(size, np.uint8)
    for peer, offset, count in zip(
        ranges.peer.tolist(), ranges.offset.tolist(), ranges.bytes.tolist(), strict=True
    ):
        source, target = (rank, peer) if sending else (peer, rank)
        buffer[offset : offset + count] = fill_payload(source, target, count)
    return buffer


def describe_wrong(received: Bytes, expected: Bytes, ranges: PairRanges) -> tuple[int, str]:
    """How many bytes are wrong, and the first as text.

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


def measure_plans(
    comm: MPI.Intracomm, given: Given, tell: Tell, tamper: Tamper | None = None
) -> Result | None:
    """Runs plans, connections and baselines in turns; the result on rank 0.

    The task of `conset.execution.run`.

    The time of a repetition: on one machine, with one clock, the last end minus the first start
    over the ranks; on several the longest of the ranks' own durations. A barrier before each
    exchange, the filling of buffers and the check of bytes are outside the clock.

    Args:
        comm: as many ranks as the plans have.
        given: the plans, all of which deliver the same; `DIRECT`, where the baselines send that;
            the connections of the same program of blocks, which then is run through them too. The
            orders: `baselines` by name, `staged` (as `make_baselines` has it), `stopping`, `fixed`
            (who is repeated to the end, however slow), `ordered` (the patterns of the program have
            an order), `timeout_s` of one exchange.
        tell: hears how much is done.
        tamper: called after an exchange with its name, the repetition and the receive buffer.

    Raises:
        InputError: sizes of job and plan differ, or a plan has other buffers. ExecutionError: an
            exchange passed the time-out.
    """
    orders, stopping, plans = given.orders, Stopping(**given.orders["stopping"]), dict(given.plans)
    base = plans.pop(DIRECT) if DIRECT in plans else plans[SCHEDULE]
    own = MeasuredRank(comm, base, orders["timeout_s"], tamper)
    waiter, buffers = own.waiter, (own.send, own.received)
    variants: dict[str, Variant] = {}
    for name, plan in plans.items():
        same = np.array_equal(plan.send_bytes, base.send_bytes)
        if not same or not np.array_equal(plan.receive_bytes, base.receive_bytes):
            raise InputError(f"contender {name}: does not send what the others do")
        variants[name] = make_exchange(comm, plan, *buffers, waiter)
    connected = None
    if given.opened is not None:
        program = open_connections(comm, given.opened, orders["timeout_s"])
        connected = Connected(program, own.sends, own.receives, *buffers, ordered=orders["ordered"])
        variants[CONNECTED] = connected
    variants |= make_baselines(
        comm, base, *buffers, waiter, orders["baselines"], staged=orders["staged"]
    )
    names = list(variants)
    race = Race(names, stopping, frozenset(orders["fixed"]) | {"naive"})
    going, clocks, repetition, began = np.ones(len(names), np.uint8), [], 0, time.monotonic()
    while going.any():
        clocks.append(np.zeros((2, len(names))))
        order = _order(np.flatnonzero(going).tolist(), repetition)
        for place, k in enumerate(order):
            tell((repetition + place / len(order)) / (stopping.most + 1), "")
            clocks[-1][:, k] = own.time(names[k], variants[names[k]], repetition)
        if repetition == stopping.most or not stopping.is_fixed:
            took = times_over_ranks(comm, np.stack(clocks, axis=1), own.one_machine, waiter)
            if comm.rank == 0:
                for number, times in enumerate(took, repetition + 1 - len(clocks)):
                    going = race.after(number, times, going, time.monotonic() - began)
            clocks = []
            waiter.begin()
            waiter.wait(
                comm.Ibcast(going), lambda: f"rank {comm.rank}: waits to hear whether to go on"
            )
        repetition += 1
    measuring_s = time.monotonic() - began
    waiter.barrier(comm)
    parts = None if connected is None else slowest_parts(comm, connected.parts)[1:].tolist()
    for variant in variants.values():
        variant.close()
    facts = own.gather_facts()
    if facts is None:
        return None
    ended = {"times_s": race.times_s, "stopped": race.stopped, "measuring_s": measuring_s}
    return {**facts, **ended, "switch_parts": parts}


def _order(contenders: list[int], repetition: int) -> list[int]:
    """Turned by a third from one repetition to the next, and reversed in every second."""
    first = repetition * max(1, len(contenders) // 3) % len(contenders)
    order = contenders[first:] + contenders[:first]
    return order if repetition % 2 == 0 else order[::-1]


class MeasuredRank:
    """One rank of a measurement: where it runs, how it waits, its buffers and their check.

    Attributes:
        comm: of all ranks.
        cores: of this machine that its ranks may use.
        local_ranks: on this machine.
        one_machine: whether that are all.
        waiter: naps where ranks exceed cores.
        sends: what lies where in the send buffer.
        receives: what lies where in the receive buffer.
        send: the send buffer.
        received: the receive buffer.
        expected: what must be received.
    """

    def __init__(
        self, comm: MPI.Intracomm, direct: Plan, timeout_s: float | None, tamper: Tamper | None
    ) -> None:
        """Fills the buffers of a plan that sends every message directly; collective.

        Raises:
            InputError: sizes of job and plan differ.
        """
        require_ranks(comm, direct.ranks, "plan")
        self.comm, rank = comm, comm.rank
        self.sends, self.receives = direct.pair_ranges(rank)
        self.send = fill_buffer(self.sends, int(direct.send_bytes[rank]), rank, sending=True)
        self.expected = fill_buffer(
            self.receives, int(direct.receive_bytes[rank]), rank, sending=False
        )
        self.received = np.empty_like(self.expected)
        self.cores, self.local_ranks, self.one_machine = cores_and_ranks(comm)
        self.waiter = Waiter(POLL_INTERVAL_S if self.local_ranks > self.cores else 0.0, timeout_s)
        self._tamper, self._checked, self._mismatches, self._first = tamper, 0, 0, ""

    def spoil(self, received: Bytes) -> None:
        """Makes a receive buffer wrong at every place."""
        np.bitwise_not(self.expected[: received.size], out=received)

    def compare(self, name: str, repetition: int, received: Bytes) -> None:
        """Compares what an exchange has delivered, all of which is wrong where its size is."""
        if self._tamper is not None:
            self._tamper(name, repetition, received)
        size = self.expected.size
        count, text = size, f"received {received.size} bytes, must be {size}"
        if received.size == size:
            count, text = describe_wrong(received, self.expected, self.receives)
        self._checked += size
        self._mismatches += count
        if count and not self._first:
            self._first = f"rank {self.comm.rank}: {text} ({name}, repetition {repetition})"

    def time(self, name: str, variant: Variant, repetition: int) -> tuple[float, float]:
        """(start, end) [s] of an exchange on this rank's clock.

        What is done before and after is not timed.
        """
        self.spoil(self.received)
        if isinstance(variant, Connected):
            variant.prepare()
        self.waiter.barrier(self.comm)
        start_s = time.monotonic()
        variant.exchange()
        end_s = time.monotonic()
        if isinstance(variant, Baseline):
            variant.collect()
        self.compare(name, repetition, self.received)
        return start_s, end_s

    def gather_facts(self) -> dict[str, Any] | None:
        """What a `JobResult` says but for times, with library and ranks, on rank 0; collective."""
        found = self.comm.gather((self._checked, self._mismatches, self._first))
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
    comm: MPI.Intracomm, clock: Floats, one_machine: bool, waiter: Waiter
) -> Floats:
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
