"""Item: one table, figure or claim of a paper as the pipeline reproduces it.

A number that the paper prints is a `Cell`, read from a CSV file beside the code that computes ours.
A sentence of the paper is a `Claim`. Both hold, fail, or are not judged. Not judged is what cannot
tell anything: a number that the paper does not print or that ours was fitted to, a misprint, a
sentence of our own. Every other cell has a tolerance, 0 by default; an item whose tolerances are
larger states the reason. A number that several tables contain is judged in each of them and counted
in one. Nothing is tuned until it agrees.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Value = str | float | int | None
"""An entry of a table; numbers are written to full precision in CSV, shortened for people."""

Basis = Literal["computed", "formula", "transcribed"]
"""What an item rests on."""
BASES: dict[Basis, str] = {
    "computed": "compiled and simulated",
    "formula": "formula of the paper on its constants",
    "transcribed": "transcribed",
}
"""Basis → description, the first line of the item's page."""
MANY = 8
"""More cells than this outside their tolerance are counted instead of named."""

Verdict = Literal["fails", "holds", "not judged"]
VERDICTS: tuple[Verdict, ...] = ("fails", "holds", "not judged")
"""Of cells, claims and items, failures first."""


@dataclass(frozen=True)
class Cell:
    """One number of a paper beside ours.

    Attributes:
        row: label of its row.
        column: label of its column.
        published: the number that the paper prints.
        ours: the number that the pipeline gives.
        tolerance: largest |error| at which the cell holds.
        aside: why the cell is not judged: ours was fitted to it, the paper does not print it, or it
            is a misprint.
        counted_in: the item that counts this number, where another one does.
    """

    row: str
    column: str
    published: float
    ours: float
    tolerance: float = 0.0
    aside: str = ""
    counted_in: str = ""

    @property
    def error(self) -> float:
        """Relative, ours / published − 1; the difference where nothing is published but 0."""
        return self.ours / self.published - 1 if self.published else self.ours

    @property
    def verdict(self) -> Verdict:
        """Whether the error is within the tolerance."""
        if self.aside:
            return "not judged"
        return "holds" if abs(self.error) <= self.tolerance else "fails"


@dataclass(frozen=True)
class Claim:
    """A sentence that could turn out false.

    Attributes:
        statement: the paper's sentence, in our words, with its section.
        holds: whether it holds here.
        figures: the numbers that decide.
        asserted: the paper's own sentence as it stands; False: a sentence of ours, or one whose
            answer is an input: reported beside, not judged.
        counted_in: the item that counts this sentence, where another one does.
    """

    statement: str
    holds: bool
    figures: str
    asserted: bool = True
    counted_in: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether it holds, where it is judged."""
        if not self.asserted:
            return "not judged"
        return "holds" if self.holds else "fails"


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
    """The result of a reproduction.

    Attributes:
        paper: as on the command line: `conset`, `wang-ranka`, `thakur`, `bokhari-nicol`.
        name: as the paper calls it: `Table 1`, `Figure 5`; a claim by its subject.
        title: what it shows.
        about: how it was made: pattern, machine, method, model, sync, settings; one paragraph.
        cells: numbers beside the paper's.
        claims: sentences that could turn out false.
        why: the reason for the tolerances of the cells, where one is above 0.
        tables: further tables, beside those of the cells and claims.
        pictures: drawn when written; without any the errors of the cells are.
        departures: differences from the paper and their reasons.
        measured: tables of what was measured in this run, which another run repeats only roughly:
            printed and in `--json`, never in a file.
        basis: `computed`: schedules compiled here, counted, predicted or simulated; `formula`: an
            expression that the paper prints, on its own constants or on constants fitted to
            its numbers; `transcribed`: the paper's numbers as they are printed, nothing beside.
    """

    paper: str
    name: str
    title: str
    about: str
    cells: tuple[Cell, ...] = ()
    claims: tuple[Claim, ...] = ()
    why: str = ""
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
        if not self.why and any(cell.tolerance and not cell.aside for cell in self.cells):
            raise ValueError(f"{subject}: a reason for the tolerances is required")

    @property
    def basis_sentence(self) -> str:
        """The first line of the item's page."""
        return f"{BASES[self.basis].capitalize()}."

    @property
    def derivation(self) -> str:
        """What was computed from what: the first sentence of `about`."""
        return self.about.partition(". ")[0].rstrip(".")

    @property
    def errors(self) -> tuple[float, ...]:
        """Of the cells that are judged."""
        return tuple(cell.error for cell in self.cells if not cell.aside)

    @property
    def rms_error(self) -> float | None:
        """Root of the mean square of the errors; None without cells that are judged."""
        return rms(self.errors) if self.errors else None

    @property
    def max_error(self) -> float | None:
        """The largest |error|; None without cells that are judged."""
        return max(map(abs, self.errors), default=None)

    @property
    def outside(self) -> tuple[Cell, ...]:
        """Cells beyond their tolerance."""
        return tuple(cell for cell in self.cells if cell.verdict == "fails")

    @property
    def failed(self) -> tuple[Claim, ...]:
        """Claims that are judged and do not hold."""
        return tuple(claim for claim in self.claims if claim.verdict == "fails")

    @property
    def parts(self) -> tuple[Cell | Claim, ...]:
        """What has a verdict."""
        return (*self.cells, *self.claims)

    @property
    def verdict(self) -> Verdict:
        """`fails` where any cell or claim does, `holds` where any is judged."""
        found = {part.verdict for part in self.parts}
        return next((verdict for verdict in VERDICTS if verdict in found), "not judged")

    @property
    def outcome(self) -> Counter[str]:
        """How many cells and claims have each verdict, without those that another item counts."""
        return Counter(part.verdict for part in self.parts if not part.counted_in)

    @property
    def all_departures(self) -> tuple[str, ...]:
        """The item's own, cells that are not judged, cells outside, claims that do not hold."""
        asides = Counter(cell.aside for cell in self.cells if cell.aside)
        own = [
            *self.departures,
            *(f"not judged, {n} of the cells: {why}" for why, n in asides.items()),
        ]
        own += self._outside_in_words()
        own += [f"fails: {claim.statement}: {claim.figures}" for claim in self.failed]
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
            f"{len(self.outside)} of {len(self.errors)} cells outside the tolerance, the farthest: "
            f"{words(farthest)}"
        ]

    def all_tables(self) -> tuple[Table, ...]:
        """The cells as a table, the item's own tables, the claims as a table."""
        tables = list(self.tables)
        if self.cells:
            rows = tuple(
                (
                    *(c.row, c.column, c.published, c.ours, f"{c.error:+.2%}"),
                    *(f"{c.tolerance:.1%}", c.verdict),
                    c.aside or (c.counted_in and f"counted in {c.counted_in}"),
                )
                for c in self.cells
            )
            columns = (
                "row",
                "column",
                "published",
                "ours",
                "error",
                "tolerance",
                "verdict",
                "note",
            )
            tables.insert(0, Table("Cells: published and ours", columns, rows))
        if self.claims:
            names = ("claim", "holds", "verdict", "figures", "counted in")
            claims = tuple(
                (c.statement, "yes" if c.holds else "no", c.verdict, c.figures, c.counted_in)
                for c in self.claims
            )
            tables.append(Table("Claims", names, claims))
        return tuple(tables)

    def to_object(self) -> dict[str, Any]:
        """As in `reproduce --json`."""
        return {
            "paper": self.paper,
            "item": self.name,
            "title": self.title,
            "basis": self.basis,
            "verdict": self.verdict,
            **{verdict.replace(" ", "_"): self.outcome[verdict] for verdict in VERDICTS},
            "rms_error": self.rms_error,
            "max_error": self.max_error,
            "departures": list(self.all_departures),
            "tolerances": self.why,
            "about": self.about,
            "cells": [{**vars(c), "error": c.error, "verdict": c.verdict} for c in self.cells],
            "claims": [{**vars(c), "verdict": c.verdict} for c in self.claims],
            "measured": [vars(table) for table in self.measured],
        }


def outcome_of(items: Iterable[Item]) -> Counter[str]:
    """How many cells and claims of several items have each verdict."""
    return sum((item.outcome for item in items), Counter[str]())


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def rms(errors: Sequence[float]) -> float:
    """Root of the mean square; 0 without any."""
    return sqrt(sum(error * error for error in errors) / len(errors)) if errors else 0.0


def read_published(folder: str, name: str) -> list[dict[str, str]]:
    """The rows of `<folder>/published/<name>.csv`, column → text.

    Lines with # give the place where it is printed.
    """
    return read_rows(folder, "published", f"{name}.csv")


def read_rows(*path: str) -> list[dict[str, str]]:
    """The rows of a CSV file of this package, column → text, without comments (#)."""
    file = files("conset_papers").joinpath(*path)
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))
