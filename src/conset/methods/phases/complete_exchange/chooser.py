"""The chooser: all constructions as a table, tried in order.

The best is searched where the bound is not met.

There is one construction here, translations: everybody sends to the node at one displacement, N - 1
phases, for links that are unlimited, or carry so much that only ports count.
Idea: phase by phase one vector of displacements, coordinates modulo the sides: a permutation of the
nodes.
Invariant: along a line a displacement d puts at most min(d, side - d) messages on a link in each
direction.
Guarantee: N - 1 phases, the port bound, where the contention is at least half of the largest side,
rounded down. Complexity: O(messages).
Reference: the linear exchange of Thakur, Choudhary, Fox (SHPCC 1994), GEN, with coordinates in
place of node numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from conset.methods.phases.complete_exchange.box import Box, mend_phases, search_phases
from conset.methods.phases.complete_exchange.product import (
    applies_square_4m,
    applies_square_4m2,
    applies_square_4m3,
    applies_stored,
    schedule_product,
    schedule_square_4m,
    schedule_square_4m2,
    schedule_square_4m3,
    schedule_stored,
)
from conset.methods.phases.complete_exchange.tori import (
    applies_torus,
    applies_torus_absorbed,
    applies_torus_cube,
    applies_torus_lines,
    schedule_torus,
    schedule_torus_absorbed,
    schedule_torus_cube,
    schedule_torus_lines,
)
from conset.methods.phases.problem import Phases


def applies_translations(box: Box) -> bool:
    """Any box whose links carry half of the largest side."""
    return box.contention >= max(box.sides) // 2


def schedule_translations(box: Box, seed: int) -> Phases:
    """One phase for each displacement other than none."""
    node = np.arange(box.nodes)
    step = np.empty((box.nodes, box.nodes - 1), np.int32)
    coordinate = np.stack(np.unravel_index(node, box.sides))
    for source in range(box.nodes):
        away = [(c - c[source]) % side for c, side in zip(coordinate, box.sides, strict=True)]
        step[source] = np.delete(np.ravel_multi_index(away, box.sides), source) - 1
    return Phases.of(step.ravel())


@dataclass(frozen=True)
class Construction:
    """One way to a complete exchange on a box.

    Attributes:
        name: what it is called in reports.
        requires: its domain as text.
        applies: its domain.
        schedule: box and seed in, phases out; they keep the box's contention where ties are broken
            by parity.
    """

    name: str
    requires: str
    applies: Callable[[Box], bool]
    schedule: Callable[[Box, int], Phases]


CONSTRUCTIONS: tuple[Construction, ...] = (
    Construction("stored", "5 × 5, contention 1", applies_stored, schedule_stored),
    Construction(
        "translations",
        "contention of half the largest side",
        applies_translations,
        schedule_translations,
    ),
    Construction("square 4m", "square mesh, 4 | side", applies_square_4m, schedule_square_4m),
    Construction(
        "square 4m+2", "square mesh, side 2 mod 4", applies_square_4m2, schedule_square_4m2
    ),
    Construction(
        "square 4m+3", "square mesh, side 3 mod 4", applies_square_4m3, schedule_square_4m3
    ),
    Construction(
        "torus cube", "three equal cycles, 8 | side", applies_torus_cube, schedule_torus_cube
    ),
    Construction("torus", "one or two cycles", applies_torus, schedule_torus),
    Construction(
        "torus, lines absorbed",
        "two cycles, one of side 3 mod 4",
        applies_torus_absorbed,
        schedule_torus_absorbed,
    ),
    Construction("torus lines", "two cycles", applies_torus_lines, schedule_torus_lines),
    Construction("product", "any box", lambda box: True, schedule_product),
)
"""Every construction, the most special first."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The phases, and the names of what made them."""

    phases: Phases
    name: str


def choose_exchange(box: Box, *, effort: int, seed: int) -> Chosen:
    """The fewest phases over all constructions and the search.

    Nothing more is tried once the bound is met.
    """
    tried: list[Chosen] = []
    # constructions are made for ties by parity
    ties = box.tie != "parity" and any(
        cycle and side % 2 == 0 for side, cycle in zip(box.sides, box.cycles, strict=True)
    )
    for construction in CONSTRUCTIONS:
        if not construction.applies(box):
            continue
        phases = construction.schedule(box, seed)
        name = construction.name
        if ties and name != "translations":
            phases, name = mend_phases(box, phases), f"{name}, mended"
        tried.append(Chosen(phases, name))
        if phases.offsets.size - 1 <= box.bound:
            return tried[-1]
    tried.sort(key=lambda chosen: chosen.phases.offsets.size)
    found = search_phases(box, [chosen.phases for chosen in tried], effort, seed)
    return tried[0] if found is tried[0].phases else Chosen(found, f"{tried[0].name}, searched")
