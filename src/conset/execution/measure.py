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

Baselines: what an application would call without a schedule, on the same buffers.

- `naive`: all receives, then all sends, in rank order, one message per pair of ranks; wait for
  everything.
- `alltoallv`: `MPI_Alltoallv`.
- `neighbor_alltoallv`: `MPI_Neighbor_alltoallv` on a graph communicator of the pairs that there
  are.
- `alltoall`: `MPI_Alltoall`, where all pairs of ranks exchange one size. It takes buffers of its
  own, with a block of the rank to itself, from which the bytes received are copied outside the
  clock (`collect`).

Beside a program they deliver its messages directly, in the same buffers: of building blocks one
repetition after the other. Its `naive` has persistent requests as the program has, for each message
one; a rank waits after each repetition.

The collectives are the library's own blocking calls: how they wait is part of what is compared.

`Connected` runs a program of blocks through connections: the same bytes as the program's plan, in
the same buffers. What a pair of ranks exchanges is one range in both, and the connections of the
pair carry it piece after piece in the order of the phases. In a phase everything is spooled in
posting order, so all its messages travel interleaved; then the rank waits for each and ends the
phase. Where a pattern has an order between messages, a rank uses its connections one after the
other instead, in posting order: that keeps it. The first context is open before a time is taken, as
a plan's requests are made before: the switches of an exchange are those between its phases.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from mpi4py import MPI

from conset import _core
from conset.base import Bytes, Floats, InputError, Ints32
from conset.execution.agreement import POLL_INTERVAL_S, Waiter, cores_and_ranks
from conset.execution.connection_entries import ConnectionEntries
from conset.execution.exchange import Exchange, require_ranks
from conset.execution.job import CONNECTED, DIRECT, SCHEDULE, Given, Result, Tell
from conset.execution.open_program import (
    CREDITS,
    PACKET_BYTES,
    Direction,
    OpenProgram,
    PhaseConnection,
    read_part,
)
from conset.execution.plan import PairRanges, Plan
from conset.execution.stopping import Race, Stopping

Bytes = Bytes


class Variant(Protocol):
    """Anything that delivers the bytes of a plan."""

    def exchange(self) -> None:
        """Delivers everything once."""

    def close(self) -> None:
        """Frees what MPI holds."""


class Baseline:
    """A way to deliver the bytes of a plan, on a communicator of its own.

    Attributes:
        exchange: delivers everything once.
        collect: outside the clock, what is left to do with what was received.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        exchange: Callable[[], None],
        collect: Callable[[], None] = lambda: None,
    ) -> None:
        self._comm, self.exchange, self.collect = comm, exchange, collect

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


def _naive(
    comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes, waiter: Waiter
) -> Baseline:
    """Posts everything in rank order, as halo exchanges are mostly written."""
    own = comm.Dup()
    sends, receives = plan.pair_ranges(comm.rank)
    out, into = sends.views(sendbuf), receives.views(recvbuf)

    def exchange() -> None:
        waiter.begin()
        requests = [
            *[own.Irecv([view, MPI.BYTE], peer) for peer, view in into],
            *[own.Isend([view, MPI.BYTE], peer) for peer, view in out],
        ]
        for request in requests:
            waiter.wait(request, lambda: f"rank {own.rank}: naive exchange: messages are missing")

    return Baseline(own, exchange)


def _collective(
    comm: MPI.Comm,
    call: Callable[[Any, Any], None],
    runs: Sequence[tuple[PairRanges, PairRanges]],
    peers: Sequence[Ints32],
    sendbuf: Bytes,
    recvbuf: Bytes,
) -> Baseline:
    """A collective of varying counts, zeros included, run after run.

    `peers` to send, to receive.
    """
    calls = [
        (
            [sendbuf, *sends.dense(peers[0]), MPI.BYTE],
            [recvbuf, *receives.dense(peers[1]), MPI.BYTE],
        )
        for sends, receives in runs
    ]

    def exchange() -> None:
        for out, into in calls:
            call(out, into)

    return Baseline(comm, exchange)


def _alltoall(comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes) -> Baseline:
    """`MPI_Alltoall`: a block for every rank, its own too."""
    own = comm.Dup()
    sends, receives = plan.pair_ranges(comm.rank)
    block = int(sends.bytes[0]) if sends.bytes.size else 0
    out, into = np.zeros((2, comm.size * block), np.uint8)
    for peer, view in sends.views(sendbuf):
        out[peer * block :][:block] = view

    def collect() -> None:
        """Copies what was received to where others receive it, and spoils it here."""
        for peer, view in receives.views(recvbuf):
            view[:] = into[peer * block :][:block]
        np.bitwise_not(into, out=into)

    return Baseline(
        own, lambda: own.Alltoall([out, block, MPI.BYTE], [into, block, MPI.BYTE]), collect
    )


def make_baselines(
    comm: MPI.Intracomm,
    plan: Plan,
    send: Bytes,
    received: Bytes,
    waiter: Waiter,
    names: Sequence[str],
    *,
    staged: bool,
) -> dict[str, Variant]:
    """By the name in results, in the order of `names`.

    `alltoall` takes what `run.why_no_alltoall` allows.

    Args:
        comm: as many ranks as the plan has.
        plan: what is sent, each message directly.
        send: this rank's buffer.
        received: likewise.
        waiter: how `naive` waits.
        names: of the baselines.
        staged: as beside a program: collectives run phase after phase, `naive` has a persistent
            request for each message and keeps phases apart as the plan does.
    """
    pairs = plan.pair_ranges(comm.rank)
    runs = [pairs]
    if staged:
        ends, phases = (plan.sends, plan.receives), range(plan.phases)
        sides = [[PairRanges.of(end, comm.rank, k) for end in ends] for k in phases]
        runs = [(sends, receives) for sends, receives in sides]

    def everyone() -> Variant:
        own, peers = comm.Dup(), np.arange(comm.size, dtype=np.int32)
        return _collective(own, own.Alltoallv, runs, (peers, peers), send, received)

    def neighbors() -> Variant:
        to, from_ = (ranges.peer for ranges in pairs)
        own = comm.Create_dist_graph_adjacent(from_.tolist(), to.tolist(), reorder=False)
        return _collective(own, own.Neighbor_alltoallv, runs, (to, from_), send, received)

    make: dict[str, Callable[[], Variant]] = {
        "naive": lambda: (
            make_exchange(comm, plan, send, received, waiter)
            if staged
            else _naive(comm, plan, send, received, waiter)
        ),
        "alltoallv": everyone,
        "neighbor_alltoallv": neighbors,
        "alltoall": lambda: _alltoall(comm, plan, send, received),
    }
    return {name: make[name]() for name in names}


def make_exchange(
    comm: MPI.Intracomm, plan: Plan, send: Bytes, received: Bytes, waiter: Waiter
) -> Exchange:
    """An exchange of a plan that waits as the baselines do."""
    return Exchange(
        comm,
        plan,
        send[: int(plan.send_bytes[comm.rank])],
        received[: int(plan.receive_bytes[comm.rank])],
        timeout_s=waiter.timeout_s,
        poll_interval_s=waiter.poll_interval_s,
    )


def open_connections(
    comm: MPI.Intracomm, opened: ConnectionEntries | Path, timeout_s: float | None
) -> OpenProgram:
    """Opens the connections of a program, or those in a plan file; collective.

    Like `program_open`, without what 16 ranks need not import.
    """
    if isinstance(opened, Path):
        part = read_part(opened, comm.rank, comm.size)
    else:
        part = _core.RankConnections(**opened.of_rank(comm.rank))
    return OpenProgram(comm, part, PACKET_BYTES, CREDITS, timeout_s)


Step = tuple[int, int, list[tuple[PhaseConnection, Bytes]]]
"""A phase as it is executed: block, phase, what its connections carry, in posting order."""


class Connected:
    """All blocks, as often as they repeat, every message through a connection of its phase.

    Attributes:
        parts: of every exchange so far: switches, drain [s], synchronization [s], set-up [s] of
            this rank.
    """

    def __init__(
        self,
        program: OpenProgram,
        sends: PairRanges,
        receives: PairRanges,
        sendbuf: Bytes,
        recvbuf: Bytes,
        *,
        ordered: bool = False,
    ) -> None:
        self._program, self._ordered = program, ordered
        self._steps = _steps(program, {"send": (sends, sendbuf), "receive": (receives, recvbuf)})
        self.parts: list[tuple[int, float, float, float]] = []

    def prepare(self) -> None:
        """Opens the first context; collective."""
        if self._steps:
            self._program.instantiate(*self._steps[0][:2])
            self._program.phase_end()

    def exchange(self) -> None:
        """Everything once."""
        program = self._program
        before = self._sums()
        for block, phase, moves in self._steps:
            program.instantiate(block, phase)
            spooled = []
            for end, view in moves:
                connection = program.connection(id=end.id)
                sends = end.direction == "send"
                (connection.spool_send if sends else connection.spool_receive)(view)
                if self._ordered:
                    connection.spool_wait()
                spooled.append(connection)
            for connection in spooled:
                connection.spool_wait()
            program.phase_end()
        count, *seconds = (after - first for after, first in zip(self._sums(), before, strict=True))
        self.parts.append((int(count), *seconds))  # type: ignore[arg-type]

    def _sums(self) -> tuple[int, float, float, float]:
        times = self._program.times
        return times.switches, times.drain_s, times.synchronization_s, times.setup_s

    def close(self) -> None:
        """Closes the program; collective."""
        self._program.close()


def _steps(program: OpenProgram, ends: dict[Direction, tuple[PairRanges, Bytes]]) -> list[Step]:
    """Every phase in the order of execution, and where its bytes lie."""
    ranges = {
        (direction, peer): begin
        for direction, (pairs, _) in ends.items()
        for peer, begin in zip(pairs.peer.tolist(), pairs.offset.tolist(), strict=True)
    }
    done: dict[tuple[Direction, int], int] = defaultdict(int)
    steps: list[Step] = []
    for block, phase in program.steps():
        moves: list[tuple[PhaseConnection, Bytes]] = []
        for each in program.connections(block, phase):
            key = each.direction, each.peer
            at = ranges[key] + done[key]
            moves.append((each, ends[each.direction][1][at : at + each.bytes]))
            done[key] += each.bytes
        steps.append((block, phase, moves))
    return steps


def slowest_parts(comm: MPI.Intracomm, parts: list[tuple[int, float, float, float]]) -> Floats:
    """shape=(exchanges, 4).

    Switches, drain, synchronization and set-up of the slowest rank in each; collective.
    """
    own = np.array(parts, np.float64).reshape(-1, 4)
    most = np.empty_like(own)
    comm.Allreduce(own, most, MPI.MAX)
    return most


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
            tell((repetition + place / len(order)) / (stopping.last + 1), "")
            clocks[-1][:, k] = own.time(names[k], variants[names[k]], repetition)
        # where every contender is repeated `most` times, nothing depends on times before the end
        if (
            repetition == stopping.last
            or stopping.least < stopping.most
            or stopping.drop
            or stopping.time_s < np.inf
        ):
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
    ended = {
        "times_s": race.times_s,
        "before_s": race.before_s,
        "stopped": race.stopped,
        "measuring_s": measuring_s,
    }
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
        self.waiter.barrier(self.comm)  # others that share this core may not have ended
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
