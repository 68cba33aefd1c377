"""Figures 12 to 15: slices at 15,232 bytes.

The bounds that the text draws, and simulated times between them.

The scan has the bounds' formulas, none of the measured values. So a bound here is Table 1's formula
on its own constants, which the compiled schedules must give back: no error of a cell. What can turn
out false are the text's words about its measured curves, held against the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import conset
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.bokhari_nicol import formulas
from conset_papers.bokhari_nicol.exchange import (
    ABOUT,
    MODEL,
    ORDERS,
    PAPER,
    SLICE_B,
    Pair,
    Setting,
    bounded,
    bounded_s,
    machine,
    naive_s,
    pairs,
    refusal,
)
from conset_papers.bokhari_nicol.surfaces import LIMIT
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads

NAMES = {4: "Figure 12", 8: "Figure 13", 12: "Figure 14", 16: "Figure 15"}
ALLOWED = 0.02
"""Relative: a simulated time may leave its bounds by as much.

Below by 1/n² more, for messages to itself.
"""
SERIAL = Setting(in_flight="1")
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
        return self.time < self.lower * (1 - ALLOWED - 1 / self.pair.side**2)

    @property
    def above(self) -> bool:
        """Above its upper bound by more than is allowed."""
        return self.time > self.upper * (1 + ALLOWED)

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
    bounds = [formulas.printed_bounds_us(side, pair.link, SLICE_B) for pair in shown]
    return [
        Point(pair, lower / 1e3, time * 1e3, upper / 1e3)
        for pair, time, (lower, upper) in zip(shown, times, bounds, strict=True)
    ]


def reproduce(side: int) -> Item:
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
        tables=(_times(points), _readings(points), *_new_points(side)),
        departures=(LOG_DEPARTURE, SELF_DEPARTURE, *((LIMIT,) if side == 16 else ()), *beside),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [_panel(points)],
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
            formulas.bounds_us(point.pair), (point.lower, point.upper), strict=True
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
            label,
        ),
        Claim("section 7: no time crosses the upper bound (2 %)", not high, top),
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
            + ", ".join(f"{p.pair.link}: {p.time:.1f} ms" for p in usable),
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
    on = machine(pair.side, formulas.FORMULA)
    return dict(
        conset.predict(
            bounded(pair.side, pair.contention), machine=on, sync=pair.sync, by="formula"
        ).terms
    )


def _times(points: list[Point]) -> Table:
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
    return f"synchronization={formulas.barrier_us(side, of_nodes=True)!r}us"


def _readings(points: list[Point]) -> Table:
    """Both readings of the logarithm, times simulated under each."""
    side = points[0].pair.side
    other = slice_points(side, Setting(costs=nodes_reading(side)))
    rows = []
    for p, q in zip(points, other, strict=True):
        lower, upper = (
            us / 1e3 for us in formulas.printed_bounds_us(side, p.pair.link, SLICE_B, of_nodes=True)
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
    longer = (formulas.barrier_us(side, of_nodes=True) - formulas.barrier_us(side)) / 1e3
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
        moved[worst] <= ALLOWED,
        f"by {moved[worst]:.1%} at most, at {points[worst].pair.label}",
        asserted=False,
    )


def _groups(pair: Pair) -> int:
    return -(-bounded(pair.side, pair.contention).phases // pair.every)


def _new_points(side: int) -> list[Table]:
    rows = []
    for pair in (pair for pair in pairs(side) if pair.new):
        lower, upper = (us / 1e3 for us in formulas.bounds_us(pair))
        phases = bounded(side, pair.contention).phases
        rows.append((pair.label, phases, lower, bounded_s(pair) * 1e3, upper))
    columns = ("(node, link)", "phases", "lower [ms]", f"{MODEL} [ms]", "upper [ms]")
    title = "New points: contentions that the text's rule has no schedule for"
    return [Table(title, columns, tuple(rows))] if rows else []


def _panel(points: list[Point]) -> Panel:
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
