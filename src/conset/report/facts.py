"""Facts: the lines that say what a machine, a pattern or a schedule is.

Terminal, pages and notebook show the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from conset.base.units import count_of, format_load, format_size, format_time
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.network.planes import planes_of
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule

Summary = Mapping[str, Any]
"""The keys of `compile --json`."""

TERM_LABELS = {"transfer": "transfer", "setup": "set-up", "synchronization": "synchronization"}
"""What a time is made of, and its names."""
LOADS = ("send", "receive", "link", "channels")
"""Kinds of loads, as they are shown."""


class Fact(NamedTuple):
    """One line: what, how much, and where the number comes from (may be empty)."""

    label: str
    value: str
    origin: str = ""


UNNAMED = "pattern"
"""The name of a pattern that has none."""
COST_LABELS = {
    "overhead": "overhead of a message",
    "inject": "overhead of a send",
    "eject": "overhead of a receive",
    "port": "rate of a port",
    "port_out": "rate out of a node",
    "port_in": "rate into a node",
    "node": "rate in and out together",
    "exchange_weight": "weight of an exchange",
    "link": "rate of a link",
    "hop": "latency per link",
    "synchronization": "barrier",
    "setup": "set-up of a phase",
    "signal": "ready signal",
    "first_barrier": "first phase charged",
    "tolerance": "link tolerance",
    "blocking": "blocking exponent",
    "eager": "eager threshold",
}
"""The words of machine files that predictions use, for people.

What only a simulation uses is in `conset machines`.
"""


def machine_facts(machine: Machine) -> list[Fact]:
    """Size, rule, limits; the costs are apart (`cost_facts`)."""
    topology = machine.topology
    facts = [
        Fact("network", describe_network(machine)),
        Fact("nodes", f"{topology.nodes:,}{_switches(machine)}"),
    ]
    facts.append(
        Fact(
            "links",
            f"{topology.links:,} one-way" if topology.kind != "crossbar" else "none: ports only",
        )
    )
    if topology.width > 1:
        facts.append(Fact("width", f"{topology.width} parallel links each"))
    tie = f", ties {machine.routing.tie}" if _can_tie(machine) else ""
    hashed = f", hash {machine.routing.seed}" if machine.routing.knowledge == "hashed" else ""
    facts.append(Fact("routing", machine.routing.rule + tie + hashed))
    only = f" (for {', '.join(machine.limits_methods)})" if machine.limits_methods else ""
    facts.append(Fact("hard limits", f"{machine.limits}{only}"))
    if machine.method_costs:
        facts.append(Fact("costs of its own for", ", ".join(machine.method_costs)))
    facts += [Fact("note", note) for note in machine.notes]
    facts += [Fact("warning", line) for line in machine.warnings]
    return facts


def describe_network(machine: Machine) -> str:
    """A name such as `8 × 8 mesh`, `hypercube of 6 dimensions` or `graph`.

    Or `crossbar of 16 ports`, `fat-tree of 16 endpoints`.
    """
    return _describe(machine.topology)


def _describe(topology: Topology) -> str:
    planes = planes_of(topology)
    if planes is not None:
        return f"{count_of(planes.count, 'plane')}, each: {_describe(planes.base)}"
    if topology.kind == "hypercube":
        return f"hypercube of {count_of(topology.dimensions, 'dimension')}"
    if len(topology.sides) == 1:
        return (
            f"{topology.kind} of {topology.nodes} "
            f"{'ports' if topology.kind == 'crossbar' else 'nodes'}"
        )
    if topology.sides:
        return " × ".join(str(side) for side in topology.sides) + f" {topology.kind}"
    if topology.family is None or topology.level is None:
        return "graph"
    return f"{topology.family.name} of {count_of(topology.endpoints, 'endpoint')}"


def _switches(machine: Machine) -> str:
    topology = machine.topology
    extra = topology.nodes - topology.endpoints
    return f", of which {count_of(extra, 'switch', 'switches')}" if extra else ""


def _can_tie(machine: Machine) -> bool:
    even = any(side > 2 and side % 2 == 0 for side in machine.topology.sides)
    return machine.topology.wraps and machine.routing.rule == "dimension-order" and even


def cost_facts(costs: Costs) -> list[Fact]:
    """Every cost a prediction uses that says where it comes from, with its tag and source."""
    from conset.machine.words import listed

    return [
        Fact(
            COST_LABELS[word],
            text,
            f"{origin.tag}: {origin.source}" if origin.source else origin.tag,
        )
        for word, text, _, origin in listed(costs)
        if word in COST_LABELS
    ]


def pattern_facts(pattern: Pattern) -> list[Fact]:
    """Ranks, messages, bytes, degrees, sizes."""
    facts = [Fact("ranks", f"{pattern.ranks:,}"), Fact("messages", f"{pattern.messages:,}")]
    if not pattern.messages:
        return [*facts, Fact("bytes", "0 B"), *_local(pattern)]
    facts.append(Fact("bytes", format_size(pattern.bytes)))
    for label, degree in zip(
        ("sends per rank", "receives per rank"), degrees(pattern), strict=True
    ):
        facts.append(
            Fact(label, _spread(int(degree.min()), int(degree.max()), f"mean {degree.mean():.4g}"))
        )
    if pattern.equal_sizes:
        facts.append(Fact("size of a message", f"{format_size(int(pattern.size[0]))}, all equal"))
    else:
        low, high = int(pattern.size.min()), int(pattern.size.max())
        middle = format_size(float(np.median(pattern.size)))
        facts.append(
            Fact("size of a message", f"{format_size(low)} to {format_size(high)}, median {middle}")
        )
    facts += _local(pattern)
    if pattern.before is not None:
        facts.append(
            Fact(
                "partial order",
                count_of(len(pattern.before), "pair of messages", "pairs of messages"),
            )
        )
    if pattern.packed is not None:
        facts.append(
            Fact("put together from pieces", count_of(int(pattern.packed.sum()), "message"))
        )
    return facts


def _local(pattern: Pattern) -> list[Fact]:
    if not pattern.local_bytes:
        return []
    return [Fact("local bytes", f"{format_size(pattern.local_bytes)}, never on the network")]


def _spread(low: int, high: int, middle: str) -> str:
    return f"{low}, all equal" if low == high else f"{low} to {high}, {middle}"


def degrees(
    pattern: Pattern,
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """(sends, receives), shape=(ranks) each: messages that leave and enter every rank."""
    return np.diff(pattern.offsets), np.bincount(pattern.target, minlength=pattern.ranks)


def schedule_facts(schedule: Schedule, summary: Summary | None = None) -> list[Fact]:
    """Method, phases, loads; bound, gap and prediction where a summary is given."""
    from conset.schedule.loads import figures

    pattern = schedule.pattern
    figure = figures(schedule) if summary is None else summary
    load = figure["load"]
    limits = "no limits" if str(schedule.limits) == "none" else f"limits {schedule.limits}"
    facts = [
        Fact("method", f"{schedule.method}, {limits}"),
        Fact(
            "pattern",
            f"{pattern_label(schedule)}{count_of(pattern.ranks, 'rank')}, "
            f"{_pattern_source(pattern)}",
        ),
        Fact("machine", schedule.machine.name),
        Fact("phases", f"{schedule.phases:,}{_against_bound(summary)}"),
        Fact("largest load", ", ".join(f"{name} {format_load(load[name])}" for name in LOADS)),
        Fact("largest messages", f"{format_size(figure['phase_bytes'])}, summed over phases"),
    ]
    if schedule.route_nodes is not None:
        facts.append(Fact("routes", "chosen by the compiler"))
    elif schedule.machine.routes_unknown:
        facts.append(Fact("routes", schedule.machine.routes_unknown))
    if summary is not None and summary.get("predicted_s") is not None:
        sync = summary.get("sync", schedule.sync)
        facts.append(
            Fact(
                "predicted",
                f"{format_time(summary['predicted_s'])} under {sync}{_time_gap(summary)}",
            )
        )
    return facts


def pattern_label(schedule: Schedule) -> str:
    """`alltoall: `: the pattern's name; a file keeps none, but the command that made it does.

    Else nothing.
    """
    name = schedule.pattern.name
    if name != UNNAMED:
        return f"{name}: "
    words = schedule.manifest.command.split()
    return f"{words[2]}: " if words[:2] == ["conset", "compile"] and len(words) > 2 else ""


def _pattern_source(pattern: Pattern) -> str:
    return f"{count_of(pattern.messages, 'message')}, {format_size(pattern.bytes)}"


def _against_bound(summary: Summary | None) -> str:
    bound = (summary or {}).get("bound") or {}
    if bound.get("phases") is None:
        return ""
    witness = f" ({bound['phases_witness']})" if bound.get("phases_witness") else ""
    return f", bound {bound['phases']:,}{witness}"


def _time_gap(summary: Summary) -> str:
    bound = summary.get("bound") or {}
    return "" if bound.get("time_s") is None else f", bound {format_time(bound['time_s'])}"


def headlines(schedule: Schedule, summary: Summary | None) -> tuple[str, str]:
    """Title and second line of a picture: method, machine, phases, bound.

    What is sent and the witness.
    """
    bound = (summary or {}).get("bound") or {}
    count = count_of(schedule.phases, "phase")
    if bound.get("phases") is not None:
        count += f" (bound {bound['phases']:,})"
    pattern = schedule.pattern
    second = f"{pattern_label(schedule)}{_pattern_source(pattern)}"
    if bound.get("phases_witness"):
        second += f" · bound: {bound['phases_witness']}"
    return f"{schedule.method} on {schedule.machine.name}: {count}", second
