"""Markdown, and values on a rank × rank grid."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray


def plain(text: str) -> str:
    """Text that cannot end a cell of a table or start markup."""
    for mark in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def table_markdown(
    columns: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = ()
) -> list[str]:
    """Lines of a table: columns in `left` to the left, the others, numbers, to the right.

    Cells are Markdown.
    """
    sides = " | ".join(":--" if k in left else "--:" for k in range(len(columns)))
    return [_line(columns), f"| {sides} |", *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


Combine = Literal["sum", "least"]


def block_of(ranks: int, cells: int) -> int:
    """Ranks along the side of a block, so that at most `cells` blocks stand in a row."""
    return max(1, -(-ranks // cells))


def rank_grid(
    ranks: int,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    value: NDArray[np.int64],
    cells: int,
    combine: Combine = "sum",
) -> NDArray[np.float64]:
    """shape=(blocks, blocks): `value` of everything from the row's ranks to the column's.

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
    count = np.bincount(where, minlength=side * side)
    if combine == "sum":
        grid = np.bincount(where, weights=value, minlength=side * side)
    else:
        grid = np.full(side * side, np.inf)
        np.minimum.at(grid, where, value.astype(np.float64))
    return np.where(count > 0, grid, np.nan).reshape(side, side)
