"""Item: one table, figure or claim of a text as the pipeline makes it.

With the error of every cell.

What a text prints is a `Cell`'s published number, read from a CSV file beside the code that makes
it again; what it says in words is a `Claim`. The two are counted apart. A number is a cell only
where something computed stands beside something printed that was not its input; a sentence is a
claim only where it could have turned out false. What is neither goes into a `Table`. Nothing is
tuned until it agrees: a cell that the text itself has wrong carries a `departure`, a claim that
does not hold says so with its figures. Every item says by its `basis` what was done.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Value = str | float | int | None
"""What a table holds; numbers are written to full precision in CSV, shortened for people."""

Basis = Literal["computed", "formula", "transcribed"]
"""What an item rests on."""
BASES: dict[Basis, str] = {
    "computed": "compiled and simulated",
    "formula": "formula of the text on its constants",
    "transcribed": "transcribed",
}
"""Basis → its words, the first line of the item's page."""
MANY = 8
"""More cells than this outside the tolerance are counted instead of named."""


@dataclass(frozen=True)
class Cell:
    """One number of a text beside ours; the text's number is no input of ours.

    Attributes:
        row: label of its row.
        column: label of its column.
        published: what the text prints.
        ours: what the pipeline gives.
        departure: why the text's number is not to be met (a misprint, a stray digit); it then
            counts for no tolerance.
    """

    row: str
    column: str
    published: float
    ours: float
    departure: str = ""

    @property
    def error(self) -> float:
        """Relative, ours / published − 1; the difference where nothing is published but 0."""
        return self.ours / self.published - 1 if self.published else self.ours


@dataclass(frozen=True)
class Claim:
    """A sentence that could turn out false.

    Attributes:
        statement: what the text says, in our words, with its section.
        holds: whether it holds here.
        figures: the numbers that decide.
        asserted: demanded: the text's own sentence as it stands, or one of ours that says
            `beyond the text`; False: reported beside, counts for nothing.
    """

    statement: str
    holds: bool
    figures: str
    asserted: bool = True

    @property
    def verdict(self) -> str:
        """`holds` or `does not hold`."""
        return "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Table:
    """Rows as they are written to Markdown and CSV.

    Attributes:
        title: what it shows, with units.
        columns: names, with units where they differ.
        rows: values in the order of the columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when it is written.

    Attributes:
        draw: makes it.
        name: added to the item's file name; empty for the first.
    """

    draw: Callable[[], Figure]
    name: str = ""


@dataclass(frozen=True, eq=False)
class Item:
    """What came out.

    Attributes:
        paper: as on the command line: `conset`, `wang-ranka`, `thakur`, `bokhari-nicol`.
        name: as the text calls it: `Table 1`, `Figure 5`; a claim by its subject.
        title: what it shows.
        about: how it was made: pattern, machine, method, model, sync, settings; one paragraph.
        cells: numbers beside the text's.
        claims: sentences that could turn out false.
        tolerance: largest |error| of a cell without departure; None: the claims say what is
            demanded.
        tables: further tables, beside those of the cells and claims.
        pictures: drawn when written; without any the errors of the cells are.
        departures: what differs from the text and why, in words.
        measured: tables of what was measured in this run, which another run repeats only roughly:
            printed and in `--json`, never in a file.
        basis: `computed`: schedules compiled here, counted, predicted or simulated; `formula`: an
            expression that the text prints, on the text's own constants or on constants fitted to
            its numbers; `transcribed`: the text's numbers as they are printed, nothing beside them.
    """

    paper: str
    name: str
    title: str
    about: str
    cells: tuple[Cell, ...] = ()
    claims: tuple[Claim, ...] = ()
    tolerance: float | None = None
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    departures: tuple[str, ...] = ()
    measured: tuple[Table, ...] = ()
    basis: Basis = field(kw_only=True)

    def __post_init__(self) -> None:
        subject = f"{self.paper} {self.name}"
        if self.basis == "transcribed":
            if self.cells:
                raise ValueError(f"{subject}: cells must be computed, basis is transcribed")
        elif not self.cells and not self.claims and not self.tables:
            raise ValueError(f"{subject}: at least one cell, claim or table is required")

    @property
    def basis_sentence(self) -> str:
        """The first line of the item's page."""
        return f"{BASES[self.basis].capitalize()}."

    @property
    def derivation(self) -> str:
        """What was computed from what: the first sentence of `about`."""
        return self.about.partition(". ")[0].rstrip(".")

    @property
    def asserted(self) -> tuple[Claim, ...]:
        """The claims that count."""
        return tuple(claim for claim in self.claims if claim.asserted)

    @property
    def errors(self) -> tuple[float, ...]:
        """Of the cells."""
        return tuple(cell.error for cell in self.cells)

    @property
    def rms_error(self) -> float | None:
        """Root of the mean square of the errors; None without cells."""
        return rms(self.errors) if self.cells else None

    @property
    def max_error(self) -> float | None:
        """The largest |error|; None without cells."""
        return max(abs(error) for error in self.errors) if self.cells else None

    @property
    def outside(self) -> tuple[Cell, ...]:
        """Cells beyond the tolerance that no departure explains."""
        if self.tolerance is None:
            return ()
        return tuple(
            c for c in self.cells if not c.departure and not abs(c.error) <= self.tolerance
        )

    @property
    def failed(self) -> tuple[Claim, ...]:
        """Assertions that do not hold."""
        return tuple(claim for claim in self.asserted if not claim.holds)

    @property
    def agrees(self) -> bool:
        """Every cell within the tolerance and every assertion holds."""
        return not self.outside and not self.failed

    @property
    def verdict(self) -> str:
        """`agrees`, `does not agree`, or `nothing demanded`.

        The last without assertions and without a tolerance on cells.
        """
        if not self.asserted and (not self.cells or self.tolerance is None):
            return "nothing demanded"
        return "agrees" if self.agrees else "does not agree"

    @property
    def all_departures(self) -> tuple[str, ...]:
        """In words: the item's own, those of its cells, cells outside, claims that do not hold."""
        own = list(self.departures)
        own += [f"{c.row}, {c.column}: {c.departure}" for c in self.cells if c.departure]
        own += self._outside_in_words()
        own += [f"{claim.verdict}: {claim.statement}: {claim.figures}" for claim in self.failed]
        return tuple(own)

    def _outside_in_words(self) -> list[str]:
        """Each cell outside, or how many and the farthest where the table of cells shows more."""

        def words(cell: Cell) -> str:
            return (
                f"{cell.row}, {cell.column}: {_short(cell.ours)} against "
                f"{_short(cell.published)} ({cell.error:+.1%})"
            )

        if len(self.outside) <= MANY:
            return [words(cell) for cell in self.outside]
        farthest = max(self.outside, key=lambda cell: abs(cell.error))
        return [
            f"{len(self.outside)} of {len(self.cells)} cells outside the tolerance, the farthest: "
            f"{words(farthest)}"
        ]

    def all_tables(self) -> tuple[Table, ...]:
        """The cells as a table, the item's own tables, the claims as a table."""
        tables = list(self.tables)
        if self.cells:
            rows = tuple(
                (c.row, c.column, c.published, c.ours, f"{c.error:+.2%}") for c in self.cells
            )
            tables.insert(
                0,
                Table(
                    "Cells: published and ours",
                    ("row", "column", "published", "ours", "error"),
                    rows,
                ),
            )
        if self.claims:
            columns = ("claim", "verdict", "figures", "counts")
            claims = tuple(
                (c.statement, c.verdict, c.figures, "yes" if c.asserted else "reported")
                for c in self.claims
            )
            tables.append(Table("Claims", columns, claims))
        return tuple(tables)

    def to_object(self) -> dict[str, Any]:
        """As in `reproduce --json`."""
        return {
            "paper": self.paper,
            "item": self.name,
            "title": self.title,
            "basis": self.basis,
            "cells": len(self.cells),
            "assertions": len(self.asserted),
            "failed_assertions": len(self.failed),
            "rms_error": self.rms_error,
            "max_error": self.max_error,
            "agrees": self.agrees,
            "verdict": self.verdict,
            "departures": list(self.all_departures),
            "tolerance": self.tolerance,
            "about": self.about,
            "claims": [
                {
                    "claim": c.statement,
                    "holds": c.holds,
                    "figures": c.figures,
                    "asserted": c.asserted,
                }
                for c in self.claims
            ],
            "measured": [
                {
                    "title": t.title,
                    "columns": list(t.columns),
                    "rows": [list(row) for row in t.rows],
                }
                for t in self.measured
            ],
        }


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def rms(errors: Sequence[float]) -> float:
    """Root of the mean square; 0 without any."""
    return sqrt(sum(error * error for error in errors) / len(errors)) if errors else 0.0


def read_published(folder: str, name: str) -> list[dict[str, str]]:
    """The rows of `<folder>/published/<name>.csv`, column → text.

    Lines with # say where it is printed.
    """
    file = files("conset_papers").joinpath(folder, "published", f"{name}.csv")
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))
