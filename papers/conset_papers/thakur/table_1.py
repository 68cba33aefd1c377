"""Table 1: the seven steps of PEX on 8 processors, read out of the compiled schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conset.schedule.schedule import Schedule
from conset_papers.item import Cell, Claim, Item, Picture, Table, read_published
from conset_papers.thakur.exchange import exchange

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MESH = (2, 4)
ABOUT = (
    "Complete exchange on delta:2x4 by method pex; in the compiled schedule, the partner of the "
    "processor that the "
    "text names first in each of its 28 entries (the schedule of PEX knows processors only: any "
    "mesh of 8 gives it)."
)


def reproduce() -> Item:
    """Compiles, then compares partner by partner."""
    schedule = exchange(MESH, 1024, "pex")
    partner = partners(schedule)
    rows = [
        (int(r["step"]), int(r["processor"]), int(r["partner"]))
        for r in read_published("thakur", "table_1")
    ]
    cells = tuple(
        Cell(f"step {step}", f"partner of {one}", other, partner[step - 1, one])
        for step, one, other in rows
    )
    mutual = sum(partner.get((step, other)) == one for (step, one), other in partner.items())
    claims = (
        Claim("p − 1 = 7 steps (section 3.1)", schedule.phases == 7, f"{schedule.phases} phases"),
        Claim(
            "the whole pattern is a sequence of pairwise exchanges (section 3.1)",
            mutual == 56,
            f"{mutual} of 56 messages meet their partner's in the same step",
        ),
    )
    steps = tuple(_step(partner, step) for step in range(schedule.phases))
    columns = tuple(f"step {step + 1}" for step in range(schedule.phases))
    table = Table("Communication schedule: as compiled", columns, tuple(zip(*steps, strict=True)))
    return Item(
        "thakur",
        "Table 1",
        "schedule of PEX on 8 processors",
        ABOUT,
        cells=cells,
        claims=claims,
        tolerance=0.0,
        tables=(table,),
        pictures=(Picture(lambda: _draw(partner, schedule.phases)),),
        basis="computed",
    )


def partners(schedule: Schedule) -> dict[tuple[int, int], int]:
    """(phase, processor) → whom it sends to."""
    phase, source, target = (
        values.tolist()
        for values in (schedule.phase_of, schedule.source_node, schedule.target_node)
    )
    return {(step, one): other for step, one, other in zip(phase, source, target, strict=True)}


def _step(partner: dict[tuple[int, int], int], step: int) -> list[str]:
    return [
        f"{one} ↔ {other}"
        for (at, one), other in sorted(partner.items())
        if at == step and one < other
    ]


def _draw(partner: dict[tuple[int, int], int], steps: int) -> Figure:
    """The mesh in every step; partners have one colour and name each other."""
    from conset_papers.grids import permutation, picture_grids

    grids = []
    for step in range(steps):
        target = np.array([partner[step, one] for one in range(MESH[0] * MESH[1])])
        lower = np.minimum(target, np.arange(target.size))
        shade = np.searchsorted(np.unique(lower), lower)
        grids.append(permutation(f"step {step + 1}", target.reshape(MESH), shade.reshape(MESH)))
    return picture_grids(
        [grids[:4], grids[4:]],
        title="PEX on 8 processors: whom each exchanges with",
        subtitle=(
            "compiled on delta:2x4, in each cell row and column of its partner; partners "
            "share a colour"
        ),
        height=1.8,
    )
