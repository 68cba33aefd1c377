"""Section 6 on S1 and S2: which algorithm gains from a ready signal for every message."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conset.base.units import format_size
from conset.report.charts import Line, Panel, picture_charts
from conset_papers.item import Claim, Item, Picture, Table, Value
from conset_papers.wang_ranka.times import DEGREES, SEEDS, SIZES, TEXT, Times, simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPARSE = 4
"""The density that result 1 calls small."""
ABOUT = (
    "All four algorithms under both schemes: S1 = ready, a zero-byte signal per message (65 us + "
    "10 us per hop "
    "here, commonly reported for a short message), S2 = none, everything posted in schedule "
    "order. random:degree=d "
    "on ipsc860:64, mean of {seeds} drawings, simulated by circuit; AC in ascending order. A "
    "synchronized exchange "
    "exists under ready only: S2 has none, whatever the times."
)
DEPARTURES = (
    "the text counts no cases and gives no sizes; every density and size from 16 B to 128 KiB "
    "counts as one case "
    "here, and half of them are small messages, where a signal costs as much as the message",
)


def reproduce(seeds: int = SEEDS) -> Item:
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
        ABOUT.format(seeds=seeds),
        claims=_claims(ready, none),
        tables=tuple(_table(one.name, ready, none) for one in TEXT),
        pictures=(Picture(lambda: _draw(ready, none)),),
        departures=DEPARTURES,
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


def _claims(ready: Times, none: Times) -> tuple[Claim, ...]:
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


def _table(name: str, ready: Times, none: Times) -> Table:
    rows: list[tuple[Value, ...]] = [(d, *_gains(name, ready, none, (d,))) for d in DEGREES]
    return Table(
        f"{name} under S2: time over that under S1",
        ("d", *(format_size(s) for s in SIZES)),
        tuple(rows),
    )


def _draw(ready: Times, none: Times) -> Figure:
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
