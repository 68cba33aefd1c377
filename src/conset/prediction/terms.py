"""Terms of a prediction: what messages cost as the core's formulas take it, chains of the order, timetables.

Chains: messages that must follow one another take at least their times alone, added up, as every message starts when
those before it are delivered. Between two barriers chains begin anew. O(transfers + pairs).

Timetables: a phase lasts until its last transfer has ended. A timetable is kept as an order: every port and every unit
of a link takes its transfers in the order of their starts, each as soon as it is free and what must come before has
ended. On the schedule's own machine that gives its times back, and a phase is never said to be shorter than its table;
elsewhere, or with other costs, the same order is timed anew. Where phases are not kept apart by barriers the order runs
through all of them. Messages that a timetable keeps apart on a link do not block each other. O(transfers · hops).
"""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.times import Work, link_work, transfer_s, transfer_times
from conset.network.routes import core_network, core_widths
from conset.schedule.loads import chosen_links
from conset.schedule.posting import order_of_transfers
from conset.schedule.schedule import Schedule


def slots_of(schedule: Schedule, costs: Costs) -> int | None:
    """Messages a rank may have in flight: what the schedule says, else the machine's; None: any number."""
    stated: int | str | None = getattr(schedule, "in_flight", None)
    if stated is None:
        return costs.in_flight
    return None if stated == "all" else int(stated)


def message_costs(
    machine: Machine, costs: Costs, sync: str, *, in_flight: int | None, blocking: bool = True
) -> _core.MessageCosts:
    """What messages cost under a policy of the kind `sync` (none, local, ready, barrier).

    A request and a grant above the eager threshold are latency; under `ready` the signal stands for both.

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
    latency = costs.inject + costs.eject + Steps((costs.per_transfer_s,)) + (Steps() if ready else costs.requests)
    steps = (costs.send_overhead, costs.receive_overhead, latency, costs.hop)
    limits = tuple(sorted({limit for each in steps for limit in each.up_to_B}))
    send, receive, once, hop = (np.array([each.at(limit) for limit in limits]) for each in steps)
    exchanges = sync in costs.exchange_syncs and costs.node_Bps < inf
    return _core.MessageCosts(
        up_to=np.array(limits), send=send, receive=receive, latency=once, hop=hop,
        out=1 / costs.port_out_Bps, in_=1 / costs.port_in_Bps, node=1 / costs.node_Bps, copy=1 / costs.copy_Bps,
        exchange=costs.exchange_weight if exchanges else 1.0, link=link_work(topology, costs, width), width=width,
        tolerance=float(costs.tolerance), blocking=costs.blocking if blocking else 0.0, setup=costs.setup_s,
        signal=costs.signal_s if ready else 0.0, signal_hop=costs.hop.at(0) if ready else 0.0,
        eager=-1.0 if costs.eager_B is None else costs.eager_B, before=costs.receive == "before",
        one_processor=costs.one_processor and not costs.preempts, shared_processor=costs.processors == "shared",
        in_flight=in_flight or 0,
    )  # fmt: skip


def chain_busy(
    schedule: Schedule, costs: Costs, batches: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(time, last), shape=(phases): the longest chain up to each phase since its batch began [s], its last transfer.

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
    batch = np.repeat(np.arange(batches.size - 1), np.diff(batches))[schedule.phase_of]
    end = np.array(alone, np.float64)
    phase = schedule.phase_of
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    begins_s = np.zeros(schedule.transfers) if schedule.timetable is None else schedule.timetable[:, 0]
    # inside a phase the timetable keeps the order
    kept = (batch[first] == batch[second]) & ((phase[first] < phase[second]) | (schedule.timetable is not None))
    order = np.lexsort((begins_s[second[kept]], phase[second[kept]]))
    first, second = first[kept][order], second[kept][order]
    if schedule.timetable is None:  # those of a phase wait for other phases alone
        for low, high in pairwise([0, *(np.flatnonzero(np.diff(phase[second])) + 1).tolist(), second.size]):
            np.maximum.at(end, second[low:high], end[first[low:high]] + alone[second[low:high]])
    else:
        for i, j in zip(first.tolist(), second.tolist(), strict=True):
            end[j] = max(end[j], end[i] + alone[j])
    time, last = np.zeros(schedule.phases), np.zeros(schedule.phases, np.int64)
    latest, begins = (0.0, 0), set(batches.tolist())
    for p in range(schedule.phases):
        if p in begins:
            latest = (0.0, 0)
        inside = schedule.phase(p)
        if inside.stop > inside.start:
            k = inside.start + int(np.argmax(end[inside]))
            latest = max(latest, (float(end[k]), k))
        time[p], last[p] = latest
    return time, last


def timetable_busy(
    schedule: Schedule, work: Work, half_duplex: bool, batches: NDArray[np.int64], *, latest_ends: bool
) -> NDArray[np.float64]:
    """shape=(phases), float64 [s]: when all transfers up to each phase have ended, since its batch began.

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
    source, target = (np.ascontiguousarray(node, np.int32) for node in (schedule.source_node, schedule.target_node))
    duration = transfer_s(machine, work, source, target, schedule.size, links)
    order = np.lexsort((table[:, 1], table[:, 0], schedule.phase_of)).astype(np.int32)
    width = core_widths(topology)
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    lines = _core.TimeLines(
        network=core_network(topology, machine.routing), source=source, target=target, route_offsets=links[0],
        route_links=links[1], width=width, serial=half_duplex, duration=duration, first=first, second=second,
    )  # fmt: skip
    _, end = _core.time_in_order(lines, order, schedule.phase_offsets[batches])
    busy = np.zeros(schedule.phases)
    full = np.flatnonzero(np.diff(schedule.phase_offsets))
    busy[full] = np.maximum.reduceat(end, schedule.phase_offsets[full])
    if latest_ends:
        busy[full] = np.maximum(busy[full], np.maximum.reduceat(table[:, 1], schedule.phase_offsets[full]))
    for begin, end in pairwise(batches.tolist()):
        np.maximum.accumulate(busy[begin:end], out=busy[begin:end])
    return busy
