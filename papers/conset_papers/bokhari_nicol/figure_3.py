"""Figure 3: a complete exchange on four processors changes a matrix from column to row order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import conset
from conset.schedule.schedule import Schedule
from conset_papers.bokhari_nicol.exchange import PAPER
from conset_papers.grids import Grid, picture_grids
from conset_papers.item import Cell, Claim, Item, Picture

PROCESSORS = 4
ABOUT = (
    "alltoall on mesh:2x2 by method bounded; processor j holds column j of a 4 x 4 block matrix, "
    "message j → i carries "
    "block (i, j), and the schedule's transfers move the blocks phase after phase."
)


def reproduce() -> Item:
    """Moves the blocks and looks who holds them."""
    schedule = conset.compile("alltoall", "mesh:2x2", method="bounded")
    before = np.tile(np.arange(PROCESSORS), (PROCESSORS, 1))
    after = moved_blocks(schedule, before)
    wanted = before.T
    claims = (
        Claim(
            "(a) to (c), section 3: the exchange turns column order into row order",
            bool((after == wanted).all()),
            f"{int((after == wanted).sum())} of {wanted.size} blocks stand on the processor of "
            "their row, in "
            f"{schedule.phases} phases",
        ),
    )
    return Item(
        PAPER,
        "Figure 3",
        "the complete exchange as a transposition",
        ABOUT,
        claims=claims,
        tolerance=0.0,
        cells=(
            Cell(
                "4 processors",
                "messages, N(N-1)",
                PROCESSORS * (PROCESSORS - 1),
                schedule.pattern.messages,
            ),
        ),
        pictures=(
            Picture(
                lambda: picture_grids(
                    [_grids(before, schedule.pattern.matrix() > 0, after)],
                    title="Figure 3: complete exchange on 4 processors",
                    subtitle="blocks of a matrix, coloured by the processor that holds them",
                )
            ),
        ),
        basis="computed",
    )


def _grids(
    before: NDArray[np.int64], sends: NDArray[np.bool_], after: NDArray[np.int64]
) -> list[Grid]:
    block = np.array([[f"{i},{j}" for j in range(PROCESSORS)] for i in range(PROCESSORS)])
    arrow = np.array([[f"{j} → {i}" for i in range(PROCESSORS)] for j in range(PROCESSORS)])
    sender = np.arange(PROCESSORS)[:, None]
    return [
        Grid("(a) column order", before, block),
        Grid("(b) messages", np.where(sends, sender, -1), np.where(sends, arrow, "")),
        Grid("(c) row order", after, block),
    ]


def moved_blocks(schedule: Schedule, holder: NDArray[np.int64]) -> NDArray[np.int64]:
    """shape=(blocks, blocks).

    Who holds block (i, j) after message j → i has carried it, from who holds it before.

    Raises:
        ValueError: a transfer would send a block that its sender does not hold.
    """
    holder = holder.copy()
    for source, target in zip(
        schedule.source_node.tolist(), schedule.target_node.tolist(), strict=True
    ):
        if holder[target, source] != source:
            raise ValueError(
                f"block ({target}, {source}) is on {holder[target, source]}, not on {source}"
            )
        holder[target, source] = target
    return holder
