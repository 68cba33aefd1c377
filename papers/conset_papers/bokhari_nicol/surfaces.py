"""Times over contention and size: Figures 7 to 11.

Figures 7 to 10: time over contention, barriers and message size, bounded beside naive.

On 4 × 4 to 16 × 16 nodes.

The text's axis is a list of pairs (node contention, link contention): first steps merge up to link
contention n/4, then barriers are left out. The plane behind it has two axes, link contention of a
phase and phases between barriers; all of it is simulated too.

Figure 11: by how much bounded is faster than naive.

Over contention and message size, on 8 × 8 and 12 × 12 nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

import conset
from conset.base import Bools, Floats
from conset.report import Heat, Line, Panel, picture_charts
from conset_papers.bokhari_nicol.exchange import (
    ABOUT,
    MODEL,
    ORDERS,
    OVERHEAD_DEPARTURE,
    PAPER,
    SIZES,
    Pair,
    best_pair,
    bounded_s,
    format_bytes,
    machine,
    naive_s,
    pairs,
    refusal,
)
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.parallel import on_threads

NAMES = {4: "Figure 7", 8: "Figure 8", 12: "Figure 9", 16: "Figure 10"}
ARRESTED = 16
"""Node contention at which section 7 says that improvement ends."""
SAME = 0.02
"""Relative: times that are taken for equal."""
MS = 1e3
LIMIT = (
    "that naive does not run on 16 x 16, nor bounded at (256, 1024), is no result: "
    "outstanding_receives = 192 was "
    "chosen between what runs (143 receives) and what fails (255) in the text"
)
Point = tuple[int, int]
"""(link contention of a phase, phases between two barriers)."""


@dataclass(frozen=True)
class Surface:
    """All times of a mesh [s].

    Attributes:
        side: n.
        sizes: message sizes [B].
        bounded: (pair, size) → time.
        naive: (order, size) → time.
        scott: size → time of Scott's schedule with a barrier after each phase.
    """

    side: int
    sizes: tuple[int, ...]
    bounded: dict[tuple[Pair, int], float]
    naive: dict[tuple[str, int], float]
    scott: dict[int, float]

    def best(self, size: int) -> Pair:
        """The fastest pair that runs and that the text could have."""
        return best_pair(self.side, size)

    def best_s(self, size: int) -> float:
        """Its time."""
        return self.bounded[self.best(size), size]


def surfaces(side: int) -> Item:
    """Simulates every pair, size and order of one mesh."""
    surface, plane = trace_surface(side), trace_plane(side)
    name = NAMES[side]
    title = f"bounded and naive over contention and message size, {side} x {side}"
    settings = (
        f"model {MODEL}, bounded under barriers, naive under sync none; paragon:{side}x{side}"
    )
    pictures = (
        Picture(
            lambda: picture_charts(
                [_surfaces_panel(surface, size) for size in SIZES],
                title=f"{name}: {title}",
                subtitle=settings,
                columns=3,
                width=4.6,
                height=2.9,
            )
        ),
        Picture(
            lambda: picture_charts(
                [_heat(surface)],
                title=f"{name}: the surface, time [ms]",
                subtitle=f"{settings}; the darker the less, surrounded: the least of a size",
                width=11.5,
                height=4.4,
            ),
            "surface",
        ),
        Picture(
            lambda: picture_charts(
                [_heat_plane(plane, side, size) for size in SIZES],
                columns=3,
                width=4.2,
                title=(
                    f"{name}: time [ms] over link contention of a phase and phases between barriers"
                ),
                subtitle=(
                    f"model {MODEL}, bounded on paragon:{side}x{side}; the darker the less, "
                    "surrounded: the least"
                ),
                height=1.0 + 0.4 * len(_contentions(side)),
            ),
            "plane",
        ),
    )
    return Item(
        PAPER,
        name,
        title,
        ABOUT,
        claims=(*claims_of(surface), *plane_claims(plane, side)),
        tables=(_bounded(surface), _naive(surface), _best(surface), _plane(plane, side)),
        pictures=pictures,
        departures=(OVERHEAD_DEPARTURE, *((LIMIT,) if side == 16 else ())),
        basis="computed",
    )


def _contentions(side: int) -> list[int]:
    """Of a phase, as the text's rule has them: those that divide n/4."""
    return [contention for contention in range(1, side // 4 + 1) if (side // 4) % contention == 0]


def _intervals(side: int) -> list[int]:
    """Phases between two barriers."""
    return sorted({*(pair.every for pair in pairs(side)), *_contentions(side)})


def trace_plane(side: int, sizes: tuple[int, ...] = SIZES) -> dict[tuple[Point, int], float]:
    """(point, size) → time, over the whole plane [s]."""
    at = [
        ((contention, every), size)
        for size in sizes
        for contention in _contentions(side)
        for every in _intervals(side)
    ]
    found = on_threads(lambda one: bounded_s(Pair(side, *one[0]), one[1]), at)
    return dict(zip(at, found, strict=True))


def plane_claims(plane: dict[tuple[Point, int], float], side: int) -> list[Claim]:
    """Section 7: the contention-free schedule without some barriers is that of the contention."""
    most = side // 4
    alike = [
        ((1, every), (every, 1))
        for every in _intervals(side)
        if every > 1 and every in _contentions(side)
    ]
    if not alike:
        return []
    sizes = sorted({size for _, size in plane})
    apart = [
        (abs(plane[one, size] / plane[other, size] - 1), one, size)
        for one, other in alike
        for size in sizes
    ]
    far, point, size = max(apart)
    return [
        Claim(
            "section 7: a barrier after every k permutations without contention makes one "
            "permutation with contention k "
            f"(k up to {most}): times differ by at most {SAME:.0%}",
            far <= SAME,
            f"by {far:.1%} at most, with k = {point[1]} at {format_bytes(size)}",
        )
    ]


def trace_surface(side: int, sizes: tuple[int, ...] = SIZES) -> Surface:
    """Every time of a mesh."""
    points = [(pair, size) for size in sizes for pair in pairs(side)]
    rivals = [(order, size) for size in sizes for order in ORDERS]
    bounded = on_threads(lambda at: bounded_s(*at), points)
    naive = on_threads(lambda at: naive_s(side, at[1], at[0]), rivals)
    scott = on_threads(lambda size: scott_s(side, size), sizes)
    return Surface(
        side,
        sizes,
        dict(zip(points, bounded, strict=True)),
        dict(zip(rivals, naive, strict=True)),
        dict(zip(sizes, scott, strict=True)),
    )


@cache
def scott_s(side: int, size: int) -> float:
    """Scott's schedule with a barrier after each of its phases [s]."""
    schedule = conset.compile(
        f"alltoall:size={size}", machine(side), method="scott", sync="barrier"
    )
    return conset.simulate(schedule, model=MODEL).time_s


def claims_of(surface: Surface) -> tuple[Claim, ...]:
    """What sections 1 and 7 say of the mesh."""
    own = (
        _claims_4(surface)
        if surface.side == 4
        else []
        if surface.side == 16
        else _claims_between(surface)
    )
    rivals = () if surface.side == 16 else ORDERS
    return (
        *own,
        _beats_scott(surface),
        *(_beats_naive(surface, order) for order in rivals),
    )


def _beats_scott(surface: Surface) -> Claim:
    """At every level of contention, not only at the best one, which may be Scott's own."""
    shown = [pair for pair in pairs(surface.side, new=False)[1:] if not refusal(surface.side, pair)]
    gain = {
        (pair, size): 1 - surface.bounded[pair, size] / surface.scott[size]
        for pair in shown
        for size in surface.sizes
    }
    lost = [
        f"{pair.label} at {format_bytes(size)} {-saved:+.0%}"
        for (pair, size), saved in gain.items()
        if saved <= 0
    ]
    return Claim(
        "abstract: bounded is always better than Scott's schedule, at every contention and size",
        not lost,
        f"in {len(gain) - len(lost)} of {len(gain)}, {min(gain.values()):.0%} to "
        f"{max(gain.values()):.0%} "
        "less time" + (f"; slower: {', '.join(lost)}" if lost else ""),
    )


def _beats_naive(surface: Surface, order: str) -> Claim:
    """Holds where naive wins at the smallest sizes, at least one and fewer than half.

    Asserted for ascending order.
    """
    lost = [size for size in surface.sizes if surface.best_s(size) >= surface.naive[order, size]]
    least = surface.sizes[: len(lost)]
    label = ", ".join(format_bytes(size) for size in lost) or "no size"
    return Claim(
        "abstract: bounded beats naive for all but the smallest messages, where naive wins; "
        f"naive in {order} order",
        0 < len(lost) < len(surface.sizes) / 2 and tuple(lost) == least,
        f"naive is faster at {label}",
        asserted=order == "ascending",
    )


def _claims_4(surface: Surface) -> list[Claim]:
    falls = [size for size in surface.sizes if _falling(surface, size)]
    return [
        Claim(
            "section 7: performance improves as contention increases",
            len(falls) == len(surface.sizes),
            f"from pair to pair at {len(falls)} of {len(surface.sizes)} sizes",
        ),
    ]


def _falling(surface: Surface, size: int) -> bool:
    times = [surface.bounded[pair, size] for pair in pairs(surface.side, new=False)]
    return all(later < before for before, later in pairwise(times))


def _claims_between(surface: Surface) -> list[Claim]:
    sizes, side = surface.sizes, surface.side
    first, merged = Pair(side, 1), Pair(side, side // 4)
    slower = [
        size for size in sizes if surface.bounded[first, size] > surface.naive["ascending", size]
    ]
    drop = [1 - surface.bounded[merged, size] / surface.bounded[first, size] for size in sizes]
    arrested = [size for size in sizes if surface.best(size).node == ARRESTED]
    best = ", ".join(f"{format_bytes(size)} {surface.best(size).label}" for size in sizes)
    return [
        Claim(
            "section 7: without contention bounded is slower than naive, at most sizes",
            _most(slower, sizes),
            f"at {len(slower)} of {len(sizes)} sizes, naive in ascending order",
        ),
        Claim(
            f"section 7: the initial drop, contention 1 to {side // 4}, is steep: a third "
            "less at the least",
            min(drop) > 1 / 3,
            f"{min(drop):.0%} to {max(drop):.0%} less time",
        ),
        Claim(
            f"section 7: improvement is arrested at node contention {ARRESTED}: every size has "
            "its least time there",
            len(arrested) == len(sizes),
            f"at {len(arrested)} of {len(sizes)} sizes; least at: {best}",
        ),
    ]


def _most(some: list[int], sizes: tuple[int, ...]) -> bool:
    return 2 * len(some) > len(sizes)


def _bounded(surface: Surface) -> Table:
    rows: list[tuple[Value, ...]] = []
    for pair in pairs(surface.side):
        runs = "no, limit lifted" if refusal(surface.side, pair) else "yes"
        times = (surface.bounded[pair, size] * MS for size in surface.sizes)
        rows.append((pair.label, "beyond" if pair.new else "yes", runs, *times))
    columns = (
        "(node, link)",
        "in the text",
        "runs",
        *(format_bytes(size) for size in surface.sizes),
    )
    return Table("Bounded: time [ms] by pair and message size", columns, tuple(rows))


def _naive(surface: Surface) -> Table:
    runs = "no, limit lifted" if refusal(surface.side) else "yes"
    rows: list[tuple[Value, ...]] = [
        (order, runs, *(surface.naive[order, size] * MS for size in surface.sizes))
        for order in ORDERS
    ]
    rows.append(
        (
            "Scott's schedule, a barrier a phase",
            "yes",
            *(surface.scott[size] * MS for size in surface.sizes),
        )
    )
    columns = ("naive, in order", "runs", *(format_bytes(size) for size in surface.sizes))
    return Table("Naive: time [ms] by order and message size", columns, tuple(rows))


def _best(surface: Surface) -> Table:
    """Beside naive, by order: positive where bounded is faster."""
    rows: list[tuple[Value, ...]] = []
    for size in surface.sizes:
        gains = (
            f"{1 - surface.best_s(size) / surface.naive[order, size]:+.1%}" for order in ORDERS
        )
        rows.append(
            (format_bytes(size), surface.best(size).label, surface.best_s(size) * MS, *gains)
        )
    columns = (
        "bytes",
        "best pair of the text",
        "its time [ms]",
        *(f"better than naive, {order}" for order in ORDERS),
    )
    return Table("Best: the fastest pair of every size", columns, tuple(rows))


def _plane(plane: dict[tuple[Point, int], float], side: int) -> Table:
    sizes = sorted({size for _, size in plane})
    rows: list[tuple[Value, ...]] = [
        (contention, every, *(plane[(contention, every), size] * MS for size in sizes))
        for contention in _contentions(side)
        for every in _intervals(side)
    ]
    columns = (
        "link contention of a phase",
        "phases between barriers",
        *(format_bytes(size) for size in sizes),
    )
    return Table(
        "Plane: time [ms] by link contention, barrier interval and message size",
        columns,
        tuple(rows),
    )


def _heat(surface: Surface) -> Heat:
    """Sizes up, pairs across, naive at the right; the least of each size is marked."""
    shown = pairs(surface.side)
    value = np.array(
        [
            [surface.bounded[pair, size] * MS for pair in shown]
            + [surface.naive[order, size] * MS for order in ORDERS]
            for size in surface.sizes
        ]
    )
    labels = [
        f"{pair.node}\n{pair.link}" + ("\nnot run" if refusal(surface.side, pair) else "")
        for pair in shown
    ]
    labels += [f"naive\n{order}" for order in ORDERS]
    rows = [format_bytes(size) for size in surface.sizes]
    return Heat(
        "",
        "node contention, link contention; naive",
        "",
        labels,
        rows,
        value,
        _least(value),
        logarithmic=True,
    )


def _heat_plane(plane: dict[tuple[Point, int], float], side: int, size: int) -> Heat:
    contentions, intervals = _contentions(side), _intervals(side)
    value = np.array(
        [
            [plane[(contention, every), size] * MS for every in intervals]
            for contention in contentions
        ]
    )
    marked = value == value.min()
    return Heat(
        format_bytes(size),
        "phases between barriers",
        "contention",
        [str(every) for every in intervals],
        [str(contention) for contention in contentions],
        value,
        marked,
        logarithmic=True,
    )


def _least(value: Floats) -> Bools:
    """Shape as `value`: the least of each row."""
    marked: Bools = value == value.min(axis=1, keepdims=True)
    return marked


def _surfaces_panel(surface: Surface, size: int) -> Panel:
    shown = pairs(surface.side)
    runs = [k for k, pair in enumerate(shown) if not refusal(surface.side, pair)]
    fails = [k for k in range(len(shown)) if k not in runs]
    times = [surface.bounded[pair, size] * MS for pair in shown]
    lines = [Line("bounded", runs, [times[k] for k in runs])]
    lifted = ", limit on receives lifted" if refusal(surface.side) else ""
    ends = (0, len(shown) - 1)
    lines += [
        Line(f"naive, {order}{lifted}", ends, [surface.naive[order, size] * MS] * 2)
        for order in ORDERS
    ]
    if fails:
        lines.append(Line("does not run", fails, [times[k] for k in fails], "rings"))
    ticks = (range(len(shown)), [f"{pair.node}\n{pair.link}" for pair in shown])
    return Panel(
        format_bytes(size),
        "node contention, link contention",
        "time [ms]",
        lines,
        log_y=True,
        ticks=ticks,
    )


LEVEL = 0.25
MESHES = (8, 12)
DEPARTURES = (
    "the text does not say in which order its naive program sends; ascending (every node to 0, 1, "
    "2 ...) is what the "
    "claim needs: a naive program that starts at its own neighbour loses far less",
    OVERHEAD_DEPARTURE,
)


def figure_11() -> Item:
    """The improvement at every pair and size, for the three orders of naive."""
    surfaces = [trace_surface(side) for side in MESHES]
    claims = [_claim(surface, order) for order in ORDERS for surface in surfaces]
    most = 100 * max(
        1 - surface.bounded[pair, size] / surface.naive[order, size]
        for surface in surfaces
        for order in ORDERS
        for pair in pairs(surface.side, new=False)
        for size in surface.sizes
    )
    panels = [_figure_11_panel(surface, order, most) for order in ORDERS for surface in surfaces]
    return Item(
        PAPER,
        "Figure 11",
        "improvement of bounded over naive",
        ABOUT,
        claims=tuple(claims),
        tables=tuple(_table(surface) for surface in surfaces),
        departures=DEPARTURES,
        pictures=(
            Picture(
                lambda: picture_charts(
                    panels,
                    title="Figure 11: improvement of bounded over naive",
                    subtitle=(
                        f"percent of naive's time; the line surrounds what is above {LEVEL:.0%}; "
                        "model wormhole"
                    ),
                )
            ),
        ),
        basis="computed",
    )


def improvement(surface: Surface, size: int, order: str) -> float:
    """1 - bounded / naive at the best pair."""
    return 1 - surface.best_s(size) / surface.naive[order, size]


def _claim(surface: Surface, order: str) -> Claim:
    sizes = surface.sizes
    gains = [improvement(surface, size, order) for size in sizes]
    above = sum(gain > LEVEL for gain in gains)
    label = ", ".join(
        f"{format_bytes(size)} {gain:+.0%}" for size, gain in zip(sizes, gains, strict=True)
    )
    return Claim(
        f"section 7: more than 25 % better for most sizes on {surface.side} x {surface.side}, "
        f"naive in {order} order",
        2 * above > len(sizes),
        f"{above} of {len(sizes)}: {label}",
        asserted=order == "ascending",
    )


def _table(surface: Surface) -> Table:
    rows: list[tuple[Value, ...]] = []
    for size in surface.sizes:
        naive = (
            value
            for order in ORDERS
            for value in (surface.naive[order, size] * 1e3, 100 * improvement(surface, size, order))
        )
        rows.append(
            (format_bytes(size), surface.best(size).label, surface.best_s(size) * 1e3, *naive)
        )
    heads = (
        head for order in ORDERS for head in (f"naive, {order} [ms]", f"better than {order} [%]")
    )
    title = f"Best on {surface.side} x {surface.side}: the pair to pick for every size"
    return Table(title, ("bytes", "(node, link)", "bounded [ms]", *heads), tuple(rows))


def _figure_11_panel(surface: Surface, order: str, most: float) -> Heat:
    shown = pairs(surface.side, new=False)
    value = [
        [100 * (1 - surface.bounded[pair, size] / surface.naive[order, size]) for pair in shown]
        for size in surface.sizes
    ]
    return Heat(
        f"{surface.side} x {surface.side}, naive in {order} order",
        "node contention, link contention",
        "",
        [f"{pair.node}\n{pair.link}" for pair in shown],
        [format_bytes(size) for size in surface.sizes],
        np.array(value),
        level=100 * LEVEL,
        most=most,
    )
