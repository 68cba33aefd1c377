"""Checker of timelines: is one possible? With the rules of the network.

Every byte flows once, no link or port is faster than it is, channels have one message each.

All is computed again from the workload, by array code that knows no events.

Nothing of the simulators is used: routes are the verifier's, times and rates the timeline's. Where
it keeps its rates (`Settings.record`), conservation, capacities, lanes and fairness are checked at
every time; without them, what starts and deliveries alone say. What each model must keep:

    all                 releases, dependences, policies; posting order and slots; the five times of
                        a message; set-ups and processors; bounds, figures
    flow                conservation, capacity, fairness
    wormhole, circuit   one message per lane; receives; conservation; capacity, exchanges counted by
                        their weight
    flit                a link or port passes one flit a cycle
    connections         way and number of elements, stated channels, gates and links, parts of
                        switches; not the queues

Cost: O((changes + messages) · hops · log) time, made for tests and for results one wants to lean
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf

import numpy as np

from conset.base import Bools, Floats, Ints, counted, take_rows
from conset.machine.machine import Machine
from conset.models.bounds import Spread, growth, lower_bound
from conset.models.settings import Settings
from conset.models.timeline import Rates, Timeline, mean_latency, phase_ends, resource_name
from conset.models.workload import Workload
from conset.verification.timeline.connections import (
    check_channels,
    check_elements,
    check_gates,
    check_switches,
)
from conset.verification.timeline.context import TOLERANCE, CheckContext, Violation
from conset.verification.timeline.messages import (
    check_deps,
    check_life,
    check_policy,
    check_receives,
    check_release,
    check_sends,
    check_set_ups,
    holding,
)
from conset.verification.timeline.processors import check_processors

SAMPLES = 200
"""Times at which fairness is looked at."""


def check_conservation(e: CheckContext) -> Iterator[Violation]:
    """Exactly the bytes of a message flow, from its first byte to its last."""
    rates = e.timeline.rates
    if rates is None or e.streams is None:
        return
    order = np.lexsort((np.arange(rates.message.size), rates.message))
    message, time_s, rate = rates.message[order], rates.time_s[order], rates.rate_Bps[order]
    if (rate < 0).any() or (np.diff(rates.time_s) < 0).any():
        yield Violation("conservation", "rates: must be at least 0 B/s, at times that do not fall")
    same = message[1:] == message[:-1]
    carried = np.bincount(message[:-1][same], (rate[:-1] * np.diff(time_s))[same], e.end.size)
    wrong = e.flows & (np.abs(carried - e.workload.bytes) > 1e-6 * e.workload.bytes + 1e-3)
    if wrong.any():
        m = int(wrong.argmax())
        yield Violation(
            "conservation",
            f"message {m}: {carried[m]:.9g} B flowed, must be {e.workload.bytes[m]} B",
        )
    last = np.append(~same, True) if message.size else np.zeros(0, bool)
    if rate[last].any():
        yield Violation(
            "conservation", f"message {message[last][rate[last] != 0][0]}: flows without end"
        )
    yield from _ends(e)


def _ends(e: CheckContext) -> Iterator[Violation]:
    """Rates begin with the first byte and end with the last one.

    Where the timeline says these too.
    """
    assert e.streams is not None  # asked only where there are rates
    for stated, flowed, what in zip(
        (e.first, e.left), e.streams, ("first byte", "last byte"), strict=True
    ):
        assert stated is not None  # rates say it where nothing else does
        apart = stated - flowed
        if (
            what == "last byte" or not e.costs.preempts
        ):  # else bytes may stand still before the first
            apart = np.abs(apart)
        apart = np.where(e.flows, apart, 0.0)
        if apart.size and apart.max() > 2 * e.slack:
            m = int(apart.argmax())
            yield Violation(
                "conservation",
                f"message {m}: {what} at {stated[m]:.9g} s, by its rates at {flowed[m]:.9g} s",
            )


def check_capacity(e: CheckContext) -> Iterator[Violation]:
    """No message, link, port or node is faster than its rate.

    Without rates, no more work than time from either end.
    """
    rates = e.timeline.rates
    if rates is None:
        yield from _windows(e)
        return
    over = rates.rate_Bps > e.resources.slowest[rates.message] * (1 + TOLERANCE)
    if over.any():
        k = int(np.argmax(np.where(over, rates.rate_Bps, 0)))
        m = int(rates.message[k])
        yield Violation(
            "capacity",
            f"message {m}: {rates.rate_Bps[k]:.9g} B/s at {rates.time_s[k]:.9g} s, at most "
            f"{e.resources.slowest[m]:.9g} B/s",
        )
    shared = e.machine.topology.link_slots + 2 * e.machine.topology.nodes
    limited = e.resources.items < shared
    changes = (rates.message.astype(np.int64), rates.time_s, growth(rates, e.end.size))
    yield from _overloads(e, changes, limited)
    if np.isfinite(e.costs.node_Bps):
        yield from _overloads(e, _exchanges(e, rates), ~limited)


def _exchanges(e: CheckContext, rates: Rates) -> tuple[Ints, Floats, Floats]:
    """(message, time, growth) of what messages count in `node`.

    Less while both of an exchange flow.
    """
    assert e.streams is not None  # asked only where there are rates
    first, last = e.streams
    partner = e.resources.partner
    paired = np.flatnonzero((partner >= 0) & e.flows)
    paired = paired[e.flows[partner[paired]]]
    other = partner[paired]
    # the partner's first and last byte change what counts
    message = np.concatenate([rates.message.astype(np.int64), paired, paired])
    time_s = np.concatenate([rates.time_s, first[other], last[other]])
    rate = np.concatenate([rates.rate_Bps, np.full(2 * paired.size, np.nan)])
    order = np.lexsort((np.arange(message.size), time_s, message))
    message, time_s, rate = message[order], time_s[order], rate[order]
    known = np.maximum.accumulate(np.where(np.isnan(rate), -1, np.arange(rate.size)))
    mine = (known >= 0) & (message[np.maximum(known, 0)] == message)
    rate = np.where(mine, rate[np.maximum(known, 0)], 0.0)
    mate = np.maximum(partner[message], 0)
    both = (partner[message] >= 0) & e.flows[mate] & (first[mate] <= time_s) & (time_s < last[mate])
    counted = np.where(both, e.costs.exchange_weight, 1.0) * rate
    in_time = np.argsort(time_s, kind="stable")
    changed = Rates(time_s[in_time], message[in_time].astype(np.int32), counted[in_time])
    return message[in_time], time_s[in_time], growth(changed, e.end.size)


def _overloads(
    e: CheckContext, changes: tuple[Ints, Floats, Floats], chosen: Bools
) -> Iterator[Violation]:
    """The worst moment of every resource of the chosen items that is above its rate."""
    message, at, step = changes
    items = np.where(chosen, e.resources.items, -1)
    offsets, use = take_rows(e.resources.offsets, message)
    row = np.repeat(np.arange(message.size), np.diff(offsets))
    resource = items[use]
    # at nodes the weights of exchanges come and go with their bytes, which `changes` say
    part = np.where(resource < e.machine.topology.link_slots, e.resources.weight[use], 1.0)
    row, part, resource = row[resource >= 0], part[resource >= 0], resource[resource >= 0]
    order = np.lexsort((row, at[row], resource))
    resource, time_s, step = resource[order], at[row][order], (step[row] * part)[order]
    total = np.cumsum(step)
    new = np.append(True, resource[1:] != resource[:-1])[: resource.size]
    total -= np.repeat((total - step)[new], np.diff(np.append(np.flatnonzero(new), resource.size)))
    # changes of one time are one, whatever their last bits
    settled = np.append(
        (time_s[1:] > time_s[:-1] + e.slack * 1e-3) | (resource[1:] != resource[:-1]), True
    )
    scale = np.abs(total).max(initial=0.0)
    limit = e.resources.capacity[resource]
    excess = np.where(
        settled[: resource.size], total - limit * (1 + TOLERANCE) - 1e-12 * scale, -inf
    )
    for which in np.unique(resource[excess > 0]).tolist():
        k = int(np.argmax(np.where(resource == which, excess, -inf)))
        name = resource_name(e.machine.topology, which)
        yield Violation(
            "capacity",
            f"{name}: {total[k]:.9g} B/s at {time_s[k]:.9g} s, at most {limit[k]:.9g} B/s",
        )


def _flowing(e: CheckContext) -> tuple[Floats, Floats]:
    """(not before, not after), shape=(messages) each [s]: bytes of a message flow."""
    end = e.end - e.needs.after if e.left is None else e.left
    if e.model == "flit":  # flits go ahead while others are on their way
        return e.start + e.needs.send, end
    return e.start + e.needs.to_bytes if e.first is None else np.where(
        e.flows, e.first, e.start
    ), end


def _windows(e: CheckContext) -> list[Violation]:
    """Bytes that flow after a time fit between it and the last byte of all.

    Likewise from the first byte on.
    """
    resources = e.resources
    counts = np.diff(resources.offsets)
    item = resources.items
    work = np.repeat(resources.bytes, counts) * resources.weight / resources.capacity[item]
    begin, end = (np.repeat(times, counts) for times in _flowing(e))
    for moment, sign in ((begin, -1), (end, 1)):
        # from the last start back, and from the first end on
        order = np.lexsort((sign * moment, item))
        row, done = item[order], np.cumsum(work[order])
        new = np.append(True, row[1:] != row[:-1])[: row.size]
        done -= np.repeat(
            (done - work[order])[new], np.diff(np.append(np.flatnonzero(new), row.size))
        )
        edge = np.full(resources.capacity.size, -inf)
        np.maximum.at(edge, item, end if sign < 0 else -begin)
        room = edge[row] + sign * moment[order]
        over = done - room * (1 + TOLERANCE) - e.slack
        if over.size and over.max() > 0:
            k = int(over.argmax())
            name = resource_name(e.machine.topology, int(row[k]))
            return [
                Violation(
                    "capacity",
                    f"{name}: work of {done[k]:.9g} s in {room[k]:.9g} s from "
                    f"{moment[order][k]:.9g} s",
                )
            ]
    return []


def check_lanes(e: CheckContext) -> list[Violation]:
    """A lane has one message at a time, from its header to the release of the path."""
    held = holding(e) if e.held else None
    if held is None:
        return []
    begin, end, sure = held
    hops = np.diff(e.routes.offsets)
    message = np.repeat(np.arange(hops.size), hops)
    # a header asks for the next channel a hop after it has got one
    ahead = e.routes.offsets[1:][message] - np.arange(message.size)
    from_s, to_s = begin[message] - ahead * e.needs.hop[message], end[message] - e.slack
    pools = 1
    if e.model == "wormhole":
        pools += e.machine.topology.dimensions or int(e.routes.pool.max(initial=0))
    key = e.routes.links.astype(np.int64) * pools + np.minimum(e.routes.pool, pools - 1)
    chosen = np.flatnonzero(sure[message] & (to_s > from_s))
    key, rows = np.tile(key[chosen], 2), np.tile(message[chosen], 2)
    times = np.concatenate([from_s[chosen], to_s[chosen]])
    step = np.repeat([1, -1], chosen.size)
    order = np.lexsort((step, times, key))
    total = np.cumsum(step[order])  # every channel is free again at the end of its own
    lanes = 1 if e.model == "circuit" else e.settings.lanes or e.costs.lanes
    limit = (
        lanes * e.machine.topology.widths()[key[order] // pools]
        if order.size
        else np.zeros(0, np.int64)
    )
    over = total - limit
    if not over.size or over.max() <= 0:
        return []
    k = int(over.argmax())
    name = e.machine.topology.link_name(int(key[order[k]]) // pools)
    return [
        Violation(
            "lanes",
            f"{name}: {total[k]} messages hold it at {times[order[k]]:.9g} s, message "
            f"{rows[order[k]]} too; it has {limit[k]} lane{'' if limit[k] == 1 else 's'}",
        )
    ]


def check_fairness(e: CheckContext) -> list[Violation]:
    """`flow`: every message has a full link or port on which its level is the largest."""
    if e.timeline.rates is None or e.model != "flow" or e.costs.startup_s:
        return []  # a port that messages start up on may have the rest of its rate for bytes
    weight = np.ones(e.end.size)
    if e.settings.fairness == "rtt":
        costs = e.costs
        route = (
            costs.inject.seconds[0]
            + costs.eject.seconds[0]
            + e.resources.hops * costs.hop.of(e.workload.bytes)
        )
        weight = np.where(route > 0, 1 / np.where(route > 0, route, inf), 1.0)
        weight = np.where(weight > 0, weight, 1.0)
    worst = _unfair(e, e.timeline.rates, weight)
    if worst is None:
        return []
    message, at = worst
    return [
        Violation(
            "fairness",
            f"message {message} at {at:.9g} s: no full link or port on which its level is largest",
        )
    ]


def _unfair(e: CheckContext, rates: Rates, weight: Floats) -> tuple[int, float] | None:
    """(message, time) of a flow without a bottleneck at one of the times looked at.

    None where all have one.
    """
    times = np.unique(rates.time_s)
    if not times.size:
        return None
    chosen = set(times[:: max(1, times.size // SAMPLES)].tolist())
    now = np.zeros(e.end.size)
    ends = np.append(np.flatnonzero(np.diff(rates.time_s)) + 1, rates.time_s.size)
    begin = 0
    for end in ends.tolist():
        now[rates.message[begin:end]] = rates.rate_Bps[begin:end]
        at = float(rates.time_s[end - 1])
        begin = end
        if at in chosen:
            alone = _without_bottleneck(e, now, weight)
            if alone.size:
                return int(alone[0]), at
    return None


def _without_bottleneck(e: CheckContext, now: Floats, weight: Floats) -> Ints:
    """Messages that flow at rates `now` and could flow faster."""
    r = e.resources
    message = np.repeat(np.arange(now.size), np.diff(r.offsets))
    # a byte of an exchange counts less only while both its messages flow
    both = (r.partner >= 0) & (now[np.maximum(r.partner, 0)] > 0)
    of_link = r.items < e.machine.topology.link_slots
    counted = now[message] * np.where(both[message] | of_link, r.weight, 1.0)
    used = np.bincount(r.items, counted, r.capacity.size)
    level = (now / weight)[message]
    largest = np.zeros(r.capacity.size)
    np.maximum.at(largest, r.items, level)
    held = (used >= r.capacity * (1 - 1e-6))[r.items] & (level >= largest[r.items] * (1 - 1e-6))
    has = now >= r.slowest * (1 - 1e-6)  # one unit of a wide link holds it
    np.logical_or.at(has, message, held)
    return np.flatnonzero((now > 0) & ~has)


__all__ = ["Violation", "check_timeline"]
Rule = Callable[[CheckContext], Iterable[Violation]]


def check_timeline(
    timeline: Timeline, workload: Workload, machine: Machine, settings: Settings | None = None
) -> tuple[Violation, ...]:
    """Every rule that a timeline breaks, each with its worst case.

    Args:
        timeline: of any model.
        workload: what was played.
        machine: on what.
        settings: how.
    """
    context = CheckContext(timeline, workload, machine, settings or Settings())
    stated = (context.start, timeline.sent_s, timeline.first_byte_s, timeline.left_s, context.end)
    wrong = ~np.isfinite(
        np.stack([times for times in stated if times.size == context.end.size])
    ).all(axis=0)
    if wrong.any():
        return (Violation("release", f"message {int(wrong.argmax())}: times must be finite"),)
    if context.routes.broken >= 0:
        m = context.routes.broken
        ends = f"{workload.source[m]} → {workload.target[m]}"
        return (
            Violation(
                "route", f"message {m} ({ends}): its links are no way from one end to the other"
            ),
        )
    rules = OF_CONNECTIONS if timeline.model == "connections" else RULES
    return tuple(violation for rule in counted(rules) for violation in rule(context))


def check_bound(e: CheckContext) -> list[Violation]:
    """The time is above every bound of its class."""
    least, what = lower_bound(e.demand)
    if e.timeline.time_s >= least * (1 - 1e-6):
        return []
    return [Violation("bound", f"{e.timeline.time_s:.9g} s is below {least:.9g} s: {what}")]


def check_figures(e: CheckContext) -> Iterator[Violation]:
    """Bytes of links and ports, ends of phases, the mean latency are what messages say.

    Busy times fit.
    """
    work, timeline, topology = e.workload, e.timeline, e.machine.topology
    crosses = work.crosses
    spread = e.routes.spread
    hops = np.repeat(work.bytes, np.diff(e.routes.offsets)) * (
        1 if spread is None else spread.share
    )
    expected = np.bincount(e.routes.links, hops, topology.link_slots)
    if spread is not None and e.model == "packet":
        yield from _choices(e, spread)
        expected = timeline.link_bytes
    counted = {
        "link_bytes": (expected, topology.link_name),
        "out_bytes": (
            np.bincount(work.source[crosses], work.bytes[crosses], topology.nodes),
            topology.node_name,
        ),
        "in_bytes": (
            np.bincount(work.target[crosses], work.bytes[crosses], topology.nodes),
            topology.node_name,
        ),
    }
    for name, (expected, name_of) in counted.items():
        given = getattr(timeline, name)
        # parts of messages are rounded once they are added up
        wrong = np.flatnonzero(
            expected != given if spread is None else np.abs(expected - given) > 0.5 + 1e-6
        )
        if wrong.size:
            k = int(wrong[0])
            yield Violation(
                "figures", f"{name}: {name_of(k)}: {given[k]} B, must be {expected[k]:.0f} B"
            )
    if not np.allclose(phase_ends(work, e.end), timeline.phase_end_s, rtol=1e-12, atol=0):
        yield Violation(
            "figures",
            "phase_end_s: must be the last delivery of each phase and of those before",
        )
    latency = mean_latency(work, e.end, None if e.model == "flit" else crosses)
    if not np.isclose(latency, timeline.mean_latency_s, rtol=1e-9, atol=e.slack):
        yield Violation(
            "figures", f"mean_latency_s: {timeline.mean_latency_s:.9g}, must be {latency:.9g} s"
        )
    yield from _busy(e)


def _choices(e: CheckContext, spread: Spread) -> Iterator[Violation]:
    """Packets that choose routes take links of least ways, and nodes pass on what they get."""
    work, given, topology = e.workload, e.timeline.link_bytes, e.machine.topology
    size = np.repeat(work.bytes, np.diff(e.routes.offsets))
    least, most = (
        np.bincount(e.routes.links, size * chosen, topology.link_slots)
        for chosen in (spread.share > 1 - 1e-9, spread.share > 0)
    )
    for k in np.flatnonzero((given < least - 0.5) | (given > most + 0.5))[:1].tolist():
        text = f"{given[k]} B, must be from {least[k]:.0f} to {most[k]:.0f} B"
        yield Violation("figures", f"link_bytes: {topology.link_name(k)}: {text}")
    (start, stop), ends = topology.ends, (work.source, work.target)
    out, into, sent, received = (
        np.bincount(node, amount, topology.nodes)
        for node, amount in ((start, given), (stop, given), *((end, work.bytes) for end in ends))
    )
    wrong = np.abs(out - into - sent + received)  # of roundings one for each link
    for v in np.flatnonzero(wrong > 0.5 * topology.link_slots + 1e-6)[:1].tolist():
        text = (
            f"{topology.node_name(v)}: {into[v]:.0f} B come and {out[v]:.0f} B leave, it sends "
            f"{sent[v]:.0f} and receives {received[v]:.0f} B"
        )
        yield Violation("conservation", text)


def _busy(e: CheckContext) -> list[Violation]:
    """A link or port is busy for no longer than messages over it last, for no less than bytes need.

    Messages last from their slot to their delivery.
    """
    nodes, slots = e.machine.topology.nodes, e.machine.topology.link_slots
    least, most = e.resources.loads(), _lasts(e)
    columns = {
        "link_busy_s": slice(0, slots),
        "out_busy_s": slice(slots, slots + nodes),
        "in_busy_s": slice(slots + nodes, slots + 2 * nodes),
    }
    for name, place in columns.items():
        busy, need = getattr(e.timeline, name), least[place]
        long = busy - most[place] * (1 + 1e-6)
        if long.size and long.max() > e.slack:
            k = int(long.argmax())
            text = f"{name}[{k}] = {busy[k]:.9g} s: messages over it last {most[place][k]:.9g} s"
            return [Violation("figures", text)]
        short = need * (1 - 1e-6) - busy
        if e.model != "flit" and short.size and short.max() > e.slack:
            k = int(short.argmax())
            return [
                Violation(
                    "figures", f"{name}[{k}] = {busy[k]:.9g} s: its bytes need {need[k]:.9g} s"
                )
            ]
    return []


def _lasts(e: CheckContext) -> Floats:
    """shape=(link slots + 2 nodes) [s]: how long there is any message over each link and port."""
    work, nodes, slots = e.workload, e.machine.topology.nodes, e.machine.topology.link_slots
    crossing = np.flatnonzero(work.crosses)
    message = np.concatenate(
        [np.repeat(np.arange(work.messages), np.diff(e.routes.offsets)), crossing, crossing]
    )
    place = np.concatenate(
        [e.routes.links, slots + work.source[crossing], slots + nodes + work.target[crossing]]
    )
    order = np.lexsort((e.start[message], place))
    message, place = message[order], place[order]
    begin, end = e.start[message], np.minimum(e.end[message], e.timeline.time_s)
    # the latest end at a place before each message: ends by their rank, places one above the other
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(end.size, np.int64)
    rank[by_end] = np.arange(end.size)
    latest = np.maximum.accumulate(place * end.size + rank)
    before = np.append(-np.inf, end[by_end[latest[:-1] % max(end.size, 1)]])
    before[np.flatnonzero(np.diff(place, prepend=-1))] = -np.inf
    added = np.maximum(end - np.maximum(begin, before), 0.0)
    return np.asarray(np.bincount(place, added, slots + 2 * nodes), np.float64)


RULES: tuple[Rule, ...] = (
    check_release,
    check_deps,
    check_policy,
    check_sends,
    check_life,
    check_set_ups,
    check_processors,
    check_receives,
    check_conservation,
    check_capacity,
    check_lanes,
    check_fairness,
    check_bound,
    check_figures,
)
"""Every rule, in the order in which violations are reported."""
OF_CONNECTIONS: tuple[Rule, ...] = (
    check_release,
    check_deps,
    check_policy,
    check_set_ups,
    check_sends,
    check_elements,
    check_channels,
    check_gates,
    check_bound,
    check_figures,
    check_switches,
)
"""Those of timelines by `connections`."""
