"""Reader of GML: nested lists of keys and values."""

from __future__ import annotations

import re
from typing import Any

from conset.errors import InputError
from conset.network.graph import Edge, Graph, both_ways
from conset.network.graph_words import build_graph, edge_from_attributes, is_switch, numbered

_TOKEN = re.compile(r'"[^"]*"|\[|\]|[^\s\[\]"]+')

Pairs = list[tuple[str, Any, int]]
"""A list of (key, text or list, line)."""


def read_gml(text: str, name: str = "gml") -> Graph:
    """GML: nodes with `id`, `label`, `type` or `switch` as in GraphML; edges with `source`, `target`, `width`, `rate`.

    Nodes are numbered in the order of the file, endpoints before switches. Links go both ways unless `directed 1`.

    Raises:
        InputError: brackets that do not match, no graph, an edge to an unknown node; names file and line.
    """
    graphs = [value for key, value, _ in _parsed(text, name) if key == "graph" and isinstance(value, list)]
    if len(graphs) != 1:
        raise InputError(f"{name}: has {len(graphs)} graphs; one is required")
    switch: dict[str, bool] = {}
    labels: dict[str, str] = {}
    for attributes, where in _elements(graphs[0], "node", ("id",), name):
        if attributes["id"] in switch:
            raise InputError(f"{where}: node '{attributes['id']}' is given twice")
        switch[attributes["id"]] = is_switch(attributes, where)
        labels[attributes["id"]] = attributes.get("label") or attributes["id"]
    ids = numbered(switch)
    edges: list[Edge] = [
        edge_from_attributes(ids, attributes["source"], attributes["target"], attributes, where)
        for attributes, where in _elements(graphs[0], "edge", ("source", "target"), name)
    ]
    directed = any(key == "directed" and value == "1" for key, value, _ in graphs[0])
    return build_graph(switch, edges if directed else both_ways(edges), labels, name)


def _elements(graph: Pairs, kind: str, required: tuple[str, ...], name: str) -> list[tuple[dict[str, str], str]]:
    elements = []
    for key, value, line in graph:
        if key != kind:
            continue
        attributes = {word: text for word, text, _ in value if isinstance(text, str)} if isinstance(value, list) else {}
        for word in required:
            if word not in attributes:
                raise InputError(f"{name}:{line}: {kind} lacks its key '{word}'")
        elements.append((attributes, f"{name}:{line}"))
    return elements


def _parsed(text: str, name: str) -> Pairs:
    stack: list[Pairs] = [[]]
    key: tuple[str, int] | None = None
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        for token in _TOKEN.findall("" if line.lstrip().startswith("#") else line):
            if token == "]":
                if len(stack) == 1 or key is not None:
                    raise InputError(f"{name}:{number}: ']' without a list that it ends")
                stack.pop()
            elif key is None:
                key = (token, number)
            else:
                value: Any = [] if token == "[" else token.strip('"')
                stack[-1].append((key[0], value, key[1]))
                key = None
                if token == "[":
                    stack.append(value)
    if len(stack) > 1 or key is not None:
        raise InputError(f"{name}:{number}: ends inside a list or after a key; the file is cut short")
    return stack[0]
