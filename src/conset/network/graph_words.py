"""What readers of graphs share: words on nodes and edges, and how nodes are numbered."""

from __future__ import annotations

from math import nan

from conset.errors import InputError, UsageError
from conset.files import shown, whole_number
from conset.network.graph import Edge, Graph
from conset.units import parse_rate


def build_graph(switch: dict[str, bool], edges: list[Edge], labels: dict[str, str], where: str) -> Graph:
    """A graph of nodes in the order of `numbered`; labels are dropped where they are the ids.

    Raises:
        InputError: no nodes, or switches only.
    """
    ids = numbered(switch)
    endpoints = sum(not each for each in switch.values())
    if not switch:
        raise InputError(f"{where}: has no nodes")
    if endpoints == 0:
        raise InputError(f"{where}: all {len(ids)} nodes are switches; at least 1 endpoint required")
    names = tuple(labels.get(node, node) for node in ids)
    plain = names == tuple(str(k) for k in range(len(names)))
    return Graph(len(ids), endpoints, tuple(edges), () if plain else names, where)


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


def _width(value: str, where: str) -> int:
    width = whole_number(value)
    if width is None or not 1 <= width < 2**31:
        raise InputError(f"{where}: width '{shown(value)}': must be a whole number from 1 to 2^31 - 1")
    return width


def _rate(value: str, where: str) -> float:
    try:
        return parse_rate(value)
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None


def edge_from_attributes(ids: dict[str, int], source: str, target: str, attributes: dict[str, str], where: str) -> Edge:
    """A link between named nodes with its words `width` and `rate`."""
    for end in (source, target):
        if end not in ids:
            raise InputError(f"{where}: edge to unknown node '{end}'")
    if source == target:
        raise InputError(f"{where}: edge joins node '{source}' to itself")
    rate = _rate(attributes["rate"], where) if "rate" in attributes else nan
    return Edge(ids[source], ids[target], _width(attributes.get("width", "1"), where), rate, where)
