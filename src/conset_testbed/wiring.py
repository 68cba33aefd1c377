"""Wiring: what a bed builds of a network.

Nodes, links with their rates, the next link towards every endpoint.

Any `Topology` will do whose routes depend on nothing but the target: a kernel routes by
destination. Pure functions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conset.base import InputError
from conset.machine import Routing, Topology, route_links

MAX_ENDPOINTS = 1024
MAX_NODES = 2048
"""Of a bed: each is a network namespace."""


@dataclass(frozen=True)
class Link:
    """One direction of a wire.

    Attributes:
        source: the node that it leaves.
        target: the node that it reaches.
        rate_bps: what it carries [bit/s].
    """

    source: int
    target: int
    rate_bps: float


@dataclass(frozen=True)
class Wiring:
    """A network as a bed builds it.

    Attributes:
        endpoints: nodes that hold ranks, numbered first.
        nodes: all nodes.
        links: one for each direction of a wire; every link has one back.
        next_link: by node, then endpoint: the link that leads there; -1 where no route comes by.
    """

    endpoints: int
    nodes: int
    links: tuple[Link, ...]
    next_link: tuple[tuple[int, ...], ...]

    @property
    def wires(self) -> list[tuple[int, int]]:
        """The links that go up, by number, each with the one back."""
        return sorted(
            (k, j) for k, j in self.back.items() if self.links[k].source < self.links[j].source
        )

    @property
    def back(self) -> dict[int, int]:
        """By link: the one back; of parallel links the first has the first, and so on."""
        there, back = (
            sorted(range(len(self.links)), key=ends)
            for ends in (
                lambda k: (self.links[k].source, self.links[k].target),
                lambda k: (self.links[k].target, self.links[k].source),
            )
        )
        return dict(zip(there, back, strict=True))

    def route(self, source: int, target: int) -> list[int]:
        """The links from an endpoint to another."""
        found, at = [], source
        while at != target:
            found.append(self.next_link[at][target])
            at = self.links[found[-1]].target
        return found

    def cycle(self) -> list[int]:
        """Links whose buffers wait for each other in a circle.

        None where back-pressure cannot deadlock.

        A packet holds the buffer at the end of one link while it waits for that of the next of its
        route.
        """
        after: list[set[int]] = [set() for _ in self.links]
        for source in range(self.endpoints):
            for target in range(self.endpoints):
                for one, other in pairwise(self.route(source, target)):
                    after[one].add(other)
        waiting = [0] * len(self.links)
        for others in after:
            for other in others:
                waiting[other] += 1
        free = [k for k, count in enumerate(waiting) if not count]
        for k in free:  # grows while it is walked
            for other in after[k]:
                waiting[other] -= 1
                if not waiting[other]:
                    free.append(other)
        left = set(range(len(self.links))) - set(free)
        if not left:
            return []
        # what is left has a predecessor that is left: walking back ends in a circle
        before = {other: k for k in left for other in after[k] & left}
        path = [next(iter(sorted(left)))]
        while (back := before[path[-1]]) not in path:
            path.append(back)
        return [*path[path.index(back) :]][::-1]


def wire(
    topology: Topology, routing: Routing, rate_bps: float, port_bps: float | None = None
) -> Wiring:
    """The wiring of a network.

    Args:
        topology: the network. Ports alone (a crossbar) become one switch that joins all endpoints.
        routing: its rule.
        rate_bps: of a link of width 1 [bit/s]; where links have rates of their own, of the slowest.
        port_bps: puts a router between every endpoint and the network, joined by a link of this
            rate; None: none.

    Raises:
        InputError: too many nodes; a link without one back; routes that depend on more than the
            target.
    """
    if not 2 <= topology.endpoints <= MAX_ENDPOINTS:
        raise InputError(f"{topology.endpoints} endpoints: a testbed has from 2 to {MAX_ENDPOINTS}")
    if topology.nodes > MAX_NODES:
        raise InputError(f"{topology.nodes} nodes: a testbed has at most {MAX_NODES}")
    if topology.kind == "crossbar":
        return _star(topology.endpoints, port_bps or rate_bps)
    wiring = _wire_links(topology, routing, rate_bps)
    return wiring if port_bps is None else _with_ports(wiring, port_bps)


def _wire_links(topology: Topology, routing: Routing, rate_bps: float) -> Wiring:
    source, target = topology.ends
    exists = np.flatnonzero(topology.link_exists)
    rates = topology.widths() * rate_bps
    if topology.link_rate_Bps is not None:
        rates = rates * (topology.link_rate_Bps / topology.link_rate_Bps.min())
    number = np.cumsum(topology.link_exists) - 1
    links = tuple(Link(int(source[k]), int(target[k]), float(rates[k])) for k in exists)
    ends = Counter((link.source, link.target) for link in links)
    for a, b in ends - Counter((b, a) for a, b in ends.elements()):
        names = topology.node_name(a), topology.node_name(b)
        raise InputError(
            f"{names[0]} → {names[1]}: a testbed needs a link back, wires have two directions"
        )
    next_slot = next_links_by_target(topology, routing)
    chosen = np.where(next_slot < 0, -1, number[next_slot])
    return Wiring(
        topology.endpoints, topology.nodes, links, tuple(tuple(row) for row in chosen.tolist())
    )


def next_links_by_target(topology: Topology, routing: Routing) -> NDArray[np.int32]:
    """shape=(nodes, endpoints), int32: the link (slot) from each node towards each endpoint.

    -1: no route comes by.

    Raises:
        InputError: two routes to one endpoint leave a node by different links.
    """
    n = topology.endpoints
    source, target = (part.astype(np.int32).ravel() for part in np.divmod(np.arange(n * n), n))
    offsets, links = route_links(topology, routing, source, target)
    towards = np.repeat(target, np.diff(offsets))
    at = topology.ends[0][links]
    table = np.full((topology.nodes, n), -1, np.int32)
    table[at, towards] = links
    wrong = np.flatnonzero(table[at, towards] != links)
    if wrong.size:
        k = int(wrong[0])
        where = f"at {topology.node_name(int(at[k]))} towards {topology.node_name(int(towards[k]))}"
        raise InputError(
            f"routing '{routing.rule}' {where}: the way depends on the source, a testbed's "
            "on the target"
        )
    return table


def _star(endpoints: int, rate_bps: float) -> Wiring:
    """One switch that joins all endpoints."""
    up = [Link(k, endpoints, rate_bps) for k in range(endpoints)]
    down = [Link(endpoints, k, rate_bps) for k in range(endpoints)]
    rows = [
        tuple(-1 if target == k else k for target in range(endpoints)) for k in range(endpoints)
    ]
    rows.append(tuple(endpoints + target for target in range(endpoints)))
    return Wiring(endpoints, endpoints + 1, tuple(up + down), tuple(rows))


def _with_ports(wiring: Wiring, rate_bps: float) -> Wiring:
    """Every endpoint behind a link of its own.

    What was endpoint k is now router `nodes + k` of no ranks.

    Switches keep their numbers.
    """
    n, nodes = wiring.endpoints, wiring.nodes
    links = [
        Link(
            a.source + nodes if a.source < n else a.source,
            a.target + nodes if a.target < n else a.target,
            a.rate_bps,
        )
        for a in wiring.links
    ]
    first = len(links)
    links += [Link(k, nodes + k, rate_bps) for k in range(n)]
    links += [Link(nodes + k, k, rate_bps) for k in range(n)]
    hosts = [tuple(-1 if target == k else first + k for target in range(n)) for k in range(n)]
    switches = list(wiring.next_link[n:])
    routers = [
        tuple(
            first + n + k if target == k else link
            for target, link in enumerate(wiring.next_link[k])
        )
        for k in range(n)
    ]
    return Wiring(n, nodes + n, tuple(links), tuple(hosts + switches + routers))
