"""The table of items: paper, item, what makes it; modules are imported when an item is made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from conset.errors import unknown_name
from conset.reproduction.item import Item

PAPERS = {
    "conset": "conset_iwarp",
    "wang-ranka": "wang_ranka",
    "thakur": "thakur",
    "bokhari-nicol": "bokhari_nicol",
}
"""Paper as on the command line → its folder here; each has its rows in `rows.py`."""


@dataclass(frozen=True)
class Row:
    """One item of a text.

    Attributes:
        paper: key of `PAPERS`.
        item: as the text calls it: `Table 1`, `Figure 5`.
        module: file in the paper's folder whose function `reproduce` makes it.
        arguments: of that function.
    """

    paper: str
    item: str
    module: str
    arguments: tuple[str | int, ...] = ()

    def make(self) -> Item:
        """Runs the pipeline."""
        module = import_module(f"conset.reproduction.{PAPERS[self.paper]}.{self.module}")
        item: Item = module.reproduce(*self.arguments)
        return item


def table() -> tuple[Row, ...]:
    """All rows, paper after paper, in the order of the texts."""
    return tuple(row for paper in PAPERS for row in rows_of(paper))


def rows_of(paper: str) -> tuple[Row, ...]:
    """The rows of one paper."""
    module = import_module(f"conset.reproduction.{PAPERS[paper]}.rows")
    return tuple(Row(paper, *row) for row in module.ROWS)


def find_rows(paper: str | None = None, item: str | None = None) -> tuple[Row, ...]:
    """The rows that words of the command line name: all, those of a paper, or one item of it.

    Raises:
        UsageError: an unknown paper or item; suggests the nearest.
    """
    if paper is None:
        return table()
    if paper not in PAPERS:
        raise unknown_name("paper", paper, PAPERS)
    rows = rows_of(paper)
    if item is None:
        return rows
    known = {slug(row.item): row for row in rows}
    if slug(item) not in known:
        raise unknown_name(f"item of {paper}", slug(item), known)
    return (known[slug(item)],)


def slug(name: str) -> str:
    """A name as on the command line and in file names: `Table 1` → `table-1`; `table1` is the same."""
    parts: list[str] = []
    for sign in name.lower():
        kind = "digit" if sign.isdigit() else "letter" if sign.isalpha() else ""
        if not kind:
            parts.append("")
        elif parts and parts[-1] and parts[-1][-1].isdigit() == (kind == "digit"):
            parts[-1] += sign
        else:
            parts.append(sign)
    return "-".join(word for word in parts if word)
