"""Borders: who is fastest where (Section 6, results 1 to 3), each border beside the text's; AC against RS_N."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING

from conset.units import format_size
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value
from conset_papers.pictures.lines import Line, Panel, picture_lines
from conset_papers.wang_ranka.times import (
    AC,
    AC_RANDOM,
    DEGREES,
    ORDERS,
    RS_N,
    SEEDS,
    SET_UP,
    SIZES,
    TEXT,
    TODAY,
    UNSCHEDULED_OR_NODES,
    Times,
    fact,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMES = tuple(algorithm.name for algorithm in TEXT)
POWERS = 2
"""A border within this many powers of two of the text's agrees."""
ABOUT = (
    f"random:degree=d, regular both ways, on ipsc860:64, mean of {SEEDS} drawings (seeds 0 to {SEEDS - 1}) simulated "
    "by circuit. Sync: ready (S1) for LP and RS_NL, none (S2) for AC and RS_N, as Section 6 has it; 1 send and 1 "
    "receive in flight, a send and a receive of one node share 0.39 us/B unless they are a synchronized exchange. "
    "Overheads, hops and the signal's cost are not in the text (tagged so in the preset). AC and RS_N are one "
    "class: see the claims at the end. A border agrees within two powers of two."
)
DEPARTURES = (
    "Table 1, which held the times, is not in the scan: the borders come from the words of results 1 to 3",
    "AC's order of sends is not in the text: ascending targets here, others beside",
)


def winners(times: Times, degree: int, names: Sequence[str] = NAMES) -> list[str]:
    """The fastest at each of `SIZES`."""
    return [min(names, key=lambda name: times[name, degree][k]) for k in range(len(SIZES))]


def last_of(times: Times, degree: int, members: Sequence[str]) -> int | None:
    """The largest size up to which one of `members` is fastest at every size [B]; None: not even at the first."""
    count = 0
    for name in winners(times, degree):
        if name not in members:
            break
        count += 1
    return SIZES[count - 1] if count else None


def above(times: Times, degree: int, name: str) -> int | None:
    """The size above which `name` is fastest at every size [B]; None: not even at the last."""
    names = winners(times, degree)
    first = len(SIZES)
    while first and names[first - 1] == name:
        first -= 1
    return None if first == len(SIZES) else SIZES[max(first - 1, 0)]


def last_of_class(times: Times, degree: int) -> int | None:
    """The size up to which AC or RS_N is fastest [B]."""
    return last_of(times, degree, UNSCHEDULED_OR_NODES)


def powers_off(ours: int | None, published: int) -> float:
    """How many powers of two a border is above (below: negative) the text's; infinite where there is none."""
    return float("inf") if ours is None else log2(ours / published)


def format_bytes(size: int | None) -> str:
    """A border for people."""
    return "nowhere" if size is None else format_size(size)


def gain(times: Times, degree: int, k: int, name: str, names: Sequence[str] = NAMES) -> float:
    """How much longer the best other of `names` takes than `name` at size `k`, as a share of the time of `name`."""
    others = min(times[other, degree][k] for other in names if other != name)
    return others / times[name, degree][k] - 1


def reproduce(seeds: int = SEEDS) -> Item:
    """Simulates all densities and sizes; finds the borders.

    Args:
        seeds: drawings of each density.
    """
    times = simulated((*TEXT, *ORDERS[1:], *TODAY), seeds=seeds)
    charged = simulated((*ORDERS, RS_N), seeds=seeds, setting=SET_UP)
    return Item(
        "wang-ranka", "Borders", "who is fastest where: results 1 to 3 of Section 6", ABOUT,
        cells=_cells(times), claims=(*_claims(times), *_order_claims(times, charged)),
        tables=(_times_table(times), _winners_table(times), _orders_table(times, charged)),
        pictures=(Picture(lambda: _draw_orders(times, charged)),), departures=DEPARTURES,
    )  # fmt: skip


def _cells(times: Times) -> tuple[Cell, ...]:
    """Borders as exponents of two, the axis of Figure 5."""

    def cell(row: str, degree: int, published: float, ours: int | None) -> Cell:
        return Cell(row, f"d = {degree}", log2(published), log2(ours) if ours else 0.0)

    first = [(d, fact("class_a_up_to", d), last_of_class(times, d)) for d in (4, 32)]
    cells = [cell("AC or RS_N fastest up to 2^x B", *one) for one in first]
    return (*cells, cell("LP fastest above 2^x B", 32, fact("lp_above", 32), above(times, 32, "LP")))


def _claims(times: Times) -> tuple[Claim, ...]:
    return (
        border_claim(times, 4), border_claim(times, 32), lp_claim(times, 32),
        Claim("result 2: LP is fastest above 1 KB at d = 48 (two powers of two later at most)",
              (above(times, 48, "LP") or max(SIZES)) <= fact("lp_above", 32) * 2**POWERS,
              f"above {format_bytes(above(times, 48, 'LP'))}"),
        *(between_claim(times, degree) for degree in (4, 8, 16, 32)),
        Claim("beside: LP's border at d = 48 is that of d = 32, 1 KB, within two powers of two",
              abs(powers_off(above(times, 48, "LP"), int(fact("lp_above", 32)))) <= POWERS,
              f"LP is fastest above {format_bytes(above(times, 48, 'LP'))} already, by "
              f"{100 * gain(times, 48, SIZES.index(2048), 'LP'):.0f} % at 2 KiB; the text has no border of its own "
              "for d = 48", asserted=False),
    )  # fmt: skip


def border_claim(times: Times, degree: int) -> Claim:
    """Result 1 at one density."""
    published = int(fact("class_a_up_to", degree))
    ours = last_of_class(times, degree)
    off = powers_off(ours, published)
    return Claim(f"result 1: AC or RS_N is fastest up to {format_size(published)} at d = {degree}", abs(off) <= POWERS,
                 f"up to {format_bytes(ours)}, {_describe_off(off)}")  # fmt: skip


def lp_claim(times: Times, degree: int) -> Claim:
    """Result 2 at one density."""
    published = int(fact("lp_above", 32))
    ours = above(times, degree, "LP")
    off = powers_off(ours, published)
    figures = f"above {format_bytes(ours)}, {_describe_off(off)}"
    return Claim(f"result 2: LP is fastest above {format_size(published)} at d = {degree}", abs(off) <= POWERS, figures)


def between_claim(times: Times, degree: int) -> Claim:
    """Result 3 at one density: RS_NL from where AC and RS_N end to where LP begins."""
    lower, upper = last_of_class(times, degree), above(times, degree, "LP")
    inside = [k for k, size in enumerate(SIZES) if size > (lower or 0) and (upper is None or size <= upper)]
    names = winners(times, degree)
    where = "LP begins" if upper is not None else "128 KiB"
    margins = [gain(times, degree, k, "RS_NL") for k in inside if names[k] == "RS_NL"]
    by = f", by {100 * min(margins):.0f} to {100 * max(margins):.0f} %" if margins else ""
    return Claim(
        f"result 3: RS_NL is fastest between, at d = {degree} to where {where}" if upper is not None else
        f"result 3: RS_NL is fastest at all other sizes, at d = {degree} up to {where}",
        len(margins) == len(inside) > 0, f"{len(margins)} of {len(inside)} sizes{by}",
    )  # fmt: skip


def _describe_off(off: float) -> str:
    if off == 0:
        return "exactly"
    return f"{abs(off):.0f} power{'s' * (abs(off) != 1)} of two {'above' if off > 0 else 'below'}"


def _order_claims(times: Times, charged: Times) -> tuple[Claim, ...]:
    """AC against RS_N: the text has AC first for small messages; reported, because its order of sends is not known."""
    claims = []
    for found, label in ((times, "as in the preset"), (charged, "15 us for every permutation of RS_N")):
        for order in ORDERS:
            margins = [_margin(found, order.name, d, k) for d in DEGREES for k, size in enumerate(SIZES) if size <= 128]
            first = sum(margin < 0 for margin in margins)
            claims.append(Claim(
                f"result 1: {order.name if order is not AC else 'AC, ascending order'}, is before RS_N up to 128 B "
                f"({label})", first == len(margins),
                f"in {first} of {len(margins)}; AC takes {100 * min(margins):+.0f} to {100 * max(margins):+.0f} %",
                asserted=False,
            ))  # fmt: skip
    return tuple(claims)


def _margin(times: Times, name: str, degree: int, k: int) -> float:
    """How much longer AC takes than RS_N; negative where it is before."""
    return times[name, degree][k] / times["RS_N", degree][k] - 1


def _times_table(times: Times) -> Table:
    names = (*NAMES, *(one.name for one in (*ORDERS[1:], *TODAY)))
    rows: list[tuple[Value, ...]] = [
        (degree, size, *(times[name, degree][k] * 1e3 for name in names))
        for degree in DEGREES for k, size in enumerate(SIZES)
    ]  # fmt: skip
    return Table("Times: simulated by circuit [ms]", ("d", "size [B]", *names), tuple(rows))


def _winners_table(times: Times) -> Table:
    rows: list[tuple[Value, ...]] = []
    for degree in DEGREES:
        best = winners(times, degree)
        row = [f"{name} {100 * gain(times, degree, k, name):.0f} %" for k, name in enumerate(best)]
        rows.append((degree, *row))
    title = "Fastest: of the text's four, and how much longer the next takes"
    return Table(title, ("d", *(format_size(size) for size in SIZES)), tuple(rows))


def _orders_table(times: Times, charged: Times) -> Table:
    rows: list[tuple[Value, ...]] = [
        (order.name if order is not AC else "AC, ascending order", label, degree,
         *(f"{100 * _margin(found, order.name, degree, k):+.0f} %" for k in range(len(SIZES))))
        for found, label in ((times, "0"), (charged, "15 us")) for order in ORDERS for degree in DEGREES
    ]  # fmt: skip
    title = "AC against RS_N: how much longer AC takes, by the order of its sends and a cost of every permutation"
    return Table(title, ("order", "set-up", "d", *(format_size(size) for size in SIZES)), tuple(rows))


def _draw_orders(times: Times, charged: Times) -> Figure:
    across, up = "message size [B]", "time of AC / time of RS_N"
    ticks = (SIZES[::3], [format_size(size) for size in SIZES[::3]])
    shown = ((AC.name, "ascending order", times), (AC_RANDOM.name, "random order", times),
             (ORDERS[2].name, "rotated order", times),
             (AC_RANDOM.name, "random order, 15 us per permutation of RS_N", charged))  # fmt: skip
    panels = [
        Panel(f"AC in {label}", across, up,
              [Line("", (SIZES[0], SIZES[-1]), (1, 1), "quiet"),
               *(Line(f"d = {degree}", SIZES, [1 + _margin(found, name, degree, k) for k in range(len(SIZES))])
                 for degree in DEGREES)],
              log_x=2, ticks=ticks, y_limits=(0.6, 1.6))
        for name, label, found in shown
    ]  # fmt: skip
    return picture_lines(
        panels, title="AC against RS_N: the order of AC's sends decides",
        subtitle="ipsc860:64, circuit, both under none (S2); below 1 AC is faster",
    )  # fmt: skip
