"""Terms of a prediction.

What messages cost as the core's formulas take it, chains of the order, timetables.

Chains: messages that must follow one another take at least their times alone, added up, as every
message starts when those before it are delivered. Between two barriers chains begin anew.
O(transfers + pairs).

Order inside a phase: its messages form waves, those that follow none of it, those that follow one
of these, and on. A rank begins a wave when all that it sends and receives in the one before is
delivered, as under `local` it begins a phase, but sets up once a phase. Without barriers between
phases waves go through all of them; under `local` and `ready` every phase has its own. So a message
that follows one other of its rank also waits for the rest of that wave: where few messages have an
order that is long by up to the rest. Cost: that of the recurrence.

Timetables: a phase lasts until its last transfer has ended. A timetable is kept as an order: every
port and every unit of a link takes its transfers in the order of their starts, each as soon as it
is free and what must come before has ended. On the schedule's own machine that gives its times
back, and a phase is never said to be shorter than its table; elsewhere, or with other costs, the
same order is timed anew. Where phases are not kept apart by barriers the order runs through all of
them. Messages that a timetable keeps apart on a link do not block each other. O(transfers · hops).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np

from conset import _core
from conset.base import Floats, Indices, Ints, Ints32
from conset.machine import (
    Costs,
    Machine,
    Steps,
    Work,
    core_network,
    core_widths,
    link_work,
    transfer_s,
    transfer_times,
)
from conset.schedule import Schedule, Sync, chosen_links, depths, order_of_transfers

RankedTransfers = Callable[[Indices], tuple[_core.Transfers, _core.Ranks]]
"""Transfers by their indices, with the ranks at their ends."""


def slots_of(schedule: Schedule, costs: Costs) -> int | None:
    """Messages a rank may have in flight: what the schedule says, else the machine's.

    None: any number.
    """
    stated: int | str | None = getattr(schedule, "in_flight", None)
    if stated is None:
        return costs.in_flight
    return None if stated == "all" else int(stated)


def message_costs(
    machine: Machine, costs: Costs, sync: str, *, in_flight: int | None, blocking: bool = True
) -> _core.MessageCosts:
    """What messages cost under a policy of the kind `sync` (none, local, ready, barrier).

    A request and a grant above the eager threshold are latency; under `ready` the signal replaces
    both.

    Args:
        machine: whose network.
        costs: of the method.
        sync: kind of the policy.
        in_flight: slots of a rank, None: any number.
        blocking: whether links that carry more than `tolerance` lose time, which is an estimate.
    """
    topology = machine.topology
    width = core_widths(topology)
    ready = sync == "ready"
    latency = (
        costs.inject
        + costs.eject
        + Steps((costs.per_transfer_s,))
        + (Steps() if ready else costs.requests)
    )
    steps = (costs.send_overhead, costs.receive_overhead, latency, costs.hop)
    limits = tuple(sorted({limit for each in steps for limit in each.up_to_B}))
    send, receive, once, hop = (np.array([each.at(limit) for limit in limits]) for each in steps)
    exchanges = sync in costs.exchange_syncs and costs.node_Bps < inf
    return _core.MessageCosts(
        up_to=np.array(limits),
        send=send,
        receive=receive,
        latency=once,
        hop=hop,
        out=1 / costs.port_out_Bps,
        in_=1 / costs.port_in_Bps,
        node=1 / costs.node_Bps,
        copy=1 / costs.copy_Bps,
        exchange=costs.exchange_weight if exchanges else 1.0,
        link=link_work(topology, costs, width),
        width=width,
        tolerance=float(costs.tolerance),
        blocking=costs.blocking if blocking else 0.0,
        setup=costs.setup_s,
        signal=costs.signal_s if ready else 0.0,
        signal_hop=costs.hop.at(0) if ready else 0.0,
        eager=-1.0 if costs.eager_B is None else costs.eager_B,
        before=costs.receive == "before",
        one_processor=costs.one_processor and not costs.preempts,
        shared_processor=costs.processors == "shared",
        in_flight=in_flight or 0,
    )


def chain_busy(schedule: Schedule, costs: Costs, batches: Ints) -> tuple[Floats, Ints]:
    """(time, last), shape=(phases).

    The longest chain up to each phase since its batch began [s], its last transfer.

    In the time is the set-up of the phase where it begins.

    Args:
        schedule: of a pattern with an order.
        costs: of the method.
        batches: shape=(batches + 1), int64, over phases.
    """
    alone = transfer_times(
        schedule.machine,
        costs,
        schedule.source_node,
        schedule.target_node,
        schedule.size,
        chosen_links(schedule),
        schedule.packed,
    ).alone
    end = np.array(alone, np.float64)
    first, second = _pairs(schedule, batches)
    depth = depths(np.stack([first, second], axis=1), schedule.transfers)[second]
    order = np.argsort(depth, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1):
        np.maximum.at(end, second[own], end[first[own]] + alone[second[own]])
    time, last = np.zeros(schedule.phases), np.zeros(schedule.phases, np.int64)
    latest, begins = (0.0, 0), set(batches.tolist())
    for p in range(schedule.phases):
        if p in begins:
            latest = (0.0, 0)
        inside = schedule.phase(p)
        if inside.stop > inside.start:
            k = inside.start + int(np.argmax(end[inside]))
            latest = max(latest, (float(end[k]), k))
        time[p], last[p] = latest[0] + costs.setup_s * (latest[0] > 0), latest[1]
    return time, last


def order_busy(
    schedule: Schedule,
    costs: Costs,
    sync: Sync,
    batches: Ints,
    transfers: RankedTransfers,
) -> tuple[Floats, Ints, Ints]:
    """(time, rank, set-ups), shape=(phases).

    When ranks have ended the waves up to each phase of a batch [s].

    Counted from the start of the batch; the rank is the last one, its set-ups are in the time. Of a
    batch without an order inside, 0: it has other terms.

    Args:
        schedule: of a pattern with an order, without a timetable.
        costs: of the method.
        sync: the policy.
        batches: shape=(batches + 1), int64, over phases.
        transfers: of some transfers, as the core takes them.
    """
    time, rank, setups = np.zeros(schedule.phases), *np.zeros((2, schedule.phases), np.int64)
    pairs = np.stack(_pairs(schedule, batches), axis=1)
    phase = schedule.phase_of
    apart = sync.kind in ("local", "ready")  # phases are waves of their own
    if apart:
        pairs = pairs[phase[pairs[:, 0]] == phase[pairs[:, 1]]]
    depth = depths(pairs, schedule.transfers)
    without = replace(costs, setup_s=0.0)
    given = message_costs(schedule.machine, without, sync.kind, in_flight=slots_of(schedule, costs))
    # rank · phases + phase wherever a rank has transfers, rising
    ranks = np.stack([schedule.pattern.source, schedule.pattern.target])[:, schedule.message]
    has = np.unique(ranks.astype(np.int64) * schedule.phases + schedule.phase_of)
    for low, high in pairwise(batches.tolist()):
        rows = slice(int(schedule.phase_offsets[low]), int(schedule.phase_offsets[high]))
        if not depth[rows].any():
            continue
        keys = (depth[rows], phase[rows]) if apart else (depth[rows],)
        order = np.lexsort(keys)
        changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        cuts = np.concatenate([[0], np.flatnonzero(changes) + 1, [order.size]]).astype(np.int64)
        ends = _core.time_ranks(*transfers(order + rows.start), cuts, given)
        wave = np.empty(order.size, np.intp)
        wave[order] = np.repeat(np.arange(cuts.size - 1), np.diff(cuts))
        last = np.zeros(high - low, np.intp)
        np.maximum.at(last, phase[rows] - low, wave)
        last = np.maximum.accumulate(last)
        rank[low:high] = ends.rank[last]
        key = rank[low:high] * schedule.phases
        setups[low:high] = np.searchsorted(
            has, key + np.arange(low, high), side="right"
        ) - np.searchsorted(has, key + low)
        time[low:high] = ends.end[last] + setups[low:high] * costs.setup_s
    return time, rank, setups


def _pairs(schedule: Schedule, batches: Ints) -> tuple[Ints32, Ints32]:
    """Transfers of one batch that follow one another, in the order in which they are posted.

    (first, second).
    """
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    batch = np.repeat(np.arange(batches.size - 1), np.diff(batches))[schedule.phase_of]
    place = np.empty(schedule.transfers, np.int64)
    place[schedule.posted] = np.arange(schedule.transfers)
    kept = (batch[first] == batch[second]) & (place[first] < place[second])
    return first[kept], second[kept]


def timetable_busy(
    schedule: Schedule,
    work: Work,
    half_duplex: bool,
    batches: Ints,
    *,
    latest_ends: bool,
) -> Floats:
    """shape=(phases), float64 [s].

    When all transfers up to each phase have ended, since its batch began.

    Args:
        schedule: with a timetable.
        work: what messages cost.
        half_duplex: whether a node has one line for what it sends and receives.
        batches: shape=(batches + 1), int64, over phases; nothing separates phases of a batch.
        latest_ends: whether the table's own times count, too.
    """
    table, machine = schedule.timetable, schedule.machine
    if table is None or schedule.phases == 0:
        return np.zeros(schedule.phases)
    topology, links = machine.topology, chosen_links(schedule)
    source, target = (
        np.ascontiguousarray(node, np.int32)
        for node in (schedule.source_node, schedule.target_node)
    )
    duration = transfer_s(machine, work, source, target, schedule.size, links)
    width = core_widths(topology)
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    lines = _core.TimeLines(
        network=core_network(topology, machine.routing),
        source=source,
        target=target,
        route_offsets=links[0],
        route_links=links[1],
        width=width,
        serial=half_duplex,
        duration=duration,
        first=first,
        second=second,
    )
    _, end = _core.time_in_order(lines, schedule.posted, schedule.phase_offsets[batches])
    busy = np.zeros(schedule.phases)
    full = np.flatnonzero(np.diff(schedule.phase_offsets))
    busy[full] = np.maximum.reduceat(end, schedule.phase_offsets[full])
    if latest_ends:
        busy[full] = np.maximum(
            busy[full], np.maximum.reduceat(table[:, 1], schedule.phase_offsets[full])
        )
    for begin, end in pairwise(batches.tolist()):
        np.maximum.accumulate(busy[begin:end], out=busy[begin:end])
    return busy
