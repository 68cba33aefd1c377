"""The chooser: all constructions as a table, tried in order; the best is searched where the bound is not met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conset.methods.complete_exchange.box import Box
from conset.methods.complete_exchange.product import schedule_product
from conset.methods.complete_exchange.search import mend_phases, search_phases
from conset.methods.complete_exchange.square_4m import applies_square_4m, schedule_square_4m
from conset.methods.complete_exchange.square_4m2 import applies_square_4m2, schedule_square_4m2
from conset.methods.complete_exchange.square_4m3 import applies_square_4m3, schedule_square_4m3
from conset.methods.complete_exchange.stored import applies_stored, schedule_stored
from conset.methods.complete_exchange.torus import (
    applies_torus,
    applies_torus_absorbed,
    schedule_torus,
    schedule_torus_absorbed,
)
from conset.methods.complete_exchange.torus_cube import applies_torus_cube, schedule_torus_cube
from conset.methods.complete_exchange.torus_lines import applies_torus_lines, schedule_torus_lines
from conset.methods.complete_exchange.translations import applies_translations, schedule_translations
from conset.methods.problem import Phases


@dataclass(frozen=True)
class Construction:
    """One way to a complete exchange on a box.

    Attributes:
        name: what it is called in reports.
        requires: its domain in words.
        applies: its domain.
        schedule: box and seed in, phases out; they keep the box's contention where ties are broken by parity.
    """

    name: str
    requires: str
    applies: Callable[[Box], bool]
    schedule: Callable[[Box, int], Phases]


CONSTRUCTIONS: tuple[Construction, ...] = (
    Construction("stored", "5 × 5, contention 1", applies_stored, schedule_stored),
    Construction("translations", "contention of half the largest side", applies_translations, schedule_translations),
    Construction("square 4m", "square mesh, 4 | side", applies_square_4m, schedule_square_4m),
    Construction("square 4m+2", "square mesh, side 2 mod 4", applies_square_4m2, schedule_square_4m2),
    Construction("square 4m+3", "square mesh, side 3 mod 4", applies_square_4m3, schedule_square_4m3),
    Construction("torus cube", "three equal cycles, 8 | side", applies_torus_cube, schedule_torus_cube),
    Construction("torus", "one or two cycles", applies_torus, schedule_torus),
    Construction(
        "torus, lines absorbed", "two cycles, one of side 3 mod 4", applies_torus_absorbed, schedule_torus_absorbed
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
    """The fewest phases over all constructions and the search; nothing more is tried once the bound is met."""
    tried: list[Chosen] = []
    for construction in CONSTRUCTIONS:
        if not construction.applies(box):
            continue
        phases = construction.schedule(box, seed)
        name = construction.name
        if _other_ties(box) and name != "translations":
            phases, name = mend_phases(box, phases), f"{name}, mended"
        tried.append(Chosen(phases, name))
        if phases.offsets.size - 1 <= box.bound:
            return tried[-1]
    tried.sort(key=lambda chosen: chosen.phases.offsets.size)
    found = search_phases(box, [chosen.phases for chosen in tried], effort, seed)
    return tried[0] if found is tried[0].phases else Chosen(found, f"{tried[0].name}, searched")


def _other_ties(box: Box) -> bool:
    """Whether a cycle ties and its rule is not the one the constructions are made for."""
    return box.tie != "parity" and any(
        cycle and side % 2 == 0 for side, cycle in zip(box.sides, box.cycles, strict=True)
    )
