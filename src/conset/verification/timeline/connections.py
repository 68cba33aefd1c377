"""Rules of elements on connections.

Their way takes its time, channels are theirs, gates and links are not overbooked.

A timeline says when a transfer's elements came to the gate (`sent_s`), when the first was taken
there, when the last had left it, and when all was delivered. What queues did in between it does not
say.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conset.base import Floats, Ints
from conset.models.timeline import resource_name
from conset.verification.timeline.context import CheckContext, Violation


def check_elements(e: CheckContext) -> list[Violation]:
    """What the ends pay, the gate for every element, then the way of the last one.

    And all behind the first one.
    """
    timeline, needs = e.timeline, e.needs
    steps = (e.start, timeline.sent_s, timeline.first_byte_s, timeline.left_s, e.end)
    if any(times.size != e.end.size for times in steps):
        return [
            Violation(
                "latency", "sent_s, first_byte_s and left_s: a time for every message required"
            )
        ]
    start, sent, first, left, end = steps
    count = _elements(e)
    out_s, way_s, slowest_s = _ways(e)
    crosses = count > 0
    copied = np.where(crosses, 0.0, np.where(e.workload.crosses, 0.0, needs.flow))
    found = e.not_before(
        "latency", start + needs.send, sent, "elements at the gate, after its slot,"
    )
    found += e.not_before("latency", sent, first, "first element taken, after it came to the gate,")
    found += e.not_before(
        "latency", first + count * out_s + copied, left, "last element left, after the first,"
    )
    found += e.not_before(
        "latency", left + np.where(crosses, way_s - out_s, 0.0) + needs.after, end, "delivered"
    )
    behind = first + np.where(crosses, way_s + (count - 1) * slowest_s, 0.0) + needs.after
    return found + e.not_before("latency", behind, end, "delivered, after its first element,")


def _elements(e: CheckContext) -> Ints:
    """shape=(messages): elements that cross the network."""
    return np.where(e.workload.crosses, -(-e.workload.bytes // e.costs.flit_B), 0)


def _ways(e: CheckContext) -> tuple[float | Floats, Floats, Floats]:
    """(gate out, all servers and hops, the slowest server) of one element of each message [s]."""
    # of one element [s]; both gates of a node are one where its rates share one
    capacity = e.resources.capacity.copy()
    slots, nodes = e.machine.topology.link_slots, e.machine.topology.nodes
    if np.isfinite(e.costs.node_Bps):
        capacity[slots : slots + 2 * nodes] = e.costs.node_Bps
    service = np.asarray(e.costs.flit_B / capacity)
    out, into = service[slots + e.workload.source], service[slots + nodes + e.workload.target]
    links, hops = e.routes.links, np.diff(e.routes.offsets)
    message = np.repeat(np.arange(hops.size), hops)
    way = out + into + hops * e.costs.hop.at(e.costs.flit_B)
    np.add.at(way, message, service[links])
    slowest = np.maximum(out, into)
    np.maximum.at(slowest, message, service[links])
    return out, way, slowest


def check_channels(e: CheckContext) -> list[Violation]:
    """A stated channel of a node belongs to one connection of a phase.

    A message inside its node has none.
    """
    work = e.workload
    if not work.channels.size:
        return []
    stops = np.diff(e.routes.offsets) + 1
    message = np.repeat(np.arange(work.messages), stops)
    inside = ~work.crosses[message]
    wrong = np.flatnonzero(inside != (work.channels < 0))
    if wrong.size:
        k = int(wrong[0])
        rule = "must be -1 inside a node" if inside[k] else "must be at least 0"
        return [Violation("channels", f"message {message[k]}: channel {work.channels[k]}: {rule}")]
    first = np.zeros(message.size, bool)
    first[np.cumsum(stops) - stops] = True
    node = np.empty(message.size, np.int64)
    node[first], node[~first] = work.source, e.machine.topology.ends[1][e.routes.links]
    ways: dict[tuple[int, ...], tuple[int, ...]] = {}
    begin = np.cumsum(stops) - stops
    for m in np.flatnonzero(work.crosses).tolist():
        at = slice(int(begin[m]), int(begin[m] + stops[m]))
        way = (*node[at].tolist(), *work.channels[at].tolist())
        for place in zip(node[at].tolist(), work.channels[at].tolist(), strict=True):
            if ways.setdefault(((int(work.phase_of[m]), *place)), way) != way:
                name = e.machine.topology.node_name(place[0])
                return [
                    Violation(
                        "channels",
                        f"message {m}: channel {place[1]} of {name} belongs to another "
                        "connection of its phase",
                    )
                ]
    return []


def check_gates(e: CheckContext) -> Iterator[Violation]:
    """Elements that come after a time fit between it and the last delivery.

    Likewise before one from the start.

    Of a gate or link, the elements of all messages that are first taken at some time or later pass
    it after that.
    """
    resources, work = e.resources, e.workload
    slots, nodes = e.machine.topology.link_slots, e.machine.topology.nodes
    counts = np.diff(resources.offsets)
    shared = np.isfinite(e.costs.node_Bps)
    message = np.repeat(np.arange(work.messages), counts)
    kept = (
        (resources.items >= slots + 2 * nodes) if shared else (resources.items < slots + 2 * nodes)
    )
    kept |= resources.items < slots
    kept &= _elements(e)[message] > 0
    item, message = resources.items[kept], message[kept]
    each = e.costs.flit_B / resources.capacity[item] * _elements(e)[message]
    first, end = e.timeline.first_byte_s[message], (e.end - e.needs.after)[message]
    for at, other, sign in ((first, end, 1.0), (end, first, -1.0)):
        order = np.lexsort((-sign * at, item))
        which, moment = item[order], at[order]
        new = np.append(True, which[1:] != which[:-1])[: which.size]
        work_s = np.cumsum(each[order])
        work_s -= np.repeat(
            (work_s - each[order])[new], np.diff(np.append(np.flatnonzero(new), which.size))
        )
        limit = np.full(resources.capacity.size, -np.inf)
        np.maximum.at(limit, item, sign * other)
        over = work_s - (limit[which] - sign * moment)
        if over.size and over.max() > e.slack:
            k = int(over.argmax())
            name = resource_name(e.machine.topology, int(which[k]))
            span = limit[which[k]] - sign * moment[k]
            word = "from" if sign > 0 else "until"
            yield Violation(
                "capacity",
                f"{name}: elements of {work_s[k]:.9g} s in {span:.9g} s {word} {moment[k]:.9g} s",
            )


def check_switches(e: CheckContext) -> list[Violation]:
    """Switches are counted, and cost what the machine says."""
    stated = e.timeline.figures.get("switch")
    if not isinstance(stated, dict):
        return [
            Violation("figures", "switch: count, drain_s, synchronization_s and setup_s required")
        ]
    count = max(e.workload.phases - 1, 0)
    synchronization_s = e.costs.synchronization.at(e.machine.topology.endpoints)
    last_s = np.zeros(max(e.workload.phases, 1))
    np.maximum.at(last_s, e.workload.phase_of, e.timeline.left_s)
    ends_s = (
        np.maximum.accumulate(np.maximum(last_s, e.timeline.phase_end_s))
        if e.workload.messages
        else last_s
    )
    full = np.bincount(e.workload.phase_of, minlength=last_s.size) > 0
    drain_s = float((ends_s - last_s)[:-1][full[:-1]].sum()) if e.workload.phases else 0.0
    required = {
        "count": count,
        "synchronization_s": count * synchronization_s,
        "setup_s": count * e.costs.setup_s,
        "drain_s": drain_s,
    }
    found = []
    for name, value in required.items():
        given = stated.get(name)
        if not isinstance(given, int | float) or not np.isclose(
            given, value, rtol=1e-9, atol=e.slack
        ):
            found.append(Violation("figures", f"switch: {name} = {given}, must be {value:.9g}"))
    return found
