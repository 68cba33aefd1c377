"""Topology: the directed graph of endpoints, switches and links that carries a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf, isnan, prod
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

import numpy as np

from conset.base import (
    Array,
    Bools,
    Floats,
    InputError,
    Ints32,
    MAX_RATE_Bps,
    MIN_RATE_Bps,
    ValueObject,
    count_of,
    frozen,
    frozen_ints,
    unknown_name,
)
from conset.machine.network.graph import Graph, graph_of_networkx

Kind = Literal["mesh", "torus", "ring", "hypercube", "crossbar", "graph"]
BOXES: tuple[Kind, ...] = ("mesh", "torus", "ring")
"""Kinds whose links are given by coordinates.

Side k of a box is a path (mesh) or a cycle (torus, ring).
"""

MAX_WIDTH = 2**29
"""Limit on the width of a link; sums of a width and a load are int32 in the core."""
MAX_NODES = 2**20
"""Limit on nodes of a regular network.

Some time and memory of every compile grow with nodes, however few messages there are.
"""

Value = int | tuple[int, ...] | str | None
"""A value of a parameter: a whole number, sides, a text; None: it follows from the others."""
MAX_PLANES = 64
MAX_PLANE_LINKS = 2**26
MAX_SIDES = 32
"""Dimensions of a mesh, torus or hypercube."""
_SIZES = {"mesh": "sides", "torus": "sides", "hypercube": "dimensions"}
"""Kinds whose size is not their number of nodes, and the parameter that gives it."""


@dataclass(frozen=True)
class FamilyMember:
    """Which network of a family a topology is; `str` gives the spec that builds it again.

    Attributes:
        name: of the family, as in `conset.machine.network.families`.
        parameters: (name, value) of each that is stated, in the order in which a spec has them.
        sized: whether a spec has the first value without its name: `mesh:8x8`.
    """

    name: str
    parameters: tuple[tuple[str, Value], ...]
    sized: bool = False

    @property
    def values(self) -> Mapping[str, Value]:
        """The value of each parameter that is stated, by its name."""
        return MappingProxyType(dict(self.parameters))

    def __str__(self) -> str:
        words = []
        for k, (name, value) in enumerate(self.parameters):
            text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words.append(text if self.sized and k == 0 else f"{name}={text}")
        return f"{self.name}:{','.join(words)}"


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
    link each way, as a mesh; a side of 1 has none. Several links of a graph may lead from one node
    to another: each is a slot of its own, with its own load and rate. `width` is the number of
    interchangeable channels of one link; limits and rates count per unit of it.

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
        link_labels: graph only: names of the links for people, or (): the port at which each
            begins, such as `leafA:14`.
        family: the family and the values of its parameters; None where it is no family's. That of
            a regular network follows from its kind, sides and width. Not compared: nodes and links
            are what a network is.
        level: graph only, shape=(nodes), int32, or None: the height of a node above the endpoints,
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
    link_source: Ints32 = field(default_factory=lambda: np.zeros(0, np.int32))
    link_target: Ints32 = field(default_factory=lambda: np.zeros(0, np.int32))
    link_width: Ints32 | None = None
    link_rate_Bps: Floats | None = None  # noqa: N815
    width: int = 1
    labels: tuple[str, ...] = ()
    family: FamilyMember | None = field(default=None, compare=False)
    level: Ints32 | None = None
    group: Ints32 | None = None
    place: Floats | None = None
    link_labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise unknown_name("kind of network", str(self.kind), get_args(Kind))
        self._cast(np.int32, "link_source", "link_target")
        if self.kind != "graph":
            if len(self.sides) > MAX_SIDES:
                raise InputError(f"sides: {len(self.sides)} of them, at most {MAX_SIDES}")
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
            if not 1 <= self.width <= MAX_WIDTH:
                rule = "at least 1" if self.width < 1 else f"at most {MAX_WIDTH}"
                raise InputError(f"width = {self.width}: must be {rule}")
            if self.kind == "crossbar" and self.width > 1:
                raise InputError(f"width = {self.width}: a crossbar has no links")
            object.__setattr__(self, "family", self._own_family())
            return
        self._check_graph()

    def _own_family(self) -> FamilyMember:
        size = _SIZES.get(self.kind, "nodes")
        wide = (("width", self.width),) if self.width > 1 else ()
        return FamilyMember(self.kind, ((size, getattr(self, size)), *wide), sized=True)

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
        unsorted = np.flatnonzero(np.diff(source.astype(np.int64) * self.nodes + target) < 0)
        if unsorted.size:
            raise InputError(f"link {unsorted[0] + 1}: links must be sorted by (source, target)")
        if (own := np.flatnonzero(source == target)).size:
            raise InputError(f"link {own[0]}: joins node {source[own[0]]} to itself")
        if self.link_width is not None:
            object.__setattr__(
                self, "link_width", frozen_ints(self.link_width, np.int32, "link_width")
            )
            if self.link_width.shape != source.shape or (source.size and self.link_width.min() < 1):
                raise InputError("link_width: one width of at least 1 per link required")
            if (widest := self.link_width.max(initial=1)) > MAX_WIDTH:
                raise InputError(f"link_width {widest}: must be at most {MAX_WIDTH}")
        if self.link_rate_Bps is not None:
            rate = np.asarray(self.link_rate_Bps, np.float64)
            object.__setattr__(self, "link_rate_Bps", frozen(rate))
            if rate.shape != source.shape or not np.all((rate > 0) & np.isfinite(rate)):
                raise InputError("link_rate_Bps: one finite rate above 0 per link required")
            wrong = np.flatnonzero((rate < MIN_RATE_Bps) | (rate > MAX_RATE_Bps))
            if wrong.size:
                raise InputError(
                    f"link_rate_Bps[{wrong[0]}] = {rate[wrong[0]]:g}: must be from "
                    f"{MIN_RATE_Bps:g} to {MAX_RATE_Bps:g} B/s"
                )
        for names, number, what in (
            ("labels", self.nodes, "node"),
            ("link_labels", source.size, "link"),
        ):
            given = len(getattr(self, names))
            if given not in (0, number):
                raise InputError(f"{names}: {count_of(given, 'name')} for {count_of(number, what)}")
        for name in ("level", "group"):
            if (numbers := getattr(self, name)) is not None:
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

        An undirected edge is two links, one each way; parallel edges are parallel links. Nodes are
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
            InputError: no graph, no endpoints, an attribute that does not parse, an edge without a
                rate beside edges with one and no `rate_Bps`, or endpoints that do not reach each
                other.
        """
        return Topology.of_graph(graph_of_networkx(graph), rate_Bps)

    @staticmethod
    def of_graph(graph: Graph, rate_Bps: float) -> Topology:  # noqa: N803
        """A graph as read.

        Args:
            graph: nodes and edges.
            rate_Bps: rate of links that have none of their own, where others have one [B/s].

        Raises:
            InputError: a link without any rate beside links with one, or an endpoint that cannot
                reach another.
        """
        edges = graph.edges
        unrated = [edge for edge in edges if isnan(edge.rate_Bps)]
        if 0 < len(unrated) < len(edges) and rate_Bps == inf:
            raise InputError(
                f"{unrated[0].where}: a link without a rate beside links with one needs the "
                "machine's `link` (`rate_Bps`)"
            )
        rates = np.array([edge.rate_Bps for edge in edges], np.float64)
        topology = Topology.of_links(
            graph.endpoints,
            graph.nodes,
            np.array([edge.source for edge in edges], np.int64),
            np.array([edge.target for edge in edges], np.int64),
            np.array([edge.width for edge in edges], np.int64),
            None if len(unrated) == len(edges) else np.where(np.isnan(rates), rate_Bps, rates),
            labels=graph.labels,
            level=np.array(graph.levels, np.int32) if graph.levels else None,
            group=np.array(graph.groups, np.int32) if graph.groups else None,
            place=np.array(graph.places, np.float64) if graph.places else None,
        )
        require_connected(topology, graph.where)
        return topology

    @staticmethod
    def of_links(
        endpoints: int,
        nodes: int,
        source: Array,
        target: Array,
        width: Array | None = None,
        rate_Bps: Floats | None = None,  # noqa: N803
        link_labels: Sequence[str] = (),
        **more: Any,
    ) -> Topology:
        """A graph of links in any order.

        Parallel links stay links of their own, in the order in which they come.

        Args:
            endpoints: the first nodes, which may hold ranks.
            nodes: all nodes.
            source: shape=(links).
            target: shape=(links).
            width: shape=(links), or None: 1 each.
            rate_Bps: shape=(links) [B/s], or None: the machine's.
            link_labels: one for each link, or none.
            **more: other fields of the topology.
        """
        order = np.lexsort((target, source))
        wide = None if width is None else np.asarray(width)[order]
        return Topology(
            "graph",
            (),
            endpoints,
            nodes,
            np.asarray(source)[order],
            np.asarray(target)[order],
            None if wide is None or wide.max(initial=1) == 1 else wide,
            None if rate_Bps is None else rate_Bps[order],
            link_labels=tuple(link_labels[k] for k in order.tolist() if link_labels),
            **more,
        )

    def of_planes(self, count: int) -> Topology:
        """`count` planes of this regular network, side by side: every link once in each.

        A graph of its nodes and parallel links: link k is in plane k mod `count`. A crossbar is one
        switch there, joined to every endpoint. A route stays in one plane.

        Raises:
            InputError: not a regular network, or a count out of range.
        """
        if self.kind == "graph":
            raise InputError(f"planes={count}: a graph has none, regular networks have")
        if not 2 <= count <= MAX_PLANES:
            raise InputError(f"planes={count}: must be from 2 to {MAX_PLANES}")
        if self.links * count > MAX_PLANE_LINKS:
            raise InputError(
                f"planes={count}: {self.links * count} links, at most {MAX_PLANE_LINKS}"
            )
        assert self.family is not None  # it is regular
        parameters = (*self.family.parameters, ("planes", count))
        return _of_planes(self, count, replace(self.family, parameters=parameters))

    @property
    def planes(self) -> int:
        """How many planes it is made of (`of_planes`); 1 where it is none."""
        return int(str(1 if self.family is None else self.family.values.get("planes", 1)))

    @cached_property
    def base(self) -> Topology:
        """One of its planes; itself where it has none, or its links are no longer theirs."""
        if self.family is None or self.planes == 1:
            return self
        name, values = self.family.name, dict(self.family.values)
        count, width = (int(str(values.pop(word, 1))) for word in ("planes", "width"))
        size: Any = values.popitem()[1]
        sides = (2,) * size if name == "hypercube" else size if isinstance(size, tuple) else (size,)
        one = Topology(cast("Kind", name), sides or (1,), prod(sides), prod(sides), width=width)
        return _one_plane(one) if one.of_planes(count) == self else self

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
    def link_exists(self) -> Bools:
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
    def parallel(self) -> bool:
        """Whether several links lead from one node to another, so that nodes say no route."""
        ends = np.stack([self.link_source, self.link_target])
        return bool((np.diff(ends) == 0).all(axis=0).any())

    @cached_property
    def links(self) -> int:
        """Number of links."""
        return int(self.link_exists.sum())

    @cached_property
    def coordinates(self) -> Ints32:
        """shape=(nodes, max(1, sides)): coordinates of each node; a graph's are its ids."""
        shape = self.sides if self.is_box or self.kind == "hypercube" else (self.nodes,)
        return frozen(
            np.stack(np.unravel_index(np.arange(self.nodes), shape), axis=1).astype(np.int32)
        )

    @cached_property
    def ends(self) -> tuple[Ints32, Ints32]:
        """(source, target), shape=(link_slots) each: the nodes a link joins.

        What is no link joins a node to itself.
        """
        if self.kind == "graph":
            return self.link_source, self.link_target
        if self.kind == "crossbar":
            return frozen(np.zeros(0, np.int32)), frozen(np.zeros(0, np.int32))
        source = np.repeat(np.arange(self.nodes, dtype=np.int32), self.link_slots // self.nodes)
        if self.kind == "hypercube":
            target = source ^ np.tile(1 << np.arange(self.dimensions, dtype=np.int32), self.nodes)
            return frozen(source), frozen(target.astype(np.int32))
        target = np.empty((self.nodes, self.dimensions, 2), np.int32)
        for k, side in enumerate(self.sides):
            stride = prod(self.sides[k + 1 :])
            at = self.coordinates[:, k]
            for j, step in enumerate((1, -1)):
                target[:, k, j] = np.arange(self.nodes) + ((at + step) % side - at) * stride
        return frozen(source), frozen(
            np.where(self.link_exists, target.ravel(), source).astype(np.int32)
        )

    def widths(self) -> Ints32:
        """shape=(link_slots): the width of every link."""
        if self.link_width is not None:
            return self.link_width
        return frozen(np.broadcast_to(np.int32(self.width), self.link_slots))

    @property
    def host_names(self) -> tuple[str, ...]:
        """The name of each endpoint: its label, else its number."""
        return self.labels[: self.endpoints] or tuple(map(str, range(self.endpoints)))

    def node_name(self, node: int) -> str:
        """`node 12 (1, 4)` on a box, `node 3 'Denver'` where nodes have labels."""
        if self.base is not self:
            return self.base.node_name(node)
        if self.labels:
            return f"node {node} '{self.labels[node]}'"
        if len(self.sides) > 1 and self.is_box:
            return f"node {node} ({', '.join(str(x) for x in self.coordinates[node])})"
        return f"node {node}"

    def link_name(self, link: int) -> str:
        """`link 12 (1, 4) → 13 (1, 5)`: a link as text.

        `link leafA:14 → spineP:20` where links have labels; else a parallel link is numbered.
        """
        source, target = (int(end[link]) for end in self.ends)
        text = f"link {self.node_name(source)[5:]} → {self.node_name(target)[5:]}"
        if self.planes > 1:
            return f"{text} in plane {link % self.planes}"
        if not self.parallel and not self.link_labels:
            return text
        both = (self._between(source, target), self._between(target, source))
        number = link - both[0].start
        if not self.link_labels:
            same = len(both[0])
            return f"{text} ({number + 1} of {same})" if same > 1 else text
        back = self.link_labels[both[1][number]] if number < len(both[1]) else ""
        return f"link {self.link_labels[link]} → {back or self.node_name(target)[5:]}"

    def _between(self, source: int, target: int) -> range:
        """The links of a graph from one node to another."""
        key = self.link_source.astype(np.int64) * self.nodes + self.link_target
        wanted = source * self.nodes + target
        return range(*(int(np.searchsorted(key, wanted, side)) for side in ("left", "right")))

    def __repr__(self) -> str:
        shape = "x".join(str(s) for s in self.sides) or f"{self.endpoints} of {self.nodes} nodes"
        return f"Topology({self.kind}, {shape}, links={self.links})"


def _one_plane(base: Topology) -> Topology:
    """A regular network as a plane of it is: a crossbar has a switch there."""
    if base.kind != "crossbar":
        return base
    ends = np.arange(base.nodes)
    switch = np.full(base.nodes, base.nodes)
    return Topology.of_links(
        base.nodes,
        base.nodes + 1,
        np.concatenate([ends, switch]),
        np.concatenate([switch, ends]),
        level=np.repeat([0, 1], [base.nodes, 1]),
    )


@lru_cache(maxsize=8)
def _of_planes(base: Topology, count: int, family: FamilyMember) -> Topology:
    one = _one_plane(base)
    source, target = (np.repeat(end[one.link_exists], count) for end in one.ends)
    return Topology.of_links(
        one.endpoints,
        one.nodes,
        source,
        target,
        np.full(source.size, base.width),
        family=family,
        level=one.level,
    )


def first_parents(start: int, tails: Ints32, heads: Ints32, nodes: int) -> Ints32:
    """shape=(nodes), int32: the node from which a walk from `start` along tail → head reaches each.

    Fewest links; among equals the parent with the lowest index. -1 at `start` and where it does not
    come.
    """
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=nodes), out=offsets[1:])
    neighbours = heads[np.lexsort((heads, tails))]
    parent = np.full(nodes, -1, np.int32)
    seen = np.zeros(nodes, bool)
    seen[start] = True
    frontier = [start]
    while frontier:
        following: list[int] = []
        for node in sorted(frontier):  # the lowest claims a neighbour first
            for neighbour in neighbours[offsets[node] : offsets[node + 1]].tolist():
                if not seen[neighbour]:
                    seen[neighbour] = True
                    parent[neighbour] = node
                    following.append(neighbour)
        frontier = following
    return parent


def require_connected(topology: Topology, where: str = "graph") -> None:
    """Every endpoint reaches every other: all are reached from endpoint 0 and all reach it.

    Raises:
        InputError: one does not; names the pair.
    """
    ends = topology.link_source, topology.link_target
    for tails, heads in (ends, ends[::-1]):
        lost = np.flatnonzero(first_parents(0, tails, heads, topology.nodes) < 0)
        if lost.size > 1 and lost[1] < topology.endpoints:  # the first is endpoint 0 itself
            pair = (0, int(lost[1])) if tails is ends[0] else (int(lost[1]), 0)
            a, b = (topology.node_name(node) for node in pair)
            key, nodes = [end.astype(np.int64) for end in ends], topology.nodes
            turned = np.isin(key[0] * nodes + key[1], key[1] * nodes + key[0]).any()
            one_way = "" if turned else " (all links go one way, as the file says)"
            raise InputError(
                f"{where}: disconnected: {a} cannot reach {b}{one_way}; every endpoint must "
                "reach every other"
            )


def most_of(kind: Ints32, rate: Floats) -> Floats:
    """Shape as `kind`: the rate of more than half of each kind; 0 where none is."""
    usual = np.zeros(rate.size)
    for each in np.unique(kind):
        at = np.flatnonzero(kind == each)
        rates, count = np.unique(rate[at], return_counts=True)
        if 2 * count.max() > at.size:
            usual[at] = rates[count.argmax()]
    return usual


def without(
    topology: Topology,
    dead: Sequence[int],
    links: Sequence[tuple[int, int]] = (),
) -> Topology:
    """A network with nodes and links taken out.

    A graph of the survivors, numbered densely in their old order.

    Ranks live on the first endpoints, so survivors cannot keep their ids; each keeps its label, or
    its old id as its label where it has none. A pair in `links` takes out the links between two
    nodes, both ways.

    Raises:
        InputError: no such node or link, a node named twice, none left, or survivors cut off from
            each other.
    """
    ids = np.array(dead, np.int64)
    for k, node in enumerate(dead):
        if not 0 <= node < topology.nodes:
            raise InputError(f"dead[{k}] = {node}: must be a node from 0 to {topology.nodes - 1}")
        if node in dead[:k]:
            raise InputError(f"dead[{k}] = {node}: is named twice")
    if len(dead) >= topology.nodes:
        raise InputError(f"dead: {len(dead)} of {topology.nodes} nodes; at least 1 must be left")
    alive = np.ones(topology.nodes, bool)
    alive[ids] = False
    number = np.cumsum(alive) - 1
    source, target = topology.ends
    keep = topology.link_exists & alive[source] & alive[target]
    for k, (u, v) in enumerate(links):
        cut = topology.link_exists & (
            ((source == u) & (target == v)) | ((source == v) & (target == u))
        )
        if not cut.any():
            raise InputError(f"dead link {k}: nodes {u} and {v} are not joined by a link")
        keep &= ~cut
    endpoints = int(alive[: topology.endpoints].sum())
    if endpoints == 0:
        raise InputError(f"dead: all {topology.endpoints} endpoints; at least 1 must be left")
    wide = topology.width > 1 or topology.link_width is not None
    survivors = Topology.of_links(
        endpoints,
        int(alive.sum()),
        number[source[keep]],
        number[target[keep]],
        topology.widths()[keep] if wide else None,
        None if topology.link_rate_Bps is None else topology.link_rate_Bps[keep],
        labels=tuple(
            topology.labels[node] if topology.labels else str(node)
            for node in np.flatnonzero(alive)
        ),
        level=None if topology.level is None else topology.level[alive],
        group=None if topology.group is None else topology.group[alive],
        link_labels=tuple(topology.link_labels[k] for k in np.flatnonzero(keep))
        if topology.link_labels
        else (),
    )
    gone = [*(str(node) for node in dead), *(f"{u}-{v}" for u, v in links)]
    require_connected(survivors, f"dead = {';'.join(gone)}")
    return survivors
