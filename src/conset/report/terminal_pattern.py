"""Pattern in the terminal: the rank × rank matrix in shades, its facts, histograms of degree and size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from conset.pattern.pattern import Pattern
from conset.report.facts import degrees, pattern_facts
from conset.report.matrix import block_of, rank_grid
from conset.report.terminal import bar, fact_lines, table_lines
from conset.units import format_size

CELLS = 128
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

    Small matrices have two characters a cell; larger ones one character for two rows, so that both look square.
    """
    room = max(8, width - 8)
    cells = min(CELLS, room)
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
        ["·" if np.isnan(v) else _SHADES[round((np.log(v) - low) * scale) if scale else -1] for v in row]
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
        counts = [int(((degree >= start) & (degree < start + step)).sum()) for degree in (out, into)]
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
        rows.append((f"from {format_size(2.0**low)}", f"{count:,}", bar(count, pattern.messages, 24)))
    return table_lines(("size", "messages", ""), rows, left=(2,))
