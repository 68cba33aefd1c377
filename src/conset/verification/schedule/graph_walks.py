"""Routes through a graph.

Shortest paths found here, one of several by the machine's rule, or its route table.
"""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np

from conset.base import Bools, Ints, Ints32, take_rows
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.verification.schedule.walks import Nodes

_NOWHERE = -1
_COLUMNS = 64


class GraphWalk:
    """Fewest links; among equals, the neighbour with the lowest index.

    Node by node; or the one that the rule numbers.

    `minimal`: number target mod count, in the order of neighbours; a link between groups is as long
    as three where more than half of them are full meshes. `dmodk`: of those of the lowest level,
    number ⌊target / s⌋ mod count, where s is the product, over the levels below the node's, of the
    most links up that a node of that level has.

    Sixty-four targets at a time: `reach[v]` has a bit for each target that v reaches within so many
    links, and one step is an OR over the links that leave v. O(targets / 64 · links · diameter)
    words; the table of next links takes nodes × targets int32.
    """

    def __init__(self, topology: Topology, routing: Routing, targets: Ints32) -> None:
        self.link_target = topology.link_target
        self._divisor = _divisors(topology, routing.rule)
        self._level = topology.level if routing.rule == "dmodk" else None
        self._length = (
            lengths(topology)
            if routing.rule == "minimal"
            else np.ones(topology.link_slots, np.int32)
        )
        self.column = np.full(topology.nodes, _NOWHERE, np.intp)
        self.column[targets] = np.arange(targets.size)
        self.next = np.full((topology.nodes, targets.size), _NOWHERE, np.int32)
        # every column starts where a run of links of one source starts
        self._first = np.flatnonzero(np.diff(topology.link_source, prepend=-1))
        self._from = topology.link_source[self._first]
        self._run = np.diff(np.append(self._first, topology.link_source.size))
        self._source = topology.link_source
        self.longest = 1
        for low in range(0, targets.size, _COLUMNS):
            self._fill(low, targets[low : low + _COLUMNS])

    def _fill(self, low: int, targets: Ints32) -> None:
        """Next links towards up to 64 targets."""
        nodes, columns = self.next.shape[0], targets.size
        far = np.iinfo(np.int32).max
        distance = np.full((nodes, columns), far, np.int32)
        distance[targets, np.arange(columns)] = 0
        reach = np.zeros(nodes, np.uint64)
        reach[targets] |= np.uint64(1) << np.arange(columns, dtype=np.uint64)
        # what was within reach so many steps ago: a link of length 3 leads to what was there 3
        # steps before
        past = [reach, *[np.zeros_like(reach)] * (int(self._length.max(initial=1)) - 1)]
        step = quiet = 0
        while self._first.size and quiet < len(past):
            step += 1
            there = past[0][self.link_target]
            for length in range(2, len(past) + 1):
                there = np.where(self._length == length, past[length - 1][self.link_target], there)
            grown = reach.copy()
            grown[self._from] |= np.bitwise_or.reduceat(there, self._first)
            past = [grown, *past[:-1]]
            new = np.flatnonzero(grown != reach)
            quiet = 0 if new.size else quiet + 1
            if not new.size:
                continue
            bits = (grown[new] ^ reach[new])[:, None] >> np.arange(
                columns, dtype=np.uint64
            ) & np.uint64(1)
            at, column = np.nonzero(bits)
            distance[new[at], column] = step
            reach = grown
            self.longest = max(self.longest, step)
        if not self._first.size:
            return
        ahead = distance[self.link_target]
        nearer = (ahead != far) & (
            ahead + self._length[:, None] * (ahead != far) == distance[self._source]
        )
        if self._divisor is not None:
            nearer = self._numbered(nearer, targets, self._divisor)
        link = np.where(nearer, np.arange(self.link_target.size, dtype=np.int32)[:, None], far)
        best = np.minimum.reduceat(link, self._first, axis=0)
        self.next[self._from, low : low + columns] = np.where(best == far, _NOWHERE, best)

    def _numbered(self, equal: Bools, targets: Ints32, divisor: Nodes) -> Bools:
        """The one of the links of `equal` that each node takes for each target.

        shape=(links, targets).
        """
        if self._level is not None:
            height = self._level[self.link_target].astype(np.int32)[:, None]
            height = np.where(equal, height, np.iinfo(np.int32).max)
            lowest = np.minimum.reduceat(height, self._first, axis=0)
            equal = equal & (height == np.repeat(lowest, self._run, axis=0))
        count = np.add.reduceat(equal, self._first, axis=0, dtype=np.int32)
        number = targets // divisor[self._from][:, None] % np.maximum(count, 1)
        running = np.cumsum(equal, axis=0, dtype=np.int32)
        before = running[self._first] - equal[self._first]
        return np.asarray(equal & (running - 1 == np.repeat(before + number, self._run, axis=0)))

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        positions, links = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        position = np.flatnonzero((source != target) & ~self.lost(source, target))
        node, column = source[position].astype(np.intp), self.column[target[position]]
        while position.size:
            link = self.next[node, column]
            positions.append(position)
            links.append(link.astype(np.intp))
            node = self.link_target[link].astype(np.intp)
            going = node != target[position]
            position, node, column = position[going], node[going], column[going]
        return np.concatenate(positions), np.concatenate(links)

    def lost(self, source: Nodes, target: Nodes) -> Bools:
        """Which pairs the routing does not join."""
        return np.asarray((self.next[source, self.column[target]] == _NOWHERE) & (source != target))


def lengths(topology: Topology) -> Nodes:
    """shape=(links), int32.

    3 between groups of one level of which more than half are full meshes, else 1.
    """
    length = np.ones(topology.link_slots, np.int32)
    if topology.level is None or topology.group is None:
        return length
    level, group = topology.level.tolist(), topology.group.tolist()
    groups, whole = (
        Counter(height for height, name in keys if name >= 0)
        for keys in ({*zip(level, group, strict=True)}, full_meshes(topology, level, group))
    )
    for k, (tail, head) in enumerate(
        zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
    ):
        most = 2 * whole[level[tail]] > groups[level[tail]]
        if (
            most
            and level[tail] == level[head]
            and group[tail] != group[head]
            and min(group[tail], group[head]) >= 0
        ):
            length[k] = 3
    return length


def full_meshes(topology: Topology, level: list[int], group: list[int]) -> set[tuple[int, int]]:
    """(level, group) of the groups whose nodes of that level are all joined to each other."""
    heads: list[set[int]] = [set() for _ in range(topology.nodes)]
    for tail, head in zip(
        topology.link_source.tolist(), topology.link_target.tolist(), strict=True
    ):
        heads[tail].add(head)
    members: dict[tuple[int, int], set[int]] = {}
    for node, key in enumerate(zip(level, group, strict=True)):
        members.setdefault(key, set()).add(node)
    return {
        key
        for key, nodes in members.items()
        if key[1] >= 0 and all(nodes - {node} <= heads[node] for node in nodes)
    }


def _divisors(topology: Topology, rule: str) -> Nodes | None:
    """shape=(nodes), int32: what a target is divided by at each node.

    None: the first neighbour is taken.
    """
    if rule == "minimal":
        return np.ones(topology.nodes, np.int32)
    if rule != "dmodk" or topology.level is None:  # no machine has the rule without levels
        return None
    heights = topology.level.tolist()
    parents = [0] * topology.nodes
    for tail, head in zip(
        topology.link_source.tolist(), topology.link_target.tolist(), strict=True
    ):
        parents[tail] += heights[head] > heights[tail]
    fan = [1] * (max(heights) + 1)
    for node, count in enumerate(parents):
        fan[heights[node]] = max(fan[heights[node]], count)
    return np.array([min(prod(fan[:height]), topology.nodes) for height in heights], np.int32)


class TableWalk:
    """The machine's stored routes, if they are chains of links that join their ends."""

    def __init__(self, topology: Topology, routing: Routing) -> None:
        assert routing.table_offsets is not None  # Routing refuses a table without its arrays
        assert routing.table_links is not None
        self.topology = topology
        self.offsets, self.links = routing.table_offsets, routing.table_links
        self.longest = max(1, int(np.diff(self.offsets).max(initial=0)))

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        position, link = self._chain(source, target)
        good = ~self.lost(source, target)[position]
        return position[good], link[good]

    def lost(self, source: Nodes, target: Nodes) -> Bools:
        """Which pairs the routing does not join."""
        position, link = self._chain(source, target)
        lost = np.bincount(position, minlength=source.size) == 0
        inside = (link >= 0) & (link < self.topology.link_slots)
        lost[position[~inside]] = True
        link = np.where(inside, link, 0)
        if not link.size:
            return np.asarray(lost & (source != target))
        start, stop = self.topology.link_source[link], self.topology.link_target[link]
        first = np.diff(position, prepend=-1) != 0
        before = np.where(first, source[position], np.roll(stop, 1))
        after = np.append(first[1:], True)
        lost[position[(start != before) | (after & (stop != target[position]))]] = True
        return np.asarray(lost & (source != target))

    def _chain(self, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        pair = source.astype(np.intp) * self.topology.endpoints + target
        offsets, along = take_rows(self.offsets, pair)
        position = np.repeat(np.arange(source.size), np.diff(offsets))
        return position, self.links[along].astype(np.intp)
