"""A pattern in the terminal and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from conset.base.units import count_of, format_size
from conset.pattern.pattern import Pattern
from conset.report import style
from conset.report.facts import degrees, pattern_facts
from conset.report.markdown import block_of, rank_grid
from conset.report.terminal import bar, fact_lines, table_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


TEXT_CELLS = 128
"""Most blocks along a side of the matrix."""
_SHADES = "░▒▓█"


def pattern_text(pattern: Pattern, *, width: int = 100) -> str:
    """Matrix, facts and histograms; markup of rich; `width` in characters."""
    lines = [
        f"[bold]{escape(pattern.name)}[/]",
        "",
        *matrix_lines(pattern, width=width),
        "",
        *fact_lines(pattern_facts(pattern)),
    ]
    if pattern.messages:
        lines += ["", *_histograms(pattern)]
    return "\n".join(lines)


def matrix_lines(pattern: Pattern, *, width: int = 100) -> list[str]:
    """Rows send, columns receive; a darker cell is more bytes (logarithmic), a dot is none.

    Small matrices have two characters a cell; larger ones one character for two rows, so that both
    look square.
    """
    room = max(8, width - 8)
    cells = min(TEXT_CELLS, room)
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, cells)
    block = block_of(pattern.ranks, cells)
    wide = 2 * len(grid) <= min(room, 64)
    rows = grid if wide else _paired(grid)
    shade = _shades(rows)
    label = len(str(pattern.ranks - 1))
    lines = []
    for k, row in enumerate(shade):
        first = k * block * (1 if wide else 2)
        lines.append(f"  {first:>{label}} " + "".join(cell * (2 if wide else 1) for cell in row))
    return [*lines, f"  [dim]{_legend(rows, block, wide)}[/]"]


def _paired(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.vstack([grid, np.full((len(grid) % 2, grid.shape[1]), np.nan)])
    pairs = padded.reshape(-1, 2, grid.shape[1])
    none = np.isnan(pairs).all(axis=1)
    return np.where(none, np.nan, np.nansum(pairs, axis=1))


def _shades(grid: NDArray[np.float64]) -> list[list[str]]:
    seen = grid[np.isfinite(grid)]
    low, high = (np.log(seen.min()), np.log(seen.max())) if seen.size else (0.0, 0.0)
    scale = (len(_SHADES) - 1) / (high - low) if high > low else 0.0
    return [
        [
            "·" if np.isnan(v) else _SHADES[round((np.log(v) - low) * scale) if scale else -1]
            for v in row
        ]
        for row in grid
    ]


def _legend(grid: NDArray[np.float64], block: int, wide: bool) -> str:
    seen = grid[np.isfinite(grid)]
    if not seen.size:
        return "no messages"
    low, high = format_size(float(seen.min())), format_size(float(seen.max()))
    sizes = f"█ {low}" if low == high else f"░ {low} … █ {high}"
    rows = block * (1 if wide else 2)
    cell = f"; a character is {rows} × {block} ranks" if block > 1 or not wide else ""
    return f"rows send, columns receive: {sizes}{cell}"


def _histograms(pattern: Pattern) -> list[str]:
    out, into = degrees(pattern)
    top = int(max(out.max(), into.max()))
    step = -(-(top + 1) // 10)
    low = min(int(out.min()), int(into.min())) // step
    rows = []
    for start in range(low * step, top + 1, step):
        counts = [
            int(((degree >= start) & (degree < start + step)).sum()) for degree in (out, into)
        ]
        name = str(start) if step == 1 else f"{start}-{start + step - 1}"
        rows.append(
            (
                name,
                f"{counts[0]:,}",
                bar(counts[0], pattern.ranks, 16),
                f"{counts[1]:,}",
                bar(counts[1], pattern.ranks, 16),
            )
        )
    lines = table_lines(("messages", "ranks send", "", "ranks receive", ""), rows, left=(2, 4))
    return lines if pattern.equal_sizes else [*lines, "", *_sizes(pattern)]


def _sizes(pattern: Pattern) -> list[str]:
    power = np.floor(np.log2(pattern.size)).astype(int)
    first, last = int(power.min()), int(power.max())
    step = -(-(last - first + 1) // 10)
    rows = []
    for low in range(first, last + 1, step):
        count = int(((power >= low) & (power < low + step)).sum())
        rows.append(
            (f"from {format_size(2.0**low)}", f"{count:,}", bar(count, pattern.messages, 24))
        )
    return table_lines(("size", "messages", ""), rows, left=(2,))


CELLS = 256
"""Most cells along a side of the matrix.

Smaller ones are finer than the pixels of a picture, and drop messages.
"""


def picture_pattern(pattern: Pattern) -> Figure:
    """The matrix at the left.

    At the right messages and bytes of ranks, and how large messages are.
    """
    figure = style.new_figure(10, 6.4)
    style.headline(figure, pattern.name, _subtitle(pattern))
    layout: Any = [["matrix", "degree"], ["matrix", "bytes"], ["matrix", "size"]]
    panels: Any = figure.subplot_mosaic(layout, width_ratios=(1.5, 1))
    _draw_bytes(figure, panels["matrix"], pattern)
    _draw_degrees(panels["degree"], pattern)
    _draw_rank_bytes(panels["bytes"], pattern)
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
            f"every cell {format_size(float(values[0]))}",
            loc="right",
            weight="normal",
            color=style.QUIET,
            size=9.5,
        )


def draw_matrix(
    axes: Axes, grid: NDArray[np.float64], ranks: int, *, logarithmic: bool = False
) -> AxesImage:
    """A rank × rank grid, dark is more, rows send, columns receive; empty cells stay white."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    seen = grid[np.isfinite(grid)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (1.0, 1.0)
    norm: Any = LogNorm(low, high) if logarithmic else Normalize(low, high)
    if low == high:
        # one value: the colour of the bars, not an end of the map
        norm = Normalize(low - 2, low + 1)
    extent = (-0.5, ranks - 0.5, ranks - 0.5, -0.5)
    image = axes.imshow(
        grid, cmap=style.amount_map(), norm=norm, extent=extent, interpolation="nearest"
    )
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
    """A logarithmic colour bar whose ticks are sizes."""
    bar = figure.colorbar(image, ax=axes, shrink=0.86, pad=0.02, aspect=28)
    bar.outline.set_visible(False)
    bar.set_label(f"bytes{style.LOGARITHMIC}")
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


def linear_sizes(axis: Any, top: float) -> None:
    """Two to four ticks from 0 to at most `top` [B], written as sizes."""
    step = 2.0 ** np.floor(np.log2(max(top, 1) / 2))
    ticks = np.arange(0, top * 1.05, step)
    axis.set_ticks(ticks, ["0" if tick == 0 else format_size(float(tick)) for tick in ticks])


def _draw_degrees(axes: Axes, pattern: Pattern) -> None:
    axes.set_title("messages per rank")
    out, into = degrees(pattern)
    top = int(max(out.max(), into.max()))
    width = max(1, -(-(top + 1) // 40))
    edges = np.arange(-0.5, top + width + 0.5, width).tolist()
    # sends in full, receives as an outline, so that both are seen where they agree
    axes.hist(
        out,
        edges,
        color=style.ACCENT,
        alpha=0.85,
        label="sent",
        rwidth=0.86 if width == 1 and top < 40 else 1.0,
    )
    axes.hist(into, edges, histtype="step", color=style.BOUND, linewidth=1.4, label="received")
    axes.set_xlabel("messages")
    axes.set_ylabel("ranks")
    whole_ticks(axes)
    axes.margins(x=0.03, y=0.18)
    axes.legend(loc="best", ncols=2)


def rank_bytes(pattern: Pattern) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(sent, received), shape=(ranks) each [B]: messages only, without what stays local."""
    size = np.asarray(pattern.size, np.float64)
    sent, received = (
        np.bincount(end, size, pattern.ranks) for end in (pattern.source, pattern.target)
    )
    return np.asarray(sent, np.float64), np.asarray(received, np.float64)


def skew_of(values: NDArray[np.float64]) -> float:
    """The largest over the mean; 1 where all are equal, or nothing."""
    mean = float(values.mean()) if values.size else 0.0
    return float(values.max()) / mean if mean else 1.0


def _draw_rank_bytes(axes: Axes, pattern: Pattern) -> None:
    """Bytes of every rank; below how far the largest is above the mean."""
    sent, received = rank_bytes(pattern)
    axes.set_title("bytes per rank")
    axes.set_xlabel(
        f"rank; largest / mean: sent {skew_of(sent):.3g}, received {skew_of(received):.3g}",
        size=8.8,
    )
    axes.set_ylabel("bytes")
    edges = np.arange(pattern.ranks + 1) - 0.5
    axes.stairs(sent, edges, fill=True, color=style.ACCENT, alpha=0.85, linewidth=0)
    axes.stairs(received, edges, color=style.BOUND, linewidth=1.4 if pattern.ranks <= 256 else 0.8)
    axes.set_xlim(-0.5, pattern.ranks - 0.5)
    top = max(float(sent.max(initial=0)), float(received.max(initial=0)), 1.0)
    axes.set_ylim(0, 1.18 * top)
    whole_ticks(axes)
    linear_sizes(axes.yaxis, top)


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
        style.log_axis(axes, "x", "bytes")
        size_ticks(axes.xaxis, low, high, most=5)
    axes.margins(y=0.12)
    axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
