"""A schedule as text, JSON and pictures: phases, routes, partners, linkage tables, guarantees.

Of a program there is a table for each block, with the context of every phase. A block that runs
the schedule of an earlier one has the same table, and names that block instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from conset.base import (
    Array,
    Floats,
    Ints,
    Ints32,
    UsageError,
    as_figure,
    count_of,
    format_load,
    format_rate,
    format_size,
    format_time,
)
from conset.machine import links_of_nodes, route_links, route_nodes
from conset.report import style
from conset.report.charts import Line, Panel, Ticks
from conset.report.facts import Summary, answer_text, pattern_label, schedule_facts
from conset.report.network_drawing import (
    draw_foot,
    draw_loads,
    draw_nodes,
    draw_ports,
    frame,
    node_radius,
    plan_extent,
)
from conset.report.network_layout import plan_of, positions
from conset.report.page import schedule_html, write_page
from conset.report.pattern import CELLS, draw_matrix, linear_sizes, rank_grid, size_ticks
from conset.report.sections import Draw, Part, Section
from conset.report.terminal import ROWS, bar, more, section_text, table_lines
from conset.schedule import (
    GATE,
    Guarantees,
    Program,
    Schedule,
    circuits_of,
    guarantees,
    largest_sizes,
    loads_list,
    phase_loads,
    program_guarantees,
)
from conset.schedule.linkage import linkage

LINKS = 5
"""Links with the largest loads that are listed of a phase."""
NODES = 14
"""Most nodes of a route that are written."""

Contexts = Sequence[int] | None
"""The context of each phase of a program's schedule; None: of a schedule alone."""


# Routes of a phase


@dataclass(frozen=True, eq=False)
class PhaseRoutes:
    """The transfers of a phase with their routes.

    Attributes:
        phase: which.
        transfers: their indices, as a slice of the schedule's arrays over transfers.
        offsets: shape=(transfers + 1): nodes of route k: `nodes[offsets[k] : offsets[k + 1]]`.
        nodes: node ids, ends included.
        hop_link: shape=(hops): link ids of all routes, one after the other.
        hop_transfer: shape=(hops): the transfer of each hop, counted within the phase.
        link: shape=(links used): ids of the links used, rising.
        load: shape=(links used): transfers on each, per unit of its width, rounded up.
        bytes: shape=(links used): bytes on each [B].
    """

    phase: int
    transfers: slice
    offsets: Ints
    nodes: Ints32
    hop_link: Ints32
    hop_transfer: Ints
    link: Ints32
    load: Ints
    bytes: Ints

    @property
    def count(self) -> int:
        """Number of transfers."""
        return int(self.offsets.size - 1)

    def route(self, k: int) -> list[int]:
        """Return the nodes of transfer k of the phase, ends included."""
        return [int(node) for node in self.nodes[self.offsets[k] : self.offsets[k + 1]]]


def check_phase(schedule: Schedule, phase: int) -> int:
    """Return `phase`, which must exist.

    Raises:
        UsageError: it does not.
    """
    if not 0 <= phase < schedule.phases:
        known = f"phases 0 to {schedule.phases - 1}" if schedule.phases else "none"
        raise UsageError(f"phase {phase}: the schedule has {known}")
    return phase


def phase_routes(schedule: Schedule, phase: int) -> PhaseRoutes:
    """Return routes and link loads of phase `phase`.

    Raises:
        UsageError: no such phase.
        InputError: a stored route goes where no link is.
    """
    where = schedule.phase(check_phase(schedule, phase))
    network = schedule.machine.topology, schedule.machine.routing
    if schedule.route_offsets is not None and schedule.route_nodes is not None:
        bounds = schedule.route_offsets[where.start : where.stop + 1]
        stops = slice(bounds[0], bounds[-1])
        offsets, nodes = bounds - bounds[0], schedule.route_nodes[stops]
        entered = None if schedule.route_links is None else schedule.route_links[stops]
        link_offsets, hop_link = links_of_nodes(*network, offsets, nodes, entered)
    else:
        ends = schedule.source_node[where], schedule.target_node[where]
        offsets, nodes = route_nodes(*network, *ends)
        link_offsets, hop_link = route_links(*network, *ends)
    hop_transfer = np.repeat(np.arange(offsets.size - 1), np.diff(link_offsets))
    link, at, load = np.unique(hop_link, return_inverse=True, return_counts=True)
    carried = np.zeros(link.size, np.int64)
    np.add.at(carried, at, schedule.size[where][hop_transfer])
    load = -(-load // schedule.machine.topology.widths()[link])
    return PhaseRoutes(phase, where, offsets, nodes, hop_link, hop_transfer, link, load, carried)


def largest_total_load(schedule: Schedule) -> int | float:
    """Return the most transfers of a link over all phases, per unit of width; 0 without links."""
    if not schedule.transfers:
        return 0
    at_once = replace(schedule, phase_offsets=np.array([0, schedule.transfers], np.int64))
    return as_figure(phase_loads(at_once).link[0])


def bytes_of_phases(schedule: Schedule) -> Ints:
    """Return the bytes of each phase, shape=(phases) [B]."""
    return np.diff(np.concatenate([[0], np.cumsum(schedule.size)])[schedule.phase_offsets])


# Views in the terminal


@dataclass(frozen=True)
class Views:
    """What to show beyond the summary; `phase` and `linkage` are numbers, or -1 for all of them."""

    phase: int | None = None
    partners: bool = False
    linkage: int | None = None
    guarantees: bool = False

    @property
    def node(self) -> int | None:
        """The node whose linkage table is shown; None: those of all nodes."""
        return None if self.linkage is None or self.linkage < 0 else self.linkage


def views_text(schedule: Schedule, summary: Summary, views: Views, width: int) -> str:
    """Return each view in turn; the whole schedule where no view was asked for."""
    texts = []
    if views.phase is not None:
        phases = range(schedule.phases) if views.phase == -1 else [views.phase]
        texts += [phase_text(schedule, phase) for phase in phases]
    if views.partners:
        texts.append(partners_text(schedule, width=width))
    if views.linkage is not None:
        texts.append(linkage_text(schedule, views.node))
    if views.guarantees:
        texts.append(guarantees_text(schedule))
    if texts:
        return "\n\n".join(texts)
    modelled, text = schedule.modelled, schedule_text(schedule, summary)
    return text if modelled is None else f"{answer_text(modelled, summary['verified'])}\n\n{text}"


def phase_text(schedule: Schedule, phase: int) -> str:
    """Return transfers of `phase` with their routes, and the links with the largest loads.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    size = format_size(int(schedule.size[routes.transfers].sum()))
    of = f"of {schedule.phases:,}: {count_of(routes.count, 'transfer')}, {size}"
    timetable = schedule.timetable
    rows = []
    shown = routes.count if routes.count <= ROWS else ROWS - 8
    for k in range(shown):
        t = routes.transfers.start + k
        m = int(schedule.message[t])
        nodes = [str(node) for node in routes.route(k)]
        nodes = nodes if len(nodes) <= NODES else [*nodes[: NODES - 3], "…", *nodes[-2:]]
        ends = f"{schedule.pattern.source[m]} → {schedule.pattern.target[m]}"
        row = [_called(schedule, m), ends, format_size(int(schedule.size[t])), " ".join(nodes)]
        if timetable is not None:
            row.insert(3, "{:.4g} … {:.4g} us".format(*(timetable[t] * 1e6)))
        rows.append(row)
    times = [] if timetable is None else ["time"]
    columns = ["message", "ranks", "bytes", *times, "route (nodes)"]
    rest = more(routes.count - shown, "transfers")
    lines = table_lines(columns, rows, left=(1, len(columns) - 1), rest=rest)
    return "\n".join([f"[bold]phase {phase}[/] {of}", "", *lines, *_link_lines(schedule, routes)])


def _link_lines(schedule: Schedule, routes: PhaseRoutes) -> list[str]:
    if not routes.link.size:
        return []
    topology = schedule.machine.topology
    order = np.lexsort((routes.link, -routes.load))[:LINKS]
    top = int(routes.load.max())
    rows = []
    for k in order:
        load, name = int(routes.load[k]), topology.link_name(int(routes.link[k]))
        size = format_size(int(routes.bytes[k]))
        rows.append((name.removeprefix("link "), str(load), size, bar(load, top, 12)))
    of = f"{routes.link.size:,} of {count_of(topology.links, 'link')}"
    names = f"  {of} in use, largest load {top}"
    if schedule.machine.routes_unknown and schedule.route_nodes is None:
        names += f": of these routes, one sample of what {schedule.machine.routing.rule} may do"
    return ["", names, *table_lines(("link", "load", "bytes", ""), rows, left=(0, 3))]


Partners = list[list[tuple[list[int], list[int]]]]
"""`partners[rank][phase]`: (targets, sources) of the rank in the phase, rising."""


def partners_of(
    schedule: Schedule, ranks: int | None = None, phases: int | None = None
) -> Partners:
    """Return targets and sources of the first `ranks` in the first `phases`; None: of all."""
    ranks = schedule.pattern.ranks if ranks is None else min(ranks, schedule.pattern.ranks)
    phases = schedule.phases if phases is None else min(phases, schedule.phases)
    table: Partners = [[([], []) for _ in range(phases)] for _ in range(ranks)]
    source, target = schedule.pattern.source, schedule.pattern.target
    for p in range(phases):
        message = schedule.message[schedule.phase(p)]
        ends = zip(source[message].tolist(), target[message].tolist(), strict=True)
        for start, end in sorted(set(ends)):
            if start < ranks:
                table[start][p][0].append(end)
            if end < ranks:
                table[end][p][1].append(start)
    return table


def cell(targets: list[int], sources: list[int]) -> str:
    """Return `↔p` for an exchange, `→t` and `←s` for what goes one way, `·` for nothing."""
    both = set(targets) & set(sources)
    entries = [
        *[f"↔{rank}" for rank in targets if rank in both],
        *[f"→{rank}" for rank in targets if rank not in both],
        *[f"←{rank}" for rank in sources if rank not in both],
    ]
    if len(entries) > 4:
        return f"{' '.join(entries[:3])} +{len(entries) - 3}"
    return " ".join(entries) or "·"


def partners_text(schedule: Schedule, *, width: int = 100, rows: int = 64) -> str:
    """Return as many phases as fit into `width`, at most `rows` ranks; count the rest."""
    table = partners_of(schedule, ranks=rows, phases=width // 3)
    label = max(len("rank"), len(str(len(table) - 1)))
    columns: list[list[str]] = []
    used = label + 2
    for p in range(len(table[0])):
        cells = [str(p), *(cell(*row[p]) for row in table)]
        wide = max(map(len, cells))
        if used + wide + 2 > width and columns:
            break
        columns.append([text.ljust(wide) for text in cells])
        used += wide + 2
    lines = [
        escape("  ".join([name.rjust(label), *(column[k] for column in columns)]).rstrip())
        for k, name in enumerate(["rank", *map(str, range(len(table)))])
    ]
    lines[0] = f"[dim]{lines[0]}[/]"
    lines.append(more(schedule.pattern.ranks - len(table), "ranks"))
    lines.append(more(schedule.phases - len(columns), "phases to the right"))
    return "\n".join(filter(None, lines))


def schedule_text(schedule: Schedule, summary: Summary | None = None) -> str:
    """Return facts, then a row for each phase: transfers, loads, bytes with a bar."""
    title = f"[bold]{escape(schedule.method)}[/] on [bold]{escape(schedule.machine.name)}[/]"
    facts = Section("", parts=[Part(facts=schedule_facts(schedule, summary))])
    return "\n".join([title, "", section_text(facts), "", *phase_lines(schedule)])


def phase_lines(schedule: Schedule) -> list[str]:
    """Return the table of phases; where there are too many, the first and the last."""
    if not schedule.phases:
        return ["  no phases"]
    carried = bytes_of_phases(schedule)
    head, tail = (schedule.phases, 0) if schedule.phases <= ROWS else (ROWS - 4, 3)
    cells = phase_cells(schedule, (*range(head), *range(schedule.phases - tail, schedule.phases)))
    columns = ("phase", "transfers", "link", "port", "largest", "bytes")
    rows = [
        (*(row[name] for name in columns), bar(float(carried[p]), float(carried.max())))
        for p, row in cells.items()
    ]
    lines = table_lines((*columns, ""), rows, left=(6,))
    if tail:
        lines.insert(1 + head, more(schedule.phases - head - tail, "phases"))
    return lines


def phase_cells(schedule: Schedule, phases: Iterable[int]) -> dict[int, dict[str, str]]:
    """Return what tables show of each of some phases, by column."""
    loads, largest, carried = (
        phase_loads(schedule),
        largest_sizes(schedule),
        bytes_of_phases(schedule),
    )
    transfers, port = np.diff(schedule.phase_offsets), np.maximum(loads.send, loads.receive)
    return {
        p: {
            "phase": str(p),
            "transfers": f"{transfers[p]:,}",
            "link": format_load(loads.link[p]),
            "port": str(port[p]),
            "channels": format_load(loads.channels[p]),
            "largest": format_size(int(largest[p])),
            "bytes": format_size(int(carried[p])),
        }
        for p in phases
    }


# Connections


def linkage_text(schedule: Schedule, node: int | None, contexts: Contexts = None) -> str:
    """Return the linkage tables of a node, phase by phase; of all nodes as many rows as fit.

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
                *_place(int(table.phase[k]), contexts),
                *([str(table.node[k])] if node is None else []),
                str(table.channel[k]),
                "gate" if start == GATE else f"node {start}",
                "gate" if end == GATE else f"node {end}, channel {table.next_channel[k]}",
                f"{_called(schedule, message)}: rank {pattern.source[message]} → "
                f"{pattern.target[message]}",
            ]
        )
    where = "all nodes" if node is None else escape(topology.node_name(node))
    used = count_of(table.phase.size, "channel")
    head = f"[bold]linkage of {where}[/]: {used} in use over {count_of(schedule.phases, 'phase')}"
    of_all = ["node"] if node is None else []
    columns = [*_place_names(contexts), *of_all, "channel", "from", "to", "message"]
    left = range(len(columns) - 3, len(columns))
    rest = more(table.phase.size - shown, "rows")
    return "\n".join([head, "", *table_lines(columns, rows, left=left, rest=rest)])


def guarantees_text(
    schedule: Schedule, given: Guarantees | None = None, contexts: Contexts = None
) -> str:
    """Return the connections with the least guaranteed bandwidth, and what was asked for.

    Args:
        schedule: whose connections.
        given: what they get; None: what the schedule alone gives them.
        contexts: of each phase, in a program.
    """
    given = guarantees(schedule) if given is None else given
    columns, rows = guarantee_rows(schedule, given, ROWS, contexts)
    while_open = "phase" if contexts is None else "context"
    connections = count_of(schedule.transfers, "connection")
    of = f"of {connections} while their {while_open} is open, the least first"
    rest = more(schedule.transfers - len(rows), "connections")
    lines = table_lines(columns, rows, left=(columns.index("ranks"),), rest=rest)
    return "\n".join([f"[bold]guarantees[/] {of}", "", *lines])


def guarantee_rows(
    schedule: Schedule, given: Guarantees, most: int, contexts: Contexts = None
) -> tuple[list[str], list[list[str]]]:
    """Return (columns, rows) of at most so many connections, the least guarantees first."""
    rates, times = schedule.min_bandwidth_Bps, schedule.max_latency_s
    worst = np.lexsort((-given.latency_s, given.bandwidth_Bps))[:most]

    def finite(value: float, form: Callable[[float], str]) -> str:
        return form(value) if np.isfinite(value) else "any"

    rows = []
    for k in worst.tolist():
        m = int(schedule.message[k])
        row = [
            *_place(int(schedule.phase_of[k]), contexts),
            _called(schedule, m),
            f"{schedule.pattern.source[m]} → {schedule.pattern.target[m]}",
            finite(float(given.bandwidth_Bps[k]), format_rate),
        ]
        if rates is not None:
            row.append(format_rate(float(rates[m])) if rates[m] else "any")
        row.append(format_time(float(given.latency_s[k])))
        if times is not None:
            row.append(finite(float(times[m]), format_time))
        rows.append(row)
    asked_rate, asked_time = (["asked for"] * (asked is not None) for asked in (rates, times))
    columns = [*_place_names(contexts), "message", "ranks", "bandwidth", *asked_rate]
    return [*columns, "latency at most", *asked_time], rows


def _called(schedule: Schedule, message: int) -> str:
    ids = schedule.pattern.ids
    return str(message) if ids is None else f"{message} (id {ids[message]})"


def _place(phase: int, contexts: Contexts) -> list[str]:
    return [str(phase)] if contexts is None else [str(phase), str(contexts[phase])]


def _place_names(contexts: Contexts) -> list[str]:
    return ["phase"] if contexts is None else ["phase", "context"]


def program_views_text(program: Program, views: Views) -> str:
    """Return each view of every block in turn; "" where no view was asked for.

    Raises:
        InputError: as `linkage_text`.
    """
    forms: list[Callable[[int, Contexts], str]] = []
    if views.linkage is not None:
        forms.append(lambda k, contexts: linkage_text(program.schedules[k], views.node, contexts))
    if views.guarantees:
        given = program_guarantees(program)
        forms.append(lambda k, within: guarantees_text(program.schedules[k], given[k], within))
    texts = []
    for form in forms:
        first: dict[int, int] = {}
        for k, stage in enumerate(program.stages):
            head, shown = (
                f"[bold]block {k}[/] {escape(stage.name)}",
                first.setdefault(stage.schedule, k),
            )
            own = form(stage.schedule, program.contexts[stage.schedule]) if shown == k else ""
            texts.append(f"{head}\n{own}" if own else f"{head}: as block {shown}")
    return "\n\n".join(texts)


# As objects of `--json`


def views_object(schedule: Schedule, summary: Summary, views: Views) -> dict[str, Any]:
    """Return the keys of `compile --json`, figures of phases, and each view asked for."""
    loads = phase_loads(schedule)
    per_phase = {
        "transfers": np.diff(schedule.phase_offsets).tolist(),
        "send": loads.send.tolist(),
        "receive": loads.receive.tolist(),
        "link": loads_list(loads.link),
        "channels": loads_list(loads.channels),
        "largest": largest_sizes(schedule).tolist(),
        "bytes": bytes_of_phases(schedule).tolist(),
    }
    body: dict[str, Any] = {**summary, "per_phase": per_phase}
    if views.phase == -1:
        body["shown_phases"] = [phase_object(schedule, phase) for phase in range(schedule.phases)]
    elif views.phase is not None:
        body["shown_phase"] = phase_object(schedule, views.phase)
    if views.partners:
        body["partners"] = [
            [{"to": out, "from": into} for out, into in row] for row in partners_of(schedule)
        ]
    if views.linkage is not None:
        body["linkage"] = linkage(schedule, views.node).to_rows()
    if views.guarantees:
        body["guarantees"] = guarantees_object(schedule, guarantees(schedule))
    return body


def phase_object(schedule: Schedule, phase: int) -> dict[str, Any]:
    """Return the transfers of a phase, [source, target, bytes, message], their routes, and links.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    where = routes.transfers
    message = schedule.message[where]
    ends = schedule.pattern.source[message], schedule.pattern.target[message]
    from_node, to_node = schedule.machine.topology.ends
    columns = (*ends, schedule.size[where], message)
    return {
        "phase": phase,
        "transfers": np.stack(columns, axis=1).tolist(),
        "routes": [routes.route(k) for k in range(routes.count)],
        "links": [
            {"from": int(from_node[link]), "to": int(to_node[link]), "load": load, "bytes": size}
            for link, load, size in zip(
                routes.link.tolist(), routes.load.tolist(), routes.bytes.tolist(), strict=True
            )
        ],
    }


def guarantees_object(schedule: Schedule, given: Guarantees) -> list[dict[str, Any]]:
    """Return of each transfer `phase`, `message`, `bandwidth_Bps` (null: any), `latency_s`.

    Where something was asked for, also `min_bandwidth_Bps` or `max_latency_s` (null: nothing of
    this message).
    """

    def or_null(values: Floats) -> list[float | None]:
        return [value if np.isfinite(value) else None for value in values.tolist()]

    ids = schedule.pattern.ids
    columns: dict[str, list[Any]] = {
        "phase": schedule.phase_of.tolist(),
        "message": schedule.message.tolist(),
        **({} if ids is None else {"id": ids[schedule.message].tolist()}),
        "bandwidth_Bps": or_null(given.bandwidth_Bps),
        "latency_s": given.latency_s.tolist(),
    }
    if schedule.min_bandwidth_Bps is not None:
        columns["min_bandwidth_Bps"] = schedule.min_bandwidth_Bps[schedule.message].tolist()
    if schedule.max_latency_s is not None:
        columns["max_latency_s"] = or_null(schedule.max_latency_s[schedule.message])
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def program_views_object(program: Program, views: Views) -> dict[str, Any]:
    """Return the rows of each view of every block, each with `block`, `name` and `context`."""
    found: dict[str, list[list[dict[str, Any]]]] = {}
    if views.linkage is not None:
        found["linkage"] = [linkage(each, views.node).to_rows() for each in program.schedules]
    if views.guarantees:
        pairs = zip(program.schedules, program_guarantees(program), strict=True)
        found["guarantees"] = [guarantees_object(*pair) for pair in pairs]
    return {
        key: [
            {
                "block": k,
                "name": stage.name,
                "context": program.contexts[stage.schedule][row["phase"]],
                **row,
            }
            for k, stage in enumerate(program.stages)
            for row in rows[stage.schedule]
        ]
        for key, rows in found.items()
    }


# The page, and pictures

MAX_PHASES = 64
"""Phases that a page draws one by one; a sentence says that there are more."""
BARS = 6000
"""Most connections of circuit switches that are drawn one by one."""
ROW_IN = 0.212
"""Height of a line in the list of transfers [inch]."""
WRITTEN = 16
"""Most ranks whose phase numbers are written into the matrix."""
LANES = "The two directions of a link lie beside each other, each on the right of its way."


def write_schedule_page(
    path: Path, schedule: Schedule, summary: Summary, views: Views, width: int
) -> None:
    """Write a page with facts, pictures, those of phases asked for, and text of a `width`."""
    phases = range(min(schedule.phases, MAX_PHASES)) if views.phase == -1 else [views.phase]
    draws: list[Draw] = [
        *schedule_draws(schedule, summary),
        *(partial(picture_phase, schedule, phase) for phase in phases if phase is not None),
    ]
    text = views_text(schedule, summary, views, width)
    if views.phase == -1 and schedule.phases > MAX_PHASES:
        text = f"pictures of the first {MAX_PHASES} of {schedule.phases:,} phases\n\n{text}"
    title = f"{schedule.method} on {schedule.machine.name}"
    write_page(path, title, schedule_html(schedule), text, draws)


def schedule_draws(schedule: Schedule, summary: Summary | None) -> list[Draw]:
    """The pictures of a whole schedule, the most telling one first."""
    drawn: list[Draw] = [partial(picture_schedule, schedule, summary)]
    return [partial(picture_planes, schedule), *drawn] if schedule.machine.is_circuit else drawn


# One phase


def picture_phase(schedule: Schedule, phase: int) -> style.Figure:
    """Draw routes coloured by transfer where no link is shared, else links coloured by load.

    Raises:
        UsageError: no such phase.
    """
    routes, topology = phase_routes(schedule, phase), schedule.machine.topology
    plan = plan_of(topology) if topology.kind == "graph" else None
    extent = np.array(plan_extent(plan)) if plan is not None else drawn_extent(positions(topology))
    wide = plan is not None and extent[0] > 1.6 * extent[1]
    room = 1.2 if plan is not None else 0.9
    height = float(np.clip((7.4 if wide else 6.6) * extent[1] / extent[0] + room, 3.4, 7.6))
    size = format_size(int(schedule.size[routes.transfers].sum()))
    load, sample = int(routes.load.max(initial=0)), sample_note(schedule)
    ports_only = topology.kind == "crossbar"
    use = "no links"
    if not ports_only:
        use = f"largest load on a link {load}, {count_of(routes.link.size, 'link')} in use"
    use += " in one sample of its routes" if sample else ""
    sent = f"{pattern_label(schedule)}{count_of(routes.count, 'transfer')}, {size}, {use}"
    of = f"phase {phase} of {schedule.phases:,}"
    figure = style.new_figure(
        10, height, f"{schedule.method} on {schedule.machine.name}: {of}", sent
    )
    left, right = figure.subplots(1, 2, width_ratios=(3.2 if wide else 2.1, 1))
    colours, shared = style.spread_colours(routes.count), load > 1
    if ports_only:
        widths = _draw_crossbar(left, schedule, routes, colours)
    elif shared:
        widths = _draw_shared(left, schedule, routes)
    else:
        hop, sizes = routes.hop_transfer, schedule.size[routes.transfers]
        widths = np.asarray(sizes, np.float64), _widths(sizes, _line_width(schedule))
        titles = _link_titles(schedule, routes, routes.hop_link)
        draw_loads(left, topology, routes.hop_link, colours[hop], widths[1][hop], titles)
    lines = ["" if ports_only else LANES, sample, "" if plan is None else plan.caption]
    draw_foot(left, lines, *_width_key(*widths, "on a link" if shared else "of a transfer"))
    _list_transfers(right, schedule, routes, None if shared else colours)
    return figure


def drawn_extent(place: Floats) -> Floats:
    """Return (width, height) of a drawing of nodes, shape=(2), with a margin."""
    return np.asarray(np.maximum(np.ptp(place, axis=0), 0.5) + 1)


def sample_note(schedule: Schedule) -> str:
    """Return what a picture of routes has to say where they are unknown; "" where not."""
    if schedule.route_nodes is not None or not schedule.machine.routes_unknown:
        return ""
    routing = schedule.machine.routing
    hashed = routing.knowledge == "hashed"
    chosen = "a hash draws" if hashed else "switches choose as messages come"
    may = f"these are routes that {routing.rule} may take"
    return f"One sample: {may}; which it takes, {chosen}."


Widths = tuple[Floats, Floats]
"""(bytes [B], widths of lines [pt]) of all that is drawn."""


def _widths(size: Array, widest: float) -> Floats:
    """Return widths [pt] in proportion to bytes, but never so thin that a line is lost."""
    share = size / max(float(size.max(initial=1)), 1.0)
    if share.size and share.min() < 0.5:
        widest *= 1.4  # they differ much
    return np.asarray(widest * np.maximum(share, 0.22), np.float64)


def _width_key(size: Array, width: Floats, of: str) -> tuple[list[Any], list[str]]:
    """Return lines as wide as the least and the most bytes, where these differ; `of` what."""
    from matplotlib.lines import Line2D

    if not size.size or size.min() == size.max():
        return [], []
    ends = [int(size.argmin()), int(size.argmax())]
    least, most = (format_size(float(size[k])) for k in ends)
    handles = [Line2D([], [], color=style.QUIET, linewidth=float(width[k])) for k in ends]
    return handles, [least, f"{most} {of}"]


def _link_titles(schedule: Schedule, routes: PhaseRoutes, links: Array) -> list[str]:
    """Return `link 0 (0, 0) → 1 (0, 1): 3 messages, 12 KiB` of each link."""
    topology, at = schedule.machine.topology, np.searchsorted(routes.link, links)
    count = np.bincount(np.searchsorted(routes.link, routes.hop_link), minlength=routes.link.size)
    return [
        f"{topology.link_name(int(link))}: {count_of(int(count[k]), 'message')}, "
        f"{format_size(int(routes.bytes[k]))}"
        for link, k in zip(links.tolist(), at.tolist(), strict=True)
    ]


def _line_width(schedule: Schedule) -> float:
    nodes = schedule.machine.topology.nodes
    return 3.0 if nodes <= 64 else 2.0 if nodes <= 300 else 1.0


def _draw_shared(axes: style.Axes, schedule: Schedule, routes: PhaseRoutes) -> Widths:
    """Draw links in the colour of their load, as wide as their bytes, and the bar of loads."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, Normalize

    cmap = style.amount_map()
    least, most = int(routes.load.min()), int(routes.load.max())
    norm = Normalize(least, most)
    if most - least < 10:
        norm = BoundaryNorm(np.arange(least - 0.5, most + 1.5), cmap.N)
    if least == most:
        norm = Normalize(least - 2, most + 1)  # one value: a colour of the middle
    width = _widths(routes.bytes, 1.2 * _line_width(schedule))
    titles, colours = (
        _link_titles(schedule, routes, routes.link),
        np.asarray(cmap(norm(routes.load))),
    )
    draw_loads(axes, schedule.machine.topology, routes.link, colours, width, titles)
    if least < most:
        ticks = np.linspace(least, most, min(most - least + 1, 8)).round().astype(int)
        scale, label = ScalarMappable(norm, cmap), "messages on a link"
        bar = style.colour_bar(
            axes,
            scale,
            label,
            ticks=np.unique(ticks),
            location="left",
            shrink=0.6,
            pad=0.02,
            aspect=26,
        )
        bar.ax.set_yticklabels([str(tick) for tick in np.unique(ticks)])
        bar.ax.minorticks_off()
    return routes.bytes.astype(np.float64), width


def _draw_crossbar(
    axes: style.Axes, schedule: Schedule, routes: PhaseRoutes, colours: Floats
) -> Widths:
    """Draw no links: an arrow from port to port for each transfer, as wide as its bytes."""
    place = positions(schedule.machine.topology)
    frame(axes, schedule.machine.topology, place)
    draw_ports(axes, place, "")
    draw_nodes(axes, schedule.machine.topology, place)
    where = routes.transfers
    width = _widths(schedule.size[where], 2.0)
    # tips end at the rims of the discs
    inside = 1 - 1.08 * node_radius(axes, place) / float(np.hypot(*place[0]))
    ends = schedule.source_node[where], schedule.target_node[where]
    for source, target, colour, line in zip(*ends, colours, width.tolist(), strict=True):
        arrow = {
            "arrowstyle": "-|>",
            "color": colour,
            "lw": line,
            "connectionstyle": "arc3,rad=0.12",
            "shrinkA": 2,
            "shrinkB": 2,
        }
        axes.annotate(
            "", inside * place[target], inside * place[source], arrowprops=arrow, zorder=3
        )
    return np.asarray(schedule.size[where], np.float64), width


def _list_transfers(
    axes: style.Axes, schedule: Schedule, routes: PhaseRoutes, colours: Floats | None
) -> None:
    axes.set_axis_off()
    figure: Any = axes.get_figure()
    inches = figure.get_figheight() - 1.15
    room, step = max(4, int(inches / ROW_IN) - 1), ROW_IN / inches
    shown = routes.count if routes.count <= room else room - 1
    hops = np.bincount(routes.hop_transfer, minlength=routes.count)
    source, target = schedule.pattern.source, schedule.pattern.target
    rows = [("transfer", "", "bytes", "links")]
    for k in range(shown):
        m = schedule.message[routes.transfers.start + k]
        size = format_size(int(schedule.size[routes.transfers.start + k]))
        rows.append((f"{source[m]} → {target[m]}", "", size, str(hops[k])))
    columns = ((0.07, "left"), (0.46, "left"), (0.72, "right"), (1.0, "right"))
    for k, row in enumerate(rows):
        y, ink = 1 - (k + 1) * step, style.INK if k else style.QUIET
        for (x, align), text in zip(columns, row, strict=True):
            axes.text(x, y, text, ha=align, size=8.6, color=ink, transform=axes.transAxes)
        if colours is not None and k:
            axes.plot(
                [0, 0.045],
                [y + 0.3 * step] * 2,
                color=colours[k - 1],
                linewidth=3,
                solid_capstyle="butt",
            )
    if shown < routes.count:
        left_out, y = f"… {routes.count - shown:,} more", 1 - (shown + 2) * step
        axes.text(0.07, y, left_out, size=8.6, color=style.QUIET, transform=axes.transAxes)
    axes.set(xlim=(0, 1), ylim=(0, 1))


# The whole schedule


def picture_schedule(schedule: Schedule, summary: Summary | None = None) -> style.Figure:
    """Draw the matrix by phase, and for every phase transfers, link load and largest transfer.

    Args:
        schedule: what to draw.
        summary: the keys of `compile --json`; brings the bound into title and panels.
    """
    pattern, bound = schedule.pattern, (summary or {}).get("bound") or {}
    title = f"{schedule.method} on {schedule.machine.name}: {count_of(schedule.phases, 'phase')}"
    least, messages = bound.get("phases"), count_of(pattern.messages, "message")
    title += "" if least is None else f" (bound {least:,})"
    second = f"{pattern_label(schedule)}{messages}, {format_size(pattern.bytes)}"
    if bound.get("phases_witness"):
        second += f" · bound: {bound['phases_witness']}"
    figure = style.new_figure(10, 6, title, second)
    layout: Any = [["matrix", "transfers"], ["matrix", "load"], ["matrix", "bytes"]]
    panels: Any = figure.subplot_mosaic(layout, width_ratios=(1.22, 1))
    _draw_matrix(panels["matrix"], schedule)
    transfers = np.diff(schedule.phase_offsets)
    reached = least if least and least <= schedule.phases else 0
    strips = {
        "transfers": _strip(
            "transfers in a phase",
            "transfers",
            transfers,
            # what is right of the line is the gap
            lines=[Line("", [reached - 0.5], (), "bound")] if reached else [],
            y_limits=(0, float(transfers.max(initial=1)) * 1.12),
            remark=f"bound {count_of(reached, 'phase')}" if reached else "",
        ),
        "load": _load_strip(schedule),
        "bytes": _largest_strip(schedule),
    }
    for name, strip in strips.items():
        strip.draw(panels[name])
        panels[name].tick_params(length=0, labelbottom=name == "bytes")
    panels["bytes"].set_xlabel("phase")
    figure.align_ylabels([panels[name] for name in strips])
    return figure


def picture_planes(schedule: Schedule) -> style.Figure:
    """Draw what circuit switches carry over time: a row for each plane, in it one for each port.

    A configuration is a box from its first byte to its last; a bar in it is one connection, in the
    colour of its target; the reconfiguration is before it.
    """
    times, plane = circuits_of(schedule)
    begin, end = (times.begin, times.end) if schedule.timetable is None else schedule.timetable.T
    machine, pattern = schedule.machine, schedule.pattern
    planes, ports = machine.topology.planes, machine.topology.endpoints
    unit, name = style.time_unit(float(end.max(initial=0.0)))
    delta = machine.costs.reconfigure_s or 0.0
    figure = style.new_figure(
        10,
        float(np.clip(1.6 + 0.75 * planes, 2.6, 9)),
        f"{schedule.method} on {machine.name}: {format_time(float(end.max(initial=0.0)))}",
        f"{pattern_label(schedule)}{count_of(schedule.phases, 'configuration')} over "
        f"{count_of(planes, 'plane')}, {format_time(delta)} before each "
        f"({count_of(int(times.changes.sum()), 'reconfiguration')})",
    )
    axes: Any = figure.subplots()
    rows = np.flatnonzero(schedule.source_node != schedule.target_node)
    group = schedule.phase_of[rows].astype(np.int64) * planes + plane[rows]
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    left, right, is_new = (
        np.full(first.size, np.inf),
        np.zeros(first.size),
        np.zeros(first.size, bool),
    )
    np.minimum.at(left, number, begin[rows])
    np.maximum.at(right, number, end[rows])
    np.logical_or.at(is_new, number, ~times.is_set[rows])
    row, phase = plane[rows][first], schedule.phase_of[rows][first]
    where = [f"phase {p} in plane {k}" for p, k in zip(phase.tolist(), row.tolist(), strict=True)]
    before = style.boxes((left - delta) / unit, left / unit, row + 0.06, row + 0.94)
    titles = [f"{each}: reconfigures, {format_time(delta)}" for each in where]
    style.add_areas(
        axes,
        before[is_new],
        gid="conset-changes",
        titles=[text for text, new in zip(titles, is_new.tolist(), strict=True) if new],
        facecolors=style.AMBER,
        edgecolors="none",
        alpha=0.55,
    )
    spans = [f"{format_time(a)} to {format_time(b)}" for a, b in zip(left, right, strict=True)]
    style.add_areas(
        axes,
        style.boxes(left / unit, right / unit, row + 0.06, row + 0.94),
        gid="conset-configurations",
        titles=[f"{each}: {span}" for each, span in zip(where, spans, strict=True)],
        facecolors=style.FAINT,
        edgecolors=style.PALE,
        linewidths=0.5,
    )
    if rows.size <= BARS:
        low = plane[rows] + 0.06 + 0.88 * schedule.source_node[rows] / ports
        colours = style.spread_colours(pattern.ranks)[pattern.target[schedule.message[rows]]]
        style.add_areas(
            axes,
            style.boxes(begin[rows] / unit, end[rows] / unit, low, low + 0.88 / ports),
            gid="conset-circuits",
            titles=[
                f"{pattern.source[m]} → {pattern.target[m]}, {format_size(int(schedule.size[k]))}, "
                f"{format_time(float(begin[k]))} to {format_time(float(end[k]))}"
                for k, m in zip(rows.tolist(), schedule.message[rows].tolist(), strict=True)
            ],
            facecolors=list(colours),
            edgecolors="none",
        )
    axes.set(
        xlim=(0, float(end.max(initial=unit)) / unit),
        ylim=(planes, 0),
        xlabel=f"time [{name}]; amber: reconfiguration; a bar: a port, coloured by its target",
        yticks=np.arange(planes) + 0.5,
        yticklabels=[f"plane {k}" for k in range(planes)] if planes <= 32 else [""] * planes,
    )
    axes.tick_params(axis="y", length=0)
    return figure


def _draw_matrix(axes: style.Axes, schedule: Schedule) -> None:
    pattern, phases = schedule.pattern, schedule.phases
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    phase_of = schedule.phase_of.astype(np.int64)
    grid = rank_grid(pattern.ranks, source, target, phase_of, CELLS, "least")
    axes.set_title("phase of every message")
    image = draw_matrix(axes, grid, pattern.ranks)
    if phases < 2:
        return
    if pattern.ranks <= WRITTEN:
        size = min(10.0, 150 / len(grid))
        for row, column in np.argwhere(np.isfinite(grid)):
            ink = style.ink_on(image.cmap(image.norm(grid[row, column])))
            text = f"{grid[row, column]:.0f}"
            axes.text(column, row, text, ha="center", va="center", size=size, color=ink)
    bar = style.colour_bar(
        axes, image, "phase, dark is late", location="bottom", shrink=0.7, pad=0.015, aspect=36
    )
    style.whole_ticks(bar.ax.xaxis, 8, style.STEPS)


def _load_strip(schedule: Schedule) -> Panel:
    limit, loads = schedule.limits.link, phase_loads(schedule)
    title, load = "largest load on a link", loads.link
    total: int | float = 0
    if schedule.machine.topology.link_slots == 0:
        # a crossbar has no links: its ports are what fills
        title, load = "largest load at a port", np.maximum(loads.send, loads.receive)
        limit = max(filter(None, (schedule.limits.send, schedule.limits.receive)), default=None)
    else:
        total = largest_total_load(schedule)
        if not schedule.machine.routing.is_known:
            title = "largest expected load on a link"
    at: float | None = limit
    text = "" if limit is None else f"limit {limit}"
    if limit is None and schedule.phases and total:
        whole = isinstance(total, int)
        at = -(-total // schedule.phases) if whole else total / schedule.phases
        text = f"bound {at:,} ({total:,} in all)" if whole else f"mean {at:,.4g}, expected"
    lines = [] if at is None else [Line("", (), [at], "bound")]
    limits = 0, max(float(load.max(initial=1)), limit or 1) * 1.12
    return _strip(title, "messages", load, lines, y_limits=limits, remark=text)


def _largest_strip(schedule: Schedule) -> Panel:
    largest = largest_sizes(schedule)
    top = float(largest.max(initial=1))
    least = float(min(largest[largest > 0], default=top))
    wide = least * 30 < top
    return _strip(
        "largest transfer of a phase",
        "bytes",
        largest,
        log_y=wide,
        y_limits=(least / 2, top * 1.8) if wide else (0, top * 1.15),
        y_ticks=(lambda axis, *_: size_ticks(axis, least, top, most=4)) if wide else linear_sizes,
    )


def _strip(title: str, y: str, values: Array, lines: Sequence[Line] = (), **how: Any) -> Panel:
    """Return one value per phase: bars while they can be distinguished, else a filled outline."""
    phases = range(values.size)
    room = 0.02 * len(phases) if len(phases) > 3 else 0.5
    few: Ticks = (phases, [*map(str, phases)])
    bars = Line("", phases, values, "bars")
    limits = -0.5 - room, max(len(phases), 1) - 0.5 + room
    ticks = few if len(phases) <= 3 else style.phase_ticks
    known: Any = {"ticks": ticks, "x_limits": limits, "y_ticks": style.count_ticks}
    return Panel(title, "", y, [bars, *lines], **{**known, **how})
