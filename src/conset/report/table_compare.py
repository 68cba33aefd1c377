"""Comparison table: methods × (phases, bound, gap, load, predicted time, compile time), for people and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from conset.report.markdown import plain, table_markdown
from conset.units import format_time

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, Any]
"""The keys of `compile --json`; of one that does not apply only `method` and `reason`."""

COLUMNS = ("method", "phases", "bound", "gap", "link", "sum L", "sync", "predicted", "time gap", "compiled in")
"""`link`: the largest load of a link in any phase; `sum L`: sum over phases of the largest load at a port or link."""
LEFT = (COLUMNS.index("method"), COLUMNS.index("sync"))
"""Words; the others are numbers."""


def cells_of(row: Row) -> tuple[str, ...]:
    """A row as text, in the order of `COLUMNS`."""
    load, bound, gap = row["load"], row["bound"], row["gap"]
    method = f"auto: {row['method']}" if row.get("auto") else str(row["method"])
    return (
        method, f"{row['phases']:,}", f"{bound['phases']:,}", f"{gap['phases']:.3f}", f"{load['link']:,}",
        f"{load['sum']:,}", str(row["sync"]), format_time(row["predicted_s"]), f"{gap['time']:.3f}",
        format_time(row["compile_s"]),
    )  # fmt: skip


def _best(rows: Sequence[Row]) -> int:
    """The row with the least predicted time; -1 without rows."""
    return min(range(len(rows)), key=lambda k: rows[k]["predicted_s"]) if rows else -1


def compare_table(rows: Sequence[Row], skipped: Sequence[Row] = ()) -> Table:
    """The table for a terminal; the fastest by prediction is bold, methods that do not apply follow with the reason."""
    from conset.report.terminal import fitted_table

    cells = [cells_of(row) for row in rows]
    table = fitted_table(COLUMNS, cells, LEFT)
    best = _best(rows)
    for k, row in enumerate(cells):
        table.add_row(*row, style="bold" if k == best and len(rows) > 1 else None)
    if skipped:
        table.caption = "\n".join(skipped_lines(skipped))
        table.caption_justify = "left"
    return table


def skipped_lines(skipped: Sequence[Row]) -> list[str]:
    """`lp: does not apply: reason`, one line a method."""
    return [f"{row['method']}: does not apply: {row['reason']}" for row in skipped]


def compare_markdown(rows: Sequence[Row], skipped: Sequence[Row] = (), *, title: str = "") -> str:
    """The same as Markdown; numbers to the right."""
    lines = [f"**{plain(title)}**", ""] if title else []
    best = _best(rows)
    table = [[plain(cell) for cell in cells_of(row)] for row in rows]
    if len(rows) > 1:
        table[best][0] = f"**{table[best][0]}**"
    lines += table_markdown(COLUMNS, table, LEFT)
    if skipped:
        lines += ["", *(f"- {plain(line)}" for line in skipped_lines(skipped))]
    return "\n".join(lines) + "\n"
