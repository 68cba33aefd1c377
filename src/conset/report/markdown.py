"""Markdown: the renderer of sections as text with tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from conset.base import replacing
from conset.report import style
from conset.report.sections import Section, Table

SUFFIX = ".md"


def plain(text: str) -> str:
    """Return text that cannot end a cell of a table or start markup."""
    for mark in ("\\", "|", "*", "_", "`", "<"):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def table_markdown(
    columns: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = ()
) -> list[str]:
    """Return lines of a table, numbers to the right; cells are Markdown."""
    sides = [":--" if k in left else "--:" for k in range(len(columns))]
    return [f"| {' | '.join(row)} |" for row in (columns, sides, *rows)]


def table_lines(table: Table) -> list[str]:
    """Return a table of text as lines of Markdown; emphasis is bold."""
    strong = {*table.strong, *((row, table.key) for row in table.best)}
    rows = [
        [
            f"**{plain(cell)}**" if (k, column) in strong else plain(cell)
            for column, cell in enumerate(row)
        ]
        for k, row in enumerate(table.rows)
    ]
    return table_markdown(table.columns, rows, table.left)


def section_markdown(section: Section) -> str:
    """Return a title, and for each part its heading, its table, and its notes as a list."""
    blocks = [[f"**{plain(section.title)}**"]] if section.title else []
    for part in section.parts:
        title = plain(part.title)
        title = title[:1].upper() + title[1:] if section.title else f"**{title}**"
        blocks += [[title]] if part.title else []
        blocks += [] if part.table is None else [table_lines(part.table)]
        blocks += [[f"- {plain(note)}" for note in part.notes]] if part.notes else []
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def write_report(path: Path, sections: Sequence[Section]) -> None:
    """Write sections as Markdown (.md), or the first picture of them, by the suffix.

    Raises:
        InputError: the file cannot be written.
    """
    if path.suffix.lower() != SUFFIX:
        style.save(sections[0].draws[0], path)
        return
    text = "\n".join(section_markdown(section) for section in sections)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
