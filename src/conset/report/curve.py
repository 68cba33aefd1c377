"""The contention curve as a table, as Markdown and as a picture.

Picture of the contention curve: time over groups between barriers, one line for each contention, a
panel a size.

As Figures 12 to 15 of Bokhari and Nicol: from left to right fewer barriers and more messages in
flight together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from conset.base.units import count_of, format_size, format_time
from conset.report import style
from conset.report.markdown import table_markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table

    from conset.studies.compare import Curve, CurvePoint


LEFT = (3,)
"""The policy is a word, the other columns are numbers."""


def curve_columns(curve: Curve) -> tuple[str, ...]:
    """The head: what decides is named."""
    times = ("by formula",) if curve.by == "formula" else (f"by {curve.by}", "by formula")
    return (
        "(node, link)",
        "contention",
        "phases",
        "sync",
        "groups",
        "barriers",
        *times,
        "bound",
        "serial steps",
    )


def curve_cells(curve: Curve, point: CurvePoint) -> tuple[str, ...]:
    """A point as text, in the order of `curve_columns`."""
    predicted = format_time(point.predicted_s)
    time = "–" if point.time_s is None else format_time(point.time_s)
    return (
        f"({point.node}, {point.link})",
        str(point.contention),
        f"{point.phases:,}",
        point.sync,
        f"{point.groups:,}",
        format_time(point.synchronization_s),
        *((predicted,) if curve.by == "formula" else (time, predicted)),
        format_time(point.lower_s),
        f"{format_time(point.serial_least_s)} to {format_time(point.serial_most_s)}",
    )


def curve_table(curve: Curve) -> Table:
    """The table for a terminal; the best point is bold, points a node has no room for are dim."""
    from conset.report.terminal import fitted_table

    rows = [curve_cells(curve, point) for point in curve.points]
    table = fitted_table(curve_columns(curve), rows, LEFT)
    for point, row in zip(curve.points, rows, strict=True):
        style = "bold" if point is curve.best else None if point.fits else "dim"
        table.add_row(*row, style=style)
    return table


def curve_lines(curve: Curve) -> list[str]:
    """What stands below the table."""
    best = curve.best
    naive = "cannot run, or was cut" if curve.naive_s is None else format_time(curve.naive_s)
    where = f"contention {best.contention} under {best.sync}"
    what = "predicted by formula" if curve.by == "formula" else f"simulated by {curve.by}"
    stands_in = f" ({curve.stands_in})" if curve.stands_in else ""
    lines = [
        f"least {what}{stands_in}: {where}; posting everything {naive}",
        f"{count_of(curve.steps, 'step')} without contention; a barrier "
        f"{format_time(curve.barrier_s)}, a message of "
        f"{format_size(curve.size)} alone {format_time(curve.message_s)}; serial steps: an "
        "estimate, with links that "
        "cost nothing to links that take turns, which overlapping messages pass below",
    ]
    if not all(point.fits for point in curve.points):
        lines.append("dim: more receives posted at once than a node can hold")
    if any(point.untimed.startswith("cut ") for point in curve.points):
        lines.append(f"–: {next(p.untimed for p in curve.points if p.untimed.startswith('cut '))}")
    return lines


def curves_title(pattern: str, machine: str) -> str:
    """What stands above table and picture."""
    return f"{pattern} on {machine}: contention against synchronization"


def curves_subtitle(curves: Sequence[Curve]) -> str:
    """The second line of the picture."""
    sizes = " and ".join(format_size(curve.size) for curve in curves)
    return (
        f"bounded, {curves[0].steps:,} steps without contention, messages of {sizes}; "
        "ringed: the least"
    )


def curves_parts(curves: Sequence[Curve], title: str) -> list[RenderableType]:
    """What the terminal shows: a title, a table and its lines for each size."""
    from conset.report.terminal import titled_parts

    parts = []
    for curve in curves:
        head = title if len(curves) == 1 else f"{title}, messages of {format_size(curve.size)}"
        parts += titled_parts(head, curve_table(curve), curve_lines(curve))
    return parts


def curves_markdown(curves: Sequence[Curve], *, title: str) -> str:
    """The same as Markdown, one table for each size."""
    parts = [f"**{title}**"]
    for curve in curves:
        rows = [list(curve_cells(curve, point)) for point in curve.points]
        for point, row in zip(curve.points, rows, strict=True):
            row[0] = f"**{row[0]}**" if point is curve.best else row[0]
        head = [] if len(curves) == 1 else ["", f"Messages of {format_size(curve.size)}"]
        parts += [*head, "", *table_markdown(curve_columns(curve), rows, LEFT), ""]
        parts += [f"- {line}" for line in curve_lines(curve)]
    return "\n".join(parts) + "\n"


TICKS = 12
"""Most numbers of groups below the axis."""


def picture_curve(curves: Sequence[Curve], *, title: str, subtitle: str = "") -> Figure:
    """A panel for each size.

    Times of every pair by what decides, the best marked, bounds and estimates as lines.
    """
    columns = min(len(curves), 2)
    rows = -(-len(curves) // columns)
    figure = style.new_figure(10 if columns == 1 else 13, 1.2 + 4.3 * rows)
    style.headline(figure, title, subtitle)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in panels[len(curves) :]:
        axes.set_visible(False)
    for curve, axes in zip(curves, panels, strict=False):
        _draw(axes, curve)
        axes.set_title(_headed(curve))
    handles, labels = panels[0].get_legend_handles_labels()
    panels[0].legend(handles, labels, loc="best", fontsize=8, handlelength=2.6)
    return figure


def _draw(axes: Axes, curve: Curve) -> None:
    shown = [time for point in curve.points for time in (point.time_s, point.lower_s) if time]
    top = max(shown, default=1.0)
    factor, unit = style.time_unit(top)
    contentions = sorted({point.contention for point in curve.points})
    shades = style.amount_map()(
        np.linspace(0.2, 0.8, len(contentions)) if len(contentions) > 1 else [0.65]
    )
    for k, (contention, shade) in enumerate(zip(contentions, shades, strict=False)):
        width = 1.2 + 4 * (len(contentions) - 1 - k) / max(
            len(contentions), 3
        )  # lines that coincide show all
        line = [
            p
            for p in curve.points
            if p.contention == contention and p.time_s is not None and p.fits
        ]
        axes.plot(
            *_line(line, "time_s", factor),
            color=shade,
            linewidth=width,
            marker="o",
            markersize=3 + width,
            label=f"contention {contention}",
            zorder=3,
        )
    bounds = _least(curve)
    axes.plot(
        *_line(bounds, "lower_s", factor),
        color=style.BOUND,
        linewidth=1.5,
        label="bound, least of all",
    )
    serial = curve.serial
    axes.plot(
        *_line(serial, "serial_most_s", factor),
        color=style.QUIET,
        linewidth=1,
        linestyle=(0, (5, 2)),
        label="serial steps, links take turns (estimate)",
    )
    axes.plot(
        *_line(serial, "serial_least_s", factor),
        color=style.QUIET,
        linewidth=1,
        linestyle=(0, (1.5, 1.5)),
        label="serial steps, links cost nothing (estimate)",
    )
    if curve.naive_s is not None:
        axes.axhline(
            curve.naive_s / factor,
            color=style.INK,
            linewidth=1,
            linestyle="-.",
            label="posting everything",
        )
    _mark(axes, curve, factor)
    _label(axes, curve, unit, top / factor)


def _least(curve: Curve) -> list[CurvePoint]:
    """Of each number of groups the point with the least bound."""
    least: dict[int, CurvePoint] = {}
    for point in curve.points:
        if point.groups not in least or point.lower_s < least[point.groups].lower_s:
            least[point.groups] = point
    return [least[groups] for groups in sorted(least, reverse=True)]


def _line(points: Sequence[CurvePoint], name: str, factor: float) -> tuple[list[int], list[float]]:
    """(groups, times in the unit), by falling groups."""
    ordered = sorted(points, key=lambda point: -point.groups)
    return [point.groups for point in ordered], [getattr(point, name) / factor for point in ordered]


def _mark(axes: Axes, curve: Curve, factor: float) -> None:
    """A ring around the best pair."""
    best = curve.best
    time_s = best.predicted_s if best.time_s is None else best.time_s
    axes.plot(
        [best.groups],
        [time_s / factor],
        marker="o",
        markersize=10,
        markerfacecolor="none",
        markeredgecolor=style.INK,
        markeredgewidth=1.6,
        zorder=4,
    )


def _headed(curve: Curve) -> str:
    """Size and least time of a panel."""
    best = curve.best
    time_s = best.predicted_s if best.time_s is None else best.time_s
    return (
        f"{format_size(curve.size)}: least {format_time(time_s)}, contention "
        f"{best.contention}, {best.sync}"
    )


def _label(axes: Axes, curve: Curve, unit: str, top: float) -> None:
    groups = sorted({point.groups for point in curve.points}, reverse=True)
    style.log_axis(axes, "x", "groups of phases between barriers")
    axes.set_xlim(max(groups) * 1.25, min(groups) / 1.25)
    spread = groups[:: -(-len(groups) // TICKS)]
    axes.set_xticks(spread, [f"{count:,}" for count in spread], size=8.4)
    axes.minorticks_off()
    what = "predicted by formula" if curve.by == "formula" else f"simulated by {curve.by}"
    axes.set_ylabel(f"time {what} [{unit}]")
    axes.set_ylim(0, top * 1.12)
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0)
