"""Objects: what `show --json` prints of a machine, pattern, schedule, phase, and partners."""

from __future__ import annotations

from typing import Any

import numpy as np

from conset.machine.machine import Machine
from conset.machine.words import group_of, listed, plain
from conset.pattern.pattern import Pattern
from conset.report.facts import Summary, degrees
from conset.report.guarantees import guarantees_object
from conset.report.routes import phase_routes
from conset.report.terminal_schedule import Views, partners_of
from conset.schedule.linkage import linkage
from conset.schedule.schedule import Schedule


def machine_object(machine: Machine) -> dict[str, Any]:
    """One machine as an object.

    Network, routing, limits, costs (also those of single methods), notes.
    """
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
    """Every number once; of the costs of single methods only what differs from the others."""
    rows = []
    common = listed(machine.costs)
    for method, costs in ((None, machine.costs), *machine.method_costs.items()):
        for row in listed(costs):
            if method is not None and row in common:
                continue
            word, text, unit, origin = row
            rows.append(
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
            )
    return rows


def pattern_object(pattern: Pattern) -> dict[str, Any]:
    """Counts, degrees and sizes [B] of a pattern."""
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


def schedule_object(schedule: Schedule, summary: Summary) -> dict[str, Any]:
    """The keys of `compile --json`, and for every phase transfers, largest loads and sizes [B]."""
    from conset.schedule.loads import largest_sizes, loads_list, phase_loads

    loads = phase_loads(schedule)
    ends = np.concatenate([[0], np.cumsum(schedule.size)])
    per_phase = {
        "transfers": np.diff(schedule.phase_offsets).tolist(),
        "send": loads.send.tolist(),
        "receive": loads.receive.tolist(),
        "link": loads_list(loads.link),
        "channels": loads_list(loads.channels),
        "largest": largest_sizes(schedule).tolist(),
        "bytes": np.diff(ends[schedule.phase_offsets]).tolist(),
    }
    return {**summary, "per_phase": per_phase}


def phase_object(schedule: Schedule, phase: int) -> dict[str, Any]:
    """The transfers of a phase as rows, their routes as nodes, the loads of links.

    A row is [source, target, bytes, message].

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    where = routes.transfers
    message = schedule.message[where]
    source, target = schedule.pattern.source[message], schedule.pattern.target[message]
    from_node, to_node = schedule.machine.topology.ends
    rows = zip(
        source.tolist(),
        target.tolist(),
        schedule.size[where].tolist(),
        message.tolist(),
        strict=True,
    )
    used = zip(routes.link.tolist(), routes.load.tolist(), routes.bytes.tolist(), strict=True)
    return {
        "phase": phase,
        "transfers": [list(row) for row in rows],
        "routes": [routes.route(k) for k in range(routes.count)],
        "links": [
            {"from": int(from_node[link]), "to": int(to_node[link]), "load": load, "bytes": size}
            for link, load, size in used
        ],
    }


def partners_object(schedule: Schedule) -> list[list[dict[str, list[int]]]]:
    """`[rank][phase]` → {"to": targets, "from": sources}."""
    return [[{"to": out, "from": into} for out, into in row] for row in partners_of(schedule)]


def views_object(schedule: Schedule, summary: Summary, views: Views) -> dict[str, Any]:
    """The schedule, and each view that is asked for."""
    body = schedule_object(schedule, summary)
    if views.phase == -1:
        body["shown_phases"] = [phase_object(schedule, phase) for phase in range(schedule.phases)]
    elif views.phase is not None:
        body["shown_phase"] = phase_object(schedule, views.phase)
    if views.partners:
        body["partners"] = partners_object(schedule)
    if views.linkage is not None:
        body["linkage"] = linkage(schedule, None if views.linkage < 0 else views.linkage).to_rows()
    if views.guarantees:
        body["guarantees"] = guarantees_object(schedule)
    return body
