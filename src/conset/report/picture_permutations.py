"""Picture of permutations of a mesh: grids of nodes, the target of each that sends, in rows of grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IDLE = -1
UNKNOWN = -2
LABELLED = 8
"""Longest side whose cells name their targets."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A permutation of the nodes of a mesh.

    Attributes:
        title: above it.
        target: shape=(rows, columns): the node each node sends to, row-major; `IDLE` or `UNKNOWN`.
        shade: shape=(rows, columns): index of the colour of each node that sends.
    """

    title: str
    target: NDArray[np.int64]
    shade: NDArray[np.int64]


def picture_permutations(
    rows: Sequence[Sequence[Grid]], *, title: str, subtitle: str = "", width: float = 10.0, height: float = 3.5
) -> Figure:
    """Rows of grids as wide as the picture; who sends is coloured (a dot: to itself), who is idle white.

    Args:
        rows: at least one row with at least one grid.
        title: of the picture.
        subtitle: a quieter second line.
        width: of the picture [inch].
        height: of a row [inch], less where its grids are narrow.
    """
    heights = [min(height, width / len(row) + 0.35) for row in rows]
    figure = style.new_figure(width, sum(heights) + 0.8)
    style.headline(figure, title, subtitle)
    columns = lcm(*(len(row) for row in rows))
    places = figure.add_gridspec(len(rows), columns, height_ratios=heights)
    shades = 1 + max(int(grid.shade.max()) for row in rows for grid in row)
    for k, row in enumerate(rows):
        span = columns // len(row)
        for j, grid in enumerate(row):
            _draw(figure.add_subplot(places[k, j * span : (j + 1) * span]), grid, shades)
    return figure


def _draw(axes: Axes, grid: Grid, shades: int) -> None:
    height, width = grid.target.shape
    colours = style.colour_map()(np.linspace(0.35, 1.0, max(shades, 2)))[:, :3]
    pale = 1 - (1 - colours) * 0.62
    picture = np.ones((height, width, 3))
    sends = grid.target >= 0
    picture[sends] = pale[grid.shade[sends]]
    axes.imshow(picture, interpolation="nearest")
    axes.set_xticks(np.arange(-0.5, width), [])
    axes.set_yticks(np.arange(-0.5, height), [])
    axes.grid(color=style.FAINT if width > LABELLED else style.QUIET, linewidth=0.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(True)
    axes.set_title(grid.title, size=9.5)
    own = np.argwhere(grid.target == np.arange(grid.target.size).reshape(grid.target.shape))
    axes.plot(own[:, 1], own[:, 0], "o", color=style.QUIET, markersize=1.6)
    if max(height, width) > LABELLED:
        return
    for (row, column), target in np.ndenumerate(grid.target):
        if target != IDLE:
            caption = "?" if target == UNKNOWN else f"{target // width},{target % width}"
            colour = style.QUIET if target == UNKNOWN else style.INK
            axes.text(column, row, caption, ha="center", va="center", size=8, color=colour)
