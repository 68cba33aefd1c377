"""Routes through a graph: shortest paths found here, or the machine's route table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.verification.schedule.traffic import Ints, Mask
from conset.verification.schedule.walks import Nodes

_NOWHERE = -1
_COLUMNS = 64


class GraphWalk:
    """Fewest links; among equals the neighbour with the lowest index, node by node.

    Sixty-four targets at a time: `reach[v]` has a bit for each target that v reaches within so many links, and one step
    is an OR over the links that leave v. O(targets / 64 · links · diameter) words; the table of next links takes
    nodes × targets int32.
    """

    def __init__(self, topology: Topology, targets: NDArray[np.int32]) -> None:
        self.link_target = topology.link_target
        self.column = np.full(topology.nodes, _NOWHERE, np.intp)
        self.column[targets] = np.arange(targets.size)
        self.next = np.full((topology.nodes, targets.size), _NOWHERE, np.int32)
        # every column starts where a run of links of one source starts
        self._first = np.flatnonzero(np.diff(topology.link_source, prepend=-1))
        self._from = topology.link_source[self._first]
        self._source = topology.link_source
        self.longest = 1
        for low in range(0, targets.size, _COLUMNS):
            self._fill(low, targets[low : low + _COLUMNS])

    def _fill(self, low: int, targets: NDArray[np.int32]) -> None:
        """Next links towards up to 64 targets."""
        nodes, columns = self.next.shape[0], targets.size
        far = np.iinfo(np.int32).max
        distance = np.full((nodes, columns), far, np.int32)
        distance[targets, np.arange(columns)] = 0
        reach = np.zeros(nodes, np.uint64)
        reach[targets] |= np.uint64(1) << np.arange(columns, dtype=np.uint64)
        step = 0
        while self._first.size:
            step += 1
            grown = reach.copy()
            grown[self._from] |= np.bitwise_or.reduceat(reach[self.link_target], self._first)
            new = np.flatnonzero(grown != reach)
            if not new.size:
                break
            bits = (grown[new] ^ reach[new])[:, None] >> np.arange(columns, dtype=np.uint64) & np.uint64(1)
            at, column = np.nonzero(bits)
            distance[new[at], column] = step
            reach = grown
            self.longest = max(self.longest, step)
        if not self._first.size:
            return
        ahead = distance[self.link_target]
        nearer = (ahead != far) & (ahead + np.int32(1) * (ahead != far) == distance[self._source])
        link = np.where(nearer, np.arange(self.link_target.size, dtype=np.int32)[:, None], far)
        best = np.minimum.reduceat(link, self._first, axis=0)
        self.next[self._from, low : low + columns] = np.where(best == far, _NOWHERE, best)

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

    def lost(self, source: Nodes, target: Nodes) -> Mask:
        """Which pairs the routing does not join."""
        return np.asarray((self.next[source, self.column[target]] == _NOWHERE) & (source != target))


class TableWalk:
    """The machine's stored routes, believed only where they are chains of links that join their ends."""

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

    def lost(self, source: Nodes, target: Nodes) -> Mask:
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
        begin, length = self.offsets[pair], np.diff(self.offsets)[pair]
        position = np.repeat(np.arange(source.size), length)
        along = np.arange(position.size) + (begin - (np.cumsum(length) - length))[position]
        return position, self.links[along].astype(np.intp)
