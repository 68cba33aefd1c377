"""Machine files: TOML, graphs and the objects in schedule files, to a Machine.

Presets are such files too.

A machine from a file carries its whole object (`Machine.document`), with the links of a graph
inline and no path in it, so that a schedule file needs nothing beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from pathlib import Path
from typing import Any, cast

from conset.base.errors import InputError, UsageError, unknown_name
from conset.base.files import require_file
from conset.base.toml import located, parse_toml
from conset.base.units import count_of
from conset.machine.costs import Costs, Provenance
from conset.machine.limits import Limits
from conset.machine.machine import Machine, ModeCosts
from conset.machine.model import CostsTable, MachineTable, NetworkTable, checked_table
from conset.machine.network.families.table import build_family
from conset.machine.network.graph import Edge, Graph, both_ways
from conset.machine.network.graph_files import read_graph
from conset.machine.network.planes import build_planes
from conset.machine.network.route_table import route_table
from conset.machine.network.routing import Routing, Rule
from conset.machine.network.topology import Topology
from conset.machine.spec import (
    build_routing,
    build_topology,
    default_costs,
    family_routing,
    with_own_ports,
)
from conset.machine.word_values import read_rate
from conset.machine.words import WORDS, changed_costs, stated_costs


def read_machine(path: str | Path) -> Machine:
    """The machine in a `.toml` or graph file.

    GraphML, GML and edge lists get the costs of a bare network.

    Raises:
        InputError: missing, empty, cut short, or contents against the model; names file, line, key,
            rule and value.
    """
    path = require_file(path)
    if path.suffix.lower() != ".toml":
        graph = read_graph(path)
        data: dict[str, Any] = {
            "name": path.stem,
            "network": graph.to_object(),
            "costs": _costs_of(graph, {}),
        }
        return machine_from_object(
            {**data, "notes": list(graph.notes)} if graph.notes else data, path.name
        )
    data, text = parse_toml(path.read_bytes(), path.name, "machine")
    network = data.get("network")
    if isinstance(network, dict) and isinstance(network.get("graph"), str):
        checked_table(
            data, path.name, text
        )  # misspelt keys first: they are nearer to the user than the graph
        graph = _graph_beside(network, path, text)
        data["network"] = {
            **graph.to_object(),
            **{word: network[word] for word in network if word != "graph"},
        }
        data["costs"] = _costs_of(graph, data.get("costs", {}))
    return machine_from_object({"name": path.stem, **data}, path.name, text)


def _costs_of(graph: Graph, stated: Mapping[str, Any]) -> dict[str, Any]:
    """`stated` and what a graph's file says of costs that nobody stated."""
    own = {
        word: {"value": value, "tag": "given", "source": graph.where}
        for word, value in graph.costs.items()
        if not {word, *WORDS[word].covers} & set(stated)
    }
    return {**own, **stated}


def _graph_beside(network: Mapping[str, Any], path: Path, text: str) -> Graph:
    """The graph in the file that `[network]` names."""
    for word in (
        "links",
        "widths",
        "rates",
        "nodes",
        "endpoints",
        "labels",
        "both_ways",
        "sides",
        "dimensions",
        "planes",
        "family",
        "level",
        "group",
        "place",
    ):
        if word in network:
            place = located(path.name, ("network", word), text)
            raise InputError(f"{place}: cannot stand beside graph, whose file says it")
    return read_graph(path.parent / network["graph"])


def machine_from_object(data: Mapping[str, Any], where: str, text: str = "") -> Machine:
    """The machine that a machine file's object says.

    `where` names its file and `text` is its contents, for lines.

    Raises:
        InputError: an object against the model, or numbers that do not fit each other.
    """
    table = checked_table(data, where, text)
    if table.network.graph is not None:
        raise InputError(
            f"{where}: network.graph: names a file; an object carries the links themselves"
        )
    machine = machine_of_table(table, table.name or where, where, text, document=_plain(data))
    object.__setattr__(machine, "origin", "document")  # nobody else has the machine yet
    return machine


def _plain(value: Any) -> Any:
    """A deep copy in dicts and lists, as JSON gives it back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def machine_of_table(
    table: MachineTable, name: str, where: str, text: str, document: Any = None
) -> Machine:
    """The machine that a checked table says.

    `document` is the object that stands in files for it.
    """
    if table.mode is not None and table.mode not in table.modes:
        known = f"known: {', '.join(table.modes)}" if table.modes else "there is no table [modes]"
        raise InputError(f"{located(where, ('mode',), text)}: unknown mode '{table.mode}': {known}")
    try:
        own, modes = _exact_costs(table) if table.exact else _stated_costs(table)
    except UsageError as error:
        raise InputError(f"{located(where, ('costs',), text)}: {error}") from None
    try:
        topology, routing = _network(table.network, own.costs.link_Bps, f"{where}: network")
    except UsageError as error:
        raise InputError(f"{located(where, ('network',), text)}: {error}") from None
    if not table.exact:
        own = own.changed(lambda costs: with_own_ports(costs, topology))
        modes = {
            mode: costs.changed(lambda costs: with_own_ports(costs, topology))
            for mode, costs in modes.items()
        }
    limits = table.limits
    return Machine(
        name,
        topology,
        routing,
        own.costs,
        Limits(limits.send, limits.receive, limits.link, limits.channels, limits.duplex),
        tuple(limits.methods),
        cast("Mapping[str, Any] | None", document),
        tuple(table.notes),
        own.method_costs,
        table.mode or "",
        modes,
    )


def _stated_costs(table: MachineTable) -> tuple[ModeCosts, dict[str, ModeCosts]]:
    """What people state, over the costs of bare networks: in use, and in every mode."""
    base = _costs(default_costs(), table.costs)
    modes = {mode: _methods(_costs(base, own), table.methods) for mode, own in table.modes.items()}
    return modes[table.mode] if table.mode is not None else _methods(base, table.methods), modes


def _costs(base: Costs, table: CostsTable) -> Costs:
    return stated_costs(base, table.changes().items(), Provenance("given", "machine file"))


def _methods(costs: Costs, methods: Mapping[str, CostsTable]) -> ModeCosts:
    return ModeCosts(costs, {method: _costs(costs, own) for method, own in methods.items()})


def _exact_costs(table: MachineTable) -> tuple[ModeCosts, dict[str, ModeCosts]]:
    """What a machine's record says, word by word; see `conset.machine.record`."""

    def exact(base: Costs, own: CostsTable) -> Costs:
        return changed_costs(base, own.changes().items(), Provenance("given", "machine file"))

    def with_methods(costs: Costs, methods: Mapping[str, CostsTable]) -> ModeCosts:
        return ModeCosts(costs, {method: exact(costs, own) for method, own in methods.items()})

    fields = {field for word in table.costs.changes() for field in WORDS[word].fields}
    missing = [
        word
        for word, entry in WORDS.items()
        if not entry.covers and not fields >= set(entry.fields)
    ]
    if missing:
        raise UsageError(f"exact = true: every word is required, {missing[0]} is missing")
    costs = exact(Costs(), table.costs)
    modes = {
        mode: with_methods(exact(costs, own), table.mode_methods.get(mode, {}))
        for mode, own in table.modes.items()
    }
    return with_methods(costs, table.methods), modes


def _network(table: NetworkTable, rate: float, where: str) -> tuple[Topology, Routing]:
    if table.family is not None:
        return _family(table, table.family, rate, where)
    if table.links is not None or table.kind == "graph":
        return _graph(table, rate, where)
    if table.kind is None:
        raise InputError(f"{where}: needs kind, family, graph or links")
    for word in ("widths", "rates", "endpoints", "labels", "level", "group", "place", "routes"):
        if getattr(table, word) is not None:
            raise InputError(f"{where}.{word}: belongs to a graph, the kind is {table.kind}")
    sizes = _sizes(table, where)
    try:
        topology = build_topology(table.kind, sizes, table.width)
        if table.planes > 1:
            tie = build_routing(table.kind, None, table.tie).tie
            return build_planes(topology, table.planes), Routing(_plane_rule(table.routing), tie)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return topology, build_routing(table.kind, table.routing, table.tie, table.hash)


def _family(table: NetworkTable, words: str, rate: float, where: str) -> tuple[Topology, Routing]:
    """A graph in words.

    Nothing else of `[network]` but the rule for paths may stand beside them.
    """
    others = (
        table.model_fields_set
        - {"family", "routing", "hash"}
        - ({"kind"} if table.kind == "graph" else set())
    )
    if others:
        raise InputError(f"{where}.{min(others)}: cannot stand beside family, whose words say it")
    try:
        topology = build_family(words, link_Bps=rate)
    except InputError as error:
        raise InputError(f"{where}.family: {error}") from None
    return topology, family_routing(topology, table.routing, table.hash)


def _plane_rule(rule: Rule | None) -> Rule:
    if rule not in ("planes", "shortest-path", None):
        raise unknown_name("routing over planes", str(rule), ("planes", "shortest-path"))
    return rule or "planes"


def _sizes(table: NetworkTable, where: str) -> tuple[int, ...]:
    """Sizes as `build_topology` takes them, from the one word that the kind knows."""
    keys = {
        "mesh": ("sides",),
        "torus": ("sides",),
        "ring": ("nodes", "sides"),
        "crossbar": ("nodes",),
    }
    wanted = keys.get(str(table.kind), ("dimensions", "nodes"))
    given = [word for word in ("sides", "dimensions", "nodes") if getattr(table, word) is not None]
    if len(given) != 1 or given[0] not in wanted:
        rule = f"a {table.kind} needs {' or '.join(wanted)}"
        raise InputError(f"{where}: {rule}, given {' and '.join(given) or 'neither'}")
    if table.kind == "hypercube" and table.nodes is not None:
        if table.nodes & (table.nodes - 1):
            raise InputError(f"{where}.nodes = {table.nodes}: a hypercube needs a power of two")
        return (table.nodes.bit_length() - 1,)
    value = getattr(table, given[0])
    return tuple(value) if isinstance(value, list) else (value,)


def _graph(table: NetworkTable, rate: float, where: str) -> tuple[Topology, Routing]:
    if table.links is None or table.kind not in ("graph", None):
        raise InputError(
            f"{where}: a graph needs links, and kind graph or none; the kind is {table.kind}"
        )
    for word, default in (
        ("sides", None),
        ("dimensions", None),
        ("tie", None),
        ("width", 1),
        ("planes", 1),
    ):
        if getattr(table, word) != default:
            raise InputError(f"{where}.{word}: belongs to a regular network, not to a graph")
    edges = _edges(table, where)
    nodes = table.nodes or max((max(pair) for pair in table.links), default=0) + 1
    if nodes > 2 * len(edges) + 1:  # before arrays of that size are made
        raise InputError(
            f"{where}: {nodes} nodes, of which {len(edges)} links join at most {2 * len(edges)}"
        )
    for k, pair in enumerate(table.links):
        if max(pair) >= nodes:
            raise InputError(f"{where}.links[{k}] = {list(pair)}: nodes are from 0 to {nodes - 1}")
    labels = tuple(table.labels or ())
    for word in ("labels", "level", "group", "place"):
        rows = getattr(table, word)
        if rows and len(rows) != nodes:
            what = "names" if word == "labels" else "numbers"
            raise InputError(f"{where}.{word}: {len(rows)} {what} for {count_of(nodes, 'node')}")
    endpoints = table.endpoints or nodes
    if endpoints > nodes:
        raise InputError(
            f"{where}.endpoints = {endpoints}: must be at most the {count_of(nodes, 'node')}"
        )
    graph = Graph(
        nodes,
        endpoints,
        tuple(both_ways(edges) if table.both_ways else edges),
        labels,
        where,
        tuple(table.level or ()),
        tuple(table.group or ()),
        tuple(table.place or ()),
    )
    topology = graph.to_topology(rate)
    if table.routes is not None:
        return topology, route_table(topology, table.routes, f"{where}.routes")
    return topology, build_routing("graph", table.routing, seed=table.hash)


def _edges(table: NetworkTable, where: str) -> list[Edge]:
    links = table.links or []
    for word in ("widths", "rates"):
        given = getattr(table, word)
        if given is not None and len(given) != len(links):
            raise InputError(f"{where}.{word}: {len(given)} for {count_of(len(links), 'link')}")
    edges = []
    for k, (source, target) in enumerate(links):
        if source == target:
            raise InputError(f"{where}.links[{k}] = [{source}, {target}]: joins a node to itself")
        rate = nan if table.rates is None else _own_rate(table.rates[k], f"{where}.rates[{k}]")
        width = 1 if table.widths is None else table.widths[k]
        edges.append(Edge(source, target, width, rate, f"{where}.links[{k}]"))
    return edges


def _own_rate(value: Any, where: str) -> float:
    if value == "machine":
        return nan
    try:
        rate = read_rate(value, "rate")
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None
    return rate if rate < inf else nan
