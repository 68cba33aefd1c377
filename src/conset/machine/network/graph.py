"""Any directed graph as a network: from nodes and edges as read to a checked Topology.

Readers of graphs share what keys on nodes and edges say, and how nodes are numbered
(`build_graph`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import frozen
from conset.base.errors import InputError, UsageError, shortened
from conset.base.files import whole_number
from conset.base.units import count_of, parse_rate
from conset.machine.network.topology import Topology

MAX_PLACE = 1e9
"""Of a coordinate on a map."""


@dataclass(frozen=True)
class Edge:
    """One link of one direction, as a file says it.

    Attributes:
        source: node id.
        target: node id.
        width: parallel links in one, at least 1.
        rate_Bps: rate per unit of width [B/s]; NaN: the machine's.
        where: file and line, for errors.
    """

    source: int
    target: int
    width: int = 1
    rate_Bps: float = nan  # noqa: N815
    where: str = "links"


@dataclass(frozen=True)
class Graph:
    """A graph as read, before the machine's rate for links is known.

    Attributes:
        nodes: all nodes.
        endpoints: the first of them, which may hold ranks.
        edges: links of one direction, in any order; parallel ones add up their widths.
        labels: names of the nodes, or () where they are their ids.
        where: the file, for errors.
        levels: how far above the endpoints each node stands, or ().
        groups: which pod or group each node belongs to, -1 for none, or ().
        places: where a map has each node (x, y), or ().
        costs: words of machine files that the file says beside its links (`hop`, `port`), with
            their values.
        notes: what a reader should know of them.
    """

    nodes: int
    endpoints: int
    edges: tuple[Edge, ...]
    labels: tuple[str, ...] = ()
    where: str = "graph"
    levels: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    places: tuple[tuple[float, float], ...] = ()
    costs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_topology(self, rate_Bps: float) -> Topology:  # noqa: N803
        """The network; `rate_Bps` is that of links that have none of their own, where others have.

        Raises:
            InputError: parallel links of different rates, a link without any rate beside links with
                one, or an endpoint that cannot reach another.
        """
        merged = self._merged(rate_Bps)
        rated = any(not isnan(edge.rate_Bps) for edge in self.edges)
        width = np.array([edge.width for edge in merged], np.int64)
        topology = Topology(
            "graph",
            (),
            self.endpoints,
            self.nodes,
            np.array([edge.source for edge in merged], np.int64),
            np.array([edge.target for edge in merged], np.int64),
            width if (width > 1).any() else None,  # type: ignore[arg-type]
            np.array([edge.rate_Bps for edge in merged], np.float64) if rated else None,
            labels=self.labels,
            level=np.array(self.levels, np.int32) if self.levels else None,
            group=np.array(self.groups, np.int32) if self.groups else None,
            place=np.array(self.places, np.float64) if self.places else None,
        )
        require_connected(topology, self.where)
        return topology

    def _merged(self, rate_Bps: float) -> list[Edge]:  # noqa: N803
        """Links sorted by (source, target), parallel ones made one."""
        rated = any(not isnan(edge.rate_Bps) for edge in self.edges)
        links: dict[tuple[int, int], Edge] = {}
        for edge in self.edges:
            rate = rate_Bps if isnan(edge.rate_Bps) and rated else edge.rate_Bps
            if rate == np.inf:
                raise InputError(
                    f"{edge.where}: a link without a rate beside links with one needs the "
                    "machine's `link`"
                )
            same = links.get((edge.source, edge.target))
            if same is not None and same.rate_Bps != rate and rated:
                raise InputError(
                    f"{edge.where}: parallel links must have one rate, are {same.rate_Bps:g} B/s "
                    f"and {rate:g} B/s"
                )
            width = edge.width + (same.width if same else 0)
            links[edge.source, edge.target] = Edge(
                edge.source, edge.target, width, rate, edge.where
            )
        return [links[key] for key in sorted(links)]

    def to_object(self) -> dict[str, Any]:
        """The `[network]` table that says the same without a file, every link of one direction."""
        table: dict[str, Any] = {
            "kind": "graph",
            "nodes": self.nodes,
            "endpoints": self.endpoints,
            "both_ways": False,
        }
        table["links"] = [[edge.source, edge.target] for edge in self.edges]
        if any(edge.width != 1 for edge in self.edges):
            table["widths"] = [edge.width for edge in self.edges]
        if any(not isnan(edge.rate_Bps) for edge in self.edges):
            table["rates"] = [
                "machine" if isnan(edge.rate_Bps) else f"{edge.rate_Bps!r} B/s"
                for edge in self.edges
            ]
        if self.labels:
            table["labels"] = list(self.labels)
        if self.levels:
            table["level"] = list(self.levels)
        if self.groups:
            table["group"] = list(self.groups)
        if self.places:
            table["place"] = [list(place) for place in self.places]
        return table


def both_ways(edges: Iterable[Edge]) -> list[Edge]:
    """Every edge, followed by its opposite."""
    return [
        each
        for edge in edges
        for each in (edge, Edge(edge.target, edge.source, edge.width, edge.rate_Bps, edge.where))
    ]


def rows_of(
    tails: NDArray[np.int32], heads: NDArray[np.int32], nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(offsets, neighbours): compressed sparse rows of the links tail → head, neighbours rising."""
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=nodes), out=offsets[1:])
    return offsets, heads[np.lexsort((heads, tails))]


def require_connected(topology: Topology, where: str = "graph") -> None:
    """Every endpoint reaches every other: all are reached from endpoint 0 and all reach it.

    Raises:
        InputError: one does not; names the pair.
    """
    source, target = topology.link_source, topology.link_target
    forward = _reached(0, *rows_of(source, target, topology.nodes))[: topology.endpoints]
    backward = _reached(0, *rows_of(target, source, topology.nodes))[: topology.endpoints]
    for seen, ends in ((forward, lambda lost: (0, lost)), (backward, lambda lost: (lost, 0))):
        if not seen.all():
            a, b = (topology.node_name(node) for node in ends(int(np.flatnonzero(~seen)[0])))
            raise InputError(
                f"{where}: disconnected: {a} cannot reach {b}; every endpoint must "
                "reach every other"
            )


def without(
    topology: Topology,
    dead: Sequence[int],
    links: Sequence[tuple[int, int]] = (),
    *,
    family: str = "",
) -> Topology:
    """A network with nodes and links taken out.

    A graph of the survivors, numbered densely in their old order.

    Ranks live on the first endpoints, so survivors cannot keep their ids; each keeps its label, or
    its old id as its label where it has none. A pair in `links` takes out the links between two
    nodes, both ways. `family` are the words that build what is left.

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
    kept = np.flatnonzero(keep)
    order = kept[np.lexsort((target[kept], source[kept]))]
    endpoints = int(alive[: topology.endpoints].sum())
    if endpoints == 0:
        raise InputError(f"dead: all {topology.endpoints} endpoints; at least 1 must be left")
    wide = topology.width > 1 or topology.link_width is not None
    survivors = Topology(
        "graph",
        (),
        endpoints,
        int(alive.sum()),
        number[source[order]],
        number[target[order]],
        frozen(topology.widths()[order]) if wide else None,
        None if topology.link_rate_Bps is None else topology.link_rate_Bps[order],
        labels=tuple(
            topology.labels[node] if topology.labels else str(node)
            for node in np.flatnonzero(alive)
        ),
        family=family,
        level=None if topology.level is None else topology.level[alive],
        group=None if topology.group is None else topology.group[alive],
    )
    gone = [*(str(node) for node in dead), *(f"{u}-{v}" for u, v in links)]
    require_connected(survivors, f"dead = {';'.join(gone)}")
    return survivors


def build_graph(
    switch: dict[str, bool],
    edges: list[Edge],
    labels: dict[str, str],
    where: str,
    places: Mapping[str, tuple[float, float]] | None = None,
) -> Graph:
    """A graph of nodes in the order of `numbered`; labels are dropped where they are the ids.

    `places` of a map are kept where every node has one and not all stand on the same spot.

    Raises:
        InputError: no nodes, or switches only.
    """
    ids = numbered(switch)
    endpoints = sum(not each for each in switch.values())
    if not switch:
        raise InputError(f"{where}: has no nodes")
    if endpoints == 0:
        raise InputError(
            f"{where}: {count_of(len(ids), 'node')}, all switches; at least 1 endpoint required"
        )
    names = tuple(labels.get(node, node) for node in ids)
    plain = names == tuple(str(k) for k in range(len(names)))
    known = tuple((places or {})[node] for node in ids if node in (places or {}))
    on_map = len(known) == len(ids) and len(set(known)) > 1
    return Graph(
        len(ids),
        endpoints,
        tuple(edges),
        () if plain else names,
        where,
        places=known if on_map else (),
    )


class NamedNodes:
    """Nodes of a file as they are read, by name.

    Attributes:
        switch: whether each is one.
        labels: of each.
        places: of those that a map has.
    """

    def __init__(self) -> None:
        self.switch: dict[str, bool] = {}
        self.labels: dict[str, str] = {}
        self.places: dict[str, tuple[float, float]] = {}

    def add(self, node: str, attributes: dict[str, str], where: str) -> None:
        """One more node, with its words `type` or `switch`, `label`, and its place.

        Raises:
            InputError: there is one of this name; or it may be a switch or not.
        """
        if node in self.switch:
            raise InputError(f"{where}: node '{node}' is given twice")
        self.switch[node] = is_switch(attributes, where)
        self.labels[node] = attributes.get("label") or node
        place = place_of(attributes)
        if place is not None:
            self.places[node] = place

    @property
    def ids(self) -> dict[str, int]:
        """The id of each name."""
        return numbered(self.switch)

    def joined(self, edges: list[Edge], where: str) -> Graph:
        """The graph; errors as of `build_graph`."""
        return build_graph(self.switch, edges, self.labels, where, self.places)


def numbered(switch: dict[str, bool]) -> dict[str, int]:
    """The id of each name: endpoints before switches, else in the order given."""
    return {node: k for k, node in enumerate(sorted(switch, key=lambda node: switch[node]))}


def is_switch(attributes: dict[str, str], where: str) -> bool:
    """Whether a node's words `type` ("switch", "router") or `switch` (true) make it one."""
    if "switch" not in attributes:
        return attributes.get("type", "").lower() in ("switch", "router")
    if attributes["switch"].lower() not in ("true", "false", "1", "0"):
        raise InputError(f"{where}: switch '{attributes['switch']}': must be true or false")
    return attributes["switch"].lower() in ("true", "1")


PLACES = (("lon", "lat"), ("longitude", "latitude"), ("x", "y"))
"""Attributes that say where a map has a node.

TopoHub and the Internet Topology Zoo write the first two.
"""


def place_of(attributes: Mapping[str, object]) -> tuple[float, float] | None:
    """Where a map has a node, by the first of `PLACES` that it has.

    None where it has none that are two numbers.
    """
    lower = {word.lower(): value for word, value in attributes.items()}
    for words in PLACES:
        try:
            x, y = (float(str(lower[word])) for word in words)
        except (KeyError, ValueError):
            continue
        if abs(x) < MAX_PLACE and abs(y) < MAX_PLACE:  # neither infinite nor no number
            return x, y
    return None


def edge_from_attributes(
    ids: dict[str, int], source: str, target: str, attributes: dict[str, str], where: str
) -> Edge:
    """A link between named nodes with its words `width` and `rate`."""
    for end in (source, target):
        if end not in ids:
            raise InputError(f"{where}: edge to unknown node '{end}'")
    if source == target:
        raise InputError(f"{where}: edge joins node '{source}' to itself")
    rate = _rate(attributes["rate"], where) if "rate" in attributes else nan
    return Edge(ids[source], ids[target], _width(attributes.get("width", "1"), where), rate, where)


def _reached(start: int, offsets: NDArray[np.int64], heads: NDArray[np.int32]) -> NDArray[np.bool_]:
    seen = np.zeros(offsets.size - 1, bool)
    seen[start] = True
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for head in heads[offsets[node] : offsets[node + 1]].tolist():
            if not seen[head]:
                seen[head] = True
                queue.append(head)
    return seen


def _width(value: str, where: str) -> int:
    width = whole_number(value)
    if width is None or not 1 <= width < 2**31:
        raise InputError(
            f"{where}: width '{shortened(value)}': must be a whole number from 1 to 2^31 - 1"
        )
    return width


def _rate(value: str, where: str) -> float:
    try:
        return parse_rate(value)
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None
