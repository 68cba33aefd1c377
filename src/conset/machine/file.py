"""Machine files: TOML, graphs and the objects in schedule files, to a Machine.

One strict model (`MachineTable`) has the form of them all; presets and the records of machines in
schedule files (`conset.machine.machine`) have it too.

Presets: machines by name and size.

Each is a machine file of this package with a table `[preset]` beside it.

    [preset] sizes = ["X", "Y", "Z"] what the numbers after the colon are: first sides of a box,
    arguments of a family
    multiple = 4                   of every one of them
    about_sizes = "…"              one line for people
    example = "conset compile …"
    [preset.structure]             numbers of the network itself, each with tag and source, as the
                                   costs have them
    routers = { value = 32, tag = "printed", source = "…" }
    [[preset.published]]           figures that somebody measured or printed, beside which the
                                   preset is put
    figure = "bisection"
    size = "16x16x16"
    value = "24 TB/s"
    source = "…"

Machines of the texts leave `sizes` out: theirs are all sides of their network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    WithJsonSchema,
)

from conset.base import (
    InputError,
    Keys,
    Table,
    UsageError,
    checked_table,
    count_of,
    keys_at,
    located,
    nearest,
    parse_toml,
    require_file,
    require_texts,
    rule_of,
)
from conset.machine.costs import Costs, Limits, Provenance
from conset.machine.machine import Machine, ModeCosts, require_mode
from conset.machine.network.families import (
    FAMILIES,
    build_family,
    build_routing,
    find_family,
    parse_family,
)
from conset.machine.network.family import read_sizes
from conset.machine.network.graph import MAX_PLACE, Edge, Graph, both_ways, rate_of
from conset.machine.network.graph_files import read_graph
from conset.machine.network.routing import MAX_SEED, Routing, Rule, Tie, route_table
from conset.machine.network.topology import FamilyMember, Topology
from conset.machine.words import (
    NEVER,
    PARAMETERS,
    changed_costs,
    default_costs,
    split_tagged,
    stated_costs,
)

Count = Annotated[StrictInt, Field(ge=1, lt=2**31)]
NodeId = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Place = Annotated[StrictFloat | StrictInt, Field(gt=-MAX_PLACE, lt=MAX_PLACE)]
CostsTable = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {word: {"description": entry.unit} for word, entry in PARAMETERS.items()},
        }
    ),
]
"""`[costs]`: parameters of `machine.words.PARAMETERS`.

Each plain or `{ value = …, tag = "printed", source = "…", within = 1.2 }`.
"""


class NetworkTable(Table):
    """`[network]`: a kind and its size, or a graph.

    From a specification, from a file, or with its links inline.

    Attributes:
        kind: what kind of regular network; a graph where `graph`, `links` or `family` is given.
        family: the specification that builds a graph, such as `fat-tree:k=16,taper=2`.
        sides: of a mesh, torus or ring.
        dimensions: of a hypercube.
        nodes: of a hypercube (a power of two), ring, crossbar or inline graph.
        width: of every link of a regular network.
        planes: how many planes of a regular network, each with every link once.
        routing: the rule for paths.
        hash: the seed of a rule that draws routes by a hash.
        tie: how ties on a cycle are broken.
        graph: a file of a graph, such as GraphML or htsim's `.topo`, relative to the machine file.
        links: pairs of node ids.
        widths: one per link.
        rates: one per link: a rate, or "machine" for the `link` of the costs.
        both_ways: whether each of `links` is two links, one each way.
        endpoints: how many nodes, the first ones, may hold ranks; all where absent.
        labels: one name per node.
        level: one number per node: its height above the endpoints, these 0.
        group: one number per node: which pod, group or host it belongs to; -1: none.
        place: one pair per node: where a map has it, x to the right and y upwards.
        routes: paths of node ids; a pair that has none takes the shortest path.
        route_links: the same as paths of links, numbered by the node they leave, the node they
            enter, and their order in `links`.
        next_links: with the routing `forwarding` one list per switch: the link, so numbered, by
            which it sends on what is for each endpoint; -1: none.
        link_labels: one name per link, in that order: the port at which it begins.
    """

    kind: Literal["mesh", "torus", "ring", "hypercube", "crossbar", "graph"] | None = None
    family: str | None = None
    sides: list[Count] | None = None
    dimensions: Annotated[StrictInt, Field(ge=0, le=24)] | None = None
    nodes: Count | None = None
    width: Count = 1
    planes: Count = 1
    routing: Rule | None = None
    hash: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)] | None = None
    tie: Tie | None = None
    graph: str | None = None
    links: list[tuple[NodeId, NodeId]] | None = None
    widths: list[Count] | None = None
    rates: list[Any] | None = None
    both_ways: bool = True
    endpoints: Count | None = None
    labels: list[str] | None = None
    level: list[NodeId] | None = None
    group: list[Annotated[StrictInt, Field(ge=-1, lt=2**31)]] | None = None
    place: list[tuple[Place, Place]] | None = None
    routes: list[list[NodeId]] | None = None
    route_links: list[list[NodeId]] | None = None
    next_links: list[list[Annotated[StrictInt, Field(ge=-1, lt=2**31)]]] | None = None
    link_labels: list[str] | None = None


class LimitsTable(Table):
    """`[limits]`: hard limits of the machine, and the methods they hold for (all where absent)."""

    send: Count | None = None
    receive: Count | None = None
    link: Count | None = None
    channels: Annotated[StrictInt, Field(ge=2)] | None = None
    duplex: Literal["full", "exchange"] = "full"
    methods: list[str] = Field(default=[])


class MachineTable(Table):
    """A machine file.

    Attributes:
        name: for people; the file's stem where absent.
        about: one line for people.
        network: what carries.
        costs: what things take; words left out have the defaults of bare networks.
        limits: hard limits.
        methods: costs that differ for some methods, by their names.
        modes: costs that differ by how data gets to and from the network, by the names of transfer
            modes; parameters of `methods` go before them.
        mode: the transfer mode in use; none of them where absent.
        notes: remarks for people.
        exact: a machine as programs write it into schedule files: `costs` hold every word and are
            those in use, with nothing of a mode to be added; `methods` and `modes` hold what
            differs from them.
        mode_methods: with `exact`, costs of methods in each mode, as they differ from the mode's.
    """

    name: str | None = None
    about: str = ""
    network: NetworkTable
    costs: CostsTable = Field(default={})
    limits: LimitsTable = LimitsTable()
    methods: dict[str, CostsTable] = Field(default={})
    modes: dict[str, CostsTable] = Field(default={})
    mode: str | None = None
    notes: list[str] = Field(default=[])
    exact: bool = False
    mode_methods: dict[str, dict[str, CostsTable]] = Field(default={})


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
        table = MachineTable(name=path.stem, network=NetworkTable(), notes=list(graph.notes))
        return machine_of_table(table, path.name, graph=graph)
    data, text = parse_toml(path.read_bytes(), path.name, "machine")
    table = _checked({"name": path.stem, **data}, path.name, text)
    network = table.network
    if network.graph is None:
        return machine_of_table(table, path.name, text)
    for word in sorted(network.model_fields_set - {"graph", "kind", *_ROUTING}):
        raise InputError(
            f"{located(path.name, ('network', word), text)}: cannot stand beside graph, "
            "whose file says it"
        )
    return machine_of_table(table, path.name, text, read_graph(path.parent / network.graph))


def machine_from_object(data: Mapping[str, Any], where: str, text: str = "") -> Machine:
    """The machine of a machine file's object.

    `where` names its file and `text` is its contents, for lines.

    Raises:
        InputError: an object against the model, or numbers that do not fit each other.
    """
    require_texts(data, where)
    table = _checked(data, where, text)
    if table.network.graph is not None:
        raise InputError(
            f"{where}: network.graph: names a file; an object carries the links themselves"
        )
    return machine_of_table(table, where, text)


def _checked(data: Mapping[str, Any], where: str, text: str = "") -> MachineTable:
    """The model of a machine file's object; `text`, where there is one, gives the line.

    Raises:
        InputError: the first thing that is wrong: file, line, key, rule and value.
    """
    try:
        table = MachineTable.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = tuple(first["loc"])
        rule = rule_of(first, path, lambda path: keys_at(MachineTable, path), "word")
        raise InputError(f"{located(where, path, text)}: {rule}") from None
    _check_costs(table.costs, ("costs",), where, text)
    for key, tables in (("methods", table.methods), ("modes", table.modes)):
        for name, costs in tables.items():
            _check_costs(costs, (key, name), where, text)
    for mode, tables in table.mode_methods.items():
        for name, costs in tables.items():
            _check_costs(costs, ("mode_methods", mode, name), where, text)
    return table


def _check_costs(table: Mapping[str, Any], path: Keys, where: str, text: str) -> None:
    """Raises InputError for an unknown word, a value that does not parse, or a word twice."""
    for word, value in table.items():
        place = located(where, (*path, word), text)
        if word not in PARAMETERS:
            raise InputError(f"{place}: unknown word '{word}': {nearest(word, PARAMETERS)}")
        try:
            PARAMETERS[word].read(split_tagged(value, word)[0], word)
        except (UsageError, InputError) as error:
            raise InputError(f"{place}: {error}") from None
    for wide, entry in PARAMETERS.items():
        both = [narrow for narrow in entry.covers if narrow in table]
        if wide in table and both:
            rule = f"{wide} says both {' and '.join(entry.covers)}"
            place = located(where, path, text)
            raise InputError(f"{place}: {wide} and {both[0]} exclude each other: {rule}")


def machine_of_table(
    table: MachineTable,
    where: str,
    text: str = "",
    graph: Graph | None = None,
    network: tuple[Topology, Routing] | None = None,
) -> Machine:
    """The machine of a checked table, whose links may be those of a graph's file beside it.

    Or those of a network that is there already.
    """
    if table.mode is not None and table.mode not in table.modes:
        known = f"known: {', '.join(table.modes)}" if table.modes else "there is no table [modes]"
        raise InputError(f"{located(where, ('mode',), text)}: unknown mode '{table.mode}': {known}")
    try:
        own, modes = _costs(table, graph)
    except UsageError as error:
        raise InputError(f"{located(where, ('costs',), text)}: {error}") from None
    try:
        topology, routing = network or _network(
            table.network, graph, own.costs.link_Bps, f"{where}: network"
        )
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
        table.name or where,
        topology,
        routing,
        own.costs,
        Limits(limits.send, limits.receive, limits.link, limits.channels, limits.duplex),
        tuple(limits.methods),
        tuple(table.notes),
        own.method_costs,
        table.mode or "",
        modes,
    )


def _costs(table: MachineTable, graph: Graph | None) -> tuple[ModeCosts, dict[str, ModeCosts]]:
    """The costs in use, and those of every mode.

    People state some, over the costs of bare networks. A record (`exact`) has every word of what is
    in use, and what differs from it elsewhere.
    """
    change = changed_costs if table.exact else stated_costs

    def over(base: Costs, words: Mapping[str, Any]) -> Costs:
        ordered = [(word, words[word]) for word in PARAMETERS if word in words]
        return change(base, ordered, Provenance("given", "machine file"))

    def with_methods(costs: Costs, methods: Mapping[str, CostsTable]) -> ModeCosts:
        return ModeCosts(costs, {method: over(costs, own) for method, own in methods.items()})

    stated = dict(table.costs)
    if graph is not None:
        for word, value in graph.costs.items():
            if not {word, *PARAMETERS[word].covers} & set(stated):
                stated[word] = {"value": value, "tag": "given", "source": graph.where}
    if table.exact:
        fields = {field for word in stated for field in PARAMETERS[word].fields}
        for word, entry in PARAMETERS.items():
            required = entry.absent is NEVER and not entry.covers
            if required and not fields >= set(entry.fields):
                raise UsageError(f"exact = true: every word is required, {word} is missing")
    base = over(default_costs(), stated)
    modes = {
        mode: with_methods(
            over(base, own), table.mode_methods.get(mode, {}) if table.exact else table.methods
        )
        for mode, own in table.modes.items()
    }
    if table.mode is not None and not table.exact:
        return modes[table.mode], modes
    return with_methods(base, table.methods), modes


def _ports_of_planes(costs: Costs, topology: Topology, said: list[Provenance]) -> Costs:
    """Of circuit switches: a port of each plane has the whole rate that was given for a port."""
    given = [each for each in said if each.tag != "default"]
    rate, link = min(costs.port_out_Bps, costs.port_in_Bps), costs.provenance.get("link")
    link_tag = "default" if link is None else link.tag
    newer = link_tag != "given" and any(each.tag == "given" for each in given)
    if given and (newer or link_tag == "default" or costs.link_Bps > rate):
        source, link_tag = Provenance("default", f"port: {given[0].source}"), "default"
        costs = changed_costs(costs, [("link", f"{rate!r} B/s" if rate < inf else "none")], source)
    total = costs.link_Bps * topology.planes
    source = Provenance(
        "default" if link_tag == "default" else "derived", f"link, of {topology.planes} planes"
    )
    rate_of_all = f"{total!r} B/s" if total < inf else "none"
    return changed_costs(costs, [("port_out", rate_of_all), ("port_in", rate_of_all)], source)


def with_own_ports(costs: Costs, topology: Topology) -> Costs:
    """With ports that do not slow down the links of an endpoint, where no port is given.

    Of an endpoint that hangs on switches the port is as fast as its links together: a host's link
    is what limits it, whatever its rate. Elsewhere it is at least as fast as the fastest link of
    any endpoint. `port=25GB/s` states another limit.
    """
    said = [costs.provenance.get(word) for word in ("port", "port_out", "port_in")]
    if costs.reconfigure_s is not None and topology.planes > 1:
        return _ports_of_planes(costs, topology, [each for each in said if each])
    if (
        not topology.link_slots
        or costs.link_Bps == inf
        or any(each and each.tag != "default" for each in said)
    ):
        return costs
    own, level = topology.link_rate_Bps, topology.level
    source, target = topology.ends
    leaves = source < topology.endpoints
    rate = topology.widths() * (costs.link_Bps if own is None else own)
    hosts = leaves if level is None else level[source] == 0
    is_direct = level is None or bool((level[target[hosts]] == 0).any())
    if topology.family is None or is_direct or not hosts.any():
        least = float(rate[leaves].max(initial=0.0))
        if least <= costs.port_out_Bps:
            return costs
    else:
        least = float(np.bincount(source[hosts], rate[hosts], topology.endpoints).min())
    return changed_costs(
        costs, [("port", f"{least!r} B/s")], Provenance("default", "the links of an endpoint")
    )


_ROUTING = ("routing", "hash", "tie", "routes", "route_links", "next_links")
"""Keys of `[network]` that stand beside a family or a graph."""


def _network(
    table: NetworkTable, graph: Graph | None, rate: float, where: str
) -> tuple[Topology, Routing]:
    is_graph = table.links is not None or (table.kind == "graph" and table.family is None)
    if graph is not None or is_graph:
        topology = Topology.of_graph(_graph(table, where) if graph is None else graph, rate)
        if table.link_labels is not None:
            topology = replace(topology, link_labels=tuple(table.link_labels))
        if table.routes is not None:
            return topology, route_table(topology, table.routes, f"{where}.routes")
        if table.route_links is not None:
            place = f"{where}.route_links"
            return topology, route_table(topology, table.route_links, place, of_links=True)
        if table.next_links is not None:
            return topology, _forwarding(topology, table.next_links, f"{where}.next_links")
    else:
        member = member_of_table(table, where)
        try:
            topology = build_family(member, link_Bps=rate)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    return topology, build_routing(topology, table.routing, table.tie, table.hash)


def _forwarding(topology: Topology, rows: list[list[int]], where: str) -> Routing:
    """The routing of next links, a row for each switch."""
    for k, row in enumerate(rows):
        if len(row) != topology.endpoints:
            raise InputError(
                f"{where}[{k}]: {len(row)} links for {count_of(topology.endpoints, 'endpoint')}"
            )
    return Routing("forwarding", next_link=np.array(rows, np.int32).ravel())


def member_of_table(table: NetworkTable, where: str) -> FamilyMember:
    """The network that a table names: by its family, or by its kind and size.

    Raises:
        UsageError: an unknown family or parameter, or a value out of range.
        InputError: keys that do not belong together.
    """
    stated = table.model_fields_set - {"kind", *_ROUTING[:3]}
    if table.family is not None:
        others = stated - {"family"} | ({"kind"} if table.kind not in ("graph", None) else set())
        if others:
            raise InputError(
                f"{where}.{min(others)}: cannot stand beside family, whose words say it"
            )
        return parse_family(table.family)
    if table.kind is None:
        raise InputError(f"{where}: needs kind, family, graph or links")
    for word in sorted(stated - {"sides", "dimensions", "nodes", "width", "planes"}):
        raise InputError(f"{where}.{word}: belongs to a graph, the kind is {table.kind}")
    family = FAMILIES[table.kind]
    size = family.parameters[0].name
    wanted = {"ring": ("nodes", "sides"), "hypercube": ("dimensions", "nodes")}.get(
        table.kind, (size,)
    )
    given = [word for word in ("sides", "dimensions", "nodes") if word in stated]
    if len(given) != 1 or given[0] not in wanted:
        raise InputError(
            f"{where}: a {table.kind} needs {' or '.join(wanted)}, given "
            f"{' and '.join(given) or 'neither'}"
        )
    value = getattr(table, given[0])
    if given[0] == "nodes" and size == "dimensions":
        if value & (value - 1):
            raise InputError(f"{where}.nodes = {value}: a hypercube needs a power of two")
        value = value.bit_length() - 1
    elif given[0] == "sides":
        if size == "nodes" and len(value) > 1:
            raise InputError(f"{where}: a {table.kind} has one side, given {len(value)}")
        value = tuple(value) if size == "sides" else value[0]
    return family.member({size: value, "width": table.width, "planes": table.planes})


def _graph(table: NetworkTable, where: str) -> Graph:
    """The graph whose links a table has."""
    links = table.links
    if links is None or table.kind not in ("graph", None):
        raise InputError(
            f"{where}: a graph needs links, and kind graph or none; the kind is {table.kind}"
        )
    for word in ("sides", "dimensions", "tie", "width", "planes"):
        if word in table.model_fields_set:
            raise InputError(f"{where}.{word}: belongs to a regular network, not to a graph")
    for word in ("widths", "rates"):
        given = getattr(table, word)
        if given is not None and len(given) != len(links):
            raise InputError(f"{where}.{word}: {len(given)} for {count_of(len(links), 'link')}")
    edges = []
    for k, (source, target) in enumerate(links):
        if source == target:
            raise InputError(f"{where}.links[{k}] = [{source}, {target}]: joins a node to itself")
        rate = "machine" if table.rates is None else table.rates[k]
        rate_Bps = nan if rate == "machine" else rate_of(rate, f"{where}.rates[{k}]")  # noqa: N806
        width = 1 if table.widths is None else table.widths[k]
        edges.append(Edge(source, target, width, rate_Bps, f"{where}.links[{k}]"))
    nodes = table.nodes or max((max(pair) for pair in links), default=0) + 1
    if nodes > 2 * len(edges) + 1:  # before arrays of that size are made
        raise InputError(
            f"{where}: {nodes} nodes, of which {len(edges)} links join at most {2 * len(edges)}"
        )
    for k, pair in enumerate(links):
        if max(pair) >= nodes:
            raise InputError(f"{where}.links[{k}] = {list(pair)}: nodes are from 0 to {nodes - 1}")
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
    return Graph(
        nodes,
        endpoints,
        tuple(both_ways(edges) if table.both_ways else edges),
        tuple(table.labels or ()),
        where,
        tuple(table.level or ()),
        tuple(table.group or ()),
        tuple(table.place or ()),
    )


TEXTS = ("iwarp", "ipsc860", "delta", "paragon")
"""Machines of the texts."""
TODAY = ("bluegene-q", "dgx-h100", "ethernet", "frontier", "fugaku", "optical", "tpu-v4")
"""Machines of today."""
PRESETS = (*TEXTS, *TODAY)
"""All presets; each is `presets/<name>.toml`."""


class FactTable(Table):
    """A number of a network, and where it comes from."""

    value: StrictInt | str
    tag: str
    source: str


class PublishedTable(Table):
    """A figure of a source.

    What it is of, at which size of the machine, and what the source says.
    """

    figure: str
    size: str
    value: str
    source: str


class PresetTable(Table):
    """`[preset]`; see the module.

    Attributes:
        sizes: the numbers after the colon, in order.
        multiple: of which every size is one.
        about_sizes: one line on sizes.
        example: a command.
        structure: the network's own numbers, by word.
        published: figures of sources.
    """

    sizes: list[str] = Field(default=[])
    multiple: StrictInt = 1
    about_sizes: str = ""
    example: str = ""
    structure: dict[str, FactTable] = Field(default={})
    published: list[PublishedTable] = Field(default=[])


class Preset(PresetTable):
    """A preset as people ask for it; the machine itself is `load_preset`'s.

    Attributes:
        name: as in a spec.
        about: one line.
        default: the size where none is given, as after the colon.
        fixed: sides that every size has, such as `2x3x2`; "" where there are none.
    """

    name: str
    about: str
    default: str
    fixed: str

    def to_object(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "about": self.about,
            "sizes": self.sizes,
            "default": self.default,
            "fixed": self.fixed,
            "about_sizes": self.about_sizes,
            "example": self.example,
            "structure": [
                {"word": word, **fact.model_dump()} for word, fact in self.structure.items()
            ],
            "published": [figure.model_dump() for figure in self.published],
        }


@cache
def _read(name: str) -> tuple[dict[str, Any], PresetTable, str]:
    """The machine's own tables, that of the preset, and the text of the file.

    They cannot be changed.
    """
    where = f"{name}.toml"
    data, text = parse_toml(
        files("conset.machine").joinpath("presets", where).read_bytes(), where, "machine"
    )
    table = checked_table(PresetTable, data.pop("preset", {}), f"{where}: preset")
    for word, fact in table.structure.items():
        Provenance.of(fact.tag, fact.source or f"no source of {word}")
    return data, table, text


def preset(name: str) -> Preset:
    """What people want to know of a preset before they use it."""
    data, table, text = _read(name)
    machine = _checked(data, f"{name}.toml", text)
    words, values = _sizes_of(member_of_table(machine.network, name), table)
    return Preset(
        **{**dict(table), "sizes": list(words)},
        name=name,
        about=machine.about,
        default="x".join(map(str, values[: len(words)])),
        fixed="x".join(map(str, values[len(words) :])),
    )


def _sizes_of(member: FamilyMember, table: PresetTable) -> tuple[tuple[str, ...], list[int]]:
    """What the sizes are called, and the file's own values; those of fixed sides at the end."""
    values: Any = member.values
    if "sides" in values:
        return tuple(table.sizes) or ("side",) * len(values["sides"]), list(values["sides"])
    if "dimensions" in values:
        return ("nodes",), [2 ** values["dimensions"]]
    return tuple(table.sizes), [values[word] for word in table.sizes]


def load_preset(name: str, size: str = "", mode: str = "") -> Machine:
    """A preset at a size of its network; `size` as after the colon of a spec.

    "": its own size and mode.

    Raises:
        UsageError: a size that does not fit the network, or a transfer mode it does not have.
    """
    data, table, text = _read(name)
    where = f"{name}.toml"
    machine = _checked(data, where, text)
    member = member_of_table(machine.network, where)
    words, own = _sizes_of(member, table)
    size = size or "x".join(map(str, own[: len(words)]))
    sizes = _checked_sizes(name, size, words, own[len(words) :], table.multiple)
    values: dict[str, Any] = dict(zip(words, sizes, strict=True))
    if "sides" in member.values:
        values = {"sides": (*sizes, *own[len(words) :])}
    elif "dimensions" in member.values:
        if sizes[0] & (sizes[0] - 1):
            raise UsageError(
                f"{name}:{size}: a hypercube needs a power of two of nodes, given {sizes[0]}"
            )
        values = {"dimensions": sizes[0].bit_length() - 1}
    member = find_family(member.name).member({**member.values, **values})
    if mode:
        require_mode(mode, tuple(machine.modes), name)
    network = NetworkTable(
        family=str(member),
        routing=machine.network.routing,
        hash=machine.network.hash,
        tie=machine.network.tie,
    )
    changes = {"name": f"{name}:{size}", "mode": mode or machine.mode, "network": network}
    return machine_of_table(machine.model_copy(update=changes), where, text)


def _checked_sizes(
    name: str, size: str, words: tuple[str, ...], fixed: list[int], multiple: int
) -> tuple[int, ...]:
    """The sizes that are free; the fixed ones may be written after them."""
    sizes = read_sizes(size, f"{name}:{size}")
    if fixed and list(sizes[len(words) :]) == fixed:
        sizes = sizes[: len(words)]
    if len(sizes) != len(words):
        named = "" if set(words) == {"side"} else f" ({' x '.join(words)})"
        always = f", beside {'x'.join(map(str, fixed))} that every size has" if fixed else ""
        raise UsageError(
            f"{name}:{size}: {count_of(len(words), 'size')} required{named}{always}, given "
            f"{len(sizes)}"
        )
    for word, value in zip(words, sizes, strict=True):
        if value % multiple:
            raise UsageError(f"{name}:{size}: {word} = {value}: must be a multiple of {multiple}")
    return sizes
