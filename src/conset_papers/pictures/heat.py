"""Picture of values over two quantities: panels of coloured cells with their numbers, a border where a level is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Heat:
    """One panel.

    Attributes:
        title: above it.
        x: label of the axis across.
        y: label of the axis up.
        columns: labels from the left.
        rows: labels from below.
        value: shape=(rows, columns); NaN: nothing.
    """

    title: str
    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[str]
    value: NDArray[np.float64]


def picture_heat(
    panels: Sequence[Heat], *, title: str, subtitle: str = "", level: float, columns: int = 2, height: float = 3.6
) -> Figure:
    """Panels in rows of `columns`; cells up to 0 are pale, a line surrounds those above `level`.

    Args:
        panels: at least one; all on one scale of colours.
        title: of the picture.
        subtitle: a quieter second line: what is shown, unit, level.
        level: what the line surrounds.
        columns: panels in a row.
        height: of a row [inch].
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    figure = style.new_figure(max(5.6 * columns, 7.0), height * rows + 0.8)
    style.headline(figure, title, subtitle)
    grid = figure.subplots(rows, columns, squeeze=False)
    most = max(float(np.nanmax(panel.value)) for panel in panels)
    for k, panel in enumerate(panels):
        _draw(grid[k // columns][k % columns], panel, most, level)
    for k in range(len(panels), rows * columns):
        grid[k // columns][k % columns].set_axis_off()
    return figure


def _draw(axes: Axes, panel: Heat, most: float, level: float) -> None:
    share = np.clip(np.nan_to_num(panel.value) / max(most, 1e-12), 0, 1)
    colours = style.colour_map()(0.25 + 0.75 * share)[..., :3]
    picture = 1 - (1 - colours) * (0.75 * np.minimum(1, share / 0.15))[..., None]
    axes.imshow(picture, aspect="auto", origin="lower", interpolation="nearest")
    for (row, column), value in np.ndenumerate(panel.value):
        if not np.isnan(value):
            colour = style.INK if value > 0 else style.QUIET
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", size=8.2, color=colour)
    _surround(axes, panel.value > level)
    axes.set_xticks(np.arange(len(panel.columns)), list(panel.columns))
    axes.set_yticks(np.arange(len(panel.rows)), list(panel.rows))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)


def _surround(axes: Axes, inside: NDArray[np.bool_]) -> None:
    """A line between cells inside and outside, and along the edge of the panel."""
    padded = np.pad(inside, 1)
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        axes.plot([column - 0.5] * 2, [row - 0.5, row + 0.5], color=style.BOUND, linewidth=1.8, clip_on=False)
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        axes.plot([column - 0.5, column + 0.5], [row - 0.5] * 2, color=style.BOUND, linewidth=1.8, clip_on=False)
