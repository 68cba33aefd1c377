"""Ports of the flit model's routers.

Their numbers, on which cycles their links lie, and their lanes in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology


@dataclass(frozen=True, eq=False)
class Ports:
    """The ports of a network's routers, and on which cycles their links lie.

    Arrays over link slots.

    Box: port 2j leads up and 2j + 1 down in the j-th coordinate from the last; hypercube: port k
    crosses bit k; graph: the links of a node in order. The last port is the node itself.

    Attributes:
        count: ports of a router.
        out: shape=(link_slots), int32: port at the link's source; -1 where the slot is no link.
        into: shape=(link_slots), int32: port at its target.
        ring: shape=(link_slots), uint8: 0 on no cycle, 1 up, 2 up across the dateline, 3 down, 4
            down across it.
    """

    count: int
    out: NDArray[np.int32]
    into: NDArray[np.int32]
    ring: NDArray[np.uint8]


@lru_cache(maxsize=8)
def ports_of(topology: Topology, routing: Routing) -> Ports:
    """The routers' ports.

    Raises:
        InputError: a network without links.
    """
    if topology.kind == "crossbar":
        raise InputError("flit: a crossbar has no links: a network with routers is required")
    source, target = topology.ends
    if topology.kind == "graph":
        into = np.empty(target.size, np.int32)
        into[np.argsort(target, kind="stable")] = _rank(np.sort(target))
        out = _rank(source)
        count = int(max(out.max(initial=-1), into.max(initial=-1))) + 2
        return Ports(count, out, into, np.zeros(source.size, np.uint8))
    if topology.kind == "hypercube":
        bit = np.tile(np.arange(topology.dimensions, dtype=np.int32), topology.nodes)
        return Ports(topology.dimensions + 1, bit, bit, np.zeros(bit.size, np.uint8))
    return _box_ports(topology, topology.wraps and routing.rule != "no-wrap")


def _rank(ordered: NDArray[np.int32]) -> NDArray[np.int32]:
    """shape=(links), int32: how many equal entries stand before each one of a sorted array."""
    first = np.searchsorted(ordered, ordered, side="left")
    return (np.arange(ordered.size) - first).astype(np.int32)


def _box_ports(topology: Topology, wraps: bool) -> Ports:
    dimensions = topology.dimensions
    up, down = 2 * np.arange(dimensions)[::-1], 2 * np.arange(dimensions)[::-1] + 1
    port = np.tile(np.stack([up, down], axis=1).ravel(), topology.nodes)
    out = np.where(topology.link_exists, port, -1).astype(np.int32)
    into = np.where(topology.link_exists, port ^ 1, -1).astype(np.int32)
    ring = np.zeros((topology.nodes, dimensions, 2), np.uint8)
    for k, side in enumerate(topology.sides):
        if wraps and side > 2:
            at = topology.coordinates[:, k]
            ring[:, k, 0] = np.where(at == side - 1, 2, 1)
            ring[:, k, 1] = np.where(at == 0, 4, 3)
    return Ports(2 * dimensions + 1, out, into, ring.ravel())


def lane_waits(
    topology: Topology, ports: Ports, lanes: int, stuck_lane: NDArray[np.int32]
) -> list[str]:
    """What each message of a circle waits for, in words.

    `stuck_lane` as the core counts lanes, -1 for a delivery.
    """
    return [_lane_wait(topology, ports, lanes, int(lane)) for lane in stuck_lane]


def _lane_wait(topology: Topology, ports: Ports, lanes: int, number: int) -> str:
    if number < 0:
        return "waits for the delivery of"
    router, port = divmod(number // lanes, ports.count)
    if port == ports.count - 1:
        return f"waits for virtual channel {number % lanes} into {topology.node_name(router)} of"
    link = int(np.flatnonzero((topology.ends[0] == router) & (ports.out == port))[0])
    return f"waits for virtual channel {number % lanes} of {topology.link_name(link)} of"
