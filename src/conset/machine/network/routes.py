"""Routes of a machine, walked by the C++ core.

The verifier never comes here, it expands routes by code of its own.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from conset import _core
from conset.base import InputError, Integers, Ints, Ints32, check_range
from conset.machine.network.routing import (
    EQUAL_COST,
    Routing,
    Rule,
    link_costs,
    only_links,
    up_strides,
)
from conset.machine.network.topology import Topology

MAX_ENTRIES = 2**32
"""Of a table of next links: 16 GiB."""
MAX_HOPS = 2**28
"""Of all routes of a machine with planes, which are made for the core: 1 GiB."""

_CHOICES: dict[Rule, _core.Choice] = {
    "smodk": _core.Choice.source_digit,
    "ecmp": _core.Choice.hash,
    "valiant": _core.Choice.valiant,
    "adaptive": _core.Choice.even,
}
_BLOCK = 64
_FAR = 2**29

_networks: WeakKeyDictionary[Topology, WeakKeyDictionary[Routing, _core.Network]] = (
    WeakKeyDictionary()
)


def core_network(topology: Topology, routing: Routing) -> _core.Network:
    """The core's form of a topology and its routing.

    Made once for each pair and kept while both live.
    """
    known = topology.__dict__.get("_networks")  # all its fields would be hashed each time
    if known is None:
        known = _networks.setdefault(topology, WeakKeyDictionary())
        object.__setattr__(topology, "_networks", known)
    network = known.get(routing)  # held at once: the key may be another thread's, and die with it
    if network is None:
        network = known[routing] = _build(topology, routing)
    return network


def core_widths(topology: Topology) -> Ints32:
    """shape=(link_slots), int32, or (1) where all links are alike.

    Widths as the core takes them.
    """
    return (
        np.array([topology.width], np.int32) if topology.link_width is None else topology.link_width
    )


def _build(topology: Topology, routing: Routing) -> _core.Network:
    if topology.is_box:
        wrap = topology.wraps and routing.rule != "no-wrap"
        return _core.Network.box(
            np.asarray(topology.sides, np.int32), wrap, getattr(_core.Tie, routing.tie)
        )
    if topology.kind == "hypercube":
        return _core.Network.hypercube(topology.dimensions)
    if topology.kind == "crossbar":
        return _core.Network.crossbar(topology.nodes)
    source, target = _ints(topology.link_source), _ints(topology.link_target)
    if (stored := stored_routes(topology, routing)) is not None:
        offsets, links = stored
        return _core.Network.route_table(
            topology.endpoints, topology.nodes, source, target, offsets, links
        )
    if routing.rule in EQUAL_COST:
        return _equal_cost(topology, routing)
    return _core.Network.next_links(
        topology.endpoints, topology.nodes, source, target, next_links(topology, routing).ravel()
    )


def stored_routes(topology: Topology, routing: Routing) -> tuple[Ints, Ints32] | None:
    """(offsets, links) of a graph's routes that no next link gives.

    A table's, or those over planes; else None.
    """
    if routing.rule == "planes":
        return _plane_table(topology, routing)
    if routing.table_offsets is not None and routing.table_links is not None:
        return routing.table_offsets, routing.table_links
    return None


def _equal_cost(topology: Topology, routing: Routing) -> _core.Network:
    """Nodes that choose among next links of equal cost.

    Raises:
        InputError: an endpoint cannot be reached, names both; or distances are beyond any memory.
    """
    nodes, endpoints = topology.nodes, topology.endpoints
    rows = nodes if routing.rule == "valiant" else endpoints
    if nodes * rows > MAX_ENTRIES:
        raise InputError(
            f"{routing.rule}: distances of {rows} × {nodes} nodes, at most {MAX_ENTRIES} "
            "entries are made"
        )
    network = _core.Network.equal_cost(
        endpoints,
        nodes,
        _ints(topology.link_source),
        _ints(topology.link_target),
        _CHOICES[routing.rule],
        routing.seed,
        core_widths(topology),
        _ints(up_strides(topology)) if routing.rule == "smodk" else np.zeros(0, np.int32),
        link_costs(topology),
    )
    source, target = network.lost
    if source >= 0:
        names = topology.node_name(source), topology.node_name(target)
        raise InputError(f"the network is not connected: no route from {names[0]} to {names[1]}")
    return network


def plane_by_rule(topology: Topology, source: Ints32, target: Ints32) -> Ints:
    """The plane of messages by the rule `planes`, by their endpoints."""
    return (source.astype(np.int64) + target) % topology.planes


def plane_routes(
    topology: Topology, routing: Routing, source: Ints32, target: Ints32, plane: Integers
) -> tuple[Ints, Ints32]:
    """(offsets, links) of routes in given planes of a topology."""
    inside = routing.in_one_plane(topology)
    offsets, links = route_links(topology.base, inside, source, target)
    return offsets, links_in_plane(topology, links, np.repeat(plane, np.diff(offsets)))


def links_in_plane(topology: Topology, links: Ints32, plane: Integers) -> Ints32:
    """The links of `topology` that are `links` of its base in a plane each."""
    source, target = topology.base.ends
    number = np.empty(source.size, np.int64)
    order = np.lexsort((target, source))
    number[order] = np.cumsum(topology.base.link_exists[order]) - 1
    return (number[links] * topology.planes + plane).astype(np.int32)


def _plane_table(topology: Topology, routing: Routing) -> tuple[Ints, Ints32]:
    """(offsets, links) of all pairs of endpoints under the rule `planes`.

    Raises:
        InputError: routes beyond memory.
    """
    nodes = np.arange(topology.endpoints, dtype=np.int32)
    source, target = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    hops = route_hops(topology.base, routing.in_one_plane(topology), source, target)
    if (total := int(hops.sum(dtype=np.int64))) > MAX_HOPS:
        raise InputError(
            f"planes: the routes of all pairs take {total} links, at most {MAX_HOPS} are made"
        )
    plane = plane_by_rule(topology, source, target)
    return plane_routes(topology, routing, source, target, plane)


def next_links(topology: Topology, routing: Routing | None = None) -> Ints32:
    """shape=(endpoints, nodes), int32.

    The first link from each node towards each endpoint, on a shortest path.

    Among neighbours equally near the one with the lowest index is taken, of the links to it number
    (endpoint mod their count), or as `routing` says.

    Raises:
        InputError: an endpoint cannot be reached from another one, names both; or the table is
            beyond any memory.
    """
    nodes, endpoints = topology.nodes, topology.endpoints
    if routing is not None and routing.next_link is not None:
        stored = np.empty((endpoints, nodes), np.int32)
        stored[:, :endpoints] = only_links(topology)
        np.fill_diagonal(stored[:, :endpoints], -1)
        stored[:, endpoints:] = routing.next_link.reshape(nodes - endpoints, endpoints).T
        return stored
    if nodes * endpoints > MAX_ENTRIES:
        raise InputError(
            f"shortest paths: {endpoints} endpoints and {nodes} nodes need "
            f"{nodes * endpoints} entries, at most {MAX_ENTRIES} are made"
        )
    if routing is None or routing.rule == "shortest-path":
        result: Ints32 = _core.Network.shortest_links(
            endpoints, nodes, _ints(topology.link_source), _ints(topology.link_target)
        ).reshape(endpoints, nodes)
        if topology.parallel:
            alike = np.diff([topology.link_source, topology.link_target], prepend=-1).any(axis=0)
            runs = np.diff(np.append(np.flatnonzero(alike), alike.size))
            number = np.arange(endpoints)[:, None] % np.repeat(runs, runs)[result]
            result = np.where(result < 0, result, result + number).astype(np.int32)
    else:
        result = _numbered_links(topology, routing)
    lost = result[:, :endpoints] < 0
    np.fill_diagonal(lost, False)
    if lost.any():
        target, source = (int(end) for end in np.argwhere(lost)[0])
        names = topology.node_name(source), topology.node_name(target)
        raise InputError(f"the network is not connected: no route from {names[0]} to {names[1]}")
    return result


def _numbered_links(topology: Topology, routing: Routing) -> Ints32:
    """The table of `minimal` and `dmodk`.

    Endpoints that are entered from one node only have its distances and next links, but for their
    number, so that these are found once for all hosts of a leaf switch.
    """
    source, target = topology.link_source, topology.link_target
    stride, level, cost = next_choice(topology, routing)
    per_link = cost.astype(np.int32) if cost.size else np.ones(source.size, np.int32)
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    tails, runs = source[starts], np.diff(np.append(starts, source.size))
    result = np.full((topology.endpoints, topology.nodes), -1, np.int32)
    entering = np.bincount(target, minlength=topology.nodes)
    last = np.full(topology.nodes, -1, np.int64)
    last[target] = np.arange(source.size)
    root = np.arange(topology.endpoints)
    alone = entering[: topology.endpoints] == 1
    root[alone] = source[last[: topology.endpoints][alone]]
    roots, row = np.unique(root, return_inverse=True)
    for low in range(0, roots.size, _BLOCK):
        some = roots[low : low + _BLOCK]
        far = np.full((some.size, topology.nodes), _FAR, np.int32)
        far[np.arange(some.size), some] = 0
        while True:
            near = np.minimum.reduceat(far[:, target] + per_link, starts, axis=1)
            if (near >= far[:, tails]).all():
                break
            far[:, tails] = np.minimum(far[:, tails], near)
        for k in range(some.size):
            fits = (far[k][target] + per_link == far[k][source]) & (far[k][source] < _FAR)
            if level.size:
                height = np.where(fits, level[target], _FAR)
                fits &= height == np.minimum.reduceat(height, starts).repeat(runs)
            links = np.flatnonzero(fits)
            node, begin, count = np.unique(source[links], return_index=True, return_counts=True)
            for t in np.flatnonzero(row == low + k).tolist():
                result[t, node] = links[begin + t // stride[node] % count]
                if alone[t]:
                    result[t, some[k]] = last[t]
                    result[t, t] = -1
    return result


def next_choice(topology: Topology, routing: Routing) -> tuple[Ints32, Ints32, Ints32]:
    """(stride, level) by node, (cost) by link, levels and costs or empty.

    Which next link is taken towards a target.

    It begins a way of least cost, or of fewest links where there are none. Of those equal, with
    levels those to the lowest level, number (target div stride) mod their count is taken.

    Raises:
        InputError: `dmodk` on nodes without levels.
    """
    none = np.zeros(0, np.int32)
    if routing.rule == "dmodk":
        stride = up_strides(topology)  # refuses nodes without levels
        return stride, none if topology.level is None else _ints(topology.level), none
    return np.ones(topology.nodes, np.int32), none, link_costs(topology)


def route_links(
    topology: Topology, routing: Routing, source: Ints32, target: Ints32
) -> tuple[Ints, Ints32]:
    """`links[offsets[k] : offsets[k + 1]]` lead from node `source[k]` to node `target[k]`.

    (offsets, links).
    """
    return core_network(topology, routing).route_links(_ints(source), _ints(target))


def route_nodes(
    topology: Topology, routing: Routing, source: Ints32, target: Ints32
) -> tuple[Ints, Ints32]:
    """(offsets, nodes): as `route_links` with the nodes of each route, ends included.

    One node where both are one.
    """
    return core_network(topology, routing).route_nodes(_ints(source), _ints(target))


def route_hops(topology: Topology, routing: Routing, source: Ints32, target: Ints32) -> Ints32:
    """shape=(routes), int32: the number of links from node `source[k]` to node `target[k]`."""
    return core_network(topology, routing).hops(_ints(source), _ints(target))


def links_of_nodes(
    topology: Topology,
    routing: Routing,
    offsets: Ints,
    nodes: Ints32,
    entered: Ints32 | None = None,
) -> tuple[Ints, Ints32]:
    """(offsets, links) of routes given as nodes, ends included.

    Args:
        topology: the network.
        routing: the machine's rule.
        offsets: shape=(routes + 1), where the stops of each begin.
        nodes: the node of each stop.
        entered: shape as `nodes`: the link by which each stop is entered, -1 at the first; None:
            the link between the nodes.

    Raises:
        InputError: two consecutive nodes of a route are joined by no link, or by several.
    """
    if topology.kind == "crossbar":
        return np.zeros(offsets.size, np.int64), np.zeros(0, np.int32)
    inner = np.ones(nodes.size, bool)
    inner[offsets[1:] - 1] = False
    at = np.flatnonzero(inner)
    if entered is not None:
        return offsets - np.arange(offsets.size), entered[at + 1]
    links = core_network(topology, routing).links_between(_ints(nodes[at]), _ints(nodes[at + 1]))
    if links.size and links.min() < 0:
        k = int(np.flatnonzero(links < 0)[0])
        raise InputError(
            f"route: nodes {nodes[at[k]]} and {nodes[at[k] + 1]} are not joined by a link"
        )
    if topology.parallel:
        source, target = (np.append(end, -1) for end in topology.ends)
        several = (source[links] == source[links + 1]) & (target[links] == target[links + 1])
        if several.any():
            k = int(np.flatnonzero(several)[0])
            raise InputError(
                f"route: parallel links lead from node {nodes[at[k]]} to node {nodes[at[k] + 1]}: "
                "routes must be lists of links"
            )
    return offsets - np.arange(offsets.size), links


def stops_of_links(
    topology: Topology, offsets: Ints, links: Ints32, source: Ints32
) -> tuple[Ints, Ints32, Ints32]:
    """(offsets, nodes, entered) of routes given as links from the nodes `source`.

    As `links_of_nodes` takes them. That each link begins where the one before ends is not looked
    at.

    Raises:
        InputError: a link that the network does not have.
    """
    check_range("route_links", links, topology.link_slots)
    nodes = np.insert(topology.ends[1][links], offsets[:-1], source)
    return offsets + np.arange(offsets.size), nodes, np.insert(links, offsets[:-1], -1)


def route_stops(
    topology: Topology, routing: Routing, source: Ints32, target: Ints32
) -> tuple[Ints, Ints32, Ints32 | None]:
    """(offsets, nodes, entered): as `route_nodes` with the links; None on a crossbar."""
    offsets, nodes = route_nodes(topology, routing, source, target)
    if topology.kind == "crossbar":
        return offsets, nodes, None
    return stops_of_links(topology, *route_links(topology, routing, source, target), source)


def _ints(values: Ints32) -> Ints32:
    return np.ascontiguousarray(values, np.int32)
