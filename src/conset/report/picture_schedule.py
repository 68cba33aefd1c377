"""Pictures of a schedule, and of one of its phases on the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of, format_size
from conset.report import style
from conset.report.facts import Summary, headlines, pattern_label
from conset.report.layout import positions
from conset.report.markdown import rank_grid
from conset.report.network_drawing import draw_loads, draw_nodes, draw_ports, frame, node_radius
from conset.report.network_plan import plan_of
from conset.report.pattern import CELLS, draw_matrix, linear_sizes, size_ticks
from conset.report.plan_drawing import draw_foot, plan_extent
from conset.report.routes import PhaseRoutes, largest_total_load, phase_routes
from conset.schedule.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


ROW_IN = 0.212
"""Height of a line in the list of transfers [inch]."""


def picture_phase(schedule: Schedule, phase: int) -> Figure:
    """Routes coloured by transfer where no link is shared, else links coloured by load.

    The list is cut where full.

    Raises:
        UsageError: no such phase.
    """
    routes = phase_routes(schedule, phase)
    figure = style.new_figure(10, _height(schedule))
    transfers = count_of(routes.count, "transfer")
    size = format_size(int(schedule.size[routes.transfers].sum()))
    title = f"{schedule.method} on {schedule.machine.name}: phase {phase} of {schedule.phases:,}"
    load = int(routes.load.max(initial=0))
    sample = sample_note(schedule)
    ports_only = schedule.machine.topology.kind == "crossbar"
    use = (
        "no links"
        if ports_only
        else f"largest load on a link {load}, {count_of(routes.link.size, 'link')} in use"
    )
    use += " in one sample of its routes" if sample else ""
    style.headline(figure, title, f"{pattern_label(schedule)}{transfers}, {size}, {use}")
    left, right = figure.subplots(1, 2, width_ratios=(3.2 if _is_wide(schedule) else 2.1, 1))
    colours = style.spread_colours(routes.count)
    shared = load > 1
    topology = schedule.machine.topology
    if ports_only:
        widths = _draw_crossbar(left, schedule, routes, colours)
    elif shared:
        widths = _draw_shared(figure, left, schedule, routes)
    else:
        widths = _draw_apart(left, schedule, routes, colours)
    lines = [
        "" if ports_only else LANES,
        sample,
        plan_of(topology).caption if topology.kind == "graph" else "",
    ]
    draw_foot(left, lines, *_width_key(*widths, "on a link" if shared else "of a transfer"))
    _list_transfers(right, schedule, routes, None if shared else colours)
    return figure


LANES = "The two directions of a link lie beside each other, each on the right of its way."


def sample_note(schedule: Schedule) -> str:
    """What a picture of routes has to say where nobody knows them; "" where they are known."""
    if schedule.route_nodes is not None or not schedule.machine.routes_unknown:
        return ""
    rule = schedule.machine.routing.rule
    chosen = (
        "a hash draws"
        if schedule.machine.routing.knowledge == "hashed"
        else "switches choose as messages come"
    )
    return f"One sample: these are routes that {rule} may take; which it takes, {chosen}."


Widths = tuple[NDArray[np.float64], NDArray[np.float64]]
"""(bytes [B], widths of lines [pt]) of all that is drawn."""


def _widths(size: NDArray[Any], widest: float) -> NDArray[np.float64]:
    """Widths [pt] in proportion to bytes, but never so thin that a line is lost.

    Wider where they differ much.
    """
    share = size / max(float(size.max(initial=1)), 1.0)
    if share.size and share.min() < 0.5:
        widest *= 1.4
    return np.asarray(widest * np.maximum(share, 0.22), np.float64)


def _width_key(
    size: NDArray[Any], width: NDArray[np.float64], of: str
) -> tuple[list[Any], list[str]]:
    """Lines as wide as the least and the most bytes, where these differ; `of` says of what."""
    from matplotlib.lines import Line2D

    if not size.size or size.min() == size.max():
        return [], []
    ends = [int(size.argmin()), int(size.argmax())]
    handles = [Line2D([], [], color=style.QUIET, linewidth=float(width[k])) for k in ends]
    least, most = (format_size(float(size[k])) for k in ends)
    return handles, [least, f"{most} {of}"]


def _height(schedule: Schedule) -> float:
    if schedule.machine.topology.kind == "graph":
        width, height = plan_extent(plan_of(schedule.machine.topology))
        return float(np.clip((7.4 if _is_wide(schedule) else 6.6) * height / width + 1.2, 3.4, 7.6))
    extent = np.maximum(np.ptp(positions(schedule.machine.topology), axis=0), 0.5) + 1
    return float(np.clip(6.6 * extent[1] / extent[0] + 0.9, 3.4, 7.6))


def _is_wide(schedule: Schedule) -> bool:
    if schedule.machine.topology.kind != "graph":
        return False
    width, height = plan_extent(plan_of(schedule.machine.topology))
    return bool(width > 1.6 * height)


def _draw_apart(
    axes: Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64]
) -> Widths:
    """Every route in the colour of its transfer, as wide as its bytes."""
    hop, size = routes.hop_transfer, schedule.size[routes.transfers]
    width = _widths(size, _line_width(schedule))
    titles = _link_titles(schedule, routes, routes.hop_link)
    draw_loads(axes, schedule.machine.topology, routes.hop_link, colours[hop], width[hop], titles)
    return np.asarray(size, np.float64), width


def _link_titles(schedule: Schedule, routes: PhaseRoutes, links: NDArray[Any]) -> list[str]:
    """`link 0 (0, 0) → 1 (0, 1): 3 messages, 12 KiB`."""
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


def _draw_shared(figure: Figure, axes: Axes, schedule: Schedule, routes: PhaseRoutes) -> Widths:
    """Links in the colour of their load, as wide as their bytes.

    The bar reaches from the least load to the largest.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, Normalize

    cmap = style.amount_map()
    least, most = int(routes.load.min()), int(routes.load.max())
    few = most - least < 10
    norm = (
        BoundaryNorm(np.arange(least - 0.5, most + 1.5), cmap.N) if few else Normalize(least, most)
    )
    if least == most:
        norm = Normalize(least - 2, most + 1)  # one value: a colour of the middle
    width = _widths(routes.bytes, 1.2 * _line_width(schedule))
    titles = _link_titles(schedule, routes, routes.link)
    draw_loads(
        axes,
        schedule.machine.topology,
        routes.link,
        np.asarray(cmap(norm(routes.load))),
        width,
        titles,
    )
    if least < most:
        ticks = np.unique(np.linspace(least, most, min(most - least + 1, 8)).round().astype(int))
        bar = figure.colorbar(
            ScalarMappable(norm, cmap),
            ax=axes,
            location="left",
            shrink=0.6,
            pad=0.02,
            aspect=26,
            ticks=ticks,
        )
        bar.outline.set_visible(False)
        bar.ax.set_yticklabels([str(tick) for tick in ticks])
        bar.ax.minorticks_off()
        bar.set_label("messages on a link")
    return routes.bytes.astype(np.float64), width


def _draw_crossbar(
    axes: Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64]
) -> Widths:
    """No links: an arrow from port to port for each transfer, as wide as its bytes."""
    place = positions(schedule.machine.topology)
    frame(axes, schedule.machine.topology, place)
    draw_ports(axes, place, "")
    draw_nodes(axes, schedule.machine.topology, place)
    where = routes.transfers
    width = _widths(schedule.size[where], 2.0)
    inside = 1 - 1.08 * node_radius(axes, place) / float(
        np.hypot(*place[0])
    )  # tips end at the rims of the discs
    pairs = zip(
        schedule.source_node[where],
        schedule.target_node[where],
        colours,
        width.tolist(),
        strict=True,
    )
    for source, target, colour, line in pairs:
        start, end = inside * place[source], inside * place[target]
        arrow = {
            "arrowstyle": "-|>",
            "color": colour,
            "lw": line,
            "connectionstyle": "arc3,rad=0.12",
            "shrinkA": 2,
            "shrinkB": 2,
        }
        axes.annotate("", end, start, arrowprops=arrow, zorder=3)
    return np.asarray(schedule.size[where], np.float64), width


def _list_transfers(
    axes: Axes, schedule: Schedule, routes: PhaseRoutes, colours: NDArray[np.float64] | None
) -> None:
    axes.set_axis_off()
    inches = axes.get_figure().get_figheight() - 1.15  # type: ignore[union-attr]
    room = max(4, int(inches / ROW_IN) - 1)
    step = ROW_IN / inches
    shown = routes.count if routes.count <= room else room - 1
    columns = ((0.07, "left"), (0.46, "left"), (0.72, "right"), (1.0, "right"))
    for (x, align), text in zip(columns, ("transfer", "", "bytes", "links"), strict=True):
        axes.text(
            x, 1 - step, text, ha=align, size=8.6, color=style.QUIET, transform=axes.transAxes
        )
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
            axes.plot(
                [0, 0.045],
                [y + 0.3 * step] * 2,
                color=colours[k],
                linewidth=3,
                solid_capstyle="butt",
            )
    if shown < routes.count:
        left_out = f"… {routes.count - shown:,} more"
        axes.text(
            0.07,
            1 - (shown + 2) * step,
            left_out,
            size=8.6,
            color=style.QUIET,
            transform=axes.transAxes,
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


BARS = 40
"""Most phases drawn as single bars; more are drawn as a filled outline."""
WRITTEN = 16
"""Most ranks whose phase numbers are written into the matrix."""


def picture_schedule(schedule: Schedule, summary: Summary | None = None) -> Figure:
    """Matrix by phase at the left.

    Transfers, largest link load and largest transfer of every phase at the right.

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
    grid = rank_grid(
        pattern.ranks, source, target, schedule.phase_of.astype(np.int64), CELLS, "least"
    )
    axes.set_title("phase of every message")
    image = draw_matrix(axes, grid, pattern.ranks)
    if pattern.ranks <= WRITTEN and schedule.phases > 1:
        _write_numbers(axes, grid, image)
    if schedule.phases > 1:
        _phase_bar(figure, axes, image, schedule.phases)


def _phase_bar(figure: Figure, axes: Axes, image: Any, phases: int) -> None:
    from matplotlib.ticker import MaxNLocator

    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.7, pad=0.015, aspect=36)
    bar.outline.set_visible(False)
    bar.ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 10]))
    bar.set_label("phase, dark is late")


def _write_numbers(axes: Axes, grid: NDArray[np.float64], image: AxesImage) -> None:
    size = min(10.0, 150 / len(grid))
    for row, column in np.argwhere(np.isfinite(grid)):
        phase = grid[row, column]
        ink = style.ink_on(image.cmap(image.norm(phase)))
        axes.text(column, row, f"{phase:.0f}", ha="center", va="center", size=size, color=ink)


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
        total: int | float = 0
    else:
        known = schedule.machine.routing.is_known
        axes.set_title("largest load on a link" if known else "largest expected load on a link")
        load = phase_loads(schedule).link
        total = largest_total_load(schedule)
    _strip(axes, load)
    axes.set_ylabel("messages")
    if limit is not None:
        _line(axes, limit, f"limit {limit}")
    elif schedule.phases and total:
        whole = isinstance(total, int)
        least = -(-total // schedule.phases) if whole else total / schedule.phases
        _line(
            axes,
            least,
            f"bound {least:,} ({total:,} in all)" if whole else f"mean {least:,.4g}, expected",
        )
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
        style.log_axis(axes, "y", "bytes")
        axes.set_ylim(float(positive.min()) / 2, top * 1.8)
        size_ticks(axes.yaxis, float(positive.min()), top, most=4)
    else:
        axes.set_ylim(0, top * 1.15)
        linear_sizes(axes.yaxis, top)


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
    if not axes.get_ylabel().startswith("bytes"):
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    axes.tick_params(length=0, axis="x" if not last else "y")
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("phase")


def _mark_bound(axes: Axes, schedule: Schedule, summary: Summary | None) -> None:
    """A line after as many phases as no schedule can go below.

    What stands right of it is the gap.
    """
    bound = ((summary or {}).get("bound") or {}).get("phases")
    count = np.diff(schedule.phase_offsets)
    axes.set_ylim(0, float(count.max(initial=1)) * 1.12)
    if not bound or bound > schedule.phases:
        return
    axes.axvline(bound - 0.5, color=style.BOUND, linewidth=1.3)
    phases = "1 phase" if bound == 1 else f"{bound:,} phases"
    axes.set_title(f"bound {phases}", loc="right", size=8.5, weight="normal", color=style.BOUND)
