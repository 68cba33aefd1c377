"""Routes that a formula gives, expanded by NumPy.

The verifier's own reading of `Routing`, apart from the compiler's.

A walk turns pairs of nodes into links, in one of two ways:

- `hops`: one entry per hop, for networks without a better way and for naming the transfers of a
  link;
- `tally` (boxes and cubes): messages per link of whole phases without a hop being written down. In
  a box a route is one run of links along a line per dimension: +1 where it starts, -1 where it
  ends, added up along the line.

Cost: `tally` O(messages · dimensions + phases · links), `hops` O(sum of hops), in time and memory;
callers cut both.

Routes that the schedule states itself: are they simple paths of links that join their ends?

Routes by the rule `planes`.

Expanded in one network by the verifier's own walks, and moved into a plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Protocol

import numpy as np

from conset.base import Array, Bools, Ints, Ints32, take_rows
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.schedule.document import Document
from conset.verification.schedule.traffic import Traffic
from conset.verification.verification import Violation

Nodes = Ints32


class Walk(Protocol):
    """How transfers go through the network; `longest` bounds their hops."""

    longest: int

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position in `ids`, link) of every hop."""
        ...

    def lost(self, source: Nodes, target: Nodes) -> Bools:
        """Which pairs of nodes the machine's routing does not join; none but where a walk says."""
        return np.zeros(source.size, bool)


class BoxWalk(Walk):
    """Mesh, torus and ring.

    The last coordinate first, the shorter way round, ties as the routing says.
    """

    def __init__(self, topology: Topology, routing: Routing) -> None:
        self.sides = topology.sides
        self.nodes = topology.nodes
        self.strides = [prod(self.sides[k + 1 :]) for k in range(len(self.sides))]
        self.cycle = [
            topology.wraps and routing.rule != "no-wrap" and side > 2 for side in self.sides
        ]
        self.tie = routing.tie
        at = np.arange(self.nodes)
        self.at = [
            np.ascontiguousarray(at // b % n) for b, n in zip(self.strides, self.sides, strict=True)
        ]
        self.odd = np.sum(self.at, axis=0) % 2 == 1
        self.longest = sum(self.sides)

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        positions, links = [], []
        for k, (side, stride) in enumerate(zip(self.sides, self.strides, strict=True)):
            low, high, down = self._run(k, source, target)
            length = high - low
            position = np.repeat(np.arange(source.size), length)
            along = np.arange(position.size) + (low - (np.cumsum(length) - length))[position]
            node = source // (side * stride) * (side * stride) + target % stride
            positions.append(position)
            slot = 2 * len(self.sides)
            links.append((node[position] + along % side * stride) * slot + 2 * k + down[position])
        return np.concatenate(positions), np.concatenate(links)

    def tally(self, groups: int, group: Ints, source: Nodes, target: Nodes) -> Ints:
        """shape=(groups, link_slots): messages per link."""
        counts = np.zeros((groups, self.nodes, len(self.sides), 2), np.intp)
        for k, side in enumerate(self.sides):
            if side > 1:
                counts[:, :, k] = self._tally_dimension(k, groups, group, source, target)
        return counts.reshape(groups, -1)

    def arrivals(self, counts: Ints) -> Ints:
        """shape=(groups, nodes): messages into each node over its links."""
        groups = counts.shape[0]
        slots = counts.reshape(groups, self.nodes, len(self.sides), 2)
        result = np.zeros((groups, self.nodes), np.intp)
        for k, (side, stride) in enumerate(zip(self.sides, self.strides, strict=True)):
            shape = (groups, -1, side, stride)
            up, down = slots[:, :, k, 0].reshape(shape), slots[:, :, k, 1].reshape(shape)
            result += (np.roll(up, 1, axis=2) + np.roll(down, -1, axis=2)).reshape(groups, -1)
        return result

    def _tally_dimension(
        self, k: int, groups: int, group: Ints, source: Nodes, target: Nodes
    ) -> Array:
        """shape=(groups, nodes, 2): messages on the links up and down dimension k.

        Lines have one cell more than nodes, where runs to the end of the line stop. Lower
        dimensions are still those of the source, higher ones already those of the target: the last
        coordinate goes first.
        """
        side, stride = self.sides[k], self.strides[k]
        outer = self.nodes // (side * stride)
        half = outer * (side + 1) * stride
        every = np.arange(self.nodes)
        line = group * (2 * half)
        line += (every // (side * stride) * ((side + 1) * stride))[source]
        line += (every % stride)[target]
        low, high, down = self._run(k, source, target)
        line += down * half
        cells = groups * 2 * half
        if self.cycle[k]:
            over = np.flatnonzero(high > side)
            high[over] -= side
            change = np.bincount(line[over], minlength=cells)
        else:
            change = np.zeros(cells, np.intp)
        change += np.bincount(line + low * stride, minlength=cells)
        change -= np.bincount(line + high * stride, minlength=cells)
        lines = change.reshape(groups, 2, outer, side + 1, stride)
        running = np.cumsum(lines[:, :, :, :side], axis=3).reshape(groups, 2, self.nodes)
        return running.transpose(0, 2, 1)

    def _run(self, k: int, source: Nodes, target: Nodes) -> tuple[Ints, Ints, Bools]:
        """In dimension k the route leaves the nodes at `low … high - 1` (modulo the side).

        (low, high, down).
        """
        at, to, side = self.at[k][source], self.at[k][target], self.sides[k]
        if not self.cycle[k]:
            down = at > to
            return np.minimum(at, to) + down, np.maximum(at, to) + down, down
        up = to - at
        up[up < 0] += side
        down = 2 * up > side
        if side % 2 == 0 and self.tie != "plus":
            tied = np.flatnonzero(2 * up == side)
            chosen_up = (
                self.odd[source[tied]] if self.tie == "checker" else at[tied] % (side // 2) % 2 == 0
            )
            down[tied] = ~chosen_up
        length = np.where(down, side - up, up)
        low = np.where(down, at - length + 1, at)
        low[low < 0] += side
        return low, low + length, down


class CubeWalk(Walk):
    """Hypercube: differing bits from the least significant up (e-cube)."""

    def __init__(self, topology: Topology) -> None:
        self.nodes, self.bits = topology.nodes, topology.dimensions
        self.longest = self.bits

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        none = np.zeros(0, np.intp)
        crossings = [self._crossing(bit, source, target) for bit in range(self.bits)]
        links = [node.astype(np.intp) * self.bits + bit for bit, (_, node) in enumerate(crossings)]
        return np.concatenate([none, *(position for position, _ in crossings)]), np.concatenate(
            [none, *links]
        )

    def tally(self, groups: int, group: Ints, source: Nodes, target: Nodes) -> Ints:
        """shape=(groups, link_slots): messages per link."""
        counts = np.zeros((groups, self.nodes, self.bits), np.intp)
        for bit in range(self.bits):
            position, node = self._crossing(bit, source, target)
            key = group[position] * self.nodes + node
            counts[:, :, bit] = np.bincount(key, minlength=groups * self.nodes).reshape(
                groups, self.nodes
            )
        return counts.reshape(groups, -1)

    def arrivals(self, counts: Ints) -> Ints:
        """shape=(groups, nodes): messages into each node over its links."""
        slots = counts.reshape(counts.shape[0], self.nodes, self.bits)
        result = np.zeros(slots.shape[:2], np.intp)
        for bit in range(self.bits):
            result += slots[:, np.arange(self.nodes) ^ (1 << bit), bit]
        return result

    def _crossing(self, bit: int, source: Nodes, target: Nodes) -> tuple[Ints, Nodes]:
        """(position, node): which routes cross `bit`, and where.

        Lower bits are already the target's.
        """
        position = np.flatnonzero(((source ^ target) >> bit) & 1)
        lower = (1 << bit) - 1
        return position, (target[position] & lower) | (source[position] & ~lower)


class CrossbarWalk(Walk):
    """Ports only: no links to walk."""

    longest = 1

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        return np.zeros(0, np.intp), np.zeros(0, np.intp)


_BLOCK = 1 << 20
_SHOWN = 12


class ChosenWalk(Walk):
    """A walk along stated routes, given as nodes or as links.

    Hops that are no link are left out (and reported by `check_routes`).

    Links that close cycles are none under `no-wrap`: they stay idle.

    Args:
        topology: the network.
        routing: the machine's rule.
        document: what the file says, with routes.
        source: shape=(transfers), where each begins.
    """

    def __init__(
        self, topology: Topology, routing: Routing, document: Document, source: Nodes
    ) -> None:
        self.topology = topology
        assert document.route_offsets is not None  # there are routes
        self.offsets = document.route_offsets.astype(np.intp, copy=False)
        starts, target = topology.ends
        exists = topology.link_exists
        if routing.rule == "no-wrap":
            steps = np.abs(topology.coordinates[starts] - topology.coordinates[target]).max(
                axis=1, initial=0
            )
            exists = exists & (steps <= 1)
        self.exists = exists
        slots = np.flatnonzero(exists)
        key = starts[slots].astype(np.intp) * topology.nodes + target[slots]
        key, at, count = np.unique(key, return_index=True, return_counts=True)
        self._several, alone = key[count > 1], count == 1
        self._key, self._slot = key[alone], slots[at[alone]]
        self.links: Ints | None = None
        if document.route_nodes is not None:
            self.nodes = document.route_nodes
        elif document.route_links is not None:
            self._follow(document.route_links.astype(np.intp, copy=False), source)
        self.longest = max(1, int(np.diff(self.offsets).max(initial=0)))

    def _follow(self, links: Ints, source: Nodes) -> None:
        """The stops of routes given as links; where one is no link, the node is -1."""
        self.offsets = self.offsets + np.arange(self.offsets.size)
        first = np.zeros(links.size + source.size, bool)
        first[self.offsets[:-1]] = True
        known = (links >= 0) & (links < self.exists.size)
        if self.exists.size:
            known &= self.exists[np.where(known, links, 0)]
        nodes, entered = np.full((2, first.size), -1, np.intp)
        nodes[first], entered[~first] = source, links
        nodes[np.flatnonzero(~first)[known]] = self.topology.ends[1][links[known]]
        self.nodes, self.links = nodes, entered

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        position, start, stop, stated = self.steps(ids)
        link = self.link_between(start, stop, stated)
        return position[link >= 0], link[link >= 0]

    def visits(self, ids: Ints) -> tuple[Ints, Ints]:
        """(position in `ids`, node) of every stop of their routes."""
        offsets, along = take_rows(self.offsets, ids)
        position = np.repeat(np.arange(ids.size), np.diff(offsets))
        return position, self.nodes[along].astype(np.intp)

    def stated(self, ids: Ints) -> Ints | None:
        """The link by which each stop of their routes is entered, where the file gives links."""
        return None if self.links is None else self.links[take_rows(self.offsets, ids)[1]]

    def steps(self, ids: Ints) -> tuple[Ints, Ints, Ints, Ints | None]:
        """(position in `ids`, from, to, the link that is stated if any) of every hop."""
        position, node = self.visits(ids)
        stated = self.stated(ids)
        same = position[1:] == position[:-1]
        stated = None if stated is None else stated[1:][same]
        return position[1:][same], node[:-1][same], node[1:][same], stated

    def link_between(self, start: Ints, stop: Ints, stated: Ints | None = None) -> Ints:
        """The link from each node to each other, -1 where there is none.

        Where one is `stated`, that one, or -1 where it does not lead there; else there must be no
        other beside it.
        """
        known = (self._key if stated is None else self.exists).size
        if not known:
            return np.full(start.size, -1, np.intp)
        inside = (
            (start >= 0)
            & (start < self.topology.nodes)
            & (stop >= 0)
            & (stop < self.topology.nodes)
        )
        if stated is not None:
            sound = inside & (stated >= 0) & (stated < known)
            link = np.where(sound, stated, 0)
            sound &= (self.topology.ends[0][link] == start) & (self.topology.ends[1][link] == stop)
            return np.where(sound & self.exists[link], stated, -1)
        key = start * self.topology.nodes + stop
        at = np.minimum(np.searchsorted(self._key, key), known - 1)
        return np.where(inside & (self._key[at] == key), self._slot[at], -1)

    def ambiguous(self, start: int, stop: int) -> bool:
        """Whether several links lead from one node to the other."""
        return bool((self._several == start * self.topology.nodes + stop).any())


def check_routes(traffic: Traffic, walk: ChosenWalk) -> Iterator[Violation]:
    """Rules `route-node`, `route-ends`, `route-link`, `route-plane` and `route-simple`.

    Each at most once per transfer.
    """
    block = max(1, _BLOCK // walk.longest)
    for low in range(0, traffic.source.size, block):
        ids = np.arange(low, min(low + block, traffic.source.size))
        for rule, k, what in _problems(traffic, walk, ids):
            yield traffic.violation(k, rule, f"route {_shown(walk, k)} {what}")


def _shown(walk: ChosenWalk, k: int) -> str:
    nodes = walk.nodes[walk.offsets[k] : walk.offsets[k + 1]].tolist()
    if walk.links is not None:
        nodes = walk.links[walk.offsets[k] + 1 : walk.offsets[k + 1]].tolist()
    return "[" + ", ".join(map(str, nodes[:_SHOWN])) + (", …]" if len(nodes) > _SHOWN else "]")


def _problems(traffic: Traffic, walk: ChosenWalk, ids: Ints) -> Iterator[tuple[str, int, str]]:
    """(rule, transfer, what is wrong) for a block of transfers."""
    topology = walk.topology
    position, node = walk.visits(ids)
    outside = (node < 0) | (node >= topology.nodes)
    stated = walk.stated(ids)
    for k, i in _firsts(ids, position, np.flatnonzero(outside)):
        what = f"visits node {node[i]}, nodes are 0 to {topology.nodes - 1}"
        if stated is not None:
            what = f"takes link {stated[i]}, which the network does not have"
        yield "route-node", k, what
    length = walk.offsets[ids + 1] - walk.offsets[ids]
    for k in ids[length < 1].tolist():
        yield "route-node", k, "is empty"
    some = ids[length >= 1]
    ends = walk.nodes[walk.offsets[some]], walk.nodes[walk.offsets[some + 1] - 1]
    wrong = (ends[0] != traffic.source[some]) | (ends[1] != traffic.target[some])
    if traffic.placed is not None:
        wrong &= traffic.placed[some]
    for k in some[wrong].tolist():
        yield "route-ends", k, f"does not join node {traffic.source[k]} to node {traffic.target[k]}"
    hop, start, stop, stated = walk.steps(ids)
    if topology.kind == "crossbar":
        missing = length[hop] > 2
    else:
        missing = walk.link_between(start, stop, stated) < 0
        # a node visited twice in a row is no missing link but a route that is not simple; one
        # outside is reported
        missing &= start != stop
        missing &= (np.minimum(start, stop) >= 0) & (np.maximum(start, stop) < topology.nodes)
    for k, i in _firsts(ids, hop, np.flatnonzero(missing)):
        names = topology.node_name(int(start[i])), topology.node_name(int(stop[i]))
        why = f"no link joins {names[0]} to {names[1]}"
        if topology.kind == "crossbar":
            why = "a crossbar joins ports directly"
        elif stated is not None:
            why = f"link {stated[i]} does not lead from {names[0]} to {names[1]}"
        elif walk.ambiguous(int(start[i]), int(stop[i])):
            why = f"parallel links join {names[0]} to {names[1]}, the route must name one"
        yield "route-link", k, f"does not exist: {why}"
    if topology.planes > 1 and stated is not None:
        plane = stated % topology.planes
        other = (np.diff(hop, prepend=-1) == 0) & (np.diff(plane, prepend=-1) != 0)
        for k, i in _firsts(ids, hop, np.flatnonzero(other)):
            yield "route-plane", k, f"goes from plane {plane[i - 1]} to plane {plane[i]}"
    key = np.lexsort((node, position))
    again = (position[key][1:] == position[key][:-1]) & (node[key][1:] == node[key][:-1])
    for k, i in _firsts(ids, position[key][1:], np.flatnonzero(again)):
        yield "route-simple", k, f"visits node {node[key][1:][i]} twice"


def _firsts(ids: Ints, position: Ints, wrong: Ints) -> Iterator[tuple[int, int]]:
    """(transfer, index) of the first of the `wrong` entries of each transfer."""
    at = position[wrong]
    keep = np.diff(at, prepend=-1) != 0
    yield from zip(ids[at[keep]].tolist(), wrong[keep].tolist(), strict=True)


class PlanesWalk(Walk):
    """Plane (source + target) mod planes, there as its network leads."""

    def __init__(self, topology: Topology, walk: Walk) -> None:
        self.topology, self.walk, self.longest = topology, walk, walk.longest
        self.key = topology.link_source.astype(np.int64) * topology.nodes + topology.link_target

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        plane = (source.astype(np.int64) + target) % self.topology.planes
        position, link = self.walk.hops(ids, source, target)
        start, stop = (end[link].astype(np.int64) for end in self.topology.base.ends)
        first = np.searchsorted(self.key, start * self.topology.nodes + stop)
        return position, first + plane[position]
