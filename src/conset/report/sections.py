"""Sections: nouns and results as typed data, which the four renderers turn into text.

A noun gives a `Section`: title, verdict, and parts with facts, a table, notes and pictures.
`terminal`, `markdown` and `page` (HTML) render it; what `--json` prints is in `objects`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[], "Figure"]
"""A picture with its data; drawn when it is called."""


class Fact(NamedTuple):
    """One line.

    Attributes:
        label: what it is about; may be empty.
        value: what holds.
        origin: where a number comes from; may be empty.
        strong: the beginning of the value, which is emphasized; may be empty.
        detail: whether a command prints it with `--details` only.
    """

    label: str
    value: str
    origin: str = ""
    strong: str = ""
    detail: bool = False


@dataclass(frozen=True)
class Table:
    """A table of text; renderers escape it. The second line of a cell is quiet.

    Attributes:
        columns: heads.
        rows: cells.
        left: columns of text, aligned to the left; numbers are aligned to the right.
        wrapped: columns of long text, which may take several lines.
        links: anchors of sections that the first cells of rows lead to; (): none.
        head_links: likewise of heads; "": none.
        more: a note below it.
        best: rows that stand out.
        key: the column that is emphasized in these rows where a whole row cannot; -1: none.
        strong: cells (row, column) that stand out.
        dim: rows that are quiet.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Collection[int] = ()
    wrapped: Collection[int] = ()
    links: Sequence[str] = ()
    head_links: Sequence[str] = ()
    more: str = ""
    best: Collection[int] = ()
    key: int = 0
    strong: Collection[tuple[int, int]] = ()
    dim: Collection[int] = ()

    def without_empty(self) -> Table:
        """Return the table without columns in which no row has a text."""
        used = [k for k in range(len(self.columns)) if any(row[k] for row in self.rows)]
        if not self.rows or len(used) == len(self.columns):
            return self
        return Table(
            [self.columns[k] for k in used],
            [[row[k] for k in used] for row in self.rows],
            [used.index(k) for k in self.left if k in used],
            [used.index(k) for k in self.wrapped if k in used],
            self.links,
            more=self.more,
            best=self.best,
        )


@dataclass(frozen=True)
class Part:
    """A heading with what belongs to it.

    Attributes:
        title: the heading; may be empty.
        facts: lines of label and value.
        table: or None.
        notes: sentences below the table.
        draws: pictures.
        folded: whether a page shows it only when it is opened.
        card: HTML, escaped; may be empty.
        text: as in the terminal, without markup; may be empty.
        bars: label, value and share of the longest, of a page's bar chart.
    """

    title: str = ""
    facts: Sequence[Fact] = ()
    table: Table | None = None
    notes: Sequence[str] = ()
    draws: Sequence[Draw] = ()
    folded: bool = False
    card: str = ""
    text: str = ""
    bars: Sequence[tuple[str, str, float]] = ()


@dataclass(frozen=True)
class Section:
    """A noun or a result for people.

    Attributes:
        title: what it is; "": neither heading nor verdict.
        subtitle: in a line.
        verified: whether it is right; None: it does not contain enough to be checked.
        violations: rules that it breaks, as text.
        parts: in their order.
        label: what a page shows beside the title in place of the verdict; "": the verdict.
        answer: what comes before all else: how much faster, how near to the bound; may be empty.
    """

    title: str
    subtitle: str = ""
    verified: bool | None = None
    violations: Sequence[str] = ()
    parts: Sequence[Part] = ()
    label: str = ""
    answer: str = ""

    @property
    def verdict(self) -> str:
        """Whether it is right, as text."""
        verdicts = {None: "not checked", True: "verified", False: "breaks rules"}
        return self.label or verdicts[self.verified]

    @property
    def draws(self) -> list[Draw]:
        """The pictures of all parts."""
        return [draw for part in self.parts for draw in part.draws]
