"""The surface router: the complete exchange without the links that close the rings (section 5.1.3).

The text: transfer rates were approximately half of the torus router's, as the bisection is. Whether
that is so depends on what limits: bounds and schedules near them do halve, message passing that
blocks itself has less to lose.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import conset
from conset.report.charts import Line, Panel, picture_charts
from conset.schedule.schedule import Schedule
from conset_papers.conset_iwarp.basic import ALL_TO_ALL, SIZES, pattern_of
from conset_papers.conset_iwarp.columns import IN_FLIGHT, best_in_flight, messages
from conset_papers.conset_iwarp.machine import CONNECTIONS, MESSAGES, clocks, machine
from conset_papers.item import Claim, Item, Picture, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SURFACE = ",routing=no-wrap"
HALF = (0.4, 0.6)
"""Rates that are approximately half."""
ABOUT = (
    "Complete exchange on iwarp:8x8,tie=checker with and without routing=no-wrap: message passing "
    "by model wormhole, "
    "no sync, random order (means of 20 seeds), one lane in each pool; connections by the text's "
    "sequential router under sync barrier, all of a phase interleaved, by flow; and the "
    "bisection: messages that "
    "must cross the middle over the links that do. A rate is the torus time over the surface time."
)
ROUTERS = {"sequential": "the text's router"}
POOLS = 3
"""On the surface there are no datelines: the lanes of all pools may serve the only one."""


def reproduce() -> Item:
    """Rates with and without backloops."""
    rates = {count: [_rate(words, count) for words in SIZES] for count in IN_FLIGHT}
    best = best_in_flight()
    large = rates[best][-1]
    routed = {router: [_connections_rate(words, router) for words in SIZES] for router in ROUTERS}
    claims = (
        Claim(
            "without backloops message passing has about half the transfer rate (§5.1.3), taken "
            "as 0.4 to 0.6",
            HALF[0] <= large <= HALF[1],
            f"{large:.2f} of the torus rate at 16,384 words, {best} in flight; {_range(rates)} "
            "over all settings; "
            f"{_crossing(CONNECTIONS)} messages for each link across the middle become "
            f"{_crossing(CONNECTIONS + SURFACE)}",
        ),
    )
    rows: list[tuple[str | float, ...]] = [
        ("message passing", f"{count} in flight", *rates[count]) for count in IN_FLIGHT
    ]
    wide = [_rate(words, best, POOLS) for words in SIZES]
    rows.append(
        ("message passing", f"{best} in flight, three lanes in the one pool of the surface", *wide)
    )
    rows += [("connections", ROUTERS[router], *routed[router]) for router in ROUTERS]
    columns = ("what", "setting", *(f"{words:,} words" for words in SIZES))
    table = Table("Rates: surface router, torus router = 1", columns, tuple(rows))
    return Item(
        "conset",
        "Surface router",
        "complete exchange without backloops: is the rate halved?",
        ABOUT,
        claims=claims,
        tables=(table,),
        pictures=(Picture(lambda: _picture(rates, routed)),),
        basis="computed",
    )


def _range(rates: dict[int, list[float]]) -> str:
    every = [rate for row in rates.values() for rate in row]
    return f"{min(every):.2f} to {max(every):.2f}"


def _rate(words: int, count: int, lanes: int | None = None) -> float:
    surface = messages(ALL_TO_ALL.table, words, count, MESSAGES + SURFACE, lanes)
    return messages(ALL_TO_ALL.table, words, count) / surface


def _connections_rate(words: int, router: str) -> float:
    torus, surface = (
        clocks(
            conset.simulate(_compiled(words, spec, router), in_flight="all", receives="all").time_s
        )
        for spec in (CONNECTIONS, CONNECTIONS + SURFACE)
    )
    return torus / surface


@lru_cache(maxsize=32)
def _compiled(words: int, spec: str, router: str) -> Schedule:
    on = machine(spec)
    return conset.compile(
        pattern_of(ALL_TO_ALL, words, on), on, method="connections", router=router, sync="barrier"
    )


def _crossing(spec: str) -> int:
    """Messages from the left half to the right one for each link that leads across."""
    topology = machine(spec).topology
    side = topology.sides[-1]
    across = topology.nodes // side * (1 if SURFACE in spec else 2)
    return (topology.nodes // 2) ** 2 // across


def _picture(rates: dict[int, list[float]], routed: dict[str, list[float]]) -> Figure:

    ends = (SIZES[0], SIZES[-1])
    lines = [Line(f"messages, {count} in flight", SIZES, row) for count, row in rates.items()]
    lines += [Line(f"connections, {ROUTERS[router]}", SIZES, row) for router, row in routed.items()]
    lines.append(Line("the text: approximately half", ends, (0.5, 0.5), "bound"))
    panel = Panel(
        "",
        "words of a message",
        "rate, torus router = 1",
        lines,
        log_x=2,
        ticks=(SIZES, [f"{words:,}" for words in SIZES]),
        y_limits=(0, 1),
        legend="outside",
    )
    return picture_charts(
        [panel],
        title="Complete exchange without the links that close the rings",
        width=9.0,
        subtitle=(
            "messages: wormhole, no sync, random order; connections: flow, sync "
            "barrier, interleaved"
        ),
    )
