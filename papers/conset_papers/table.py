"""The table of items: paper, item, what makes it, in the order of each text.

What stands in a text's words only has a name of ours. Modules are imported when an item is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from conset.base.errors import unknown_name
from conset_papers.item import Item

Rows = tuple[tuple[str, str, tuple[str | int, ...]], ...]
"""Of one text, in its order: item, module whose `reproduce` makes it, arguments."""

CONSET_IWARP: Rows = (
    ("Table 1", "table_basic", (1,)),
    ("Table 2", "table_basic", (2,)),
    ("Table 3", "table_basic", (3,)),
    ("Figure 2", "figure_bandwidth", (2,)),
    ("Figure 3", "figure_bandwidth", (3,)),
    ("Figure 4", "figure_bandwidth", (4,)),
    ("Table 4", "table_4", ()),
    ("Figure 5", "figure_5", ()),
    ("Table 5", "table_5", ()),
    ("Table 6", "table_6", ()),
    ("Figure 6", "figure_6", ()),
    ("Surface router", "surface_router", ()),
    ("Message passing", "in_flight", ()),
)

WANG_RANKA: Rows = (
    ("Permutations", "permutations", ()),
    ("Borders", "borders", ()),
    ("Figure 5", "figure_5", ()),
    ("Figure 6", "figures_6_to_9", (6,)),
    ("Figure 7", "figures_6_to_9", (7,)),
    ("Figure 8", "figures_6_to_9", (8,)),
    ("Figure 9", "figures_6_to_9", (9,)),
    ("Figure 10", "figures_10_and_11", (10,)),
    ("Figure 11", "figures_10_and_11", (11,)),
    ("Section 6", "section_6", ()),
    ("Section 7", "section_7", ()),
)

THAKUR: Rows = (
    ("Figure 1", "pseudo_code", (1,)),
    ("Table 1", "table_1", ()),
    ("Figure 2", "pseudo_code", (2,)),
    ("Figure 3", "figure_3", ()),
    ("Figure 4", "pseudo_code", (4,)),
    ("Figure 5", "pseudo_code", (5,)),
    ("Contention", "contention", ()),
    ("Table 2", "tables", (2,)),
    ("Table 3", "tables", (3,)),
    ("Table 4", "tables", (4,)),
    ("Table 5", "tables", (5,)),
    ("Table 6", "tables", (6,)),
    ("Fit", "fit", ()),
    ("Simulation", "simulation", ()),
    ("Winners", "winners", ()),
    ("Section 4", "sentences", ()),
)

BOKHARI_NICOL: Rows = (
    ("Figure 1", "figure_1", ()),
    ("Table 1", "table_1", ()),
    ("Figure 2", "figure_2", ()),
    ("Figure 3", "figure_3", ()),
    ("Figure 4", "figure_4", ()),
    ("Figure 5", "figure_5", ()),
    ("Table 2", "table_2", ()),
    ("Figure 6", "figure_6", ()),
    ("Figure 7", "surfaces", (4,)),
    ("Figure 8", "surfaces", (8,)),
    ("Figure 9", "surfaces", (12,)),
    ("Figure 10", "surfaces", (16,)),
    ("Figure 11", "figure_11", ()),
    ("Figure 12", "slices", (4,)),
    ("Figure 13", "slices", (8,)),
    ("Figure 14", "slices", (12,)),
    ("Figure 15", "slices", (16,)),
    ("Assumptions", "assumptions", ()),
    ("Synchronization", "synchronization", ()),
)

PAPERS = {
    "conset": ("conset_iwarp", CONSET_IWARP),
    "wang-ranka": ("wang_ranka", WANG_RANKA),
    "thakur": ("thakur", THAKUR),
    "bokhari-nicol": ("bokhari_nicol", BOKHARI_NICOL),
}
"""Paper as on the command line → its folder here, and its rows."""


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
        module = import_module(f"conset_papers.{PAPERS[self.paper][0]}.{self.module}")
        item: Item = module.reproduce(*self.arguments)
        return item


def table() -> tuple[Row, ...]:
    """All rows, paper after paper, in the order of the texts."""
    return tuple(row for paper in PAPERS for row in rows_of(paper))


def rows_of(paper: str) -> tuple[Row, ...]:
    """The rows of one paper."""
    return tuple(Row(paper, *row) for row in PAPERS[paper][1])


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
    """A name as on the command line and in file names: `Table 1` → `table-1`.

    `table1` is the same.
    """
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
