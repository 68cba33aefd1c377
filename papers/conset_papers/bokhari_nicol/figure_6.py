"""Figure 6: the first 8 of 1024 permutations of a 16 × 16 mesh collapse in pairs, then in fours."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import conset
from conset.methods.phases.bounded import partner_at
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset_papers.bokhari_nicol.exchange import PAPER
from conset_papers.bokhari_nicol.permutations import grid_of, phase_matrix
from conset_papers.grids import IDLE, Grid, permutation, picture_grids
from conset_papers.item import Cell, Claim, Item, Picture

SIDE = 16
SHOWN = 8
ABOUT = (
    "alltoall on mesh:16x16 by method bounded at contention 1, 2 and 4; every phase is compared "
    "with those it should "
    "collapse from, loads are counted over the mesh's routes."
)


def reproduce() -> Item:
    """Compares phases at contention 2 and 4 with consecutive phases at contention 1."""
    made = {
        c: conset.compile("alltoall", "mesh:16x16", method="bounded", contention=c)
        for c in (1, 2, 4)
    }
    base = phase_matrix(made[1])
    others = ~np.eye(SIDE * SIDE, dtype=bool)
    cells = [
        Cell("16x16", f"phases at link contention {c}", SIDE**3 / 4 / c, made[c].phases)
        for c in made
    ]
    steps = (made[1].transfers + SIDE * SIDE) / made[1].phases
    cells.append(
        Cell("16x16", "fraction active, messages to itself included", 4 / SIDE, steps / SIDE**2)
    )
    claims = [_collapse(made[c], base, others, c) for c in (2, 4)]
    loads = [phase_loads(made[c]) for c in (1, 2, 4)]
    links = [int(load.link.max()) for load in loads]
    nodes = [int(max(load.send.max(), load.receive.max())) for load in loads]
    claims.append(
        Claim(
            "merged phases have link contention 2, then 4, and no node contention",
            links == [1, 2, 4] and nodes == [1, 1, 1],
            f"links {links}, nodes {nodes}",
        )
    )
    four = made[4]
    both = phase_loads(
        replace(four, phase_offsets=np.append(four.phase_offsets[:-1:2], four.phase_offsets[-1]))
    )
    node, link = int(max(both.send.max(), both.receive.max())), int(both.link.max())
    claims.append(
        Claim(
            "one synchronization less in part (c): two messages of a node, link contention "
            "doubled to 8",
            (node, link) == (2, 8),
            f"node {node}, link {link} over pairs of phases",
        )
    )
    return Item(
        PAPER,
        "Figure 6",
        "a collapsible schedule on 16 x 16 nodes",
        ABOUT,
        cells=tuple(cells),
        claims=tuple(claims),
        tolerance=0.0,
        pictures=(
            Picture(
                lambda: picture_grids(
                    [_grids(made[c]) for c in (1, 2, 4)],
                    width=12,
                    height=2.3,
                    title=(
                        "Figure 6: the first 8 of 1024 phases of a collapsible schedule, "
                        "16 x 16 nodes"
                    ),
                    subtitle=(
                        "active nodes, coloured by their phase at contention 1; a dot: own data, "
                        "nothing is sent"
                    ),
                )
            ),
        ),
        basis="computed",
    )


def _collapse(
    schedule: Schedule, base: NDArray[np.int64], others: NDArray[np.bool_], contention: int
) -> Claim:
    """Whether phase p at `contention` is phases c·p … c·p + c - 1 at contention 1."""
    same = phase_matrix(schedule)[others] == base[others] // contention
    return Claim(
        f"(b), (c): without the synchronizations between them, {contention} successive "
        "phases are one",
        bool(same.all()),
        f"{int(same.sum()):,} of {same.size:,} messages in the phase of their {contention}",
    )


@lru_cache
def _step_targets() -> NDArray[np.int64]:
    """shape=(steps shown, nodes): whom every node sends to, itself where its own data are due."""
    ranks = range(SIDE * SIDE)
    who = [[partner_at(SIDE, rank, step) for rank in ranks] for step in range(SHOWN)]
    return np.array([[IDLE if to is None else to for to in row] for row in who], np.int64)


def _grids(schedule: Schedule) -> list[Grid]:
    """The first phases of a schedule, each node in the colour of its step.

    Nodes whose own data are due as well.
    """
    contention = schedule.limits.link or 1
    steps = _step_targets()
    grids = []
    for phase in range(SHOWN // contention):
        first = phase * contention
        due = steps[first : first + contention]
        step = np.argmax(due >= 0, axis=0)
        target = grid_of(schedule, phase).ravel()
        own = due.max(axis=0) == np.arange(target.size)
        target = np.where(own, np.arange(target.size), target)
        title = (
            f"phase {first}" if contention == 1 else f"phases {first} to {first + contention - 1}"
        )
        shade = np.where(target >= 0, first + step, 0)
        grids.append(permutation(title, target.reshape(SIDE, SIDE), shade.reshape(SIDE, SIDE)))
    return grids
