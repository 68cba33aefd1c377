"""Pictures of lines and of filled steps.

Each panel is a family of curves over one quantity, beside formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np

from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MARKS = "osD^vP*X"
SUBS = ((10.0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)), (2000.0, (1.0, 2.0, 5.0)), (inf, (1.0,)))
"""(largest factor between the ends of a logarithmic axis, ticks in a decade)."""
PLAIN = ("bound", "quiet", "rings")
"""Kinds that have a colour of their own."""
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        name: in the legend; empty: not in it.
        x: where.
        y: how much; as many as `x`.
        kind: `line` with marks, `points` without a line, `curve` and `dashed` without marks,
            `rings` around points, `bound` in the colour of bounds, `quiet` dotted.
        colour: index of its colour, for lines of several panels that belong together; None: its
            place.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: str = "line"
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: above it.
        x: label of the axis across, with its unit.
        y: label of the axis up, with its unit.
        lines: its curves.
        log_x: base of a logarithmic axis across; None: linear.
        log_y: whether the axis up is logarithmic.
        ticks: (places, labels) of the axis across; empty: as they come.
        y_limits: ends of the axis up; None: as they come.
        legend: where it stands: a place of matplotlib's, or `outside`, to the right of the axes.
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: float | None = None
    log_y: bool = False
    ticks: tuple[Sequence[float], Sequence[str]] = field(default=((), ()))
    y_limits: tuple[float | None, float | None] | None = None
    legend: str = "best"


def picture_lines(
    panels: Sequence[Panel],
    *,
    title: str,
    subtitle: str = "",
    columns: int = 2,
    height: float = 3.6,
    width: float = 5.2,
) -> Figure:
    """Panels in rows of `columns`.

    Each with its legend where it has names the first panel does not have.

    Args:
        panels: at least one.
        title: of the picture.
        subtitle: a quieter second line: model, sync, settings.
        columns: panels in a row.
        height: of a row [inch].
        width: of a column [inch].
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    figure = style.new_figure(max(width * columns, 7.0), height * rows + 0.8)
    style.headline(figure, title, subtitle)
    grid = figure.subplots(rows, columns, squeeze=False)
    shown: set[str] = set()
    most = max(
        1 + max((_colour(panel, k) for k in range(len(panel.lines))), default=0) for panel in panels
    )
    for k, panel in enumerate(panels):
        _draw_lines(grid[k // columns][k % columns], panel, most, shown)
    for k in range(len(panels), rows * columns):
        grid[k // columns][k % columns].set_axis_off()
    return figure


def _colour(panel: Panel, k: int) -> int:
    if panel.lines[k].kind in PLAIN:
        return 0
    before = sum(line.kind not in PLAIN for line in panel.lines[:k])
    own = panel.lines[k].colour
    return before if own is None else own


def _draw_lines(axes: Axes, panel: Panel, most: int, shown: set[str]) -> None:
    if panel.log_x is not None:
        axes.set_xscale("log", base=panel.log_x)
    if panel.log_y:
        axes.set_yscale("log")
    names = {line.name for line in panel.lines if line.name}
    for k, line in enumerate(panel.lines):
        _draw_line(axes, line, _colour(panel, k), most)
    places, labels = panel.ticks
    if len(places):
        from matplotlib.ticker import NullLocator

        axes.set_xticks(list(places), list(labels))
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)
    elif not panel.log_y:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    if panel.log_y:
        _tick_logarithmic(axes)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x + (style.LOGARITHMIC if panel.log_x is not None else ""))
    axes.set_ylabel(panel.y + (style.LOGARITHMIC if panel.log_y else ""))
    axes.grid(axis="both")
    if names - shown:
        outside = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        axes.legend(
            handlelength=2.6, **(outside if panel.legend == "outside" else {"loc": panel.legend})
        )
    shown |= names


def _tick_logarithmic(axes: Axes) -> None:
    """Plain numbers up the axis, the more of each decade the fewer decades there are."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axes.get_ylim()
    subs = next(subs for factor, subs in SUBS if high <= factor * low)
    axes.yaxis.set_major_locator(LogLocator(10, subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _draw_line(axes: Axes, line: Line, colour: int, most: int) -> None:
    label = line.name or None
    if line.kind == "bound":
        axes.plot(line.x, line.y, color=style.BOUND, linewidth=1.5, label=label)
    elif line.kind == "quiet":
        axes.plot(line.x, line.y, color=style.QUIET, linewidth=1.2, linestyle=":", label=label)
    elif line.kind == "rings":
        axes.plot(
            line.x,
            line.y,
            "o",
            color=style.INK,
            fillstyle="none",
            markersize=8.5,
            markeredgewidth=1.0,
            label=label,
        )
    elif line.kind in ("curve", "dashed"):
        dash = "-" if line.kind == "curve" else (0, (4, 2))
        axes.plot(
            line.x, line.y, color=_shade(colour, most), linewidth=1.5, linestyle=dash, label=label
        )
    else:
        shade = _shade(colour, most)
        axes.plot(
            line.x,
            line.y,
            color=shade,
            linewidth=1.6,
            marker=MARKS[colour % len(MARKS)],
            markersize=4.2,
            label=label,
            linestyle="none"
            if line.kind == "points"
            else DASHES[colour // len(MARKS) % len(DASHES)],
        )


def _shade(colour: int, most: int) -> tuple[float, float, float, float]:
    """Number `colour` of `most`, over the colour map."""
    red, green, blue, alpha = style.colour_map()(0.12 + 0.8 * colour / max(most - 1, 1))
    return red, green, blue, alpha


@dataclass(frozen=True)
class Steps:
    """One pair of axes.

    Attributes:
        title: above it.
        y: label of the axis up.
        name: of what is filled, in the legend.
        counted: shape=(steps): filled.
        formula_name: of the line, in the legend.
        formula: shape=(steps): a line over it; None: none.
    """

    title: str
    y: str
    name: str
    counted: Sequence[float]
    formula_name: str = ""
    formula: Sequence[float] | None = None


def picture_steps(
    panels: Sequence[Steps], *, title: str, subtitle: str = "", columns: int = 2
) -> Figure:
    """Panels in rows of `columns`; those with the same label of the axis up have the same axis.

    One legend.

    Args:
        panels: at least one.
        title: of the picture.
        subtitle: a quieter second line.
        columns: panels in a row.
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    figure = style.new_figure(max(5.4 * columns, 7.0), 2.7 * rows + 0.8)
    style.headline(figure, title, subtitle)
    grid = figure.subplots(rows, columns, squeeze=False)
    for k, axes in enumerate(grid.ravel()):
        if k < len(panels):
            _draw_steps(
                axes, panels[k], max(_top(panel) for panel in panels if panel.y == panels[k].y)
            )
        else:
            axes.set_axis_off()
    if any(panel.formula is not None for panel in panels):
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _top(panel: Steps) -> float:
    return max(*panel.counted, *(panel.formula or ()))


def _draw_steps(axes: Axes, panel: Steps, top: float) -> None:
    from matplotlib.ticker import MaxNLocator

    edges = np.arange(len(panel.counted) + 1) + 0.5
    axes.stairs(panel.counted, edges, fill=True, color=style.ACCENT, linewidth=0, label=panel.name)
    if panel.formula is not None:
        axes.stairs(
            panel.formula,
            edges,
            baseline=None,
            color=style.BOUND,
            linewidth=1.1,
            label=panel.formula_name,
        )
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, top * 1.06)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_title(panel.title)
    axes.set_xlabel("step")
    axes.set_ylabel(panel.y)
    axes.grid(axis="y")
