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
from weakref import WeakKeyDictionary

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


def planes_spec(base: Topology, count: int) -> str:
    """The words that build it: `mesh:8x8,planes=2`."""
    sizes = (base.dimensions,) if base.kind == "hypercube" else base.sides
    width = f",width={base.width}" if base.width > 1 else ""
    return f"{base.kind}:{'x'.join(map(str, sizes))}{width},planes={count}"


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
    return _build(base.kind, base.sides, base.width, count)


@lru_cache(maxsize=8)
def _build(kind: Kind, sides: tuple[int, ...], width: int, count: int) -> Topology:
    base = Topology(kind, sides, prod(sides), prod(sides), width=width)
    nodes = base.nodes
    node, plane = np.arange(nodes), np.arange(1, count + 1)[:, None]
    routers = (node + plane * nodes).ravel()
    ends = [end[base.link_exists] for end in base.ends]
    inside = [(end + plane * nodes).ravel() for end in ends]
    below = np.tile(node, count)
    source = np.concatenate([below, routers, inside[0]])
    target = np.concatenate([routers, below, inside[1]])
    access = min(ACCESS, max(1, nodes - 1)) * width
    widths = np.repeat([access, width], [2 * routers.size, inside[0].size])
    order = np.lexsort((target, source))
    names = [_name(base, each) for each in range(nodes)]
    topology = Topology(
        "graph",
        (),
        nodes,
        nodes * (count + 1),
        source[order],
        target[order],
        widths[order],
        labels=(*names, *(f"{name} in plane {p}" for p in range(count) for name in names)),
        family=planes_spec(base, count),
        level=np.repeat([0, 1], [nodes, nodes * count]),
        group=np.repeat(np.arange(-1, count), nodes),
    )
    _known[topology] = Planes(base, count)
    return topology


def _name(base: Topology, node: int) -> str:
    if base.kind == "hypercube" or len(base.sides) == 1:
        return str(node)
    return f"({', '.join(str(x) for x in base.coordinates[node])})"


_known: WeakKeyDictionary[Topology, Planes | None] = WeakKeyDictionary()


def planes_of(topology: Topology) -> Planes | None:
    """What a topology is made of, where it is one of planes, link by link; else None."""
    if ",planes=" not in topology.family:
        return None
    if topology not in _known:
        _known[topology] = _parsed(topology)
    return _known[topology]


def _parsed(topology: Topology) -> Planes | None:
    words, _, count = topology.family.partition(",planes=")
    name, _, rest = words.partition(":")
    kind = next((each for each in KINDS if each == name), None)
    sizes, _, width = rest.partition(",width=")
    numbers = [*sizes.split("x"), width or "1", count]
    if kind is None or not all(
        each.isascii() and each.isdigit() and len(each) < 9 for each in numbers
    ):
        return None
    sides = tuple(int(each) for each in sizes.split("x"))
    if kind == "hypercube":
        sides = (2,) * sides[0]
    if topology.nodes != prod(sides) * (int(count) + 1) or int(count) < 2:
        return None
    found = _build(kind, sides, int(width or 1), int(count))
    return _known[found] if found == topology else None


def require_planes(topology: Topology) -> Planes:
    """`planes_of`, which must be some.

    Raises:
        InputError: they are not.
    """
    planes = planes_of(topology)
    if planes is None:
        raise InputError("routing 'planes': needs a network of planes, as mesh:8x8,planes=2 is")
    return planes
