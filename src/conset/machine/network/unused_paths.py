"""Equal shortest paths that a routing leaves unused.

How much fuller its fullest link gets than it need.

`shortest-path` takes the lowest neighbour of those that are equally near, so that on a network of
switches everything may go over one of several. Asked is a complete exchange: every endpoint sends
one message to every other. Compared are the largest loads of a link, per unit of its width: as the
rule leads, and where every node spreads what it passes on evenly over its next links on shortest
paths, which is what no rule for single messages beats on average by much.

Cost: O(endpoints · links · diameter), in blocks of targets; networks where that is over `MAX_WORK`
are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from conset.machine.network.planes import planes_of
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology

WORTH = 1.5
"""From how many times the load of spreading on a rule is said to leave paths unused."""
MAX_WORK = 2**26
"""Most endpoints · links that are looked at."""
_TARGETS = 64


@dataclass(frozen=True)
class UnusedPaths:
    """What a rule does to the fullest link of a complete exchange.

    Attributes:
        link: the fullest one under the rule.
        load: messages on it, per unit of width.
        spread: messages on the fullest link where equal paths are shared evenly.
        rule: the name of a rule that spreads there.
    """

    link: int
    load: float
    spread: float
    rule: str

    def sentence(self, topology: Topology) -> str:
        """One line with both numbers, and what to do."""
        name = topology.link_name(self.link)
        return (
            "routing shortest-path leaves equal paths unused: of a complete exchange "
            f"{name} carries "
            f"{self.load:,.0f} messages, {self.spread:,.0f} were paths of equal length shared: "
            f"routing={self.rule} "
            "spreads (in a machine file, routing beside the graph)"
        )


_known: WeakKeyDictionary[Topology, UnusedPaths | None] = WeakKeyDictionary()


def unused_paths(topology: Topology, routing: Routing) -> UnusedPaths | None:
    """What `shortest-path` leaves unused where that makes the fullest link `WORTH` times as full.

    Else None.
    """
    if topology.kind != "graph" or routing.rule != "shortest-path" or not topology.links:
        return None
    if topology.endpoints * topology.links > MAX_WORK:
        return None
    if topology not in _known:
        _known[topology] = _found(topology)
    return _known[topology]


def _found(topology: Topology) -> UnusedPaths | None:
    first, spread = exchange_loads(topology)
    link = int(np.argmax(first))
    if first[link] < WORTH * spread.max():
        return None
    usual = (
        "planes" if planes_of(topology) is not None else "dmodk" if _climbs(topology) else "minimal"
    )
    return UnusedPaths(link, float(first[link]), float(spread.max()), usual)


def _climbs(topology: Topology) -> bool:
    """Whether all links join neighbouring levels, as in a tree of switches."""
    level = topology.level
    if level is None:
        return False
    return bool((np.abs(level[topology.link_source] - level[topology.link_target]) == 1).all())


def exchange_loads(topology: Topology) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(by the lowest neighbour, spread evenly), shape=(links) each.

    Messages per unit of width of a complete exchange.

    Every node passes on what it has for a target over its next links on shortest paths.
    """
    source, target = topology.link_source.astype(np.int64), topology.link_target.astype(np.int64)
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    into = np.argsort(target, kind="stable")
    ends = np.flatnonzero(np.diff(target[into], prepend=-1))
    first, spread = np.zeros(topology.links), np.zeros(topology.links)
    for low in range(0, topology.endpoints, _TARGETS):
        goals = np.arange(low, min(low + _TARGETS, topology.endpoints))
        far = _distances(topology, goals, source, target, starts)
        near = far[:, source] == far[:, target] + 1
        count = np.add.reduceat(near, starts, axis=1, dtype=np.int64)
        node = np.repeat(np.arange(starts.size), np.diff(np.append(starts, source.size)))
        before = np.cumsum(near, axis=1) - near
        lowest = near & (before == before[:, starts][:, node])
        shares = (lowest.astype(np.float64), near / np.maximum(count[:, node], 1))
        for share, total in zip(shares, (first, spread), strict=True):
            held = np.zeros(far.shape)
            held[:, : topology.endpoints] = 1
            held[np.arange(goals.size), goals] = 0
            for distance in range(int(far.max()), 0, -1):
                moved = np.where(far[:, source] == distance, held[:, source] * share, 0.0)
                total += moved.sum(axis=0)
                held[:, target[into][ends]] += np.add.reduceat(moved[:, into], ends, axis=1)
    width = topology.widths()
    return first / width, spread / width


def _distances(
    topology: Topology,
    goals: NDArray[np.int64],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """shape=(goals, nodes): links to each goal; -1 where it is out of reach."""
    out = 2 * topology.nodes
    far = np.full((goals.size, topology.nodes), out)
    far[np.arange(goals.size), goals] = 0
    while True:
        nearer = far.copy()
        nearer[:, source[starts]] = np.minimum(
            far[:, source[starts]], np.minimum.reduceat(far[:, target], starts, axis=1) + 1
        )
        if np.array_equal(nearer, far):
            return np.where(far >= out, -1, far)
        far = nearer
