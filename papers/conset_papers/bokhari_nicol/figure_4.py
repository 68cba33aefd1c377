"""Figure 4: three of the 128 permutations of an 8 × 8 mesh.

Every readable row is one of our tiles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import conset
from conset.schedule.schedule import Schedule
from conset_papers.bokhari_nicol.exchange import PAPER
from conset_papers.bokhari_nicol.permutations import (
    PrintedRow,
    grid_from,
    grid_of,
    is_tile,
    largest_loads,
    phase_matrix,
    printed_rows,
)
from conset_papers.grids import UNKNOWN, Grid, permutation, picture_grids
from conset_papers.item import Cell, Claim, Item, Picture, Table

SIDE = 8
NUMBERS = (1, 2, 3)
ABOUT = (
    "alltoall on mesh:8x8 by method bounded at contention 1; the rows that the scan still shows "
    "are looked up in the "
    "compiled phases. Where the blanks of a row stand is lost; a tile sends to the columns "
    "it comes from."
)
DEPARTURES = (
    "the text chooses the direction of a tile for each block of rows, ours one for all: nos. 2 "
    "and 3 take two of our "
    "phases each",
    "section 5 says that a fraction 4/n of the nodes is inactive in a step; it must read active, "
    "as beside Figure 5",
    "the first two rows of no. 1 are lost in the scan; what is left of it is one of our phases as "
    "a whole, which has "
    "them",
)


def reproduce() -> Item:
    """Looks up every readable row in the compiled phases."""
    schedule = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=1)
    rows = printed_rows("figure_4")
    phases = [phases_of(row, phase_matrix(schedule)) for row in rows]
    together = sum(len(found) == 1 for found in phases)
    tiles = sum(is_tile(row.columns, row.target[:, 1], SIDE) for row in rows)
    grids = {number: printed_grid(rows, number) for number in NUMBERS}
    loads = {number: largest_loads(grid) for number, grid in grids.items()}
    claims = (
        Claim(
            "every readable row is one of our tiles: its four messages stand in one compiled phase",
            together == len(rows),
            f"{together} of {len(rows)} rows",
        ),
        Claim(
            "in every readable row the columns move by a cycle u, v, 7-u, 7-v",
            tiles == len(rows),
            f"{tiles} of {len(rows)} rows",
        ),
        Claim(
            "section 4: a link carries one message, a node sends and receives one",
            set(loads.values()) == {(1, 1)},
            "; ".join(f"no. {k}: port {port}, link {link}" for k, (port, link) in loads.items()),
        ),
    )
    steps = (schedule.transfers + SIDE * SIDE) / schedule.phases
    cells = (
        Cell("8x8", "permutations", 128, schedule.phases),
        Cell("8x8", "fraction active, messages to itself included", 4 / SIDE, steps / SIDE**2),
    )
    table = Table(
        "Rows: where the readable ones stand in the compiled schedule",
        ("permutation", "row", "targets", "our phase"),
        tuple(
            (row.permutation, row.row, row.label, ", ".join(map(str, found)))
            for row, found in zip(rows, phases, strict=True)
        ),
    )
    first = [
        next(found[0] for row, found in zip(rows, phases, strict=True) if row.permutation == k)
        for k in NUMBERS
    ]
    return Item(
        PAPER,
        "Figure 4",
        "permutations without contention on 8 x 8 nodes",
        ABOUT,
        cells=cells,
        claims=claims,
        tolerance=0.0,
        tables=(table,),
        departures=DEPARTURES,
        pictures=(
            Picture(
                lambda: picture_grids(
                    [
                        [_grid(f"printed, no. {k}", grids[k]) for k in NUMBERS],
                        [
                            _grid(f"compiled, phase {phase}", grid_of(schedule, phase))
                            for phase in first
                        ],
                    ],
                    title="Figure 4: three permutations of 128 on 8 x 8 nodes",
                    subtitle=_describe(schedule),
                )
            ),
        ),
        basis="computed",
    )


def phases_of(row: PrintedRow, phase: NDArray[np.int64]) -> list[int]:
    """The compiled phases that hold the messages of a printed row."""
    found: list[int] = np.unique(phase[row.nodes(SIDE)]).tolist()
    return found


def printed_grid(rows: list[PrintedRow], number: int) -> NDArray[np.int64]:
    """shape=(8, 8): a printed permutation; rows that the scan lost are `UNKNOWN`."""
    own = [row for row in rows if row.permutation == number]
    source, target = (
        np.concatenate(ends) for ends in zip(*(row.nodes(SIDE) for row in own), strict=True)
    )
    grid = grid_from(source, target, SIDE)
    grid[[row for row in range(SIDE) if row not in {one.row for one in own}]] = UNKNOWN
    return grid


def _grid(title: str, target: NDArray[np.int64]) -> Grid:
    """Coloured by the row that is sent to: its four senders stand in one row."""
    return permutation(title, target, np.maximum(target, 0) // SIDE)


def _describe(schedule: Schedule) -> str:
    return (
        "a cell names the row,column it sends to; ?: lost in the scan; below: the phase of "
        f"{schedule.phases} that "
        "holds the first readable row above"
    )
