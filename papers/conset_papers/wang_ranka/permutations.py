"""Numbers of permutations (Sections 2.1, 4.1, 4.2, 5).

The text's algorithms and today's, each beside its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import TYPE_CHECKING

import conset
from conset.compilation.summary import half_duplex_units
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads
from conset_papers.wang_ranka.times import DEGREES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conset.schedule.schedule import Schedule

MACHINE = "hypercube:6"
NODES = 64
SEEDS = 50
"""Drawings of each density, as many as the text has."""
TOLERANCE = 0.05
ABOUT = (
    f"random:degree=d, regular both ways (every node sends and receives exactly d), on {MACHINE}: "
    f"{NODES} nodes, "
    f"e-cube routes, {SEEDS} drawings (seeds 0 to {SEEDS - 1}, the compiler's seed the same), d = "
    "4, 8, 16, 32, 48. "
    "Phases are counted in compiled schedules; bounds are those of `conset bound` in each "
    "schedule's own class. "
    "Units: a node overlaps a send and a receive only in an exchange with one partner "
    "(Section 2.2), so a "
    "permutation of exchanges costs 1, any other 2. No time is involved: no model, no sync."
)
DEPARTURES = (
    "the text's d + log d is an upper bound of RS_N's mean, stated without its base; log2 is "
    "taken, and the cells "
    "compare our means with it: all errors are to be negative and small",
    "the text says n iterations for LP; 63 have partners, and permutations that nobody needs "
    "are not counted",
    "Figure 4 resets PATHS once, outside Repeat: links would stay claimed for ever; it is reset "
    "in every permutation",
)


@dataclass(frozen=True)
class Count:
    """One schedule: its phases, its units of a half-duplex node, its bound."""

    phases: int
    units: int
    bound: int


METHODS = {
    "LP": "lp",
    "RS_N": "rs-n",
    "RS_NL": "rs-nl",
    "coloring": "coloring",
    "first-fit": "first-fit",
    "negotiated": "negotiated",
    "half-duplex": "half-duplex",
}
"""Name here → method; the text's three first."""


def reproduce(seeds: int = SEEDS) -> Item:
    """Compiles every pattern by every method and counts.

    Args:
        seeds: drawings of each density.
    """
    counts = {
        (name, degree): counted(method, degree, seeds)
        for name, method in METHODS.items()
        for degree in DEGREES
    }
    cells = [
        Cell("RS_N", f"d = {degree}", degree + log2(degree), _mean(counts["RS_N", degree], _phases))
        for degree in DEGREES
    ]
    cells += [
        Cell("LP", f"d = {degree}", NODES - 1, _mean(counts["LP", degree], _phases))
        for degree in DEGREES
    ]
    return Item(
        "wang-ranka",
        "Permutations",
        "numbers of permutations, beside bounds and better schedules",
        ABOUT,
        cells=tuple(cells),
        claims=_claims(counts),
        tolerance=TOLERANCE,
        tables=(
            _table(counts),
            _ranges_table(counts),
            _units_table(counts),
            _rows_table(min(seeds, 10)),
        ),
        pictures=(Picture(lambda: _draw(counts)),),
        departures=DEPARTURES,
        basis="computed",
    )


Counts = dict[tuple[str, int], tuple[Count, ...]]


@cache
def counted(method: str, degree: int, seeds: int, generator: str = "random") -> tuple[Count, ...]:
    """One entry for each drawing."""

    def count(seed: int) -> Count:
        pattern = conset.load_pattern(f"{generator}:degree={degree}", MACHINE, seed=seed)
        schedule: Schedule = conset.compile(pattern, MACHINE, method=method, seed=seed)
        return Count(schedule.phases, half_duplex_units(schedule), conset.bound(schedule).phases)

    return tuple(on_threads(count, range(seeds)))


def _claims(counts: Counts) -> tuple[Claim, ...]:
    def means(name: str, figure: Callable[[Count], int] | None = None) -> list[float]:
        return [_mean(counts[name, degree], figure or _phases) for degree in DEGREES]

    limits = [degree + log2(degree) for degree in DEGREES]
    units, lp, rs_nl = means("half-duplex", _units), means("LP", _units), means("RS_NL", _units)
    return (
        Claim(
            "Section 4.2: RS_N needs at most d + log d permutations on average",
            all(a <= b for a, b in zip(means("RS_N"), limits, strict=True)),
            f"{_describe(means('RS_N'), 2)} against {_describe(limits, 1)}",
        ),
        Claim(
            "beyond the text: negotiated needs fewer permutations than RS_NL, under "
            "the same limits",
            all(a < b for a, b in zip(means("negotiated"), means("RS_NL"), strict=True)),
            f"{_describe(means('negotiated'), 2)} against {_describe(means('RS_NL'), 2)}; bound "
            f"{_describe(means('negotiated', _bound), 2)}",
            asserted=False,
        ),
        Claim(
            "beyond the text: half-duplex needs fewer units than LP and RS_NL",
            all(a <= min(b, c) for a, b, c in zip(units, lp, rs_nl, strict=True)),
            f"{_describe(units, 1)} against LP {_describe(lp, 1)} and RS_NL "
            f"{_describe(rs_nl, 1)}; bound "
            f"{_describe(means('half-duplex', _bound), 1)}",
            asserted=False,
        ),
    )


def _table(counts: Counts) -> Table:
    columns = (
        "d",
        "d + log2 d",
        "bound: ports",
        "coloring",
        "RS_N",
        "bound: ports and links",
        "negotiated",
        "first-fit",
        "RS_NL",
        "LP",
    )
    rows: list[tuple[Value, ...]] = [
        (
            degree,
            degree + log2(degree),
            _mean(counts["coloring", degree], _bound),
            *(_mean(counts[name, degree], _phases) for name in ("coloring", "RS_N")),
            _mean(counts["negotiated", degree], _bound),
            *(
                _mean(counts[name, degree], _phases)
                for name in ("negotiated", "first-fit", "RS_NL", "LP")
            ),
        )
        for degree in DEGREES
    ]
    return Table(
        "Permutations: means; coloring and RS_N share links, the others do not",
        columns,
        tuple(rows),
    )


def _ranges_table(counts: Counts) -> Table:
    rows: list[tuple[Value, ...]] = [
        (degree, *(_range(counts[name, degree]) for name in METHODS)) for degree in DEGREES
    ]
    return Table("Least and most: permutations over the drawings", ("d", *METHODS), tuple(rows))


def _units_table(counts: Counts) -> Table:
    shown = ("LP", "RS_N", "RS_NL", "coloring", "negotiated", "half-duplex")
    rows: list[tuple[Value, ...]] = [
        (
            degree,
            _mean(counts["half-duplex", degree], _bound),
            *(_mean(counts[name, degree], _units) for name in shown),
        )
        for degree in DEGREES
    ]
    title = "Units of a half-duplex node: means, beside the most distinct partners"
    return Table(title, ("d", "bound", *shown), tuple(rows))


def _rows_table(seeds: int) -> Table:
    """Only the rows regular: the largest column is what every algorithm needs."""
    rows: list[tuple[Value, ...]] = []
    for degree in DEGREES:
        found = {
            name: counted(METHODS[name], degree, seeds, "random-rows")
            for name in ("RS_N", "RS_NL", "coloring")
        }
        rows.append(
            (
                degree,
                degree + log2(degree),
                _mean(found["coloring"], _bound),
                *(_mean(count, _phases) for count in found.values()),
            )
        )
    title = (
        f"If only rows were regular: means of {seeds} drawings of random-rows, the largest "
        "column decides"
    )
    return Table(
        title, ("d", "d + log2 d", "largest column", "RS_N", "RS_NL", "coloring"), tuple(rows)
    )


def _draw(counts: Counts) -> Figure:
    def line(
        name: str,
        figure: Callable[[Count], int],
        colour: int,
        kind: str = "line",
        less: bool = True,
    ) -> Line:
        values = [
            _mean(counts[name, degree], figure) - (degree if less else 0) for degree in DEGREES
        ]
        return Line(name if kind == "line" else f"bound of {name}", DEGREES, values, kind, colour)

    names = ("RS_NL", "RS_N", "first-fit", "negotiated", "coloring")
    above = [Line("d + log2 d (text)", DEGREES, [log2(degree) for degree in DEGREES], "quiet")]
    above += [line(name, _phases, k) for k, name in enumerate(names)]
    above += [line("negotiated", _bound, 0, "bound")]
    places = {"RS_NL": 0, "RS_N": 1, "LP": 5, "half-duplex": 6}
    units = [line(name, _units, k, less=False) for name, k in places.items()]
    units += [line("half-duplex", _bound, 0, "bound", less=False)]
    across = "messages sent and received by every node, d"
    ticks = (DEGREES, [str(degree) for degree in DEGREES])
    return picture_charts(
        [
            Panel(
                "Permutations beyond d",
                across,
                "mean permutations - d",
                above,
                ticks=ticks,
                y_limits=(-0.3, 11),
            ),
            Panel("Units of a half-duplex node", across, "mean units", units, ticks=ticks),
        ],
        title="How many permutations carry d messages from and to each of 64 nodes",
        subtitle=(
            f"{MACHINE}, patterns regular both ways, {len(counts['LP', 4])} drawings of each d"
        ),
    )


def _phases(count: Count) -> int:
    return count.phases


def _units(count: Count) -> int:
    return count.units


def _bound(count: Count) -> int:
    return count.bound


def _range(counts: Sequence[Count]) -> str:
    return f"{min(map(_phases, counts))}-{max(map(_phases, counts))}"


def _mean(counts: Sequence[Count], figure: Callable[[Count], int]) -> float:
    return sum(figure(count) for count in counts) / len(counts)


def _describe(values: Sequence[float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)
