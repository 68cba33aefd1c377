"""Picture of one phase: the network with the routes of its transfers, and the transfers beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.report import style
from conset.report.facts import pattern_label
from conset.report.layout import positions
from conset.report.network_drawing import draw_loads, draw_nodes, draw_ports, frame
from conset.report.routes import PhaseRoutes, phase_routes
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
