"""Bare networks: a topology by its kind and size, with costs nobody measured.

The defaults, tagged `default`, are those of no machine: round numbers near a cluster's of today, so that predictions
on a bare network compare schedules and nothing else. Machine files take them too for words they leave out.

    link             25 GB/s per direction and unit of width
    port             25 GB/s out and 25 GB/s in, independent of each other
    model            flow
    overhead         0
    inject, eject    500 ns each per message, as latency; unstated beside `port=none`, which is no interface at all, 0
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

from functools import cache
from typing import Any

from conset.errors import InputError, UsageError, unknown_name
from conset.machine.costs import Costs, Provenance
from conset.machine.machine import Machine
from conset.machine.words import changed_costs
from conset.network.routing import RULES, TIES, Routing
from conset.network.topology import Topology

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
MAX_DIMENSIONS = 24
"""Of a hypercube: 2^24 nodes are more than any machine and still fit in memory."""


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
            raise UsageError(f"{what}: size {k} '{part}': must be a whole number; sizes are written as 8x8")
        if len(part) > 9 or int(part) < 1:
            raise UsageError(f"{what}: size {k} is {part}: must be at least 1 and below 10^9")
        sizes.append(int(part))
    return tuple(sizes)


def build_topology(kind: str, sizes: tuple[int, ...], width: int = 1) -> Topology:
    """A regular network; `sizes` are the sides of a box, the dimensions of a hypercube, the nodes of the others.

    Raises:
        InputError: too many sizes for the kind, too many links or dimensions, a width on a crossbar.
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
            raise InputError(f"a hypercube of {sizes[0]} dimensions: must be at most {MAX_DIMENSIONS}")
        return Topology.hypercube(sizes[0], width=width)
    if width != 1:
        raise InputError(f"width = {width}: a crossbar has no links")
    return Topology.crossbar(sizes[0])


def build_routing(kind: str, rule: str | None = None, tie: str | None = None) -> Routing:
    """A rule for paths by its name; None is the kind's usual one.

    Raises:
        UsageError: a rule that the kind does not know, or an unknown tie; with the nearest known one.
    """
    rules = [known for known in RULES[kind] if known != "table"]
    if rule is not None and rule not in rules:
        raise unknown_name(f"routing of a {kind}", rule, rules)
    if tie is not None and tie not in TIES:
        raise unknown_name("tie", tie, TIES)
    return Routing(rule or RULES[kind][0], tie or "parity")


def build_bare(name: str, kind: str, sizes: tuple[int, ...]) -> Machine:
    """A bare network with the default costs.

    Raises:
        InputError: sizes that the kind does not take.
    """
    return Machine(name, build_topology(kind, sizes), build_routing(kind), default_costs())


def machine_of_topology(topology: Topology) -> Machine:
    """A network with its usual routing and the default costs; a regular one has the name of its spec."""
    sizes = (topology.dimensions,) if topology.kind == "hypercube" else topology.sides or (topology.nodes,)
    name = f"{topology.kind}:{'x'.join(str(size) for size in sizes)}"
    if topology.width > 1:
        name += f",width={topology.width}"
    return Machine(name, topology, Routing.default(topology), default_costs())
