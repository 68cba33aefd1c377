"""Placements that never look at the pattern: identity, Gray code, random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import frozen
from conset.base.errors import InputError
from conset.methods.placements.site import PlacementProblem


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
