"""Pictures of permutations.

A complete exchange as a transposition of blocks, and grids of nodes by their targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of
from conset.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IDLE = -1
UNKNOWN = -2
LABELLED = 8
"""Longest side whose cells name their targets."""


def picture_exchange(
    before: NDArray[np.int64],
    arrows: NDArray[np.int64],
    after: NDArray[np.int64],
    *,
    title: str,
    subtitle: str = "",
) -> Figure:
    """Three panels.

    Args:
        before: shape=(blocks, blocks): the processor that holds each block of the matrix.
        arrows: shape=(messages, 2): sender and receiver.
        after: shape=(blocks, blocks): as `before`, when everything has been delivered.
        title: of the picture.
        subtitle: a quieter second line.
    """
    figure = style.new_figure(10, 4.2)
    style.headline(figure, title, subtitle)
    left, middle, right = figure.subplots(1, 3)
    _draw_matrix(left, before, "(a) column order")
    _draw_graph(middle, arrows, int(before.max()) + 1)
    _draw_matrix(right, after, "(c) row order")
    return figure


def _shades(count: int, low: float, strength: float) -> NDArray[np.float64]:
    """shape=(count, 3): pale colours, from place `low` of the colour map on.

    `strength` 1 is the map's own.
    """
    colours = style.colour_map()(np.linspace(low, 1.0, max(count, 2)))[:, :3]
    return np.asarray(1 - (1 - colours) * strength, np.float64)


def _rule_cells(axes: Axes, shape: tuple[int, ...], colour: str, linewidth: float) -> None:
    """Lines between cells, and no ticks."""
    axes.set_xticks(np.arange(-0.5, shape[1]), [])
    axes.set_yticks(np.arange(-0.5, shape[0]), [])
    axes.grid(color=colour, linewidth=linewidth)
    axes.tick_params(length=0)


def _draw_matrix(axes: Axes, holder: NDArray[np.int64], title: str) -> None:
    axes.imshow(_shades(int(holder.max()) + 1, 0.3, 0.66)[holder], interpolation="nearest")
    for (row, column), who in np.ndenumerate(holder):
        axes.text(column, row - 0.08, f"{row},{column}", ha="center", va="bottom", size=10.5)
        axes.text(
            column, row + 0.1, f"on {who}", ha="center", va="top", size=8.5, color=style.QUIET
        )
    _rule_cells(axes, holder.shape, style.PAPER, 2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title)


def _draw_graph(axes: Axes, arrows: NDArray[np.int64], count: int) -> None:
    angle = np.pi / 4 + 2 * np.pi * np.arange(count) / count
    place = np.stack([-np.cos(angle), np.sin(angle)], axis=1)
    for sender, receiver in arrows:
        line = {
            "arrowstyle": "-|>",
            "color": style.ACCENT,
            "lw": 1.3,
            "connectionstyle": "arc3,rad=0.13",
            "shrinkA": 15,
            "shrinkB": 15,
        }
        axes.annotate("", place[receiver], place[sender], arrowprops=line)
    axes.scatter(
        place[:, 0],
        place[:, 1],
        s=620,
        c=_shades(count, 0.3, 0.66),
        edgecolors=style.QUIET,
        linewidths=0.8,
        zorder=3,
    )
    for k, (x, y) in enumerate(place):
        axes.text(x, y, str(k), ha="center", va="center", size=10.5, zorder=4)
    style.plain(axes)
    axes.set_xlim(-1.25, 1.25)
    axes.set_ylim(-1.25, 1.25)
    axes.set_title(f"(b) {count_of(len(arrows), 'message')}")


def picture_routes(
    side: int,
    routes: Sequence[Sequence[int]],
    shared: Sequence[tuple[int, int]],
    *,
    title: str,
    subtitle: str = "",
) -> Figure:
    """A square mesh with routes over it, each a little beside the middle of its links.

    Args:
        side: nodes along a side, row-major from the top left.
        routes: the nodes of each route, ends included.
        shared: directed edges of more than one route.
        title: of the picture.
        subtitle: a quieter second line.
    """
    figure = style.new_figure(7.6, 5.6)
    style.headline(figure, title, subtitle)
    axes = figure.subplots()
    row, column = np.divmod(np.arange(side * side), side)
    for k in range(side):
        axes.plot([0, side - 1], [k, k], color=style.FAINT, linewidth=3, zorder=0)
        axes.plot([k, k], [0, side - 1], color=style.FAINT, linewidth=3, zorder=0)
    for one, other in shared:
        axes.plot(
            column[[one, other]],
            row[[one, other]],
            color=style.BOUND,
            linewidth=9,
            alpha=0.55,
            zorder=1,
        )
    for k, route in enumerate(routes):
        beside = 0.07 * (k - (len(routes) - 1) / 2)
        nodes = list(route)
        shade = style.colour_map()(0.15 + 0.6 * k / max(len(routes) - 1, 1))
        x, y = column[nodes] + beside, row[nodes] + beside
        axes.plot(
            x,
            y,
            color=shade,
            linewidth=2,
            zorder=3,
            label=f"{_place(nodes[0], side)} → {_place(nodes[-1], side)}",
        )
        axes.annotate(
            "",
            (x[-1], y[-1]),
            (x[-2], y[-2]),
            arrowprops={"arrowstyle": "-|>", "color": shade, "lw": 2},
        )
    axes.scatter(
        column, row, s=520, c=style.PAPER, edgecolors=style.QUIET, linewidths=0.8, zorder=2
    )
    for node in range(side * side):
        axes.text(
            column[node] - 0.1,
            row[node] - 0.2,
            _place(node, side),
            ha="right",
            va="center",
            size=8.5,
        )
    style.plain(axes)
    axes.set_xlim(-0.6, side - 0.4)
    axes.set_ylim(side - 0.5, -0.6)
    axes.set_aspect("equal")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _place(node: int, side: int) -> str:
    return f"{node // side},{node % side}"


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
    rows: Sequence[Sequence[Grid]],
    *,
    title: str,
    subtitle: str = "",
    width: float = 10.0,
    height: float = 3.5,
) -> Figure:
    """Rows of grids as wide as the picture.

    Who sends is coloured (a dot: to itself), who is idle white.

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
            _draw_grid(figure.add_subplot(places[k, j * span : (j + 1) * span]), grid, shades)
    return figure


def _draw_grid(axes: Axes, grid: Grid, shades: int) -> None:
    height, width = grid.target.shape
    picture = np.ones((height, width, 3))
    sends = grid.target >= 0
    picture[sends] = _shades(shades, 0.35, 0.62)[grid.shade[sends]]
    axes.imshow(picture, interpolation="nearest")
    _rule_cells(axes, grid.target.shape, style.FAINT if width > LABELLED else style.QUIET, 0.5)
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
