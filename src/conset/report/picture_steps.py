"""Picture of steps: one panel or several, each a quantity over the steps of a schedule, filled, beside formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def picture_steps(panels: Sequence[Steps], *, title: str, subtitle: str = "", columns: int = 2) -> Figure:
    """Panels in rows of `columns`; those with the same label of the axis up have the same axis; one legend.

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
            _draw(axes, panels[k], max(_top(panel) for panel in panels if panel.y == panels[k].y))
        else:
            axes.set_axis_off()
    if any(panel.formula is not None for panel in panels):
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _top(panel: Steps) -> float:
    return max(*panel.counted, *(panel.formula or ()))


def _draw(axes: Axes, panel: Steps, top: float) -> None:
    from matplotlib.ticker import MaxNLocator

    edges = np.arange(len(panel.counted) + 1) + 0.5
    axes.stairs(panel.counted, edges, fill=True, color=style.ACCENT, linewidth=0, label=panel.name)
    if panel.formula is not None:
        axes.stairs(panel.formula, edges, baseline=None, color=style.BOUND, linewidth=1.1, label=panel.formula_name)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, top * 1.06)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_title(panel.title)
    axes.set_xlabel("step")
    axes.set_ylabel(panel.y)
    axes.grid(axis="y")
