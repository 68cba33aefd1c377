"""Objects: what `show --json` says of a machine, a pattern, a schedule, one of its phases, and its partners."""

from __future__ import annotations

from typing import Any

import numpy as np

from conset.pattern.pattern import Pattern
from conset.report.facts import Summary, degrees
from conset.report.routes import phase_routes
from conset.report.terminal_schedule import partners_of
from conset.schedule.schedule import Schedule


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
    from conset.schedule.loads import largest_sizes, phase_loads

    loads = phase_loads(schedule)
    ends = np.concatenate([[0], np.cumsum(schedule.size)])
    per_phase = {
        "transfers": np.diff(schedule.phase_offsets).tolist(),
        "send": loads.send.tolist(),
        "receive": loads.receive.tolist(),
        "link": loads.link.tolist(),
        "channels": loads.channels.tolist(),
        "largest": largest_sizes(schedule).tolist(),
        "bytes": np.diff(ends[schedule.phase_offsets]).tolist(),
    }
    return {**summary, "per_phase": per_phase}


def phase_object(schedule: Schedule, phase: int) -> dict[str, Any]:
    """The transfers of a phase as rows [source, target, bytes, message], their routes as nodes, the loads of links.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    where = routes.transfers
    message = schedule.message[where]
    source, target = schedule.pattern.source[message], schedule.pattern.target[message]
    from_node, to_node = schedule.machine.topology.ends
    rows = zip(source.tolist(), target.tolist(), schedule.size[where].tolist(), message.tolist(), strict=True)
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
