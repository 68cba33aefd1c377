"""Pictures of grids of cells: permutations of the nodes of a mesh, blocks of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.base import Ints
from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IDLE = -1
UNKNOWN = -2
LABELLED = 8
"""Longest side of a mesh whose cells name their targets."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Coloured cells.

    Attributes:
        title: above it.
        shade: shape=(rows, columns): index of the colour of each cell; below 0: white.
        captions: shape=(rows, columns): texts inside the cells.
    """

    title: str
    shade: Ints
    captions: NDArray[np.str_]


def permutation(title: str, target: Ints, shade: Ints) -> Grid:
    """A permutation of the nodes of a mesh; who is idle is white, a dot sends to itself.

    Args:
        title: above it.
        target: shape=(rows, columns): the node each node sends to, row-major; `IDLE` or `UNKNOWN`.
        shade: shape=(rows, columns): index of the colour of each node that sends.
    """
    width = target.shape[1]

    def caption(node: int, to: int) -> str:
        if to == node:
            return "•"
        if to == IDLE or max(target.shape) > LABELLED:
            return ""
        return "?" if to == UNKNOWN else f"{to // width},{to % width}"

    captions = np.array([caption(*both) for both in enumerate(target.ravel().tolist())])
    return Grid(title, np.where(target >= 0, shade, -1), captions.reshape(target.shape))


def picture_grids(
    rows: Sequence[Sequence[Grid]],
    *,
    title: str,
    subtitle: str = "",
    width: float = 10.0,
    height: float = 3.5,
) -> Figure:
    """Draw rows of grids as wide as the picture.

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
    most = max(1, *(int(grid.shade.max()) for row in rows for grid in row))
    for k, row in enumerate(rows):
        span = columns // len(row)
        for j, grid in enumerate(row):
            _draw(figure.add_subplot(places[k, j * span : (j + 1) * span]), grid, most)
    return figure


def _draw(axes: Axes, grid: Grid, most: int) -> None:
    colours = style.colour_map()(0.35 + 0.65 * np.maximum(grid.shade, 0) / most)[..., :3]
    cells = np.where((grid.shade < 0)[..., None], 1.0, 1 - (1 - colours) * 0.62)
    axes.imshow(cells, interpolation="nearest")
    axes.set_xticks(np.arange(-0.5, grid.shade.shape[1]), [])
    axes.set_yticks(np.arange(-0.5, grid.shade.shape[0]), [])
    axes.grid(color=style.QUIET, linewidth=0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(True)
    axes.set_title(grid.title, size=9.5)
    for (row, column), caption in np.ndenumerate(grid.captions):
        axes.text(column, row, str(caption), ha="center", va="center", size=8, color=style.INK)
