"""General charts: families of lines, groups of bars and maps of values, with published points.

`picture_charts([Panel(...), Bars(...), Heat(...)], title=...)` draws panels in rows. Published
points beside ours are a `Line` of kind `rings` (or `points`); a bound is one of kind `bound`.
Pictures of one kind of result are in the module of that result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

import numpy as np

from conset.base import Array, Bools, Floats
from conset.report import style

MARKS = "osD^vP*X"
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
LOOKS: dict[str, dict[str, Any]] = {
    "bound": {"color": style.BOUND, "linewidth": 1.5},
    "quiet": {"color": style.QUIET, "linewidth": 1.2, "linestyle": ":"},
    "rings": {
        "color": style.INK,
        "linestyle": "none",
        "marker": "o",
        "fillstyle": "none",
        "markersize": 8.5,
        "markeredgewidth": 1.0,
    },
}
"""Kinds of lines that have a colour of their own, as matplotlib draws them."""


@dataclass(frozen=True)
class Line:
    """One curve of a `Panel`.

    Attributes:
        name: in the legend; empty: not in it.
        x: places across.
        y: values; as many as `x`.
        kind: `line` with marks, `points` without a line, `curve` and `dashed` without marks,
            `steps` filled, one unit wide; `rings` around published points, `bound` in the colour
            of bounds, `quiet` dotted.
        colour: index of its colour, for lines of several panels that belong together; None: its
            place among the lines that have no colour of their own.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    kind: str = "line"
    colour: int | None = None


@dataclass(frozen=True)
class Panel:
    """Axes with lines.

    Attributes:
        title: above it.
        x: label of the axis across, with its unit.
        y: label of the axis up, with its unit.
        lines: its curves.
        log_x: base of a logarithmic axis across; None: linear.
        log_y: whether the axis up is logarithmic.
        ticks: (places, labels) of the axis across; empty: chosen by matplotlib.
        y_limits: ends of the axis up; None: chosen by matplotlib, from 0 on a linear axis.
        legend: its place: one of matplotlib's, or `outside`, to the right of the axes.
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: float | None = None
    log_y: bool = False
    ticks: tuple[Sequence[float], Sequence[str]] = ((), ())
    y_limits: tuple[float | None, float | None] | None = None
    legend: str = "best"

    def draw(self, axes: style.Axes, most: int, shown: set[str]) -> None:
        """Draw the lines, in `most` colours; the legend where it has names that `shown` lacks."""
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
        if self.log_x is not None:
            style.log_axis(axes, "x", self.x, self.log_x)
        if self.log_y:
            style.log_axis(axes, "y", self.y)
        for line, colour in zip(self.lines, colours_of(self.lines), strict=True):
            _draw_line(axes, line, colour, most)
        if len(self.ticks[0]):
            axes.set_xticks(list(self.ticks[0]), list(self.ticks[1]))
            axes.xaxis.minorticks_off()
        if self.y_limits is not None:
            axes.set_ylim(*self.y_limits)
        elif not self.log_y:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if self.log_y:
            style.plain_log_ticks(axes.yaxis)
        axes.grid(axis="both")
        names = {line.name for line in self.lines if line.name}
        if names - shown:
            outside: Any = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
            where = outside if self.legend == "outside" else {"loc": self.legend}
            axes.legend(handlelength=2.6, **where)
        shown |= names


@dataclass(frozen=True)
class Bars:
    """Axes with bars, series side by side over named groups.

    Attributes:
        title: above it.
        x: label of the axis across.
        y: label of the axis up, with its unit.
        groups: names below it.
        series: name → height of its bar in each group.
        top: end of the axis up; None: chosen by matplotlib.
    """

    title: str
    x: str
    y: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float]]
    top: float | None = None

    def draw(self, axes: style.Axes, most: int, shown: set[str]) -> None:
        """Draw the bars, in `most` colours; a legend below all where `shown` lacks their names."""
        at = np.arange(len(self.groups))
        wide = 0.82 / len(self.series)
        colours = style.colour_map()(np.linspace(0.12, 0.92, most))
        for k, (name, heights) in enumerate(self.series.items()):
            place = at + (k + 0.5) * wide - 0.41
            axes.bar(place, heights, wide * 0.94, color=colours[k], label=name)
        axes.set_xticks(at, list(self.groups))
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y, ylim=(0, self.top))
        axes.grid(axis="y")
        if len(self.series) > 1 and self.series.keys() - shown:
            figure: Any = axes.get_figure()
            figure.legend(
                *axes.get_legend_handles_labels(),
                loc="outside lower center",
                ncols=min(len(self.series), 4),
                handlelength=1.2,
            )
        shown.update(self.series)


@dataclass(frozen=True, eq=False)
class Heat:
    """Axes with a map of values; cells up to 0 are pale.

    Attributes:
        title: above it.
        x: label of the axis across.
        y: label of the axis up.
        columns: labels from the left.
        rows: labels from below.
        value: shape=(rows, columns); NaN: nothing.
        marked: shape=(rows, columns): what a line surrounds; None: what is above `level`.
        level: above it a value is marked.
        most: value of the darkest colour; None: the largest of the panel.
        logarithmic: colours by the logarithm; values are above 0, those below 10 have a digit
            behind the point.
    """

    title: str
    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[str]
    value: Floats
    marked: Bools | None = None
    level: float = inf
    most: float | None = None
    logarithmic: bool = False

    def draw(self, axes: style.Axes, most: int, shown: set[str]) -> None:
        """Draw the cells with their numbers and the line around marked ones."""
        del most, shown  # it has neither kinds nor a legend
        value = self.value
        top = max(float(np.nanmax(value)), 1e-12) if self.most is None else self.most
        share = np.nan_to_num(value) / top
        if self.logarithmic:
            low, high = np.log(np.nanmin(value)), np.log(top)
            share = np.nan_to_num(0.15 + 0.85 * (np.log(value) - low) / max(high - low, 1e-12))
        share = np.clip(share, 0, 1)
        colours = style.amount_map()(0.75 * share)[..., :3]
        cells = 1 - (1 - colours) * (0.75 * np.minimum(1, share / 0.15))[..., None]
        axes.imshow(cells, aspect="auto", origin="lower", interpolation="nearest")
        for (row, column), number in np.ndenumerate(value):
            if not np.isnan(number):
                digits = 1 if self.logarithmic and abs(number) < 10 else 0
                ink = style.INK if number > 0 else style.QUIET
                text = f"{number:.{digits}f}" if digits else str(round(number))
                axes.text(column, row, text, ha="center", va="center", size=8.2, color=ink)
        marked = value > self.level if self.marked is None else self.marked
        surround(axes, np.pad(marked, 1), color=style.BOUND, linewidth=1.8, clip_on=False)
        axes.set_xticks(np.arange(len(self.columns)), list(self.columns))
        axes.set_yticks(np.arange(len(self.rows)), list(self.rows))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)


def picture_charts(
    panels: Sequence[Panel | Bars | Heat],
    *,
    title: str,
    subtitle: str = "",
    columns: int = 2,
    width: float = 5.2,
    height: float = 3.6,
) -> style.Figure:
    """Draw panels in rows of `columns`; a panel has a legend where it names what none before does.

    Args:
        panels: at least one.
        title: of the picture.
        subtitle: a quieter second line: model, sync, settings.
        columns: panels in a row.
        width: of a column [inch].
        height: of a row [inch].
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    figure = style.new_figure(max(width * columns, 7.0), height * rows + 0.8, title, subtitle)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    counts = [
        *[len(panel.series) for panel in panels if isinstance(panel, Bars)],
        *[1 + max(colours_of(p.lines), default=0) for p in panels if isinstance(p, Panel)],
    ]
    shown: set[str] = set()
    for panel, axes in zip(panels, grid, strict=False):
        panel.draw(axes, max(counts, default=1), shown)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    return figure


def colours_of(lines: Sequence[Line]) -> list[int]:
    """Return the index of each line's colour: its own, else its place among those without."""
    places = np.cumsum([line.kind not in LOOKS for line in lines]) - 1
    return [
        0 if line.kind in LOOKS else place if line.colour is None else line.colour
        for line, place in zip(lines, places.tolist(), strict=True)
    ]


def _draw_line(axes: style.Axes, line: Line, colour: int, most: int) -> None:
    shade = style.colour_map()(0.12 + 0.8 * colour / max(most - 1, 1))
    label = line.name or None
    if line.kind == "steps":
        edges = np.append(np.asarray(line.x) - 0.5, line.x[-1] + 0.5)
        axes.stairs(line.y, edges, fill=True, color=style.ACCENT, linewidth=0, label=label)
        return
    look = LOOKS.get(line.kind)
    if look is None and line.kind in ("curve", "dashed"):
        dash: Any = "-" if line.kind == "curve" else (0, (4, 2))
        look = {"color": shade, "linewidth": 1.5, "linestyle": dash}
    elif look is None:
        dash = DASHES[colour // len(MARKS) % len(DASHES)]
        look = {
            "color": shade,
            "linewidth": 1.6,
            "marker": MARKS[colour % len(MARKS)],
            "markersize": 4.2,
            "linestyle": "none" if line.kind == "points" else dash,
        }
    axes.plot(line.x, line.y, label=label, **look)


def surround(axes: style.Axes, padded: Array, **look: Any) -> None:
    """Draw lines between cells of different kinds; `padded` has a cell more on every side."""
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        axes.plot([column - 0.5] * 2, [row - 0.5, row + 0.5], **look)
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        axes.plot([column - 0.5, column + 0.5], [row - 0.5] * 2, **look)
