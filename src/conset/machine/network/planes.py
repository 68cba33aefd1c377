"""Planes: several copies of a regular network side by side.

Every endpoint is joined to its router in each of them.

    mesh:8x8,planes=2       64 endpoints, two meshes of 64 routers

Bokhari and Nicol (Balancing contention and synchronization on the Intel Paragon, Section 8) speak
of such a machine: the sets of messages that one mesh bears "can be alternately assigned to the two
meshes".

Numbering: endpoints 0 … N - 1 as in the network itself, then the routers of plane 0, then those of
plane 1 …, each in the order of the nodes they stand for. Level 0 are endpoints, level 1 routers; a
router's group is its plane.

A message keeps to one plane: to its router there, as the network's own rule leads, and to the
endpoint. Which plane:

- the rule `planes`: (source + target) mod planes, by endpoints. So goes what nobody schedules;
- a plane for each transfer, as a compiler chose it: stored routes
  (`conset.methods.phases.over_planes`).

The links between endpoints and routers have the rate of all others and width `ACCESS`, as messages
of a node to all others may pass them at once: ports limit an endpoint, not these links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.network.routing import Routing, Tie
from conset.machine.network.topology import Kind, Topology

Ints = NDArray[np.int64]

ACCESS = 64
"""Width of a link between an endpoint and its router, at most.

Never above what other endpoints there are.
"""
KINDS: tuple[Kind, ...] = ("mesh", "torus", "ring", "hypercube")
MAX_PLANES = 64


@dataclass(frozen=True, eq=False)
class Planes:
    """What a topology of planes is made of.

    Attributes:
        base: the network that stands there `count` times.
        count: planes, at least 2.
    """

    base: Topology
    count: int

    def rule(self, source: NDArray[np.int32], target: NDArray[np.int32]) -> Ints:
        """The plane of messages that nobody scheduled, by their endpoints."""
        return (source.astype(np.int64) + target) % self.count

    def plane_of(self, node: NDArray[np.int32]) -> Ints:
        """The plane of each router; -1 for endpoints."""
        return np.asarray(node, np.int64) // self.base.nodes - 1


def base_routing(base: Topology, tie: Tie) -> Routing:
    """The rule inside a plane."""
    return replace(Routing.default(base), tie=tie)


def build_planes(base: Topology, count: int) -> Topology:
    """`count` planes of a regular network.

    Raises:
        InputError: a network that is no mesh, torus, ring or hypercube, or a count out of range.
    """
    if base.kind not in KINDS:
        raise InputError(f"planes={count}: a {base.kind} has none, {', '.join(KINDS)} have")
    if not 2 <= count <= MAX_PLANES:
        raise InputError(f"planes={count}: must be from 2 to {MAX_PLANES}")
    if base.nodes * (count + 1) > 2**24:
        raise InputError(f"planes={count}: {base.nodes * (count + 1)} nodes, at most {2**24}")
    return _build(base, count)


@lru_cache(maxsize=8)
def _build(base: Topology, count: int) -> Topology:
    assert base.family is not None  # it is regular
    nodes = base.nodes
    plane = np.arange(1, count + 1)[:, None]
    routers = (np.arange(nodes) + plane * nodes).ravel()
    inside = [(end[base.link_exists] + plane * nodes).ravel() for end in base.ends]
    below = np.tile(np.arange(nodes), count)
    access = min(ACCESS, max(1, nodes - 1)) * base.width
    names = [
        f"({', '.join(map(str, at))})" if base.is_box and len(at) > 1 else str(node)
        for node, at in enumerate(base.coordinates.tolist())
    ]
    return Topology.of_links(
        nodes,
        nodes * (count + 1),
        np.concatenate([below, routers, inside[0]]),
        np.concatenate([routers, below, inside[1]]),
        np.repeat([access, base.width], [2 * routers.size, inside[0].size]),
        labels=(*names, *(f"{name} in plane {p}" for p in range(count) for name in names)),
        family=replace(base.family, parameters=(*base.family.parameters, ("planes", count))),
        level=np.repeat([0, 1], [nodes, nodes * count]),
        group=np.repeat(np.arange(-1, count), nodes),
    )


def planes_of(topology: Topology) -> Planes | None:
    """The network and the number of its planes, where a topology is made of them; else None."""
    return None if topology.planes == 1 else _found(topology)


@lru_cache(maxsize=8)
def _found(topology: Topology) -> Planes | None:
    """None where links, widths or rates are no longer those of planes."""
    member, count = topology.family, topology.planes
    assert member is not None  # it has planes
    values: Any = member.values
    size = values.get("sides") or (2,) * values.get("dimensions", 0) or (values.get("nodes", 1),)
    nodes = prod(size)
    if member.name not in KINDS or topology.nodes != nodes * (count + 1):
        return None
    base = Topology(member.name, size, nodes, nodes, width=values.get("width", 1))
    return Planes(base, count) if build_planes(base, count) == topology else None


def require_planes(topology: Topology) -> Planes:
    """`planes_of`, which must be some.

    Raises:
        InputError: they are not.
    """
    planes = planes_of(topology)
    if planes is None:
        raise InputError("routing 'planes': needs a network of planes, as mesh:8x8,planes=2 is")
    return planes
