"""Topology: the directed graph of endpoints, switches and links that carries a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import ValueObject, frozen, frozen_ints
from conset.base.errors import InputError, unknown_name
from conset.base.units import MAX_RATE_Bps, MIN_RATE_Bps, count_of

Kind = Literal["mesh", "torus", "ring", "hypercube", "crossbar", "graph"]
BOXES: tuple[Kind, ...] = ("mesh", "torus", "ring")
"""Kinds whose links are given by coordinates.

Side k of a box is a path (mesh) or a cycle (torus, ring).
"""

MAX_NODES = 2**20
"""Limit on nodes of a regular network.

Some time and memory of every compile grow with nodes, however few messages there are.
"""


@dataclass(frozen=True, eq=False)
class Topology(ValueObject):
    """A network of nodes 0 … `nodes` - 1 and links of one direction.

    The first `endpoints` may hold ranks.

    Node ids are row-major: the last coordinate varies fastest. Link ids are dense slots given by a
    formula, so that a regular network stores no link:

    - box (mesh, torus, ring): slot `node * 2 * len(sides) + 2 * dimension + (0 up | 1 down)` leaves
      `node`;
    - hypercube: slot `node * dimensions + bit` crosses `bit`;
    - crossbar: no links, ports only;
    - graph: slot k is the k-th of the stored links, sorted by (source, target).

    Slots that leave a mesh at its border are no links (`link_exists`). A torus side of 2 has one
    link each way, as a mesh; a side of 1 has none. Parallel links are one link of greater `width`;
    limits and rates count per unit of it.

    Attributes:
        kind: the family.
        sides: nodes along each dimension; (2,) * d for a hypercube; (nodes,) for a ring or
            crossbar; () for a graph.
        endpoints: nodes that may hold ranks; fewer than `nodes` only in a graph with switches.
        nodes: all nodes.
        link_source: graph only, shape=(links), int32.
        link_target: graph only, shape=(links), int32.
        link_width: graph only, shape=(links), int32, at least 1; other kinds have width `width`
            everywhere.
        link_rate_Bps: graph only, shape=(links), float64 [B/s] per unit of width, or None: the
            machine's rate.
        width: width of every link of a regular network.
        labels: graph only: names of the nodes for people, or ().
        family: graph only: the words that build it (`fat-tree:k=4,levels=3`), or "" where it is no
            family's.
        level: graph only, shape=(nodes), int32, or None: how far above the endpoints a node stands,
            these 0.
        group: graph only, shape=(nodes), int32, or None: which pod, group, host or plane a node
            belongs to; -1: none.
        place: graph only, shape=(nodes, 2), float64, or None: where a map has each node; x to the
            right, y upwards.
    """

    kind: Kind
    sides: tuple[int, ...]
    endpoints: int
    nodes: int
    link_source: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    link_target: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    link_width: NDArray[np.int32] | None = None
    link_rate_Bps: NDArray[np.float64] | None = None  # noqa: N815
    width: int = 1
    labels: tuple[str, ...] = ()
    family: str = ""
    level: NDArray[np.int32] | None = None
    group: NDArray[np.int32] | None = None
    place: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise unknown_name("kind of network", str(self.kind), get_args(Kind))
        for name in ("link_source", "link_target"):
            object.__setattr__(self, name, frozen_ints(getattr(self, name), np.int32, name))
        if self.kind != "graph":
            if not self.sides or min(self.sides) < 1:
                raise InputError(f"sides = {self.sides}: every side must be at least 1")
            if prod(self.sides) != self.nodes or self.endpoints != self.nodes:
                raise InputError(
                    f"nodes = {self.nodes}: sides {self.sides} give {prod(self.sides)}"
                )
            if self.nodes > MAX_NODES:
                raise InputError(f"sides = {self.sides}: {self.nodes} nodes, at most {MAX_NODES}")
            if prod(self.sides) * 2 * len(self.sides) > np.iinfo(np.int32).max:
                raise InputError(f"sides = {self.sides}: more than 2^31 links")
            if self.width < 1:
                raise InputError(f"width = {self.width}: must be at least 1")
            return
        self._check_graph()

    def _check_graph(self) -> None:
        if not 1 <= self.nodes < 2**31:
            raise InputError(f"nodes = {self.nodes}: must be from 1 to {2**31 - 1}")
        if not 1 <= self.endpoints <= self.nodes:
            raise InputError(
                f"endpoints = {self.endpoints}: must be from 1 to the {self.nodes} nodes"
            )
        source, target = self.link_source, self.link_target
        if source.shape != target.shape or source.ndim != 1:
            raise InputError(
                f"link_source has shape {source.shape}, link_target {target.shape}: must agree"
            )
        for name, ends in (("link_source", source), ("link_target", target)):
            wrong = np.flatnonzero((ends < 0) | (ends >= self.nodes))
            if wrong.size:
                raise InputError(
                    f"{name}[{wrong[0]}] = {ends[wrong[0]]}: must be a node from 0 to "
                    f"{self.nodes - 1}"
                )
        key = source.astype(np.int64) * self.nodes + target
        unsorted = np.flatnonzero(np.diff(key) <= 0)
        if unsorted.size:
            raise InputError(
                f"link {unsorted[0] + 1}: links must be sorted by (source, target) and distinct"
            )
        own = np.flatnonzero(source == target)
        if own.size:
            raise InputError(f"link {own[0]}: joins node {source[own[0]]} to itself")
        if self.link_width is not None:
            object.__setattr__(
                self, "link_width", frozen_ints(self.link_width, np.int32, "link_width")
            )
            if self.link_width.shape != source.shape or (source.size and self.link_width.min() < 1):
                raise InputError("link_width: one width of at least 1 per link required")
        if self.link_rate_Bps is not None:
            rate = np.asarray(self.link_rate_Bps, np.float64)
            object.__setattr__(self, "link_rate_Bps", frozen(rate))
            if rate.shape != source.shape or not np.all((rate > 0) & np.isfinite(rate)):
                raise InputError("link_rate_Bps: one finite rate above 0 per link required")
            wrong = np.flatnonzero((rate < MIN_RATE_Bps) | (rate > MAX_RATE_Bps))
            if wrong.size:
                rule = f"must be from {MIN_RATE_Bps:g} to {MAX_RATE_Bps:g} B/s"
                raise InputError(f"link_rate_Bps[{wrong[0]}] = {rate[wrong[0]]:g}: {rule}")
        if self.labels and len(self.labels) != self.nodes:
            raise InputError(
                f"labels: {count_of(len(self.labels), 'name')} for {count_of(self.nodes, 'node')}"
            )
        for name in ("level", "group"):
            numbers = getattr(self, name)
            if numbers is not None:
                object.__setattr__(self, name, frozen_ints(numbers, np.int32, name))
                if numbers.shape != (self.nodes,):
                    raise InputError(
                        f"{name} has shape {numbers.shape}: one number for each of "
                        f"{self.nodes} nodes"
                    )
        if self.place is not None:
            place = np.asarray(self.place, np.float64)
            object.__setattr__(self, "place", frozen(place))
            if place.shape != (self.nodes, 2) or not np.isfinite(place).all():
                raise InputError(
                    f"place has shape {place.shape}: two finite numbers for each of "
                    f"{self.nodes} nodes"
                )

    @staticmethod
    def mesh(*sides: int, width: int = 1) -> Topology:
        """A mesh of any dimension: every side is a path."""
        return Topology("mesh", sides, prod(sides), prod(sides), width=width)

    @staticmethod
    def torus(*sides: int, width: int = 1) -> Topology:
        """A torus of any dimension: every side above 2 is a cycle."""
        return Topology("torus", sides, prod(sides), prod(sides), width=width)

    @staticmethod
    def ring(nodes: int, *, width: int = 1) -> Topology:
        """A torus of one dimension."""
        return Topology("ring", (nodes,), nodes, nodes, width=width)

    @staticmethod
    def hypercube(dimensions: int, *, width: int = 1) -> Topology:
        """A binary cube of 2^`dimensions` nodes; neighbours differ in one bit."""
        sides = (2,) * dimensions or (1,)
        return Topology("hypercube", sides, 1 << dimensions, 1 << dimensions, width=width)

    @staticmethod
    def crossbar(nodes: int) -> Topology:
        """Ports only: nothing but a node's own ports limits it."""
        return Topology("crossbar", (nodes,), nodes, nodes)

    @staticmethod
    def from_networkx(graph: Any, *, rate_Bps: float = inf) -> Topology:  # noqa: N803
        """The network of a graph of networkx; of its class nothing is imported.

        An undirected edge is two links, one each way; parallel edges add up their widths. Nodes are
        numbered in the order of the graph, endpoints before switches; a node that is no number from
        0 on in this order is kept as a label. What attributes say, as in graph files: `switch`
        (True) or `type` ("switch", "router") of a node that holds no ranks; `label` of a node for
        people; `width` of an edge (parallel links); `rate` of an edge per unit of width, a number
        [B/s] or a text with its unit.

        Args:
            graph: `Graph`, `DiGraph`, `MultiGraph` or `MultiDiGraph`, or anything with their
                `nodes`, `edges` and `is_directed`.
            rate_Bps: rate of edges without one, where others have one [B/s].

        Raises:
            InputError: no graph, no endpoints, an attribute that does not parse, parallel edges of
                different rates, an edge without a rate beside edges with one and no `rate_Bps`, or
                endpoints that do not reach each other.
        """
        from conset.machine.network.networkx import topology_of_networkx

        return topology_of_networkx(graph, rate_Bps)

    @property
    def dimensions(self) -> int:
        """Number of sides of a box, bits of a hypercube, 0 otherwise."""
        if self.kind == "hypercube":
            return self.nodes.bit_length() - 1
        return len(self.sides) if self.kind in BOXES else 0

    @property
    def is_box(self) -> bool:
        """Whether links are given by coordinates (mesh, torus, ring)."""
        return self.kind in BOXES

    @property
    def wraps(self) -> bool:
        """Whether sides above 2 are cycles."""
        return self.kind in ("torus", "ring")

    @property
    def link_slots(self) -> int:
        """One more than the largest link id; not every slot is a link of a mesh."""
        if self.kind == "graph":
            return int(self.link_source.size)
        return self.nodes * self.dimensions * (2 if self.is_box else 1)

    @cached_property
    def link_exists(self) -> NDArray[np.bool_]:
        """shape=(link_slots): which slots are links."""
        exists = np.ones(self.link_slots, bool)
        if self.is_box:
            slots = exists.reshape(self.nodes, self.dimensions, 2)
            for k, side in enumerate(self.sides):
                at = self.coordinates[:, k]
                if not (self.wraps and side > 2):
                    slots[:, k, 0] = at < side - 1
                    slots[:, k, 1] = at > 0
        return frozen(exists)

    @cached_property
    def links(self) -> int:
        """Number of links."""
        return int(self.link_exists.sum())

    @cached_property
    def coordinates(self) -> NDArray[np.int32]:
        """shape=(nodes, max(1, sides)): coordinates of each node; a graph's are its ids."""
        shape = self.sides if self.is_box or self.kind == "hypercube" else (self.nodes,)
        return frozen(
            np.stack(np.unravel_index(np.arange(self.nodes), shape), axis=1).astype(np.int32)
        )

    @cached_property
    def ends(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(source, target), shape=(link_slots) each: the nodes a link joins.

        What is no link joins a node to itself.
        """
        if self.kind == "graph":
            return self.link_source, self.link_target
        if self.kind == "crossbar":
            return frozen(np.zeros(0, np.int32)), frozen(np.zeros(0, np.int32))
        per_node = self.link_slots // self.nodes
        source = np.repeat(np.arange(self.nodes, dtype=np.int32), per_node)
        if self.kind == "hypercube":
            target = source ^ np.tile(1 << np.arange(self.dimensions, dtype=np.int32), self.nodes)
            return frozen(source), frozen(target.astype(np.int32))
        target = np.empty((self.nodes, self.dimensions, 2), np.int32)
        for k, side in enumerate(self.sides):
            stride = prod(self.sides[k + 1 :])
            at = self.coordinates[:, k]
            for j, step in enumerate((1, -1)):
                target[:, k, j] = np.arange(self.nodes) + ((at + step) % side - at) * stride
        flat = target.ravel()
        return frozen(source), frozen(np.where(self.link_exists, flat, source).astype(np.int32))

    def widths(self) -> NDArray[np.int32]:
        """shape=(link_slots): the width of every link."""
        if self.link_width is not None:
            return self.link_width
        return frozen(np.broadcast_to(np.int32(self.width), self.link_slots))

    def node_name(self, node: int) -> str:
        """`node 12 (1, 4)` on a box, `node 3 'Denver'` where nodes have labels."""
        if self.labels:
            return f"node {node} '{self.labels[node]}'"
        if len(self.sides) > 1 and self.is_box:
            return f"node {node} ({', '.join(str(x) for x in self.coordinates[node])})"
        return f"node {node}"

    def link_name(self, link: int) -> str:
        """`link 12 (1, 4) → 13 (1, 5)`: a link in words."""
        source, target = (int(end[link]) for end in self.ends)
        return f"link {self.node_name(source)[5:]} → {self.node_name(target)[5:]}"

    def __repr__(self) -> str:
        shape = "x".join(str(s) for s in self.sides) or f"{self.endpoints} of {self.nodes} nodes"
        return f"Topology({self.kind}, {shape}, links={self.links})"
