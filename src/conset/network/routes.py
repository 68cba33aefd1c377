"""Routes of a machine, walked by the C++ core; the verifier never comes here, it expands routes by code of its own."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import InputError
from conset.network.routing import Routing
from conset.network.topology import Topology

MAX_ENTRIES = 2**32
"""Of a table of next links: 16 GiB."""

_networks: WeakKeyDictionary[Topology, WeakKeyDictionary[Routing, _core.Network]] = WeakKeyDictionary()


def core_network(topology: Topology, routing: Routing) -> _core.Network:
    """The core's form of a topology and its routing; made once for each pair and kept while both live."""
    known = _networks.setdefault(topology, WeakKeyDictionary())
    if routing not in known:
        known[routing] = _build(topology, routing)
    return known[routing]


def core_widths(topology: Topology) -> NDArray[np.int32]:
    """shape=(link_slots), int32, or (1) where all links are alike: widths as the core takes them."""
    return np.array([topology.width], np.int32) if topology.link_width is None else topology.link_width


def _build(topology: Topology, routing: Routing) -> _core.Network:
    if topology.is_box:
        wrap = topology.wraps and routing.rule != "no-wrap"
        return _core.Network.box(np.asarray(topology.sides, np.int32), wrap, getattr(_core.Tie, routing.tie))
    if topology.kind == "hypercube":
        return _core.Network.hypercube(topology.dimensions)
    if topology.kind == "crossbar":
        return _core.Network.crossbar(topology.nodes)
    source, target = _ints(topology.link_source), _ints(topology.link_target)
    if routing.table_offsets is not None and routing.table_links is not None:
        offsets, links = routing.table_offsets, routing.table_links
        return _core.Network.route_table(topology.endpoints, topology.nodes, source, target, offsets, links)
    return _core.Network.next_links(topology.endpoints, topology.nodes, source, target, next_links(topology).ravel())


def next_links(topology: Topology) -> NDArray[np.int32]:
    """shape=(endpoints, nodes), int32: the first link from each node towards each endpoint on a shortest path.

    Among neighbours equally near the one with the lowest index is taken.

    Raises:
        InputError: an endpoint cannot be reached from another one, names both; or the table is beyond any memory.
    """
    nodes, endpoints = topology.nodes, topology.endpoints
    if nodes * endpoints > MAX_ENTRIES:
        entries = f"{endpoints} endpoints and {nodes} nodes need {nodes * endpoints} entries"
        raise InputError(f"shortest paths: {entries}, at most {MAX_ENTRIES} are made")
    flat = _core.Network.shortest_links(endpoints, nodes, _ints(topology.link_source), _ints(topology.link_target))
    result: NDArray[np.int32] = flat.reshape(endpoints, nodes)
    lost = result[:, :endpoints] < 0
    np.fill_diagonal(lost, False)
    if lost.any():
        target, source = (int(end) for end in np.argwhere(lost)[0])
        names = topology.node_name(source), topology.node_name(target)
        raise InputError(f"the network is not connected: no route from {names[0]} to {names[1]}")
    return result


def route_links(
    topology: Topology, routing: Routing, source: NDArray[np.int32], target: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(offsets, links): `links[offsets[k] : offsets[k + 1]]` lead from node `source[k]` to node `target[k]`."""
    return core_network(topology, routing).route_links(_ints(source), _ints(target))


def route_nodes(
    topology: Topology, routing: Routing, source: NDArray[np.int32], target: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(offsets, nodes): as `route_links` with the nodes of each route, ends included; one node where both are one."""
    return core_network(topology, routing).route_nodes(_ints(source), _ints(target))


def route_hops(
    topology: Topology, routing: Routing, source: NDArray[np.int32], target: NDArray[np.int32]
) -> NDArray[np.int32]:
    """shape=(routes), int32: the number of links from node `source[k]` to node `target[k]`."""
    return core_network(topology, routing).hops(_ints(source), _ints(target))


def links_of_nodes(
    topology: Topology, routing: Routing, offsets: NDArray[np.int64], nodes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(offsets, links) of routes given as nodes, ends included.

    Raises:
        InputError: two consecutive nodes of a route are not joined by a link.
    """
    if topology.kind == "crossbar":
        return np.zeros(offsets.size, np.int64), np.zeros(0, np.int32)
    inner = np.ones(nodes.size, bool)
    inner[offsets[1:] - 1] = False
    at = np.flatnonzero(inner)
    links = core_network(topology, routing).links_between(_ints(nodes[at]), _ints(nodes[at + 1]))
    if links.size and links.min() < 0:
        k = int(np.flatnonzero(links < 0)[0])
        raise InputError(f"route: nodes {nodes[at[k]]} and {nodes[at[k] + 1]} are not joined by a link")
    return offsets - np.arange(offsets.size), links


def _ints(values: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.ascontiguousarray(values, np.int32)
