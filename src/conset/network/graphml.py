"""Reader of GraphML: the standard library's event parser, which knows its line; networkx would not say where."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import Any

from conset.errors import InputError
from conset.files import shown
from conset.network.graph import Edge, Graph, both_ways
from conset.network.graph_words import build_graph, edge_from_attributes, is_switch, numbered


@dataclass
class _Gathered:
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
                raise InputError(f"{where}: hyperedges are not supported; every edge joins two nodes")
            elif tag == "key":
                kind = (attributes.get("for", "all"), attributes.get("attr.name", attributes["id"]).lower())
                self.keys[attributes["id"]] = kind
                self.wanted, self.key = "default", kind
            elif tag == "node":
                self.element = {}
                self.nodes.append((attributes["id"], self.element, line))
            elif tag == "edge":
                own = {"true": True, "false": False}.get(attributes.get("directed", ""))
                self.element = {}
                self.edges.append((attributes["source"], attributes["target"], own, self.element, line))
            elif tag == "data" and self.element is not None:
                self.wanted, self.text = self.keys.get(attributes["key"], ("", attributes["key"]))[1], []
            elif tag == "default" and self.wanted == "default":
                self.text = []
        except KeyError as error:
            raise InputError(f"{where}: <{tag}> lacks its attribute {error}") from None

    def end(self, tag: str) -> None:
        if tag == "data" and self.element is not None and self.wanted is not None:
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
        given = {word: value for (which, word), value in self.defaults.items() if which in (kind, "all")}
        return given | own


def read_graphml(text: str, name: str = "graphml") -> Graph:
    """GraphML: node attributes `type` ("switch" or "endpoint") or `switch` (true), `label`; edge `width` and `rate`.

    Nodes are numbered in the order of the file, endpoints before switches. An undirected edge is two links. Read with
    the standard library's event parser, which knows its line; networkx would not say where.

    Raises:
        InputError: no well-formed XML, no graph, an edge to an unknown node, a bad width or rate; names file and line.
    """
    gathered = _parsed(text, name)
    switch: dict[str, bool] = {}
    labels: dict[str, str] = {}
    for node, own, line in gathered.nodes:
        if node in switch:
            raise InputError(f"{name}:{line}: node '{node}' is given twice")
        words = gathered.attributes("node", own)
        switch[node] = is_switch(words, f"{name}:{line}")
        labels[node] = words.get("label") or node
    ids = numbered(switch)
    edges: list[Edge] = []
    for source, target, own_direction, own, line in gathered.edges:
        edge = edge_from_attributes(ids, source, target, gathered.attributes("edge", own), f"{name}:{line}")
        directed = gathered.directed if own_direction is None else own_direction
        edges += [edge] if directed else both_ways([edge])
    return build_graph(switch, edges, labels, name)


def _parsed(text: str, name: str) -> _Gathered:
    from xml.parsers.expat import ExpatError, ParserCreate

    gathered = _Gathered(name)
    parser = ParserCreate("utf-8")  # the text is, whatever it declares

    def start(tag: str, attributes: dict[str, Any]) -> None:
        gathered.start(tag.rpartition(":")[2], attributes, parser.CurrentLineNumber)

    def characters(data: str) -> None:
        if gathered.text is not None:
            gathered.text.append(data)

    def entity(entity: str, *_: object) -> None:
        # a few that name each other make gigabytes out of a kilobyte, and no graph needs one
        raise InputError(f"{name}:{parser.CurrentLineNumber}: entity '{shown(entity)}': entities are not read")

    def declaration(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and not _is_known(encoding):
            raise InputError(f"{name}:{parser.CurrentLineNumber}: unknown encoding '{shown(encoding)}'")

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


def _is_known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError):
        return False
    return True
