"""A pattern in the terminal and as a picture, values on a rank × rank grid, and recorded calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from conset.base import Floats, Ints, Ints32, count_of, format_size, format_time
from conset.pattern import Pattern, Record
from conset.report import style
from conset.report.facts import degrees, pattern_facts
from conset.report.sections import Part, Section
from conset.report.terminal import bar, section_text, table_lines

if TYPE_CHECKING:
    from matplotlib.image import AxesImage

TEXT_CELLS = 128
"""Most blocks along a side of the matrix in a terminal."""
CELLS = 256
"""Most cells along a side of the matrix in a picture: smaller ones are finer than its pixels."""
SHADES = "░▒▓█"
CALLS = 24
"""Exchanges of a record that are drawn over time, those with the most bytes."""


def block_of(ranks: int, cells: int) -> int:
    """Return the ranks along the side of a block, so that at most `cells` blocks fill a row."""
    return max(1, -(-ranks // cells))


def rank_grid(
    ranks: int,
    source: Ints32,
    target: Ints32,
    value: Ints,
    cells: int,
    combine: Literal["sum", "least"] = "sum",
) -> Floats:
    """Return `value` of all from the row's ranks to the column's, shape=(blocks, blocks).

    NaN where there is nothing.

    Args:
        ranks: number of ranks.
        source: shape=(items): row rank.
        target: shape=(items): column rank.
        value: shape=(items).
        cells: most blocks along a side.
        combine: what a cell shows of its items: their sum or the least.
    """
    block = block_of(ranks, cells)
    side = -(-ranks // block)
    where = (source.astype(np.int64) // block) * side + target // block
    if combine == "sum":
        count = np.bincount(where, minlength=side * side)
        grid = np.where(count > 0, np.bincount(where, weights=value, minlength=side * side), np.nan)
    else:
        grid = np.full(side * side, np.nan)
        np.fmin.at(grid, where, value.astype(np.float64))
    return grid.reshape(side, side)


# In the terminal


def pattern_text(pattern: Pattern, *, width: int = 100) -> str:
    """Return matrix, facts and histograms; markup of rich; `width` in characters."""
    title = section_text(Section(pattern.name))
    facts = section_text(Section("", parts=[Part(facts=pattern_facts(pattern))]))
    lines = [title, "", *matrix_lines(pattern, width=width), "", facts]
    return "\n".join([*lines, *(["", *_histograms(pattern)] if pattern.messages else [])])


def matrix_lines(pattern: Pattern, *, width: int = 100) -> list[str]:
    """Draw rows that send, columns that receive; darker is more bytes (logarithmic), a dot none.

    Small matrices have two characters a cell; larger ones one character for two rows, so that both
    look square.
    """
    room = max(8, width - 8)
    cells = min(TEXT_CELLS, room)
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, cells)
    block = block_of(pattern.ranks, cells)
    wide = 2 * len(grid) <= min(room, 64)
    if not wide:  # pairs of rows
        padded = np.vstack([grid, np.full((len(grid) % 2, grid.shape[1]), np.nan)])
        pairs = padded.reshape(-1, 2, grid.shape[1])
        grid = np.where(np.isnan(pairs).all(axis=1), np.nan, np.nansum(pairs, axis=1))
    label, rows = len(str(pattern.ranks - 1)), block * (1 if wide else 2)
    seen = grid[np.isfinite(grid)]
    low, high = (np.log(seen.min()), np.log(seen.max())) if seen.size else (0.0, 0.0)
    scale = (len(SHADES) - 1) / (high - low) if high > low else 0.0
    lines = []
    for k, row in enumerate(grid):
        level = [
            round((np.log(v) - low) * scale) if scale else -1 for v in np.where(row > 0, row, 1)
        ]
        shade = ["·" if np.isnan(v) else SHADES[at] for v, at in zip(row, level, strict=True)]
        lines.append(f"  {k * rows:>{label}} " + "".join(s * (2 if wide else 1) for s in shade))
    legend = "no messages"
    if seen.size:
        least, most = format_size(float(seen.min())), format_size(float(seen.max()))
        sizes = f"█ {least}" if least == most else f"░ {least} … █ {most}"
        cell = f"; a character is {rows} × {block} ranks" if block > 1 or not wide else ""
        legend = f"rows send, columns receive: {sizes}{cell}"
    return [*lines, f"  [dim]{legend}[/]"]


def _histograms(pattern: Pattern) -> list[str]:
    """Return how many ranks send and receive how many messages, and of what sizes these are."""
    out, into = degrees(pattern)
    top = int(max(out.max(), into.max()))
    step = -(-(top + 1) // 10)
    least = min(int(out.min()), int(into.min())) // step
    rows = []
    for start in range(least * step, top + 1, step):
        cells = [str(start) if step == 1 else f"{start}-{start + step - 1}"]
        for degree in (out, into):
            count = int(((degree >= start) & (degree < start + step)).sum())
            cells += [f"{count:,}", bar(count, pattern.ranks, 16)]
        rows.append(cells)
    lines = table_lines(("messages", "ranks send", "", "ranks receive", ""), rows, left=(2, 4))
    if pattern.equal_sizes and not any(pattern.sent):
        return lines
    first, counts = size_classes(pattern)
    step, rows = -(-counts.size // 10), []
    for k in range(0, counts.size, step):
        count, low = int(counts[k : k + step].sum()), first + k
        size = f"from {format_size(2.0 ** (low - 1) if low else 0)}"
        rows.append([size, f"{count:,}", bar(count, int(counts.sum()), 24)])
    return [*lines, "", *table_lines(("size", "messages", ""), rows, left=(2,))]


def size_classes(pattern: Pattern) -> tuple[int, Ints]:
    """Return (first class that has messages, number of messages of it and those above).

    Class c are sizes from 2^(c - 1) to 2^c - 1 B, as in `Pattern.sent`, which is preferred.
    """
    counts = np.array(pattern.sent, np.int64)
    if not counts.any():
        counts = np.bincount(np.floor(np.log2(pattern.size)).astype(int) + 1)
    used = np.flatnonzero(counts)
    return int(used[0]), counts[used[0] : used[-1] + 1]


# As a picture


def picture_pattern(pattern: Pattern) -> style.Figure:
    """Draw the matrix, messages and bytes of ranks, and how large messages are."""
    local = f", {format_size(pattern.local_bytes)} local" if pattern.local_bytes else ""
    figure = style.new_figure(10, 6.4, pattern.name, describe_pattern(pattern) + local)
    layout: Any = [["matrix", "degree"], ["matrix", "bytes"], ["matrix", "size"]]
    panels: Any = figure.subplot_mosaic(layout, width_ratios=(1.5, 1))
    grid = rank_grid(pattern.ranks, pattern.source, pattern.target, pattern.size, CELLS)
    matrix = panels["matrix"]
    matrix.set_title("bytes from rank to rank")
    image = draw_matrix(matrix, grid, pattern.ranks, logarithmic=True)
    values = np.unique(grid[np.isfinite(grid)])
    if values.size > 1:
        label = f"bytes{style.LOGARITHMIC}"
        bar = style.colour_bar(matrix, image, label, shrink=0.86, pad=0.02, aspect=28)
        size_ticks(bar.ax.yaxis, *image.get_clim())
    elif values.size == 1:
        matrix.set_title(
            f"every cell {format_size(float(values[0]))}",
            loc="right",
            weight="normal",
            color=style.QUIET,
            size=9.5,
        )
    _draw_degrees(panels["degree"], pattern)
    _draw_rank_bytes(panels["bytes"], pattern)
    _draw_sizes(panels["size"], pattern)
    return figure


def describe_pattern(pattern: Pattern) -> str:
    """Return `16 ranks, 240 messages, 240 KiB`."""
    messages = count_of(pattern.messages, "message")
    return f"{count_of(pattern.ranks, 'rank')}, {messages}, {format_size(pattern.bytes)}"


def draw_matrix(
    axes: style.Axes, grid: Floats, ranks: int, *, logarithmic: bool = False
) -> AxesImage:
    """Draw a rank × rank grid, dark is more, rows send, columns receive; empty cells are white."""
    from matplotlib.colors import LogNorm, Normalize

    seen = grid[np.isfinite(grid)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (1.0, 1.0)
    norm: Any = LogNorm(low, high) if logarithmic else Normalize(low, high)
    if low == high:
        # one value: the colour of the bars, not an end of the map
        norm = Normalize(low - 2, low + 1)
    image = axes.imshow(
        grid,
        cmap=style.amount_map(),
        norm=norm,
        extent=(-0.5, ranks - 0.5, ranks - 0.5, -0.5),
        interpolation="nearest",
    )
    block = block_of(ranks, grid.shape[0])
    unit = f" (a cell is {block} × {block} ranks)" if block > 1 else ""
    axes.set(xlabel=f"target rank{unit}", ylabel="source rank")
    axes.spines[:].set_visible(True)
    for axis in (axes.xaxis, axes.yaxis):
        style.whole_ticks(axis, 8, style.RANK_STEPS)
        if ranks <= 32:
            axis.set_ticks(np.arange(ranks + 1) - 0.5, minor=True)
    if ranks <= 32:
        axes.grid(which="minor", color=style.FAINT, linewidth=0.5)
        axes.tick_params(which="minor", length=0)
    return image


def size_ticks(axis: Any, low: float, high: float, most: int = 6) -> None:
    """Set at most about `most` ticks at powers of two, written as sizes."""
    first, last = np.log2(max(low, 1)), np.log2(max(high, 1))
    inside = np.arange(np.ceil(first), np.floor(last) + 1)
    ticks = list(2.0 ** inside[:: max(1, -(-inside.size // most))])
    ticks = ticks if len(ticks) > 1 else [low, high]
    axis.set_ticks(ticks, [format_size(tick) for tick in ticks])
    axis.minorticks_off()


def linear_sizes(axis: Any, low: float, top: float) -> None:
    """Set two to four ticks from `low` to at most `top` [B], written as sizes."""
    ticks = np.arange(low, top, 2.0 ** np.floor(np.log2(max(top / 1.15, 1) / 2)))
    axis.set_ticks(ticks, ["0" if tick == 0 else format_size(float(tick)) for tick in ticks])


def _draw_degrees(axes: style.Axes, pattern: Pattern) -> None:
    out, into = degrees(pattern)
    top = int(max(out.max(), into.max()))
    width = max(1, -(-(top + 1) // 40))
    edges = np.arange(-0.5, top + width + 0.5, width).tolist()
    # sends in full, receives as an outline, so that both are seen where they agree
    axes.hist(
        out,
        edges,
        rwidth=0.86 if width == 1 and top < 40 else 1.0,
        color=style.ACCENT,
        alpha=0.85,
        label="sent",
    )
    axes.hist(into, edges, label="received", histtype="step", color=style.BOUND, linewidth=1.4)
    axes.set(title="messages per rank", xlabel="messages", ylabel="ranks")
    whole_ticks(axes)
    axes.margins(x=0.03, y=0.18)
    axes.legend(loc="best", ncols=2)


def rank_bytes(pattern: Pattern) -> tuple[Floats, Floats]:
    """Return (sent, received), shape=(ranks) [B]: messages only, without what stays local."""
    size = np.asarray(pattern.size, np.float64)
    sent, received = (np.bincount(e, size, pattern.ranks) for e in (pattern.source, pattern.target))
    return np.asarray(sent, np.float64), np.asarray(received, np.float64)


def skew_of(values: Floats) -> float:
    """Return the largest over the mean; 1 where all are equal, or there is nothing."""
    mean = float(values.mean()) if values.size else 0.0
    return float(values.max()) / mean if mean else 1.0


def _draw_rank_bytes(axes: style.Axes, pattern: Pattern) -> None:
    """Draw bytes of every rank; write how far the largest is above the mean."""
    sent, received = rank_bytes(pattern)
    skew = f"sent {skew_of(sent):.3g}, received {skew_of(received):.3g}"
    axes.set(title="bytes per rank", ylabel="bytes")
    axes.set_xlabel(f"rank; largest / mean: {skew}", size=8.8)
    edges = np.arange(pattern.ranks + 1) - 0.5
    axes.stairs(sent, edges, fill=True, color=style.ACCENT, alpha=0.85, linewidth=0)
    axes.stairs(received, edges, color=style.BOUND, linewidth=1.4 if pattern.ranks <= 256 else 0.8)
    top = max(float(sent.max(initial=0)), float(received.max(initial=0)), 1.0)
    axes.set(xlim=(-0.5, pattern.ranks - 0.5), ylim=(0, 1.18 * top))
    whole_ticks(axes)
    linear_sizes(axes.yaxis, 0, 1.18 * top)


def whole_ticks(axes: style.Axes) -> None:
    """Set ticks at whole numbers only, on both axes."""
    style.whole_ticks(axes.xaxis, 7)
    style.whole_ticks(axes.yaxis, 5)


def _draw_sizes(axes: style.Axes, pattern: Pattern) -> None:
    axes.set(title="size of a message", ylabel="messages", xlabel="bytes")
    if not pattern.messages:
        axes.set(xticks=[], yticks=[])
        return
    size = np.asarray(pattern.size[:1] if pattern.equal_sizes else pattern.size, np.float64)
    low, high = size.min(), size.max()
    if any(pattern.sent):
        first, counts = size_classes(pattern)
        edges = 2.0 ** np.arange(first - 1, first + counts.size)
        axes.stairs(counts, edges, fill=True, color=style.ACCENT)
        style.log_axis(axes, "x", "bytes, as sent")
        size_ticks(axes.xaxis, edges[0], edges[-1], most=5)
    elif low == high:
        axes.bar([0], [pattern.messages], width=0.3, color=style.ACCENT)
        axes.set_xlim(-1, 1)
        axes.set_xticks([0], [format_size(float(low))])
    else:
        axes.hist(size, np.geomspace(low, high * (1 + 1e-9), 33).tolist(), color=style.ACCENT)
        style.log_axis(axes, "x", "bytes")
        size_ticks(axes.xaxis, low, high, most=5)
    axes.margins(y=0.12)
    axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


def picture_calls(record: Record) -> style.Figure:
    """Draw a bar for each exchange of a record, from the begin of its calls to their end."""
    drawn = sorted(record.exchanges[:CALLS], key=lambda each: each.begin_s)
    most = f"; the {CALLS} with the most bytes" if len(record.exchanges) > CALLS else ""
    subtitle = f"from the begin of the first call to the end of the last{most}"
    figure = style.new_figure(10, 1.5 + 0.5 * len(drawn), f"calls of {record.name}", subtitle)
    axes: Any = figure.subplots()
    factor, unit = style.time_unit(max(each.end_s for each in drawn))
    for k, each in enumerate(drawn):
        width, left = (each.end_s - each.begin_s) / factor, each.begin_s / factor
        axes.barh(k + 0.2, width, 0.3, left, color=style.ACCENT, edgecolor=style.ACCENT)
        ranks, calls = count_of(each.members.size, "rank"), count_of(each.calls, "call")
        text = f"{each.name} ({ranks}): {calls}, {format_size(each.bytes)}"
        axes.text(0, k - 0.05, f"{text}, {format_time(each.seconds)} in calls", size=8.8)
    axes.set(xlim=(0, None), ylim=(len(drawn) - 0.4, -0.5), yticks=[])
    axes.set_xlabel(f"time since the first call of MPI [{unit}]")
    axes.spines["left"].set_visible(False)
    return figure
