"""Slurm's `topology.conf`: a tree of switches over hosts, as a network.

    SwitchName=s0 Nodes=n[001-016],n[019-020]
    SwitchName=s9 Switches=s[0-3]

Keys count without regard to case. The file has no rates of cables: each line of
the tree is one link each way, `link` fast before hosts, `uplink` fast above (without it as much as
all hosts below need). The way between two hosts is over the nearest switch above both; where
several switches name the same switch below, a message takes one of equal ways by a hash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from conset.base import InputError, UsageError, count_of, read_text, shortened
from conset.machine.hosts import MAX_HOSTS, expand
from conset.machine.network.fabric_files import Fabric, natural_key, select_hosts, with_levels
from conset.machine.network.topology import Topology, require_connected
from conset.machine.words import default_costs, read_rate

_LINE = re.compile(r"\s*switchname\s*=", re.IGNORECASE)


def is_slurm_topology(path: Path) -> bool:
    """Whether the first line of a file that says something names a switch."""
    with path.open("rb") as file:
        for line in file.read(1 << 14).decode("utf-8", "replace").splitlines():
            if line.partition("#")[0].strip():
                return bool(_LINE.match(line))
    return False


def read_slurm_topology(
    path: Path, link: str | None, uplink: str | None, hosts: Sequence[str] = ()
) -> Fabric:
    """The tree of a `topology.conf`.

    Args:
        path: the file.
        link: rate of the links of hosts; None: the default `link`.
        uplink: rate of links between switches; None: that of all hosts below.
        hosts: the hosts of a job, in their order; () for all.

    Raises:
        InputError: a line without a switch, a name that is given twice or nowhere, a switch below
            itself, parts that are not joined.
    """
    below = _switches(path)
    rate = default_costs().link_Bps if link is None else read_rate(link, "link")
    up = None if uplink is None else read_rate(uplink, "uplink")
    if np.inf in (rate, up):
        raise UsageError("link, uplink: a rate required, none is no limit")
    nodes = {name for names, _ in below.values() for name in names}
    known = sorted(nodes, key=natural_key)
    order = select_hosts(known, hosts, path.name) if hosts else known
    count = _hosts_below(below, set(order), path.name)
    used = [switch for switch in below if count[switch]]
    number = {name: k for k, name in enumerate([*order, *used])}
    edges: list[tuple[int, int, float]] = []
    for switch in used:
        at, (names, children) = number[switch], below[switch]
        edges += [(number[name], at, rate) for name in names if name in number]
        edges += [
            (number[child], at, rate * count[child] if up is None else up)
            for child in children
            if count[child]
        ]
    if not edges:
        raise InputError(f"{path.name}: no host is below a switch")
    ends = np.array([(a, b) for a, b, _ in edges])
    rates = np.array([each for _, _, each in edges])
    topology = Topology.of_links(
        len(order),
        len(number),
        np.concatenate([ends[:, 0], ends[:, 1]]),
        np.concatenate([ends[:, 1], ends[:, 0]]),
        rate_Bps=np.tile(rates, 2) if np.ptp(rates) else None,
        labels=tuple(number),
    )
    require_connected(topology, path.name)
    assumed = (
        f"{path.name}: the rate between switches is assumed to be that of all hosts below; uplink= "
        "states another"
    )
    source = f"link= of {path.name}" if link else "the default link"
    costs = {"link": f"{float(rate)!r} B/s", "port": f"{float(rate)!r} B/s"}
    notes = () if up is not None or not any(c for _, c in below.values()) else (assumed,)
    leaves = [number[switch] for switch in used if below[switch][0]]
    one_way = topology.links == 2 * (topology.nodes - 1)
    return Fabric(with_levels(topology, leaves), None, costs, source, notes, one_way)


def _switches(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """(hosts, switches) below each switch, in the order of the file."""
    text = re.sub(r"\\\s*\n", " ", read_text(path))
    found: dict[str, tuple[list[str], list[str]]] = {}
    host_of: dict[str, str] = {}
    lines = 0
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path.name}:{number}"
        given = line.partition("#")[0].split()
        if not given:
            continue
        pairs = {key.lower(): value for key, _, value in (item.partition("=") for item in given)}
        if len(pairs) < len(given) or not pairs.get("switchname"):
            raise InputError(f"{where}: '{shortened(line)}': SwitchName=… required, keys once")
        for key in pairs:
            if key not in ("switchname", "nodes", "switches", "linkspeed"):
                raise InputError(f"{where}: key '{shortened(key)}': Nodes or Switches required")
        hosts, switches = (
            expand(pairs[key], where) if pairs.get(key) else [] for key in ("nodes", "switches")
        )
        names = expand(pairs["switchname"], where)
        if hosts and len(names) > 1:
            raise InputError(f"{where}: {hosts[0]} is below {names[0]} and {names[1]}")
        lines += len(names) * len(switches)
        if lines > MAX_HOSTS:
            raise InputError(f"{where}: more than {MAX_HOSTS} switches below others")
        for name in names:
            if name in found:
                raise InputError(f"{where}: switch {name} is given twice")
            found[name] = hosts, switches
        for host in hosts:
            if host in host_of:
                raise InputError(f"{where}: host {host} is below {host_of[host]} too")
            host_of[host] = pairs["switchname"]
    for name, (hosts, switches) in found.items():
        if unknown := [each for each in switches if each not in found]:
            raise InputError(f"{path.name}: switch {unknown[0]} below {name} has no line")
        if both := [each for each in hosts if each in found]:
            raise InputError(f"{path.name}: {both[0]} is a host of {name} and a switch")
    if not found:
        raise InputError(f"{path.name}: has no switches")
    return found


def _hosts_below(
    below: dict[str, tuple[list[str], list[str]]], hosts: set[str], where: str
) -> dict[str, int]:
    """How many hosts are below each switch.

    Raises:
        InputError: a switch is below itself.
    """
    order = TopologicalSorter({name: switches for name, (_, switches) in below.items()})
    count: dict[str, int] = {}
    try:
        for name in order.static_order():
            own, switches = below[name]
            some = len(hosts & set(own)) + sum(count[each] for each in switches)
            count[name] = min(some, len(hosts))  # one that is below several ways counts once
    except CycleError as error:
        circle = error.args[1][1:]
        names = count_of(len(circle), "switch", "switches")
        raise InputError(f"{where}: {names} below each other in a circle: {min(circle)}") from None
    return count
