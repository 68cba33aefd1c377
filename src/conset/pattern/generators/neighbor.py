"""Neighbor: every rank sends to the nearest others in the network."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conset.network.topology import Topology
from conset.pattern.generators.grid import describe_network, partners_of_nodes, ranks_per_node
from conset.pattern.generators.partners import Partners, Setting, partners_of_pairs, require


def generate_neighbor(setting: Setting) -> Partners:
    """To the ends of the own node's links; number k of a node sends to number k of each neighbour.

    In a graph these are the endpoints at the least number of hops: those linked directly, else those behind the same
    switch, and so on. Where every node is as near as any other (a crossbar, or no network) ranks stand in a ring.

    Raises:
        InputError: the ranks do not fill the network evenly.
    """
    topology = setting.topology
    if topology is None or topology.kind == "crossbar":
        return _ring(setting.ranks)
    per_node = ranks_per_node(setting)
    require(per_node > 0, "neighbor", f"a multiple of {topology.endpoints} ranks", describe_network(setting))
    if topology.kind == "graph":
        source, target = _nearest_endpoints(topology)
    else:
        source, target = (end[topology.link_exists].astype(np.int64) for end in topology.ends)
    return partners_of_nodes(topology.endpoints, per_node, source, target)


def _ring(ranks: int) -> Partners:
    rank = np.arange(ranks, dtype=np.int64)
    return partners_of_pairs(ranks, np.tile(rank, 2), np.concatenate([(rank + 1) % ranks, (rank - 1) % ranks]))


def _nearest_endpoints(topology: Topology) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of endpoints: breadth first from each one until a level holds other endpoints."""
    start = np.searchsorted(topology.link_source, np.arange(topology.nodes + 1))
    after = [topology.link_target[a:b].tolist() for a, b in pairwise(start)]
    pairs: list[tuple[int, int]] = []
    for endpoint in range(topology.endpoints):
        seen, level, near = {endpoint}, [endpoint], list[int]()
        while level and not near:
            level = sorted({node for at in level for node in after[at]} - seen)
            seen.update(level)
            near = [node for node in level if node < topology.endpoints]
        pairs.extend((endpoint, node) for node in near)
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
