"""Routes that the schedule states itself: are they simple paths of links that join their ends?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.verification.schedule.traffic import Ints, Mask, Traffic
from conset.verification.schedule.walks import Nodes
from conset.verification.verification import Violation

_BLOCK = 1 << 20
_SHOWN = 12


class ChosenWalk:
    """A walk along stated routes.

    Hops that are no link are left out (and reported by `check_routes`).

    Links that close cycles are none under `no-wrap`: they stay idle.
    """

    def __init__(
        self,
        topology: Topology,
        routing: Routing,
        offsets: Ints,
        nodes: NDArray[np.int64] | NDArray[np.int32],
    ) -> None:
        self.topology = topology
        self.offsets, self.nodes = offsets, nodes
        self.longest = max(1, int(np.diff(offsets).max(initial=0)))
        source, target = topology.ends
        exists = topology.link_exists
        if routing.rule == "no-wrap":
            steps = np.abs(topology.coordinates[source] - topology.coordinates[target]).max(
                axis=1, initial=0
            )
            exists = exists & (steps <= 1)
        slots = np.flatnonzero(exists)
        key = source[slots].astype(np.intp) * topology.nodes + target[slots]
        order = np.argsort(key, kind="stable")
        self._key, self._slot = key[order], slots[order]

    def hops(self, ids: Ints, source: Nodes, target: Nodes) -> tuple[Ints, Ints]:
        """(position, link) of every hop."""
        position, start, stop = self.steps(ids)
        link = self.link_between(start, stop)
        return position[link >= 0], link[link >= 0]

    def lost(self, source: Nodes, target: Nodes) -> Mask:
        """Which pairs the routing does not join."""
        return np.zeros(source.size, bool)

    def visits(self, ids: Ints) -> tuple[Ints, Ints]:
        """(position in `ids`, node) of every stop of their routes."""
        begin, length = self.offsets[ids], self.offsets[ids + 1] - self.offsets[ids]
        position = np.repeat(np.arange(ids.size), length)
        along = np.arange(position.size) + (begin - (np.cumsum(length) - length))[position]
        return position, self.nodes[along].astype(np.intp)

    def steps(self, ids: Ints) -> tuple[Ints, Ints, Ints]:
        """(position in `ids`, from, to) of every hop."""
        position, node = self.visits(ids)
        same = position[1:] == position[:-1]
        return position[1:][same], node[:-1][same], node[1:][same]

    def link_between(self, start: Ints, stop: Ints) -> Ints:
        """The link from each node to each other, -1 where there is none."""
        if not self._key.size:
            return np.full(start.size, -1, np.intp)
        key = start * self.topology.nodes + stop
        at = np.minimum(np.searchsorted(self._key, key), self._key.size - 1)
        inside = (
            (start >= 0)
            & (start < self.topology.nodes)
            & (stop >= 0)
            & (stop < self.topology.nodes)
        )
        return np.where(inside & (self._key[at] == key), self._slot[at], -1)


def check_routes(traffic: Traffic, walk: ChosenWalk) -> list[Violation]:
    """Rules `route-node`, `route-ends`, `route-link` and `route-simple`.

    Each at most once per transfer.
    """
    found = []
    block = max(1, _BLOCK // walk.longest)
    for low in range(0, traffic.source.size, block):
        ids = np.arange(low, min(low + block, traffic.source.size))
        for rule, k, what in _problems(traffic, walk, ids):
            text = f"{traffic.where(k)}: route {_shown(walk, k)} {what}"
            found.append(Violation(*traffic.place_of(k), rule, text))
    return found


def _shown(walk: ChosenWalk, k: int) -> str:
    nodes = walk.nodes[walk.offsets[k] : walk.offsets[k + 1]].tolist()
    return "[" + ", ".join(map(str, nodes[:_SHOWN])) + (", …]" if len(nodes) > _SHOWN else "]")


def _problems(traffic: Traffic, walk: ChosenWalk, ids: Ints) -> Iterator[tuple[str, int, str]]:
    """(rule, transfer, what is wrong) for a block of transfers."""
    topology = walk.topology
    position, node = walk.visits(ids)
    outside = (node < 0) | (node >= topology.nodes)
    for k, i in _firsts(ids, position, np.flatnonzero(outside)):
        yield "route-node", k, f"visits node {node[i]}, nodes are 0 to {topology.nodes - 1}"
    length = walk.offsets[ids + 1] - walk.offsets[ids]
    for k in ids[length < 1].tolist():
        yield "route-node", k, "is empty"
    yield from _wrong_ends(traffic, walk, ids[length >= 1])
    hop, start, stop = walk.steps(ids)
    if topology.kind == "crossbar":
        missing = length[hop] > 2
    else:
        missing = walk.link_between(start, stop) < 0
        # a node visited twice in a row is no missing link but a route that is not simple; one
        # outside is reported
        missing &= start != stop
        missing &= (np.minimum(start, stop) >= 0) & (np.maximum(start, stop) < topology.nodes)
    for k, i in _firsts(ids, hop, np.flatnonzero(missing)):
        names = topology.node_name(int(start[i])), topology.node_name(int(stop[i]))
        why = (
            "a crossbar joins ports directly"
            if topology.kind == "crossbar"
            else f"no link joins {names[0]} to {names[1]}"
        )
        yield "route-link", k, f"does not exist: {why}"
    key = np.lexsort((node, position))
    again = (position[key][1:] == position[key][:-1]) & (node[key][1:] == node[key][:-1])
    for k, i in _firsts(ids, position[key][1:], np.flatnonzero(again)):
        yield "route-simple", k, f"visits node {node[key][1:][i]} twice"


def _firsts(ids: Ints, position: Ints, wrong: Ints) -> Iterator[tuple[int, int]]:
    """(transfer, index) of the first of the `wrong` entries of each transfer."""
    at = position[wrong]
    keep = np.diff(at, prepend=-1) != 0
    yield from zip(ids[at[keep]].tolist(), wrong[keep].tolist(), strict=True)


def _wrong_ends(traffic: Traffic, walk: ChosenWalk, ids: Ints) -> Iterator[tuple[str, int, str]]:
    first, last = walk.nodes[walk.offsets[ids]], walk.nodes[walk.offsets[ids + 1] - 1]
    wrong = (first != traffic.source[ids]) | (last != traffic.target[ids])
    if traffic.placed is not None:
        wrong &= traffic.placed[ids]
    for k in ids[wrong].tolist():
        yield "route-ends", k, f"does not join node {traffic.source[k]} to node {traffic.target[k]}"
