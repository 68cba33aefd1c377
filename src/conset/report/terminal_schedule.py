"""A schedule in the terminal: facts, phases, one phase, partners of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.markup import escape

from conset.base.units import count_of, format_load, format_size
from conset.report.facts import Summary, schedule_facts
from conset.report.guarantees import guarantees_text, linkage_text
from conset.report.routes import PhaseRoutes, phase_routes
from conset.report.terminal import ROWS, bar, fact_lines, more, table_lines
from conset.schedule.schedule import Schedule

_LINKS = 5
_NODES = 14
"""Most nodes of a route that are written."""


@dataclass(frozen=True)
class Views:
    """What is asked of a schedule beyond its summary.

    `phase` and `linkage` are numbers, or -1 for all of them.
    """

    phase: int | None = None
    partners: bool = False
    linkage: int | None = None
    guarantees: bool = False


def views_text(schedule: Schedule, summary: Summary, views: Views, width: int) -> str:
    """Each view in turn; the whole schedule where none is asked for."""
    texts = []
    if views.phase is not None:
        texts += [
            phase_text(schedule, p)
            for p in (range(schedule.phases) if views.phase == -1 else [views.phase])
        ]
    if views.partners:
        texts.append(partners_text(schedule, width=width))
    if views.linkage is not None:
        texts.append(linkage_text(schedule, None if views.linkage < 0 else views.linkage))
    if views.guarantees:
        texts.append(guarantees_text(schedule))
    return "\n\n".join(texts) or schedule_text(schedule, summary)


def phase_text(schedule: Schedule, phase: int) -> str:
    """The transfers of `phase` with their routes, at most a screenful.

    Then the links with the largest loads.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    size = int(schedule.size[routes.transfers].sum())
    head = (
        f"[bold]phase {phase}[/] of {schedule.phases:,}: {count_of(routes.count, 'transfer')}, "
        f"{format_size(size)}"
    )
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
        load, name = (
            int(routes.load[k]),
            topology.link_name(int(routes.link[k])).removeprefix("link "),
        )
        rows.append((name, str(load), format_size(int(routes.bytes[k])), bar(load, top, 12)))
    names = (
        f"  {routes.link.size:,} of {count_of(topology.links, 'link')} in use, largest load {top}"
    )
    if schedule.machine.routes_unknown and schedule.route_nodes is None:
        names += f": of these routes, one sample of what {schedule.machine.routing.rule} may do"
    return ["", names, *table_lines(("link", "load", "bytes", ""), rows, left=(0, 3))]


Partners = list[list[tuple[list[int], list[int]]]]
"""`partners[rank][phase]`: (targets, sources) of the rank in the phase, rising."""


def partners_of(
    schedule: Schedule, ranks: int | None = None, phases: int | None = None
) -> Partners:
    """Targets and sources of every rank in every phase.

    Of the first `ranks` and `phases` where given.
    """
    ranks = schedule.pattern.ranks if ranks is None else min(ranks, schedule.pattern.ranks)
    phases = schedule.phases if phases is None else min(phases, schedule.phases)
    table: Partners = [[([], []) for _ in range(phases)] for _ in range(ranks)]
    for p in range(phases):
        message = schedule.message[schedule.phase(p)]
        ends = zip(
            schedule.pattern.source[message].tolist(),
            schedule.pattern.target[message].tolist(),
            strict=True,
        )
        for source, target in sorted(set(ends)):
            if source < ranks:
                table[source][p][0].append(target)
            if target < ranks:
                table[target][p][1].append(source)
    return table


def cell(targets: list[int], sources: list[int]) -> str:
    """`↔p` for an exchange, `→t` and `←s` for what goes one way, `·` for nothing."""
    both = [rank for rank in targets if rank in set(sources)]
    entries = [f"↔{rank}" for rank in both]
    entries += [f"→{rank}" for rank in targets if rank not in both]
    entries += [f"←{rank}" for rank in sources if rank not in both]
    if len(entries) > 4:
        return f"{' '.join(entries[:3])} +{len(entries) - 3}"
    return " ".join(entries) or "·"


def partners_text(schedule: Schedule, *, width: int = 100, rows: int = 64) -> str:
    """The table, as many phases as fit into `width` characters and at most `rows` ranks.

    The rest is counted.
    """
    table = partners_of(schedule, ranks=rows, phases=width // 3)
    label = max(len("rank"), len(str(len(table) - 1)))
    columns: list[list[str]] = []
    used = label + 2
    for p in range(len(table[0])):
        cells = [cell(*row[p]) for row in table]
        wide = max(len(str(p)), *(len(text) for text in cells))
        if used + wide + 2 > width and columns:
            break
        columns.append([text.ljust(wide) for text in [str(p), *cells]])
        used += wide + 2
    names = ["rank".rjust(label), *(str(rank).rjust(label) for rank in range(len(table)))]
    lines = [
        "  ".join([name, *(column[k] for column in columns)]).rstrip()
        for k, name in enumerate(names)
    ]
    text = [f"[dim]{escape(lines[0])}[/]", *(escape(line) for line in lines[1:])]
    if schedule.pattern.ranks > len(table):
        text.append(more(schedule.pattern.ranks - len(table), "ranks"))
    if schedule.phases > len(columns):
        text.append(more(schedule.phases - len(columns), "phases to the right"))
    return "\n".join(text)


def schedule_text(schedule: Schedule, summary: Summary | None = None) -> str:
    """Facts, then one row a phase.

    Transfers, largest load at a link and a port, largest transfer, bytes with a bar.
    """
    title = f"[bold]{schedule.method}[/] on [bold]{escape(schedule.machine.name)}[/]"
    lines = [title, "", *fact_lines(schedule_facts(schedule, summary))]
    return "\n".join([*lines, "", *phase_lines(schedule)])


def phase_lines(schedule: Schedule) -> list[str]:
    """The table of phases; where there are too many, the first and the last."""
    from conset.schedule.loads import largest_sizes, phase_loads

    if not schedule.phases:
        return ["  no phases"]
    loads, largest = phase_loads(schedule), largest_sizes(schedule)
    ends = np.concatenate([[0], np.cumsum(schedule.size)])
    carried = np.diff(ends[schedule.phase_offsets])
    transfers = np.diff(schedule.phase_offsets)
    port = np.maximum(loads.send, loads.receive)
    top = float(carried.max())
    head, tail = (schedule.phases, 0) if schedule.phases <= ROWS else (ROWS - 4, 3)
    shown = [*range(head), *range(schedule.phases - tail, schedule.phases)]
    rows = [
        (
            str(p),
            f"{transfers[p]:,}",
            format_load(loads.link[p]),
            str(port[p]),
            format_size(int(largest[p])),
            format_size(int(carried[p])),
            bar(float(carried[p]), top),
        )
        for p in shown
    ]
    lines = table_lines(
        ("phase", "transfers", "link", "port", "largest", "bytes", ""), rows, left=(6,)
    )
    if tail:
        lines.insert(1 + head, more(schedule.phases - head - tail, "phases"))
    return lines
