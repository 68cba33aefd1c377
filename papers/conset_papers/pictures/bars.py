"""Pictures of bars, series side by side over named groups.

And of errors, every cell a dot off its published number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_COLUMNS = 4
"""Names of a legend in one line."""
WIDTH = 0.82
"""Of all bars of a group, the distance of groups being 1."""
MAX_LABELS = 48
"""More cells than this lose their labels."""


@dataclass(frozen=True)
class Bars:
    """One pair of axes.

    Attributes:
        title: above it.
        x: label of the axis across.
        y: label of the axis up, with its unit.
        groups: names below it.
        series: name → height of its bar in each group.
    """

    title: str
    x: str
    y: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float]]


def picture_bars(
    panels: Sequence[Bars],
    *,
    title: str,
    subtitle: str = "",
    columns: int = 2,
    top: float | None = None,
) -> Figure:
    """Panels in rows of `columns`; one legend below, colours by the place of a series.

    Args:
        panels: at least one; series of the same place have the same colour, the panel with most of
            them the legend.
        title: of the picture.
        subtitle: a quieter second line.
        columns: panels in a row.
        top: where the axes up end; None: as it comes.
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    figure = style.new_figure(max(5.2 * columns, 7.0), 2.9 * rows + 1.1)
    style.headline(figure, title, subtitle)
    grid = figure.subplots(rows, columns, squeeze=False)
    most = max(len(panel.series) for panel in panels)
    for k, axes in enumerate(grid.ravel()):
        if k < len(panels):
            _draw_bars(axes, panels[k], most, top)
        else:
            axes.set_axis_off()
    legends = [axes.get_legend_handles_labels() for axes in grid.ravel()]
    handles, labels = max(legends, key=lambda legend: len(legend[1]))
    if len(labels) > 1:
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=len(labels) if len(labels) <= MAX_COLUMNS else ceil(len(labels) / 2),
        )
    return figure


def _draw_bars(axes: Axes, panel: Bars, most: int, top: float | None) -> None:
    at = np.arange(len(panel.groups))
    wide = WIDTH / len(panel.series)
    colours = style.colour_map()(np.linspace(0.12, 0.92, most))
    for k, (name, heights) in enumerate(panel.series.items()):
        axes.bar(
            at + (k + 0.5) * wide - WIDTH / 2, heights, wide * 0.94, color=colours[k], label=name
        )
    axes.set_xticks(at, list(panel.groups))
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_ylim(0, top)
    axes.grid(axis="y")


def picture_errors(
    cells: Sequence[tuple[str, float, bool]],
    claims: Sequence[tuple[str, bool]] = (),
    *,
    tolerance: float | None = None,
    title: str,
    subtitle: str = "",
) -> Figure:
    """Errors from left to right about 0; the tolerance as a band.

    Assertions as lines of text below.

    Args:
        cells: (label, relative error, whether it counts).
        claims: (words, whether it holds).
        tolerance: half the height of the band; None: none.
        title: of the picture.
        subtitle: a quieter second line.
    """
    lines = min(len(cells), MAX_LABELS)
    figure = style.new_figure(9, 1.3 + 0.19 * lines + 0.34 * len(claims))
    style.headline(figure, title, subtitle)
    if cells and claims:
        upper, lower = figure.subplots(
            2, 1, height_ratios=(max(0.19 * lines, 0.6), 0.34 * len(claims))
        )
        _draw_cells(upper, cells, tolerance)
        _draw_claims(lower, claims)
    elif cells:
        _draw_cells(figure.subplots(), cells, tolerance)
    else:
        _draw_claims(figure.subplots(), claims)
    return figure


def _draw_cells(
    axes: Axes, cells: Sequence[tuple[str, float, bool]], tolerance: float | None
) -> None:
    place = np.arange(len(cells))
    error = 100 * np.array([error for _, error, _ in cells])
    counts = np.array([counts for *_, counts in cells])
    if tolerance is not None:
        axes.axvspan(-100 * tolerance, 100 * tolerance, color=style.FAINT, alpha=0.6, linewidth=0)
    axes.axvline(0, color=style.QUIET, linewidth=0.9)
    axes.hlines(place, 0, error, color=style.ACCENT, linewidth=1.0)
    axes.plot(error[counts], place[counts], "o", color=style.ACCENT, markersize=4.5)
    axes.plot(
        error[~counts],
        place[~counts],
        "o",
        color=style.QUIET,
        markerfacecolor=style.PAPER,
        markersize=4.5,
        label="a departure of the text",
    )
    labels = [label for label, *_ in cells] if len(cells) <= MAX_LABELS else []
    axes.set_yticks(place if labels else [], labels)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    reach = max(float(np.abs(error).max()), 100 * (tolerance or 0), 0.1) * 1.12
    axes.set_xlim(-reach, reach)
    axes.set_xlabel("error against the published number [%]")
    axes.grid(axis="x")
    if not counts.all():
        axes.legend(loc="lower right")


def _draw_claims(axes: Axes, claims: Sequence[tuple[str, bool]]) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(claims) - 0.3, -0.7)
    for k, (claim, holds) in enumerate(claims):
        shown = claim if len(claim) <= 110 else claim[:109] + "…"
        mark, colour = ("holds", style.ACCENT) if holds else ("does not hold", style.BOUND)
        axes.text(0.0, k, mark, color=colour, weight="bold", va="center", size=9)
        axes.text(0.14, k, shown, color=style.INK, va="center", size=8.6)
