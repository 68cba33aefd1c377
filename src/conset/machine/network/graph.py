"""A graph as files and networkx have it: nodes and edges by their names, before it is a network.

Readers of graphs share what keys on nodes and edges mean, and how nodes are numbered
(`GraphBuilder`). `Topology.of_graph` makes the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

from conset.base import InputError, UsageError, count_of, require_texts, shortened, whole_number
from conset.machine.words import read_rate

MAX_PLACE = 1e9
"""Largest coordinate on a map."""
_NODE_WORDS = ("switch", "type", "label")
"""Attributes of networkx nodes that are read; their positions in other drawings are not a map."""


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
        levels: the height of each node above the endpoints, or ().
        groups: which pod or group each node belongs to, -1 for none, or ().
        places: where a map has each node (x, y), or ().
        costs: cost parameters that the file states beside its links (`hop`, `port`), with
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


UNUSED_WEIGHTS = (
    "weights of edges differ and are not used: width counts channels of a link, rate is its speed"
)


def both_ways(edges: Iterable[Edge]) -> list[Edge]:
    """Every edge, followed by its opposite."""
    return [
        each
        for edge in edges
        for each in (edge, Edge(edge.target, edge.source, edge.width, edge.rate_Bps, edge.where))
    ]


class GraphBuilder:
    """Nodes and edges by their names, as they are read, to a graph.

    Nodes are numbered in the order in which they come, endpoints before switches.

    Attributes:
        where: the file, for errors.
        switch: whether each node is one.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.switch: dict[str, bool] = {}
        self._labels: dict[str, str] = {}
        self._places: dict[str, tuple[float, float]] = {}
        self._edges: list[tuple[str, str, Mapping[str, str], str, bool]] = []

    def add_node(self, node: str, attributes: Mapping[str, str], where: str) -> None:
        """One more node, with its words `type` or `switch`, `label`, and its place.

        Raises:
            InputError: there is one of this name; or it may be a switch or not.
        """
        if node in self.switch:
            raise InputError(f"{where}: node '{node}' is given twice")
        self.switch[node] = is_switch(attributes, where)
        self._labels[node] = attributes.get("label") or node
        require_texts([node, self._labels[node]], where)
        if (place := place_of(attributes)) is not None:
            self._places[node] = place

    def add_edge(
        self, source: str, target: str, attributes: Mapping[str, str], where: str, directed: bool
    ) -> None:
        """One more edge, with its words `width` and `rate`; two links unless it is directed."""
        self._edges.append((source, target, attributes, where, directed))

    @property
    def ids(self) -> dict[str, int]:
        """The number of each name."""
        return {node: k for k, node in enumerate(sorted(self.switch, key=self.switch.__getitem__))}

    def graph(self) -> Graph:
        """The graph.

        Labels are dropped where they are the numbers; places of a map are kept where every node has
        one and not all are at the same spot.

        Raises:
            InputError: no nodes, switches only, or an edge to an unknown node, of a node to itself,
                or with a bad width or rate.
        """
        ids = self.ids
        edges: list[Edge] = []
        for source, target, attributes, where, directed in self._edges:
            edge = edge_from_attributes(ids, source, target, attributes, where)
            edges += [edge] if directed else both_ways([edge])
        if not ids:
            raise InputError(f"{self.where}: has no nodes")
        endpoints = sum(not each for each in self.switch.values())
        if endpoints == 0:
            raise InputError(
                f"{self.where}: {count_of(len(ids), 'node')}, all switches; at least 1 "
                "endpoint required"
            )
        names = tuple(self._labels[node] for node in ids)
        plain = names == tuple(str(k) for k in range(len(names)))
        known = tuple(self._places[node] for node in ids if node in self._places)
        rows = [row for _, _, row, _, _ in self._edges if not row.keys() & {"width", "rate"}]
        weights = {row["weight"] for row in rows if "weight" in row}
        return Graph(
            len(ids),
            endpoints,
            tuple(edges),
            () if plain else names,
            self.where,
            places=known if len(known) == len(ids) and len(set(known)) > 1 else (),
            notes=() if len(weights) < 2 else (UNUSED_WEIGHTS,),
        )


def texts_of(attributes: Mapping[Any, Any]) -> dict[str, str]:
    """Attributes as text files have them: None is none, a `rate` that is a number is in B/s."""
    texts = {
        str(name): shortened(value, 200) for name, value in attributes.items() if value is not None
    }
    rate = attributes.get("rate")
    return texts if rate is None or isinstance(rate, str) else {**texts, "rate": f"{rate} B/s"}


def graph_of_networkx(graph: Any) -> Graph:
    """Nodes and edges of a networkx graph, by what it answers: the library need not be installed.

    They have the attributes that `Topology.from_networkx` names.

    Raises:
        InputError: no graph, two nodes of one name, or an attribute that does not parse; names node
            or edge.
    """
    try:
        nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
        directed = bool(graph.is_directed())
    except (AttributeError, TypeError):
        raise InputError(
            f"graph: a graph of networkx required, given {type(graph).__name__}"
        ) from None
    builder = GraphBuilder("graph")
    for node, attributes in nodes:
        texts = {word: text for word, text in texts_of(attributes).items() if word in _NODE_WORDS}
        builder.add_node(str(node), texts, f"graph: node {shortened(repr(node))}")
    for source, target, attributes in edges:
        where = f"graph: edge {shortened(repr((source, target)))}"
        builder.add_edge(str(source), str(target), texts_of(attributes), where, directed)
    return builder.graph()


def is_switch(attributes: Mapping[str, str], where: str) -> bool:
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
    ids: Mapping[str, int], source: str, target: str, attributes: Mapping[str, str], where: str
) -> Edge:
    """A link between named nodes with its words `width` and `rate`."""
    for end in (source, target):
        if end not in ids:
            raise InputError(f"{where}: edge to unknown node '{end}'")
    if source == target:
        raise InputError(f"{where}: edge joins node '{source}' to itself")
    width = whole_number(re.sub(r"\.0*$", "", attributes.get("width", "1")))
    if width is None or not 1 <= width < 2**31:
        raise InputError(
            f"{where}: width '{shortened(attributes['width'])}': must be a whole number "
            "from 1 to 2^31 - 1"
        )
    rate = rate_of(attributes["rate"], where) if "rate" in attributes else nan
    return Edge(ids[source], ids[target], width, rate, where)


def rate_of(value: Any, where: str) -> float:
    """The rate of a link [B/s], as it is written; NaN where it has no limit: the machine's."""
    try:
        rate = read_rate(value, "rate")
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None
    return rate if rate < inf else nan
