"""Which assumption decides: lanes of a link, messages of a node in flight, and two costs the text does not print."""

from __future__ import annotations

from dataclasses import dataclass

from conset_papers.bokhari_nicol.exchange import MODEL, PAPER, SIDES, SLICE_B, Setting, bounded_s, pairs
from conset_papers.bokhari_nicol.slices import Point, slice_points
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads
from conset_papers.pictures.lines import Line, Panel, picture_lines

LANES = (1, 2, 3, 4)
IN_FLIGHT = ("1", "2", "3", "all")
PRESET = Setting(3, "3")
OTHERS = (
    (Setting(3, "3", "processors=one"), "one processor for both overheads"),
    (Setting(3, "3", "link=60MB/s"), "link 60 MB/s, 1.3 times a node's rate"),
)
ABOUT = (
    f"The slices of Figures 12 to 15 ({SLICE_B:,} B, method bounded, sync barrier:k, model {MODEL} on paragon:NxN) "
    "under 1 to 4 lanes a link and 1, 2, 3 or all messages of a node in flight (as many receives at once and channels "
    "into and out of the network). The preset has 3 and 3, chosen out of these with the text's minimum in sight: that "
    "it meets the claims is a check of consistency, no evidence."
)


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
        """Whether it lies at link contention 8 to 32."""
        return 8 <= self.best.pair.link <= 32

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
    names = {Setting(lanes, flight): f"{lanes} lane{'s' * (lanes > 1)}, {flight} in flight"
             for lanes in LANES for flight in IN_FLIGHT}  # fmt: skip
    made = {setting: verdict(setting, label) for setting, label in (*names.items(), *OTHERS)}
    rows = list(made.values())
    return Item(
        PAPER, "Assumptions", "lanes and messages in flight: which decides", ABOUT, claims=tuple(_claims(made)),
        tables=(_table(rows), _times(rows)), pictures=(Picture(lambda: picture_lines(
            [panel for side in (8, 16) for panel in (_lanes(made, side), _flight(made, side))],
            title=f"Which assumption decides: slices at {SLICE_B:,} B",
            subtitle=f"model {MODEL}, sync barrier:k on paragon:NxN; orange: the text's bounds", height=3.8,
        )),),
    )  # fmt: skip


def verdict(setting: Setting, label: str) -> Verdict:
    """The slices of all meshes under one setting."""
    everything = [pair for side in SIDES for pair in pairs(side, new=False)]
    on_threads(lambda pair: bounded_s(pair, SLICE_B, setting), everything, cost=lambda pair: pair.side)
    return Verdict(label, {side: slice_points(side, setting) for side in SIDES})


def _claims(made: dict[Setting, Verdict]) -> list[Claim]:
    preset = made[PRESET]
    both = [one.label for one in made.values() if one.inside and one.minimum]
    merged = [point for point in made[Setting(1, "3")].between if point.pair.link > 1]
    useless = sum(point.time > point.upper for point in merged)
    serial = made[Setting(3, "1")].points[8]
    close = [one.label for one in made.values() if one.inside and one.minimum and _near(one.points[4])]
    far = max(abs(point.over) for point in made[Setting(3, "1")].points[4])
    return [
        Claim("abstract, section 7: with 3 messages on a link and 3 of a node in flight all times lie between the "
              "bounds, and the least on 8 x 8 is at link contention 8 to 32", preset.inside and preset.minimum,
              f"{len(preset.between)} points, least at {preset.best.pair.label}"),
        Claim("beside it: settings that meet both", bool(both), "; ".join(both) or "none", asserted=False),
        Claim("beside it: with 1 lane merging is useless, every merged group takes longer than its steps one by one",
              useless == len(merged), f"{useless} of {len(merged)} merged points lie above the upper bound",
              asserted=False),
        Claim("beside it: with 1 message in flight there is no minimum on 8 x 8, times fall to the end",
              serial[-1].time == min(point.time for point in serial), f"{serial[-1].time:.1f} ms at the last pair",
              asserted=False),
        Claim("beside it: a setting meets both, and 4 x 4 is within 10 % of its prediction",
              bool(close), "; ".join(close) or f"none of {len(made)}; 4 x 4 is within {far:.0%} with 1 in flight",
              asserted=False),
    ]  # fmt: skip


def _near(points: list[Point]) -> bool:
    return all(abs(point.over) <= 0.1 for point in points)


def _table(rows: list[Verdict]) -> Table:
    body: list[tuple[Value, ...]] = []
    for one in rows:
        counts = (f"{sum(p.label == 'inside' for p in one.points[n])} of {len(one.points[n])}" for n in SIDES[1:])
        low = min(point.time / point.lower - 1 for point in one.between)
        high = max(point.time / point.upper - 1 for point in one.between)
        small = min((point.over for point in one.points[4]), key=lambda over: -abs(over))
        body.append((one.label, one.best.pair.label, one.best.time, *counts, f"{low:+.0%}", f"{high:+.0%}",
                     f"{small:+.0%}", "yes" if one.inside and one.minimum else "no"))  # fmt: skip
    columns = ("setting", "least on 8 x 8 at", "least [ms]", *(f"inside, {n} x {n}" for n in SIDES[1:]),
               "lowest over lower", "highest over upper", "4 x 4, farthest", "both claims")  # fmt: skip
    return Table("Settings: the text's claims under each", columns, tuple(body))


def _times(rows: list[Verdict]) -> Table:
    shown = [(side, k) for side in SIDES for k in range(len(pairs(side, new=False)))]
    heads = (f"{side} {pairs(side, new=False)[k].label}" for side, k in shown)
    body: list[tuple[Value, ...]] = [(one.label, *(one.points[side][k].time for side, k in shown)) for one in rows]
    return Table("Times: [ms] at every pair of every mesh", ("setting", *heads), tuple(body))


def _lanes(made: dict[Setting, Verdict], side: int) -> Panel:
    lines = [(f"{lanes} lane{'s' * (lanes > 1)}", made[Setting(lanes, "3")].points[side]) for lanes in LANES]
    return _panel(f"{side} x {side}, 3 in flight", lines)


def _flight(made: dict[Setting, Verdict], side: int) -> Panel:
    lines = [(f"{flight} in flight", made[Setting(3, flight)].points[side]) for flight in IN_FLIGHT]
    return _panel(f"{side} x {side}, 3 lanes", lines)


def _panel(title: str, lines: list[tuple[str, list[Point]]]) -> Panel:
    points = lines[0][1]
    place = range(len(points))
    drawn = [Line(name, place, [point.time for point in own]) for name, own in lines]
    bounds = [Line("", place, [point.lower for point in points], "bound"),
              Line("", place, [point.upper for point in points], "bound")]  # fmt: skip
    ticks = (place, [f"{point.pair.node}\n{point.pair.link}" for point in points])
    return Panel(title, "node contention, link contention", "time [ms]", [*bounds, *drawn], log_y=True, ticks=ticks)
