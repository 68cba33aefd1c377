"""Files that hold a graph, by suffix.

Readers of edge lists, GML, GraphML and node-link JSON, those of simulators beside this file.

Node-link JSON, as networkx writes it and TopoHub stores SNDlib's networks, holds a graph, and who
sends how much.

    {"directed": false, "multigraph": false,
     "graph": {"name": "abilene", "demands": {"0": {"6": 630.0, …}, …}},
     "nodes": [{"id": 0, "name": "ATLAM5", "pos": [-84.38, 33.75]}, …],
     "edges": [{"source": 0, "target": 1, "dist": 132.4, …}, …]}

`edges` may be called `links` (older versions of networkx). Attributes of nodes: `id`, `label` or
`name`, `type` or `switch` as in GraphML, and a place on a map as `pos` or `lon` and `lat`.
Attributes of edges: `source`, `target`, `width`, `rate` (a text with its unit, or a number [B/s]).
Other words, such as TopoHub's lengths and loads, are not read.

Sources: https://networkx.org/documentation/stable/reference/readwrite/json_graph.html;
https://github.com/piotrjurkiewicz/topohub (docs/repository.rst, topohub/providers/sndlib.py).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conset.base import InputError, count_of, read_text, shortened, unknown_name, whole_number
from conset.machine.network.graph import Graph, GraphBuilder, texts_of
from conset.machine.network.simulators import read_anynet, read_htsim

_ABSENT = object()


def read_node_link(text: str, name: str = "json") -> Graph:
    """The graph; nodes are numbered in the order of the file, endpoints before switches.

    Raises:
        InputError: no JSON, no graph of nodes and edges, an edge to an unknown node, a bad width or
            rate; names file and key.
    """
    found = parse_node_link(text, name)
    builder = _nodes(found, name)
    word = "edges" if "edges" in found else "links"
    for k, attributes in enumerate(_edge_list(found)):
        where = f"{name}: {word}[{k}]"
        source, target = (_name_in(attributes, end, where) for end in ("source", "target"))
        builder.add_edge(source, target, texts_of(attributes), where, found.get("directed") is True)
    return builder.graph()


def read_demands(text: str, name: str = "json") -> tuple[int, list[tuple[int, int, float, str]]]:
    """(endpoints, [(source, target, amount, its place)]).

    `graph.demands`, by the numbers of `read_node_link`.

    An amount is in the routing unit of the network's source, which the file does not name. Demands
    are directed, as the file has them.

    Raises:
        InputError: as `read_node_link`; no demands; one from or to what is no endpoint; an amount
            that is no number of at least 0.
    """
    found = parse_node_link(text, name)
    builder = _nodes(found, name)
    ids, switch = builder.ids, builder.switch
    graph = found.get("graph", {})
    demands = graph.get("demands") if isinstance(graph, Mapping) else None
    if not isinstance(demands, Mapping) or not demands:
        raise InputError(
            f"{name}: graph.demands: has none: an object of source, target and amount is required"
        )
    rows = []
    for source, targets in demands.items():
        where = f"{name}: graph.demands[{shortened(source)}]"
        if not isinstance(targets, Mapping):
            raise InputError(f"{where}: an object of targets required, given {_shown(targets)}")
        for target, amount in targets.items():
            place = f"{where}[{shortened(target)}]"
            for node in (source, target):
                if node not in ids or switch[node]:
                    what = "is a switch" if node in ids else "there is no such node"
                    raise InputError(f"{place}: '{shortened(node)}': an endpoint required, {what}")
            if (
                isinstance(amount, bool)
                or not isinstance(amount, int | float)
                or not 0 <= amount < 2**62
            ):
                raise InputError(f"{place} = {_shown(amount)}: must be a number from 0 to 2^62")
            rows.append((ids[source], ids[target], float(amount), place))
    return sum(not each for each in switch.values()), rows


def parse_node_link(text: str, name: str) -> Mapping[str, Any]:
    """The object of a file, with lists `nodes` and `edges` or `links`.

    Raises:
        InputError: no JSON (names the line), or another object.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: no JSON: {error.msg}") from None
    except (
        RecursionError,
        ValueError,
    ):  # nested too deeply; a number of more digits than Python converts
        raise InputError(
            f"{name}: no JSON that a graph needs: nested too deeply, or a number too long"
        ) from None
    if not isinstance(found, Mapping):
        raise InputError(f"{name}: an object with nodes and edges required, given {_shown(found)}")
    if not isinstance(found.get("nodes"), list) or not isinstance(_edge_list(found), list):
        known = ", ".join(shortened(key) for key in list(found)[:8])
        raise InputError(
            f"{name}: lists 'nodes' and 'edges' (or 'links') required, has {known or 'nothing'}",
            what="content",
            given=name,
        )
    return found


def is_node_link(found: object) -> bool:
    """Whether a JSON value is such an object."""
    return (
        isinstance(found, Mapping)
        and isinstance(found.get("nodes"), list)
        and isinstance(_edge_list(found), list)
    )


def _edge_list(found: Mapping[str, Any]) -> Any:
    return found.get("edges", found.get("links"))


def _nodes(found: Mapping[str, Any], name: str) -> GraphBuilder:
    """A graph with the nodes of a file, and no edge yet."""
    builder = GraphBuilder(name)
    for k, attributes in enumerate(found["nodes"]):
        where = f"{name}: nodes[{k}]"
        node, texts = _name_in(attributes, "id", where), texts_of(attributes)
        pos = attributes.get("pos")
        place = (
            {"lon": str(pos[0]), "lat": str(pos[1])}
            if isinstance(pos, list) and len(pos) == 2
            else {}
        )
        label = texts.get("label") or texts.get("name", "")
        builder.add_node(node, {**texts, "label": label, **place}, where)
    return builder


def _name_in(attributes: Any, word: str, where: str) -> str:
    """What `id`, `source` or `target` says: a whole number or a text."""
    if not isinstance(attributes, Mapping):
        raise InputError(f"{where}: an object required, given {_shown(attributes)}")
    value = attributes.get(word, _ABSENT)
    if value is _ABSENT:
        raise InputError(f"{where}: lacks its key '{word}'")
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"{where}.{word} = {_shown(value)}: must be a whole number or a text")
    return shortened(value, 200)


def _shown(value: object) -> str:
    return shortened(json.dumps(value, default=str))


_GML_TOKEN = re.compile(r'^[ \t]*#.*|"[^"]*"|\[|\]|"|[^\s\[\]"]+', re.MULTILINE)
"""A comment, a text (of several lines perhaps), a bracket, a quote that nothing ends, a word."""

GmlPairs = list[tuple[str, Any, int]]
"""A list of (key, text or list, line)."""


def read_edge_list(text: str, name: str = "edges") -> Graph:
    """`u v [width=2] [rate=10GB/s]` per line, `#` comments.

    Every edge is two links unless a line says `directed`.

    Lines before the edges: `endpoints N` (the nodes 0 … N - 1, or the first N names, hold ranks;
    else all do) and `directed`. Nodes are whole numbers or names.

    Raises:
        InputError: a line that is none of these; names file and line.
    """
    names: dict[str, None] = {}
    rows = []
    endpoints: int | None = None
    directed = False
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split("#", 1)[0].split()
        where = f"{name}:{number}"
        if not parts:
            continue
        if parts == ["directed"]:
            directed = True
        elif parts[0] == "endpoints":
            endpoints = whole_number(parts[1]) if len(parts) == 2 else None
            if endpoints is None or endpoints < 1:
                raise InputError(
                    f"{where}: 'endpoints' must be followed by a whole number of at least 1"
                )
        else:
            rows.append((*_edge_row(parts, where), where))
            names.update(dict.fromkeys(parts[:2]))
    if not rows:
        raise InputError(f"{name}: has no edges")
    order = list(names)
    if all(str(whole_number(each)) == each and each[0] != "-" for each in order):
        order.sort(key=int)
    endpoints = len(order) if endpoints is None else endpoints
    if endpoints > len(order):
        raise InputError(
            f"{name}: endpoints {endpoints}: the edges name only {count_of(len(order), 'node')}"
        )
    builder = GraphBuilder(name)
    for k, node in enumerate(order):
        builder.add_node(node, {"switch": "true" if k >= endpoints else "false"}, name)
    for source, target, attributes, where in rows:
        builder.add_edge(source, target, attributes, where, directed)
    return builder.graph()


def _edge_row(parts: list[str], where: str) -> tuple[str, str, dict[str, str]]:
    if len(parts) < 2:
        raise InputError(f"{where}: an edge needs two nodes, has {len(parts)}")
    attributes = {}
    for part in parts[2:]:
        word, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"{where}: '{part}': expected width=N or rate=RATE after the two nodes"
            )
        if word not in ("width", "rate"):
            raise InputError(f"{where}: {unknown_name('word', word, ('width', 'rate'))}")
        attributes[word] = value
    return parts[0], parts[1], attributes


def read_gml(text: str, name: str = "gml") -> Graph:
    """GML: nodes with `id`, `label`, `type` or `switch` as in GraphML.

    Edges with `source`, `target`, `width`, `rate`.

    A map's `lon` and `lat` (or `x` and `y`) place nodes in pictures. Nodes are numbered in the
    order of the file, endpoints before switches. Links go both ways unless `directed 1`.

    Raises:
        InputError: brackets that do not match, no graph, an edge to an unknown node; names file and
            line.
    """
    graphs = [
        value
        for key, value, _ in _parse_gml(text, name)
        if key == "graph" and isinstance(value, list)
    ]
    if len(graphs) != 1:
        raise InputError(f"{name}: has {len(graphs)} graphs; one is required")
    builder = GraphBuilder(name)
    for attributes, where in _gml_elements(graphs[0], "node", ("id",), name):
        builder.add_node(attributes["id"], attributes, where)
    directed = any(key == "directed" and value == "1" for key, value, _ in graphs[0])
    for attributes, where in _gml_elements(graphs[0], "edge", ("source", "target"), name):
        builder.add_edge(attributes["source"], attributes["target"], attributes, where, directed)
    return builder.graph()


def _gml_elements(
    graph: GmlPairs, kind: str, required: tuple[str, ...], name: str
) -> list[tuple[dict[str, str], str]]:
    elements = []
    for key, value, line in graph:
        if key != kind:
            continue
        attributes = (
            {word: text for word, text, _ in value if isinstance(text, str)}
            if isinstance(value, list)
            else {}
        )
        for word in required:
            if word not in attributes:
                raise InputError(f"{name}:{line}: {kind} lacks its key '{word}'")
        elements.append((attributes, f"{name}:{line}"))
    return elements


def _parse_gml(text: str, name: str) -> GmlPairs:
    stack: list[GmlPairs] = [[]]
    key: tuple[str, int] | None = None
    number, read = 1, 0
    for found in _GML_TOKEN.finditer(text):
        token, number = found[0], number + text.count("\n", read, found.start())
        read = found.start()
        if token.lstrip().startswith("#"):
            continue
        if token == '"':
            raise InputError(f"{name}:{number}: a text begins here that does not end")
        if token == "]":
            if len(stack) == 1 or key is not None:
                raise InputError(f"{name}:{number}: ']' without a list that it ends")
            stack.pop()
        elif key is None:
            key = (token, number)
        else:
            value: Any = [] if token == "[" else " ".join(token.strip('"').split())
            stack[-1].append((key[0], value, key[1]))
            key = None
            if token == "[":
                stack.append(value)
    if len(stack) > 1 or key is not None:
        raise InputError(
            f"{name}:{number}: ends inside a list or after a key; the file is cut short"
        )
    return stack[0]


def read_graphml(text: str, name: str = "graphml") -> Graph:
    """GraphML: node attributes `type` ("switch" or "endpoint") or `switch` (true), `label`.

    Edge `width` and `rate`.

    A map's `longitude` and `latitude` (`lon`, `lat`; `x`, `y`) place nodes in pictures. Nodes are
    numbered in the order of the file, endpoints before switches. An undirected edge is two links.
    Every drawing of yEd says that it is directed: there an edge is one link where it has an arrow
    at one end only (`y:Arrows`), and the first `y:NodeLabel` is the name of a node.
    Read with the standard library's event parser, which knows its line; networkx would not say
    where.

    Raises:
        InputError: no well-formed XML, no graph, an edge to an unknown node, a bad width or rate;
            names file and line.
    """
    gathered = _parse_graphml(text, name)
    builder = GraphBuilder(name)
    for node, own, line in gathered.nodes:
        builder.add_node(node, gathered.attributes("node", own), f"{name}:{line}")
    for source, target, own_direction, own, line in gathered.edges:
        directed = gathered.directed if own_direction is None else own_direction
        builder.add_edge(
            source, target, gathered.attributes("edge", own), f"{name}:{line}", directed
        )
    return builder.graph()


def _parse_graphml(text: str, name: str) -> _GraphMLElements:
    from xml.parsers.expat import ExpatError, ParserCreate

    gathered = _GraphMLElements(name)
    parser = ParserCreate("utf-8")  # the text is, whatever it declares

    def start(tag: str, attributes: dict[str, Any]) -> None:
        gathered.start(tag.rpartition(":")[2], attributes, parser.CurrentLineNumber)

    def characters(data: str) -> None:
        if gathered.text is not None:
            gathered.text.append(data)

    def entity(entity: str, *_: object) -> None:
        # a few that name each other make gigabytes out of a kilobyte, and no graph needs one
        raise InputError(
            f"{name}:{parser.CurrentLineNumber}: entity '{shortened(entity)}': "
            "entities are not read"
        )

    def declaration(version: str, encoding: str | None, standalone: int) -> None:
        try:
            codecs.lookup(encoding or "utf-8")
        except (LookupError, ValueError):
            raise InputError(
                f"{name}:{parser.CurrentLineNumber}: unknown encoding '{shortened(encoding)}'"
            ) from None

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: gathered.end(tag.rpartition(":")[2])
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = entity
    parser.XmlDeclHandler = declaration
    try:
        parser.Parse(text.encode(), True)
    except ExpatError as error:
        reason = str(error).split(":")[0]
        raise InputError(f"{name}:{error.lineno}: no well-formed XML: {reason}") from None
    if not gathered.graphs:
        raise InputError(f"{name}: has no <graph>")
    return gathered


@dataclass
class _GraphMLElements:
    """What an event parser gathers from GraphML; attributes by name, lines kept for errors."""

    name: str
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    defaults: dict[tuple[str, str], str] = field(default_factory=dict)
    nodes: list[tuple[str, dict[str, str], int]] = field(default_factory=list)
    edges: list[tuple[str, str, bool | None, dict[str, str], int]] = field(default_factory=list)
    graphs: int = 0
    directed: bool = False
    element: dict[str, str] | None = None
    wanted: str | None = None
    text: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str], line: int) -> None:
        where = f"{self.name}:{line}"
        try:
            if tag == "graph":
                self.graphs += 1
                self.directed = attributes.get("edgedefault", "undirected") == "directed"
                if self.graphs > 1:
                    raise InputError(f"{where}: a second or nested graph; one is required")
            elif tag == "hyperedge":
                raise InputError(
                    f"{where}: hyperedges are not supported; every edge joins two nodes"
                )
            elif tag == "key":
                kind = (
                    attributes.get("for", "all"),
                    attributes.get("attr.name", attributes["id"]).lower(),
                )
                self.keys[attributes["id"]] = kind
                self.wanted, self.key = "default", kind
            elif tag == "node":
                self.element = {}
                self.nodes.append((attributes["id"], self.element, line))
            elif tag == "edge":
                own = {"true": True, "false": False}.get(attributes.get("directed", ""))
                self.element = {}
                self.edges.append(
                    (attributes["source"], attributes["target"], own, self.element, line)
                )
            elif tag == "NodeLabel" and self.element is not None:
                self.wanted, self.text = None if "label" in self.element else "label", []
            elif tag == "Arrows" and self.element is not None:
                self._turn([attributes.get(end, "none") != "none" for end in ("source", "target")])
            elif tag == "data" and self.element is not None:
                self.wanted, self.text = (
                    self.keys.get(attributes["key"], ("", attributes["key"]))[1],
                    [],
                )
            elif tag == "default" and self.wanted == "default":
                self.text = []
        except KeyError as error:
            raise InputError(f"{where}: <{tag}> lacks its attribute {error}") from None

    def _turn(self, arrows: list[bool]) -> None:
        """The edge goes to where its only arrow is, or both ways."""
        source, target, own, element, line = self.edges[-1]
        if own is None:
            ends = (target, source) if arrows == [True, False] else (source, target)
            self.edges[-1] = (*ends, arrows[0] != arrows[1], element, line)

    def end(self, tag: str) -> None:
        if tag in ("data", "NodeLabel") and self.element is not None and self.wanted is not None:
            self.element[self.wanted] = self.taken()
            self.wanted = None
        elif tag == "default" and self.wanted == "default":
            self.defaults[self.key] = self.taken()
        elif tag in ("node", "edge"):
            self.element = None

    def taken(self) -> str:
        """The text gathered since its element began."""
        text, self.text = "".join(self.text or ()).strip(), None
        return text

    def attributes(self, kind: str, own: dict[str, str]) -> dict[str, str]:
        """An element's attributes over the defaults of its keys."""
        return {
            word: value for (which, word), value in self.defaults.items() if which in (kind, "all")
        } | own


def read_graph(path: str | Path) -> Graph:
    """The graph in a file, by its suffix (`GRAPH_READERS`).

    Raises:
        InputError: missing, empty, an unknown suffix, or contents that break the format; file and
            line are named.
    """
    path = Path(path)
    reader = GRAPH_READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: a graph's suffix must be one of {', '.join(GRAPH_READERS)}, is "
            f"'{path.suffix}'"
        )
    return reader(read_text(path), path.name)


GRAPH_READERS: dict[str, Callable[[str, str], Graph]] = {
    ".graphml": read_graphml,
    ".gml": read_gml,
    ".edges": read_edge_list,
    ".edgelist": read_edge_list,
    ".txt": read_edge_list,
    ".json": read_node_link,
    ".topo": read_htsim,
    ".anynet": read_anynet,
}
"""Readers by suffix."""
