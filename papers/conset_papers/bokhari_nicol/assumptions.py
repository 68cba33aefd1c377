"""Which assumption decides.

Lanes of a link, messages of a node in flight, and two costs the text does not print.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conset.report.charts import Heat, Line, Panel, picture_charts
from conset_papers.bokhari_nicol.exchange import (
    MODEL,
    PAPER,
    SIDES,
    SLICE_B,
    Setting,
    bounded_s,
    pairs,
)
from conset_papers.bokhari_nicol.slices import LEAST, Point, slice_points
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads

LANES = (1, 2, 3, 4)
IN_FLIGHT = ("1", "2", "3", "all")
PRESET = Setting(3, "3")
OTHERS = (
    (Setting(3, "3", "processors=one"), "one processor for both overheads"),
    (Setting(3, "3", "link=60MB/s"), "link 60 MB/s, 1.3 times a node's rate"),
)
ABOUT = (
    f"The slices of Figures 12 to 15 ({SLICE_B:,} B, method bounded, sync barrier:k, model "
    f"{MODEL} on paragon:NxN), "
    "compiled and simulated under 18 settings: 1 to 4 lanes a link by 1, 2, 3 or all messages of "
    "a node in flight (as "
    "many receives at once and channels into and out of the network), and two more. The abstract "
    "says that 2 or 3 "
    "messages share a link with minor overhead and that a node overlaps some; the preset has 3 "
    "and 3, chosen out of "
    "these with the text's minimum in sight. That it meets the text's sentences is therefore no "
    "evidence: a sentence "
    "counts here where it holds under every setting that the abstract allows, 2 or 3 lanes by 2 "
    "or 3 in flight."
)
ALLOWED = tuple(Setting(lanes, flight) for lanes in (2, 3) for flight in ("2", "3"))
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


def reproduce() -> Item:
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
        ABOUT,
        claims=tuple(_claims(made)),
        tables=(_table(rows), _times(rows)),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [
                        _panel(
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
    allowed = sum(holds(made[setting]) for setting in ALLOWED)
    return Claim(
        f"section 7: {label}, whatever of the abstract's 2 or 3 lanes and 2 or 3 in "
        "flight is taken",
        allowed == len(ALLOWED),
        f"under {allowed} of these {len(ALLOWED)}, under {len(good)} of all {len(made)}: "
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


def _table(rows: list[Verdict]) -> Table:
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


def _times(rows: list[Verdict]) -> Table:
    shown = [(side, k) for side in SIDES for k in range(len(pairs(side, new=False)))]
    heads = (f"{side} {pairs(side, new=False)[k].label}" for side, k in shown)
    body: list[tuple[Value, ...]] = [
        (one.label, *(one.points[side][k].time for side, k in shown)) for one in rows
    ]
    return Table("Times: [ms] at every pair of every mesh", ("setting", *heads), tuple(body))


def _panel(title: str, lines: list[tuple[str, list[Point]]]) -> Panel:
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
