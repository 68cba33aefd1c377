"""Picture of a complete exchange as a transposition: blocks by who holds them before, who sends to whom, and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conset.report import style
from conset.units import count_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def picture_exchange(
    before: NDArray[np.int64], arrows: NDArray[np.int64], after: NDArray[np.int64], *, title: str, subtitle: str = ""
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


def _shades(count: int) -> NDArray[np.float64]:
    colours = style.colour_map()(np.linspace(0.3, 1.0, max(count, 2)))[:, :3]
    return np.asarray(1 - (1 - colours) * 0.66, np.float64)


def _draw_matrix(axes: Axes, holder: NDArray[np.int64], title: str) -> None:
    axes.imshow(_shades(int(holder.max()) + 1)[holder], interpolation="nearest")
    for (row, column), who in np.ndenumerate(holder):
        axes.text(column, row - 0.08, f"{row},{column}", ha="center", va="bottom", size=10.5)
        axes.text(column, row + 0.1, f"on {who}", ha="center", va="top", size=8.5, color=style.QUIET)
    axes.set_xticks(np.arange(-0.5, holder.shape[1]), [])
    axes.set_yticks(np.arange(-0.5, holder.shape[0]), [])
    axes.grid(color=style.PAPER, linewidth=2)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title)


def _draw_graph(axes: Axes, arrows: NDArray[np.int64], count: int) -> None:
    angle = np.pi / 4 + 2 * np.pi * np.arange(count) / count
    place = np.stack([-np.cos(angle), np.sin(angle)], axis=1)
    for sender, receiver in arrows:
        line = {"arrowstyle": "-|>", "color": style.ACCENT, "lw": 1.3, "connectionstyle": "arc3,rad=0.13",
                "shrinkA": 15, "shrinkB": 15}  # fmt: skip
        axes.annotate("", place[receiver], place[sender], arrowprops=line)
    axes.scatter(place[:, 0], place[:, 1], s=620, c=_shades(count), edgecolors=style.QUIET, linewidths=0.8, zorder=3)
    for k, (x, y) in enumerate(place):
        axes.text(x, y, str(k), ha="center", va="center", size=10.5, zorder=4)
    style.plain(axes)
    axes.set_xlim(-1.25, 1.25)
    axes.set_ylim(-1.25, 1.25)
    axes.set_title(f"(b) {count_of(len(arrows), 'message')}")
