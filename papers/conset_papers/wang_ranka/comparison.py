"""Who is fastest where: borders, Figures 5 to 9, Sections 6 and 7.

Borders: who is fastest where (Section 6, results 1 to 3), each border beside the text's.

AC against RS_N.

The text's sentences stand as they are: AC alone is fastest up to a size, LP above one, RS_NL in
most of the other cases. AC in ascending order, as the rows of COM stand, never is; which order of
its sends and which cost of every permutation would make it so stands beside.

Figure 5: the regions where each algorithm is fastest.

By simulation and by prediction.

Figures 6 to 9: communication cost over message size, 16 B to 128 KiB, one density each.

Today's schedules beside.

Section 6 on S1 and S2: which algorithm gains from a ready signal for every message.

Section 7: the text's four conclusions, and the assumption that decides each border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log2
from typing import TYPE_CHECKING

from conset.base import format_size
from conset.report import Line, Panel, picture_charts, picture_regions
from conset.studies import Cell as RegionCell, Regions
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.wang_ranka.times import (
    AC,
    AC_RANDOM,
    DEGREES,
    LP,
    MODELS,
    ORDERS,
    RS_N,
    RS_NL,
    SEEDS,
    SET_UPS,
    SIZES,
    TEXT,
    UNSCHEDULED_OR_NODES,
    Algorithm,
    Times,
    compiled,
    fact,
    predicted,
    set_up,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = tuple(algorithm.name for algorithm in TEXT)
POWERS = 2
"""A border within this many powers of two of the text's is near it."""
MACHINE_SEEDS = 2
Charged = dict[int, Times]
"""Cost of every permutation [us] → times of RS_N."""
BORDERS_ABOUT = (
    f"random:degree=d, regular both ways, on ipsc860:64, mean of {SEEDS} drawings (seeds 0 to "
    f"{SEEDS - 1}) simulated "
    "by circuit. Sync: ready (S1) for LP and RS_NL, none (S2) for AC and RS_N, as Section 6 has "
    "it; 1 send and 1 "
    "receive in flight, a send and a receive of one node share 0.39 us/B unless they are a "
    "synchronized exchange. "
    "Overheads, hops and the signal's cost are not in the paper (tagged so in the preset). It "
    "prints no number beside these borders, so there is no cell."
)
BORDERS_DEPARTURES = (
    "result 1 is reproduced on no machine, and the cause is the cost of a permutation: under S2 no "
    "preset charges one, so RS_N only puts AC's sends into a better order and cannot lose (table "
    "Machines). Start-up: 15 us for every permutation of RS_N give AC a region on ipsc860 if it "
    "sends in random order (the paper prints no order) and on delta in any order; paragon and "
    "iwarp take 60 us, iwarp because its connections save 20 us at both ends of a message. Order: "
    "in ascending order all nodes send to the same few first, which costs AC 19 to 24 % at 16 B "
    "and d = 4 on ipsc860, delta and paragon. Buffers have no part: no preset has room for fewer "
    "than the 48 receives that AC posts, and none copies",
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


def borders(seeds: int = SEEDS) -> Item:
    """Simulates all densities and sizes; finds the borders.

    Args:
        seeds: drawings of each density.
    """
    times = simulated((*TEXT, *ORDERS[1:]), seeds=seeds)
    charged: Charged = {
        us: simulated((RS_N,), seeds=seeds, setting=set_up(us)) for us in (0, SET_UPS[0])
    }
    return Item(
        "wang-ranka",
        "Borders",
        "who is fastest where: results 1 to 3 of Section 6",
        BORDERS_ABOUT,
        claims=(*_results(times), *_beside(times, charged)),
        tables=(
            _machines_table(),
            _times_table(times),
            _winners_table(times),
        ),
        pictures=(Picture(lambda: _draw_orders(times, charged)),),
        departures=BORDERS_DEPARTURES,
        basis="computed",
    )


def _results(times: Times, counted_in: str = "") -> tuple[Claim, ...]:
    """Results 1 to 3 of Section 6; a map that repeats them names the item that counts them."""
    claims = (
        border_claim(times, 4),
        border_claim(times, 32),
        lp_claim(times, 32),
        lp_claim(times, 48),
        most_claim(times),
    )
    return tuple(replace(claim, counted_in=counted_in) for claim in claims)


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


def _machines_table() -> Table:
    """Result 1 on the machines of all four papers, AC against RS_N alone."""
    rows: list[tuple[Value, ...]] = []
    degrees = (4, 32)
    for machine in MODELS:
        times = simulated(ORDERS, degrees, seeds=MACHINE_SEEDS, machine=machine)
        for us in (0, SET_UPS[0], SET_UPS[2]):
            setting = set_up(us) if us else ""
            charged = simulated(
                (RS_N,), degrees, setting=setting, seeds=MACHINE_SEEDS, machine=machine
            )
            for order in ORDERS:
                margins = [
                    [_margin(times, charged, order.name, d, k) for k in range(len(SIZES))]
                    for d in degrees
                ]
                first = [
                    next((k for k, m in enumerate(row) if m > 0), len(SIZES)) for row in margins
                ]
                rows.append(
                    (
                        machine,
                        us or "as the preset",
                        _order_name(order.name),
                        *(format_bytes(SIZES[k - 1] if k else None) for k in first),
                        *(f"{100 * row[0]:+.0f} %" for row in margins),
                    )
                )
    columns = (
        *("machine", "a permutation of RS_N [us]", "order of AC"),
        *(f"AC before RS_N up to, d = {d}" for d in degrees),
        *(f"AC takes longer at 16 B, d = {d}" for d in degrees),
    )
    return Table(f"Machines: AC against RS_N, {MACHINE_SEEDS} drawings", columns, tuple(rows))


def _times_table(times: Times) -> Table:
    names = (*NAMES, *(one.name for one in ORDERS[1:]))
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


REGIONS = ("AC", "RS_N", "RS_NL", "LP")
"""Of the map, in the order of its colours."""
FIGURE_5_ABOUT = (
    "random:degree=d, regular both ways, on ipsc860:64. By simulation: circuit, ready (S1) for LP "
    "and RS_NL, none "
    "(S2) for AC and RS_N, mean of {seeds} drawings, the times of the item Borders. By "
    "prediction, mean of "
    "{predicted} drawings, in two ways: permutation by permutation as Section 2.1 counts (latency "
    "+ bytes of the "
    "largest message, nothing between permutations; sends and receives of a node overlap in an "
    "exchange alone, "
    "Section 2.2; AC by the formula of none, whose exponent of contention was fitted to a "
    "prototype's simulation), "
    "and by the formulas of the policies above. Scheduling costs nothing, as in the text. The "
    "same map on 3 "
    "drawings: `conset compare random --on ipsc860:64 --map --methods naive,lp,rs-n,rs-nl "
    "--sync naive=none,rs-n=none,lp=ready,rs-nl=ready --rank-by circuit`."
)
PREDICTED_SEEDS = 50
"""Drawings that are predicted, as many as the text has.

Margins are small, 5 drawings scatter over powers of two.
"""
FIGURE_5_DEPARTURES = (
    "the scan of Figure 5 has the labels AC, LP and RS_N(s) and the axes, but no borders: those "
    "of Section 6's "
    "words hold",
)


def figure_5(seeds: int = SEEDS, predicted_seeds: int = PREDICTED_SEEDS) -> Item:
    """Simulates and predicts all densities and sizes.

    Args:
        seeds: drawings of each density that are simulated.
        predicted_seeds: drawings of each density that are predicted.
    """
    by_simulation = simulated(TEXT, seeds=seeds)
    by_permutation = predicted(TEXT, by_permutation=True, seeds=predicted_seeds)
    by_policy = predicted(TEXT, seeds=predicted_seeds)
    maps = (
        ("simulated by circuit", by_simulation),
        ("predicted, permutation by permutation", by_permutation),
        ("predicted, by policy", by_policy),
    )
    pictures = [
        Picture(partial(_figure_5_draw, times, label), name)
        for name, (label, times) in zip(("", "by permutation", "by policy"), maps, strict=True)
    ]
    return Item(
        "wang-ranka",
        "Figure 5",
        "regions where each algorithm is fastest",
        FIGURE_5_ABOUT.format(seeds=seeds, predicted=predicted_seeds),
        claims=(
            *_figure_5_claims(by_simulation),
            *_predicted_claims(
                by_permutation, by_simulation, "predicted permutation by permutation"
            ),
            *_predicted_claims(by_policy, by_simulation, "predicted by policies"),
        ),
        tables=tuple(_figure_5_table(label, times) for label, times in maps),
        pictures=tuple(pictures),
        departures=FIGURE_5_DEPARTURES,
        basis="computed",
    )


def _figure_5_claims(times: Times) -> tuple[Claim, ...]:
    last = [last_of_ac(times, degree) or 0 for degree in DEGREES]
    low = [degree for degree in DEGREES if degree < 32 and "LP" in winners(times, degree)]
    high = [degree for degree in DEGREES if degree >= 32 and winners(times, degree)[-1] == "LP"]
    return (
        *_results(times, "Borders"),
        Claim(
            "AC has a region, which narrows as d grows",
            last[0] > 0 and sorted(last, reverse=True) == last,
            ", ".join(
                f"d = {d}: {format_bytes(size or None)}"
                for d, size in zip(DEGREES, last, strict=True)
            ),
        ),
        Claim(
            "LP has the corner of large d and large messages, and nothing below d = 32",
            not low and len(high) == 2,
            f"fastest at 128 KiB for d = {', '.join(map(str, high)) or 'none'}; anywhere below 32: "
            f"{', '.join(map(str, low)) or 'nowhere'}",
        ),
    )


def _predicted_claims(times: Times, by_simulation: Times, label: str) -> tuple[Claim, ...]:
    """The borders of a predicted map, and how much of the simulated map it finds.

    Which is reported.
    """
    same = sum(
        a == b
        for degree in DEGREES
        for a, b in zip(winners(times, degree), winners(by_simulation, degree), strict=True)
    )
    cells = len(DEGREES) * len(SIZES)
    borders = [border_claim(times, 4), border_claim(times, 32), lp_claim(times, 32)]
    claims = [replace(claim, statement=f"{label}: {claim.statement}") for claim in borders]
    claims.append(
        Claim(
            f"{label}: the region simulated in 9 of 10 cells",
            same >= 0.9 * cells,
            f"{same} of {cells} cells",
            asserted=False,
        )
    )
    return tuple(claims)


def _figure_5_table(label: str, times: Times) -> Table:
    rows: list[tuple[Value, ...]] = [(degree, *winners(times, degree, NAMES)) for degree in DEGREES]
    return Table(f"Fastest, {label}", ("d", *(format_size(size) for size in SIZES)), tuple(rows))


def _figure_5_draw(times: Times, label: str) -> Figure:
    return picture_regions(
        regions_of(times),
        title="Who is fastest on 64 nodes of an iPSC/860",
        subtitle=f"{label}; in each cell how much longer the next region's best takes",
    )


def regions_of(times: Times) -> Regions:
    """The map of the four algorithms."""
    cells = []
    for degree in DEGREES:
        for k, size in enumerate(SIZES):
            least = {name: times[name, degree][k] for name in REGIONS}
            best, second = sorted(least, key=lambda region: least[region])[:2]
            margin = least[second] / least[best] - 1
            cells.append(RegionCell(degree, size, best, "", least[best], second, margin, least))
    policies = {one.name: (one.sync,) for one in TEXT}
    return Regions(DEGREES, SIZES, REGIONS, inf, tuple(cells), policies=policies)


DENSITY = {6: 4, 7: 8, 8: 16, 9: 32}
"""Figure → d, as its caption says; Figure 7's is not in the scan and presumed."""
MARKS_MS = {6: 300, 9: 2000}
"""Figure → distance of the marks of its time axis, where the scan has them."""
SIZES_ABOUT = (
    "random:degree={d}, regular both ways, size from 16 B to 128 KiB, on ipsc860:64, mean of "
    "{seeds} drawings "
    "simulated by circuit. Sync: ready (S1) for LP and RS_NL, none (S2) for AC and RS_N; 1 send "
    "and 1 receive in "
    "flight. The machine's overheads, hops and rates are not in the text but commonly reported "
    "ones, none tuned "
    "here (`conset show ipsc860:64`). AC sends to ascending targets; in random order it is "
    "shown beside."
)


def figures_6_to_9(figure: int, seeds: int = SEEDS) -> Item:
    """Simulates all sizes of one density.

    Args:
        figure: 6 to 9.
        seeds: drawings.
    """
    degree = DENSITY[figure]
    times = simulated((*TEXT, AC_RANDOM), (degree,), seeds=seeds)
    return Item(
        "wang-ranka",
        f"Figure {figure}",
        f"communication cost over message size, d = {degree}",
        SIZES_ABOUT.format(d=degree, seeds=seeds),
        claims=_sizes_claims(times, figure),
        tables=(_sizes_table(times, degree),),
        pictures=(Picture(lambda: _sizes_draw(times, figure)),),
        departures=_departures(figure),
        basis="computed",
    )


def _departures(figure: int) -> tuple[str, ...]:
    scan = "the scan has the axes and their marks, not the curves"
    if figure == 7:
        scan = (
            "Figure 7 is not in the scan; between d = 4 of Figure 6 and d = 16 of Figure 8 it is "
            "presumably d = 8"
        )
    elif figure not in MARKS_MS:
        scan = "the scan has the caption alone, neither axes nor curves"
    return (scan,)


def _sizes_claims(times: Times, figure: int) -> tuple[Claim, ...]:
    degree = DENSITY[figure]
    claims = list(_axis_claims(times, figure))
    names = winners(times, degree)
    claims.append(
        Claim(
            "result 1: AC is fastest for the smallest messages",
            names[0] == AC.name,
            f"16 B: {_ranking(times, degree, 0)}",
        )
    )
    last = "LP" if degree >= 32 else "RS_NL"
    claims.append(
        Claim(
            f"result {2 if last == 'LP' else 3}: {last} is fastest for the largest messages",
            names[-1] == last,
            f"128 KiB: {_ranking(times, degree, -1)}",
        )
    )
    return tuple(claims)


def _axis_claims(times: Times, figure: int) -> tuple[Claim, ...]:
    """What the ends of the axes say."""
    if figure not in MARKS_MS:
        return ()
    degree = DENSITY[figure]
    end, mark = fact("axis_end", degree), MARKS_MS[figure]
    largest = {name: times[name, degree][-1] * 1e3 for name in (*NAMES, AC_RANDOM.name)}
    figures = ", ".join(f"{name} {ms:.0f} ms" for name, ms in largest.items())
    most = max(largest[name] for name in NAMES)
    other = max(largest[AC_RANDOM.name], *(largest[name] for name in NAMES if name != AC.name))
    return (
        Claim(
            f"the largest time at 128 KiB is at most {end:.0f} ms, where the axis ends",
            most <= end,
            figures,
        ),
        Claim(
            "beside: the axis ends at the next mark above the largest time, so that is above "
            f"{end - mark:.0f} ms",
            end - mark < most <= end,
            f"{most:.0f} ms; with AC in random order {other:.0f} ms",
            asserted=False,
        ),
    )


def _ranking(times: Times, degree: int, k: int) -> str:
    order = sorted(NAMES, key=lambda name: times[name, degree][k])
    return ", ".join(f"{name} {times[name, degree][k] * 1e3:.4g}" for name in order) + " ms"


def _sizes_table(times: Times, degree: int) -> Table:
    names = tuple(name for name, _ in times)
    rows: list[tuple[Value, ...]] = [
        (size, *(times[name, degree][k] * 1e3 for name in names), winners(times, degree)[k])
        for k, size in enumerate(SIZES)
    ]
    return Table(
        "Times: simulated by circuit [ms]", ("size [B]", *names, "fastest of the four"), tuple(rows)
    )


def _sizes_draw(times: Times, figure: int) -> Figure:
    degree = DENSITY[figure]
    plain = [Line(name, SIZES, [t * 1e3 for t in times[name, degree]]) for name in NAMES]
    plain.append(
        Line(AC_RANDOM.name, SIZES, [t * 1e3 for t in times[AC_RANDOM.name, degree]], "quiet")
    )
    best = [min(times[name, degree][k] for name in NAMES) for k in range(len(SIZES))]
    ratios = [
        Line(name, SIZES, [t / b for t, b in zip(times[name, degree], best, strict=True)])
        for name in NAMES
    ]
    ratios.append(Line("", (SIZES[0], SIZES[-1]), (1, 1), "quiet"))
    end = (
        max(fact("axis_end", degree), *(line.y[-1] for line in plain)) * 1.04
        if figure in MARKS_MS
        else None
    )
    quarters = tuple(k * SIZES[-1] // 4 for k in range(5))
    few = SIZES[::3]
    return picture_charts(
        [
            Panel(
                "On the text's axes" if figure in MARKS_MS else "Linear axes",
                "message size [B]",
                "time [ms]",
                plain,
                ticks=(quarters, [f"{at}" for at in quarters]),
                y_limits=(0, end),
            ),
            Panel(
                "Beside the fastest of the text's four",
                "message size [B]",
                "time / least time of the four",
                ratios,
                log_x=2,
                ticks=(few, [format_size(size) for size in few]),
                y_limits=(0.5, max(2.5, min(5.5, 1.05 * max(max(line.y) for line in ratios)))),
            ),
        ],
        title=f"Communication cost, d = {degree}, 64 nodes of an iPSC/860",
        subtitle=(
            "simulated by circuit; S1 = ready, S2 = none; AC and RS_N S2, LP and RS_NL S1; "
            "mean of drawings"
        ),
        height=4.4,
    )


SPARSE = 4
"""The density that result 1 calls small."""
SECTION_6_ABOUT = (
    "All four algorithms under both schemes: S1 = ready, a zero-byte signal per message (65 us + "
    "10 us per hop "
    "here, commonly reported for a short message), S2 = none, everything posted in schedule "
    "order. random:degree=d "
    "on ipsc860:64, mean of {seeds} drawings, simulated by circuit; AC in ascending order. A "
    "synchronized exchange "
    "exists under ready only: S2 has none, whatever the times."
)
SECTION_6_DEPARTURES = (
    "the text counts no cases and gives no sizes; every density and size from 16 B to 128 KiB "
    "counts as one case "
    "here, and half of them are small messages, where a signal costs as much as the message",
)


def section_6(seeds: int = SEEDS) -> Item:
    """Simulates both schemes.

    Args:
        seeds: drawings of each density.
    """
    ready = simulated([replace(one, sync="ready") for one in TEXT], seeds=seeds)
    none = simulated([replace(one, sync="none") for one in TEXT], seeds=seeds)
    return Item(
        "wang-ranka",
        "Section 6",
        "S1 against S2: the ready signal",
        SECTION_6_ABOUT.format(seeds=seeds),
        claims=_section_6_claims(ready, none),
        tables=tuple(_section_6_table(one.name, ready, none) for one in TEXT),
        pictures=(Picture(lambda: _section_6_draw(ready, none)),),
        departures=SECTION_6_DEPARTURES,
        basis="computed",
    )


def _gains(
    name: str, ready: Times, none: Times, densities: tuple[int, ...], least: int = 0
) -> list[float]:
    """Time under S2 over time under S1, of every density and size.

    Above 1 where the signal pays.
    """
    return [
        none[name, d][k] / ready[name, d][k]
        for d in densities
        for k, size in enumerate(SIZES)
        if size >= least
    ]


def _section_6_claims(ready: Times, none: Times) -> tuple[Claim, ...]:
    dense = tuple(d for d in DEGREES if d > SPARSE)
    exchanging = _gains("LP", ready, none, dense) + _gains("RS_NL", ready, none, dense)
    long_rs_nl = _gains("RS_NL", ready, none, DEGREES, 8192)
    long_lp = _gains("LP", ready, none, tuple(d for d in DEGREES if d >= 32), 2048)
    others = _gains("AC", ready, none, DEGREES) + _gains("RS_N", ready, none, DEGREES)
    sparse = _gains("LP", ready, none, (SPARSE,)) + _gains("RS_NL", ready, none, (SPARSE,))
    return (
        Claim(
            f"S1 is better than S2 in most cases for LP and RS_NL, at d > {SPARSE}",
            _share(exchanging) > 0.5,
            _describe(exchanging),
        ),
        Claim(
            "S1 is not better in most cases for AC and RS_N, which do not exploit exchanges",
            _share(others) <= 0.5,
            _describe(others),
        ),
        Claim(
            f"S1 is not better in most cases where the density is small, d = {SPARSE}",
            _share(sparse) <= 0.5,
            _describe(sparse),
        ),
        Claim(
            "beside: S1 is better for RS_NL from 8 KiB on at every density",
            _share(long_rs_nl) == 1,
            _describe(long_rs_nl),
            asserted=False,
        ),
        Claim(
            "beside: S1 is better for LP where the text has LP fastest, above 1 KiB from d = 32 on",
            _share(long_lp) == 1,
            _describe(long_lp),
            asserted=False,
        ),
    )


def _share(gains: list[float]) -> float:
    return sum(gain > 1 for gain in gains) / len(gains)


def _describe(gains: list[float]) -> str:
    better = sum(gain > 1 for gain in gains)
    return f"{better} of {len(gains)} cases; S2 takes {min(gains):.2f} to {max(gains):.2f} times S1"


def _section_6_table(name: str, ready: Times, none: Times) -> Table:
    rows: list[tuple[Value, ...]] = [(d, *_gains(name, ready, none, (d,))) for d in DEGREES]
    return Table(
        f"{name} under S2: time over that under S1",
        ("d", *(format_size(s) for s in SIZES)),
        tuple(rows),
    )


def _section_6_draw(ready: Times, none: Times) -> Figure:
    ticks = (SIZES[::3], [format_size(size) for size in SIZES[::3]])
    panels = [
        Panel(
            one.name,
            "message size [B]",
            "time under S2 / under S1",
            [
                Line("", (SIZES[0], SIZES[-1]), (1, 1), "quiet"),
                *(Line(f"d = {d}", SIZES, _gains(one.name, ready, none, (d,))) for d in DEGREES),
            ],
            log_x=2,
            ticks=ticks,
            y_limits=(0, 2.6),
        )
        for one in TEXT
    ]
    return picture_charts(
        panels,
        title="A ready signal for every message: what it gains",
        subtitle=(
            "ipsc860:64, circuit; above 1 the signal (S1 = ready) is faster than posting "
            "everything (S2 = none)"
        ),
    )


SECTION_7_ABOUT = (
    "random:degree=d, regular both ways, on ipsc860:64, mean of {seeds} drawings, simulated by "
    "circuit; LP and "
    "RS_NL under ready (S1), AC and RS_N under none (S2), AC in ascending order. Each row of "
    "`What decides` changes "
    "one assumption: words are those of `--set`, so `conset simulate FILE --model circuit --set "
    "WORDS` shows the "
    "same."
)
SECTION_7_DEPARTURES = (
    "the text prefers exchanges in RS_NL and leaves how to its reference [15]; here x tries to "
    "send to whoever "
    "sends to it already, and few messages meet their exchange: RS_NL's gain comes from free "
    "links and S1, not from "
    "exchanges",
)


@dataclass(frozen=True)
class Setting:
    """One assumption changed.

    Attributes:
        name: for people.
        label: as after `--set`.
        algorithms: who takes part, under which policies.
    """

    name: str
    label: str = ""
    algorithms: tuple[Algorithm, ...] = TEXT


SETTINGS = (
    Setting("as stated"),
    Setting("AC in random order", algorithms=(replace(AC_RANDOM, name=AC.name), LP, RS_N, RS_NL)),
    Setting("exchanges overlap nothing", "exchange_weight=1"),
    Setting("full duplex: sends and receives always overlap", "node=none"),
    Setting("S2 for all", algorithms=tuple(replace(one, sync="none") for one in TEXT)),
    Setting("S1 for all", algorithms=tuple(replace(one, sync="ready") for one in TEXT)),
    Setting(f"{SET_UPS[0]} us for every permutation", set_up(SET_UPS[0])),
    Setting("all messages in flight", "in_flight=all"),
    Setting("a processor for sends, one for receives", "processors=two"),
    Setting("receive overhead after the message", "receive=after"),
    Setting("one protocol (FORCED)", "overhead=95us,hop=10.3us,hop_by_size=none"),
)
"""What the text states first, then its neighbours."""


def section_7(seeds: int = SEEDS, settings: Sequence[Setting] = SETTINGS) -> Item:
    """Simulates the text's setting and its neighbours.

    Args:
        seeds: drawings of each density.
        settings: the first three of `SETTINGS`, and as many more as are to be shown.
    """
    found = [simulated(one.algorithms, setting=one.label, seeds=seeds) for one in settings]
    times, without = found[0], found[2]
    return Item(
        "wang-ranka",
        "Section 7",
        "the conclusions, and which assumption decides",
        SECTION_7_ABOUT.format(seeds=seeds),
        claims=_section_7_claims(times, without),
        tables=(_section_7_table(settings, found),),
        pictures=(Picture(lambda: _section_7_draw(times, without)),),
        departures=SECTION_7_DEPARTURES,
        basis="computed",
    )


def _section_7_claims(times: Times, without: Times) -> tuple[Claim, ...]:
    large = [(d, k) for d in DEGREES for k, size in enumerate(SIZES) if size >= 2048]
    slower = [times["AC", d][k] / min(times[name, d][k] for name in NAMES) for d, k in large]
    last = [max(NAMES, key=lambda name: times[name, 4][k]) for k in range(len(SIZES))]
    end = [winners(times, d)[-1] for d in DEGREES if d >= 32]

    def longer(name: str) -> str:
        return f"{_end(without, name, 32) / _end(times, name, 32):.2f} times"

    return (
        Claim(
            "conclusion 1: AC is suitable for small messages only",
            min(slower) > 1,
            f"from 2 KiB on it takes {min(slower):.2f} to {max(slower):.2f} times the "
            "best of the four",
        ),
        Claim(
            "conclusion 2: LP is not suitable for low d",
            set(last) == {"LP"},
            f"slowest of the four at d = 4 for {last.count('LP')} of {len(SIZES)} sizes",
        ),
        Claim(
            "conclusion 2: LP performs very well for large d",
            set(end) == {"LP"},
            f"fastest at 128 KiB for {end.count('LP')} of {len(end)} densities from 32 on",
        ),
        _falls("conclusion 3: avoiding node contention reduces the time", "AC", "RS_N", times),
        _falls(
            "conclusion 3: avoiding link contention too reduces it further", "RS_N", "RS_NL", times
        ),
        Claim(
            "conclusion 4: exchanges are worth exploiting: without their overlap LP is "
            "fastest nowhere",
            not any("LP" in winners(without, d) for d in DEGREES),
            f"LP at d = 32 and 128 KiB {longer('LP')} as long",
        ),
        Claim(
            "conclusion 4, beside: RS_NL gains from the overlap of exchanges too, 5 % or more at "
            "some density",
            max(_end(without, "RS_NL", d) / _end(times, "RS_NL", d) for d in DEGREES) >= 1.05,
            f"RS_NL at d = 32 and 128 KiB {longer('RS_NL')} as long; of its messages "
            + ", ".join(f"{100 * exchanged(d):.0f} %" for d in DEGREES)
            + " meet their exchange (d = 4 to 48)",
            asserted=False,
        ),
    )


def exchanged(degree: int) -> float:
    """Share of RS_NL's messages with the answer in the same permutation, first drawing."""
    schedule = compiled(RS_NL, degree, 0)
    ways = list(zip(schedule.phase_of, schedule.source_node, schedule.target_node, strict=True))
    known = set(ways)
    return sum((phase, target, source) in known for phase, source, target in ways) / len(ways)


def _end(times: Times, name: str, degree: int) -> float:
    return times[name, degree][-1]


def _falls(label: str, before: str, after: str, times: Times) -> Claim:
    """At 128 KiB `after` takes less than `before`, at every density."""
    saved = [1 - _end(times, after, d) / _end(times, before, d) for d in DEGREES]
    figures = ", ".join(f"{100 * share:.0f} %" for share in saved)
    return Claim(
        f"{label} (128 KiB)",
        min(saved) > 0,
        f"{after} takes less than {before} by {figures} (d = 4 to 48)",
    )


def _section_7_table(settings: Sequence[Setting], found: Sequence[Times]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for setting, times in zip(settings, found, strict=True):
        borders = last_of_class(times, 4), last_of_class(times, 32), above(times, 32, "LP")
        off = [
            powers_off(ours, int(published))
            for ours, published in zip(borders, _published(), strict=True)
        ]
        rows.append(
            (
                setting.name,
                setting.label,
                *(format_bytes(last_of_ac(times, d)) for d in (4, 32)),
                *map(format_bytes, borders),
                format_bytes(above(times, 48, "LP")),
                ", ".join(f"{d}" for d in DEGREES if "RS_NL" in winners(times, d)) or "none",
                *(max(_end(times, name, d) for name in NAMES) * 1e3 for d in (4, 32)),
                "yes" if max(map(abs, off)) <= POWERS else "no",
            )
        )
    columns = (
        "assumption",
        "words",
        "AC up to, d = 4",
        "AC up to, d = 32",
        "AC or RS_N up to, d = 4",
        "AC or RS_N up to, d = 32",
        "LP above, d = 32",
        "LP above, d = 48",
        "RS_NL somewhere fastest at d",
        "largest, d = 4 [ms]",
        "largest, d = 32 [ms]",
        "borders of AC or RS_N and of LP within two powers",
    )
    return Table(
        "What decides: borders and largest times under neighbouring assumptions",
        columns,
        tuple(rows),
    )


def _published() -> tuple[float, float, float]:
    return fact("ac_up_to", 4), fact("ac_up_to", 32), fact("lp_above", 32)


def _section_7_draw(times: Times, without: Times) -> Figure:
    def line(name: str, found: Times, k: int) -> Line:
        return Line(name, DEGREES, [_end(found, name, d) * 1e3 for d in DEGREES], colour=k)

    ticks = (DEGREES, [str(d) for d in DEGREES])
    across = "messages sent and received by every node, d"
    panels = [
        Panel(
            title,
            across,
            "time at 128 KiB [ms]",
            [line(name, found, k) for k, name in enumerate(NAMES)],
            ticks=ticks,
            y_limits=(0, 1.06 * max(_end(times, name, DEGREES[-1]) for name in NAMES) * 1e3),
        )
        for title, found in (("As stated", times), ("Exchanges overlap nothing", without))
    ]
    return picture_charts(
        panels,
        title="What the overlap of exchanges is worth",
        subtitle="ipsc860:64, circuit; LP and RS_NL under ready (S1), AC and RS_N under none (S2)",
    )
