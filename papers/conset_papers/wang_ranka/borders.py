"""Borders: who is fastest where (Section 6, results 1 to 3), each border beside the text's.

AC against RS_N.

The text's sentences stand as they are: AC alone is fastest up to a size, LP above one, RS_NL in
most of the other cases. AC in ascending order, as the rows of COM stand, never is; which order of
its sends and which cost of every permutation would make it so stands beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value
from conset_papers.wang_ranka.times import (
    AC,
    AC_RANDOM,
    DEGREES,
    ORDERS,
    RS_N,
    SEEDS,
    SET_UPS,
    SIZES,
    TEXT,
    TODAY,
    UNSCHEDULED_OR_NODES,
    Times,
    fact,
    set_up,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMES = tuple(algorithm.name for algorithm in TEXT)
POWERS = 2
"""A border within this many powers of two of the text's is near it."""
SMALL = 128
"""Up to here the text has AC first at every density it names, d = 4 and 32 [B]."""
Charged = dict[int, Times]
"""Cost of every permutation [us] → times of RS_N."""
ABOUT = (
    f"random:degree=d, regular both ways, on ipsc860:64, mean of {SEEDS} drawings (seeds 0 to "
    f"{SEEDS - 1}) simulated "
    "by circuit. Sync: ready (S1) for LP and RS_NL, none (S2) for AC and RS_N, as Section 6 has "
    "it; 1 send and 1 "
    "receive in flight, a send and a receive of one node share 0.39 us/B unless they are a "
    "synchronized exchange. "
    "Overheads, hops and the signal's cost are not in the text (tagged so in the preset). Borders "
    "are exponents of "
    "two; 0 where there is none."
)
DEPARTURES = (
    "Table 1, which held the times, is not in the scan: the borders come from the words of "
    "results 1 to 3",
    "AC's order of sends is not in the text: ascending targets here, as the rows of COM stand, "
    "others beside",
)


def winners(times: Times, degree: int, names: Sequence[str] = NAMES) -> list[str]:
    """The fastest at each of `SIZES`."""
    return [min(names, key=lambda name: times[name, degree][k]) for k in range(len(SIZES))]


def last_of(times: Times, degree: int, members: Sequence[str]) -> int | None:
    """The largest size up to which one of `members` is fastest at every size [B].

    None: not even at the first.
    """
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


def last_of_ac(times: Times, degree: int) -> int | None:
    """The size up to which AC alone is fastest, as result 1 has it [B]."""
    return last_of(times, degree, (AC.name,))


def powers_off(ours: int | None, published: int) -> float:
    """How many powers of two a border is above (below: negative) the text's.

    Infinite where there is none.
    """
    return float("inf") if ours is None else log2(ours / published)


def format_bytes(size: int | None) -> str:
    """A border for people."""
    return "nowhere" if size is None else format_size(size)


def gain(times: Times, degree: int, k: int, name: str, names: Sequence[str] = NAMES) -> float:
    """How much longer the best other of `names` takes than `name` at size `k`.

    As a share of the time of `name`.
    """
    others = min(times[other, degree][k] for other in names if other != name)
    return others / times[name, degree][k] - 1


def reproduce(seeds: int = SEEDS) -> Item:
    """Simulates all densities and sizes; finds the borders.

    Args:
        seeds: drawings of each density.
    """
    times = simulated((*TEXT, *ORDERS[1:], *TODAY), seeds=seeds)
    charged: Charged = {0: times} | {
        us: simulated((RS_N,), seeds=seeds, setting=set_up(us)) for us in SET_UPS
    }
    return Item(
        "wang-ranka",
        "Borders",
        "who is fastest where: results 1 to 3 of Section 6",
        ABOUT,
        cells=_cells(times),
        claims=(*_claims(times), *_beside(times, charged)),
        tables=(
            _wins_table(times, charged),
            _times_table(times),
            _winners_table(times),
            _orders_table(times, charged),
        ),
        pictures=(Picture(lambda: _draw_orders(times, charged)),),
        departures=(*DEPARTURES, _what_would(times, charged)),
        basis="computed",
    )


def _cells(times: Times) -> tuple[Cell, ...]:
    """Borders as exponents of two, the axis of Figure 5."""

    def cell(row: str, degree: int, published: float, ours: int | None) -> Cell:
        return Cell(row, f"d = {degree}", log2(published), log2(ours) if ours else 0.0)

    first = [(d, fact("ac_up_to", d), last_of_ac(times, d)) for d in (4, 32)]
    cells = [cell("AC fastest up to 2^x B", *one) for one in first]
    return (
        *cells,
        cell("LP fastest above 2^x B", 32, fact("lp_above", 32), above(times, 32, "LP")),
    )


def _claims(times: Times) -> tuple[Claim, ...]:
    """The text's results."""
    return (
        border_claim(times, 4),
        border_claim(times, 32),
        lp_claim(times, 32),
        lp_claim(times, 48),
        most_claim(times),
    )


def border_claim(times: Times, degree: int) -> Claim:
    """Result 1 at one density."""
    published = int(fact("ac_up_to", degree))
    ours = last_of_ac(times, degree)
    return Claim(
        f"result 1: AC is fastest up to {format_size(published)} at d = {degree}",
        ours is not None and ours >= published,
        _describe_border("up to", ours, published),
    )


def lp_claim(times: Times, degree: int) -> Claim:
    """Result 2 at one density; the text has one border for both."""
    published = int(fact("lp_above", 32))
    ours = above(times, degree, "LP")
    return Claim(
        f"result 2: LP is fastest above {format_size(published)} at d = {degree}",
        ours is not None and ours <= published,
        _describe_border("above", ours, published),
    )


def other_cases(degree: int) -> tuple[int, ...]:
    """Places in `SIZES` that results 1 and 2 leave to result 3.

    Result 1 has a border at d = 4 and at d = 32 only: what either would give to AC is left out
    between them.
    """
    up_to = fact("ac_up_to", 32 if degree >= 32 else 4)
    most = fact("lp_above", 32) if degree >= 32 else max(SIZES)
    return tuple(k for k, size in enumerate(SIZES) if up_to < size <= most)


def most_claim(times: Times) -> Claim:
    """Result 3."""
    won = {d: [winners(times, d)[k] == "RS_NL" for k in other_cases(d)] for d in DEGREES}
    every = [one for row in won.values() for one in row]
    shown = ", ".join(f"{sum(row)} of {len(row)} at d = {d}" for d, row in won.items())
    return Claim(
        "result 3: RS_NL is fastest in most of the other cases",
        sum(every) > len(every) / 2,
        f"{sum(every)} of {len(every)} sizes beyond the borders of results 1 and 2: {shown}",
    )


def between_claim(times: Times, degree: int) -> Claim:
    """Of ours: RS_NL from where AC and RS_N end here to where LP begins here."""
    lower, upper = last_of_class(times, degree), above(times, degree, "LP")
    inside = [
        k
        for k, size in enumerate(SIZES)
        if size > (lower or 0) and (upper is None or size <= upper)
    ]
    names = winners(times, degree)
    margins = [gain(times, degree, k, "RS_NL") for k in inside if names[k] == "RS_NL"]
    by = f", by {100 * min(margins):.0f} to {100 * max(margins):.0f} %" if margins else ""
    return Claim(
        f"beside: RS_NL is fastest wherever neither AC or RS_N nor LP is, at d = {degree}",
        len(margins) == len(inside) > 0,
        f"{len(margins)} of {len(inside)} sizes{by}",
        asserted=False,
    )


def _describe_border(word: str, ours: int | None, published: int) -> str:
    if ours is None:
        return "nowhere"
    off = powers_off(ours, published)
    if off == 0:
        return f"{word} {format_bytes(ours)}, exactly"
    return (
        f"{word} {format_bytes(ours)}, {abs(off):.0f} power{'s' * (abs(off) != 1)} of two "
        f"{'above' if off > 0 else 'below'}"
    )


def _beside(times: Times, charged: Charged) -> tuple[Claim, ...]:
    """Sentences of ours: AC against RS_N in three orders, and the two as one class."""
    claims = []
    for order in ORDERS:
        every = [
            _margin(times, charged[0], order.name, d, k) for d in DEGREES for k in range(len(SIZES))
        ]
        slower = sum(margin > 0 for margin in every)
        claims.append(
            Claim(
                f"beside: {_order_name(order.name)}, takes longer than RS_N at every "
                "density and size",
                slower == len(every),
                f"in {slower} of {len(every)}; it takes {100 * min(every):+.0f} to "
                f"{100 * max(every):+.0f} %",
                asserted=False,
            )
        )
    for degree in (4, 32):
        published = int(fact("ac_up_to", degree))
        ours = last_of_class(times, degree)
        claims.append(
            Claim(
                f"beside: AC or RS_N is fastest up to {format_size(published)} at d = {degree}, "
                "within two powers of two",
                abs(powers_off(ours, published)) <= POWERS,
                _describe_border("up to", ours, published),
                asserted=False,
            )
        )
    return (*claims, *(between_claim(times, degree) for degree in (4, 8, 16, 32)))


def _margin(times: Times, charged: Times, name: str, degree: int, k: int) -> float:
    """How much longer AC takes than RS_N, which pays for its permutations.

    Negative where it is before.
    """
    return times[name, degree][k] / charged["RS_N", degree][k] - 1


def _order_name(name: str) -> str:
    return name if name != AC.name else "AC, ascending order"


def result_1_cases() -> list[tuple[int, int]]:
    """(density, place in `SIZES`) of what result 1 gives to AC."""
    return [(d, k) for d in (4, 32) for k, size in enumerate(SIZES) if size <= fact("ac_up_to", d)]


def wins(times: Times, charged: Times, name: str) -> tuple[int, int]:
    """How often AC in an order is before RS_N.

    In the cases of result 1, and up to 128 B at all densities.
    """
    cases = (
        result_1_cases(),
        [(d, k) for d in DEGREES for k, size in enumerate(SIZES) if size <= SMALL],
    )
    first, small = (sum(_margin(times, charged, name, d, k) < 0 for d, k in one) for one in cases)
    return first, small


def _what_would(times: Times, charged: Charged) -> str:
    """Which order of AC's sends and which cost of RS_N's permutations make result 1 true."""
    needed = []
    for order in ORDERS:
        enough = [
            us
            for us, found in charged.items()
            if wins(times, found, order.name)[0] == len(result_1_cases())
        ]
        cost = (
            f"from {min(enough):g} us a permutation on"
            if enough
            else f"not even at {max(charged):g} us"
        )
        needed.append(f"{_order_name(order.name)}: {cost}")
    return (
        "What would put AC before RS_N in all cases of result 1, costs of a permutation of RS_N "
        "being tried at "
        f"{', '.join(f'{us:g}' for us in charged)} us: {'; '.join(needed)}"
    )


def _wins_table(times: Times, charged: Charged) -> Table:
    first = len(result_1_cases())
    small = len(DEGREES) * sum(size <= SMALL for size in SIZES)
    rows: list[tuple[Value, ...]] = []
    for order in ORDERS:
        for us, found in charged.items():
            won = wins(times, found, order.name)
            margins = [_margin(times, found, order.name, d, k) for d, k in result_1_cases()]
            rows.append(
                (
                    _order_name(order.name),
                    us,
                    f"{won[0]} of {first}",
                    f"{100 * min(margins):+.0f} to {100 * max(margins):+.0f} %",
                    f"{won[1]} of {small}",
                )
            )
    columns = (
        "order of sends",
        "a permutation of RS_N [us]",
        "AC before RS_N in the cases of result 1",
        "AC takes longer by",
        "AC before RS_N up to 128 B, all d",
    )
    return Table(
        "What would decide: the order of AC's sends and a cost of every permutation of RS_N",
        columns,
        tuple(rows),
    )


def _times_table(times: Times) -> Table:
    names = (*NAMES, *(one.name for one in (*ORDERS[1:], *TODAY)))
    rows: list[tuple[Value, ...]] = [
        (degree, size, *(times[name, degree][k] * 1e3 for name in names))
        for degree in DEGREES
        for k, size in enumerate(SIZES)
    ]
    return Table("Times: simulated by circuit [ms]", ("d", "size [B]", *names), tuple(rows))


def _winners_table(times: Times) -> Table:
    rows: list[tuple[Value, ...]] = []
    for degree in DEGREES:
        best = winners(times, degree)
        row = [f"{name} {100 * gain(times, degree, k, name):.0f} %" for k, name in enumerate(best)]
        rows.append((degree, *row))
    title = "Fastest: of the text's four, and how much longer the next takes"
    return Table(title, ("d", *(format_size(size) for size in SIZES)), tuple(rows))


def _orders_table(times: Times, charged: Charged) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            _order_name(order.name),
            us,
            degree,
            *(
                f"{100 * _margin(times, charged[us], order.name, degree, k):+.0f} %"
                for k in range(len(SIZES))
            ),
        )
        for us in (0, SET_UPS[0])
        for order in ORDERS
        for degree in DEGREES
    ]
    title = (
        "AC against RS_N: how much longer AC takes, by the order of its sends and a cost of "
        "every permutation"
    )
    columns = ("order", "a permutation of RS_N [us]", "d", *(format_size(size) for size in SIZES))
    return Table(title, columns, tuple(rows))


def _draw_orders(times: Times, charged: Charged) -> Figure:
    across, up = "message size [B]", "time of AC / time of RS_N"
    ticks = (SIZES[::3], [format_size(size) for size in SIZES[::3]])
    shown = (
        (AC.name, "ascending order", 0),
        (AC_RANDOM.name, "random order", 0),
        (ORDERS[2].name, "rotated order", 0),
        (AC_RANDOM.name, f"random order, {SET_UPS[0]} us per permutation of RS_N", SET_UPS[0]),
    )
    panels = [
        Panel(
            f"AC in {label}",
            across,
            up,
            [
                Line("", (SIZES[0], SIZES[-1]), (1, 1), "quiet"),
                *(
                    Line(
                        f"d = {degree}",
                        SIZES,
                        [
                            1 + _margin(times, charged[us], name, degree, k)
                            for k in range(len(SIZES))
                        ],
                    )
                    for degree in DEGREES
                ),
            ],
            log_x=2,
            ticks=ticks,
            y_limits=(0.6, 1.6),
        )
        for name, label, us in shown
    ]
    return picture_charts(
        panels,
        title="AC against RS_N: the order of AC's sends decides",
        subtitle="ipsc860:64, circuit, both under none (S2); below 1 AC is faster",
    )
