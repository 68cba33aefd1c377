"""Comparison table: methods × (phases, bound, gap, load, predicted time, compile time), for people and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from conset.report.markdown import plain
from conset.units import format_time

if TYPE_CHECKING:
    from rich.table import Table

Row = Mapping[str, Any]
"""The keys of `compile --json`; of one that does not apply only `method` and `reason`."""

COLUMNS = ("method", "phases", "bound", "gap", "link", "sum L", "sync", "predicted", "time gap", "compiled in")
"""`link`: the largest load of a link in any phase; `sum L`: sum over phases of the largest load at a port or link."""


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
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(COLUMNS):
        # a column never shrinks: digits cut off are worse than a line that wraps
        widest = max([len(name), *(len(cells_of(row)[k]) for row in rows)])
        side: Literal["left", "right"] = "left" if name in ("method", "sync") else "right"
        table.add_column(name, justify=side, no_wrap=True, min_width=widest)
    best = _best(rows)
    for k, row in enumerate(rows):
        table.add_row(*cells_of(row), style="bold" if k == best and len(rows) > 1 else None)
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
    lines.append("| " + " | ".join(COLUMNS) + " |")
    lines.append("|" + "|".join(" :-- " if name in ("method", "sync") else " --: " for name in COLUMNS) + "|")
    best = _best(rows)
    for k, row in enumerate(rows):
        cells = [plain(cell) for cell in cells_of(row)]
        if k == best and len(rows) > 1:
            cells[0] = f"**{cells[0]}**"
        lines.append("| " + " | ".join(cells) + " |")
    if skipped:
        lines += ["", *(f"- {plain(line)}" for line in skipped_lines(skipped))]
    return "\n".join(lines) + "\n"
