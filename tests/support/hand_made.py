"""Schedules made by hand.

The obvious slow forms of routes, loads and a greedy scheduler, to hold fast code against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from math import prod
from typing import Any

import numpy as np

from conset.machine.costs import Costs, Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.schedule.document import Document

ANY = Limits(send=1, receive=1, link=1)


def machine_on(topology: Topology, name: str = "by hand", **routing: Any) -> Machine:
    """A machine without costs; `routing` as in `Routing`."""
    rule = routing.pop("rule", Routing.default(topology).rule)
    return Machine(name, topology, Routing(rule, **routing))


def same_machine(one: Machine, other: Machine) -> bool:
    """Whether two machines are equal in all that a record has, names and sources included."""
    return (
        one == other
        and (one.name, one.notes, list(one.modes)) == (other.name, other.notes, list(other.modes))
        and [dict(each.provenance) for each in _costs_of(one)]
        == [dict(each.provenance) for each in _costs_of(other)]
    )


def _costs_of(machine: Machine) -> list[Costs]:
    """Those in use, of methods, and of every mode, in one order."""
    modes = [(machine.costs, machine.method_costs)]
    modes += [(own.costs, own.method_costs) for _, own in sorted(machine.modes.items())]
    return [each for costs, own in modes for each in (costs, *(own[name] for name in sorted(own)))]


def route(machine: Machine, a: int, b: int) -> list[int]:
    """The nodes of the machine's route, one hop after the other."""
    topology = machine.topology
    nodes = [a]
    while nodes[-1] != b:
        nodes.append(_step(topology, machine.routing, a, nodes[-1], b))
    return nodes


def _step(topology: Topology, routing: Routing, source: int, at: int, to: int) -> int:
    if topology.kind == "crossbar":
        return to
    if topology.kind == "hypercube":
        difference = at ^ to
        return at ^ (difference & -difference)
    if topology.kind == "graph":
        near = distances(topology, to)
        return min(
            w for v, w in edges(topology) if v == at and near.get(w, 1 << 30) == near[at] - 1
        )
    first, here, there = (_coordinates(topology, node) for node in (source, at, to))
    k = max(k for k in range(len(here)) if here[k] != there[k])
    side = topology.sides[k]
    up = there[k] > here[k]
    if topology.wraps and routing.rule != "no-wrap" and side > 2:
        # decided at the source, where the whole way along this side still lies ahead
        ahead = (there[k] - first[k]) % side
        tied_up = {
            "plus": True,
            "parity": first[k] % (side // 2) % 2 == 0,
            "checker": sum(first) % 2 == 1,
        }
        up = ahead < side - ahead or (2 * ahead == side and tied_up[routing.tie])
    stride = prod(topology.sides[k + 1 :])
    return at + ((here[k] + (1 if up else -1)) % side - here[k]) * stride


def _coordinates(topology: Topology, node: int) -> list[int]:
    result = []
    for side in reversed(topology.sides):
        result.append(node % side)
        node //= side
    return result[::-1]


def edges(topology: Topology) -> list[tuple[int, int]]:
    """The links of a graph."""
    return list(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))


def distances(topology: Topology, to: int) -> dict[int, int]:
    """Links from each node to `to`, breadth first."""
    far, front = {to: 0}, [to]
    while front:
        front = [v for v, w in edges(topology) if w in set(front) and v not in far]
        far |= {v: max(far.values()) + 1 for v in front}
    return far


def graph_of(
    endpoints: int, nodes: int, links: Sequence[tuple[int, int]], width: Sequence[int] | None = None
) -> Topology:
    """A graph from links in any order; `width` in the same order."""
    order = sorted(range(len(links)), key=lambda k: links[k])
    source, target = np.array([links[k] for k in order]).reshape(-1, 2).T
    widths = None if width is None else np.array([width[k] for k in order], np.int32)
    return Topology("graph", (), endpoints, nodes, source, target, widths)


def loads(machine: Machine, phase: Sequence[Sequence[int]]) -> dict[str, Counter[Any]]:
    """Messages per port, link and channel in one phase of routes (lists of nodes)."""
    used: dict[str, Counter[Any]] = {
        kind: Counter() for kind in ("send", "receive", "link", "channels")
    }
    for nodes in phase:
        if len(nodes) < 2:
            continue
        used["send"][nodes[0]] += 1
        used["receive"][nodes[-1]] += 1
        used["channels"].update(nodes)
        if machine.topology.kind != "crossbar":
            used["link"].update(pairwise(nodes))
    return used


def _width(machine: Machine, link: tuple[int, int]) -> int:
    topology = machine.topology
    return (
        topology.width
        if topology.link_width is None
        else int(topology.link_width[edges(topology).index(link)])
    )


def figures(
    machine: Machine,
    phases: Sequence[Sequence[Sequence[int]]],
    routes: Sequence[Sequence[Sequence[int]]],
) -> Any:
    """The true figures of phases of rows and their routes."""
    load, total = dict.fromkeys(("send", "receive", "link", "channels"), 0), 0
    for phase in routes:
        used = loads(machine, phase)
        used["link"] = Counter(
            {key: -(-count // _width(machine, key)) for key, count in used["link"].items()}
        )
        most = {kind: max(counter.values(), default=0) for kind, counter in used.items()}
        load = {kind: max(load[kind], most[kind]) for kind in load}
        total += max(most["send"], most["receive"], most["link"])
    largest = sum(max((row[2] for row in phase), default=0) for phase in phases)
    return {"phases": len(phases), "load": {**load, "sum": total}, "phase_bytes": largest}


def greedy(
    machine: Machine,
    messages: Sequence[Sequence[int]],
    limits: Limits,
    placement: Sequence[int] | None = None,
) -> list[list[list[int]]]:
    """Phases of rows [source, target, bytes, message].

    Each message in the first phase that keeps the limits.
    """
    phases: list[list[list[int]]] = []
    routes: list[list[list[int]]] = []
    for m, (s, t, b) in enumerate(messages):
        way = route(machine, *((s, t) if placement is None else (placement[s], placement[t])))
        p = next(
            (p for p, phase in enumerate(routes) if _fits(machine, [*phase, way], limits)),
            len(phases),
        )
        if p == len(phases):
            phases.append([])
            routes.append([])
        phases[p].append([s, t, b, m])
        routes[p].append(way)
    return phases


def _fits(machine: Machine, phase: list[list[int]], limits: Limits) -> bool:
    used = loads(machine, phase)
    for kind, counter in used.items():
        limit = getattr(limits, kind)
        for key, count in counter.items():
            if limit is not None and count > limit * (
                _width(machine, key) if kind == "link" else 1
            ):
                return False
    partners: dict[int, set[int]] = {}
    for nodes in phase:
        partners.setdefault(nodes[0], set()).add(nodes[-1])
        partners.setdefault(nodes[-1], set()).add(nodes[0])
    both = used["send"].keys() & used["receive"].keys()
    return limits.duplex == "full" or all(len(partners[node]) == 1 for node in both)


def document(
    machine: Machine,
    messages: Sequence[Sequence[int]],
    phases: Sequence[Sequence[Sequence[int]]],
    limits: Limits = ANY,
    *,
    ranks: int | None = None,
    routes: Sequence[Sequence[Sequence[int]]] | None = None,
    timetable: Sequence[Sequence[Sequence[float]]] | None = None,
    before: Sequence[Sequence[int]] | None = None,
    placement: Sequence[int] | None = None,
    **changes: Any,
) -> Document:
    """A document that says all this, with true figures unless `changes` state others (or any
    other field)."""
    place = placement if placement is not None else range(machine.topology.endpoints)
    if "figures" not in changes:
        ways = routes or [
            [route(machine, place[s], place[t]) for s, t, *_ in phase] for phase in phases
        ]
        changes["figures"] = figures(machine, phases, ways)
    rows = np.array([row for phase in phases for row in phase], np.int64).reshape(-1, 4)
    table = np.array(messages, np.int64).reshape(-1, 3)
    fields: dict[str, Any] = {
        "machine": machine.name,
        "method": "by-hand",
        "sync": "barrier",
        "limits": limits.to_object(),
        "limits_asked": False,
        "ranks": ranks or machine.topology.endpoints,
        "source": table[:, 0],
        "target": table[:, 1],
        "size": table[:, 2],
        "before": None if before is None else np.array(before, np.int64).reshape(-1, 2),
        "placement": None if placement is None else np.array(placement, np.int64),
        "phase_offsets": _offsets(phases),
        "transfer_source": rows[:, 0],
        "transfer_target": rows[:, 1],
        "transfer_size": rows[:, 2],
        "transfer_message": rows[:, 3],
        "route_offsets": None,
        "route_nodes": None,
        "timetable": None
        if timetable is None
        else np.array([*chain(*timetable)], float).reshape(-1, 2),
        "manifest": {"version": "0", "seed": 0, "command": "", "input_sha256": ""},
    }
    if routes is not None:
        ways = list(chain.from_iterable(routes))
        fields |= {
            "route_offsets": _offsets(ways),
            "route_nodes": np.array(list(chain.from_iterable(ways)), np.int64),
        }
    return Document(**(fields | changes))


def _offsets(rows: Sequence[Sequence[Any]]) -> np.ndarray[Any, Any]:
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def all_to_all(ranks: int, size: int = 64) -> list[list[int]]:
    """Every ordered pair once."""
    return [[s, t, size] for s in range(ranks) for t in range(ranks) if s != t]
