"""Node-link JSON, as networkx writes it and TopoHub stores SNDlib's networks.

A graph, and who sends how much.

    {"directed": false, "multigraph": false,
     "graph": {"name": "abilene", "demands": {"0": {"6": 630.0, …}, …}},
     "nodes": [{"id": 0, "name": "ATLAM5", "pos": [-84.38, 33.75]}, …],
     "edges": [{"source": 0, "target": 1, "dist": 132.4, …}, …]}

`edges` may be called `links` (older versions of networkx). Words of nodes: `id`, `label` or `name`,
`type` or `switch` as in GraphML, and a place on a map as `pos` or `lon` and `lat`. Words of edges:
`source`, `target`, `width`, `rate` (a text with its unit, or a number [B/s]). Other words, such as
TopoHub's lengths and loads, are not read.

Sources: https://networkx.org/documentation/stable/reference/readwrite/json_graph.html;
https://github.com/piotrjurkiewicz/topohub (docs/repository.rst, topohub/providers/sndlib.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conset.base.errors import InputError, shortened
from conset.machine.network.graph import Graph, GraphBuilder, texts_of

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
    """(endpoints, [(source, target, amount, where it stands)]).

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
            f"{name}: lists 'nodes' and 'edges' (or 'links') required, has {known or 'nothing'}"
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
