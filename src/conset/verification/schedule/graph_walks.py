"""Routes through a graph: shortest paths, one of several by the machine's rule, or its route table.

Where nodes choose among next links of equal cost: the sample of a hash, and what is expected.

The verifier's own reading of `smodk`, `ecmp`, `valiant` and `adaptive`
(`conset.machine.network.routing`, `docs/routing.md`), in NumPy and apart from the compiler's.
Candidates of a node for a target are the links that begin a way of least cost: all links count
alike, but those between groups three times as much where most are full meshes. The hash is
splitmix64's finalizer z(x) over 64-bit words:

    pair   z(z(seed + g) XOR (source · 2³² + target)),  g = 0x9e3779b97f4a7c15
    node v takes wire ⌊(z(pair XOR (v + 1) · g) / 2³²) · wires / 2³²⌋ of its candidates, wires
    counted link by link `valiant` goes by node first + ⌊(z(pair) / 2³²) · nodes / 2³²⌋, of the
    switches, or of all nodes without any

Loads where routes are not known: ports are counted, links and channels expected.

Figures, never violations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base import Bools, Floats, Ints, Ints32, take_rows
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.verification.schedule.loads import Measured, measure
from conset.verification.schedule.traffic import Groups, Traffic
from conset.verification.schedule.walks import CrossbarWalk, Nodes

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
        self._alike: Ints | None = None
        if topology.parallel and self._divisor is None:
            key = self._source.astype(np.int64) * topology.nodes + self.link_target
            _, at, count = np.unique(key, return_inverse=True, return_counts=True)
            self._alike = count[at]
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
        if self._alike is not None:  # of links to the same neighbour the target numbers one
            same = np.where(best == far, 1, self._alike[np.where(best == far, 0, best)])
            best = np.where(best == far, far, best + targets % same)
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
    """The machine's stored routes, if they are chains of links that join their ends.

    Of each pair, or what every switch has for each endpoint: these are followed for as many links
    as there are nodes.
    """

    def __init__(self, topology: Topology, routing: Routing) -> None:
        self.topology, self.next_link = topology, routing.next_link
        if self.next_link is not None:
            leaving = np.flatnonzero(topology.link_source < topology.endpoints)
            _, one = np.unique(topology.link_target[leaving], return_index=True)
            hosts = np.arange(topology.endpoints, dtype=np.int32)
            source = np.repeat(topology.link_source[leaving[one]], hosts.size)
            position, _ = self._followed(self.next_link, source, np.tile(hosts, one.size))
            self.longest = int(np.bincount(position).max(initial=1))
        else:
            assert routing.table_offsets is not None  # Routing refuses a table without its arrays
            assert routing.table_links is not None
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
        if self.next_link is not None:
            return self._followed(self.next_link, source, target)
        pair = source.astype(np.intp) * self.topology.endpoints + target
        offsets, along = take_rows(self.offsets, pair)
        position = np.repeat(np.arange(source.size), np.diff(offsets))
        return position, self.links[along].astype(np.intp)

    def _followed(self, next_link: Ints32, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) by position: along what switches have, to the end or astray."""
        hosts, ends = self.topology.endpoints, self.topology.link_target
        out = np.full(hosts, _NOWHERE, np.intp)
        leaving = np.flatnonzero(self.topology.link_source < hosts)
        out[self.topology.link_source[leaving]] = leaving
        position = np.flatnonzero(source != target)
        node = source[position].astype(np.intp)
        steps = []
        for _ in range(self.topology.nodes):
            here = target[position]
            at_host = node < hosts
            entry = np.where(at_host, 0, (node - hosts) * hosts + here)
            link = np.where(at_host, out[np.where(at_host, node, 0)], next_link[entry])
            position, link = position[link >= 0], link[link >= 0].astype(np.intp)
            steps.append((position, link))
            node = ends[link].astype(np.intp)
            going = (node != target[position]) & (node >= hosts)
            position, node = position[going], node[going]
            if not position.size:
                break
        positions, links = (np.concatenate(part) for part in zip(*steps, strict=True))
        order = np.argsort(positions, kind="stable")
        return positions[order], links[order]


Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_UPPER = np.uint64(32)
_COLUMNS = 64
_ENTRIES = 1 << 22
"""Of one step of expectations, at most: more are added up in parts."""


class SpreadWalk:
    """Choices among next links of equal cost.

    `hops` are those of the sample; what is expected is `expect`. Distances take nodes × (targets,
    with `valiant` and the nodes that may be drawn) int32.
    """

    def __init__(self, topology: Topology, routing: Routing, targets: Ints32) -> None:
        self.topology, self.routing = topology, routing
        nodes, endpoints = topology.nodes, topology.endpoints
        self.vias = np.arange(endpoints if endpoints < nodes else 0, nodes, dtype=np.int32)
        self._by_via = routing.rule == "valiant"
        wanted = (
            np.unique(np.concatenate([targets, self.vias])) if self._by_via else np.unique(targets)
        )
        self.column = np.full(nodes, -1, np.intp)
        self.column[wanted] = np.arange(wanted.size)
        self.length = lengths(topology)
        self.distance = distances(topology, wanted.astype(np.int32), self.length)
        self.first = np.searchsorted(topology.link_source, np.arange(nodes + 1))
        self.wires = topology.widths().astype(np.int64)
        self.longest = max(1, int(self.distance.max(initial=0))) * (2 if self._by_via else 1)

    def lost(self, source: Nodes, target: Nodes) -> Bools:
        """Which pairs the routing does not join."""
        return np.asarray((self.distance[source, self.column[target]] < 0) & (source != target))

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop of the sample."""
        going = np.flatnonzero((source != target) & ~self.lost(source, target))
        node = source.astype(np.intp)
        found: list[tuple[Ints, Ints]] = [(np.zeros(0, np.intp), np.zeros(0, np.intp))]
        pair = self._pairs(source, target)
        if self._by_via:
            via = self.vias[_below(_mixed(pair), np.full(pair.size, self.vias.size))]
            node[going] = self._leg(found, going, node, via, source, pair)
        self._leg(found, going, node, target, source, pair)
        return np.concatenate([position for position, _ in found]), np.concatenate(
            [link for _, link in found]
        )

    def _leg(
        self,
        found: list[tuple[Ints, Ints]],
        going: Ints,
        start: Ints,
        to: Nodes,
        source: Nodes,
        pair: Words,
    ) -> Ints:
        """Adds the hops of all `going` from `start` to `to`; where they end, which is there."""
        node, there = start.copy(), going
        going = going[node[going] != to[going]]
        while going.size:
            link = self._choose(node[going], to[going], source[going], pair[going])
            found.append((going, link))
            node[going] = self.topology.link_target[link]
            going = going[node[going] != to[going]]
        return node[there]

    def _pairs(self, source: Nodes, target: Nodes) -> Words:
        ends = (source.astype(np.uint64) << _UPPER) | target.astype(np.uint64)
        with np.errstate(over="ignore"):
            return _mixed(_mixed(np.uint64(self.routing.seed) + _GOLDEN) ^ ends)

    def _candidates(self, node: Ints, to: Nodes | Ints) -> tuple[Ints, Ints]:
        """(which entry, link) of all next links of equal cost, entry by entry."""
        offsets, link = take_rows(self.first, node)
        entry = np.repeat(np.arange(node.size), np.diff(offsets))
        column = self.column[to]
        ahead = self.distance[self.topology.link_target[link], column[entry]]
        good = (ahead >= 0) & (ahead + self.length[link] == self.distance[node, column][entry])
        return entry[good], link[good]

    def _choose(self, node: Ints, to: Nodes, source: Nodes, pair: Words) -> Ints:
        entry, link = self._candidates(node, to)
        digit = self.routing.rule == "smodk"
        count = np.ones(link.size, np.int64) if digit else self.wires[link]
        total = np.bincount(entry, count, node.size).astype(np.int64)
        if digit:
            pick = source // self._strides()[node] % total
        else:
            with np.errstate(over="ignore"):
                pick = _below(
                    _mixed(pair ^ (node.astype(np.uint64) + np.uint64(1)) * _GOLDEN), total
                )
        before = np.cumsum(count) - count
        starts = np.flatnonzero(np.diff(entry, prepend=-1))
        before -= before[starts][entry]  # every entry has a candidate: lost pairs never come here
        chosen = (before <= pick[entry]) & (pick[entry] < before + count)
        return link[chosen]

    def _strides(self) -> Ints:
        """shape=(nodes): how many sources in a row choose alike."""
        level = self.topology.level
        assert level is not None  # the machine's routes were found before anything was verified
        source, target = self.topology.ends
        up = np.bincount(source[level[target] > level[source]], minlength=self.topology.nodes)
        stride = np.ones(level.size, np.int64)
        product = 1
        for at in range(int(level.max(initial=0)) + 1):
            stride[level == at] = product
            product = min(product * max(1, int(up[level == at].max(initial=0))), 2**31 - 1)
        return stride

    def expect(
        self, group: Ints, source: Nodes, target: Nodes, amount: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """(group, link, amount).

        What every link carries of each group in expectation, or of what is spread.
        """
        keep = (source != target) & ~self.lost(source, target)
        group, source, target, amount = group[keep], source[keep], target[keep], amount[keep]
        if not self._by_via:
            return self._flow(group, source.astype(np.intp), target.astype(np.intp), amount)
        parts = []
        for end, away in ((source, True), (target, False)):
            place, where = np.unique(group * self.topology.nodes + end, return_inverse=True)
            each = np.bincount(where, amount, place.size) / self.vias.size
            of, node = place // self.topology.nodes, place % self.topology.nodes
            step = max(1, _ENTRIES // max(1, place.size))
            for low in range(0, self.vias.size, step):
                via = self.vias[low : low + step].astype(np.intp)
                begin, end_at = np.repeat(node, via.size), np.tile(via, place.size)
                if not away:
                    begin, end_at = end_at, begin
                parts.append(
                    self._flow(np.repeat(of, via.size), begin, end_at, np.repeat(each, via.size))
                )
        return _added(
            self.topology.link_slots,
            *(np.concatenate(column) for column in zip(*parts, strict=True)),
        )

    def _flow(self, group: Ints, node: Ints, to: Ints, amount: Floats) -> tuple[Ints, Ints, Floats]:
        """As `expect`, from `node` to `to`.

        Step by step, what is at one node on one way together.
        """
        nodes, slots = self.topology.nodes, self.topology.link_slots
        found = [(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))]
        while True:
            going = node != to
            group, node, to, amount = group[going], node[going], to[going], amount[going]
            if not group.size:
                break
            key, at = np.unique((group * nodes + to) * nodes + node, return_inverse=True)
            amount = _sums(at, amount, key.size)
            group, to, node = key // (nodes * nodes), key // nodes % nodes, key % nodes
            entry, link = self._candidates(node, to)
            wires = self.wires[link].astype(np.float64)
            part = amount[entry] * wires / np.bincount(entry, wires, node.size)[entry]
            found.append(_added(slots, group[entry], link, part))
            group, to, node, amount = (
                group[entry],
                to[entry],
                self.topology.link_target[link].astype(np.intp),
                part,
            )
        return _added(slots, *(np.concatenate(column) for column in zip(*found, strict=True)))


def distances(topology: Topology, targets: Ints32, length: Ints32) -> Ints32:
    """shape=(nodes, targets), int32.

    The least sum of lengths from each node to each target, -1 where no way is.

    Node by node as far as `step` is reached: a link of length w leads on from what was reached w
    steps before.
    """
    result = np.full((topology.nodes, targets.size), -1, np.int32)
    result[targets, np.arange(targets.size)] = 0
    source, target = topology.ends
    longest = int(length.max(initial=1))
    for low in range(0, targets.size, _COLUMNS):
        part = result[:, low : low + _COLUMNS]
        step = last = 0
        while step - last < longest:
            step += 1
            ahead = part[target]
            link, column = np.nonzero(
                (ahead >= 0) & (ahead == step - length[:, None]) & (part[source] < 0)
            )
            if link.size:
                part[source[link], column] = last = step
    return result


def _mixed(word: Words | np.uint64) -> Words:
    """Splitmix64's finalizer."""
    with np.errstate(over="ignore"):
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(word ^ (word >> np.uint64(31)), np.uint64)


def _below(word: Words, count: Ints) -> Ints:
    """Numbers from 0 to below `count` out of the upper halves of words."""
    with np.errstate(over="ignore"):
        return np.asarray(((word >> _UPPER) * count.astype(np.uint64)) >> _UPPER, np.int64)


def _added(slots: int, group: Ints, link: Ints, amount: Floats) -> tuple[Ints, Ints, Floats]:
    """The same with one entry for each link of a group."""
    key, at = np.unique(group * slots + link, return_inverse=True)
    return key // slots, key % slots, _sums(at, amount, key.size)


def _sums(at: Ints, amount: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(at, amount, count), np.float64)


_TRANSFERS = 1 << 14
"""Of a chunk; a larger group comes in blocks."""


def measure_expected(
    traffic: Traffic, walk: SpreadWalk, groups: Groups, limits: Mapping[str, Any], window: int = 1
) -> Measured:
    """As `measure`, held to the limits of ports.

    `link` and `channels` are the largest expected loads, float64.
    """
    ports = {name: limits.get(name) for name in ("send", "receive")}
    counted = measure(traffic, CrossbarWalk(), groups, ports, window)
    link, channels = np.zeros(groups.count), np.zeros(groups.count)
    for low, high in groups.chunks(groups.count, _TRANSFERS):
        link[low:high], channels[low:high] = _chunk(traffic, walk, groups, low, high)
    return Measured({**counted.peaks, "link": link, "channels": channels}, counted.violations)


def _chunk(
    traffic: Traffic, walk: SpreadWalk, groups: Groups, low: int, high: int
) -> tuple[Floats, Floats]:
    """(largest link load per unit of width, of a node) of the groups `low` to `high` - 1."""
    topology = traffic.topology
    cells: list[tuple[Ints, Floats]] = [(np.zeros(0, np.intp), np.zeros(0))]
    starts = [np.zeros(0, np.intp)]
    for ids, group in groups.blocks(low, high, _TRANSFERS):
        used = traffic.networked(ids)
        ids, group = ids[used], group[used]
        source, target = traffic.source[ids], traffic.target[ids]
        of, carried, amount = walk.expect(group, source, target, np.ones(ids.size))
        cells.append((of * topology.link_slots + carried, amount))
        starts.append(group * topology.nodes + source)
    key, at = np.unique(np.concatenate([key for key, _ in cells]), return_inverse=True)
    amount = np.asarray(
        np.bincount(at, np.concatenate([part for _, part in cells]), key.size), np.float64
    )
    of, carried = key // max(1, topology.link_slots), key % max(1, topology.link_slots)
    link, channels = np.zeros(high - low), np.zeros(high - low)
    np.maximum.at(link, of, amount / topology.widths()[carried])
    begun = np.concatenate(starts)
    place, at = np.unique(
        np.concatenate([begun, of * topology.nodes + topology.ends[1][carried]]),
        return_inverse=True,
    )
    visits = np.bincount(at, np.concatenate([np.ones(begun.size), amount]), place.size)
    np.maximum.at(channels, place // topology.nodes, visits)
    return link, channels
