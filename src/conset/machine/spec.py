"""Machine specs: a text of the command line, a file's name, or a machine's object, to a Machine.

    iwarp:8x8   ipsc860:64   delta:16x32   paragon:16x16         presets; sizes have defaults
    mesh:16x16   torus:8x8x8   hypercube:6   ring:9   crossbar:64   regular networks
    fat-tree:k=16,taper=2   dragonfly:groups=9,routers=4,nodes=2 … `conset.machine.network.families`
    cluster.toml   net.graphml net.gml net.edges files; also TopoHub's .json, htsim's .topo, .anynet
    net.txt,routes=lfts.txt,hosts=n[01-16]   files of a cluster (`conset.machine.cluster`)

Options follow after commas: parameters of the network (`width=2`, `planes=2`, `dead=3;7`,
`widths=1;2`), `routing=no-wrap`, `tie=plus`, `hash=7` (the seed of `routing=ecmp` and `valiant`),
`mode=spooling` for a transfer mode of a preset, and costs (`link=16GB/s`, `overhead=2us`,
`synchronization=5us` …, the same as in machine files and in `--set`).

`dead` leaves the graph of the surviving nodes: numbered densely in their old order, as ranks live
on the first endpoints, each labelled with its old id. A pattern sees that many fewer ranks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

from conset.base import ConsetError, InputError, UsageError, shortened, unknown_name
from conset.machine.cluster import is_cluster, read_cluster
from conset.machine.costs import Costs
from conset.machine.file import (
    PRESETS,
    load_preset,
    machine_from_object,
    read_machine,
    with_own_ports,
)
from conset.machine.machine import Machine, with_mode
from conset.machine.network.families import (
    build_family,
    build_routing,
    family_names,
    find_family,
    is_family,
    member_of,
    split_options,
    split_spec,
)
from conset.machine.network.family import read_whole
from conset.machine.network.graph_files import GRAPH_READERS
from conset.machine.network.routing import MAX_SEED
from conset.machine.network.topology import FamilyMember, Topology
from conset.machine.words import GIVEN, PARAMETERS, default_costs, stated_costs

ROUTING_OPTIONS = ("routing", "hash", "tie")
"""Options of a spec that are neither parameters of its network nor costs."""
FILE_SUFFIXES = (".toml", *GRAPH_READERS)
_SETTING = "conset.machine.spec.with_settings"
"""The function that changes the costs of a machine of a file."""


def machine_names() -> tuple[str, ...]:
    """The names of all presets and networks."""
    return (*PRESETS, *family_names())


def machine_of_topology(topology: Topology) -> Machine:
    """A network with its usual routing and the default costs."""
    name = str(topology.family or f"graph:{topology.nodes}")
    return Machine(
        name, topology, build_routing(topology), with_own_ports(default_costs(), topology)
    )


def merge_settings(mode: str | None, text: str | None) -> str | None:
    """The values of `--mode` and of `--set` as one text; None where neither is given."""
    given = ([] if mode is None else [f"mode={mode}"]) + ([] if text is None else [text])
    return ",".join(given) if given else None


@overload
def with_settings(target: Costs, text: str) -> Costs: ...
@overload
def with_settings(target: Machine, text: str) -> Machine: ...
def with_settings(target: Costs | Machine, text: str) -> Costs | Machine:
    """`target` with the costs named in `text` changed: `"synchronization=0,overhead=2us"`.

    The parameters are those of machine files (`machine.words`); what is changed is tagged
    `given`. A machine keeps its name: a setting is a question, not another machine; a schedule file
    carries the costs as set. Of a machine `mode` changes the transfer mode, before all other words.

    Raises:
        UsageError: an unknown word (with the nearest known one), or a value that does not parse or
            is out of range.
    """
    settings = split_options(text)
    if isinstance(target, Costs):
        return stated_costs(target, settings, GIVEN)
    if "mode" in dict(settings):
        target = with_mode(target, dict(settings)["mode"])
        settings = [pair for pair in settings if pair[0] != "mode"]
    return _with_costs(target, settings)


def _with_costs(machine: Machine, settings: Sequence[tuple[str, str]]) -> Machine:
    """With costs stated; what follows from another `link` changes with it."""
    if machine.topology.kind == "crossbar":
        _refuse_links(machine.name, dict(settings))
    changed = machine.with_costs(lambda costs: stated_costs(costs, settings, GIVEN))
    topology, member = changed.topology, changed.topology.family
    if changed.is_circuit:
        return changed.with_costs(lambda costs: with_own_ports(costs, topology))
    if member is None or changed.costs.link_Bps == machine.costs.link_Bps:
        return changed
    if topology.link_rate_Bps is not None:
        if topology != build_family(member, link_Bps=machine.costs.link_Bps):
            return changed  # somebody gave the links other rates
        topology = build_family(member, link_Bps=changed.costs.link_Bps)
        changed = replace(changed, topology=topology)
    return changed.with_costs(lambda costs: with_own_ports(costs, topology))


def _refuse_links(name: str, settings: Mapping[str, str]) -> None:
    """Raises `UsageError` for a cost of links on a crossbar, where it has no effect."""
    for word in ("link", "hop", "hop_by_size"):
        value = settings.get(word)
        if value not in (None, "0") and not (
            word == "link" and {"port", "port_out"} & set(settings)
        ):
            raise UsageError(
                f"{word}={value}: {name} has no links, so this has no effect; state port= (a rate) "
                "or inject= (a latency)"
            )


def parse_machine(spec: str | Mapping[str, Any]) -> Machine:
    """The machine that a spec, a file's name or a machine's object says.

    `parse_machine(machine.to_spec())` is the same machine again; what is in a file that others may
    have written goes through `machine_of_record`, which opens no file.

    Raises:
        UsageError: an unknown name or option (with the nearest known one), a value that does not
            parse or is out of range.
        InputError: the contents of a file or object; names file, line, key, rule and value.
    """
    if not isinstance(spec, str):
        return machine_from_object(spec, "machine")
    text = spec.strip()
    head = text.split(",", 1)[0].strip()
    if is_spec(text):
        return machine_from_spec(text)
    if is_cluster(head):
        return read_cluster(text, with_settings)
    if not head:
        raise UsageError(
            f"machine '{spec}': a preset, network or file is required; `conset machines` "
            "lists presets"
        )
    path = Path(text)
    if path.suffix.lower() in FILE_SUFFIXES:
        return read_machine(path)
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
    raise unknown_name("machine", head.split(":", 1)[0], machine_names())


def is_spec(text: str) -> bool:
    """Whether a spec is the name of a preset or network with options, and no file."""
    name = re.split("[,:]", text, maxsplit=1)[0].strip()
    return name in PRESETS or is_family(name)


@lru_cache(maxsize=16)
def machine_from_spec(text: str) -> Machine:
    """A preset or a network with its options; opens no file of users.

    Raises as `parse_machine`.
    """
    name, size, options = split_spec(text)
    try:
        if name in PRESETS:
            base = load_preset(name, size, dict(options).get("mode", ""))
            assert base.topology.family is not None  # a preset's network is of a family
            family = find_family(base.topology.family.name)
            words = [parameter.name for parameter in family.common]
            own, others = _parted(name, options, words, ("mode", *ROUTING_OPTIONS, *PARAMETERS))
            member = family.member({**base.topology.family.values, **family.read(own)})
            written = [base.name, *(f"{word}={value}" for word, value in options)]
        else:
            family = find_family(name)
            own, others = _parted(name, options, family.words, (*ROUTING_OPTIONS, *PARAMETERS))
            member = member_of(family, text, size, own)
            topology = build_family(member)
            base = Machine(str(member), topology, build_routing(topology), default_costs())
            written = [base.name, *(f"{word}={value}" for word, value in others)]
        network = {word: value for word, value in others if word in ROUTING_OPTIONS}
        costs = [option for option in others if option[0] in PARAMETERS]
        machine = _with_costs(_with_network(base, member, network), costs)
        machine = machine.with_costs(lambda each: with_own_ports(each, machine.topology))
    except InputError as error:
        raise UsageError(f"{shortened(text.partition(',')[0].strip())}: {error}") from None
    return replace(machine, name=",".join(written))


def _parted(
    name: str, options: Iterable[tuple[str, str]], own: Sequence[str], known: Sequence[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(parameters of the network, other options) of a spec, all known."""
    parameters: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for word, value in options:
        if word == "mode" and word not in known:
            raise UsageError(f"mode={value}: {name} has no transfer modes")
        if word not in own and word not in known:
            near = get_close_matches(word, (*own, *known), n=1, cutoff=0.6)
            raise unknown_name(f"option of {name}", word, near or own or known)
        (parameters if word in own else others).append((word, value))
    return parameters, others


def _with_network(base: Machine, member: FamilyMember, options: Mapping[str, str]) -> Machine:
    """With the network of `member`, and its routing as stated or as before."""
    topology, before = base.topology, base.routing
    if member != topology.family:
        topology = build_family(member, link_Bps=base.costs.link_Bps)
    elif not options:
        return base
    same = (topology.kind, topology.planes) == (base.topology.kind, base.topology.planes)
    rule = options.get("routing", before.rule if same else None)
    tie = options.get("tie", None if before.tie == "parity" else before.tie)
    seed = (
        read_whole(options["hash"], f"hash={options['hash']}", 0, MAX_SEED)
        if "hash" in options
        else None
    )
    if seed is None and rule == before.rule:
        seed = before.seed or None
    return replace(base, topology=topology, routing=build_routing(topology, rule, tie, seed))


def machine_of_record(record: str | Mapping[str, Any]) -> Machine:
    """The machine that a file's record gives; opens no file.

    Args:
        record: the whole object of a machine (`Machine.to_spec`), or the spec of a preset or
            network.

    Raises:
        InputError: a text that is no preset or network, such as a path, or contents that no machine
            has.
    """
    try:
        if not isinstance(record, str):
            return machine_from_object(record, "machine")
        if is_spec(record):
            return machine_from_spec(record)
        if (name := record.partition(":")[0]).isidentifier():
            raise unknown_name("machine", name, machine_names())
    except ConsetError as error:
        raise InputError(str(error)) from None
    except RecursionError:
        raise InputError("machine: nested too deeply") from None
    raise InputError(
        f"machine '{record}': a file carries the whole object of what is no preset or network, "
        "not its name"
    )
