"""Methods over planes.

Any method of one network, for a machine that has that network several times.

Problem: phases whose messages share out several equal networks (`conset.machine.network.routing`),
so that no link of any plane bears more than the limit; a plane per transfer is free to choose.

Idea: fold the planes into one network and its limit of links c into c · planes; let the method make
phases there as it does; then give each transfer of a phase a plane so that every link keeps c in
each of them.

1. Two planes and c = 1 (a link of one width): transfers that share a link are opposite. Where that
   graph is bipartite the planes are its two sides, found for all phases at once as components of
   its double cover.
2. Else longest routes first, each into the plane where its fullest link is least full, then the
   emptier one; all phases side by side. Transfers on overfull links move to a plane that has room,
   while that mends more than it breaks.
3. What finds no plane leaves its phase, for the first other phase with room, or for a new one at
   the end.

Invariant: ports are as the method left them, links keep c in every plane. Where messages have an
order nothing leaves its phase: the method is then run over the machine's own rule, and so it is
where that takes fewer phases.

A complete exchange on a mesh by `bounded` folds well: its phases are pairs of sets of messages that
share no port, each of contention 1, which Bokhari and Nicol would give to the two meshes in turn;
half the phases, the same contention.

Complexity: O(hops · planes) for the split; step 3 O(leaving · phases · hops). Memory: links ·
planes · phases counts.

When not: methods with a timetable or channels of their own (`event-list`, `connections`),
`negotiated` with free routes, which finds its way over planes by itself, and `naive`, which stands
for posting without a compiler: these run on the machine as it is. Source of the idea: Bokhari and
Nicol, Section 8; splitting paths in two colours per link is list colouring of their conflict graph,
steps 2 and 3 are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from conset.base import Bools, Ints, Ints32
from conset.machine import Planes, base_routing, plane_routes, planes_of, route_links
from conset.methods.phases.problem import Method, Phases, Problem

MAX_COUNTS = 2**28
"""Links · planes · phases that are counted at once; more phases are split in blocks."""
_ROUNDS = 8


def folded(method: Method, problem: Problem) -> Problem:
    """What `method` is asked on a machine of planes.

    The same on one network with so much more room on its links.

    The problem itself where the machine has no planes, or the method makes no use of folding.
    """
    planes = planes_of(problem.machine.topology)
    limits = problem.limits
    if (
        planes is None
        or method.on_planes
        or limits.channels is not None
        or limits.duplex == "exchange"
    ):
        return problem
    if problem.machine.routing.rule != "planes" or (
        method.free_routes and problem.search.routes == "free"
    ):
        return problem
    routing = base_routing(planes.base, problem.machine.routing.tie)
    if limits.link is not None and "link" in method.adjustable_limits:
        limits = replace(limits, link=limits.link * planes.count)
    machine = replace(problem.machine, topology=planes.base, routing=routing)
    return replace(problem, machine=machine, limits=limits)


def schedule_over_planes(method: Method, problem: Problem) -> Phases:
    """`method.schedule(problem)`, over as many planes as the machine has."""
    planes = planes_of(problem.machine.topology)
    inside = problem if planes is None else folded(method, problem)
    if planes is None or inside is problem:
        return method.schedule(problem)
    found = method.schedule(inside)
    plane, left = split_phases(inside, found, planes, problem.limits.link)
    if left.any():
        moved = (
            None
            if problem.pattern.before is not None
            else _moved(inside, found, plane, left, planes, problem)
        )
        by_rule = method.schedule(problem) if method.applies(problem) is None else None
        if by_rule is not None and (moved is None or by_rule.offsets.size <= moved[0].offsets.size):
            return by_rule
        if moved is None:
            moved = _apart(found, plane, left)
        found, plane = moved
    source, target = problem.source_node[found.message], problem.target_node[found.message]
    offsets, nodes = plane_routes(planes, problem.machine.routing.tie, source, target, plane)
    return replace(found, route_offsets=offsets, route_nodes=nodes)


@dataclass(frozen=True, eq=False)
class _Hops:
    """Links of transfers, one after the other.

    `link[offsets[t] : offsets[t + 1]]` are those of transfer t.
    """

    offsets: Ints
    link: Ints

    def of(self, transfers: Ints) -> tuple[Ints, Ints]:
        """(position in `transfers`, link) of all hops of some transfers."""
        length = np.diff(self.offsets)[transfers]
        position = np.repeat(np.arange(transfers.size), length)
        along = (
            np.arange(position.size)
            - (np.cumsum(length) - length)[position]
            + self.offsets[transfers][position]
        )
        return position, self.link[along]


def _hops(problem: Problem, message: Ints32) -> _Hops:
    topology, routing = problem.machine.topology, problem.machine.routing
    offsets, link = route_links(
        topology, routing, problem.source_node[message], problem.target_node[message]
    )
    return _Hops(offsets.astype(np.int64), link.astype(np.int64))


def split_phases(
    inside: Problem, phases: Phases, planes: Planes, limit: int | None
) -> tuple[Ints, Bools]:
    """(plane, left) of each transfer.

    The plane it takes, and whether there is none for it that keeps `limit`.

    Args:
        inside: the problem on one network.
        phases: the transfers on it.
        planes: what the machine has.
        limit: messages per unit of width of a link of a plane; None: as even as may be.
    """
    hops = _hops(inside, phases.message)
    count = phases.offsets.size - 1
    slots = inside.machine.topology.link_slots
    room = None if limit is None else limit * inside.machine.topology.width
    plane = np.zeros(phases.message.size, np.int64)
    left = np.zeros(phases.message.size, bool)
    block = max(1, MAX_COUNTS // max(1, slots * planes.count))
    for low in range(0, count, block):
        high = min(low + block, count)
        where = np.arange(phases.offsets[low], phases.offsets[high])
        phase = np.repeat(np.arange(high - low), np.diff(phases.offsets[low : high + 1]))
        own = np.zeros(where.size, np.int64)
        fixed = np.zeros(where.size, bool)
        if room == 1 and planes.count == 2:
            own, fixed = _two_sides(hops, where, phase, slots)
        load = np.zeros((high - low, planes.count, slots), np.int32)
        _add(load, hops, where[fixed], phase[fixed], own[fixed], 1)
        _spread(load, hops, where, phase, own, ~fixed)
        if room is not None:
            left[where] = _mended(load, hops, where, phase, own, room)
        plane[where] = own
    return plane, left


def _add(load: Ints32, hops: _Hops, transfers: Ints, phase: Ints, plane: Ints, step: int) -> None:
    position, link = hops.of(transfers)
    np.add.at(load, (phase[position], plane[position], link), step)


def _two_sides(hops: _Hops, where: Ints, phase: Ints, slots: int) -> tuple[Ints, Bools]:
    """(plane, whether that is settled).

    Sides of the parts of the conflict graph that are bipartite.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    position, link = hops.of(where)
    key = phase[position] * slots + link
    order = np.argsort(key, kind="stable")
    same = key[order][1:] == key[order][:-1]
    a, b = position[order][:-1][same], position[order][1:][same]
    size = where.size
    # every transfer twice, once for each side: those that share a link join opposite sides
    rows, columns = np.concatenate([a, a + size]), np.concatenate([b + size, b])
    graph = coo_array((np.ones(rows.size, np.int8), (rows, columns)), shape=(2 * size, 2 * size))
    _, part = connected_components(graph, directed=False)
    settled = part[:size] != part[size:]
    return np.where(settled, part[:size] > part[size:], 0).astype(np.int64), settled


def _spread(
    load: Ints32,
    hops: _Hops,
    where: Ints,
    phase: Ints,
    plane: Ints,
    free: Bools,
) -> None:
    """Gives the free transfers planes, each phase's longest first, all phases together."""
    candidates = np.flatnonzero(free)
    if not candidates.size:
        return
    length = np.diff(hops.offsets)[where[candidates]]
    order = candidates[np.lexsort((candidates, -length, phase[candidates]))]
    rank = np.arange(order.size) - np.searchsorted(phase[order], phase[order])
    turn = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[turn], np.arange(int(rank.max()) + 2))
    for low, high in pairwise(bounds.tolist()):
        chosen = order[turn[low:high]]
        plane[chosen] = _emptiest(load, hops, where[chosen], phase[chosen], plane[chosen])
        _add(load, hops, where[chosen], phase[chosen], plane[chosen], 1)


def _emptiest(load: Ints32, hops: _Hops, transfers: Ints, phase: Ints, otherwise: Ints) -> Ints:
    """The plane whose fullest link on the way is least full, then the one with least on the way."""
    position, link = hops.of(transfers)
    on_way = np.diff(hops.offsets)[transfers] > 0
    if not link.size:
        return otherwise
    seen = load[phase[position], :, link]
    starts = np.flatnonzero(np.diff(position, prepend=-1))
    fullest = np.maximum.reduceat(seen, starts, axis=0).astype(np.int64)
    total = np.add.reduceat(seen, starts, axis=0)
    score = fullest * (int(total.max(initial=0)) + 1) + total
    result = otherwise.copy()
    result[on_way] = np.argmin(score, axis=1)
    return result


def _mended(load: Ints32, hops: _Hops, where: Ints, phase: Ints, plane: Ints, room: int) -> Bools:
    """Moves transfers off overfull links while it helps.

    (which must leave): taken out of `load`, last ones first.
    """
    left = np.zeros(where.size, bool)
    for turn in range(_ROUNDS + 1):
        position, link = hops.of(where)
        over = load[phase[position], plane[position], link] > room
        over &= ~left[position]
        if not over.any():
            break
        for k in np.unique(position[over]).tolist():
            links = hops.link[hops.offsets[where[k]] : hops.offsets[where[k] + 1]]
            own = load[phase[k]][:, links]
            own[plane[k]] -= 1
            excess = np.maximum(own + 1 - room, 0).sum(axis=1)
            best = int(np.argmin(excess))
            if excess[plane[k]] == 0:
                continue
            load[phase[k], plane[k], links] -= 1
            if turn == _ROUNDS and excess[best] > 0:
                left[k] = True
                continue
            if excess[best] < excess[plane[k]] or (turn % 2 and excess[best] == excess[plane[k]]):
                plane[k] = best
            load[phase[k], plane[k], links] += 1
    return left


def _moved(
    inside: Problem,
    phases: Phases,
    plane: Ints,
    left: Bools,
    planes: Planes,
    problem: Problem,
) -> tuple[Phases, Ints]:
    """What left its phase in the first others with room, or in new ones at the end."""
    hops = _hops(inside, phases.message)
    topology, limits = inside.machine.topology, problem.limits
    old = phases.offsets.size - 1
    phase = np.repeat(np.arange(old), np.diff(phases.offsets))
    leaving = np.flatnonzero(left)
    leaving = leaving[np.lexsort((leaving, -np.diff(hops.offsets)[leaving]))]
    total = old + leaving.size
    source, target = problem.source_node[phases.message], problem.target_node[phases.message]
    load = np.zeros((total, planes.count, topology.link_slots), np.int32)
    sends, receives = (
        np.zeros((total, topology.nodes), np.int32),
        np.zeros((total, topology.nodes), np.int32),
    )
    stay = np.flatnonzero(~left)
    _add(load, hops, stay, phase[stay], plane[stay], 1)
    np.add.at(sends, (phase[stay], source[stay]), 1)
    np.add.at(receives, (phase[stay], target[stay]), 1)
    room = (limits.link or 0) * topology.width
    used = old
    plane, parts = plane.copy(), phases.parts is not None
    for t in leaving.tolist():
        links = hops.link[hops.offsets[t] : hops.offsets[t + 1]]
        free = (load[: used + 1, :, links] < room).all(axis=2)
        free &= ((limits.send is None) | (sends[: used + 1, source[t]] < (limits.send or 0)))[
            :, None
        ]
        free &= (
            (limits.receive is None) | (receives[: used + 1, target[t]] < (limits.receive or 0))
        )[:, None]
        at = int(np.argmax(free.any(axis=1))) if not parts else used
        phase[t], plane[t] = at, int(np.argmax(free[at]))
        used += at == used
        load[at, plane[t], links] += 1
        sends[at, source[t]] += 1
        receives[at, target[t]] += 1
    return _regrouped(phases, phase, plane)


def _apart(phases: Phases, plane: Ints, left: Bools) -> tuple[Phases, Ints]:
    """What left its phase in phases of its own right behind it, one transfer each.

    Keeps any order.
    """
    phase = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
    key = phase * (left.size + 1) + np.where(left, 1 + np.arange(left.size), 0)
    return _regrouped(phases, np.unique(key, return_inverse=True)[1], plane)


def _regrouped(phases: Phases, phase: Ints, plane: Ints) -> tuple[Phases, Ints]:
    order = np.argsort(phase, kind="stable")
    _, first = np.unique(phase[order], return_index=True)
    offsets = np.append(first, order.size).astype(np.int64)
    parts = None if phases.parts is None else phases.parts[order]
    return replace(phases, offsets=offsets, message=phases.message[order], parts=parts), plane[
        order
    ]
