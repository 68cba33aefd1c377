"""The table of items: paper, item, its function, in the order of each paper.

What only the prose of a paper contains has a name of ours. Modules are imported when an item is
made. `expected.csv` contains the duration and the outcome of every item as they were recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module

from conset.base import unknown_name
from conset_papers.item import Item, read_rows

Rows = tuple[tuple[str, str, tuple[str | int, ...]], ...]
"""Of one text, in its order: item, module and function that make it, arguments."""

CONSET_IWARP: Rows = (
    ("Table 1", "basic_tables.table_basic", (1,)),
    ("Table 2", "basic_tables.table_basic", (2,)),
    ("Table 3", "basic_tables.table_basic", (3,)),
    ("Figure 2", "basic_tables.figure_bandwidth", (2,)),
    ("Figure 3", "basic_tables.figure_bandwidth", (3,)),
    ("Figure 4", "basic_tables.figure_bandwidth", (4,)),
    ("Table 4", "mesh_tables.table_4", ()),
    ("Figure 5", "mesh_tables.figure_5", ()),
    ("Table 5", "mesh_tables.table_5", ()),
    ("Table 6", "mesh_tables.table_6", ()),
    ("Figure 6", "mesh_tables.figure_6", ()),
    ("Surface router", "basic_tables.surface_router", ()),
)

WANG_RANKA: Rows = (
    ("Permutations", "scheduling.permutations", ()),
    ("Borders", "comparison.borders", ()),
    ("Figure 5", "comparison.figure_5", ()),
    ("Figure 6", "comparison.figures_6_to_9", (6,)),
    ("Figure 7", "comparison.figures_6_to_9", (7,)),
    ("Figure 8", "comparison.figures_6_to_9", (8,)),
    ("Figure 9", "comparison.figures_6_to_9", (9,)),
    ("Figure 10", "scheduling.figures_10_and_11", (10,)),
    ("Figure 11", "scheduling.figures_10_and_11", (11,)),
    ("Section 6", "comparison.section_6", ()),
    ("Section 7", "comparison.section_7", ()),
)

THAKUR: Rows = (
    ("Figure 1", "schedules.pseudo_code", (1,)),
    ("Table 1", "schedules.table_1", ()),
    ("Figure 2", "schedules.pseudo_code", (2,)),
    ("Figure 3", "schedules.figure_3", ()),
    ("Figure 4", "schedules.pseudo_code", (4,)),
    ("Figure 5", "schedules.pseudo_code", (5,)),
    ("Contention", "schedules.loads", ()),
    ("Table 2", "tables.tables", (2,)),
    ("Table 3", "tables.tables", (3,)),
    ("Table 4", "tables.tables", (4,)),
    ("Table 5", "tables.tables", (5,)),
    ("Table 6", "tables.tables", (6,)),
    ("Fit", "fit.reproduce", ()),
    ("Simulation", "tables.simulation", ()),
    ("Winners", "tables.winner_counts", ()),
    ("Section 4", "tables.sentences", ()),
)

BOKHARI_NICOL: Rows = (
    ("Figure 1", "schedules.figure_1", ()),
    ("Table 1", "schedules.table_1", ()),
    ("Figure 2", "schedules.figure_2", ()),
    ("Figure 3", "schedules.figure_3", ()),
    ("Figure 4", "schedules.figure_4", ()),
    ("Figure 5", "schedules.figure_5", ()),
    ("Table 2", "schedules.table_2", ()),
    ("Figure 6", "schedules.figure_6", ()),
    ("Figure 7", "surfaces.surfaces", (4,)),
    ("Figure 8", "surfaces.surfaces", (8,)),
    ("Figure 9", "surfaces.surfaces", (12,)),
    ("Figure 10", "surfaces.surfaces", (16,)),
    ("Figure 11", "surfaces.figure_11", ()),
    ("Figure 12", "slices.slices", (4,)),
    ("Figure 13", "slices.slices", (8,)),
    ("Figure 14", "slices.slices", (12,)),
    ("Figure 15", "slices.slices", (16,)),
    ("Assumptions", "slices.assumptions", ()),
    ("Synchronization", "slices.synchronization", ()),
)

PAPERS = {
    "conset": ("conset_iwarp", CONSET_IWARP, ""),
    "wang-ranka": (
        "wang_ranka",
        WANG_RANKA,
        "Wang and Ranka, *Scheduling of Unstructured Communication on the Intel iPSC/860*",
    ),
    "thakur": (
        "thakur",
        THAKUR,
        "Thakur, Choudhary and Fox, complete exchange on a wormhole-routed mesh (1993)",
    ),
    "bokhari-nicol": (
        "bokhari_nicol",
        BOKHARI_NICOL,
        "Bokhari and Nicol, *Balancing Contention and Synchronization on the Intel Paragon* (1997)",
    ),
}
"""Paper as on the command line → its folder here, its rows, and the title of its generated page;
the page of `conset` is written by hand."""


@dataclass(frozen=True)
class Row:
    """One item of a text.

    Attributes:
        paper: key of `PAPERS`.
        item: as the text calls it: `Table 1`, `Figure 5`.
        maker: module in the paper's folder and its function: `tables.table_4`.
        arguments: of that function.
    """

    paper: str
    item: str
    maker: str
    arguments: tuple[str | int, ...] = ()

    def make(self) -> Item:
        """Runs the pipeline."""
        module, function = self.maker.split(".")
        found = import_module(f"conset_papers.{PAPERS[self.paper][0]}.{module}")
        item: Item = getattr(found, function)(*self.arguments)
        return item

    @property
    def expected(self) -> dict[str, str]:
        """Seconds on a free core, and how many cells and claims fail, hold, are not judged."""
        return _expected()[self.paper, self.item]


@cache
def _expected() -> dict[tuple[str, str], dict[str, str]]:
    return {(row.pop("paper"), row.pop("item")): row for row in read_rows("expected.csv")}


def table() -> tuple[Row, ...]:
    """All rows, paper after paper, in the order of the texts."""
    return tuple(row for paper in PAPERS for row in rows_of(paper))


def rows_of(paper: str) -> tuple[Row, ...]:
    """The rows of one paper."""
    return tuple(Row(paper, *row) for row in PAPERS[paper][1])


def find_rows(paper: str | None = None, item: str | None = None) -> tuple[Row, ...]:
    """The rows named on the command line: `all`, those of a paper, or one item of it.

    Raises:
        UsageError: an unknown paper or item; suggests the nearest.
    """
    if paper in (None, "all"):
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
