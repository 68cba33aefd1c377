"""Pictures of a schedule, and of one of its phases on the network; the page about a schedule."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of, format_size
from conset.report import style
from conset.report.facts import Summary, pattern_label
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
from conset.report.schedule import (
    PhaseRoutes,
    Views,
    largest_total_load,
    phase_routes,
    views_text,
)
from conset.schedule.loads import largest_sizes, phase_loads
from conset.schedule.schedule import Schedule

MAX_PHASES = 64
"""Phases that a page draws one by one; a sentence says that there are more."""
ROW_IN = 0.212
"""Height of a line in the list of transfers [inch]."""
BARS = 40
"""Most phases drawn as single bars; more are drawn as a filled outline."""
WRITTEN = 16
"""Most ranks whose phase numbers are written into the matrix."""
LANES = "The two directions of a link lie beside each other, each on the right of its way."
MARK: Any = {"loc": "right", "size": 8.5, "weight": "normal", "color": style.BOUND}
"""The look of a bound or limit above a panel, where no bar can hide it."""


def write_schedule_page(
    path: Path, schedule: Schedule, summary: Summary, views: Views, width: int
) -> None:
    """Write a page with facts, pictures, those of phases asked for, and text of a `width`."""
    phases = range(min(schedule.phases, MAX_PHASES)) if views.phase == -1 else [views.phase]
    draws = [
        partial(picture_schedule, schedule, summary),
        *(partial(picture_phase, schedule, phase) for phase in phases if phase is not None),
    ]
    text = views_text(schedule, summary, views, width)
    if views.phase == -1 and schedule.phases > MAX_PHASES:
        text = f"pictures of the first {MAX_PHASES} of {schedule.phases:,} phases\n\n{text}"
    title = f"{schedule.method} on {schedule.machine.name}"
    write_page(path, title, schedule_html(schedule), text, draws)


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
    figure = style.new_figure(10, height)
    size = format_size(int(schedule.size[routes.transfers].sum()))
    load, sample = int(routes.load.max(initial=0)), sample_note(schedule)
    ports_only = topology.kind == "crossbar"
    use = "no links"
    if not ports_only:
        use = f"largest load on a link {load}, {count_of(routes.link.size, 'link')} in use"
    use += " in one sample of its routes" if sample else ""
    sent = f"{pattern_label(schedule)}{count_of(routes.count, 'transfer')}, {size}, {use}"
    of = f"phase {phase} of {schedule.phases:,}"
    style.headline(figure, f"{schedule.method} on {schedule.machine.name}: {of}", sent)
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


def drawn_extent(place: NDArray[np.float64]) -> NDArray[np.float64]:
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


Widths = tuple[NDArray[np.float64], NDArray[np.float64]]
"""(bytes [B], widths of lines [pt]) of all that is drawn."""


def _widths(size: NDArray[Any], widest: float) -> NDArray[np.float64]:
    """Return widths [pt] in proportion to bytes, but never so thin that a line is lost."""
    share = size / max(float(size.max(initial=1)), 1.0)
    if share.size and share.min() < 0.5:
        widest *= 1.4  # they differ much
    return np.asarray(widest * np.maximum(share, 0.22), np.float64)


def _width_key(
    size: NDArray[Any], width: NDArray[np.float64], of: str
) -> tuple[list[Any], list[str]]:
    """Return lines as wide as the least and the most bytes, where these differ; `of` what."""
    from matplotlib.lines import Line2D

    if not size.size or size.min() == size.max():
        return [], []
    ends = [int(size.argmin()), int(size.argmax())]
    least, most = (format_size(float(size[k])) for k in ends)
    handles = [Line2D([], [], color=style.QUIET, linewidth=float(width[k])) for k in ends]
    return handles, [least, f"{most} {of}"]


def _link_titles(schedule: Schedule, routes: PhaseRoutes, links: NDArray[Any]) -> list[str]:
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
    axes: style.Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64]
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
    axes: style.Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64] | None
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
    figure = style.new_figure(10, 6)
    pattern, bound = schedule.pattern, (summary or {}).get("bound") or {}
    title = f"{schedule.method} on {schedule.machine.name}: {count_of(schedule.phases, 'phase')}"
    least, messages = bound.get("phases"), count_of(pattern.messages, "message")
    title += "" if least is None else f" (bound {least:,})"
    second = f"{pattern_label(schedule)}{messages}, {format_size(pattern.bytes)}"
    if bound.get("phases_witness"):
        second += f" · bound: {bound['phases_witness']}"
    style.headline(figure, title, second)
    layout: Any = [["matrix", "transfers"], ["matrix", "load"], ["matrix", "bytes"]]
    panels: Any = figure.subplot_mosaic(layout, width_ratios=(1.22, 1))
    _draw_matrix(panels["matrix"], schedule)
    strips = [panels[name] for name in ("transfers", "load", "bytes")]
    transfers = np.diff(schedule.phase_offsets)
    strips[0].set(title="transfers in a phase", ylabel="transfers")
    _strip(strips[0], transfers)
    _draw_load(strips[1], schedule)
    _draw_largest(strips[2], schedule)
    for axes in strips:
        _phase_axis(axes, schedule.phases, last=axes is strips[-1])
    strips[0].set_ylim(0, float(transfers.max(initial=1)) * 1.12)
    if least and least <= schedule.phases:  # what stands right of the line is the gap
        strips[0].axvline(least - 0.5, color=style.BOUND, linewidth=1.3)
        strips[0].set_title(f"bound {count_of(least, 'phase')}", **MARK)
    figure.align_ylabels(strips)
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


def _draw_load(axes: style.Axes, schedule: Schedule) -> None:
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
    axes.set(title=title, ylabel="messages")
    _strip(axes, load)
    at: float | None = limit
    text = f"limit {limit}"
    if limit is None and schedule.phases and total:
        whole = isinstance(total, int)
        at = -(-total // schedule.phases) if whole else total / schedule.phases
        text = f"bound {at:,} ({total:,} in all)" if whole else f"mean {at:,.4g}, expected"
    if at is not None:
        axes.axhline(at, color=style.BOUND, linewidth=1.3)
        axes.set_title(text, **MARK)
    axes.set_ylim(0, max(float(load.max(initial=1)), limit or 1) * 1.12)


def _draw_largest(axes: style.Axes, schedule: Schedule) -> None:
    largest = largest_sizes(schedule)
    axes.set(title="largest transfer of a phase", ylabel="bytes")
    _strip(axes, largest)
    top = float(largest.max(initial=1))
    least = float(min(largest[largest > 0], default=top))
    if least * 30 < top:
        style.log_axis(axes, "y", "bytes")
        axes.set_ylim(least / 2, top * 1.8)
        size_ticks(axes.yaxis, least, top, most=4)
    else:
        axes.set_ylim(0, top * 1.15)
        linear_sizes(axes.yaxis, top)


def _strip(axes: style.Axes, value: NDArray[Any]) -> None:
    """Draw one value per phase: bars while they can be told apart, else a filled outline."""
    if value.size <= BARS:
        width = 0.82 if value.size > 3 else 0.4
        axes.bar(np.arange(value.size), value, width=width, color=style.ACCENT)
    else:
        edges = np.arange(value.size + 1) - 0.5
        axes.stairs(value, edges, fill=True, color=style.ACCENT, linewidth=0)


def _phase_axis(axes: style.Axes, phases: int, *, last: bool) -> None:
    room = 0.02 * phases if phases > 3 else 0.5
    axes.set_xlim(-0.5 - room, max(phases, 1) - 0.5 + room)
    if phases <= 3:
        axes.set_xticks(range(phases))
    else:
        style.whole_ticks(axes.xaxis, 8, style.STEPS)
    if not axes.get_ylabel().startswith("bytes"):
        style.whole_ticks(axes.yaxis, 4)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    axes.tick_params(length=0, axis="x" if not last else "y")
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("phase")
