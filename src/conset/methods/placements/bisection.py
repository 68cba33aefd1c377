"""bisection: the network and the pattern cut in two together, again and again.

Problem: put ranks on nodes so that Σ bytes · distance is small. Idea: cut the network along its
longest side into two halves; divide the ranks it holds into as many as fit on each half, so that
few bytes cross; go on with both halves, larger parts before smaller ones. Ranks that lie outside a
part pull its ranks to the side that is nearer to where they are known to be (terminal propagation),
so that halves are laid the right way round. A division is found from six starts (as ranks are
numbered, sorted by the pull, grown from four ranks) by passes of pairwise moves that keep the sizes
exact, the best of them kept. Invariant: every part of the network holds exactly as many ranks, and
empty places, as fit on its nodes. Complexity: O(messages · log messages · log nodes) for each pass,
at most 8 passes from 6 starts; O(messages) memory and a table of endpoints² distances up to 4096
endpoints. When to use it: patterns with neighbourhoods (meshes, sparse matrices) whose ranks are
numbered without regard to the network. Not for complete exchanges: every placement is the same
there. Departures: networks without coordinates are cut between two nodes that lie far apart, each
other node with the nearer. Reference: Pellegrini, Static mapping by dual recursive bipartitioning,
doi:10.1109/SHPCC.1994.296682; Kernighan, Lin, doi:10.1002/j.1538-7305.1970.tb01770.x; Fiduccia,
Mattheyses, doi:10.1145/800263.809204.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import frozen
from conset.machine.network.routes import route_hops
from conset.methods.placements.site import PlacementProblem, Weight, place_identity

Ints = NDArray[np.int32]


def place_bisection(
    problem: PlacementProblem, weight: Weight = "bytes"
) -> NDArray[np.int32] | None:
    """Ranks by recursive bisection of network and pattern.

    As they are numbered where no placement is better.
    """
    if problem.is_symmetric or problem.pattern.messages == 0:
        return place_identity(problem)
    node: Ints = _core.bisect_placement(
        problem.network,
        _core.PatternGraph(*problem.both_ways(weight)),
        _core.NetworkCuts(*cut_network(problem)),
        problem.ranks_per_node,
        problem.seed % 2**64,
    )
    return frozen(node)


def cut_network(problem: PlacementProblem) -> tuple[Ints, Ints, Ints, Ints]:
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


def _cut(problem: PlacementProblem, nodes: Ints) -> tuple[Ints, int]:
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


def _nearer(problem: PlacementProblem, nodes: Ints) -> Ints:
    """Below 0 for nodes nearer to the one, above for nodes nearer to the other of two.

    The two lie far apart.
    """

    def hops(node: np.int32) -> Ints:
        return route_hops(problem.topology, problem.routing, np.full_like(nodes, node), nodes)

    one = nodes[np.argmax(hops(nodes[0]))]
    other = nodes[np.argmax(hops(one))]
    return hops(one) - hops(other)
