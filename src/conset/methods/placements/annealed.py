"""annealed: ranks change places at random, ever more choosily, until few hops are left.

Problem: put ranks on nodes so that Σ over messages of (hops + 1), the channels that all routes
take, is small; for `annealed-bytes` the same with bytes times hops, what all links carry. Idea:
from the better of the ranks as numbered and of recursive bisection, swap two places drawn at random
(a place may be empty); take every swap that shortens the sum, and a longer one where it adds less
than temperature times a random number from 0 to 1. The temperature starts at what a swap typically
changes and falls to 10 % of it in 128 levels, the last of which takes nothing that costs. The
cheapest state at the end of a level, or the start, is the result. Invariant: no node holds more
ranks than it may; the result costs no more than the start. Complexity: O(degree) per swap; 3
million swaps per unit of effort, fewer where ranks have more than a few dozen partners (a constant
number of look-ups) or there are fewer than 64 places (a constant number of swaps of each pair);
O(messages) memory and a table of endpoints² distances up to 4096 endpoints. When to use it:
whenever a second at compile time is worth 25 to 40 % of the channels of a halo exchange.
Departures: a linear threshold instead of an exponential makes the same decisions on every platform.
Measured: see `tests/unit/test_placement_fem.py`; the hexahedral mesh of 20,000 elements in 64 parts
on an 8×8 torus needs 3 phases of 12 channels where it needs 4 as numbered. Reference: Kirkpatrick,
Gelatt, Vecchi, doi:10.1126/science.220.4598.671; the sum of hops as in Bokhari, On the mapping
problem, doi:10.1109/TC.1981.1675756.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import frozen
from conset.methods.placements.bisection import place_bisection
from conset.methods.placements.site import Neighbours, PlacementProblem, Weight, place_identity

SWAPS = 3_000_000
"""Swaps for a unit of effort."""
LOOKUPS = 300_000_000
"""Distances looked up for a unit of effort at most."""
SWAPS_OF_PLACES = 750
"""Swaps for a unit of effort, at most, times the square of the number of places."""
NO_NEIGHBOURS = Neighbours(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float64))


def place_annealed(
    problem: PlacementProblem, weight: Weight = "messages"
) -> NDArray[np.int32] | None:
    """Ranks annealed for few hops; as they are numbered where no placement is better."""
    if problem.is_symmetric or problem.pattern.messages == 0:
        return place_identity(problem)
    starts = place_identity(problem), place_bisection(problem, weight)
    start = min(starts, key=lambda placement: problem.cost(placement, weight))
    out, into = problem.by_source(weight), problem.by_target(weight)
    if _same_both_ways(problem):
        out, into = (
            problem.both_ways(weight),
            NO_NEIGHBOURS._replace(offsets=np.zeros(problem.pattern.ranks + 1, np.int64)),
        )
    lookups = 4 * (out.neighbour.size + into.neighbour.size) / problem.pattern.ranks + 8
    places = problem.topology.endpoints * problem.ranks_per_node
    steps = problem.effort * int(min(SWAPS, LOOKUPS / lookups, SWAPS_OF_PLACES * places**2))
    node: NDArray[np.int32] = _core.anneal_placement(
        problem.network,
        _core.PatternGraph(*out),
        _core.PatternGraph(*into),
        np.ascontiguousarray(problem.node_of(start)),
        problem.ranks_per_node,
        steps,
        problem.seed % 2**64,
    )
    return frozen(node)


def place_annealed_bytes(problem: PlacementProblem) -> NDArray[np.int32] | None:
    """As `place_annealed`, messages weighed by their bytes."""
    return place_annealed(problem, "bytes")


def _same_both_ways(problem: PlacementProblem) -> bool:
    """Whether the way back is always as long as the way there.

    Then both directions of a pair are one entry.
    """
    return problem.topology.kind != "graph"
