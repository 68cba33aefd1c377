"""Picture of bars: one panel or several, each a few series side by side over named groups."""

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
    panels: Sequence[Bars], *, title: str, subtitle: str = "", columns: int = 2, top: float | None = None
) -> Figure:
    """Panels in rows of `columns`; one legend below, colours by the place of a series.

    Args:
        panels: at least one; series of the same place have the same colour, the panel with most of them the legend.
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
            _draw(axes, panels[k], most, top)
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


def _draw(axes: Axes, panel: Bars, most: int, top: float | None) -> None:
    at = np.arange(len(panel.groups))
    wide = WIDTH / len(panel.series)
    colours = style.colour_map()(np.linspace(0.12, 0.92, most))
    for k, (name, heights) in enumerate(panel.series.items()):
        axes.bar(at + (k + 0.5) * wide - WIDTH / 2, heights, wide * 0.94, color=colours[k], label=name)
    axes.set_xticks(at, list(panel.groups))
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_ylim(0, top)
    axes.grid(axis="y")
