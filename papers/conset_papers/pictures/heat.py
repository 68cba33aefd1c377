"""Picture of values over two quantities.

Panels of coloured cells with their numbers, a border where a level is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
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
        marked: shape=(rows, columns): what a line surrounds; None: what is above the picture's
            level.
    """

    title: str
    x: str
    y: str
    columns: Sequence[str]
    rows: Sequence[str]
    value: NDArray[np.float64]
    marked: NDArray[np.bool_] | None = None


def picture_heat(
    panels: Sequence[Heat],
    *,
    title: str,
    subtitle: str = "",
    level: float = inf,
    columns: int = 2,
    height: float = 3.6,
    width: float = 5.6,
    logarithmic: bool = False,
    own_scales: bool = False,
) -> Figure:
    """Panels in rows of `columns`; cells up to 0 are pale, a line surrounds those above `level`.

    Args:
        panels: at least one.
        title: of the picture.
        subtitle: a quieter second line: what is shown, unit, level.
        level: what the line surrounds in panels that mark nothing themselves.
        columns: panels in a row.
        height: of a row [inch].
        width: of a column [inch].
        logarithmic: colours by the logarithm, from the least value of a panel to its largest;
            values are above 0, those below 10 have a digit behind the point.
        own_scales: each panel has its own scale of colours; else all have one, where it is not
            logarithmic.
    """
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    figure = style.new_figure(max(width * columns, 7.0), height * rows + 0.8)
    style.headline(figure, title, subtitle)
    grid = figure.subplots(rows, columns, squeeze=False)
    mosts = [max(float(np.nanmax(panel.value)), 1e-12) for panel in panels]
    for k, panel in enumerate(panels):
        most = mosts[k] if own_scales else max(mosts)
        share = _logarithmic(panel.value) if logarithmic else np.nan_to_num(panel.value) / most
        _draw(
            grid[k // columns][k % columns], panel, np.clip(share, 0, 1), level, digit=logarithmic
        )
    for k in range(len(panels), rows * columns):
        grid[k // columns][k % columns].set_axis_off()
    return figure


def _logarithmic(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape as `value`: 0.15 where it is least, 1 where it is largest, 0 where there is nothing."""
    low, high = np.log(np.nanmin(value)), np.log(np.nanmax(value))
    share: NDArray[np.float64] = np.nan_to_num(
        0.15 + 0.85 * (np.log(value) - low) / max(high - low, 1e-12)
    )
    return share


def _draw(
    axes: Axes, panel: Heat, share: NDArray[np.float64], level: float, *, digit: bool
) -> None:
    colours = style.amount_map()(0.75 * share)[..., :3]
    picture = 1 - (1 - colours) * (0.75 * np.minimum(1, share / 0.15))[..., None]
    axes.imshow(picture, aspect="auto", origin="lower", interpolation="nearest")
    for (row, column), value in np.ndenumerate(panel.value):
        if not np.isnan(value):
            colour = style.INK if value > 0 else style.QUIET
            axes.text(
                column,
                row,
                _format(value, digit=digit),
                ha="center",
                va="center",
                size=8.2,
                color=colour,
            )
    _surround(axes, panel.value > level if panel.marked is None else panel.marked)
    axes.set_xticks(np.arange(len(panel.columns)), list(panel.columns))
    axes.set_yticks(np.arange(len(panel.rows)), list(panel.rows))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)


def _format(value: float, *, digit: bool) -> str:
    """Whole numbers; below 10 with one digit behind the point where asked."""
    return f"{value:.1f}" if digit and abs(value) < 10 else str(round(value))


def _surround(axes: Axes, inside: NDArray[np.bool_]) -> None:
    """A line between cells inside and outside, and along the edge of the panel."""
    padded = np.pad(inside, 1)
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        axes.plot(
            [column - 0.5] * 2,
            [row - 0.5, row + 0.5],
            color=style.BOUND,
            linewidth=1.8,
            clip_on=False,
        )
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        axes.plot(
            [column - 0.5, column + 0.5],
            [row - 0.5] * 2,
            color=style.BOUND,
            linewidth=1.8,
            clip_on=False,
        )
