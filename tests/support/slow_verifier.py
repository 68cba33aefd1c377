"""The obvious slow verifier of schedules and programs.

Loops over lists, to hold the verifier's verdict against.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import inf, isfinite
from typing import Any

from conset.machine.machine import Machine
from conset.schedule.document import Document, ProgramDocument
from support.hand_made import figures, loads, route

MAX_BYTES = 2**62
Rows = list[list[int]]


class Broken(Exception):
    """A rule that does not hold."""


def hold(fine: bool, rule: str) -> None:
    if not fine:
        raise Broken(rule)


def broken_rule(document: Document | ProgramDocument, machine: Machine) -> str:
    """The first rule that does not hold; empty where all do."""
    try:
        (check_program if isinstance(document, ProgramDocument) else check_schedule)(
            document, machine
        )  # type: ignore[arg-type]
    except Broken as broken:
        return str(broken)
    return ""


def check_schedule(d: Document, machine: Machine) -> None:
    messages = list(zip(d.source.tolist(), d.target.tolist(), d.size.tolist(), strict=True))
    check_pattern(d, messages)
    place = places(d, machine)
    phases, ids = phase_rows(d)
    check_parts(messages, phases)
    ways = routes(d, machine, place, phases, ids)
    limits(d, machine, phases, ways)
    check_channels(d, ways, ids)
    times = None if d.timetable is None else d.timetable.tolist()
    check_order(d, phases, ids, times)
    if times is not None:
        check_times(d, machine, phases, ids, ways, times)
    check_posting(d, phases, machine)
    check_guarantees(d, machine, phases, ways)
    true = figures(machine, phases, ways)
    hold(
        {**true["load"], **true, "load": 0} == {**d.figures["load"], **d.figures, "load": 0},
        "figures",
    )


def check_pattern(d: Document, messages: list[tuple[int, int, int]]) -> None:
    hold(d.ranks >= 1, "ranks")
    for s, t, b in messages:
        hold(0 <= s < d.ranks and 0 <= t < d.ranks and s != t and b > 0, "pattern")
    hold(sum(b for _, _, b in messages) <= MAX_BYTES, "pattern")
    ids = range(len(messages)) if d.ids is None else d.ids.tolist()
    hold(len(set(ids)) == len(ids) == len(messages), "pattern")
    hold(all(0 <= id < 2**31 for id in ids), "pattern")
    graph = TopologicalSorter[int]()
    for i, j in [] if d.before is None else d.before.tolist():
        hold(min(i, j) >= 0 and max(i, j) < len(messages), "pattern")
        hold(bool(set(messages[i][:2]) & set(messages[j][:2])), "pattern")
        graph.add(j, i)
    try:
        graph.prepare()
    except CycleError:
        raise Broken("pattern") from None


def places(d: Document, machine: Machine) -> list[int]:
    """The node of each rank."""
    endpoints = machine.topology.endpoints
    if d.placement is None:
        hold(d.ranks <= endpoints, "ranks")
        return list(range(d.ranks))
    place = d.placement.tolist()
    hold(len(place) == d.ranks and all(0 <= node < endpoints for node in place), "placement")
    return place


def phase_rows(d: Document) -> tuple[list[Rows], list[list[int]]]:
    """Rows [source, target, bytes, message] of each phase, and the index of each transfer."""
    columns = (d.transfer_source, d.transfer_target, d.transfer_size, d.transfer_message)
    rows = [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    cuts = list(pairwise(d.phase_offsets.tolist()))
    return [rows[a:b] for a, b in cuts], [list(range(a, b)) for a, b in cuts]


def check_parts(messages: list[tuple[int, int, int]], phases: list[Rows]) -> None:
    carried = [0] * len(messages)
    for s, t, b, m in (row for phase in phases for row in phase):
        hold(0 <= m < len(messages) and messages[m][:2] == (s, t) and b > 0, "transfers")
        carried[m] += b
    hold(carried == [b for _, _, b in messages], "message-bytes")


def routes(
    d: Document, machine: Machine, place: list[int], phases: list[Rows], ids: list[list[int]]
) -> list[Rows]:
    """The nodes of every transfer's way."""
    ends = [[(place[s], place[t]) for s, t, *_ in phase] for phase in phases]
    if d.route_offsets is None or d.route_nodes is None:
        return [[route(machine, a, b) for a, b in phase] for phase in ends]
    cuts, nodes = d.route_offsets.tolist(), d.route_nodes.tolist()
    ways = [[nodes[cuts[k] : cuts[k + 1]] for k in phase] for phase in ids]
    joined = links(machine)
    for phase, pairs in zip(ways, ends, strict=True):
        for way, pair in zip(phase, pairs, strict=True):
            hold(bool(way) and (way[0], way[-1]) == pair and len(set(way)) == len(way), "route")
            if machine.topology.kind == "crossbar":
                hold(
                    len(way) <= 2 and all(0 <= node < machine.topology.nodes for node in way),
                    "route",
                )
            else:
                hold(all(hop in joined for hop in pairwise(way)), "route")
    return ways


def links(machine: Machine) -> dict[tuple[int, int], int]:
    """Links that a route may take, by the nodes they join."""
    topology = machine.topology
    source, target = (end.tolist() for end in topology.ends)
    found = {
        (a, b): k
        for k, (a, b) in enumerate(zip(source, target, strict=True))
        if topology.link_exists[k]
    }
    if machine.routing.rule == "no-wrap":
        at = topology.coordinates.tolist()
        found = {
            (a, b): k
            for (a, b), k in found.items()
            if max(map(abs, map(int.__sub__, at[a], at[b]))) == 1
        }
    return found


def limits(d: Document, machine: Machine, phases: list[Rows], ways: list[Rows]) -> None:
    if not d.limits_asked:
        hard = machine.hard_limits(d.method).to_object()
        for name, least in hard.items():
            stated = d.limits[name]
            looser = stated != "exchange" if least == "exchange" else False
            if name != "duplex":
                looser = least is not None and (stated is None or stated > least)
            hold(not looser, "limits")
    for phase in ways:
        keep(machine, d.limits, phase)


def keep(machine: Machine, limits: Any, ways: Rows) -> None:
    """Loads of connections that are open together."""
    width, joined = machine.topology.widths(), links(machine)
    used = loads(machine, ways)
    for kind, counter in used.items():
        for key, count in counter.items():
            room = int(width[joined[key]]) if kind == "link" else 1
            hold(limits[kind] is None or count <= limits[kind] * room, kind)
    partners = defaultdict(set)
    for way in ways:
        if len(way) > 1:
            partners[way[0]].add(way[-1])
            partners[way[-1]].add(way[0])
    both = used["send"].keys() & used["receive"].keys()
    hold(limits["duplex"] == "full" or all(len(partners[node]) == 1 for node in both), "duplex")


def check_channels(d: Document, ways: list[Rows], ids: list[list[int]]) -> None:
    if d.channels is None or d.route_offsets is None:
        return
    hold(d.route_nodes is not None and d.channels.size == d.route_nodes.size, "channels")
    numbers, cuts = d.channels.tolist(), d.route_offsets.tolist()
    most = 2**31 - 1 if d.limits["channels"] is None else d.limits["channels"]
    for phase, own in zip(ways, ids, strict=True):
        taken = set()
        for way, k in zip(phase, own, strict=True):
            for node, channel in (
                zip(way, numbers[cuts[k] : cuts[k + 1]], strict=True) if len(way) > 1 else ()
            ):
                hold(0 <= channel < most and (node, channel) not in taken, "channels")
                taken.add((node, channel))


def check_order(d: Document, phases: list[Rows], ids: list[list[int]], times: Any) -> None:
    for i, j in [] if d.before is None else d.before.tolist():
        firsts, seconds = (
            [
                (p, k)
                for p, phase in enumerate(phases)
                for row, k in zip(phase, ids[p], strict=True)
                if row[3] == m
            ]
            for m in (i, j)
        )
        for p, one in firsts:
            for q, other in seconds:
                windows = (
                    [(one, one), (other, other)] if times is None else [times[one], times[other]]
                )
                (begin, end), (start, stop) = windows
                inside = end < start or (
                    end == start and (begin < end or start < stop or one < other)
                )
                hold(p < q or (p == q and inside), "order")


def check_times(
    d: Document,
    machine: Machine,
    phases: list[Rows],
    ids: list[list[int]],
    ways: list[Rows],
    times: Any,
) -> None:
    costs, joined, topology = machine.costs_for(d.method), links(machine), machine.topology
    for start, end in times:
        hold(isfinite(start) and isfinite(end) and 0 <= start <= end, "timetable")
    for phase, own, rows in zip(ways, ids, phases, strict=True):
        windows = defaultdict(list)
        for way, k, row in zip(phase, own, rows, strict=True):
            if len(way) < 2:
                continue
            hops = [joined[hop] for hop in pairwise(way)] if topology.kind != "crossbar" else []
            rates = [costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps]
            rates += [
                costs.link_Bps
                if topology.link_rate_Bps is None
                else float(topology.link_rate_Bps[h])
                for h in hops
            ]
            start, end = times[k]
            hold(end - start >= row[2] / min(rates) * (1 - 1e-6) - 1e-9 * end, "timetable-length")
            for place in (("out", way[0]), ("in", way[-1]), *(("link", h) for h in hops)):
                windows[place].append((start, end))
        for (kind, at), held in windows.items():
            room = int(topology.widths()[at]) if kind == "link" else 1
            for start, end in held:
                if start < end:
                    at_once = sum(a <= start < b for a, b in held if a < b)
                    hold(at_once <= room, f"timetable-{kind}")


def check_posting(d: Document, phases: list[Rows], machine: Machine) -> None:
    flight = d.in_flight
    hold(flight is None or flight == "all" or (type(flight) is int and flight >= 1), "in-flight")
    keys: dict[str, Any] = {
        "ascending": lambda s, t, b: t,
        "rotated": lambda s, t, b: (t - s) % d.ranks,
        "pairwise": lambda s, t, b: s ^ t,
        "longest-first": lambda s, t, b: (-b, (t - s) % d.ranks),
    }
    if machine.topology.kind in ("mesh", "torus", "ring", "hypercube"):
        at, sides = machine.topology.coordinates.tolist(), machine.topology.sides
        node = list(range(d.ranks)) if d.placement is None else d.placement.tolist()
        keys["dimension"] = lambda s, t, b: [
            (y - x) % side for x, y, side in zip(at[node[s]], at[node[t]], sides, strict=True)
        ]
    hold(d.posting in ("schedule", "random", *keys), "posting")
    for phase in phases:
        for source in {row[0] for row in phase}:
            own = (
                [keys[d.posting](*row[:3]) for row in phase if row[0] == source]
                if d.posting in keys
                else []
            )
            hold(own == sorted(own), "posting")


def shares(machine: Machine, method: str, ways: Rows) -> list[float]:
    """The least share of every way's ports and links [B/s]."""
    costs, joined, topology = machine.costs_for(method), links(machine), machine.topology
    used = loads(machine, ways)
    found = []
    for way in ways:
        least = inf
        if len(way) > 1:
            least = min(
                costs.port_out_Bps / used["send"][way[0]],
                costs.port_in_Bps / used["receive"][way[-1]],
            )
            least = min(
                least,
                *(
                    costs.node_Bps / (used["send"][n] + used["receive"][n])
                    for n in (way[0], way[-1])
                ),
            )
            for hop in pairwise(way) if topology.kind != "crossbar" else ():
                link = joined[hop]
                rate = (
                    costs.link_Bps
                    if topology.link_rate_Bps is None
                    else float(topology.link_rate_Bps[link])
                )
                least = min(least, rate * int(topology.widths()[link]) / used["link"][hop])
        found.append(least)
    return found


def demands(d: Document) -> list[float]:
    stated = d.min_bandwidth_Bps
    return list(stated) if isinstance(stated, list) else [stated or 0.0] * d.source.size


def rounds(machine: Machine, method: str, ways: Rows) -> list[float]:
    """How long an element of every way waits and travels at most [s].

    For a flit of everyone at every stop.
    """
    costs, joined, topology = machine.costs_for(method), links(machine), machine.topology
    found = []
    for way in ways:
        time = 0.0
        if len(way) > 1:
            ends = [(other[0], other[-1]) for other in ways if len(other) > 1]
            for side, rate in ((0, costs.port_out_Bps), (1, costs.port_in_Bps)):
                node = (way[0], way[-1])[side]
                own = sum(end[side] == node for end in ends)
                both = sum(node in end for end in ends)
                time += max(own * costs.flit_B / rate, both * costs.flit_B / costs.node_Bps)
            for hop in pairwise(way) if topology.kind != "crossbar" else ():
                link = joined[hop]
                rate = (
                    costs.link_Bps
                    if topology.link_rate_Bps is None
                    else float(topology.link_rate_Bps[link])
                )
                flits = sum(hop in pairwise(other) for other in ways)
                time += costs.hop.at(costs.flit_B) + flits * costs.flit_B / (
                    rate * int(topology.widths()[link])
                )
        found.append(time)
    return found


def latencies(d: Document) -> list[float]:
    stated = d.max_latency_s
    each = list(stated) if isinstance(stated, list) else [stated] * d.source.size
    return [inf if time is None else time for time in each]


def check_guarantees(d: Document, machine: Machine, phases: list[Rows], ways: list[Rows]) -> None:
    asked, limits = demands(d), latencies(d)
    hold(len(asked) == d.source.size and all(0 <= rate < inf for rate in asked), "bandwidth")
    hold(len(limits) == d.source.size and all(time >= 0 for time in limits), "latency")
    stated = d.max_latency_s if isinstance(d.max_latency_s, list) else [d.max_latency_s]
    hold(all(time is None or time < inf for time in stated), "latency")
    for phase, rows in zip(ways, phases, strict=True):
        for least, row in zip(shares(machine, d.method, phase), rows, strict=True):
            hold(least * (1 + 1e-6) >= asked[row[3]], "bandwidth")
        if min(limits, default=inf) < inf:
            for time, row in zip(rounds(machine, d.method, phase), rows, strict=True):
                hold(time <= limits[row[3]] * (1 + 1e-6), "latency")


def check_program(p: ProgramDocument, machine: Machine) -> None:
    hold(bool(p.schedules), "schedules")
    first = p.schedules[0]
    for schedule in p.schedules:
        hold(
            schedule.machine == p.machine == first.machine and schedule.ranks == first.ranks,
            "machine",
        )
        same = [None if d.placement is None else d.placement.tolist() for d in (schedule, first)]
        hold(same[0] == same[1], "placement")
        check_schedule(schedule, machine)
    for block in p.stages:
        hold(0 <= block.schedule < len(p.schedules) and 1 <= block.repeat < 2**31, "block")
        hold(not block.turns or p.schedules[block.schedule].before is None, "turns")
    hold([len(c) for c in p.contexts] == [d.phases for d in p.schedules], "contexts")
    hold({stage.schedule for stage in p.stages} == set(range(len(p.schedules))), "schedules")
    check_contexts(p, machine)
    check_executed(p, check_forwarding(p))


def check_forwarding(p: ProgramDocument) -> dict[str, float]:
    """The figures of a program that forwards, byte by byte.

    Empty where stages send messages of their own.
    """
    forwards = p.messages is not None
    hold(all((stage.bundles is not None) == forwards for stage in p.stages), "bundles")
    if p.messages is None:
        hold(p.staging_limit_B is None, "limit")
        return {}
    messages = list(
        zip(
            p.messages.source.tolist(),
            p.messages.target.tolist(),
            p.messages.size.tolist(),
            strict=True,
        )
    )
    ranks = range(p.schedules[0].ranks)
    hold(p.messages.ranks == len(ranks), "ranks")
    hold(all(s in ranks and t in ranks and s != t and b > 0 for s, t, b in messages), "messages")
    hold(sum(b for _, _, b in messages) < 10**6, "bytes that no stage of a small program sends")
    at = {(m, i): s for m, (s, _, b) in enumerate(messages) for i in range(b)}
    volume = bundles = staging = 0
    for k, stage in enumerate(p.stages):
        hold(
            stage.repeat == 1 and not stage.turns and p.schedules[stage.schedule].before is None,
            "stage",
        )
        rows = bundle_rows(stage.bundles)
        d = p.schedules[stage.schedule]
        hold([row[:3] for row in rows] == np_rows(d.source, d.target, d.size), "bundles")
        hold(len({(row[0], row[1]) for row in rows}) == len(rows), "bundles")
        if d.packed is not None:
            several = {k for k, row in enumerate(rows) if len(row[3]) > 1}
            hold(set(d.packed.tolist()) == several, "packed")
        moved = {}
        for source, target, size, parts in rows:
            hold(bool(parts) and sum(last - first + 1 for _, first, last in parts) == size, "bytes")
            for m, first, last in parts:
                hold(0 <= m < len(messages) and 0 <= first <= last < messages[m][2], "part")
                for i in range(first, last + 1):
                    hold((m, i) not in moved and at[m, i] == source, "path")
                    moved[m, i] = target
        at |= moved
        volume, bundles = volume + len(moved), bundles + len(rows)
        if k < len(p.stages) - 1:
            held = Counter(rank for (m, _), rank in at.items() if rank not in messages[m][:2])
            staging = max(staging, *held.values(), 0)
    hold(all(rank == messages[m][1] for (m, _), rank in at.items()), "delivery")
    hold(p.staging_limit_B is None or staging <= p.staging_limit_B, "limit")
    return {
        "messages": len(messages),
        "bytes": len(at),
        "stages": len(p.stages),
        "bundles": bundles,
        "volume": volume / len(at) if at else 1.0,
        "staging_bytes": staging,
    }


def np_rows(*columns: Any) -> Rows:
    return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def bundle_rows(b: Any) -> list[list[Any]]:
    """`[from, to, bytes, [[message, first, last], …]]` of every bundle, as in files."""
    parts = np_rows(b.message, b.first, b.last)
    return [
        [*row, parts[x:y]]
        for row, (x, y) in zip(
            np_rows(b.source, b.target, b.size), pairwise(b.offsets.tolist()), strict=True
        )
    ]


def check_contexts(p: ProgramDocument, machine: Machine) -> None:
    """Connections of a context, each as often as it is open in the phase that has most of it."""
    opened: dict[int, dict[Any, tuple[float, float]]] = defaultdict(dict)
    channels: dict[Any, list[int]] = {}
    kept: dict[int, list[Any]] = defaultdict(list)
    for d, contexts in zip(p.schedules, p.contexts, strict=True):
        phases, ids = phase_rows(d)
        ways, asked, most = (
            routes(d, machine, places(d, machine), phases, ids),
            demands(d),
            latencies(d),
        )
        for context, phase, own, rows in zip(contexts, ways, ids, phases, strict=True):
            same: Counter[tuple[int, ...]] = Counter()
            for way, k, row in zip(phase, own, rows, strict=True):
                if len(way) < 2:
                    continue
                key = (tuple(way), same[tuple(way)])
                same[tuple(way)] += 1
                least, longest = opened[context].get(key, (0.0, inf))
                opened[context][key] = max(least, asked[row[3]]), min(longest, most[row[3]])
                if d.channels is not None and d.route_offsets is not None:
                    own_channels = d.channels[d.route_offsets[k] : d.route_offsets[k + 1]].tolist()
                else:
                    own_channels = []
                hold(channels.setdefault((context, key), own_channels) == own_channels, "channels")
                kept[context].append(d)
    for context, connections in opened.items():
        ways = [list(way) for way, _ in connections]
        for d in kept[context]:
            keep(machine, d.limits, ways)
        method = kept[context][0].method
        for least, (wanted, _) in zip(
            shares(machine, method, ways), connections.values(), strict=True
        ):
            hold(least * (1 + 1e-6) >= wanted, "bandwidth")
        if min(longest for _, longest in connections.values()) < inf:
            for time, (_, longest) in zip(
                rounds(machine, method, ways), connections.values(), strict=True
            ):
                hold(time <= longest * (1 + 1e-6), "latency")
        numbers = [
            (node, c)
            for (way, copy) in connections
            for node, c in zip(way, channels[context, (way, copy)], strict=False)
        ]
        hold(len(set(numbers)) == len(numbers), "channels")


def check_executed(p: ProgramDocument, forwarding: dict[str, float]) -> None:
    """Figures, by running every repetition of every block."""
    order: list[tuple[int, int]] = []
    apart: list[tuple[int, int]] = []
    messages = size = 0
    for block in p.stages:
        d, contexts = p.schedules[block.schedule], p.contexts[block.schedule]
        messages += block.repeat * d.source.size
        size += block.repeat * sum(d.size.tolist())
        for repetition in range(block.repeat):
            phases = list(range(d.phases))
            apart += [(block.schedule, q) for q in phases]
            back = block.turns and repetition % 2 == 1
            order += [(block.schedule, contexts[q]) for q in (phases[::-1] if back else phases)]
    true = {
        "phases": len(order),
        "contexts": len({c for contexts in p.contexts for c in contexts}),
        "switches": sum(a[1] != b[1] for a, b in pairwise(order)),
        "switches_apart": sum(a != b for a, b in pairwise(apart)),
        "messages": messages,
        "bytes": size,
        **forwarding,
    }
    hold(size <= MAX_BYTES and dict(p.figures) == true, "figures")
