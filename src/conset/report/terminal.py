"""Terminal: pieces that all texts for people share.

Columns of facts, bars, cutting to a screenful.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

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


def table_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = ()
) -> list[str]:
    """Rows in aligned columns, numbers to the right; columns in `left` to the left."""
    every = [head, *rows]
    widths = [max(len(row[k]) for row in every) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        places = enumerate(zip(row, widths, strict=True))
        cells = [
            cell.ljust(width) if k in left else cell.rjust(width) for k, (cell, width) in places
        ]
        return "  " + "  ".join(cells).rstrip()

    return [f"[dim]{escape(line(head))}[/]", *(escape(line(row)) for row in rows)]


def more(left_out: int, what: str) -> str:
    """The line that counts what is not shown."""
    return f"  [dim]… {left_out:,} more {what}[/]"


def plain_table() -> Table:
    """A table without columns yet: a line below its head, no frame."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


NARROW = 100
"""Columns of a terminal below which no column of a `FoldingTable` keeps to one line."""


class FoldingTable(Table):
    """A table of which some columns stay on one line, where the terminal is wide enough.

    A value is never cut.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        own = [column.no_wrap for column in self.columns]
        for column in self.columns:
            column.overflow = "fold"
            column.no_wrap = column.no_wrap and options.max_width >= NARROW
        yield from super().__rich_console__(console, options)
        for column, no_wrap in zip(self.columns, own, strict=True):
            column.no_wrap = no_wrap


class _Fitted(Table):
    """A table that is stacked, `column value, column value …`.

    Where it is wider than its terminal.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(max_width=100_000)
        if self.__rich_measure__(console, wide).minimum <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        names = [str(column.header) for column in self.columns]
        cells = [[str(cell) for cell in column.cells] for column in self.columns]
        for k, row in enumerate(self.rows):
            head, *values = [column[k] for column in cells]
            yield Text.from_markup(head, style=row.style or "")
            items = [
                f"{name} {value}".strip()
                for name, value in zip(names[1:], values, strict=True)
                if value
            ]
            for line in joined_lines(items, options.max_width - 2):
                yield Text.from_markup(f"  {line}", style=row.style or "")
        if self.caption:
            yield Text(str(self.caption), style="dim")


def joined_lines(items: Iterable[str], width: int) -> list[str]:
    """Pieces joined by commas in lines of at most `width` letters; a piece is never cut."""
    lines: list[str] = []
    for piece in items:
        if lines and len(lines[-1]) + 2 + len(piece) + 1 <= width:
            lines[-1] += f", {piece}"
        else:
            lines = [*lines[:-1], f"{lines[-1]},", piece] if lines else [piece]
    return lines


def fitted_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()
) -> Table:
    """A table with columns wide enough for `rows`, which are not in it yet.

    Columns in `left` to the left.

    A column never shrinks: where the terminal is too narrow for all of them, every row is a block
    of its own.
    """
    table = _Fitted(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(columns):
        widest = max([len(name), *(len(row[k]) for row in rows)])
        table.add_column(
            name, justify="left" if k in left else "right", no_wrap=True, min_width=widest
        )
    return table


def titled_parts(title: str, table: Table, lines: Iterable[str]) -> list[RenderableType]:
    """A title, a table, and quiet lines below it, for `Console.print` one by one."""
    return [f"[bold]{escape(title)}[/]", table, *quiet_lines(lines)]


def quiet_lines(lines: Iterable[str]) -> list[str]:
    """Notes in quiet type, one line each; markup of rich."""
    return [f"[dim]{escape(line)}[/]" for line in lines]
