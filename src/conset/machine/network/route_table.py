"""Route tables: explicit paths for some pairs of a graph, the shortest path for the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.network.graph import rows_of
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology


def next_hops(topology: Topology, target: int) -> NDArray[np.int32]:
    """shape=(nodes), int32: where each node sends what is for `target`.

    -1 at `target` and where it is out of reach.

    Fewest links; among equals the neighbour with the lowest index, node by node.
    """
    offsets, tails = rows_of(topology.link_target, topology.link_source, topology.nodes)
    hop = np.full(topology.nodes, -1, np.int32)
    level = np.full(topology.nodes, -1, np.int32)
    level[target] = 0
    frontier = [target]
    while frontier:
        following: list[int] = []
        for head in sorted(frontier):  # the lowest head claims a tail first
            for tail in tails[offsets[head] : offsets[head + 1]].tolist():
                if level[tail] < 0:
                    level[tail] = level[head] + 1
                    hop[tail] = head
                    following.append(tail)
        frontier = following
    return hop


def route_table(
    topology: Topology, routes: Sequence[Sequence[int]], where: str = "routes"
) -> Routing:
    """A routing of stored paths: `routes[k]` is the path from its first to its last node.

    Pairs not listed take the shortest path.

    Raises:
        InputError: a path that is too short, leaves the endpoints at its ends, visits a node twice,
            uses a link that does not exist, or joins a pair a second time.
    """
    links = {
        pair: k
        for k, pair in enumerate(
            zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True)
        )
    }
    given: dict[tuple[int, int], list[int]] = {}
    for k, path in enumerate(routes):
        given_links = _links_of(topology, links, path, f"{where}[{k}]")
        if (path[0], path[-1]) in given:
            raise InputError(f"{where}[{k}]: a second route from {path[0]} to {path[-1]}")
        given[path[0], path[-1]] = given_links
    count = topology.endpoints
    flat: list[list[int]] = [[]] * (count * count)
    for target in range(count):
        hop = next_hops(topology, target).tolist()
        for source in range(count):
            if source != target:
                flat[source * count + target] = given.get((source, target)) or _walk(
                    links, hop, source, target
                )
    offsets = np.concatenate([[0], np.cumsum([len(path) for path in flat])]).astype(np.int64)
    return Routing(
        "table", "parity", offsets, np.array([link for path in flat for link in path], np.int32)
    )


def _walk(links: dict[tuple[int, int], int], hop: list[int], source: int, target: int) -> list[int]:
    path = []
    while source != target:
        path.append(links[source, hop[source]])
        source = hop[source]
    return path


def _links_of(
    topology: Topology, links: dict[tuple[int, int], int], path: Sequence[int], where: str
) -> list[int]:
    """The link ids of a path of nodes, checked."""
    if len(path) < 2 or path[0] == path[-1]:
        raise InputError(f"{where} = {list(path)}: must join two different nodes")
    for end in (path[0], path[-1]):
        if not 0 <= end < topology.endpoints:
            raise InputError(
                f"{where}: ends at node {end}, must be an endpoint from 0 to "
                f"{topology.endpoints - 1}"
            )
    if len(set(path)) < len(path):
        raise InputError(f"{where} = {list(path)}: visits a node twice")
    for source, target in pairwise(path):
        if (source, target) not in links:
            raise InputError(f"{where}: no link from {source} to {target}")
    return [links[pair] for pair in pairwise(path)]
