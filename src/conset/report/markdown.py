"""Markdown: text that stays text, and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def plain(text: str) -> str:
    """Text that cannot end a cell of a table or start markup."""
    for mark in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def table_markdown(columns: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """Lines of a table: columns in `left` to the left, the others, numbers, to the right; cells are Markdown."""
    sides = " | ".join(":--" if k in left else "--:" for k in range(len(columns)))
    return [_line(columns), f"| {sides} |", *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
