"""Machine specs: the words of the command line, a file, or a machine's object, to a Machine.

    iwarp:8x8   ipsc860:64   delta:16x32   paragon:16x16         presets; sizes have defaults
    mesh:16x16   torus:8x8x8   hypercube:6   ring:9   crossbar:64   bare networks
    cluster.toml   net.graphml   net.gml   net.edges              files

Options follow after commas: words for costs (`link=16GB/s`, `overhead=2us`, `synchronization=5us` …, the same as in
machine files), `mode=spooling` for a transfer mode of a preset, and for the network `tie=plus`, `routing=no-wrap`,
`width=2`, `dead=3;7` (nodes), `dead=3-4` (both links between two nodes).

`dead` leaves the graph of the surviving nodes: numbered densely in their old order, as ranks live on the first
endpoints, each labelled with its old id, shortest paths for routes. A pattern sees that many fewer ranks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conset.errors import InputError, UsageError, unknown_name
from conset.machine.bare import DEFAULT_SIZE, KINDS, build_bare, build_routing, build_topology, parse_sizes
from conset.machine.machine import Machine
from conset.machine.words import ALIASES, GIVEN, WORDS, current_word, split_options, stated_costs
from conset.network.graph import without
from conset.network.routing import Routing

PRESETS = ("iwarp", "ipsc860", "delta", "paragon")
"""Machines of the texts; each is `presets/<name>.toml`."""

NETWORK_OPTIONS = ("routing", "tie", "width", "dead")
FILE_SUFFIXES = (".toml", ".graphml", ".gml", ".edges", ".edgelist", ".txt")


def parse_machine(spec: str | Mapping[str, Any]) -> Machine:
    """The machine that a spec, a file's name or a machine's object says.

    `parse_machine(machine.to_spec())` is the same machine again; what stands in a file that others may have written
    goes through `machine.record.machine_of_record`, which opens no file.

    Raises:
        UsageError: an unknown name or option (with the nearest known one), a value that does not parse or is out of
            range.
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
        raise UsageError(f"machine '{spec}': a preset, network or file is required; `conset machines` lists presets")
    path = Path(text)
    if path.suffix.lower() in FILE_SUFFIXES:
        from conset.machine.file import read_machine

        return read_machine(path)
    if os.path.isdir(text):  # unlike Path.is_dir, no error for names too long
        raise InputError(f"{path}: is a directory, a file is required")
    if Path(head).suffix.lower() in FILE_SUFFIXES:
        raise UsageError(f"machine '{text}': a file takes no options; its costs stand in a machine file or in --set")
    if os.path.exists(text):
        raise InputError(f"{path}: a machine's suffix must be one of {', '.join(FILE_SUFFIXES)}, is '{path.suffix}'")
    raise unknown_name("machine", head.split(":", 1)[0], (*PRESETS, *KINDS))


def is_spec(text: str) -> bool:
    """Whether a spec is the name of a preset or bare network with options, and no file."""
    return text.split(",", 1)[0].split(":", 1)[0].strip() in (*PRESETS, *KINDS)


def machine_from_spec(text: str) -> Machine:
    """A preset or bare network with its options; opens no file. Raises as `parse_machine`."""
    head, _, rest = text.partition(",")
    name, colon, size = (part.strip() for part in head.partition(":"))
    if colon and not size:
        raise UsageError(f"{head}: a size is required after ':'")
    _refuse_sides(name, size, rest)
    options = [current_word(*option) for option in split_options(rest)]
    mode = dict(options).get("mode", "")
    try:
        machine = _from_name(name, size, mode)
        name = ",".join([machine.name, *(f"{word}={value}" for word, value in options)])
        machine = replace(_with_options(machine, [pair for pair in options if pair[0] != "mode"]), name=name)
        object.__setattr__(machine, "origin", "name")  # nobody else has the machine yet
        return machine
    except InputError as error:
        raise UsageError(f"{head}: {error}") from None


def _refuse_sides(name: str, size: str, rest: str) -> None:
    """Sides that are written with commas."""
    parts = [part.strip() for part in rest.split(",")]
    sides = next((k for k, part in enumerate(parts) if not part.isdecimal()), len(parts))
    if sides:
        meant = "x".join([size or parts[0], *parts[0 if size else 1 : sides]])
        meant = ",".join([f"{name}:{meant}", *parts[sides:]])
        raise UsageError(f"machine '{name}:{size},{rest}': sides are joined by x: did you mean {meant}?")


def _from_name(name: str, size: str, mode: str) -> Machine:
    if name in PRESETS:
        from conset.machine.file import load_preset

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
    routing = build_routing(kind, options.get("routing"), options.get("tie", machine.routing.tie))
    if "dead" not in options:
        return replace(machine, topology=topology, routing=routing)
    if kind == "crossbar":
        raise UsageError("dead: a crossbar is ports only; give it fewer nodes instead")
    if "routing" in options or "tie" in options:
        raise UsageError("dead: routes around dead nodes are shortest paths; routing and tie do not apply")
    parts = options["dead"].split(";")
    nodes = [_whole(part, "dead") for part in parts if "-" not in part]
    links = [_pair(part) for part in parts if "-" in part]
    return replace(machine, topology=without(topology, nodes, links), routing=Routing("shortest-path"))


def _pair(text: str) -> tuple[int, int]:
    first, _, second = text.partition("-")
    return _whole(first, "dead"), _whole(second, "dead")


def _whole(text: str, word: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit() and len(text.strip()) <= 9):
        more = ", several as 3;7, a link as 3-4" if word == "dead" else ""
        raise UsageError(f"{word} '{text}': must be a whole number{more}")
    return int(text)
