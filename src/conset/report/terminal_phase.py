"""One phase in the terminal: its transfers with their routes, and its most loaded links."""

from __future__ import annotations

import numpy as np

from conset.report.routes import PhaseRoutes, phase_routes
from conset.report.terminal import ROWS, bar, more, table_lines
from conset.schedule.schedule import Schedule
from conset.units import count_of, format_size

_LINKS = 5
_NODES = 14
"""Most nodes of a route that are written."""


def phase_text(schedule: Schedule, phase: int) -> str:
    """The transfers of `phase` with their routes, at most a screenful; then the links with the largest loads.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    size = int(schedule.size[routes.transfers].sum())
    head = f"[bold]phase {phase}[/] of {schedule.phases:,}: {count_of(routes.count, 'transfer')}, {format_size(size)}"
    return "\n".join([head, "", *_transfer_lines(schedule, routes), *_link_lines(schedule, routes)])


def _transfer_lines(schedule: Schedule, routes: PhaseRoutes) -> list[str]:
    timed = schedule.timetable is not None
    rows = []
    shown = routes.count if routes.count <= ROWS else ROWS - 8
    for k in range(shown):
        t = routes.transfers.start + k
        m = int(schedule.message[t])
        row = [
            str(m),
            f"{schedule.pattern.source[m]} → {schedule.pattern.target[m]}",
            format_size(int(schedule.size[t])),
        ]
        if schedule.timetable is not None:
            row.append("{:.4g} … {:.4g} us".format(*(schedule.timetable[t] * 1e6)))
        rows.append([*row, _route(routes.route(k))])
    columns = ["message", "ranks", "bytes", *(["time"] if timed else []), "route (nodes)"]
    lines = table_lines(columns, rows, left=(1, len(columns) - 1))
    return lines if shown == routes.count else [*lines, more(routes.count - shown, "transfers")]


def _route(nodes: list[int]) -> str:
    names = [str(node) for node in nodes]
    if len(names) > _NODES:
        names = [*names[: _NODES - 3], "…", *names[-2:]]
    return " ".join(names)


def _link_lines(schedule: Schedule, routes: PhaseRoutes) -> list[str]:
    if not routes.link.size:
        return []
    topology = schedule.machine.topology
    order = np.lexsort((routes.link, -routes.load))[:_LINKS]
    top = int(routes.load.max())
    rows = []
    for k in order:
        load, name = int(routes.load[k]), topology.link_name(int(routes.link[k])).removeprefix("link ")
        rows.append((name, str(load), format_size(int(routes.bytes[k])), bar(load, top, 12)))
    names = f"  {routes.link.size:,} of {count_of(topology.links, 'link')} in use, largest load {top}"
    return ["", names, *table_lines(("link", "load", "bytes", ""), rows, left=(0, 3))]
