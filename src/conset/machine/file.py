"""Machine files: TOML, graphs and the objects in schedule files, to a Machine; presets are such files too.

A machine from a file carries its whole object (`Machine.document`), with the links of a graph inline and no path in
it, so that a schedule file needs nothing beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from math import inf, nan
from pathlib import Path
from typing import Any, cast

from conset.errors import InputError, UsageError
from conset.files import require_file
from conset.machine.costs import Costs, Provenance
from conset.machine.limits import Limits
from conset.machine.machine import Machine, ModeCosts, require_mode
from conset.machine.model import CostsTable, MachineTable, NetworkTable, checked_table, located
from conset.machine.spec import build_routing, build_topology, default_costs, parse_sizes
from conset.machine.word_values import read_rate
from conset.machine.words import WORDS, changed_costs, stated_costs
from conset.network.graph import Edge, Graph, both_ways
from conset.network.graph_files import read_graph
from conset.network.route_table import route_table
from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.toml import parse_toml


def read_machine(path: str | Path) -> Machine:
    """The machine in a `.toml` file, or a graph (GraphML, GML, edge list) with the costs of a bare network.

    Raises:
        InputError: missing, empty, cut short, or contents against the model; names file, line, key, rule and value.
    """
    path = require_file(path)
    if path.suffix.lower() != ".toml":
        return machine_from_object({"name": path.stem, "network": read_graph(path).to_object()}, path.name)
    data, text = parse_toml(path.read_bytes(), path.name, "machine")
    network = data.get("network")
    if isinstance(network, dict) and isinstance(network.get("graph"), str):
        checked_table(data, path.name, text)  # misspelt keys first: they are nearer to the user than the graph
        data["network"] = _inlined(network, path, text)
    return machine_from_object({"name": path.stem, **data}, path.name, text)


def _inlined(network: Mapping[str, Any], path: Path, text: str) -> dict[str, Any]:
    """`[network]` with the links of its graph file instead of the file's name."""
    for word in ("links", "widths", "rates", "nodes", "endpoints", "labels", "both_ways", "sides", "dimensions"):
        if word in network:
            place = located(path.name, ("network", word), text)
            raise InputError(f"{place}: cannot stand beside graph, whose file says it")
    graph = read_graph(path.parent / network["graph"])
    rest = {word: value for word, value in network.items() if word != "graph"}
    return {**graph.to_object(), **rest}


def machine_from_object(data: Mapping[str, Any], where: str, text: str = "") -> Machine:
    """The machine that a machine file's object says; `where` names its file and `text` is its contents, for lines.

    Raises:
        InputError: an object against the model, or numbers that do not fit each other.
    """
    table = checked_table(data, where, text)
    if table.network.graph is not None:
        raise InputError(f"{where}: network.graph: names a file; an object carries the links themselves")
    machine = _machine(table, table.name or where, where, text, document=_plain(data))
    object.__setattr__(machine, "origin", "document")  # nobody else has the machine yet
    return machine


def _plain(value: Any) -> Any:
    """A deep copy in dicts and lists, as JSON gives it back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _machine(table: MachineTable, name: str, where: str, text: str, document: Any = None) -> Machine:
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
    missing = [word for word, entry in WORDS.items() if not entry.covers and not fields >= set(entry.fields)]
    if missing:
        raise UsageError(f"exact = true: every word is required, {missing[0]} is missing")
    costs = exact(Costs(), table.costs)
    modes = {
        mode: with_methods(exact(costs, own), table.mode_methods.get(mode, {})) for mode, own in table.modes.items()
    }
    return with_methods(costs, table.methods), modes


def _network(table: NetworkTable, rate: float, where: str) -> tuple[Topology, Routing]:
    if table.links is not None or table.kind == "graph":
        return _graph(table, rate, where)
    if table.kind is None:
        raise InputError(f"{where}: needs kind, graph or links")
    for word in ("widths", "rates", "endpoints", "labels", "routes"):
        if getattr(table, word) is not None:
            raise InputError(f"{where}.{word}: belongs to a graph, the kind is {table.kind}")
    sizes = _sizes(table, where)
    try:
        topology = build_topology(table.kind, sizes, table.width)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return topology, build_routing(table.kind, table.routing, table.tie)


def _sizes(table: NetworkTable, where: str) -> tuple[int, ...]:
    """Sizes as `build_topology` takes them, from the one word that the kind knows."""
    keys = {"mesh": ("sides",), "torus": ("sides",), "ring": ("nodes", "sides"), "crossbar": ("nodes",)}
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
        raise InputError(f"{where}: a graph needs links, and kind graph or none; the kind is {table.kind}")
    for word, default in (("sides", None), ("dimensions", None), ("tie", None), ("width", 1)):
        if getattr(table, word) != default:
            raise InputError(f"{where}.{word}: belongs to a regular network, not to a graph")
    edges = _edges(table, where)
    nodes = table.nodes or max((max(pair) for pair in table.links), default=0) + 1
    if nodes > 2 * len(edges) + 1:  # before arrays of that size are made
        raise InputError(f"{where}: {nodes} nodes, of which {len(edges)} links join at most {2 * len(edges)}")
    for k, pair in enumerate(table.links):
        if max(pair) >= nodes:
            raise InputError(f"{where}.links[{k}] = {list(pair)}: nodes are from 0 to {nodes - 1}")
    labels = tuple(table.labels or ())
    if labels and len(labels) != nodes:
        raise InputError(f"{where}.labels: {len(labels)} names for {nodes} nodes")
    endpoints = table.endpoints or nodes
    if endpoints > nodes:
        raise InputError(f"{where}.endpoints = {endpoints}: must be at most the {nodes} nodes")
    graph = Graph(nodes, endpoints, tuple(both_ways(edges) if table.both_ways else edges), labels, where)
    topology = graph.to_topology(rate)
    if table.routes is not None:
        return topology, route_table(topology, table.routes, f"{where}.routes")
    return topology, build_routing("graph", table.routing)


def _edges(table: NetworkTable, where: str) -> list[Edge]:
    links = table.links or []
    for word in ("widths", "rates"):
        given = getattr(table, word)
        if given is not None and len(given) != len(links):
            raise InputError(f"{where}.{word}: {len(given)} for {len(links)} links")
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


def load_preset(name: str, size: str = "", mode: str = "") -> Machine:
    """A preset of the texts at a size of its network; `size` as after the colon of a spec; "": its own size and mode.

    Raises:
        UsageError: a size that does not fit the network, or a transfer mode it does not have.
    """
    where = f"{name}.toml"
    data, text = parse_toml(files("conset.machine.presets").joinpath(where).read_bytes(), where, "machine")
    network = data["network"]
    word = "sides" if "sides" in network else "nodes"
    if not size:
        size = "x".join(map(str, network[word])) if word == "sides" else str(network[word])
    sizes = parse_sizes(size, f"{name}:{size}")
    wanted = len(network[word]) if word == "sides" else 1
    if len(sizes) != wanted:
        raise UsageError(f"{name}:{size}: {wanted} sizes required, given {len(sizes)}")
    if network["kind"] == "hypercube" and sizes[0] & (sizes[0] - 1):
        raise UsageError(f"{name}:{size}: a hypercube needs a power of two of nodes, given {sizes[0]}")
    network[word] = list(sizes) if word == "sides" else sizes[0]
    if mode:
        require_mode(mode, tuple(data.get("modes", ())), name)
        data["mode"] = mode
    return _machine(checked_table(data, where, text), f"{name}:{size}", where, text)


def preset_about(name: str) -> str:
    """The one line that says what a preset is."""
    where = f"{name}.toml"
    data, text = parse_toml(files("conset.machine.presets").joinpath(where).read_bytes(), where, "machine")
    return checked_table(data, where, text).about
