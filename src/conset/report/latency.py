"""Latency over load as a table, as Markdown and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of, format_time
from conset.report import style
from conset.report.markdown import table_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

    from conset.models.load.sweep import LoadCurve, LoadPoint


COLUMNS = ("load", "carried", "mean latency", "", "99th percentile", "packets", "not delivered")


def latency_cells(point: LoadPoint, cycle_s: float) -> tuple[str, ...]:
    """A point as text, in the order of `COLUMNS`; latencies in cycles and as a time."""
    return (
        f"{point.load:.4f}",
        f"{point.accepted:.4f}",
        f"{point.mean_latency:,.1f}",
        "saturated" if point.saturated else format_time(point.mean_latency * cycle_s),
        f"{point.p99_latency:,.0f}",
        f"{point.packets:,}",
        f"{point.undelivered:,}" if point.undelivered else "",
    )


def latency_title(curve: LoadCurve) -> str:
    """What stands above table and picture."""
    return f"latency over load: {curve.traffic} on {curve.machine}"


def latency_table(curve: LoadCurve) -> Table:
    """The table for a terminal; saturated loads are dim."""
    from conset.report.terminal import fitted_table

    rows = [latency_cells(point, curve.cycle_s) for point in curve.points]
    table = fitted_table(COLUMNS, rows)
    for point, row in zip(curve.points, rows, strict=True):
        table.add_row(*row, style="dim" if point.saturated else None)
    return table


def latency_lines(curve: LoadCurve) -> list[str]:
    """What stands below the table."""
    if curve.saturation is None:
        found = f"saturation above {curve.points[-1].load:.3f}"
    else:
        found = f"saturation at {curve.saturation:.3f} flits per cycle and node"
    return [
        f"{found}, bound {curve.bound:.3f} (a link or a node is full), by flit",
        f"empty network {curve.zero_load:.1f} cycles of {format_time(curve.cycle_s)}, "
        f"packets of {curve.flits:g} flit{'' if curve.flits == 1 else 's'}, "
        f"{count_of(curve.lanes, 'lane')}, "
        f"{curve.window.measured:,} cycles measured after {curve.window.warm_up:,}",
        f"took {format_time(curve.elapsed_s)} for {count_of(curve.events, 'flit move')}",
    ]


def latency_markdown(curve: LoadCurve, *, title: str) -> str:
    """The same as Markdown."""
    names = [name or "time" for name in COLUMNS]
    rows = (latency_cells(point, curve.cycle_s) for point in curve.points)
    lines = [f"**{title}**", "", *table_markdown(names, rows)]
    # the time it took differs from run to run, and files of the same seed must not
    return "\n".join([*lines, "", *latency_lines(curve)[:-1]]) + "\n"


ROOM = 10.0
"""The axis of latency ends at so many times the latency of an empty network.

Beyond, the curve is a wall.
"""


def picture_latency(curve: LoadCurve, *, title: str, subtitle: str = "") -> Figure:
    """Mean and 99th percentile of latency above, load carried below.

    Both over the load offered.
    """
    figure = style.new_figure(9, 6.6)
    style.headline(figure, title, subtitle)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    load = np.array([point.load for point in curve.points])
    _draw_latency(upper, curve, load)
    _draw_carried(lower, curve, load)
    for axes in (upper, lower):
        _draw_limits(axes, curve)
        axes.grid(axis="both")
    right = max(load.max(), min(curve.bound, 1.0)) * 1.02
    lower.set_xlim(0, right)
    lower.set_xlabel("offered load [flits per cycle and sending node]")
    return figure


def _draw_latency(axes: Axes, curve: LoadCurve, load: NDArray[np.float64]) -> None:
    top = ROOM * curve.zero_load
    mean, p99 = (
        np.array([getattr(p, name) for p in curve.points])
        for name in ("mean_latency", "p99_latency")
    )
    # up to the first load that saturates: beyond, latency is a matter of how long one looks
    holds = np.array([not p.saturated for p in curve.points])
    wall = holds.size if holds.all() else int(np.argmin(holds)) + 1
    shades = style.colour_map()((0.32, 0.78))
    axes.plot(
        load[:wall],
        mean[:wall],
        color=shades[0],
        linewidth=1.8,
        marker="o",
        markersize=3.6,
        label="mean",
    )
    axes.plot(
        load[:wall],
        p99[:wall],
        color=shades[1],
        linewidth=1.3,
        marker="s",
        markersize=3.0,
        label="99th percentile",
    )
    axes.axhline(
        curve.zero_load,
        color=style.QUIET,
        linewidth=1.1,
        linestyle=":",
        label=f"empty network {curve.zero_load:.1f} cycles",
    )
    axes.set_ylim(0, top)
    axes.set_ylabel("latency [cycles]")
    axes.set_title("from release to delivery")
    caption = f"a cycle is {format_time(curve.cycle_s)}"
    axes.text(1, 1.02, caption, transform=axes.transAxes, ha="right", color=style.QUIET)


def _draw_carried(axes: Axes, curve: LoadCurve, load: NDArray[np.float64]) -> None:
    accepted = np.array([point.accepted for point in curve.points])
    axes.plot(
        [0, 1], [0, 1], color=style.FAINT, linewidth=1.2, zorder=1, label="all that is offered"
    )
    axes.plot(
        load,
        accepted,
        color=style.ACCENT,
        linewidth=1.8,
        marker="o",
        markersize=3.6,
        label="carried",
    )
    axes.set_ylim(0, max(accepted.max(), min(curve.bound, float(load.max()))) * 1.15)
    axes.set_ylabel("carried load")
    axes.legend(loc="upper left")


def _draw_limits(axes: Axes, curve: LoadCurve) -> None:
    if curve.saturation is not None:
        axes.axvline(
            curve.saturation,
            color=style.INK,
            linewidth=1.2,
            linestyle=(0, (5, 2)),
            label=f"saturation {curve.saturation:.3f}",
        )
    axes.axvline(
        curve.bound,
        color=style.BOUND,
        linewidth=1.4,
        label=f"bound {curve.bound:.3f}: a link is full",
    )
    if axes.get_ylabel().startswith("latency"):
        axes.legend(loc="upper left")
