"""Slices at one size, Figures 12 to 15, and what they rest on: assumptions, synchronization.

Figures 12 to 15: slices at 15,232 bytes.

The bounds that the paper draws, and simulated times between them.

The scan has the bounds' formulas, none of the measured values. So a bound here is Table 1's formula
on its own constants, which the compiled schedules must give back: no error of a cell. What can turn
out false are the paper's sentences about its measured curves, held against the simulation.

Assumptions: what the paper does not print and the simulation needs. Where a start-up works, lanes
of a link and messages of a node in flight are fitted to the sentences on 4 × 4 and 8 × 8, which are
not judged, and judged by those on 12 × 12 and 16 × 16.

Synchronization, beyond the paper: what a better one would save, and the phases without barriers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product

import numpy as np

import conset
from conset.report import Heat, Line, Panel, picture_charts
from conset_papers.bokhari_nicol import exchange
from conset_papers.bokhari_nicol.exchange import (
    MODEL,
    ORDERS,
    OVERHEAD_DEPARTURE,
    PAPER,
    PRESET,
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
from conset_papers.item import Claim, Item, Picture, Table, Value, rms
from conset_papers.parallel import on_threads

NAMES = {4: "Figure 12", 8: "Figure 13", 12: "Figure 14", 16: "Figure 15"}
TEXT_ALLOWED = 0.02
"""Relative: a simulated time may leave its bounds by as much.

Below by 1/n² more, for messages to itself.
"""
NEAR = 4
"""Link contention up to which the paper finds its times close to the lower bound."""
LEAST = 16
"""Link contention at which it finds the least time."""
FIT = (4, 8)
"""Sides of the meshes that the setting is fitted to: none of their sentences is judged."""
LANES = (1, 2, 3, 4)
IN_FLIGHT = ("1", "2", "3", "all")
STARTS = {
    "start-ups at two processors of a node": "",
    "start-ups at one processor of a node": "processors=one",
    "start-ups at a node's port": "overhead=0,startup=231us",
}
"""Where a message starts up → costs; half of the overhead at each end but for the port."""
ABOUT_SLICE = (
    f"Complete exchange of {SLICE_B:,} B on paragon:NxN by method bounded, sync barrier:k, "
    f"simulated by model {MODEL}. The bounds are Table 1's formulas on their own constants; no "
    "measured value can be read in the scan, so there is no cell. Where a start-up works, lanes "
    "and messages in flight (as many receives at once) are not printed: fitted to the sentences "
    "on 4 x 4 and 8 x 8, which are not judged; those on 12 x 12 and 16 x 16 are (item "
    "Assumptions). The preset and naive stand beside."
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


def slice_points(side: int, setting: Setting = PRESET) -> list[Point]:
    """Every pair of a mesh that the text could have, under a setting."""
    shown = pairs(side, new=False)
    times = on_threads(lambda pair: bounded_s(pair, SLICE_B, setting), shown)
    bounds = [exchange.printed_bounds_us(side, pair.link, SLICE_B) for pair in shown]
    return [
        Point(pair, lower / 1e3, time * 1e3, upper / 1e3)
        for pair, time, (lower, upper) in zip(shown, times, bounds, strict=True)
    ]


@dataclass(frozen=True)
class Candidate:
    """A setting and what it makes of the sentences on the meshes of `FIT`.

    Attributes:
        start: key of `STARTS`.
        setting: it, with lanes and messages in flight.
        holds: how many of the sentences hold.
        apart: rms deviation from the lower bound where the paper is at or close to it.
    """

    start: str
    setting: Setting
    holds: int
    apart: float


@cache
def candidates() -> tuple[Candidate, ...]:
    """All of them; no time on a mesh beyond `FIT` is looked at."""
    found = []
    for (start, costs), lanes, flight in product(STARTS.items(), LANES, IN_FLIGHT):
        setting = Setting(lanes, flight, costs)
        points = [slice_points(side, setting) for side in FIT]
        near = [p.over for own in points for p in own if p.pair.side == 4 or p.pair.link <= NEAR]
        found.append(Candidate(start, setting, _held(setting, FIT)[0], rms(near)))
    return tuple(found)


def fitted() -> Candidate:
    """The candidate with most sentences; of several the nearest to the lower bound."""
    return max(candidates(), key=lambda one: (one.holds, -one.apart))


def _held(setting: Setting, sides: tuple[int, ...]) -> tuple[int, int]:
    """How many of the sentences on some meshes hold, of how many."""
    claims = [c for side in sides for c in sentences(slice_points(side, setting))]
    return sum(claim.holds for claim in claims), len(claims)


def slices(side: int) -> Item:
    """The bounds, and times simulated with what was fitted to the smaller meshes between them."""
    points = slice_points(side, fitted().setting)
    judged = side not in FIT
    own = [replace(claim, asserted=judged) for claim in sentences(points)]
    name, title = NAMES[side], f"slice at {SLICE_B:,} B, {side} x {side}"
    beside = [
        f"fitted, not judged: {claim.statement}: {claim.figures}"
        for claim in own
        if not (judged or claim.holds)
    ]
    return Item(
        PAPER,
        name,
        title,
        ABOUT_SLICE,
        claims=(*own, *_predicted(side), _given_back(points)),
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
                        "the paper draws them"
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


def _deviations(points: list[Point]) -> str:
    return ", ".join(f"{point.pair.label} {point.over:+.1%}" for point in points)


def sentences(points: list[Point]) -> list[Claim]:
    """What section 7 says of the measured times of a mesh."""
    side = points[0].pair.side
    if side == 4:
        return _sentences_4(points)
    return [
        *_between(points),
        *_sentences_larger(points),
        *(_trend(points) if side == 16 else []),
    ]


def _sentences_4(points: list[Point]) -> list[Claim]:
    barrier = _terms(points[0].pair)["synchronization"], _terms(points[-1].pair)["synchronization"]
    saved, barriers = points[0].time - points[-1].time, (barrier[0] - barrier[1]) * 1e3
    return [
        Claim(
            "section 7: agreement between predicted and measured times is good: within 10 %",
            all(abs(point.over) <= 0.1 for point in points),
            _deviations(points),
        ),
        Claim(
            "section 7: the increase in performance comes from less synchronization: the "
            "simulated gain is what barriers save, within 10 %",
            abs(saved / barriers - 1) <= 0.1,
            f"{saved:.2f} ms gained, {barriers:.2f} ms of barriers saved",
        ),
    ]


def _between(points: list[Point]) -> list[Claim]:
    """Section 7: measured times lie between the bounds."""
    low = [f"{point.pair.label} {point.over:+.1%}" for point in points if point.below]
    high = [f"{p.pair.label} {p.time / p.upper - 1:+.1%}" for p in points if p.above]
    return [
        Claim(
            "section 7: no time drops below the lower bound (2 %, and 1/n² for messages to itself)",
            not low,
            ", ".join(low) or "none below the lower bound",
        ),
        Claim(
            "section 7: no time crosses the upper bound (2 %)",
            not high,
            ", ".join(high) or "none above the upper bound",
        ),
    ]


def _sentences_larger(points: list[Point]) -> list[Claim]:
    """What section 7 says of Figure 13, and, as "similar comments apply", of Figures 14 and 15."""
    side = points[0].pair.side
    near = [point for point in points if point.pair.link <= NEAR]
    beyond = [point for point in points if point.pair.link > NEAR]
    usable = [point for point in points if not refusal(side, point.pair)]
    best = min(usable, key=lambda point: point.time)
    least = min((point.pair.link for point in points), key=lambda link: abs(link - LEAST))
    similar = "" if side == 8 else " (similar comments apply)"
    nearest = "" if least == LEAST else f", the nearest to {LEAST}"
    return [
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
        Claim(
            "section 7: removing all synchronization is not best, a level of contention in "
            "between is",
            best.time < usable[-1].time and best is not usable[0],
            f"{best.time:.1f} ms at {best.pair.label}, {usable[-1].time:.1f} ms at "
            f"{usable[-1].pair.label}",
        ),
    ]


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


def _predicted(side: int) -> list[Claim]:
    """What section 7 says of predicted times, which nothing was fitted to."""
    if side > 8:
        return []
    transfer = [_terms(pair)["transfer"] * 1e3 for pair in pairs(side, new=False)]
    if side == 4:
        return [
            Claim(
                "section 7: the communication time is constant, but for the step of messages to "
                "itself (1 of 16)",
                min(transfer) >= max(transfer) * (1 - 1 / 16) - 1e-9,
                f"predicted {', '.join(f'{time:.2f}' for time in transfer)} ms",
            )
        ]
    return [
        Claim(
            "section 7: communication time is halved from link contention 1 to 2",
            abs(transfer[1] / transfer[0] - 0.5) < 0.01,
            f"predicted {transfer[0]:.1f} and {transfer[1]:.1f} ms",
        )
    ]


def _terms(pair: Pair) -> dict[str, float]:
    on = machine(pair.side, exchange.FORMULA)
    return dict(
        conset.predict(
            bounded(pair.side, pair.contention), machine=on, sync=pair.sync, by="formula"
        ).terms
    )


def _slices_times(points: list[Point]) -> Table:
    side = points[0].pair.side
    rows: list[tuple[Value, ...]] = []
    for p, preset in zip(points, slice_points(side), strict=True):
        runs = "no, limit lifted" if refusal(side, p.pair) else "yes"
        groups = -(-bounded(side, p.pair.contention).phases // p.pair.every)
        times = (p.lower, p.time, p.upper)
        rows.append((p.pair.label, groups, *times, f"{p.over:+.1%}", p.label, preset.time, runs))
    for order in ORDERS:
        runs = "no, limit lifted" if refusal(side) else "yes"
        time = naive_s(side, SLICE_B, order) * 1e3
        rows.append((f"naive, {order}", None, None, None, None, None, "", time, runs))
    columns = (
        "(node, link)",
        "barriers",
        "lower [ms]",
        "fitted [ms]",
        "upper [ms]",
        "over lower",
        "verdict",
        "preset [ms]",
        "runs",
    )
    return Table(f"Times: simulated between the bounds at {SLICE_B:,} B", columns, tuple(rows))


def _readings(points: list[Point]) -> Table:
    """Both readings of the logarithm, times simulated under each."""
    side, setting = points[0].pair.side, fitted().setting
    barrier = f"synchronization={exchange.barrier_us(side, of_nodes=True)!r}us"
    costs = ",".join(filter(None, (setting.costs, barrier)))
    other = slice_points(side, replace(setting, costs=costs))
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


def _new_points(side: int) -> list[Table]:
    rows = []
    for pair in (pair for pair in pairs(side) if pair.new):
        lower, upper = (us / 1e3 for us in exchange.bounds_us(pair))
        phases = bounded(side, pair.contention).phases
        time = bounded_s(pair, setting=fitted().setting) * 1e3
        rows.append((pair.label, phases, lower, time, upper))
    columns = ("(node, link)", "phases", "lower [ms]", "fitted [ms]", "upper [ms]")
    title = "New points: contentions that the text's rule has no schedule for"
    return [Table(title, columns, tuple(rows))] if rows else []


def _slices_panel(points: list[Point]) -> Panel:
    side = points[0].pair.side
    place = range(len(points))
    ends = (0, len(points) - 1)
    lifted = ", limit on receives lifted" if refusal(side) else ""
    lines = [
        Line("simulated, the preset", place, [p.time for p in slice_points(side)], colour=1),
        Line("upper and lower bound", place, [p.upper for p in points], "bound"),
        Line("", place, [p.lower for p in points], "bound"),
        Line("simulated, fitted to 4 x 4 and 8 x 8", place, [p.time for p in points], colour=0),
        Line(f"naive, ascending{lifted}", ends, [naive_s(side) * 1e3] * 2, "quiet"),
    ]
    fails = [k for k, p in enumerate(points) if refusal(side, p.pair)]
    if fails:
        lines.append(Line("does not run", fails, [points[k].time for k in fails], "rings"))
    ticks = (place, [f"{p.pair.node}\n{p.pair.link}" for p in points])
    return Panel("", "node contention, link contention", "time [ms]", lines, ticks=ticks)


ASSUMPTIONS_ABOUT = (
    f"What the simulation of Figures 12 to 15 ({SLICE_B:,} B, method bounded, sync barrier:k, "
    f"model {MODEL} on paragon:NxN) needs and the paper does not print: where a start-up of 231 "
    "us works, 1 to 4 lanes a link, 1, 2, 3 or all messages of a node in flight. Of all "
    "candidates the one is taken under which most sentences on 4 x 4 and 8 x 8 hold, and of "
    "several the one whose times are nearest where the paper is at or close to the lower bound. "
    "Nothing on 12 x 12 and 16 x 16 is looked at for it. The preset's 3 lanes and 3 in flight "
    "were chosen with the minimum on 8 x 8 and the bounds of all meshes in sight."
)


def assumptions() -> Item:
    """What was fitted to the smaller meshes, and how it and the preset do on the larger ones."""
    return Item(
        PAPER,
        "Assumptions",
        "where start-ups work, lanes, messages in flight: fitted to 4 x 4 and 8 x 8",
        ASSUMPTIONS_ABOUT,
        claims=(_judgement(),),
        tables=(_candidates_table(),),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [_heat(start) for start in STARTS],
                    title="Sentences on 4 x 4 and 8 x 8 that hold",
                    subtitle=f"model {MODEL}, {SLICE_B:,} B on paragon:NxN; surrounded: fitted",
                    height=2.7,
                    width=4.6,
                    columns=3,
                )
            ),
        ),
        basis="computed",
    )


def _judgement() -> Claim:
    best, rest = fitted(), tuple(side for side in SIDES if side not in FIT)
    counts = {
        name: [_held(setting, sides) for sides in (FIT, rest)]
        for name, setting in ((_describe(best), best.setting), ("the preset", PRESET))
    }
    (_, ours), (_, presets) = counts.values()
    return Claim(
        "beside: more of the sentences on 12 x 12 and 16 x 16, which nothing was fitted to, hold "
        "than with the preset",
        ours > presets,
        "; ".join(
            f"{name}: {fit[0]} of {fit[1]} on 4 x 4 and 8 x 8, {judged[0]} of {judged[1]} on the "
            "others"
            for name, (fit, judged) in counts.items()
        ),
        asserted=False,
    )


def _describe(one: Candidate) -> str:
    return f"{one.start}, {one.setting.lanes} lanes, {one.setting.in_flight} in flight"


def _candidates_table() -> Table:
    rows = tuple(
        (one.start, one.setting.lanes, one.setting.in_flight, one.holds, f"{one.apart:.1%}")
        for one in candidates()
    )
    columns = ("start-ups", "lanes", "in flight", "sentences that hold", "off the bound, rms")
    return Table("Candidates: sentences on 4 x 4 and 8 x 8", columns, rows)


def _heat(start: str) -> Heat:
    """Sentences that hold: lanes up, messages in flight across."""
    own = [one for one in candidates() if one.start == start]
    shape = (len(LANES), len(IN_FLIGHT))
    return Heat(
        start,
        "messages of a node in flight",
        "lanes",
        IN_FLIGHT,
        [str(lanes) for lanes in LANES],
        np.array([one.holds for one in own], np.float64).reshape(shape),
        np.array([one == fitted() for one in own]).reshape(shape),
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
