"""Figure 5: the regions where each algorithm is fastest.

By simulation and by prediction, with today's beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.regions import picture_regions
from conset.studies.compare import Cell as RegionCell
from conset.studies.compare import Regions
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.wang_ranka.borders import (
    NAMES,
    border_claim,
    format_bytes,
    last_of_ac,
    lp_claim,
    most_claim,
    winners,
)
from conset_papers.wang_ranka.times import (
    DEGREES,
    SEEDS,
    SIZES,
    TEXT,
    TODAY,
    Times,
    predicted,
    simulated,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES = {name: (name,) for name in ("AC", "RS_N", "RS_NL", "LP")}
"""Regions of the map → whose they are."""
WITH_TODAY = {
    **CLASSES,
    "half-dup.": (TODAY[0].name,),
    "neg. S1": (TODAY[1].name,),
    "neg. S2": (TODAY[2].name,),
}
ABOUT = (
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
DEPARTURES = (
    "the scan of Figure 5 has the labels AC, LP and RS_N(s) and the axes, but no borders: those "
    "of Section 6's "
    "words hold",
)


def reproduce(seeds: int = SEEDS, predicted_seeds: int = PREDICTED_SEEDS) -> Item:
    """Simulates and predicts all densities and sizes.

    Args:
        seeds: drawings of each density that are simulated.
        predicted_seeds: drawings of each density that are predicted.
    """
    by_simulation = simulated((*TEXT, *TODAY), seeds=seeds)
    by_permutation = predicted(TEXT, by_permutation=True, seeds=predicted_seeds)
    by_policy = predicted(TEXT, seeds=predicted_seeds)
    maps = (
        ("simulated by circuit", by_simulation),
        ("predicted, permutation by permutation", by_permutation),
        ("predicted, by policy", by_policy),
    )
    pictures = [
        Picture(partial(_draw, times, CLASSES, label), name)
        for name, (label, times) in zip(("", "by permutation", "by policy"), maps, strict=True)
    ]
    pictures.append(
        Picture(
            partial(_draw, by_simulation, WITH_TODAY, "simulated by circuit, with today's"), "today"
        )
    )
    return Item(
        "wang-ranka",
        "Figure 5",
        "regions where each algorithm is fastest",
        ABOUT.format(seeds=seeds, predicted=predicted_seeds),
        claims=(
            *_claims(by_simulation),
            *_predicted_claims(
                by_permutation, by_simulation, "predicted permutation by permutation"
            ),
            *_predicted_claims(by_policy, by_simulation, "predicted by policies"),
        ),
        tables=tuple(_table(label, times) for label, times in maps),
        pictures=tuple(pictures),
        departures=DEPARTURES,
        basis="computed",
    )


def _claims(times: Times) -> tuple[Claim, ...]:
    last = [last_of_ac(times, degree) or 0 for degree in DEGREES]
    low = [degree for degree in DEGREES if degree < 32 and "LP" in winners(times, degree)]
    high = [degree for degree in DEGREES if degree >= 32 and winners(times, degree)[-1] == "LP"]
    return (
        border_claim(times, 4),
        border_claim(times, 32),
        lp_claim(times, 32),
        most_claim(times),
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


def _table(label: str, times: Times) -> Table:
    rows: list[tuple[Value, ...]] = [(degree, *winners(times, degree, NAMES)) for degree in DEGREES]
    return Table(f"Fastest, {label}", ("d", *(format_size(size) for size in SIZES)), tuple(rows))


def _draw(times: Times, classes: Mapping[str, tuple[str, ...]], label: str) -> Figure:
    return picture_regions(
        regions_of(times, classes),
        title="Who is fastest on 64 nodes of an iPSC/860",
        subtitle=f"{label}; in each cell how much longer the next region's best takes",
    )


def regions_of(times: Times, classes: Mapping[str, tuple[str, ...]]) -> Regions:
    """The map of `classes`: a class takes the least of its members' times."""
    cells = []
    for degree in DEGREES:
        for k, size in enumerate(SIZES):
            least = {
                region: min(times[name, degree][k] for name in members)
                for region, members in classes.items()
            }
            best, second = sorted(least, key=lambda region: least[region])[:2]
            margin = least[second] / least[best] - 1
            cells.append(RegionCell(degree, size, best, "", least[best], second, margin, least))
    sync = {one.name: one.sync for one in (*TEXT, *TODAY)}
    policies = {region: (sync[members[0]],) for region, members in classes.items()}
    return Regions(DEGREES, SIZES, tuple(classes), inf, tuple(cells), policies=policies)
