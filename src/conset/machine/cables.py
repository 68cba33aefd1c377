"""Cables of a network: which one a text names, and the machine without it or with another rate.

A cable is a link and the one back. Without it, routes by a rule are found anew. Where switches have
tables, entries that led over it take a parallel cable, the target numbering which, else the next
link of a shortest path (`minimal`); where that would go in a circle, all switches do for that
target. A subnet manager may choose otherwise: its own tables are what to compare with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import compress

import numpy as np

from conset.base import Bools, Floats, Ints32, UsageError, shortened
from conset.machine.machine import Machine
from conset.machine.network.routes import next_links
from conset.machine.network.routing import Routing, route_table, stray_entry
from conset.machine.network.topology import Topology, most_of, without


def find_cable(topology: Topology, text: str) -> int:
    """The link that a text names.

    By its port, `leafA:14` or `leafA port 14`, or by its ends, `3-7` or `leafA-spineP`: of parallel
    links the first one.

    Raises:
        UsageError: none is named so.
    """
    port = re.sub(r"[\s:]+(?:port\s+)?(\d+)$", r":\1", text.strip())
    if port in topology.link_labels:
        return topology.link_labels.index(port)
    number = {label: k for k, label in enumerate(topology.labels)}
    source, target = topology.ends
    for dash in re.finditer("-", text):
        names = text[: dash.start()].strip(), text[dash.end() :].strip()
        ends = [number.get(name, int(name) if name.isdigit() else -1) for name in names]
        found = np.flatnonzero((source == ends[0]) & (target == ends[1]) & topology.link_exists)
        if found.size:
            return int(found[0])
    known = topology.link_labels[0] if topology.link_labels else "0-1"
    raise UsageError(f"cable '{shortened(text)}': a port ({known}) or two nodes (A-B) required")


def back_of(topology: Topology, link: int) -> int:
    """The link back: of parallel links the one of the same number; -1: there is none."""
    source, target = topology.ends
    ahead = np.flatnonzero((source == source[link]) & (target == target[link]))
    back = np.flatnonzero((source == target[link]) & (target == source[link]))
    number = int(np.flatnonzero(ahead == link)[0])
    return int(back[number]) if number < back.size else -1


def cable_name(topology: Topology, link: int) -> str:
    """`leafA port 14 → spineP port 20`."""
    name = topology.link_name(link).removeprefix("link ")
    return re.sub(r":(\d+)(?= →|$)", r" port \1", name) if topology.link_labels else name


def without_cable(machine: Machine, link: int) -> Machine:
    """The machine without a link and the one back.

    Raises:
        InputError: it is the only way to an endpoint.
    """
    topology = machine.topology
    name = f"{machine.name} without {cable_name(topology, link).partition(' →')[0]}"
    if topology.kind != "graph":
        ends = tuple(int(end[link]) for end in topology.ends)
        left = without(topology, (), [(ends[0], ends[1])])
        return replace(machine, name=name, topology=left, routing=Routing.default(left))
    keep = np.ones(topology.links, bool)
    keep[[each for each in (link, back_of(topology, link)) if each >= 0]] = False
    links = {
        field: each[keep]
        for field in ("link_source", "link_target", "link_width", "link_rate_Bps")
        if (each := getattr(topology, field)) is not None
    }
    labels = tuple(compress(topology.link_labels, keep))
    left = replace(topology, **links, link_labels=labels, family=None)
    routing = machine.routing
    if routing.next_link is not None:
        routing = _rerouted(topology, left, routing.next_link, keep)
    elif routing.rule == "table":
        number, stored = np.cumsum(keep) - 1, routing.stored()
        kept = [number[links].tolist() for links in stored if links.size and keep[links].all()]
        routing = route_table(left, kept, of_links=True)
    return replace(machine, name=name, topology=left, routing=routing)


def without_each(machine: Machine, cables: Iterable[str]) -> list[Machine]:
    """The machine without each of the cables that are named, one at a time.

    Raises:
        UsageError: none is named so. InputError: it is the only way to an endpoint.
    """
    return [without_cable(machine, find_cable(machine.topology, each)) for each in cables]


def _rerouted(before: Topology, left: Topology, next_link: Ints32, keep: Bools) -> Routing:
    """Next links without those that are gone.

    Raises:
        InputError: there is no other way.
    """
    shortest = cache(lambda: next_links(left, Routing("minimal")))
    number = np.where(keep, np.cumsum(keep) - 1, -1)
    table = np.where(next_link < 0, -1, number[next_link]).astype(np.int32)
    for dead in np.flatnonzero(~keep).tolist():
        lost = np.flatnonzero(next_link == dead)
        target, ends = lost % left.endpoints, (before.link_source[dead], before.link_target[dead])
        same = np.flatnonzero((left.link_source == ends[0]) & (left.link_target == ends[1]))
        if lost.size:
            table[lost] = same[target % same.size] if same.size else shortest()[target, ends[0]]
    columns = table.reshape(-1, left.endpoints)
    while (stray := stray_entry(left, table)) is not None:
        columns[:, stray.target] = shortest()[stray.target, left.endpoints :]
    return Routing("forwarding", next_link=table)


def usual_rates(topology: Topology) -> Floats | None:
    """shape=(links): the rate that most links of a node to nodes of the same kind have [B/s].

    Endpoints are one kind, others the second. None where all links have one rate.
    """
    own = topology.link_rate_Bps
    if own is None:
        return None
    inner = topology.link_source >= topology.endpoints
    kind = topology.link_source * 2 + (topology.link_target >= topology.endpoints)
    return np.where(inner, np.maximum(own, most_of(kind, own)), own)
