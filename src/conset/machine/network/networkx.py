"""Graphs of networkx, read by what they answer: the library need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan
from typing import Any

from conset.base.errors import InputError, shortened
from conset.machine.network.graph import (
    Edge,
    Graph,
    both_ways,
    build_graph,
    edge_from_attributes,
    is_switch,
    numbered,
)
from conset.machine.network.topology import Topology


def topology_of_networkx(graph: Any, rate_Bps: float) -> Topology:  # noqa: N803
    """As `Topology.from_networkx`."""
    found = graph_of_networkx(graph)
    unrated = [edge.where for edge in found.edges if isnan(edge.rate_Bps)]
    if 0 < len(unrated) < len(found.edges) and rate_Bps == inf:
        raise InputError(
            f"{unrated[0]}: has no rate beside edges with one: give it one, or rate_Bps"
        )
    return found.to_topology(rate_Bps)


def graph_of_networkx(graph: Any) -> Graph:
    """Nodes and edges of a networkx graph.

    They have the attributes that `Topology.from_networkx` names.

    Raises:
        InputError: no graph, two nodes of one name, or an attribute that does not parse; names node
            or edge.
    """
    try:
        nodes, edges, directed = (
            list(graph.nodes(data=True)),
            list(graph.edges(data=True)),
            bool(graph.is_directed()),
        )
    except (AttributeError, TypeError):
        raise InputError(
            f"graph: a graph of networkx required, given {type(graph).__name__}"
        ) from None
    switch: dict[str, bool] = {}
    labels: dict[str, str] = {}
    for node, attributes in nodes:
        name, where = str(node), f"graph: node {shortened(repr(node))}"
        if name in switch:
            raise InputError(f"{where}: another node has this name too")
        switch[name] = is_switch(_texts(attributes), where)
        if "label" in attributes:
            labels[name] = str(attributes["label"])
    ids = numbered(switch)
    links = [_edge(ids, source, target, attributes) for source, target, attributes in edges]
    return build_graph(switch, links if directed else both_ways(links), labels, "graph")


def _edge(
    ids: dict[str, int], source: object, target: object, attributes: Mapping[Any, Any]
) -> Edge:
    where = f"graph: edge {shortened(repr((source, target)))}"
    texts = _texts(attributes)
    rate = attributes.get("rate")
    if rate is not None and not isinstance(rate, str):
        texts["rate"] = f"{rate} B/s"
    return edge_from_attributes(ids, str(source), str(target), texts, where)


def _texts(attributes: Mapping[Any, Any]) -> dict[str, str]:
    """Attributes as files say them; None says nothing."""
    return {str(name): str(value) for name, value in attributes.items() if value is not None}
