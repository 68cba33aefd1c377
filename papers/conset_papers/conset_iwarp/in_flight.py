"""The twelve measured cells of Tables 1 to 3 for 1 to 4 messages in flight at a cell.

The text does not say how many messages a cell may have under way. One reproduces what the torus and
the short messages measure, more make large complete exchanges slower, as headers block each other:
no single number meets all cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conset.report.charts import Line, Panel, picture_charts
from conset_papers.conset_iwarp.basic import ALL_TO_ALL, BASICS, SIZES
from conset_papers.conset_iwarp.columns import (
    IN_FLIGHT,
    best_in_flight,
    message_errors,
    messages,
    messages_by_order,
    published,
)
from conset_papers.item import Cell, Claim, Item, Picture, Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MESSAGES_WITHIN = 0.15
"""Allowed error of measured message passing, at the best single number in flight."""
ABOUT = (
    "Tables 1 to 3, columns of measured message passing, on iwarp:8x8,tie=checker by model "
    "wormhole, no sync: three "
    "pools of one lane, handlers of 400 + 400 clocks, one receive at a time, 1 to 4 messages in "
    "flight at a cell. "
    "Torus and butterfly in dimension order, the complete exchange in random order, means of 20 "
    "seeds (0 to 19). The "
    "cells are those of the best single number."
)


def reproduce() -> Item:
    """All 48 values; the number in flight whose worst cell is best."""
    best = best_in_flight()
    cells = tuple(
        Cell(
            f"{which.name}, {words} words",
            f"{best} in flight",
            published(which.table)[words]["msgpass_measured"],
            messages(which.table, words, best),
        )
        for which in BASICS
        for words in SIZES
    )
    errors = {count: message_errors(count) for count in IN_FLIGHT}
    worst = {count: max(found.values(), key=abs) for count, found in errors.items()}
    shown = ", ".join(f"{count}: {worst[count]:+.1%}" for count in IN_FLIGHT)
    claim = Claim(
        f"one number in flight has all twelve cells within ±{MESSAGES_WITHIN:.0%}",
        abs(worst[best]) <= MESSAGES_WITHIN,
        f"worst cell by number in flight: {shown}; best {best}; one run of the complete "
        "exchange is off by "
        f"{_spread(best)}",
        asserted=False,
    )
    return Item(
        "conset",
        "Message passing",
        "measured message passing for 1 to 4 messages in flight",
        ABOUT,
        cells=cells,
        claims=(claim,),
        tolerance=MESSAGES_WITHIN,
        tables=(_table(errors),),
        pictures=(Picture(_picture),),
        basis="computed",
    )


def _spread(count: int) -> str:
    """Standard deviation of one random order, over the sizes."""
    shares = []
    for words in SIZES:
        times = np.array(messages_by_order(ALL_TO_ALL.table, words, count))
        shares.append(float(times.std() / times.mean()))
    return f"{min(shares):.0%} to {max(shares):.0%} (standard deviation)"


def _table(errors: dict[int, dict[tuple[int, int], float]]) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            which.name,
            words,
            published(which.table)[words]["msgpass_measured"],
            *(messages(which.table, words, count) for count in IN_FLIGHT),
            *(f"{errors[count][which.table, words]:+.1%}" for count in IN_FLIGHT),
        )
        for which in BASICS
        for words in SIZES
    ]
    counts = [f"{count} in flight" for count in IN_FLIGHT]
    columns = ("pattern", "words", "measured", *counts, *(f"error, {count}" for count in IN_FLIGHT))
    return Table("In flight: clocks, and errors against the measured", columns, tuple(rows))


def _picture() -> Figure:

    ticks = (SIZES, [f"{words:,}" for words in SIZES])
    panels = [
        Panel(
            which.name,
            "words of a message",
            "error of the simulated time [%]",
            [
                *(
                    Line(
                        f"{count} in flight",
                        SIZES,
                        [100 * message_errors(count)[which.table, words] for words in SIZES],
                    )
                    for count in IN_FLIGHT
                ),
                Line("measured", (SIZES[0], SIZES[-1]), (0, 0), "bound"),
            ],
            log_x=2,
            ticks=ticks,
            y_limits=(-40, 40),
        )
        for which in BASICS
    ]
    return picture_charts(
        panels,
        title="Message passing on iWarp: how many messages are in flight?",
        subtitle="model wormhole, no sync, three pools of one lane, handlers of 400 + 400 clocks",
        columns=3,
    )
