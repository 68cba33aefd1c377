"""Terminal: pieces that all texts for people share: columns of facts, bars, cutting to a screenful."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from conset.report.facts import Fact

ROWS = 32
"""Most lines of a list; what is left out is counted."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def fact_lines(facts: Iterable[Fact], *, width: int = 24) -> list[str]:
    """One line a fact: label, value, and its origin in quiet type; markup of rich."""
    lines = []
    for fact in facts:
        origin = f"  [dim]{escape(f'[{fact.origin}]')}[/]" if fact.origin else ""
        lines.append(f"  [dim]{fact.label:<{width}}[/] {escape(fact.value)}{origin}")
    return lines


def bar(value: float, largest: float, width: int = 20) -> str:
    """A bar of `value` where `largest` fills `width` characters."""
    if largest <= 0 or value <= 0:
        return ""
    eighths = max(1, round(8 * width * value / largest))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = ()) -> list[str]:
    """Rows in aligned columns, numbers to the right; columns in `left` to the left."""
    every = [head, *rows]
    widths = [max(len(row[k]) for row in every) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        places = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if k in left else cell.rjust(width) for k, (cell, width) in places]
        return "  " + "  ".join(cells).rstrip()

    return [f"[dim]{escape(line(head))}[/]", *(escape(line(row)) for row in rows)]


def more(left_out: int, what: str) -> str:
    """The line that counts what is not shown."""
    return f"  [dim]… {left_out:,} more {what}[/]"


def house_table() -> Table:
    """A table without columns yet: a line below its head, no frame."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def fitted_table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> Table:
    """A table with columns wide enough for `rows`, which are not in it yet; columns in `left` to the left.

    A column never shrinks: digits cut off are worse than a line that wraps.
    """
    table = house_table()
    for k, name in enumerate(columns):
        widest = max([len(name), *(len(row[k]) for row in rows)])
        table.add_column(name, justify="left" if k in left else "right", no_wrap=True, min_width=widest)
    return table
