"""Needs: what each message takes at least, part by part; for bounds and checks, not for simulating.

    part       flow, wormhole, circuit flit inside a node
    asking     a request and a grant above `eager`, not under ready                          0
    send       send_overhead rounded up to cycles send_overhead
    latency    startup + per_transfer + inject + eject + hops · hop
               5 + 4 hops cycles 0 (flit: 5 cycles)
    flow       bytes / slowest flits bytes / copy (flit: flits)
    receive    receive_overhead; with `before` ahead of the bytes rounded up to cycles
               receive_overhead, after

`connections`: as flow, but what is paid at both ends passes at both at once: send is send_overhead,
per_transfer and inject, latency the hops alone, receive what is paid after the bytes, with eject.

All costs are those of the message's size; bytes / copy of a packed message are added to both
overheads. A request, a grant and a signal take half of `signal` on a processor at each end and hops
· hop between them, at the cost of 0 bytes; in `flit` each of these is rounded up to cycles.

Order: the lists of ranks and how many of their messages are open at once.

And whether a node may post its receives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conset.base import Bools, Floats, InputError, Ints, Ints32, format_size
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.schedule.policy import most_posted, parse_sync

HELD = ("wormhole", "circuit")
"""Models in which a message holds channels."""
ENTERING, PER_HOP = 5, 4
"""Cycles of an empty router network beside the flits themselves."""


@dataclass(frozen=True, eq=False)
class MessageTimes:
    """Times of each message, shape=(messages), float64 [s].

    Attributes:
        asking: of its request and grant, before anything else; 0 without them.
        send: on the sender's processor.
        latency: of its start-up, before the first channel and from link to link.
        hop: of it, from one link to the next.
        before: on the receiver's processor before its bytes flow.
        flow: bytes over the slowest rate of its way.
        after: on the receiver's processor after its bytes.
        signal: of its ready signal, from the receiver to the sender; 0 without one.
        half: of a signal, a request or a grant on one processor.
        signal_way: of one of these between them.
        buffered: shape=(messages), bool: whether a system buffer may take it: then nothing is paid
            before its bytes.
    """

    asking: Floats
    send: Floats
    latency: Floats
    hop: Floats
    before: Floats
    flow: Floats
    after: Floats
    signal: Floats
    half: float
    signal_way: Floats
    buffered: Bools

    @property
    def receive(self) -> Floats:
        """On the receiver's processor, whenever that is."""
        return self.before + self.after

    @property
    def surely_before(self) -> Floats:
        """What is paid before its bytes even where a system buffer may take it."""
        return np.where(self.buffered, 0.0, self.before)

    @property
    def to_bytes(self) -> Floats:
        """From its slot to its first byte at least."""
        return self.asking + self.send + self.latency + self.surely_before

    @property
    def alone(self) -> Floats:
        """From its slot to delivery, with no other message."""
        return self.asking + self.send + self.latency + self.receive + self.flow

    @property
    def of_slot(self) -> Floats:
        """How long it keeps its slot at least."""
        return self.to_bytes + self.flow

    @staticmethod
    def of(
        workload: Workload,
        machine: Machine,
        settings: Settings,
        model: str,
        hops: Ints,
        flow: Floats,
    ) -> MessageTimes:
        """The needs under a model.

        `hops` are links of each route, `flow` bytes over the least rate on it.
        """
        costs = machine.costs_for(workload.method)
        size, crosses = workload.bytes, workload.crosses
        zero, never = np.zeros(workload.messages), np.zeros(workload.messages, bool)
        ready = workload.phases > 0 and parse_sync(settings.sync).kind == "ready"
        flit = model == "flit"
        cycle = cycle_of(costs, model)
        copies = workload.copies_s(costs)
        send, receive = (
            whole_cycles(cost.of(size) + copies, cycle)
            for cost in (costs.send_overhead, costs.receive_overhead)
        )
        if workload.phases > 0 and parse_sync(settings.sync).kind == "detect":
            copied = crosses & (flit | (size <= costs.detected_B))
            receive += whole_cycles(np.where(copied, size / costs.copy_Bps, 0.0), cycle)
        half = rounded_up(costs.signal_s / 2, cycle)
        way = np.asarray(hops * rounded_up(costs.hop.at(0), cycle), np.float64)
        signal = np.where(crosses, 2 * half + way, 0.0)
        if flit:
            latency = np.asarray((ENTERING + PER_HOP * hops) * cycle, np.float64)
            ready_signal = signal if ready else zero
            return MessageTimes(
                zero, send, latency, zero, zero, flow, receive, ready_signal, half, way, never
            )
        if model == "connections":
            send = np.asarray(send + costs.per_transfer_s + costs.inject.of(size))
            after = receive * (costs.receive != "before") + costs.eject.of(size)
            latency = np.where(
                size > 0, hops * costs.hop.at(costs.flit_B), 0.0
            )  # nothing is there at once
            flow = np.where(crosses, flow, size / costs.copy_Bps)
            return MessageTimes(
                zero, send, latency, zero, zero, flow, after, zero, 0.0, zero, never
            )
        hop = np.where(crosses, costs.hop.of(size), 0.0)
        latency = np.where(
            crosses,
            costs.startup_s
            + costs.per_transfer_s
            + costs.inject.of(size)
            + costs.eject.of(size)
            + hops * hop,
            0.0,
        )
        eager = costs.eager_B
        asks = never if eager is None or ready else (size > eager) & crosses
        buffered = never if eager is None else (size <= eager) & crosses
        before = np.where(crosses & (costs.receive == "before"), receive, 0.0)
        flow = np.where(crosses, flow, size / costs.copy_Bps)
        if model == "packet":  # heads pass hops while their first bytes flow
            passed = np.where(size > 0, hops * hop, 0.0)
            latency, flow = latency - passed, flow + passed
        return MessageTimes(
            np.where(asks, 2 * signal, 0.0),
            send,
            latency,
            hop,
            before,
            flow,
            receive - before,
            signal if ready else zero,
            half,
            way,
            buffered,
        )


def cycle_of(costs: Costs, model: str) -> float:
    """What a flit needs on a link [s]; 0 in other models: nothing else happens in steps."""
    return costs.flit_B / costs.link_Bps if model == "flit" else 0.0


def rounded_up(seconds: float, cycle_s: float) -> float:
    """As `whole_cycles`, of one time."""
    return float(whole_cycles(np.array([seconds]), cycle_s)[0])


def whole_cycles(seconds: Floats, cycle_s: float) -> Floats:
    """Times rounded up to cycles; a millionth of a cycle is a rounding error.

    As they are where there are none.
    """
    return np.asarray(
        np.ceil(seconds / cycle_s - 1e-6) * cycle_s if cycle_s else seconds, np.float64
    )


def partners(workload: Workload, machine: Machine, settings: Settings) -> Ints:
    """shape=(messages): the other message of each synchronized exchange, -1 without one.

    That is the k-th message from u to v of a phase and the k-th from v to u, under a policy of
    `exchange_syncs`.
    """
    costs = machine.costs_for(workload.method)
    found = np.full(workload.messages, -1, np.int64)
    kind = parse_sync(settings.sync).kind
    if kind not in costs.exchange_syncs or not np.isfinite(costs.node_Bps) or not workload.phases:
        return found
    m = np.flatnonzero(workload.crosses)
    s, t, phase = workload.source[m], workload.target[m], workload.phase_of[m]
    low, high, back = np.minimum(s, t), np.maximum(s, t), s > t
    order = np.lexsort((m, back, high, low, phase))
    m, low, high, back, phase = m[order], low[order], high[order], back[order], phase[order]
    same = (np.diff(low) == 0) & (np.diff(high) == 0) & (np.diff(phase) == 0)
    pair = np.concatenate([[0], np.cumsum(~same)])[: m.size]
    run = np.concatenate([[0], np.cumsum(~(same & (np.diff(back.astype(np.int8)) == 0)))])[: m.size]
    nth = np.arange(m.size) - np.searchsorted(run, run)
    order = np.lexsort((back, nth, pair))
    a, b = order[:-1], order[1:]
    joined = (pair[a] == pair[b]) & (nth[a] == nth[b])
    found[m[a[joined]]] = m[b[joined]]
    found[m[b[joined]]] = m[a[joined]]
    return found


Rows = list[tuple[int, Ints32]]
"""(rank, its messages in list order)."""


def require_one_route(workload: Workload, machine: Machine, model: str) -> None:
    """Raises InputError where messages are spread over many routes, of which `model` knows one."""
    if machine.routing.knowledge == "adaptive" and not workload.link_offsets.size:
        raise InputError(
            f"{model}: {machine.name} spreads every message over several routes (routing "
            f"adaptive), where {model} "
            "follows one: model flow shares links in such parts; or state another routing",
            options=["model"],
        )


def in_list_order(workload: Workload, rank: Ints32) -> Rows:
    """The messages of every rank in list order; `rank[m]` is the rank of message m at one end."""
    if not workload.messages:
        return []
    listed = workload.order if workload.order.size else np.arange(workload.messages, dtype=np.int32)
    by_rank = listed[np.argsort(rank[listed], kind="stable")]
    ranks, first = np.unique(rank[by_rank], return_index=True)
    return [(int(r), row) for r, row in zip(ranks, np.split(by_rank, first[1:]), strict=True)]


def most_open(rows: Rows, start: Floats, end: Floats) -> tuple[int, int]:
    """(most messages open at once at one rank, that rank).

    A message is open from `start` until before `end`.
    """
    most, where = 0, -1
    for rank, row in rows:
        long = row[end[row] > start[row]]
        times = np.concatenate([start[long], end[long]])
        steps = np.concatenate([np.ones(long.size), -np.ones(long.size)])
        running = np.cumsum(
            steps[np.lexsort((steps, times))]
        )  # at one time, ends come before starts
        if running.size and running.max() > most:
            most, where = int(running.max()), rank
    return most, where


def unbuffered(machine: Machine, costs: Costs, largest: int) -> str:
    """The rule that a message of `largest` bytes breaks under `detect`, with both sizes."""
    return (
        f"under sync detect a message of {format_size(largest)} must fit a system buffer, "
        f"{machine.name} has {format_size(int(costs.buffers_B))} a rank"
    )


def check_receives(workload: Workload, machine: Machine, costs: Costs, settings: Settings) -> None:
    """Receives are posted first.

    All of a node under `none`, those of a phase or group under the other policies.

    What a rank takes at once (`--receives`) makes no difference: the others are posted too. Under
    `detect` none is posted: every message goes through a system buffer, which must hold it.

    Raises:
        InputError: more than the machine's `outstanding_receives` at a node; names it and both
            numbers. A message that does not fit a buffer.
    """
    limit, sync = costs.outstanding_receives, parse_sync(settings.sync)
    if sync.kind == "detect" and (largest := costs.unbuffered_B(workload.bytes[workload.crosses])):
        raise InputError(f"infeasible: {unbuffered(machine, costs, largest)}")
    if limit is None or np.bincount(workload.target).max(initial=0) <= limit:
        return
    posted, node = most_posted(workload.source, workload.target, workload.phase_of, sync)
    if posted > limit:
        raise InputError(
            f"infeasible: {machine.topology.node_name(node)} would have {posted} receives "
            "posted under sync "
            f"{settings.sync}, {machine.name} allows {limit}"
        )
