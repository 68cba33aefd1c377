"""Figures 7 to 10: time over contention and message size, bounded beside naive, on 4 × 4 to 16 × 16 nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import conset
from conset_papers.bokhari_nicol.exchange import (
    ABOUT,
    MODEL,
    ORDERS,
    OVERHEAD_DEPARTURE,
    PAPER,
    SIZES,
    SLICE_B,
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
from conset_papers.pictures.lines import Line, Panel, picture_lines

NAMES = {4: "Figure 7", 8: "Figure 8", 12: "Figure 9", 16: "Figure 10"}
DRAWN = (1024, 4096, SLICE_B, 65_536)
MS = 1e3


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


def reproduce(side: int) -> Item:
    """Simulates every pair, size and order of one mesh."""
    surface = trace_surface(side)
    name = NAMES[side]
    title = f"bounded and naive over contention and message size, {side} x {side}"
    return Item(
        PAPER, name, title, ABOUT, claims=claims_of(surface), 
        tables=(_bounded(surface), _naive(surface), _best(surface)),
        pictures=(Picture(lambda: picture_lines(
            [_panel(surface, size) for size in DRAWN], title=f"{name}: {title}",
            subtitle=f"model {MODEL}, bounded under barriers, naive under sync none; paragon:{side}x{side}", height=3.4,
        )),),
        departures=(OVERHEAD_DEPARTURE,),
    )  # fmt: skip


def trace_surface(side: int, sizes: tuple[int, ...] = SIZES) -> Surface:
    """Every time of a mesh."""
    points = [(pair, size) for size in sizes for pair in pairs(side)]
    rivals = [(order, size) for size in sizes for order in ORDERS]
    bounded = on_threads(lambda at: bounded_s(*at), points)
    naive = on_threads(lambda at: naive_s(side, at[1], at[0]), rivals)
    scott = on_threads(lambda size: scott_s(side, size), sizes)
    return Surface(
        side, sizes, dict(zip(points, bounded, strict=True)), dict(zip(rivals, naive, strict=True)),
        dict(zip(sizes, scott, strict=True)),
    )  # fmt: skip


@cache
def scott_s(side: int, size: int) -> float:
    """Scott's schedule with a barrier after each of its phases [s]."""
    schedule = conset.compile(f"alltoall:size={size}", machine(side), method="scott")
    return conset.simulate(schedule, model=MODEL, sync="barrier").time_s


def claims_of(surface: Surface) -> tuple[Claim, ...]:
    """What sections 1 and 7 say of the mesh."""
    own = {4: _claims_4, 16: _claims_16}.get(surface.side, _claims_between)(surface)
    rivals = () if surface.side == 16 else ORDERS
    return (*own, _beats_scott(surface), *(_beats_naive(surface, order) for order in rivals), *_beyond(surface))


def _beats_scott(surface: Surface) -> Claim:
    gain = [1 - surface.best_s(size) / surface.scott[size] for size in surface.sizes]
    return Claim("abstract: bounded is always better than Scott's schedule", min(gain) > 0,
                 f"{min(gain):.0%} to {max(gain):.0%} less time at its best contention")  # fmt: skip


def _beats_naive(surface: Surface, order: str) -> Claim:
    """Holds where the sizes at which naive wins are the smallest ones, or none; asserted for ascending order."""
    lost = [size for size in surface.sizes if surface.best_s(size) >= surface.naive[order, size]]
    least = surface.sizes[: len(lost)]
    label = ", ".join(format_bytes(size) for size in lost) or "none"
    return Claim(
        f"abstract: bounded beats naive for all but the smallest messages, naive in {order} order",
        tuple(lost) == least and len(lost) < len(surface.sizes), f"naive is faster at {label}",
        asserted=order == "ascending",
    )  # fmt: skip


def _beyond(surface: Surface) -> list[Claim]:
    """Contentions that do not divide n/4, which the text could not have."""
    claims = []
    for pair in (pair for pair in pairs(surface.side) if pair.new):
        won = [size for size in surface.sizes if surface.bounded[pair, size] < surface.best_s(size)]
        claims.append(Claim(
            f"beyond the text: {pair.label} is faster than every pair the text could have", bool(won),
            f"at {', '.join(map(format_bytes, won)) or 'no size'}", asserted=False,
        ))  # fmt: skip
    return claims


def _claims_4(surface: Surface) -> list[Claim]:
    falls = [size for size in surface.sizes if _falling(surface, size)]
    phases = [conset.compile("alltoall", machine(4), method="bounded", contention=c).phases for c in (1, 2, 4)]
    return [
        Claim("section 7: performance improves as contention increases", len(falls) == len(surface.sizes),
              f"from pair to pair at {len(falls)} of {len(surface.sizes)} sizes"),
        Claim("section 7: 4 x 4 does not collapse, contention saves synchronization only", min(phases) >= 15,
              f"{', '.join(map(str, phases))} phases at link contention 1, 2, 4; 15 without a node's own message"),
    ]  # fmt: skip


def _falling(surface: Surface, size: int) -> bool:
    times = [surface.bounded[pair, size] for pair in pairs(surface.side, new=False)]
    return all(later < before for before, later in pairwise(times))


def _claims_between(surface: Surface) -> list[Claim]:
    sizes, side = surface.sizes, surface.side
    first, merged = Pair(side, 1), Pair(side, side // 4)
    slower = [size for size in sizes if surface.bounded[first, size] > surface.naive["ascending", size]]
    drop = [1 - surface.bounded[merged, size] / surface.bounded[first, size] for size in sizes]
    last = pairs(side)[-1]
    arrested = [size for size in sizes
                if surface.best(size).node <= 16 and surface.bounded[last, size] > surface.best_s(size)]  # fmt: skip
    best = ", ".join(f"{format_bytes(size)} {surface.best(size).label}" for size in sizes)
    return [
        Claim("section 7: without contention bounded is slower than naive, at most sizes", _most(slower, sizes),
              f"at {len(slower)} of {len(sizes)} sizes, naive in ascending order"),
        Claim(f"section 7: the initial drop, contention 1 to {side // 4}, is steep: a third less at the least",
              min(drop) > 1 / 3, f"{min(drop):.0%} to {max(drop):.0%} less time"),
        Claim("section 7: improvement is arrested at node contention 16, then time rises, at most sizes",
              _most(arrested, sizes), f"at {len(arrested)} of {len(sizes)} sizes; best pairs: {best}"),
    ]  # fmt: skip


def _most(some: list[int], sizes: tuple[int, ...]) -> bool:
    return 2 * len(some) > len(sizes)


def _claims_16(surface: Surface) -> list[Claim]:
    """The text's failures; the model's times without the limit stand beside them."""
    last = pairs(16)[-1]
    naive_ms = naive_s(16) * MS
    others = [pair.label for pair in pairs(16) if pair != last and refusal(16, pair)]
    return [
        Claim("section 7: naive fails on 16 x 16, and runs on 12 x 12", bool(refusal(16)) and not refusal(12),
              f"{refusal(16)}; with --set outstanding_receives=all it would take {naive_ms:.1f} ms at {SLICE_B:,} B"),
        Claim("section 7: bounded fails at (256, 1024) and there alone", bool(refusal(16, last)) and not others,
              f"{refusal(16, last)}; without the limit {bounded_s(last) * MS:.1f} ms at {SLICE_B:,} B"),
    ]  # fmt: skip


def _bounded(surface: Surface) -> Table:
    rows: list[tuple[Value, ...]] = []
    for pair in pairs(surface.side):
        runs = "no, limit lifted" if refusal(surface.side, pair) else "yes"
        times = (surface.bounded[pair, size] * MS for size in surface.sizes)
        rows.append((pair.label, "beyond" if pair.new else "yes", runs, *times))
    columns = ("(node, link)", "in the text", "runs", *(format_bytes(size) for size in surface.sizes))
    return Table("Bounded: time [ms] by pair and message size", columns, tuple(rows))


def _naive(surface: Surface) -> Table:
    runs = "no, limit lifted" if refusal(surface.side) else "yes"
    rows: list[tuple[Value, ...]] = [
        (order, runs, *(surface.naive[order, size] * MS for size in surface.sizes)) for order in ORDERS
    ]
    rows.append(("Scott's schedule, a barrier a phase", "yes", *(surface.scott[size] * MS for size in surface.sizes)))
    columns = ("naive, in order", "runs", *(format_bytes(size) for size in surface.sizes))
    return Table("Naive: time [ms] by order and message size", columns, tuple(rows))


def _best(surface: Surface) -> Table:
    """Beside naive, by order: positive where bounded is faster."""
    rows: list[tuple[Value, ...]] = []
    for size in surface.sizes:
        gains = (f"{1 - surface.best_s(size) / surface.naive[order, size]:+.1%}" for order in ORDERS)
        rows.append((format_bytes(size), surface.best(size).label, surface.best_s(size) * MS, *gains))
    columns = ("bytes", "best pair of the text", "its time [ms]", *(f"better than naive, {order}" for order in ORDERS))
    return Table("Best: the fastest pair of every size", columns, tuple(rows))


def _panel(surface: Surface, size: int) -> Panel:
    shown = pairs(surface.side)
    runs = [k for k, pair in enumerate(shown) if not refusal(surface.side, pair)]
    fails = [k for k in range(len(shown)) if k not in runs]
    times = [surface.bounded[pair, size] * MS for pair in shown]
    lines = [Line("bounded", runs, [times[k] for k in runs])]
    lifted = ", limit on receives lifted" if refusal(surface.side) else ""
    ends = (0, len(shown) - 1)
    lines += [Line(f"naive, {order}{lifted}", ends, [surface.naive[order, size] * MS] * 2) for order in ORDERS]
    if fails:
        lines.append(Line("does not run", fails, [times[k] for k in fails], "rings"))
    ticks = (range(len(shown)), [f"{pair.node}\n{pair.link}" for pair in shown])
    return Panel(f"{size:,} B", "node contention, link contention", "time [ms]", lines, log_y=True, ticks=ticks)
