"""Pictures of a schedule, and of one of its phases on the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.report import style
from conset.report.facts import Summary, headlines, pattern_label
from conset.report.layout import positions
from conset.report.markdown import rank_grid
from conset.report.network_drawing import draw_loads, draw_nodes, draw_ports, frame
from conset.report.pattern import CELLS, draw_matrix, size_ticks
from conset.report.routes import PhaseRoutes, largest_total_load, phase_routes
from conset.schedule.schedule import Schedule
from conset.units import count_of, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ROW_IN = 0.212
"""Height of a line in the list of transfers [inch]."""


def picture_phase(schedule: Schedule, phase: int) -> Figure:
    """Routes coloured by transfer where no link is shared, else links coloured by load; the list is cut where full.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    figure = style.new_figure(10, _height(schedule))
    transfers = count_of(routes.count, "transfer")
    size = format_size(int(schedule.size[routes.transfers].sum()))
    title = f"{schedule.method} on {schedule.machine.name}: phase {phase} of {schedule.phases:,}"
    load = int(routes.load.max(initial=0))
    ports_only = schedule.machine.topology.kind == "crossbar"
    use = "no links" if ports_only else f"largest load on a link {load}, {count_of(routes.link.size, 'link')} in use"
    style.headline(figure, title, f"{pattern_label(schedule)}{transfers}, {size}, {use}")
    left, right = figure.subplots(1, 2, width_ratios=(2.1, 1))
    colours = transfer_colours(routes.count)
    shared = load > 1
    if ports_only:
        _draw_crossbar(left, schedule, routes, colours)
    elif shared:
        _draw_shared(figure, left, schedule, routes, load)
    else:
        _draw_apart(left, schedule, routes, colours)
    _list_transfers(right, schedule, routes, None if shared else colours)
    return figure


def _height(schedule: Schedule) -> float:
    extent = np.maximum(np.ptp(positions(schedule.machine.topology), axis=0), 0.5) + 1
    return float(np.clip(6.6 * extent[1] / extent[0] + 0.9, 3.4, 7.6))


def transfer_colours(count: int) -> NDArray[np.float64]:
    """shape=(count, 4): neighbours in the list far apart in the colour map (golden-ratio steps)."""
    step = (np.arange(count) * 0.6180339887) % 1
    return np.asarray(style.colour_map()(step), np.float64).reshape(count, 4)


def _draw_apart(axes: Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64]) -> None:
    count = routes.hop_link.size
    draw_loads(
        axes,
        schedule.machine.topology,
        routes.hop_link,
        colours[routes.hop_transfer],
        np.full(count, _line_width(schedule)),
    )


def _line_width(schedule: Schedule) -> float:
    nodes = schedule.machine.topology.nodes
    return 3.0 if nodes <= 64 else 2.0 if nodes <= 300 else 1.0


def _draw_shared(figure: Figure, axes: Axes, schedule: Schedule, routes: PhaseRoutes, load: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, Normalize

    cmap = style.colour_map().reversed()
    norm = BoundaryNorm(np.arange(0.5, load + 1.5), cmap.N) if load <= 10 else Normalize(1, load)
    width = _line_width(schedule) * (0.45 + 0.75 * routes.load / load)
    draw_loads(axes, schedule.machine.topology, routes.link, np.asarray(cmap(norm(routes.load))), width)
    ticks = np.unique(np.linspace(1, load, min(load, 8)).round().astype(int))
    bar = figure.colorbar(
        ScalarMappable(norm, cmap), ax=axes, location="left", shrink=0.6, pad=0.02, aspect=26, ticks=ticks
    )
    bar.outline.set_visible(False)
    bar.ax.set_yticklabels([str(tick) for tick in ticks])
    bar.ax.minorticks_off()
    bar.set_label("messages on a link")


def _draw_crossbar(axes: Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64]) -> None:
    """No links: an arrow from port to port for each transfer."""
    place = positions(schedule.machine.topology)
    frame(axes, schedule.machine.topology, place)
    draw_ports(axes, place, "")
    draw_nodes(axes, schedule.machine.topology, place)
    where = routes.transfers
    pairs = zip(schedule.source_node[where], schedule.target_node[where], colours, strict=True)
    for source, target, colour in pairs:
        start, end = 0.9 * place[source], 0.9 * place[target]
        arrow = {
            "arrowstyle": "-|>",
            "color": colour,
            "lw": 1.6,
            "connectionstyle": "arc3,rad=0.12",
            "shrinkA": 2,
            "shrinkB": 2,
        }
        axes.annotate("", end, start, arrowprops=arrow, zorder=3)


def _list_transfers(axes: Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64] | None) -> None:
    axes.set_axis_off()
    inches = axes.get_figure().get_figheight() - 1.15  # type: ignore[union-attr]
    room = max(4, int(inches / ROW_IN) - 1)
    step = ROW_IN / inches
    shown = routes.count if routes.count <= room else room - 1
    columns = ((0.07, "left"), (0.46, "left"), (0.72, "right"), (1.0, "right"))
    for (x, align), text in zip(columns, ("transfer", "", "bytes", "links"), strict=True):
        axes.text(x, 1 - step, text, ha=align, size=8.6, color=style.QUIET, transform=axes.transAxes)
    hops = np.bincount(routes.hop_transfer, minlength=routes.count)
    pattern = schedule.pattern
    for k in range(shown):
        y = 1 - (k + 2) * step
        t = routes.transfers.start + k
        m = schedule.message[t]
        pair = f"{pattern.source[m]} → {pattern.target[m]}"
        row = (pair, "", format_size(int(schedule.size[t])), str(hops[k]))
        for (x, align), text in zip(columns, row, strict=True):
            axes.text(x, y, text, ha=align, size=8.6, transform=axes.transAxes)
        if colours is not None:
            axes.plot([0, 0.045], [y + 0.3 * step] * 2, color=colours[k], linewidth=3, solid_capstyle="butt")
    if shown < routes.count:
        left_out = f"… {routes.count - shown:,} more"
        axes.text(0.07, 1 - (shown + 2) * step, left_out, size=8.6, color=style.QUIET, transform=axes.transAxes)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


BARS = 40
"""Most phases drawn as single bars; more are drawn as a filled outline."""
WRITTEN = 16
"""Most ranks whose phase numbers are written into the matrix."""


def picture_schedule(schedule: Schedule, summary: Summary | None = None) -> Figure:
    """Matrix by phase at the left; transfers, largest link load and largest transfer of every phase at the right.

    Args:
        schedule: what to draw.
        summary: the keys of `compile --json`; brings the bound into title and panels.
    """
    figure = style.new_figure(10, 6)
    style.headline(figure, *headlines(schedule, summary))
    layout: Any = [["matrix", "transfers"], ["matrix", "load"], ["matrix", "bytes"]]
    panels: Any = figure.subplot_mosaic(layout, width_ratios=(1.22, 1))
    _draw_phases(figure, panels["matrix"], schedule)
    strips = [panels[name] for name in ("transfers", "load", "bytes")]
    _draw_transfers(strips[0], schedule)
    _draw_load(strips[1], schedule)
    _draw_largest(strips[2], schedule)
    for axes in strips:
        _phase_axis(axes, schedule.phases, last=axes is strips[-1])
    _mark_bound(strips[0], schedule, summary)
    figure.align_ylabels(strips)
    return figure


def _draw_phases(figure: Figure, axes: Axes, schedule: Schedule) -> None:
    pattern = schedule.pattern
    source, target = pattern.source[schedule.message], pattern.target[schedule.message]
    grid = rank_grid(pattern.ranks, source, target, schedule.phase_of.astype(np.int64), CELLS, "least")
    axes.set_title("phase of every message")
    image = draw_matrix(axes, grid, pattern.ranks)
    if pattern.ranks <= WRITTEN and schedule.phases > 1:
        _write_numbers(axes, grid, schedule.phases)
    if schedule.phases > 1:
        _phase_bar(figure, axes, image, schedule.phases)


def _phase_bar(figure: Figure, axes: Axes, image: Any, phases: int) -> None:
    from matplotlib.ticker import MaxNLocator

    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.7, pad=0.015, aspect=36)
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 10]))
    bar.set_label("phase")


def _write_numbers(axes: Axes, grid: NDArray[np.float64], phases: int) -> None:
    size = min(10.0, 150 / len(grid))
    for row, column in np.argwhere(np.isfinite(grid)):
        phase = grid[row, column]
        pale = phases > 1 and phase > 0.55 * (phases - 1)
        axes.text(
            column, row, f"{phase:.0f}", ha="center", va="center", size=size, color=style.INK if pale else style.PAPER
        )


def _draw_transfers(axes: Axes, schedule: Schedule) -> None:
    axes.set_title("transfers in a phase")
    _strip(axes, np.diff(schedule.phase_offsets))
    axes.set_ylabel("transfers")


def _draw_load(axes: Axes, schedule: Schedule) -> None:
    from conset.schedule.loads import phase_loads

    limit = schedule.limits.link
    if schedule.machine.topology.link_slots == 0:
        # a crossbar has no links: its ports are what fills
        loads = phase_loads(schedule)
        axes.set_title("largest load at a port")
        load: NDArray[Any] = np.maximum(loads.send, loads.receive)
        limit = max(filter(None, (schedule.limits.send, schedule.limits.receive)), default=None)
        total = 0
    else:
        axes.set_title("largest load on a link")
        load = phase_loads(schedule).link
        total = largest_total_load(schedule)
    _strip(axes, load)
    axes.set_ylabel("messages")
    if limit is not None:
        _line(axes, limit, f"limit {limit}")
    elif schedule.phases and total:
        least = -(-total // schedule.phases)
        _line(axes, least, f"bound {least:,} ({total:,} in all)")
    top = max(float(load.max(initial=1)), limit or 1)
    axes.set_ylim(0, top * 1.12)


def _draw_largest(axes: Axes, schedule: Schedule) -> None:
    from conset.schedule.loads import largest_sizes

    largest = largest_sizes(schedule)
    axes.set_title("largest transfer of a phase")
    _strip(axes, largest)
    axes.set_ylabel("bytes")
    top = float(largest.max(initial=1))
    positive = largest[largest > 0]
    if positive.size and positive.min() * 30 < top:
        axes.set_yscale("log")
        axes.set_ylim(float(positive.min()) / 2, top * 1.8)
        size_ticks(axes.yaxis, float(positive.min()), top, most=4)
    else:
        axes.set_ylim(0, top * 1.15)
        _linear_sizes(axes, top)


def _linear_sizes(axes: Axes, top: float) -> None:
    from conset.units import format_size

    step = 2.0 ** np.floor(np.log2(max(top, 1) / 2))
    ticks = np.arange(0, top * 1.05, step)
    axes.set_yticks(ticks, ["0" if tick == 0 else format_size(float(tick)) for tick in ticks])


def _strip(axes: Axes, value: NDArray[Any]) -> None:
    """One value per phase: bars while they can be told apart, else a filled outline."""
    phases = np.arange(value.size)
    if value.size <= BARS:
        axes.bar(phases, value, width=0.82 if value.size > 3 else 0.4, color=style.ACCENT)
        return
    edges = np.arange(value.size + 1) - 0.5
    axes.stairs(value, edges, fill=True, color=style.ACCENT, linewidth=0)


def _line(axes: Axes, at: float, text: str) -> None:
    """A bound or limit; its words stand above the panel, where no bar can hide them."""
    axes.axhline(at, color=style.BOUND, linewidth=1.3)
    axes.set_title(text, loc="right", size=8.5, weight="normal", color=style.BOUND)


def _phase_axis(axes: Axes, phases: int, *, last: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    room = 0.02 * phases if phases > 3 else 0.5
    axes.set_xlim(-0.5 - room, max(phases, 1) - 0.5 + room)
    if phases <= 3:
        axes.set_xticks(range(phases))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 10]))
    if axes.get_yscale() != "log" and axes.get_ylabel() != "bytes":
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    axes.tick_params(length=0, axis="x" if not last else "y")
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("phase")


def _mark_bound(axes: Axes, schedule: Schedule, summary: Summary | None) -> None:
    """A line after as many phases as no schedule can go below; what stands right of it is the gap."""
    bound = ((summary or {}).get("bound") or {}).get("phases")
    count = np.diff(schedule.phase_offsets)
    axes.set_ylim(0, float(count.max(initial=1)) * 1.12)
    if not bound or bound > schedule.phases:
        return
    axes.axvline(bound - 0.5, color=style.BOUND, linewidth=1.3)
    phases = "1 phase" if bound == 1 else f"{bound:,} phases"
    axes.set_title(f"bound {phases}", loc="right", size=8.5, weight="normal", color=style.BOUND)
