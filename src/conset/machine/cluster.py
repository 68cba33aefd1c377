"""Clusters: a machine from the files that an administrator has.

    DIR                                          whatever of them is there, known by its contents
    net.txt[,routes=lfts.txt][,order=ca-order.dump][,hosts=HOSTS][,WORD=VALUE…]
    topology.conf[,uplink=RATE][,hosts=HOSTS][,WORD=VALUE…]

`net.txt` is the output of `ibnetdiscover`, `lfts.txt` forwarding tables (`fabric_files`),
`topology.conf` the tree of switches that Slurm knows. `hosts` are those of a job in the order of
its ranks (`conset.machine.hosts`); all others are left out. Other words are costs (`overhead=1us`)
or `routing`, where no tables are given: then routes are assumed, and a note says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from conset.base import InputError, UsageError, shortened, unknown_name, whole_number
from conset.machine.file import MachineTable, NetworkTable, machine_of_table
from conset.machine.hosts import read_hosts
from conset.machine.machine import Machine
from conset.machine.network.fabric_files import (
    Fabric,
    fabric_kind,
    host_numbers,
    read_fabric,
    table_form,
)
from conset.machine.network.families import build_routing
from conset.machine.network.slurm import is_slurm_topology, read_slurm_topology
from conset.machine.words import PARAMETERS

OPTIONS = ("routes", "order", "hosts", "uplink", "routing", "hash")
"""Options beside costs."""


def is_cluster(text: str) -> bool:
    """Whether a text names files of a cluster: a directory, a network or forwarding tables."""
    try:
        is_file = os.path.isfile(text)  # unlike Path.is_file, no error for long texts
        return os.path.isdir(text) or (is_file and _kind(Path(text)) != "")
    except (OSError, ValueError):  # not readable, a null character
        return False


def _kind(path: Path) -> str:
    return "slurm" if is_slurm_topology(path) else fabric_kind(path)


def read_cluster(text: str, with_settings: Callable[[Machine, str], Machine]) -> Machine:
    """The machine of a spec of files.

    Args:
        text: as above.
        with_settings: changes costs of a machine by words.

    Raises:
        UsageError: an unknown option, or options that do not go together.
        InputError: what a file says; a directory without a network or with two.
    """
    head, *pieces = re.split(r",(?![^\[]*\])", text)
    options: dict[str, str] = {}
    for piece in (each.strip() for each in pieces):
        word, equals, value = (part.strip() for part in piece.partition("="))
        if not equals and options and next(reversed(options)) == "hosts":
            options["hosts"] += f",{piece}"  # a list of hosts goes on
        elif not equals or not word or not value or word in options:
            raise UsageError(f"option '{piece}': expected WORD=VALUE, each word once")
        elif word not in (*OPTIONS, *PARAMETERS):
            raise unknown_name("option of a cluster", word, (*OPTIONS, *PARAMETERS))
        else:
            options[word] = value
    head = head.strip()
    if not is_cluster(head):
        raise UsageError(f"'{shortened(head)}': no file or directory of a cluster")
    path, name = Path(head), Path(head).resolve().name.removesuffix(".txt")
    if path.is_dir():
        path = _of_directory(path, options)
    elif "routes" in options:
        name += f",routes={Path(options['routes']).name}"
    kind = _kind(path)
    if kind not in ("network", "slurm"):
        what = {"routes": "forwarding tables", "order": "an order of hosts"}[kind]
        raise UsageError(f"{path}: is {what}; the network comes first: NET,{kind}={path}")
    refused = ("routes", "order") if kind == "slurm" else ("uplink",)
    if word := next((word for word in refused if word in options), ""):
        raise UsageError(f"{word}={options[word]}: does not go with {path.name}")
    ranks = read_hosts(options["hosts"]) if "hosts" in options else []
    files = [Path(options[word]) if word in options else None for word in ("routes", "order")]
    fabric = (
        read_slurm_topology(path, options.get("link"), options.get("uplink"), ranks)
        if kind == "slurm"
        else read_fabric(path, files[0], files[1], ranks)
    )
    machine = _machine(fabric, name, options, ranks)
    costs = {word: value for word, value in options.items() if word in PARAMETERS}
    words = ",".join(f"{word}={value}" for word, value in costs.items())
    return with_settings(machine, words) if words else machine


def _of_directory(path: Path, options: dict[str, str]) -> Path:
    """The network in a directory; tables that lie beside it join the options."""
    found: dict[str, list[Path]] = {"network": [], "routes": [], "slurm": [], "order": []}
    for each in sorted(path.iterdir()):
        if each.is_file() and (kind := _kind(each)):
            found[kind].append(each)
    networks = found["network"] or found["slurm"]
    if len(networks) != 1:
        names = ", ".join(each.name for each in networks) or "none"
        raise InputError(
            f"{path}: one output of ibnetdiscover or topology.conf required, found: {names}"
        )
    if found["network"] and found["routes"] and "routes" not in options:
        forms: dict[str, Path] = {}
        for each in found["routes"]:
            other = forms.setdefault(table_form(each), each)
            if other != each:
                raise InputError(
                    f"{path}: {other.name} and {each.name} are forwarding tables: routes= names "
                    "those to read"
                )
        options["routes"] = str(found["routes"][0])
    return networks[0]


def _machine(fabric: Fabric, name: str, options: dict[str, str], ranks: list[str]) -> Machine:
    """With default costs but for what cables say, and the ranks of a job."""
    stated = {
        word: {"value": value, "tag": "given", "source": fabric.source}
        for word, value in fabric.costs.items()
    }
    topology, routing, notes = fabric.topology, fabric.routing, list(fabric.notes)
    for word in ("routing", "hash"):
        if routing is not None and word in options:
            raise UsageError(f"{word}={options[word]}: the tables of routes= say the routes")
    if routing is None:
        usual = options.get("routing", "ecmp")
        seed = options.get("hash")
        number = None if seed is None else whole_number(seed)
        if seed is not None and number is None:
            raise UsageError(f"hash={shortened(seed)}: a whole number required")
        routing = build_routing(topology, usual, None, number)
        if "routing" not in options and not fabric.is_tree:
            notes.append(
                f"{name}: no forwarding tables were given: shortest routes by a hash are assumed "
                "(routing=ecmp)"
            )
    table = MachineTable(name=name, network=NetworkTable(), costs=stated)
    machine = machine_of_table(table, name, network=(topology, routing))
    machine = replace(machine, cautions=tuple(notes))
    job = tuple(host_numbers(topology.host_names, ranks, name))
    return machine if job == tuple(range(len(job))) else replace(machine, job=job)
