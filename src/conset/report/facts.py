"""Facts of machines, patterns and schedules, the same in terminal, page and notebook; JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of, format_load, format_size, format_time
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.network.routing import planes_of
from conset.machine.network.topology import Topology
from conset.machine.words import group_of, listed, plain
from conset.pattern.pattern import Pattern
from conset.report.sections import Fact
from conset.schedule.loads import figures
from conset.schedule.schedule import Schedule

Summary = Mapping[str, Any]
"""The keys of `compile --json`."""

TERM_LABELS = {"transfer": "transfer", "setup": "set-up", "synchronization": "synchronization"}
"""What a time is made of, and its names."""
LOADS = ("send", "receive", "link", "channels")
"""Kinds of loads, as they are shown."""
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
"""Names of costs that predictions use; those of simulations only are in `conset machines`."""


def machine_facts(machine: Machine) -> list[Fact]:
    """Return size, rule and limits; the costs are apart (`cost_facts`)."""
    topology, routing = machine.topology, machine.routing
    extra = topology.nodes - topology.endpoints
    switches = f", of which {count_of(extra, 'switch', 'switches')}" if extra else ""
    links = f"{topology.links:,} one-way" if topology.kind != "crossbar" else "none: ports only"
    facts = [
        Fact("network", describe_network(topology)),
        Fact("nodes", f"{topology.nodes:,}{switches}"),
        Fact("links", links),
    ]
    if topology.width > 1:
        facts.append(Fact("width", f"{topology.width} parallel links each"))
    even = any(side > 2 and side % 2 == 0 for side in topology.sides)
    can_tie = topology.wraps and routing.rule == "dimension-order" and even
    tie = f", ties {routing.tie}" if can_tie else ""
    hashed = f", hash {routing.seed}" if routing.knowledge == "hashed" else ""
    only = f" (for {', '.join(machine.limits_methods)})" if machine.limits_methods else ""
    facts += [
        Fact("routing", routing.rule + tie + hashed),
        Fact("hard limits", f"{machine.limits}{only}"),
    ]
    if machine.method_costs:
        facts.append(Fact("costs of its own for", ", ".join(machine.method_costs)))
    facts += [Fact("note", note) for note in machine.notes]
    return facts + [Fact("warning", line) for line in machine.warnings]


def describe_network(topology: Topology) -> str:
    """Return `8 × 8 mesh`, `hypercube of 6 dimensions`, `crossbar of 16 ports` or the like."""
    planes = planes_of(topology)
    if planes is not None:
        return f"{count_of(planes.count, 'plane')}, each: {describe_network(planes.base)}"
    if topology.kind == "hypercube":
        return f"hypercube of {count_of(topology.dimensions, 'dimension')}"
    if len(topology.sides) == 1:
        what = "ports" if topology.kind == "crossbar" else "nodes"
        return f"{topology.kind} of {topology.nodes} {what}"
    if topology.sides:
        return " × ".join(str(side) for side in topology.sides) + f" {topology.kind}"
    if topology.family is None or topology.level is None:
        return "graph"
    return f"{topology.family.name} of {count_of(topology.endpoints, 'endpoint')}"


def cost_facts(costs: Costs) -> list[Fact]:
    """Return every cost of predictions whose origin is known, with its tag and source."""
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
    """Return ranks, messages, bytes, degrees, sizes."""
    facts = [
        Fact("ranks", f"{pattern.ranks:,}"),
        Fact("messages", f"{pattern.messages:,}"),
        Fact("bytes", format_size(pattern.bytes) if pattern.messages else "0 B"),
    ]
    if pattern.messages:
        for label, degree in zip(
            ("sends per rank", "receives per rank"), degrees(pattern), strict=True
        ):
            low, high = degree.min(), degree.max()
            spread = f"{low} to {high}, mean {degree.mean():.4g}"
            facts.append(Fact(label, f"{low}, all equal" if low == high else spread))
        least, middle, most = (
            format_size(float(size))
            for size in (pattern.size.min(), np.median(pattern.size), pattern.size.max())
        )
        equal = f"{most}, all equal"
        spread = f"{least} to {most}, median {middle}"
        facts.append(Fact("size of a message", equal if pattern.equal_sizes else spread))
    if pattern.local_bytes:
        local = f"{format_size(pattern.local_bytes)}, never on the network"
        facts.append(Fact("local bytes", local))
    if pattern.messages and pattern.before is not None:
        pairs = count_of(len(pattern.before), "pair of messages", "pairs of messages")
        facts.append(Fact("partial order", pairs))
    if pattern.messages and pattern.packed is not None:
        packed = count_of(int(pattern.packed.sum()), "message")
        facts.append(Fact("put together from pieces", packed))
    return facts


def degrees(pattern: Pattern) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (sends, receives), shape=(ranks): messages that leave and enter every rank."""
    return np.diff(pattern.offsets), np.bincount(pattern.target, minlength=pattern.ranks)


def schedule_facts(schedule: Schedule, summary: Summary | None = None) -> list[Fact]:
    """Return method, phases, loads; bound, gap and prediction where a summary is given."""
    pattern = schedule.pattern
    figure = figures(schedule) if summary is None else summary
    load, bound = figure["load"], (summary or {}).get("bound") or {}
    limits = "no limits" if str(schedule.limits) == "none" else f"limits {schedule.limits}"
    least = "" if bound.get("phases") is None else f", bound {bound['phases']:,}"
    witness = f" ({bound['phases_witness']})" if least and bound.get("phases_witness") else ""
    label = f"{pattern_label(schedule)}{count_of(pattern.ranks, 'rank')}"
    facts = [
        Fact("method", f"{schedule.method}, {limits}"),
        Fact(
            "pattern",
            f"{label}, {count_of(pattern.messages, 'message')}, {format_size(pattern.bytes)}",
        ),
        Fact("machine", schedule.machine.name),
        Fact("phases", f"{schedule.phases:,}{least}{witness}"),
        Fact("largest load", load_text(load)),
        Fact("largest messages", f"{format_size(figure['phase_bytes'])}, summed over phases"),
    ]
    if schedule.route_nodes is not None:
        facts.append(Fact("routes", "chosen by the compiler"))
    elif schedule.machine.routes_unknown:
        facts.append(Fact("routes", schedule.machine.routes_unknown))
    if summary is not None and summary.get("predicted_s") is not None:
        under = f"{format_time(summary['predicted_s'])} under {summary.get('sync', schedule.sync)}"
        time_s = bound.get("time_s")
        gap = "" if time_s is None else f", bound {format_time(time_s)}"
        facts.append(Fact("predicted", under + gap))
    return facts


def load_text(load: Mapping[str, Any]) -> str:
    """Return `send 1, receive 1, link 2, channels 6`."""
    return ", ".join(f"{name} {format_load(load[name])}" for name in LOADS)


def pattern_label(schedule: Schedule) -> str:
    """Return `alltoall: `, the pattern's name; of a file from the command that made it; else ""."""
    if schedule.pattern.name != UNNAMED:
        return f"{schedule.pattern.name}: "
    return compiled_pattern(schedule.manifest.command, "{}: ")


def compiled_pattern(command: str, form: str = "{}") -> str:
    """Return the pattern that `conset compile PATTERN …` names, in a form; "" of other commands."""
    words = command.split()
    return form.format(words[2]) if words[:2] == ["conset", "compile"] and len(words) > 2 else ""


# As objects of `--json`


def machine_object(machine: Machine) -> dict[str, Any]:
    """Return network, routing, limits, costs (also those of single methods) and notes."""
    topology, routing = machine.topology, machine.routing
    return {
        "name": machine.name,
        "network": {
            "kind": topology.kind,
            "sides": list(topology.sides),
            "nodes": topology.nodes,
            "endpoints": topology.endpoints,
            "links": topology.links,
        },
        "routing": {
            "rule": routing.rule,
            "tie": routing.tie,
            **({} if routing.is_known else {"knowledge": routing.knowledge, "hash": routing.seed}),
        },
        "limits": {**machine.limits.to_object(), "methods": list(machine.limits_methods)},
        "mode": machine.mode,
        "modes": list(machine.modes),
        "costs": cost_rows(machine),
        "notes": list(machine.notes),
        "warnings": list(machine.warnings),
    }


def cost_rows(machine: Machine) -> list[dict[str, Any]]:
    """Return every number once; of costs of single methods only what differs from the others."""
    common = listed(machine.costs)
    return [
        {
            "word": word,
            "group": group_of(word),
            "method": method,
            "value": plain(costs, word),
            "text": text,
            "unit": unit,
            "tag": origin.tag,
            "source": origin.source,
        }
        for method, costs in ((None, machine.costs), *machine.method_costs.items())
        for word, text, unit, origin in listed(costs)
        if method is None or (word, text, unit, origin) not in common
    ]


def pattern_object(pattern: Pattern) -> dict[str, Any]:
    """Return counts, degrees and sizes [B]."""
    out, into = degrees(pattern)
    size = pattern.size
    return {
        "ranks": pattern.ranks,
        "messages": pattern.messages,
        "bytes": pattern.bytes,
        "local_bytes": pattern.local_bytes,
        "sends": {"min": int(out.min()), "max": int(out.max())},
        "receives": {"min": int(into.min()), "max": int(into.max())},
        "size": {"min": int(size.min()), "max": int(size.max())} if pattern.messages else None,
        "ordered_pairs": 0 if pattern.before is None else len(pattern.before),
    }
