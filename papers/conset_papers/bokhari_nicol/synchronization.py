"""Beyond the text: what better synchronization would save, and the phases without barriers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import conset
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.bokhari_nicol.exchange import (
    MODEL,
    OVERHEAD_DEPARTURE,
    PAPER,
    SIDES,
    SIZES,
    SLICE_B,
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
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads

FREE = Setting(costs="synchronization=0")
POLICIES = ("local", "ready", "none")
HANDSOME = 0.1
CHOSEN = (1024, 4096, SLICE_B, 65_536)
"""Sizes at which today's compile chooses."""
ABOUT = (
    f"Complete exchange on paragon:NxN by method bounded, simulated by model {MODEL}, with "
    "barriers, with free ones "
    "and without, as section 8 asks for a better synchronization. In turn: the text's barriers at "
    "the best pair; "
    "the same with --set synchronization=0; and the phases of contention n/4 without any barrier, "
    "under sync local "
    "(a node ends its own phase before its next), ready (a signal for every message as well) and "
    "none (posted in "
    "schedule order). Beside them naive in rotated order, and what compile chooses by itself."
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


def reproduce() -> Item:
    """Barriers, free barriers, no barriers."""
    rows = [row for side in SIDES for row in trace_rows(side)]
    lifted = (
        "none and naive on 16 x 16 post more receives than a node has room for; their times are "
        "without that limit"
    )
    today = [choice for side in SIDES for choice in choose_today(side)]
    return Item(
        PAPER,
        "Synchronization",
        "what barriers cost, and the same phases without them",
        ABOUT,
        claims=(_dividends(rows), *(_policy(rows, sync) for sync in POLICIES), _today(today)),
        tables=(_table(rows), _choices(today)),
        pictures=(
            Picture(
                lambda: picture_charts(
                    [_panel(side, [row for row in rows if row.side == side]) for side in SIDES],
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


@dataclass(frozen=True)
class Choice:
    """What `compile` takes today.

    Attributes:
        side: n.
        size: of a message [B].
        label: method, contention, sync.
        time: simulated [ms].
        barriers: at the text's best pair [ms].
    """

    side: int
    size: int
    label: str
    time: float
    barriers: float


def choose_today(side: int, sizes: tuple[int, ...] = CHOSEN) -> list[Choice]:
    """Method `auto`, ranked by the same model, on the machine with its limit on receives."""
    choices = []
    for size in sizes:
        schedule = conset.compile(
            f"alltoall:size={size}", f"paragon:{side}x{side}", method="auto", rank_by=MODEL
        )
        link = schedule.limits.link
        label = f"{schedule.method}{f' at contention {link}' if link else ''}, sync {schedule.sync}"
        time = conset.simulate(schedule, model=MODEL).time_s
        choices.append(
            Choice(side, size, label, time * 1e3, bounded_s(best_pair(side, size), size) * 1e3)
        )
    return choices


def _today(choices: list[Choice]) -> Claim:
    won = sum(choice.time < choice.barriers for choice in choices)
    return Claim(
        f"beyond the text: today's compile (auto, ranked by {MODEL}) is faster than the text's "
        "best pair, mostly",
        2 * won > len(choices),
        f"at {won} of {len(choices)} sizes and meshes",
        asserted=False,
    )


def _choices(choices: list[Choice]) -> Table:
    body: list[tuple[Value, ...]] = [
        (
            f"{one.side}x{one.side}",
            format_bytes(one.size),
            one.label,
            one.time,
            one.barriers,
            f"{1 - one.time / one.barriers:+.0%}",
        )
        for one in choices
    ]
    columns = ("mesh", "bytes", "auto takes", "its time [ms]", "the text's best pair [ms]", "less")
    return Table(f"Today: conset compile --method auto --rank-by {MODEL}", columns, tuple(body))


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


def _policy(rows: list[Row], sync: str) -> Claim:
    won = [row for row in rows if row.policy[sync] < row.barriers]
    chosen = [row for row in rows if row.size == SLICE_B]
    label = ", ".join(
        f"{row.side} x {row.side} {row.policy[sync]:.1f} for {row.barriers:.1f}" for row in chosen
    )
    return Claim(
        f"beyond the text: the same phases under sync {sync} are faster than under any of its "
        "barriers, mostly",
        2 * len(won) > len(rows),
        f"{len(won)} of {len(rows)} sizes and meshes; at {SLICE_B:,} B in ms: {label}",
        asserted=False,
    )


def _table(rows: list[Row]) -> Table:
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


def _panel(side: int, rows: list[Row]) -> Panel:
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
