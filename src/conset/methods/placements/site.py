"""Site: what a placement is asked about.

A pattern, the network it goes to, and how crowded a node may be. The placements that need nothing
else are here: identity, Gray code, random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import frozen
from conset.base.errors import InputError
from conset.machine.network.routes import core_network, route_hops
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern

Weight = Literal["messages", "bytes"]
"""What a message weighs.

1, which is what phases and channels count, or its bytes, which is what links carry.
"""


class Neighbours(NamedTuple):
    """Who talks to whom in compressed sparse rows, as the core takes it.

    `neighbour[offsets[r] : offsets[r + 1]]`.
    """

    offsets: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    weight: NDArray[np.float64]


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
    """

    pattern: Pattern
    topology: Topology
    routing: Routing
    ranks_per_node: int = 1
    seed: int = 0
    effort: int = 1

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

    def node_of(self, placement: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """shape=(ranks), int32: the node of each rank, written out."""
        return np.arange(self.pattern.ranks, dtype=np.int32) if placement is None else placement

    def cost(self, placement: NDArray[np.int32] | None, weight: Weight) -> float:
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

    def weights(self, weight: Weight) -> NDArray[np.float64]:
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
    first: NDArray[np.int64] | NDArray[np.int32],
    second: NDArray[np.int64] | NDArray[np.int32],
    weight: NDArray[np.float64],
) -> Neighbours:
    offsets = np.searchsorted(first, np.arange(ranks + 1)).astype(np.int64)
    return Neighbours(
        offsets, np.ascontiguousarray(second, np.int32), np.ascontiguousarray(weight, np.float64)
    )


def place_identity(problem: PlacementProblem) -> NDArray[np.int32] | None:
    """Rank r on node r // ranks_per_node."""
    if problem.ranks_per_node == 1:
        return None
    return frozen((np.arange(problem.pattern.ranks) // problem.ranks_per_node).astype(np.int32))


def place_gray(problem: PlacementProblem) -> NDArray[np.int32]:
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


def place_random(problem: PlacementProblem) -> NDArray[np.int32]:
    """Ranks on places drawn without repetition; the same seed gives the same nodes."""
    places = np.repeat(
        np.arange(problem.topology.endpoints, dtype=np.int32), problem.ranks_per_node
    )
    return frozen(
        np.random.default_rng(problem.seed % 2**64).permutation(places)[: problem.pattern.ranks]
    )
