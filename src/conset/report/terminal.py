"""Terminal: the renderer of sections for `rich`, and its pieces: facts, bars, tables, notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from conset.report.sections import Fact, Section, Table

ROWS = 32
"""Most lines of a list; what is left out is counted."""
NARROW = 100
"""Columns of a terminal below which no column of a `FoldingTable` keeps to one line."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


def section_text(
    section: Section, width: int = 24, *, quiet: bool = True, details: bool = True
) -> str:
    """Return answer, title and facts as lines; labels `width` letters wide, `quiet`: dim.

    Without `details` only the facts that are none.
    """
    subtitle = f": {escape(section.subtitle)}" if section.subtitle else ""
    lines = [f"[bold]{escape(section.answer)}[/]"] if section.answer else []
    lines += [f"[bold]{escape(section.title)}[/]{subtitle}"] if section.title else []
    for part in section.parts:
        shown = [fact for fact in part.facts if details or not fact.detail]
        lines += fact_lines(shown, width=width, quiet=quiet)
    return "\n".join(lines)


def outcome_parts(section: Section, width: int) -> list[RenderableType]:
    """Return title and facts with labels `width` letters wide, and tables below."""
    tables = (part.table for part in section.parts)
    text = section_text(section, width, quiet=False)
    return [text, *(_table(table) for table in tables if table is not None)]


def section_parts(section: Section) -> list[RenderableType]:
    """Return titles, tables and notes of all parts, for `Console.print` one by one."""
    found: list[RenderableType] = []
    for k, part in enumerate(section.parts):
        title = ", ".join(filter(None, (section.title, part.title)))
        if title and (part.title or not k):
            found.append(f"[bold]{escape(title)}[/]")
        elif k and section.parts[k - 1].notes:
            found.append("")
        found += fact_lines(part.facts)
        found += [] if part.table is None else [_table(part.table)]
        found += quiet_lines(part.notes)
        found += [escape(part.text)] if part.text else []
    return found


def _table(table: Table) -> RichTable:
    return folded_table(table) if table.wrapped else fitted_table(table)


def fact_lines(facts: Iterable[Fact], *, width: int = 24, quiet: bool = True) -> list[str]:
    """Return a line for each fact: label, value, and its origin in quiet type; markup of rich."""
    lines = []
    for fact in facts:
        origin = f"  [dim]{escape(f'[{fact.origin}]')}[/]" if fact.origin else ""
        strong = f"[bold]{escape(fact.strong)}[/]" if fact.strong else ""
        label = escape(f"{fact.label:<{width}}")
        label = f"[dim]{label}[/]" if quiet else label
        lines.append(f"  {label} {strong}{escape(fact.value)}{origin}")
    return lines


def bar(value: float, largest: float, width: int = 20) -> str:
    """Return a bar of `value` where `largest` fills `width` characters."""
    if largest <= 0 or value <= 0:
        return ""
    eighths = max(1, round(8 * width * value / largest))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def table_lines(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (),
    rest: str = "",
) -> list[str]:
    """Return aligned columns, numbers to the right; columns in `left` to the left; then `rest`."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    lines = []
    for row in (head, *rows):
        places = enumerate(zip(row, widths, strict=True))
        cells = [f"{cell:{'<' if k in left else '>'}{width}}" for k, (cell, width) in places]
        lines.append(escape("  " + "  ".join(cells).rstrip()))
    return [f"[dim]{lines[0]}[/]", *lines[1:], *([rest] if rest else [])]


def more(left_out: int, what: str) -> str:
    """Return the line that counts what is not shown; "" where that is nothing."""
    return f"  [dim]… {left_out:,} more {what}[/]" if left_out else ""


def folded_table(table: Table) -> RichTable:
    """Return a table whose cells take several lines where the terminal is narrow."""
    found = RichTable(box=box.SIMPLE_HEAD)
    for k, name in enumerate(table.columns):
        found.add_column(name, overflow="fold", no_wrap=k not in table.wrapped)
        found.columns[k].justify = "left" if k in table.left else "right"
    for row in table.rows:
        found.add_row(*map(escape, row))
    return found


class FoldingTable(RichTable):
    """A table whose `no_wrap` columns keep to one line in a wide terminal; no value is cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        own = [column.no_wrap for column in self.columns]
        for column in self.columns:
            column.overflow = "fold"
            column.no_wrap = column.no_wrap and options.max_width >= NARROW
        yield from super().__rich_console__(console, options)
        for column, no_wrap in zip(self.columns, own, strict=True):
            column.no_wrap = no_wrap


class _Fitted(RichTable):
    """A table that is stacked, `column value, column value …`, where its terminal is narrower."""

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
            pairs = zip(names[1:], values, strict=True)
            items = [f"{name} {value}".strip() for name, value in pairs if value]
            for line in joined_lines(items, options.max_width - 2):
                yield Text.from_markup(f"  {line}", style=row.style or "")


def joined_lines(items: Iterable[str], width: int) -> list[str]:
    """Join pieces by commas in lines of at most `width` letters; a piece is never cut."""
    lines: list[str] = []
    for piece in items:
        if lines and len(lines[-1]) + 2 + len(piece) + 1 <= width:
            lines[-1] += f", {piece}"
        else:
            lines = [*lines[:-1], f"{lines[-1]},", piece] if lines else [piece]
    return lines


def fitted_table(table: Table) -> RichTable:
    """Return a table with columns wide enough for its cells.

    A column never shrinks: in a terminal too narrow for all, every row is a block of its own.
    """
    found = _Fitted(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(table.columns):
        widest = max(
            len(line) for cell in (name, *(r[k] for r in table.rows)) for line in cell.split("\n")
        )
        found.add_column(name, no_wrap=True, min_width=widest)
        found.columns[k].justify = "left" if k in table.left else "right"
    for k, row in enumerate(table.rows):
        style = "bold" if k in table.best else "dim" if k in table.dim else None
        cells = []
        for column, cell in enumerate(row):
            text, _, second = escape(cell).partition("\n")
            text = f"[bold]{text}[/]" if (k, column) in table.strong else text
            cells.append(f"{text}\n[dim]{second}[/]" if second else text)
        found.add_row(*cells, style=style)
    return found


def quiet_lines(lines: Iterable[str]) -> list[str]:
    """Return notes in quiet type, one line each; markup of rich."""
    return [f"[dim]{escape(line)}[/]" for line in lines]
