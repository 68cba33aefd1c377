"""Machine specs: the words of the command line, a file, or a machine's object, to a Machine.

Costs changed by words.

    iwarp:8x8   ipsc860:64   delta:16x32   paragon:16x16         presets; sizes have defaults
    mesh:16x16   torus:8x8x8   hypercube:6   ring:9   crossbar:64   bare networks
    fat-tree:k=16,taper=2   dragonfly:groups=9,routers=4,nodes=2 … families
                            (`conset.machine.network.families.table`)
    cluster.toml   net.graphml net.gml net.edges files; also TopoHub's .json, htsim's .topo, .anynet

Options follow after commas: words for costs (`link=16GB/s`, `overhead=2us`, `synchronization=5us`
…, the same as in machine files and in `--set`), `mode=spooling` for a transfer mode of a preset,
and for the network `tie=plus`, `routing=no-wrap`, `hash=7` (the seed of `routing=ecmp` and
`valiant`), `width=2`, `planes=2` (that many of it side by side), `dead=3;7` (nodes), `dead=3-4`
(both links between two nodes).

`dead` leaves the graph of the surviving nodes: numbered densely in their old order, as ranks live
on the first endpoints, each labelled with its old id, shortest paths for routes. A pattern sees
that many fewer ranks.

A bare network is a topology by its kind and size, with costs nobody measured. The defaults, tagged
`default`, are those of no machine: round numbers near a cluster's of today, so that predictions on
a bare network compare schedules and nothing else. Machine files take them too for words they leave
out.

    link             25 GB/s per direction and unit of width
    port             25 GB/s out and 25 GB/s in, independent of each other
    model            flow
    overhead         0
    inject, eject    500 ns each per message, as latency; unstated beside `port=none`, which is no
                     interface at all, 0
    hop              100 ns
    synchronization  2 us · log2(nodes)
    setup            0
    signal           1 us
    first_barrier    false: entering the first phase is not charged
    tolerance        1, with blocking 0: links share fairly, nothing is lost
    flit             16 B
    in_flight, receives, outstanding_receives   all; lanes 1; per_transfer 0
    processors   two; receive   after; hop_by_size   none: hop holds for all sizes
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from math import inf
from pathlib import Path
from typing import Any, overload

import numpy as np

from conset.base.errors import InputError, UsageError, unknown_name
from conset.machine.costs import Costs, Provenance
from conset.machine.machine import Machine, with_mode
from conset.machine.network.families.table import FAMILIES, Family, build_family
from conset.machine.network.graph import without
from conset.machine.network.graph_files import GRAPH_READERS
from conset.machine.network.planes import build_planes, planes_of
from conset.machine.network.routing import HASHED, RULES, TIES, Routing
from conset.machine.network.topology import MAX_NODES, Topology
from conset.machine.words import (
    ALIASES,
    GIVEN,
    WORDS,
    changed_costs,
    current_word,
    split_options,
    stated_costs,
)

DEFAULTS: dict[str, Any] = {
    "model": "flow",
    "overhead": 0,
    "inject": "500 ns",
    "eject": "500 ns",
    "port": "25 GB/s",
    "node": "none",
    "link": "25 GB/s",
    "hop": "100 ns",
    "hop_by_size": "none",
    "synchronization": {"base": 0, "per_log2": "2 us"},
    "setup": 0,
    "signal": "1 us",
    "first_barrier": False,
    "tolerance": 1,
    "blocking": 0,
    "per_transfer": 0,
    "in_flight": "all",
    "receives": "all",
    "lanes": 1,
    "processors": "two",
    "receive": "after",
    "outstanding_receives": "all",
    "flit": "16 B",
}

KINDS = ("mesh", "torus", "hypercube", "ring", "crossbar")
DEFAULT_SIZE = {"mesh": "8x8", "torus": "8x8", "hypercube": "6", "ring": "8", "crossbar": "64"}
MAX_DIMENSIONS = MAX_NODES.bit_length() - 1
"""Of a hypercube."""
TEXTS = ("iwarp", "ipsc860", "delta", "paragon")
"""Machines of the texts."""
TODAY = ("bluegene-q", "dgx-h100", "ethernet", "frontier", "fugaku", "tpu-v4")
"""Machines of today."""
PRESETS = (*TEXTS, *TODAY)
"""All presets; each is `presets/<name>.toml`."""

_FAMILY_OPTIONS = ("routing", "hash")
"""Options of a family's machine that are neither its parameters nor costs."""
NETWORK_OPTIONS = ("routing", "hash", "tie", "width", "planes", "dead")
FILE_SUFFIXES = (".toml", *GRAPH_READERS)
_SETTING = "conset.machine.spec.with_settings"
"""What changes the costs of a machine of a file."""


@cache
def default_costs() -> Costs:
    """The documented costs of a bare network."""
    return changed_costs(Costs(), DEFAULTS.items(), Provenance("default"))


def parse_sizes(text: str, what: str) -> tuple[int, ...]:
    """`"8x8"` → (8, 8).

    Raises:
        UsageError: a size that is no whole number of at least 1.
    """
    sizes = []
    for k, part in enumerate(text.split("x")):
        if not (part.isascii() and part.isdigit()):
            raise UsageError(
                f"{what}: size {k} '{part}': must be a whole number; sizes are written as 8x8"
            )
        if len(part) > 9 or int(part) < 1:
            raise UsageError(f"{what}: size {k} is {part}: must be at least 1 and below 10^9")
        sizes.append(int(part))
    return tuple(sizes)


def build_topology(kind: str, sizes: tuple[int, ...], width: int = 1) -> Topology:
    """A regular network.

    `sizes` are the sides of a box, the dimensions of a hypercube, the nodes of the others.

    Raises:
        InputError: too many sizes for the kind, too many links or dimensions, a width on a
            crossbar.
    """
    if kind == "mesh":
        return Topology.mesh(*sizes, width=width)
    if kind == "torus":
        return Topology.torus(*sizes, width=width)
    if len(sizes) != 1:
        raise InputError(f"a {kind} has one size, given {'x'.join(map(str, sizes))}")
    if kind == "ring":
        return Topology.ring(sizes[0], width=width)
    if kind == "hypercube":
        if sizes[0] > MAX_DIMENSIONS:
            raise InputError(
                f"a hypercube of {sizes[0]} dimensions: must be at most {MAX_DIMENSIONS}"
            )
        return Topology.hypercube(sizes[0], width=width)
    if width != 1:
        raise InputError(f"width = {width}: a crossbar has no links")
    return Topology.crossbar(sizes[0])


def build_routing(
    kind: str, rule: str | None = None, tie: str | None = None, seed: int | None = None
) -> Routing:
    """A rule for paths by its name; None is the kind's usual one.

    Raises:
        UsageError: a rule that the kind does not know, or an unknown tie; with the nearest known
            one; the seed of a hash for a rule without one.
    """
    rules = [known for known in RULES[kind] if known not in ("table", "planes")]
    if rule is not None and rule not in rules:
        raise unknown_name(f"routing of a {kind}", rule, rules)
    if tie is not None and tie not in TIES:
        raise unknown_name("tie", tie, TIES)
    rule = rule or RULES[kind][0]
    if seed is not None and rule not in HASHED:
        raise UsageError(
            f"hash={seed}: is the seed of a routing by hash ({', '.join(HASHED)}), the "
            f"routing is {rule}"
        )
    return Routing(rule, tie or "parity", seed=seed or 0)


def build_bare(name: str, kind: str, sizes: tuple[int, ...]) -> Machine:
    """A bare network with the default costs.

    Raises:
        InputError: sizes that the kind does not take.
    """
    return Machine(name, build_topology(kind, sizes), build_routing(kind), default_costs())


def machine_of_topology(topology: Topology) -> Machine:
    """A network with its usual routing and the default costs.

    One that words say has the name of its spec.
    """
    if planes_of(topology) is not None:
        return Machine(topology.family, topology, Routing.default(topology), default_costs())
    if topology.family:
        costs = with_own_ports(default_costs(), topology)
        return Machine(topology.family, topology, family_routing(topology), costs)
    sizes = (
        (topology.dimensions,)
        if topology.kind == "hypercube"
        else topology.sides or (topology.nodes,)
    )
    name = f"{topology.kind}:{'x'.join(str(size) for size in sizes)}"
    if topology.width > 1:
        name += f",width={topology.width}"
    return Machine(name, topology, Routing.default(topology), default_costs())


def merge_settings(mode: str | None, text: str | None) -> str | None:
    """The words of `--mode` and of `--set` as one text; None where neither is given."""
    given = ([] if mode is None else [f"mode={mode}"]) + ([] if text is None else [text])
    return ",".join(given) if given else None


@overload
def with_settings(target: Costs, text: str) -> Costs: ...
@overload
def with_settings(target: Machine, text: str) -> Machine: ...
def with_settings(target: Costs | Machine, text: str) -> Costs | Machine:
    """`target` with the costs named in `text` changed: `"synchronization=0,overhead=2us"`.

    The words are those of machine files (`machine.words.WORDS`); what is changed is tagged `given`.
    A machine keeps its name: a setting is a question, not another machine; a schedule file carries
    the costs as set. Of a machine `mode` changes the transfer mode, before all other words.

    Raises:
        UsageError: an unknown word (with the nearest known one), or a value that does not parse or
            is out of range.
    """
    settings = split_options(text)
    if isinstance(target, Costs):
        return stated_costs(target, settings, GIVEN)
    if "mode" in dict(settings):
        target = replace(with_mode(target, dict(settings)["mode"]), name=target.name)
        settings = [pair for pair in settings if pair[0] != "mode"]
    return _with_family_rates(
        target.with_costs(lambda costs: stated_costs(costs, settings, GIVEN)), target
    )


def _with_family_rates(machine: Machine, before: Machine) -> Machine:
    """With links as fast as the multiples of `link` that its family's words say.

    Where that is another `link` now.
    """
    family, link = machine.topology.family, machine.costs.link_Bps
    if not family or link == before.costs.link_Bps or planes_of(machine.topology) is not None:
        return machine
    if before.topology != build_family(family, link_Bps=before.costs.link_Bps):
        return machine  # somebody gave the links other rates
    topology = build_family(family, link_Bps=link)
    return replace(machine, topology=topology).with_costs(
        lambda costs: with_own_ports(costs, topology)
    )


def parse_machine(spec: str | Mapping[str, Any]) -> Machine:
    """The machine that a spec, a file's name or a machine's object says.

    `parse_machine(machine.to_spec())` is the same machine again; what stands in a file that others
    may have written goes through `machine.record.machine_of_record`, which opens no file.

    Raises:
        UsageError: an unknown name or option (with the nearest known one), a value that does not
            parse or is out of range.
        InputError: the contents of a file or object; names file, line, key, rule and value.
    """
    if not isinstance(spec, str):
        from conset.machine.file import machine_from_object

        return machine_from_object(spec, "machine")
    text = spec.strip()
    head = text.split(",", 1)[0].strip()
    if is_spec(text):
        return machine_from_spec(text)
    if not head:
        raise UsageError(
            f"machine '{spec}': a preset, network or file is required; `conset machines` "
            "lists presets"
        )
    path = Path(text)
    if path.suffix.lower() in FILE_SUFFIXES:
        from conset.machine.file import read_machine

        return read_machine(path)
    if os.path.isdir(text):  # unlike Path.is_dir, no error for names too long
        raise InputError(f"{path}: is a directory, a file is required")
    if Path(head).suffix.lower() in FILE_SUFFIXES:
        raise UsageError(
            f"machine '{text}': a file takes no options; its costs stand in a machine file or "
            f"in {_SETTING}",
            options=[_SETTING],
        )
    if os.path.exists(text):
        raise InputError(
            f"{path}: a machine's suffix must be one of {', '.join(FILE_SUFFIXES)}, is "
            f"'{path.suffix}'"
        )
    raise unknown_name("machine", head.split(":", 1)[0], (*PRESETS, *KINDS, *FAMILIES))


def is_spec(text: str) -> bool:
    """Whether a spec is the name of a preset, bare network or family with options, and no file."""
    return text.split(",", 1)[0].split(":", 1)[0].strip() in (*PRESETS, *KINDS, *FAMILIES)


@lru_cache(maxsize=16)
def machine_from_spec(text: str) -> Machine:
    """A preset, bare network or family with its options; opens no file.

    Raises as `parse_machine`.
    """
    head, _, rest = text.partition(",")
    name, colon, size = (part.strip() for part in head.partition(":"))
    if name in FAMILIES:
        return _of_family(name, size, rest)
    if colon and not size:
        raise UsageError(f"{head}: a size is required after ':'")
    _refuse_sides(name, size, rest)
    options = [current_word(*option) for option in split_options(rest)]
    mode = dict(options).get("mode", "")
    try:
        machine = _from_name(name, size, mode)
        name = ",".join([machine.name, *(f"{word}={value}" for word, value in options)])
        machine = replace(
            _with_options(machine, [pair for pair in options if pair[0] != "mode"]), name=name
        )
        object.__setattr__(machine, "origin", "name")  # nobody else has the machine yet
        return machine
    except InputError as error:
        raise UsageError(f"{head}: {error}") from None


def _of_family(name: str, size: str, rest: str) -> Machine:
    """A family's machine: its parameters and the options of machines share one list."""
    family = FAMILIES[name]
    _refuse_bare(family, f"{size},{rest}")
    options = [current_word(*option) for option in split_options(f"{size},{rest}")]
    known = (*family.words, *_FAMILY_OPTIONS, *WORDS, *ALIASES)
    for word, value in options:
        if word == "mode":
            raise UsageError(f"mode={value}: {name} has no transfer modes")
        if word not in known:
            raise unknown_name(f"option of {name}", word, known)
    own = [pair for pair in options if pair[0] in family.words]
    network = dict(pair for pair in options if pair[0] in _FAMILY_OPTIONS)
    words = family.spec(family.read(own))
    others = [pair for pair in options if pair not in own]
    costs = stated_costs(
        default_costs(), [pair for pair in others if pair[0] not in _FAMILY_OPTIONS], GIVEN
    )
    try:
        machine = machine_of_family(words, costs, network.get("routing"), _seed(network))
    except InputError as error:
        raise UsageError(f"{words}: {error}") from None
    machine = replace(
        machine, name=",".join([words, *(f"{word}={value}" for word, value in others)])
    )
    object.__setattr__(machine, "origin", "name")  # nobody else has the machine yet
    return machine


def machine_of_family(
    words: str, costs: Costs, rule: str | None = None, seed: int | None = None
) -> Machine:
    """A family's network with `costs`.

    Rates in multiples are those of its `link`, ports unstated those of hosts.

    Raises:
        UsageError: an unknown family, parameter or routing, or a value out of range.
        InputError: parameters that do not fit each other.
    """
    topology = build_family(words, link_Bps=costs.link_Bps)
    return Machine(
        topology.family,
        topology,
        family_routing(topology, rule, seed),
        with_own_ports(costs, topology),
    )


def family_routing(topology: Topology, rule: str | None = None, seed: int | None = None) -> Routing:
    """A rule by its name.

    None: the usual one of the network's family, or of its kind where it is no family's.
    """
    if rule is None and planes_of(topology) is not None:
        return Routing.default(topology)
    if rule is None and topology.family:
        rule = FAMILIES[topology.family.partition(":")[0]].routing
    return build_routing(topology.kind, rule, seed=seed)


def with_own_ports(costs: Costs, topology: Topology) -> Costs:
    """With ports as fast as the links of an endpoint that hangs on switches.

    Where they are not given.

    So a host's link is what limits it, whatever its rate; `port=25GB/s` states another limit.
    """
    said = [costs.provenance.get(word) for word in ("port", "port_out", "port_in")]
    if planes_of(topology) is not None:  # whose endpoints' links are no limit
        return costs
    if (
        not topology.family
        or topology.level is None
        or any(each and each.tag != "default" for each in said)
    ):
        return costs
    hosts = topology.level[topology.link_source] == 0
    if (
        not hosts.any()
        or (topology.level[topology.link_target[hosts]] == 0).any()
        or costs.link_Bps == inf
    ):
        return costs
    own = topology.link_rate_Bps
    rate = topology.widths()[hosts] * (costs.link_Bps if own is None else own[hosts])
    least = float(np.bincount(topology.link_source[hosts], rate, topology.endpoints).min())
    return changed_costs(
        costs, [("port", f"{least!r} B/s")], Provenance("default", "the links of an endpoint")
    )


def _refuse_sides(name: str, size: str, rest: str) -> None:
    """Sides that are written with commas."""
    parts = [part.strip() for part in rest.split(",")]
    sides = next((k for k, part in enumerate(parts) if not part.isdecimal()), len(parts))
    if sides:
        meant = "x".join([size or parts[0], *parts[0 if size else 1 : sides]])
        meant = ",".join([f"{name}:{meant}", *parts[sides:]])
        raise UsageError(
            f"machine '{name}:{size},{rest}': sides are joined by x: did you mean {meant}?"
        )


def _refuse_bare(family: Family, text: str) -> None:
    """A size without its parameter's name, as `fat-tree:8`, and sides with commas."""
    items = [item for part in text.split(",") if (item := part.strip())]
    bare = next((k for k, item in enumerate(items) if re.fullmatch(r"\d+(x\d+)*", item)), None)
    if bare is None:
        return
    if bare and re.fullmatch(r"\w+=\d+(x\d+)*", items[bare - 1]):
        meant = [*items[: bare - 1], f"{items[bare - 1]}x{items[bare]}", *items[bare + 1 :]]
    else:
        meant = [*items[:bare], f"{family.parameters[0].name}={items[bare]}", *items[bare + 1 :]]
    raise UsageError(
        f"{family.name}: '{items[bare]}': expected WORD=VALUE: did you mean "
        f"{family.name}:{','.join(meant)}?"
    )


def _from_name(name: str, size: str, mode: str) -> Machine:
    if name in PRESETS:
        from conset.machine.preset import load_preset

        return load_preset(name, size, mode)
    if mode:
        raise UsageError(f"mode={mode}: {name} has no transfer modes")
    size = size or DEFAULT_SIZE[name]
    if name == "hypercube" and size == "0":
        return build_bare("hypercube:0", name, (0,))
    return build_bare(f"{name}:{size}", name, parse_sizes(size, f"{name}:{size}"))


def _with_options(machine: Machine, options: list[tuple[str, str]]) -> Machine:
    network: dict[str, str] = {}
    costs = []
    for word, value in options:
        if word in NETWORK_OPTIONS:
            network[word] = value
        elif word in WORDS or word in ALIASES:
            costs.append((word, value))
        else:
            raise unknown_name("option", word, (*NETWORK_OPTIONS, "mode", *WORDS))
    if network:
        machine = _with_network(machine, network)
    return machine.with_costs(lambda own: stated_costs(own, costs, GIVEN)) if costs else machine


def _with_network(machine: Machine, options: Mapping[str, str]) -> Machine:
    topology = machine.topology
    kind = topology.kind
    if "width" in options:
        width = _whole(options["width"], "width")
        if width < 1:
            raise UsageError(f"width={options['width']}: must be at least 1")
        sizes = (topology.dimensions,) if kind == "hypercube" else topology.sides
        topology = build_topology(kind, sizes, width)
    if "planes" in options:
        return _with_planes(machine, topology, options)
    routing = build_routing(
        kind, options.get("routing"), options.get("tie", machine.routing.tie), _seed(options)
    )
    if "dead" not in options:
        return replace(machine, topology=topology, routing=routing)
    if kind == "crossbar":
        raise UsageError("dead: a crossbar is ports only; give it fewer nodes instead")
    if "routing" in options or "tie" in options:
        raise UsageError(
            "dead: routes around dead nodes are shortest paths; routing and tie do not apply"
        )
    parts = options["dead"].split(";")
    nodes = [_whole(part, "dead") for part in parts if "-" not in part]
    links = [_pair(part) for part in parts if "-" in part]
    return replace(
        machine, topology=without(topology, nodes, links), routing=Routing("shortest-path")
    )


def _with_planes(machine: Machine, base: Topology, options: Mapping[str, str]) -> Machine:
    if "dead" in options:
        raise UsageError("dead: nodes and links of planes cannot be taken out; give planes or dead")
    count = _whole(options["planes"], "planes")
    tie = build_routing(base.kind, None, options.get("tie", machine.routing.tie)).tie
    if count == 1 and "routing" not in options:
        return replace(machine, topology=base, routing=replace(machine.routing, tie=tie))
    rule = options.get("routing", "planes")
    if rule not in ("planes", "shortest-path"):
        raise unknown_name("routing over planes", rule, ("planes", "shortest-path"))
    return replace(machine, topology=build_planes(base, count), routing=Routing(rule, tie))  # type: ignore[arg-type]


def _seed(options: Mapping[str, str]) -> int | None:
    return _whole(options["hash"], "hash") if "hash" in options else None


def _pair(text: str) -> tuple[int, int]:
    first, _, second = text.partition("-")
    return _whole(first, "dead"), _whole(second, "dead")


def _whole(text: str, word: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit() and len(text.strip()) <= 9):
        more = ", several as 3;7, a link as 3-4" if word == "dead" else ""
        raise UsageError(f"{word} '{text}': must be a whole number{more}")
    return int(text)
