"""Figure 11: by how much bounded is faster than naive.

Over contention and message size, on 8 × 8 and 12 × 12 nodes.
"""

from __future__ import annotations

import numpy as np

from conset.report.charts import Heat, picture_charts
from conset_papers.bokhari_nicol.exchange import (
    ABOUT,
    ORDERS,
    OVERHEAD_DEPARTURE,
    PAPER,
    format_bytes,
    pairs,
)
from conset_papers.bokhari_nicol.surfaces import Surface, trace_surface
from conset_papers.item import Claim, Item, Picture, Table, Value

LEVEL = 0.25
MESHES = (8, 12)
DEPARTURES = (
    "the text does not say in which order its naive program sends; ascending (every node to 0, 1, "
    "2 ...) is what the "
    "claim needs: a naive program that starts at its own neighbour loses far less",
    OVERHEAD_DEPARTURE,
)


def reproduce() -> Item:
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
    panels = [_panel(surface, order, most) for order in ORDERS for surface in surfaces]
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


def _panel(surface: Surface, order: str, most: float) -> Heat:
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
