"""Picture of a pattern: the rank × rank matrix of bytes, with histograms of degrees and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.pattern.pattern import Pattern
from conset.report import style
from conset.report.facts import degrees
from conset.report.matrix import block_of, rank_grid
from conset.units import count_of, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

CELLS = 256
"""Most cells along a side of the matrix: smaller ones are finer than the pixels of a picture, and drop messages."""


def picture_pattern(pattern: Pattern) -> Figure:
    """The matrix at the left; at the right how many messages ranks send and receive, and how large messages are."""
    figure = style.new_figure(10, 5.6)
    style.headline(figure, pattern.name, _subtitle(pattern))
    panels: Any = figure.subplot_mosaic([["matrix", "degree"], ["matrix", "size"]], width_ratios=(1.5, 1))
    _draw_bytes(figure, panels["matrix"], pattern)
    _draw_degrees(panels["degree"], pattern)
    _draw_sizes(panels["size"], pattern)
    return figure


def _subtitle(pattern: Pattern) -> str:
    local = f", {format_size(pattern.local_bytes)} local" if pattern.local_bytes else ""
    messages = count_of(pattern.messages, "message")
    return f"{count_of(pattern.ranks, 'rank')}, {messages}, {format_size(pattern.bytes)}{local}"


def _draw_bytes(figure: Figure, axes: Axes, pattern: Pattern) -> None:
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, CELLS)
    axes.set_title("bytes from rank to rank")
    image = draw_matrix(axes, grid, pattern.ranks, logarithmic=True)
    values = np.unique(grid[np.isfinite(grid)])
    if values.size > 1:
        bytes_bar(figure, axes, image)
    elif values.size == 1:
        axes.set_title(
            f"every cell {format_size(float(values[0]))}", loc="right", weight="normal", color=style.QUIET, size=9.5
        )


def draw_matrix(axes: Axes, grid: NDArray[np.float64], ranks: int, *, logarithmic: bool = False) -> AxesImage:
    """A rank × rank grid in the colour map, rows send, columns receive; empty cells stay white."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    seen = grid[np.isfinite(grid)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (1.0, 1.0)
    norm: Any = LogNorm(low, high) if logarithmic else Normalize(low, high)
    if low == high:
        # one value: the colour of the bars, not an end of the map
        norm = Normalize(low - 1, low + 2)
    extent = (-0.5, ranks - 0.5, ranks - 0.5, -0.5)
    image = axes.imshow(grid, cmap=style.colour_map(), norm=norm, extent=extent, interpolation="nearest")
    block = block_of(ranks, grid.shape[0])
    unit = f" (a cell is {block} × {block} ranks)" if block > 1 else ""
    axes.set_xlabel(f"target rank{unit}")
    axes.set_ylabel("source rank")
    axes.spines[:].set_visible(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 4, 5, 8, 10]))
    if ranks <= 32:
        ticks = np.arange(ranks + 1) - 0.5
        axes.set_xticks(ticks, minor=True)
        axes.set_yticks(ticks, minor=True)
        axes.grid(which="minor", color=style.FAINT, linewidth=0.5)
        axes.tick_params(which="minor", length=0)
    return image


def bytes_bar(figure: Figure, axes: Axes, image: AxesImage) -> None:
    """A colour bar whose ticks are sizes."""
    bar = figure.colorbar(image, ax=axes, shrink=0.86, pad=0.02, aspect=28)
    bar.outline.set_visible(False)
    size_ticks(bar.ax.yaxis, *image.get_clim())


def size_ticks(axis: Any, low: float, high: float, most: int = 6) -> None:
    """At most about `most` ticks at powers of two, written as sizes."""
    from matplotlib.ticker import NullLocator

    first, last = np.log2(max(low, 1)), np.log2(max(high, 1))
    inside = np.arange(np.ceil(first), np.floor(last) + 1)
    every = max(1, -(-inside.size // most))
    ticks = list(2.0 ** inside[::every])
    if len(ticks) < 2:
        ticks = [low, high]
    axis.set_ticks(ticks, [format_size(tick) for tick in ticks])
    axis.set_minor_locator(NullLocator())


def _draw_degrees(axes: Axes, pattern: Pattern) -> None:
    axes.set_title("messages per rank")
    out, into = degrees(pattern)
    top = int(max(out.max(), into.max()))
    width = max(1, -(-(top + 1) // 40))
    edges = np.arange(-0.5, top + width + 0.5, width).tolist()
    # sends in full, receives as an outline, so that both are seen where they agree
    axes.hist(out, edges, color=style.ACCENT, alpha=0.85, label="sent", rwidth=0.86 if width == 1 and top < 40 else 1.0)
    axes.hist(into, edges, histtype="step", color=style.BOUND, linewidth=1.4, label="received")
    axes.set_xlabel("messages")
    axes.set_ylabel("ranks")
    whole_ticks(axes)
    axes.margins(x=0.03, y=0.18)
    axes.legend(loc="best", ncols=2)


def whole_ticks(axes: Axes) -> None:
    """Whole numbers only, on both axes."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _draw_sizes(axes: Axes, pattern: Pattern) -> None:
    axes.set_title("size of a message")
    axes.set_ylabel("messages")
    axes.set_xlabel("bytes")
    if not pattern.messages:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    size = np.asarray(pattern.size[:1] if pattern.equal_sizes else pattern.size, np.float64)
    weight = np.full(size.size, pattern.messages / size.size)
    low, high = size.min(), size.max()
    if low == high:
        axes.bar([0], [pattern.messages], width=0.3, color=style.ACCENT)
        axes.set_xlim(-1, 1)
        axes.set_xticks([0], [format_size(float(low))])
    else:
        edges = np.geomspace(low, high * (1 + 1e-9), 33).tolist()
        axes.hist(size, edges, weights=weight, color=style.ACCENT)
        axes.set_xscale("log")
        size_ticks(axes.xaxis, low, high, most=5)
    axes.margins(y=0.12)
    axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
