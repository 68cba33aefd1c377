"""Reader of edge lists: one edge per line."""

from __future__ import annotations

from conset.errors import InputError, unknown_name
from conset.files import whole_number
from conset.network.graph import Graph, both_ways
from conset.network.graph_words import build_graph, edge_from_attributes, numbered


def read_edge_list(text: str, name: str = "edges") -> Graph:
    """`u v [width=2] [rate=10GB/s]` per line, `#` comments; every edge is two links unless a line says `directed`.

    Lines before the edges: `endpoints N` (the nodes 0 … N - 1, or the first N names, hold ranks; else all do) and
    `directed`. Nodes are whole numbers or names.

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
            endpoints = _endpoints(parts, where)
        else:
            rows.append((*_edge_row(parts, where), where))
            names.update(dict.fromkeys(parts[:2]))
    if not rows:
        raise InputError(f"{name}: has no edges")
    order = list(names)
    if all(str(whole_number(each)) == each and each[0] != "-" for each in order):
        order.sort(key=int)
    if endpoints is not None and endpoints > len(order):
        raise InputError(f"{name}: endpoints {endpoints}: the edges name only {len(order)} nodes")
    switch = {each: endpoints is not None and k >= endpoints for k, each in enumerate(order)}
    ids = numbered(switch)
    edges = [edge_from_attributes(ids, source, target, attributes, where) for source, target, attributes, where in rows]
    return build_graph(switch, edges if directed else both_ways(edges), {}, name)


def _endpoints(parts: list[str], where: str) -> int:
    count = whole_number(parts[1]) if len(parts) == 2 else None
    if count is None or count < 1:
        raise InputError(f"{where}: 'endpoints' must be followed by a whole number of at least 1")
    return count


def _edge_row(parts: list[str], where: str) -> tuple[str, str, dict[str, str]]:
    if len(parts) < 2:
        raise InputError(f"{where}: an edge needs two nodes, has {len(parts)}")
    attributes = {}
    for part in parts[2:]:
        word, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{where}: '{part}': expected width=N or rate=RATE after the two nodes")
        if word not in ("width", "rate"):
            raise InputError(f"{where}: {unknown_name('word', word, ('width', 'rate'))}")
        attributes[word] = value
    return parts[0], parts[1], attributes
