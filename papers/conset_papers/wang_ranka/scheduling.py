"""What scheduling gives and what it costs: numbers of permutations, Figures 10 and 11.

Numbers of permutations (Sections 2.1, 4.1, 4.2, 5).

The text's algorithms and today's, each beside its bound.

Figures 10 and 11: scheduling time over communication time for RS_N and RS_NL.

And the reuses at which they pay.

Steps of scheduling are counted in the text's own pseudo-code (Figures 3 and 4), run as it is
printed: a measured time is that of today's processor and differs from run to run; a number of steps
does neither. A step takes as long as RS_N's largest ratio in the text says on the iPSC/860; here,
as much as compiles of RS_N grow with the steps. The ratio of the two is the one factor by which a
time measured here is that of a node of 1990; nothing is compared without it. One step is an entry
of a row that is looked at (is it active, is its target free), a link of a path that is looked at or
marked, an entry of Tsend, Trecv or of the marks that is set back, or the turn of a row. Not
counted: compressing COM, which is done once, in parallel, for as long as its messages take (Section
4.2 gives its order only).

This is the text's algorithm as a yardstick, not the compiler's:
`conset.methods.phases.random_schedule` makes the schedules. PATHS is reset with every permutation,
as there; Figure 4 resets it once, so that links would stay claimed for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import ceil, inf, log, log2
from random import Random
from typing import TYPE_CHECKING

import numpy as np

import conset
from conset.base import format_size
from conset.compilation import half_duplex_units
from conset.report import Line, Panel, picture_charts
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads
from conset_papers.wang_ranka.times import (
    AC,
    AC_RANDOM,
    DEGREES,
    MACHINE,
    RS_N,
    RS_NL,
    SEEDS,
    SIZES,
    Algorithm,
    Times,
    fact,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from conset.schedule import Schedule

CUBE = "hypercube:6"
NODES = 64
DRAWINGS = 50
"""Drawings of each density, as many as the text has."""
PERMUTATIONS_ABOUT = (
    f"random:degree=d, regular both ways (every node sends and receives exactly d), on "
    f"{CUBE}: {NODES} nodes, "
    f"e-cube routes, {DRAWINGS} drawings (seeds 0 to {DRAWINGS - 1}, "
    "the compiler's seed the same), d = "
    "4, 8, 16, 32, 48. "
    "Phases are counted in compiled schedules; bounds are those of `conset bound` in each "
    "schedule's own class. "
    "Units: a node overlaps a send and a receive only in an exchange with one partner "
    "(Section 2.2), so a "
    "permutation of exchanges costs 1, any other 2. No time is involved: no model, no sync."
)
PERMUTATIONS_DEPARTURES = (
    "the paper's d + log d is an upper bound of RS_N's mean, stated without its base; log2 is "
    "taken: with the natural logarithm it fails at 64 nodes too. It is computed, not printed, so "
    "there is no cell",
    "Figure 4 resets PATHS once, outside Repeat: links would stay claimed for ever; it is reset "
    "in every permutation",
)
CUBES = (6, 8, 10, 12)
"""Dimensions of the hypercubes on which d + log2 d is tested: 64 to 4,096 nodes."""
CUBE_DEGREES = (4, 16, 48)
CUBE_DRAWINGS = 5


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


def permutations(seeds: int = DRAWINGS) -> Item:
    """Compiles every pattern by every method and counts.

    Args:
        seeds: drawings of each density.
    """
    counts = {
        (name, degree): counted(method, degree, seeds)
        for name, method in METHODS.items()
        for degree in DEGREES
    }
    return Item(
        "wang-ranka",
        "Permutations",
        "numbers of permutations, beside bounds and better schedules",
        PERMUTATIONS_ABOUT,
        claims=_claims(counts),
        tables=(
            _table(counts),
            _ranges_table(counts),
            _units_table(counts),
            _rows_table(min(seeds, 10)),
            _cubes_table(),
        ),
        pictures=(Picture(lambda: _permutations_draw(counts)),),
        departures=PERMUTATIONS_DEPARTURES,
        basis="computed",
    )


Counts = dict[tuple[str, int], tuple[Count, ...]]


@cache
def counted(method: str, degree: int, seeds: int, generator: str = "random") -> tuple[Count, ...]:
    """One entry for each drawing."""

    def count(seed: int) -> Count:
        pattern = conset.load_pattern(f"{generator}:degree={degree}", CUBE, seed=seed)
        schedule: Schedule = conset.compile(pattern, CUBE, method=method, sync="barrier", seed=seed)
        return Count(schedule.phases, half_duplex_units(schedule), conset.bound(schedule).phases)

    return tuple(on_threads(count, range(seeds)))


def _claims(counts: Counts) -> tuple[Claim, ...]:
    def means(name: str, figure: Callable[[Count], int] | None = None) -> list[float]:
        return [_mean(counts[name, degree], figure or _phases) for degree in DEGREES]

    limits = [degree + log2(degree) for degree in DEGREES]
    units, lp, rs_nl = means("half-duplex", _units), means("LP", _units), means("RS_NL", _units)
    larger = _on_cubes()
    above = [f"{p:.1f} at d = {d}, {n:,} nodes" for (n, d), p in larger.items() if p > d + log2(d)]
    steps = [
        steps / count / (NODES * log(d) + NODES) for d, (steps, count) in _text_steps().items()
    ]
    return (
        Claim(
            "Section 4.2: RS_N needs at most d + log d permutations on average, with 64 nodes",
            all(a <= b for a, b in zip(means("RS_N"), limits, strict=True)),
            f"{_describe(means('RS_N'), 2)} against {_describe(limits, 1)}",
        ),
        Claim(
            "Section 4.2: RS_N needs at most d + log d permutations on average, with any number of "
            "nodes, here 64 to 4,096",
            not above,
            f"above it: {', '.join(above)}" if above else "never above it",
        ),
        Claim(
            "Section 4.2: a permutation of RS_N takes O(n ln d + n) steps, so that steps over that "
            "do not grow with d",
            steps == sorted(steps, reverse=True),
            f"{_describe(steps, 2)} (d = 4 to 48)",
        ),
        Claim(
            "beside: LP takes n permutations (Section 4.1); one sends nothing, and those that no "
            "message needs are not counted",
            max(means("LP")) <= NODES - 1,
            _describe(means("LP"), 2),
            asserted=False,
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


def _text_steps() -> dict[int, tuple[float, float]]:
    """Density → steps and permutations of the paper's pseudo-code of RS_N."""
    return {degree: count_steps(degree, links=False) for degree in DEGREES}


@cache
def _on_cubes() -> dict[tuple[int, int], float]:
    """(nodes, density) → mean permutations of RS_N on larger hypercubes."""
    means = {}
    for dimension, degree in product(CUBES, CUBE_DEGREES):
        on = f"hypercube:{dimension}"
        found = [
            conset.compile(
                f"random:degree={degree}", on, method="rs-n", sync="none", seed=seed
            ).phases
            for seed in range(CUBE_DRAWINGS)
        ]
        means[1 << dimension, degree] = float(np.mean(found))
    return means


def _cubes_table() -> Table:
    rows = tuple((n, d, d + log2(d), mean) for (n, d), mean in _on_cubes().items())
    title = f"RS_N on larger machines: means of {CUBE_DRAWINGS} drawings"
    return Table(title, ("nodes", "d", "d + log2 d", "RS_N"), rows)


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


def _permutations_draw(counts: Counts) -> Figure:
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
        subtitle=(f"{CUBE}, patterns regular both ways, {len(counts['LP', 4])} drawings of each d"),
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


NOBODY = -1
LONG_FROM = 128
"""The text's ratios are of messages from here on [B]."""
CLOCK_HZ = 40e6
"""Of the i860; commonly reported."""
REPEATS = 3
"""Compiles of each drawing that are timed; the least counts."""
COST_ABOUT = (
    "Communication: random:degree=d, regular both ways, on ipsc860:64, mean of {seeds} drawings "
    "simulated by "
    "circuit, {name} under {sync}. Scheduling: steps counted in the text's pseudo-code (entries "
    "looked at, links "
    "looked at or marked, turns, resets), each of {step:.2f} us. That one figure is fitted: with "
    "it RS_N's largest "
    "ratio from 128 B on is the 0.6 of Figure 10, which is no claim, therefore; all else in both "
    "figures follows (the "
    "i860 at 40 MHz had {cycles:.0f} cycles for a step). A step count is the same in every run. "
    "Reuses: how often a "
    "schedule must be used until scheduling and communication together take less than AC, which "
    "schedules nothing."
)
COST_DEPARTURES = (
    "LP is a fixed rule and has nothing to schedule: it pays at its first use wherever it is "
    "faster than AC",
    "Figures 10 and 11 are not in the scan; the limits are those of Section 6's words",
    "communication and scheduling are those of 1990's machine in both figures; what this computer "
    "takes to schedule is "
    "printed and in `--json` only, with the factor between a step there and here, and "
    "asserted nowhere",
)
Ratios = dict[int, tuple[float, ...]]
"""Density → ratio at each of `SIZES`."""


@dataclass(frozen=True)
class Subject:
    """What a figure is about.

    Attributes:
        algorithm: whose scheduling.
        links: whether it minds links.
        most: fact that says the largest ratio.
        small: fact that says the ratio at `small_at`.
        small_at: size of it [B].
    """

    algorithm: Algorithm
    links: bool
    most: str
    small: str
    small_at: int


SUBJECTS = {
    10: Subject(RS_N, False, "rs_n_ratio_most", "rs_n_ratio_2048", 2048),
    11: Subject(RS_NL, True, "rs_nl_ratio_most", "rs_nl_ratio_8192", 8192),
}


def figures_10_and_11(figure: int, seeds: int = SEEDS) -> Item:
    """Counts steps, simulates communication, measures today's scheduling.

    Args:
        figure: 10 or 11.
        seeds: drawings.
    """
    subject = SUBJECTS[figure]
    times = simulated((AC, AC_RANDOM, RS_N, RS_NL), seeds=seeds)
    step_s = fitted_step_s(times, seeds)
    counted = {d: step_s * count_steps(d, subject.links, seeds)[0] for d in DEGREES}
    today = {d: measured_s(subject.algorithm, d, seeds) for d in DEGREES}
    here = Calibration.of_compiles(step_s, seeds)
    ratio = {d: ratios(times, subject, d, counted[d]) for d in DEGREES}
    scaled = {d: ratios(times, subject, d, here.there_s(today[d])) for d in DEGREES}
    name = subject.algorithm.name
    return Item(
        "wang-ranka",
        f"Figure {figure}",
        f"scheduling time over communication time, {name}",
        COST_ABOUT.format(
            seeds=seeds,
            name=name,
            sync=subject.algorithm.sync,
            step=step_s * 1e6,
            cycles=step_s * CLOCK_HZ,
        ),
        claims=_counted_claims(subject, ratio),
        tables=(
            _scheduling_table(subject, counted, seeds),
            _ratio_table("Ratio: scheduling over communication", ratio),
            *_reuse_tables(times, subject, counted),
        ),
        pictures=(Picture(lambda: _cost_draw(times, subject, ratio, counted)),),
        departures=COST_DEPARTURES,
        measured=(
            _measured_table(subject, today, here, seeds),
            _ratio_table(
                f"Ratio here: measured scheduling times {here.factor:.0f}, over simulated "
                "communication",
                _rounded(scaled),
            ),
        ),
        basis="computed",
    )


def fitted_step_s(times: Times, seeds: int) -> float:
    """The time of a step at which RS_N's largest ratio is the text's [s]."""
    largest = max(
        count_steps(d, False, seeds)[0] / times[RS_N.name, d][k]
        for d in DEGREES
        for k, size in enumerate(SIZES)
        if size >= LONG_FROM
    )
    return fact("rs_n_ratio_most") / largest


@dataclass(frozen=True)
class Calibration:
    """A step on both processors.

    Attributes:
        there: on the iPSC/860 [s].
        here: on this computer [s].
        fixed: what a compile takes here whatever it schedules, which is not the algorithm's [s].
    """

    there: float
    here: float
    fixed: float

    @staticmethod
    def of_compiles(step_s: float, seeds: int) -> Calibration:
        """By compiles of RS_N at all densities: a straight line over the steps.

        `step_s` is that of the iPSC/860.
        """
        steps = [count_steps(d, False, seeds)[0] for d in DEGREES]
        here, fixed = np.polyfit(steps, [measured_s(RS_N, d, seeds) for d in DEGREES], 1)
        return Calibration(step_s, float(here), float(fixed))

    @property
    def factor(self) -> float:
        """How much longer a step takes there."""
        return self.there / self.here

    def there_s(self, measured_s: float) -> float:
        """What a compile that takes `measured_s` here would take there [s]."""
        return self.factor * max(measured_s - self.fixed, 0.0)


@cache
def measured_s(algorithm: Algorithm, degree: int, seeds: int) -> float:
    """Mean over drawings of the least of a few compiles, scheduling alone, here [s]."""
    total = 0.0
    for seed in range(seeds):
        pattern = conset.load_pattern(f"random:degree={degree}", MACHINE, seed=seed)
        total += min(_compile_s(pattern, algorithm, seed) for _ in range(REPEATS))
    return total / seeds


def _compile_s(pattern: conset.Pattern, algorithm: Algorithm, seed: int) -> float:
    report = conset.compile(
        pattern, MACHINE, method=algorithm.method, sync=algorithm.sync, seed=seed
    ).report
    assert report is not None  # a compile has one
    return report.compile_s


def ratios(times: Times, subject: Subject, degree: int, scheduling_s: float) -> tuple[float, ...]:
    """Scheduling over communication at each of `SIZES`."""
    return tuple(scheduling_s / time for time in times[subject.algorithm.name, degree])


def _largest(ratio: Ratios, least: int = 0, most: float = inf) -> float:
    return max(
        row[k] for row in ratio.values() for k, size in enumerate(SIZES) if least <= size <= most
    )


def _counted_claims(subject: Subject, ratio: Ratios) -> tuple[Claim, ...]:
    name, most, small = subject.algorithm.name, fact(subject.most), fact(subject.small)
    largest, at = _largest(ratio, LONG_FROM), _largest(ratio, subject.small_at)
    drops = {d: [row[k] / row[k + 1] for k in range(SIZES.index(1024))] for d, row in ratio.items()}
    protocol = SIZES.index(64)
    sharpest = all(max(range(len(row)), key=lambda k: row[k]) == protocol for row in drops.values())
    beside = Claim(
        f"{name}: below 128 B too, at most {most}",
        _largest(ratio, 0, 64) <= most,
        f"largest {_largest(ratio, 0, 64):.2f}, at 16 B; the text says small messages, "
        "without a size",
        asserted=False,
    )
    what = f"{name}: at most {most} of the communication from 128 B on"
    limit = Claim(what, largest <= most, f"largest {largest:.2f}")
    return (
        *((limit,) if subject.links else ()),  # the step is fitted to RS_N's
        Claim(
            f"{name}: at most {small} from {format_size(subject.small_at)} on",
            at <= small,
            f"largest {at:.3f}",
        ),
        Claim(
            f"{name}: it declines most sharply between 64 and 128 B, where the protocol changes "
            "(up to 1 KiB)",
            sharpest,
            "by " + ", ".join(f"{row[protocol]:.2f}" for row in drops.values()) + " (d = 4 to 48); "
            "an input: the preset's overhead steps from 65 to 147 us at 100 B",
            asserted=False,
        ),
        *((beside,) if subject.links else ()),
    )


def reuses(
    times: Times, subject: Subject, degree: int, k: int, scheduling_s: float, against: str
) -> int | None:
    """How often a schedule must be used until it pays against AC; None: it never does."""
    saved = times[against, degree][k] - times[subject.algorithm.name, degree][k]
    return max(1, ceil(scheduling_s / saved)) if saved > 0 else None


def _scheduling_table(subject: Subject, counted: dict[int, float], seeds: int) -> Table:
    rows: list[tuple[Value, ...]] = []
    for d in DEGREES:
        steps, permutations = count_steps(d, subject.links, seeds)
        rows.append((d, permutations, steps, counted[d] * 1e3))
    title = f"Scheduling by {subject.algorithm.name}: steps of the text's pseudo-code"
    return Table(title, ("d", "permutations", "steps", "time [ms]"), tuple(rows))


def _ratio_table(title: str, ratio: Ratios) -> Table:
    return Table(
        title,
        ("d", *(format_size(size) for size in SIZES)),
        tuple((d, *row) for d, row in ratio.items()),
    )


def _rounded(ratio: Ratios) -> Ratios:
    """To what a measured ratio is good for."""
    return {d: tuple(round(value, 4) for value in row) for d, row in ratio.items()}


def _reuse_tables(times: Times, subject: Subject, counted: dict[int, float]) -> tuple[Table, ...]:
    tables = []
    for order, label in ((AC, "ascending"), (AC_RANDOM, "random")):
        rows: list[tuple[Value, ...]] = []
        for d in DEGREES:
            needed = [
                reuses(times, subject, d, k, counted[d], order.name) for k in range(len(SIZES))
            ]
            rows.append((d, *("never" if count is None else count for count in needed)))
        title = f"Reuses at which it pays against AC in {label} order: scheduling as counted"
        tables.append(Table(title, ("d", *(format_size(size) for size in SIZES)), tuple(rows)))
    return tuple(tables)


def _measured_table(
    subject: Subject, today: dict[int, float], here: Calibration, seeds: int
) -> Table:
    """What this computer takes, and what a node of the iPSC/860 would."""
    title = (
        f"Measured here: scheduling by {subject.algorithm.method}, best of {REPEATS} compiles; "
        "a step takes "
        f"{here.there * 1e6:.2f} us there, {here.here * 1e9:.1f} ns here (by rs-n): factor "
        f"{here.factor:.0f}; "
        f"{here.fixed * 1e3:.2f} ms of every compile are none of the algorithm's"
    )
    rows: list[tuple[Value, ...]] = [
        (d, count_steps(d, subject.links, seeds)[0], seconds * 1e3, here.there_s(seconds) * 1e3)
        for d, seconds in today.items()
    ]
    return Table(title, ("d", "steps", "time here [ms]", "there [ms]"), tuple(rows))


def _cost_draw(times: Times, subject: Subject, ratio: Ratios, counted: dict[int, float]) -> Figure:
    ticks = (SIZES[::3], [format_size(size) for size in SIZES[::3]])
    most, small = fact(subject.most), fact(subject.small)
    over = [Line(f"d = {d}", SIZES, row) for d, row in ratio.items()]
    over.append(
        Line(
            "limits in the text's words",
            (LONG_FROM, subject.small_at, subject.small_at, SIZES[-1]),
            (most, most, small, small),
            "bound",
        )
    )
    pays = []
    for d in DEGREES:
        needed = [reuses(times, subject, d, k, counted[d], AC.name) for k in range(len(SIZES))]
        found = [
            (size, count) for size, count in zip(SIZES, needed, strict=True) if count is not None
        ]
        pays.append(Line(f"d = {d}", [size for size, _ in found], [count for _, count in found]))
    ratio_panel = Panel(
        "Scheduling over communication",
        "message size [B]",
        "ratio",
        over,
        log_x=2,
        log_y=True,
        ticks=ticks,
    )
    uses_panel = Panel(
        "Uses until it pays against AC (no mark: never)",
        "message size [B]",
        "uses of one schedule",
        pays,
        log_x=2,
        log_y=True,
        ticks=ticks,
    )
    return picture_charts(
        [ratio_panel, uses_panel],
        title=f"What {subject.algorithm.name} costs to schedule, and when that pays",
        subtitle=(
            "scheduling by steps of the pseudo-code, communication simulated by circuit; AC in "
            "ascending order"
        ),
    )


@cache
def count_steps(degree: int, links: bool, seeds: int = SEEDS) -> tuple[float, float]:
    """(mean steps, mean permutations) of RS_N, or of RS_NL where links are minded."""
    runs = [_Run(degree, links, seed).run() for seed in range(seeds)]
    return float(np.mean([steps for steps, _ in runs])), float(
        np.mean([count for _, count in runs])
    )


class _Run:
    """One drawing, scheduled as the text has it."""

    def __init__(self, degree: int, links: bool, seed: int) -> None:
        pattern = conset.load_pattern(f"random:degree={degree}", MACHINE, seed=seed)
        self.random = Random(seed)
        self.links = links
        self.rows = [[] for _ in range(pattern.ranks)]  # type: list[list[int]]
        for source, target in zip(pattern.source.tolist(), pattern.target.tolist(), strict=True):
            self.rows[source].append(target)
        for row in self.rows:
            self.random.shuffle(row)  # CCOM: active entries first, in random order
        self.steps = 0
        self.marked: set[tuple[int, int]] = set()
        self.sender_to: list[int] = []

    def run(self) -> tuple[int, int]:
        """(steps, permutations)."""
        nodes, permutations = len(self.rows), 0
        while any(self.rows):
            permutations += 1
            self.sender_to = [NOBODY] * nodes
            self.steps += 2 * nodes + len(self.marked)
            self.marked.clear()
            first = self.random.randrange(nodes)
            for k in range(nodes):
                self._turn((first + k) % nodes)
        return self.steps, permutations

    def _turn(self, x: int) -> None:
        """Row x gets its target of this permutation.

        With links, who sends to x is tried first (step 3(c)i).
        """
        self.steps += 1
        row, partner = self.rows[x], self.sender_to[x]
        if self.links and partner != NOBODY:
            looked = row.index(partner) + 1 if partner in row else len(row)
            self.steps += looked
            if looked and row[looked - 1] == partner and self._fits(x, partner):
                self._take(x, looked - 1)
                return
        for z, y in enumerate(row):
            self.steps += 1
            if self._fits(x, y):
                self._take(x, z)
                return

    def _fits(self, x: int, y: int) -> bool:
        if self.sender_to[y] != NOBODY:
            return False
        if not self.links:
            return True
        for link in _path(x, y):
            self.steps += 1
            if link in self.marked:
                return False
        return True

    def _take(self, x: int, z: int) -> None:
        y = self.rows[x][z]
        self.sender_to[y] = x
        if self.links:
            path = _path(x, y)
            self.steps += len(path)
            self.marked.update(path)
        self.rows[x][z] = self.rows[x][-1]
        self.rows[x].pop()


@cache
def _path(x: int, y: int) -> tuple[tuple[int, int], ...]:
    """The links from x to y on a hypercube, least significant bit first: (node, dimension)."""
    path = []
    for bit in range((x ^ y).bit_length()):
        if (x ^ y) >> bit & 1:
            path.append((x, bit))
            x ^= 1 << bit
    return tuple(path)
