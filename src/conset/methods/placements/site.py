"""Site: what a placement is asked about.

A pattern, the network it goes to, and how crowded a node may be. The placements that need nothing
else are here: identity, Gray code, random.

bisection: the network and the pattern cut in two together, again and again.

Problem: put ranks on nodes so that Σ bytes · distance is small.
Idea: cut the network along its longest side into two halves; divide the ranks it holds into as many
as fit on each half, so that few bytes cross; go on with both halves, larger parts before smaller
ones. Ranks that lie outside a part pull its ranks to the side that is nearer to where they are
known to be (terminal propagation), so that halves are laid the right way round. A division is found
from six starts (as ranks are numbered, sorted by the pull, grown from four ranks) by passes of
pairwise moves that keep the sizes exact, the best of them kept.
Invariant: every part of the network holds exactly as many ranks, and empty places, as fit on its
nodes.
Complexity: O(messages · log messages · log nodes) for each pass, at most 8 passes from 6 starts;
O(messages) memory and a table of endpoints² distances up to 4096 endpoints.
When to use it: patterns with neighbourhoods (meshes, sparse matrices) whose ranks are numbered
without regard to the network. Not for complete exchanges: every placement is the same there.
Departures: networks without coordinates are cut between two nodes that lie far apart, each other
node with the nearer.
Reference: Pellegrini, Static mapping by dual recursive bipartitioning,
doi:10.1109/SHPCC.1994.296682; Kernighan, Lin, doi:10.1002/j.1538-7305.1970.tb01770.x; Fiduccia,
Mattheyses, doi:10.1145/800263.809204.

annealed: ranks change places at random, ever more choosily, until few hops are left.

Problem: put ranks on nodes so that Σ over messages of (hops + 1), the channels that all routes
take, is small; for `annealed-bytes` the same with bytes times hops, what all links carry.
Idea: from the better of the ranks as numbered and of recursive bisection, swap two places drawn at
random (a place may be empty); take every swap that shortens the sum, and a longer one where it adds
less than temperature times a random number from 0 to 1. The temperature starts at what a swap
typically changes and falls to 10 % of it in 128 levels, the last of which takes nothing that costs.
The cheapest state at the end of a level, or the start, is the result.
Invariant: no node holds more ranks than it may; the result costs no more than the start.
Complexity: O(degree) per swap; 3 million swaps per unit of effort, fewer where ranks have more than
a few dozen partners (a constant number of look-ups) or there are fewer than 64 places (a constant
number of swaps of each pair); O(messages) memory and a table of endpoints² distances up to 4096
endpoints.
When to use it: whenever a second at compile time is worth 25 to 40 % of the channels of a halo
exchange.
Departures: a linear threshold instead of an exponential makes the same decisions on every platform.
Measured: see `tests/unit/test_placement_fem.py`; the hexahedral mesh of 20,000 elements in 64 parts
on an 8×8 torus needs 3 phases of 12 channels where it needs 4 as numbered.
Reference: Kirkpatrick, Gelatt, Vecchi, doi:10.1126/science.220.4598.671; the sum of hops as in
Bokhari, On the mapping problem, doi:10.1109/TC.1981.1675756.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from conset import _core
from conset.base import Floats, InputError, Ints, Ints32, frozen
from conset.machine import Routing, Topology, core_network, route_hops
from conset.pattern import Pattern

Weight = Literal["messages", "bytes"]
"""What a message weighs.

1, which is what phases and channels count, or its bytes, which is what links carry.
"""


class Neighbours(NamedTuple):
    """Which ranks communicate, in compressed sparse rows, as the core takes it.

    `neighbour[offsets[r] : offsets[r + 1]]`.
    """

    offsets: Ints
    neighbour: Ints32
    weight: Floats


@dataclass(frozen=True, eq=False)
class PlacementProblem:
    """A pattern without places, and places.

    Attributes:
        pattern: what is sent.
        topology: where its ranks go.
        routing: how messages will travel; distances are hops of its routes.
        ranks_per_node: most ranks on a node.
        seed: of every random choice.
        effort: how long to search, in sweeps.
        job: the node of each rank where a job has them already; () where rank r is on node r.
    """

    pattern: Pattern
    topology: Topology
    routing: Routing
    ranks_per_node: int = 1
    seed: int = 0
    effort: int = 1
    job: tuple[int, ...] = ()

    @property
    def network(self) -> _core.Network:
        """The core's form of network and routing."""
        return core_network(self.topology, self.routing)

    @property
    def is_symmetric(self) -> bool:
        """Whether no placement can differ from another.

        Equal messages between all ranks, one on every node.
        """
        pattern = self.pattern
        full = pattern.ranks == self.topology.endpoints and self.ranks_per_node == 1
        return (
            full and pattern.messages == pattern.ranks * (pattern.ranks - 1) and pattern.equal_sizes
        )

    def node_of(self, placement: Ints32 | None) -> Ints32:
        """shape=(ranks), int32: the node of each rank, written out."""
        return np.arange(self.pattern.ranks, dtype=np.int32) if placement is None else placement

    def cost(self, placement: Ints32 | None, weight: Weight) -> float:
        """The sum over messages of weight × (hops + 1), 0 for those inside a node.

        With weight 1 the channels taken.
        """
        node = self.node_of(placement)
        source, target = node[self.pattern.source], node[self.pattern.target]
        hops = route_hops(self.topology, self.routing, source, target)
        distance = (hops + 1 if self.topology.link_slots else np.full(hops.size, 2)).astype(
            np.float64
        )
        distance[source == target] = 0
        return float(
            distance.sum()
            if weight == "messages"
            else distance @ self.pattern.size.astype(np.float64)
        )

    def weights(self, weight: Weight) -> Floats:
        """shape=(messages): what each message weighs."""
        if weight == "messages":
            return np.ones(self.pattern.messages)
        return self.pattern.size.astype(np.float64)

    def by_source(self, weight: Weight) -> Neighbours:
        """Targets of every rank."""
        return Neighbours(
            self.pattern.offsets, np.ascontiguousarray(self.pattern.target), self.weights(weight)
        )

    def by_target(self, weight: Weight) -> Neighbours:
        """Sources of every rank."""
        order = np.argsort(self.pattern.target, kind="stable")
        return _rows(
            self.pattern.ranks,
            self.pattern.target[order],
            self.pattern.source[order],
            self.weights(weight)[order],
        )

    def both_ways(self, weight: Weight) -> Neighbours:
        """Partners of every rank with what goes either way, each pair once at both its ends."""
        ranks, source, target = self.pattern.ranks, self.pattern.source, self.pattern.target
        key = np.concatenate(
            [source.astype(np.int64) * ranks + target, target.astype(np.int64) * ranks + source]
        )
        pairs, position = np.unique(key, return_inverse=True)
        total = np.zeros(pairs.size)
        np.add.at(total, position, np.tile(self.weights(weight), 2))
        return _rows(ranks, pairs // ranks, pairs % ranks, total)


def _rows(
    ranks: int,
    first: Ints | Ints32,
    second: Ints | Ints32,
    weight: Floats,
) -> Neighbours:
    offsets = np.searchsorted(first, np.arange(ranks + 1)).astype(np.int64)
    return Neighbours(
        offsets, np.ascontiguousarray(second, np.int32), np.ascontiguousarray(weight, np.float64)
    )


def place_identity(problem: PlacementProblem) -> Ints32 | None:
    """Rank r on node r // ranks_per_node, or where its job has it.

    Raises:
        InputError: the job has another number of ranks.
    """
    if problem.job:
        if len(problem.job) != problem.pattern.ranks:
            raise InputError(
                f"hosts: the job has {len(problem.job)} ranks, {problem.pattern.name} "
                f"{problem.pattern.ranks}"
            )
        return frozen(np.array(problem.job, np.int32))
    if problem.ranks_per_node == 1:
        return None
    return frozen((np.arange(problem.pattern.ranks) // problem.ranks_per_node).astype(np.int32))


def place_switch(problem: PlacementProblem) -> Ints32:
    """Ranks in order of the switches that their nodes are joined to, and of the links to them.

    Neighbours in the order of ranks are near each other; a step of a shift leaves a switch for one
    other.

    Raises:
        InputError: a network whose endpoints are joined to each other.
    """
    topology = problem.topology
    if topology.kind != "graph" or topology.nodes == topology.endpoints:
        raise InputError("placement switch: needs a network of switches between its endpoints")
    nodes = place_identity(problem)
    nodes = np.arange(problem.pattern.ranks, dtype=np.int32) if nodes is None else nodes
    target = topology.ends[1]
    back = np.flatnonzero(target < topology.endpoints)  # sorted by switch, as links are
    first = np.full(topology.endpoints, topology.links)
    np.minimum.at(first, target[back], back)
    return frozen(nodes[np.argsort(first[nodes], kind="stable")])


def place_gray(problem: PlacementProblem) -> Ints32:
    """On each axis, position x holds the code x ^ (x >> 1).

    Partners that differ in one bit come near each other.

    Raises:
        InputError: a network without coordinates, or with a side that is no power of two.
    """
    topology = problem.topology
    if not (topology.is_box or topology.kind == "hypercube"):
        raise InputError(
            "placement gray: needs a mesh, torus, ring or hypercube, the network is a "
            f"{topology.kind}"
        )
    for k, side in enumerate(topology.sides):
        if side & (side - 1):
            raise InputError(
                f"placement gray: side {k} of the network is {side}: must be a power of two"
            )
    position = topology.coordinates.astype(np.int64)
    code = position ^ (position >> 1)
    node_of = np.empty(topology.nodes, np.int32)
    node_of[np.ravel_multi_index(tuple(code.T), topology.sides)] = np.arange(
        topology.nodes, dtype=np.int32
    )
    return frozen(node_of[np.arange(problem.pattern.ranks) // problem.ranks_per_node])


def place_random(problem: PlacementProblem) -> Ints32:
    """Ranks on places drawn without repetition; the same seed gives the same nodes."""
    places = np.repeat(
        np.arange(problem.topology.endpoints, dtype=np.int32), problem.ranks_per_node
    )
    return frozen(
        np.random.default_rng(problem.seed % 2**64).permutation(places)[: problem.pattern.ranks]
    )


def place_bisection(problem: PlacementProblem, weight: Weight = "bytes") -> Ints32 | None:
    """Ranks by recursive bisection of network and pattern.

    As they are numbered where no placement is better.
    """
    if problem.is_symmetric or problem.pattern.messages == 0:
        return place_identity(problem)
    node: Ints32 = _core.bisect_placement(
        problem.network,
        _core.PatternGraph(*problem.both_ways(weight)),
        _core.NetworkCuts(*cut_network(problem)),
        problem.ranks_per_node,
        problem.seed % 2**64,
    )
    return frozen(node)


def cut_network(problem: PlacementProblem) -> tuple[Ints32, Ints32, Ints32, Ints32]:
    """(order, low, middle, high): part k is `order[low[k] : high[k]]`, cut at `middle[k]`.

    Larger parts come first.
    """
    order = np.arange(problem.topology.endpoints, dtype=np.int32)
    parts: list[tuple[int, int, int]] = []
    queue = deque([(0, order.size)])
    while queue:
        begin, end = queue.popleft()
        if end - begin < 2:
            continue
        nodes, first = _cut(problem, order[begin:end])
        order[begin:end] = nodes
        parts.append((begin, begin + first, end))
        queue.extend(((begin, begin + first), (begin + first, end)))
    low, middle, high = (
        np.ascontiguousarray(column) for column in np.array(parts, np.int32).reshape(-1, 3).T
    )
    return order, low, middle, high


def _cut(problem: PlacementProblem, nodes: Ints32) -> tuple[Ints32, int]:
    """(the nodes of both halves, how many are in the first)."""
    topology = problem.topology
    if topology.kind == "crossbar":
        return nodes, nodes.size // 2
    if topology.kind == "graph":
        key = _nearer(problem, nodes)
        return nodes[np.argsort(key, kind="stable")], nodes.size // 2
    coordinates = topology.coordinates[nodes]
    axis = int(np.argmax(np.ptp(coordinates, axis=0)))
    at = coordinates[:, axis]
    first = int(np.count_nonzero(at < (int(at.min()) + int(at.max()) + 1) // 2))
    return nodes[np.argsort(at, kind="stable")], first


def _nearer(problem: PlacementProblem, nodes: Ints32) -> Ints32:
    """Below 0 for nodes nearer to the one, above for nodes nearer to the other of two.

    The two lie far apart.
    """

    def hops(node: np.int32) -> Ints32:
        return route_hops(problem.topology, problem.routing, np.full_like(nodes, node), nodes)

    one = nodes[np.argmax(hops(nodes[0]))]
    other = nodes[np.argmax(hops(one))]
    return hops(one) - hops(other)


SWAPS = 3_000_000
"""Swaps for a unit of effort."""
LOOKUPS = 300_000_000
"""Distances looked up for a unit of effort at most."""
SWAPS_OF_PLACES = 750
"""Swaps for a unit of effort, at most, times the square of the number of places."""
NO_NEIGHBOURS = Neighbours(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float64))


def place_annealed(problem: PlacementProblem, weight: Weight = "messages") -> Ints32 | None:
    """Ranks annealed for few hops; as they are numbered where no placement is better."""
    if problem.is_symmetric or problem.pattern.messages == 0:
        return place_identity(problem)
    starts = place_identity(problem), place_bisection(problem, weight)
    start = min(starts, key=lambda placement: problem.cost(placement, weight))
    out, into = problem.by_source(weight), problem.by_target(weight)
    # whether the way back is always as long as the way there
    if problem.topology.kind != "graph":
        out, into = (
            problem.both_ways(weight),
            NO_NEIGHBOURS._replace(offsets=np.zeros(problem.pattern.ranks + 1, np.int64)),
        )
    lookups = 4 * (out.neighbour.size + into.neighbour.size) / problem.pattern.ranks + 8
    places = problem.topology.endpoints * problem.ranks_per_node
    steps = problem.effort * int(min(SWAPS, LOOKUPS / lookups, SWAPS_OF_PLACES * places**2))
    node: Ints32 = _core.anneal_placement(
        problem.network,
        _core.PatternGraph(*out),
        _core.PatternGraph(*into),
        np.ascontiguousarray(problem.node_of(start)),
        problem.ranks_per_node,
        steps,
        problem.seed % 2**64,
    )
    return frozen(node)


def place_annealed_bytes(problem: PlacementProblem) -> Ints32 | None:
    """As `place_annealed`, messages weighed by their bytes."""
    return place_annealed(problem, "bytes")
