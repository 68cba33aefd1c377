"""Slices at one size, Figures 12 to 15, and what they rest on: assumptions, synchronization.

Figures 12 to 15: slices at 15,232 bytes.

The bounds that the text draws, and simulated times between them.

The scan has the bounds' formulas, none of the measured values. So a bound here is Table 1's formula
on its own constants, which the compiled schedules must give back: no error of a cell. What can turn
out false are the text's words about its measured curves, held against the simulation.

Which assumption decides.

Lanes of a link, messages of a node in flight, and two costs the text does not print.

Beyond the text: what better synchronization would save, and the phases without barriers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

import conset
from conset.report import Heat, Line, Panel, picture_charts
from conset_papers.bokhari_nicol import exchange
from conset_papers.bokhari_nicol.exchange import (
    ABOUT,
    MODEL,
    ORDERS,
    OVERHEAD_DEPARTURE,
    PAPER,
    SIDES,
    SIZES,
    SLICE_B,
    Pair,
    Setting,
    best_pair,
    bounded,
    bounded_s,
    format_bytes,
    machine,
    naive_s,
    pairs,
    refusal,
)
from conset_papers.bokhari_nicol.surfaces import LIMIT
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads

NAMES = {4: "Figure 12", 8: "Figure 13", 12: "Figure 14", 16: "Figure 15"}
TEXT_ALLOWED = 0.02
"""Relative: a simulated time may leave its bounds by as much.

Below by 1/n² more, for messages to itself.
"""
SERIAL = Setting(in_flight="1")
FITTED = "; the preset's 3 lanes and 3 in flight were chosen for it, so it is not judged"
NEAR = 4
"""Link contention up to which the text finds its times close to the lower bound."""
LEAST = 16
"""Link contention at which it finds the least time."""
ABOUT_SLICE = (
    f"The bounds of the text's slices at {SLICE_B:,} B are Table 1's formulas on their own "
    "constants; no measured "
    "value can be read in the scan, so there is no cell. Beside them, compiled and simulated: "
)
LOG_DEPARTURE = (
    "the logarithm of Table 1 is read as of the side n; read as of the n² nodes every barrier "
    "takes longer, and all "
    "times and bounds rise: the table of readings has both"
)
SELF_DEPARTURE = (
    "the text's bounds count a node's message to itself as a step (n² instead of n² - 1), the "
    "schedule does not send it"
)


@dataclass(frozen=True)
class Point:
    """A pair at 15,232 B, all times in ms.

    Attributes:
        pair: what may contend.
        lower: the text's lower bound.
        time: simulated.
        upper: the text's upper bound.
    """

    pair: Pair
    lower: float
    time: float
    upper: float

    @property
    def below(self) -> bool:
        """Below its lower bound by more than is allowed."""
        return self.time < self.lower * (1 - TEXT_ALLOWED - 1 / self.pair.side**2)

    @property
    def above(self) -> bool:
        """Above its upper bound by more than is allowed."""
        return self.time > self.upper * (1 + TEXT_ALLOWED)

    @property
    def label(self) -> str:
        """`below`, `inside` or `above`."""
        return "below" if self.below else "above" if self.above else "inside"

    @property
    def over(self) -> float:
        """Relative to the lower bound."""
        return self.time / self.lower - 1


def slice_points(side: int, setting: Setting | None = None) -> list[Point]:
    """Every pair of a mesh that the text could have, under the preset or another setting."""
    shown = pairs(side, new=False)
    times = on_threads(lambda pair: bounded_s(pair, SLICE_B, setting or Setting()), shown)
    bounds = [exchange.printed_bounds_us(side, pair.link, SLICE_B) for pair in shown]
    return [
        Point(pair, lower / 1e3, time * 1e3, upper / 1e3)
        for pair, time, (lower, upper) in zip(shown, times, bounds, strict=True)
    ]


def slices(side: int) -> Item:
    """Bounds from the compiled schedules against Table 1's formulas.

    Simulated times between them.
    """
    points = slice_points(side)
    own = _claims_4(points) if side == 4 else _claims_larger(points)
    claims = (*_between(points), *own, _chaos(points), _given_back(points))
    name, title = NAMES[side], f"slice at {SLICE_B:,} B, {side} x {side}"
    beside = [
        f"{c.verdict}, reported: {c.statement}: {c.figures}"
        for c in claims
        if not (c.asserted or c.holds)
    ]
    return Item(
        PAPER,
        name,
        title,
        ABOUT_SLICE + ABOUT,
        claims=claims,
        tables=(_slices_times(points), _readings(points), *_new_points(side)),
        departures=(LOG_DEPARTURE, SELF_DEPARTURE, *((LIMIT,) if side == 16 else ()), *beside),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [_slices_panel(points)],
                    title=f"{name}: {title}",
                    height=4.9,
                    subtitle=(
                        f"model {MODEL} on paragon:{side}x{side}; bounds: Table 1's formulas, as "
                        "the text draws them"
                    ),
                )
            ),
        ),
        basis="formula",
    )


def _given_back(points: list[Point]) -> Claim:
    """The bounds from phases and predicted costs, against the printed formulas.

    Of compiled schedules.
    """
    apart = max(
        abs(ours / (theirs * 1e3) - 1)
        for point in points
        for ours, theirs in zip(
            exchange.bounds_us(point.pair), (point.lower, point.upper), strict=True
        )
    )
    return Claim(
        "beside it: phases counted in the compiled schedules and costs predicted from the preset, "
        "which is made of "
        "Table 1, give the text's bounds back",
        apart <= 1e-9,
        f"{2 * len(points)} bounds, largest difference {apart:.1e}",
        asserted=False,
    )


def _between(points: list[Point]) -> list[Claim]:
    """Section 7: measured times lie between the bounds; on 4 × 4, where both are one, near them."""
    side = points[0].pair.side
    low = [point for point in points if point.below]
    high = [point for point in points if point.above]
    label = (
        ", ".join(f"{point.pair.label} {point.over:+.1%}" for point in low)
        or "none below the lower bound"
    )
    top = (
        ", ".join(f"{p.pair.label} {p.time / p.upper - 1:+.1%}" for p in high)
        or "none above the upper bound"
    )
    if side == 4:
        return [
            Claim(
                "section 7: agreement between predicted and measured times is good: within 10 %",
                all(abs(point.over) <= 0.1 for point in points),
                f"{_deviations(points)}; overheads of one node's messages overlap here",
            )
        ]
    return [
        Claim(
            "section 7: no time drops below the lower bound (2 %, and 1/n² for messages to itself)",
            not low,
            label + FITTED,
            asserted=False,
        ),
        Claim(
            "section 7: no time crosses the upper bound (2 %)",
            not high,
            top + FITTED,
            asserted=False,
        ),
    ]


def _deviations(points: list[Point]) -> str:
    return ", ".join(f"{point.pair.label} {point.over:+.1%}" for point in points)


def _claims_4(points: list[Point]) -> list[Claim]:
    terms = [_terms(point.pair) for point in points]
    transfer = [term["transfer"] * 1e3 for term in terms]
    saved = points[0].time - points[-1].time
    barriers = (terms[0]["synchronization"] - terms[-1]["synchronization"]) * 1e3
    serial = slice_points(4, SERIAL)
    return [
        Claim(
            "section 7: the communication time is constant, but for the step of messages to "
            "itself (1 of 16)",
            min(transfer) >= max(transfer) * (1 - 1 / 16) - 1e-9,
            f"predicted {', '.join(f'{time:.2f}' for time in transfer)} ms",
        ),
        Claim(
            "section 7: the increase in performance comes from less synchronization: the "
            "simulated gain is what "
            "barriers save, within 10 %",
            abs(saved / barriers - 1) <= 0.1,
            f"{saved:.2f} ms gained, {barriers:.2f} ms of barriers saved",
        ),
        Claim(
            "beside it: with one message in flight agreement is good",
            all(abs(p.over) <= 0.1 for p in serial),
            _deviations(serial),
            asserted=False,
        ),
    ]


def _claims_larger(points: list[Point]) -> list[Claim]:
    """What section 7 says of Figure 13, and, as "similar comments apply", of Figures 14 and 15."""
    side = points[0].pair.side
    near = [point for point in points if point.pair.link <= NEAR]
    beyond = [point for point in points if point.pair.link > NEAR]
    usable = [point for point in points if not refusal(side, point.pair)]
    best = min(usable, key=lambda point: point.time)
    least = min((point.pair.link for point in points), key=lambda link: abs(link - LEAST))
    similar = "" if side == 8 else " (similar comments apply)"
    nearest = "" if least == LEAST else f", the nearest to {LEAST}"
    claims = [
        Claim(
            f"section 7: close to the lower bound (5 %) up to link contention {NEAR}{similar}",
            all(abs(point.over) <= 0.05 for point in near),
            _deviations(near),
        ),
        Claim(
            "section 7: beyond 4 the time leaves the lower bound significantly, by more than "
            "10 % at every "
            f"contention{similar}",
            min(point.over for point in beyond) > 0.1,
            _deviations(beyond),
        ),
        Claim(
            f"section 7: the least time is at link contention {least}{nearest}{similar}",
            best.pair.link == least,
            f"at {best.pair.label}: "
            + ", ".join(f"{p.pair.link}: {p.time:.1f} ms" for p in usable)
            + (FITTED if side == 8 else ""),
            asserted=side != 8,
        ),
        _careful(points),
    ]
    if side == 8:
        one, two = (_terms(Pair(8, c))["transfer"] * 1e3 for c in (1, 2))
        claims.append(
            Claim(
                "section 7: communication time is halved from link contention 1 to 2",
                abs(two / one - 0.5) < 0.01,
                f"predicted {one:.1f} and {two:.1f} ms",
            )
        )
    return claims + (_trend(points) if side == 16 else [])


def _trend(points: list[Point]) -> list[Claim]:
    """Figure 15: from its minimum on the measured time rises to the upper bound.

    Which it almost touches at 512.
    """
    (late,) = (point for point in points if point.pair.link == 512)
    after = [point for point in points if LEAST <= point.pair.link <= 512]
    rises = [f"{point.pair.label} {point.time:.1f} ms" for point in after]
    return [
        Claim(
            "section 7: at (128, 512) the time almost touches the upper bound, within 10 %, and "
            "does not cross it",
            0 <= 1 - late.time / late.upper <= 0.1,
            f"{late.time:.1f} ms, {1 - late.time / late.upper:.0%} below it ({late.upper:.1f} ms)",
        ),
        Claim(
            f"section 7, Figure 15: from link contention {LEAST} on the time rises "
            "until (128, 512)",
            all(later.time > before.time for before, later in pairwise(after)),
            ", ".join(rises),
        ),
    ]


def _careful(points: list[Point]) -> Claim:
    """Section 7, of all three larger meshes."""
    usable = [point for point in points if not refusal(point.pair.side, point.pair)]
    best = min(usable, key=lambda point: point.time)
    return Claim(
        "section 7: removing all synchronization is not best, a level of contention in between is",
        best.time < usable[-1].time and best is not usable[0],
        f"{best.time:.1f} ms at {best.pair.label}, {usable[-1].time:.1f} ms at "
        f"{usable[-1].pair.label}",
    )


def _terms(pair: Pair) -> dict[str, float]:
    on = machine(pair.side, exchange.FORMULA)
    return dict(
        conset.predict(
            bounded(pair.side, pair.contention), machine=on, sync=pair.sync, by="formula"
        ).terms
    )


def _slices_times(points: list[Point]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for p in points:
        runs = "no, limit lifted" if refusal(p.pair.side, p.pair) else "yes"
        rows.append(
            (
                p.pair.label,
                _groups(p.pair),
                p.lower,
                p.time,
                p.upper,
                f"{p.over:+.1%}",
                p.label,
                runs,
            )
        )
    side = points[0].pair.side
    for order in ORDERS:
        runs = "no, limit lifted" if refusal(side) else "yes"
        rows.append(
            (f"naive, {order}", None, None, naive_s(side, SLICE_B, order) * 1e3, None, "", "", runs)
        )
    columns = (
        "(node, link)",
        "barriers",
        "lower [ms]",
        f"{MODEL} [ms]",
        "upper [ms]",
        "over lower",
        "verdict",
        "runs",
    )
    return Table(f"Times: simulated between the bounds at {SLICE_B:,} B", columns, tuple(rows))


@cache
def nodes_reading(side: int) -> str:
    """The words of `--set` for a barrier with the logarithm of the n² nodes."""
    return f"synchronization={exchange.barrier_us(side, of_nodes=True)!r}us"


def _readings(points: list[Point]) -> Table:
    """Both readings of the logarithm, times simulated under each."""
    side = points[0].pair.side
    other = slice_points(side, Setting(costs=nodes_reading(side)))
    rows = []
    for p, q in zip(points, other, strict=True):
        lower, upper = (
            us / 1e3 for us in exchange.printed_bounds_us(side, p.pair.link, SLICE_B, of_nodes=True)
        )
        rows.append((p.pair.label, p.lower, p.time, p.upper, lower, q.time, upper))
    columns = (
        "(node, link)",
        *(f"{what}, log2 {of} [ms]" for of in ("n", "n²") for what in ("lower", MODEL, "upper")),
    )
    return Table("Readings: the logarithm of the side or of the nodes", columns, tuple(rows))


def _chaos(points: list[Point]) -> Claim:
    """A longer barrier moves a group as a whole.

    What else changes is how ties fall where the network is full.
    """
    side = points[0].pair.side
    longer = (exchange.barrier_us(side, of_nodes=True) - exchange.barrier_us(side)) / 1e3
    other = slice_points(side, Setting(costs=nodes_reading(side)))
    moved = [
        abs(q.time - p.time - longer * _groups(p.pair)) / p.time
        for p, q in zip(points, other, strict=True)
    ]
    worst = max(range(len(points)), key=lambda k: moved[k])
    return Claim(
        "beside it: times under the other reading of the logarithm differ by the barriers alone "
        "(2 %), the rest is how "
        "ties fall",
        moved[worst] <= TEXT_ALLOWED,
        f"by {moved[worst]:.1%} at most, at {points[worst].pair.label}",
        asserted=False,
    )


def _groups(pair: Pair) -> int:
    return -(-bounded(pair.side, pair.contention).phases // pair.every)


def _new_points(side: int) -> list[Table]:
    rows = []
    for pair in (pair for pair in pairs(side) if pair.new):
        lower, upper = (us / 1e3 for us in exchange.bounds_us(pair))
        phases = bounded(side, pair.contention).phases
        rows.append((pair.label, phases, lower, bounded_s(pair) * 1e3, upper))
    columns = ("(node, link)", "phases", "lower [ms]", f"{MODEL} [ms]", "upper [ms]")
    title = "New points: contentions that the text's rule has no schedule for"
    return [Table(title, columns, tuple(rows))] if rows else []


def _slices_panel(points: list[Point]) -> Panel:
    side = points[0].pair.side
    place = range(len(points))
    serial = slice_points(side, SERIAL)
    ends = (0, len(points) - 1)
    lifted = ", limit on receives lifted" if refusal(side) else ""
    lines = [
        Line("simulated, 1 in flight", place, [p.time for p in serial], colour=1),
        Line("upper and lower bound", place, [p.upper for p in points], "bound"),
        Line("", place, [p.lower for p in points], "bound"),
        Line("simulated, 3 in flight (preset)", place, [p.time for p in points], colour=0),
        Line(f"naive, ascending{lifted}", ends, [naive_s(side) * 1e3] * 2, "quiet"),
    ]
    fails = [k for k, p in enumerate(points) if refusal(side, p.pair)]
    if fails:
        lines.append(Line("does not run", fails, [points[k].time for k in fails], "rings"))
    ticks = (place, [f"{p.pair.node}\n{p.pair.link}" for p in points])
    return Panel("", "node contention, link contention", "time [ms]", lines, ticks=ticks)


LANES = (1, 2, 3, 4)
IN_FLIGHT = ("1", "2", "3", "all")
PRESET = Setting(3, "3")
OTHERS = (
    (Setting(3, "3", "processors=one"), "one processor for both overheads"),
    (Setting(3, "3", "link=60MB/s"), "link 60 MB/s, 1.3 times a node's rate"),
    (Setting(2, "2", "overhead=0,startup=231us"), "start-ups at the port, 2 lanes, 2 in flight"),
)
ASSUMPTIONS_ABOUT = (
    f"The slices of Figures 12 to 15 ({SLICE_B:,} B, method bounded, sync barrier:k, model "
    f"{MODEL} on paragon:NxN), "
    "compiled and simulated under 19 settings: 1 to 4 lanes a link by 1, 2, 3 or all messages of "
    "a node in flight (as "
    "many receives at once and channels into and out of the network), and three more, of which the "
    "one with start-ups that occupy a node's port was fitted to the sentences on 4 x 4 and 8 x 8 "
    "alone. The abstract "
    "says that 2 or 3 "
    "messages share a link with minor overhead and that a node overlaps some; the preset has 3 "
    "and 3, chosen out of "
    "these with the text's minimum in sight. That it meets the text's sentences is therefore no "
    "evidence: a sentence "
    "counts here where it holds under every setting that the abstract allows, 2 or 3 lanes by 2 "
    "or 3 in flight."
)
WORDED = tuple(Setting(lanes, flight) for lanes in (2, 3) for flight in ("2", "3"))
"""What the abstract's words leave open."""


@dataclass(frozen=True)
class Verdict:
    """What a setting makes of the text's claims.

    Attributes:
        label: the setting.
        points: side → the pairs of that mesh.
    """

    label: str
    points: dict[int, list[Point]]

    @property
    def best(self) -> Point:
        """The least time on 8 × 8."""
        return min(self.points[8], key=lambda point: point.time)

    @property
    def minimum(self) -> bool:
        """Whether it lies at link contention 16."""
        return self.best.pair.link == LEAST

    @property
    def between(self) -> list[Point]:
        """The points on 8 × 8 to 16 × 16, where the bounds differ."""
        return [point for side in SIDES[1:] for point in self.points[side]]

    @property
    def inside(self) -> bool:
        """Whether all of them lie between their bounds."""
        return all(point.label == "inside" for point in self.between)


def assumptions() -> Item:
    """The slices of all meshes under every setting."""
    names = {
        Setting(lanes, flight): f"{lanes} lane{'s' * (lanes > 1)}, {flight} in flight"
        for lanes in LANES
        for flight in IN_FLIGHT
    }
    made = {setting: verdict(setting, label) for setting, label in (*names.items(), *OTHERS)}
    rows = list(made.values())
    return Item(
        PAPER,
        "Assumptions",
        "lanes and messages in flight: which decides",
        ASSUMPTIONS_ABOUT,
        claims=tuple(_claims(made)),
        tables=(_assumptions_table(rows), _assumptions_times(rows)),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [
                        _assumptions_panel(
                            f"{side} x {side}, {lanes} lane{'s' * (lanes > 1)}",
                            [
                                (f"{flight} in flight", made[Setting(lanes, flight)].points[side])
                                for flight in IN_FLIGHT
                            ],
                        )
                        for side in (8, 16)
                        for lanes in LANES
                    ],
                    title=f"Which assumption decides: slices at {SLICE_B:,} B, 16 settings",
                    subtitle=(
                        f"model {MODEL}, sync barrier:k on paragon:NxN; orange: the text's bounds"
                    ),
                    height=3.3,
                    columns=4,
                    width=4.4,
                )
            ),
            Picture(
                lambda: picture_charts(
                    _maps(made),
                    title=(
                        f"Lanes of a link and messages of a node in flight: slices at {SLICE_B:,} B"
                    ),
                    subtitle=(
                        f"model {MODEL}, sync barrier:k on paragon:NxN; surrounded: as "
                        "the text has it"
                    ),
                    height=2.7,
                    width=4.6,
                ),
                "map",
            ),
        ),
        basis="computed",
    )


def verdict(setting: Setting, label: str) -> Verdict:
    """The slices of all meshes under one setting."""
    everything = [pair for side in SIDES for pair in pairs(side, new=False)]
    on_threads(
        lambda pair: bounded_s(pair, SLICE_B, setting), everything, cost=lambda pair: pair.side
    )
    return Verdict(label, {side: slice_points(side, setting) for side in SIDES})


def _claims(made: dict[Setting, Verdict]) -> list[Claim]:
    preset = made[PRESET]
    merged = [point for point in made[Setting(1, "3")].between if point.pair.link > 1]
    useless = sum(point.time > point.upper for point in merged)
    serial = made[Setting(3, "1")].points[8]
    return [
        _everywhere(
            made, "the least time on 8 x 8 is at link contention 16", lambda one: one.minimum
        ),
        _everywhere(
            made, "on 8 x 8 to 16 x 16 all times lie between the bounds", lambda one: one.inside
        ),
        _everywhere(
            made,
            "on 4 x 4 times agree with the prediction within 10 %",
            lambda one: _near(one.points[4]),
        ),
        Claim(
            "beside it: the preset meets the first two, for which it was chosen",
            preset.inside and preset.minimum,
            f"{len(preset.between)} points, least at {preset.best.pair.label}",
            asserted=False,
        ),
        Claim(
            "beside it: with 1 lane merging is useless, every merged group takes longer than its "
            "steps one by one",
            useless == len(merged),
            f"{useless} of {len(merged)} merged points lie above the upper bound",
            asserted=False,
        ),
        Claim(
            "beside it: with 1 message in flight there is no minimum on 8 x 8, times "
            "fall to the end",
            serial[-1].time == min(point.time for point in serial),
            f"{serial[-1].time:.1f} ms at the last pair",
            asserted=False,
        ),
    ]


def _everywhere(
    made: dict[Setting, Verdict], label: str, holds: Callable[[Verdict], bool]
) -> Claim:
    """Whether a sentence holds under all settings that the abstract's words allow.

    Names all that do.
    """
    good = [one.label for one in made.values() if holds(one)]
    allowed = sum(holds(made[setting]) for setting in WORDED)
    return Claim(
        f"section 7: {label}, whatever of the abstract's 2 or 3 lanes and 2 or 3 in "
        "flight is taken",
        allowed == len(WORDED),
        f"under {allowed} of these {len(WORDED)}, under {len(good)} of all {len(made)}: "
        f"{'; '.join(good) or 'none'}",
    )


def _maps(made: dict[Setting, Verdict]) -> list[Heat]:
    def heat(
        title: str, value: Callable[[Verdict], float], good: Callable[[Verdict], bool]
    ) -> Heat:
        rows = [[made[Setting(lanes, flight)] for flight in IN_FLIGHT] for lanes in LANES]
        return Heat(
            title,
            "messages of a node in flight",
            "lanes",
            IN_FLIGHT,
            [str(lanes) for lanes in LANES],
            np.array([[value(one) for one in row] for row in rows], np.float64),
            np.array([[good(one) for one in row] for row in rows]),
        )

    points = len(made[PRESET].between)
    return [
        heat(
            "link contention of the least time, 8 x 8",
            lambda one: one.best.pair.link,
            lambda one: one.minimum,
        ),
        heat(
            f"of {points} points between the bounds",
            lambda one: sum(p.label == "inside" for p in one.between),
            lambda one: one.inside,
        ),
        heat(
            "highest over the upper bound [%]",
            lambda one: 100 * max(point.time / point.upper - 1 for point in one.between),
            lambda one: not any(point.above for point in one.between),
        ),
        heat(
            "farthest below the lower bound [%]",
            lambda one: 100 * max(1 - point.time / point.lower for point in one.between),
            lambda one: not any(point.below for point in one.between),
        ),
    ]


def _near(points: list[Point]) -> bool:
    return all(abs(point.over) <= 0.1 for point in points)


def _assumptions_table(rows: list[Verdict]) -> Table:
    body: list[tuple[Value, ...]] = []
    for one in rows:
        counts = (
            f"{sum(p.label == 'inside' for p in one.points[n])} of {len(one.points[n])}"
            for n in SIDES[1:]
        )
        low = min(point.time / point.lower - 1 for point in one.between)
        high = max(point.time / point.upper - 1 for point in one.between)
        small = min((point.over for point in one.points[4]), key=lambda over: -abs(over))
        body.append(
            (
                one.label,
                one.best.pair.label,
                one.best.time,
                *counts,
                f"{low:+.0%}",
                f"{high:+.0%}",
                f"{small:+.0%}",
                "yes" if one.inside and one.minimum else "no",
            )
        )
    columns = (
        "setting",
        "least on 8 x 8 at",
        "least [ms]",
        *(f"inside, {n} x {n}" for n in SIDES[1:]),
        "lowest over lower",
        "highest over upper",
        "4 x 4, farthest",
        "least at 16 and inside",
    )
    return Table("Settings: the text's claims under each", columns, tuple(body))


def _assumptions_times(rows: list[Verdict]) -> Table:
    shown = [(side, k) for side in SIDES for k in range(len(pairs(side, new=False)))]
    heads = (f"{side} {pairs(side, new=False)[k].label}" for side, k in shown)
    body: list[tuple[Value, ...]] = [
        (one.label, *(one.points[side][k].time for side, k in shown)) for one in rows
    ]
    return Table("Times: [ms] at every pair of every mesh", ("setting", *heads), tuple(body))


def _assumptions_panel(title: str, lines: list[tuple[str, list[Point]]]) -> Panel:
    points = lines[0][1]
    place = range(len(points))
    drawn = [Line(name, place, [point.time for point in own]) for name, own in lines]
    bounds = [
        Line("", place, [point.lower for point in points], "bound"),
        Line("", place, [point.upper for point in points], "bound"),
    ]
    ticks = (place, [f"{point.pair.node}\n{point.pair.link}" for point in points])
    return Panel(
        title,
        "node contention, link contention",
        "time [ms]",
        [*bounds, *drawn],
        log_y=True,
        ticks=ticks,
    )


FREE = Setting(costs="synchronization=0")
POLICIES = ("local", "ready", "none")
HANDSOME = 0.1
SYNCHRONIZATION_ABOUT = (
    f"Complete exchange on paragon:NxN by method bounded, simulated by model {MODEL}, with "
    "barriers, with free ones "
    "and without, as section 8 asks for a better synchronization. In turn: the text's barriers at "
    "the best pair; "
    "the same with --set synchronization=0; and the phases of contention n/4 without any barrier, "
    "under sync local "
    "(a node ends its own phase before its next), ready (a signal for every message as well) and "
    "none (posted in "
    "schedule order). Beside them naive in rotated order."
)


@dataclass(frozen=True)
class Row:
    """One mesh and size, times in ms.

    Attributes:
        side: n.
        size: of a message [B].
        barriers: at the text's best pair.
        free: the same if barriers cost nothing, at the best pair then.
        policy: sync → time without barriers.
        naive: the best order of naive.
    """

    side: int
    size: int
    barriers: float
    free: float
    policy: dict[str, float]
    naive: float


def synchronization() -> Item:
    """Barriers, free barriers, no barriers."""
    rows = [row for side in SIDES for row in trace_rows(side)]
    lifted = (
        "none and naive on 16 x 16 post more receives than a node has room for; their times are "
        "without that limit"
    )
    return Item(
        PAPER,
        "Synchronization",
        "what barriers cost, and the same phases without them",
        SYNCHRONIZATION_ABOUT,
        claims=(_dividends(rows),),
        tables=(_synchronization_table(rows),),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [
                        _synchronization_panel(side, [row for row in rows if row.side == side])
                        for side in SIDES
                    ],
                    title="Complete exchange with and without barriers",
                    height=3.5,
                    subtitle=(
                        f"time over that of the text's best pair, same phases; model {MODEL} "
                        "on paragon:NxN"
                    ),
                )
            ),
        ),
        departures=(lifted, OVERHEAD_DEPARTURE),
        basis="computed",
    )


def trace_rows(side: int, sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """All rows of a mesh."""
    points = [(pair, size) for size in sizes for pair in pairs(side, new=False)]
    on_threads(lambda at: (bounded_s(*at), bounded_s(*at, FREE)), points)
    without = [(size, sync) for size in sizes for sync in POLICIES]
    times = dict(zip(without, on_threads(lambda at: policy_s(side, *at), without), strict=True))
    return [
        Row(
            side,
            size,
            bounded_s(best_pair(side, size), size) * 1e3,
            least_free_s(side, size) * 1e3,
            {sync: times[size, sync] * 1e3 for sync in POLICIES},
            naive_s(side, size, "rotated") * 1e3,
        )
        for size in sizes
    ]


def least_free_s(side: int, size: int) -> float:
    """The least time of any pair that runs, if barriers cost nothing [s]."""
    usable = [pair for pair in pairs(side, new=False) if not refusal(side, pair)]
    return min(bounded_s(pair, size, FREE) for pair in usable)


@cache
def policy_s(side: int, size: int, sync: str) -> float:
    """The same phases without barriers [s]."""
    return conset.simulate(
        bounded(side, side // 4, size), machine(side), model=MODEL, sync=sync
    ).time_s


def _dividends(rows: list[Row]) -> Claim:
    chosen = [row for row in rows if row.size == SLICE_B and row.side > 4]
    gains = [1 - row.free / row.barriers for row in chosen]
    label = ", ".join(
        f"{row.side} x {row.side} {gain:.0%} ({row.barriers:.1f} to {row.free:.1f} ms)"
        for row, gain in zip(chosen, gains, strict=True)
    )
    return Claim(
        "section 8: a better synchronization would yield handsome dividends: free barriers save "
        "more than 10 % at "
        f"{SLICE_B:,} B",
        min(gains) > HANDSOME,
        label,
    )


def _synchronization_table(rows: list[Row]) -> Table:
    body: list[tuple[Value, ...]] = [
        (
            f"{row.side}x{row.side}",
            format_bytes(row.size),
            row.barriers,
            row.free,
            *row.policy.values(),
            row.naive,
        )
        for row in rows
    ]
    columns = (
        "mesh",
        "bytes",
        "barriers, best pair [ms]",
        "free barriers, best pair [ms]",
        *(f"sync {sync} [ms]" for sync in POLICIES),
        "naive, rotated [ms]",
    )
    return Table("Times: with barriers, with free ones, without", columns, tuple(body))


def _synchronization_panel(side: int, rows: list[Row]) -> Panel:
    across = [row.size / 1024 for row in rows]
    lines = [
        Line("the text's barriers", across, [1.0] * len(rows), "bound"),
        Line("free barriers", across, [row.free / row.barriers for row in rows]),
        *(
            Line(f"sync {sync}", across, [row.policy[sync] / row.barriers for row in rows])
            for sync in POLICIES
        ),
        Line("naive, rotated", across, [row.naive / row.barriers for row in rows], "quiet"),
    ]
    places = [0.25, 1, 4, 16, 64]
    ticks = (places, [f"{place:g}" for place in places])
    room = 1.5 if side == SIDES[0] else 1.1  # the first has the legend
    top = room * max(max(line.y) for line in lines)
    return Panel(
        f"{side} x {side}",
        "bytes [KiB]",
        "relative time",
        lines,
        log_x=2,
        ticks=ticks,
        y_limits=(0, top),
    )
