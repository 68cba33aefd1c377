"""Linkage and guarantees in the terminal: what nodes are loaded with, and what connections get at least."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.markup import escape

from conset.report.terminal import ROWS, more, table_lines
from conset.schedule.guarantees import guarantees
from conset.schedule.linkage import GATE, linkage
from conset.schedule.schedule import Schedule
from conset.units import count_of, format_rate, format_time


def linkage_text(schedule: Schedule, node: int | None) -> str:
    """The linkage tables of a node, phase by phase; of all nodes as many rows as fit.

    Raises:
        InputError: the schedule has no routes of its own, or there is no such node.
    """
    table = linkage(schedule, node)
    topology, pattern = schedule.machine.topology, schedule.pattern
    shown = min(table.phase.size, ROWS if node is None else 20 * ROWS)
    rows = []
    for k in range(shown):
        message = int(schedule.message[table.transfer[k]])
        start, end = int(table.from_node[k]), int(table.next_node[k])
        rows.append(
            [
                str(table.phase[k]),
                *([str(table.node[k])] if node is None else []),
                str(table.channel[k]),
                "gate" if start == GATE else f"node {start}",
                "gate" if end == GATE else f"node {end}, channel {table.next_channel[k]}",
                f"{message}: rank {pattern.source[message]} → {pattern.target[message]}",
            ]
        )
    where = "all nodes" if node is None else escape(topology.node_name(node))
    used = f"{count_of(table.phase.size, 'channel')} in use over {count_of(schedule.phases, 'phase')}"
    head = f"[bold]linkage of {where}[/]: {used}"
    columns = ["phase", *(["node"] if node is None else []), "channel", "from", "to", "message"]
    lines = table_lines(columns, rows, left=tuple(range(len(columns) - 3, len(columns))))
    rest = table.phase.size - shown
    return "\n".join([head, "", *lines, *([more(rest, "rows")] if rest else [])])


def guarantees_text(schedule: Schedule) -> str:
    """The connections with the least guaranteed bandwidth, the slowest first."""
    given = guarantees(schedule)
    worst = np.lexsort((-given.latency_s, given.bandwidth_Bps))[:ROWS]
    rows = []
    for k in worst.tolist():
        message = int(schedule.message[k])
        rows.append(
            [
                str(schedule.phase_of[k]),
                str(message),
                f"{schedule.pattern.source[message]} → {schedule.pattern.target[message]}",
                _rate(float(given.bandwidth_Bps[k])),
                format_time(float(given.latency_s[k])),
            ]
        )
    head = f"[bold]guarantees[/] of {schedule.transfers:,} connections while their phase is open, the least first"
    lines = table_lines(["phase", "message", "ranks", "bandwidth", "latency at most"], rows, left=(2,))
    rest = schedule.transfers - len(rows)
    return "\n".join([head, "", *lines, *([more(rest, "connections")] if rest else [])])


def _rate(value: float) -> str:
    return format_rate(value) if np.isfinite(value) else "any"


def guarantees_object(schedule: Schedule) -> list[dict[str, Any]]:
    """One object for each transfer: `phase`, `message`, `bandwidth_Bps` (null: any), `latency_s`."""
    given = guarantees(schedule)
    rows = zip(
        schedule.phase_of.tolist(), schedule.message.tolist(), given.bandwidth_Bps.tolist(), given.latency_s.tolist(),
        strict=True,
    )  # fmt: skip
    return [
        {"phase": p, "message": m, "bandwidth_Bps": rate if np.isfinite(rate) else None, "latency_s": latency}
        for p, m, rate, latency in rows
    ]
