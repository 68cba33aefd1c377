"""General charts: families of lines, groups of bars and maps of values, with published points.

`picture_charts([Panel(...), Bars(...), Heat(...)], title=...)` draws panels in rows. Published
points beside ours are a `Line` of kind `rings` (or `points`); a bound is one of kind `bound`,
across the whole panel where it has no `x`. Pictures of one kind of result are in the module of
that result; one that needs axes of different heights draws each `Panel` on axes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any, TypeAlias

import numpy as np

from conset.base import Array, Bools, Floats
from conset.report import style

MARKS = "osD^vP*X"
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
BARS = 40
"""Most bars of a line; more are steps."""
LOOKS: dict[str, dict[str, Any]] = {
    "bound": {"color": style.BOUND, "linewidth": 1.5},
    "plain": {"color": style.INK, "linewidth": 1.2},
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


LEGENDS: dict[str, dict[str, Any]] = {
    "outside": {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)},
    "above": {
        "loc": "lower right",
        "bbox_to_anchor": (1.0, 0.98),
        "ncols": 3,
        "handlelength": 1.1,
        "handleheight": 0.8,
        "borderaxespad": 0,
        "borderpad": 0.2,
        "columnspacing": 1.4,
    },
    "framed": {
        "loc": "lower right",
        "ncols": 2,
        "frameon": True,
        "framealpha": 0.85,
        "edgecolor": "none",
        "facecolor": style.PAPER,
    },
}
"""Legends outside the axes, or over what is drawn: keywords of matplotlib's `legend`."""
Ticks: TypeAlias = tuple[Sequence[float], Sequence[str]] | Callable[[Any, float, float], None]
"""(places, labels), or a function that sets the ticks of an axis between two ends."""
AUTOMATIC: Ticks = ((), ())


@dataclass(frozen=True)
class Line:
    """One curve of a `Panel`.

    Attributes:
        name: in the legend; empty: not in it.
        x: places across, or edges of steps; empty: a level through the whole panel at the one
            value of `y`.
        y: values; as many as `x`; empty: an upright line at the one place of `x`.
        kind: `line` with marks, `points` without a line, `curve` and `dashed` without marks,
            `steps` filled, one unit wide, `bars` likewise where there are too many; `rings` around
            published points, `bound` in the colour of bounds, `plain` in that of text, `quiet`
            dotted.
        colour: index of its colour, for lines of several panels that belong together; None: its
            place among the lines that have no colour of their own.
        look: keywords of matplotlib's `plot` that replace those of the kind.
        span: (lower ends, upper ends) of an interval at each place; None: none.
        filled: whether the span is an area rather than a stroke at each place.
    """

    name: str
    x: Any
    y: Any
    kind: str = "line"
    colour: int | None = None
    look: Mapping[str, Any] = field(default_factory=dict)
    span: tuple[Any, Any] | None = None
    filled: bool = False


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
        ticks: of the axis across; empty: chosen by matplotlib.
        y_limits: ends of the axis up; None: chosen by matplotlib, from 0 on a linear axis.
        legend: its place: one of matplotlib's, or `outside`, to the right of the axes, `above`
            them at the right, `framed` at the lower right, over lines.
        y_ticks: of the axis up; empty: chosen by matplotlib, plain numbers on a logarithmic axis.
        x_limits: ends of the axis across; None: chosen by matplotlib.
        remark: a bound or limit, above it at the right, where no bar can hide it.
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: float | None = None
    log_y: bool = False
    ticks: Ticks = AUTOMATIC
    y_limits: tuple[float | None, float | None] | None = None
    legend: str = "best"
    y_ticks: Ticks = AUTOMATIC
    x_limits: tuple[float | None, float | None] | None = None
    remark: str = ""

    def draw(self, axes: style.Axes, most: int = 0, shown: set[str] | None = None) -> None:
        """Draw the lines, in `most` colours; the legend where it has names that `shown` lacks."""
        shown = set() if shown is None else shown
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
        if self.log_x is not None:
            style.log_axis(axes, "x", self.x, self.log_x)
        if self.log_y:
            style.log_axis(axes, "y", self.y)
        for line, colour in zip(self.lines, colours_of(self.lines), strict=True):
            _draw_line(axes, line, colour, max(most, self.colours))
        if self.x_limits is not None:
            axes.set_xlim(*self.x_limits)
        if self.y_limits is not None:
            axes.set_ylim(*self.y_limits)
        elif not self.log_y:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        _set_ticks(axes.xaxis, self.ticks)
        plain = style.plain_log_ticks if self.log_y else AUTOMATIC
        _set_ticks(axes.yaxis, plain if self.y_ticks is AUTOMATIC else self.y_ticks)
        axes.set_title(self.remark, loc="right", **style.REMARK)
        axes.grid(axis="both")
        names = {line.name for line in self.lines if line.name}
        if names - shown:
            where = LEGENDS.get(self.legend, {"loc": self.legend})
            axes.legend(**{"handlelength": 2.6, **where})
        shown |= names

    @property
    def colours(self) -> int:
        """Number of colours of the map that its lines have."""
        return 1 + max(colours_of(self.lines), default=0)


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
    title: str = "",
    subtitle: str = "",
    columns: int = 2,
    width: float = 5.2,
    height: float = 3.6,
) -> style.Figure:
    """Draw panels in rows of `columns`; a panel has a legend where it names what none before does.

    Args:
        panels: at least one.
        title: of the picture; may be empty.
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
        *[panel.colours for panel in panels if isinstance(panel, Panel)],
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
    if line.kind == "bars" and len(line.x) <= BARS:
        width = 0.82 if len(line.x) > 3 else 0.4
        axes.bar(line.x, line.y, width, color=style.ACCENT, label=label)
        return
    if line.kind in ("bars", "steps"):
        edges, filled = np.asarray(line.x), {"fill": True, "color": style.ACCENT, "linewidth": 0}
        if edges.size == len(line.y):
            edges = np.append(edges - 0.5, edges[-1] + 0.5)
        axes.stairs(line.y, edges, **{"label": label, **filled, **line.look})
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
    look = {"label": label, **look, **line.look}
    if not len(line.x):
        axes.axhline(line.y[0], **look)
    elif not len(line.y):
        axes.axvline(line.x[0], **look)
    else:
        axes.plot(line.x, line.y, **look)
    if line.span is not None and line.filled:
        axes.fill_between(line.x, *line.span, color=look["color"], alpha=0.12, linewidth=0)
    elif line.span is not None:
        axes.vlines(line.x, *line.span, color=look["color"], linewidth=1)


def _set_ticks(axis: Any, ticks: Ticks) -> None:
    if callable(ticks):
        ticks(axis, *axis.get_view_interval())
    elif len(ticks[0]):
        axis.set_ticks(list(ticks[0]), list(ticks[1]))
        axis.minorticks_off()


def surround(axes: style.Axes, padded: Array, **look: Any) -> None:
    """Draw lines between cells of different kinds; `padded` has a cell more on every side."""
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        axes.plot([column - 0.5] * 2, [row - 0.5, row + 0.5], **look)
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        axes.plot([column - 0.5, column + 0.5], [row - 0.5] * 2, **look)
