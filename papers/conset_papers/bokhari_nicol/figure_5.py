"""Figure 5: two permutations of an 8 × 8 mesh collapse to a third.

Which is literally one of ours.
"""

from __future__ import annotations

import numpy as np

import conset
from conset_papers.bokhari_nicol.exchange import PAPER
from conset_papers.bokhari_nicol.permutations import (
    grid_from,
    grid_of,
    largest_loads,
    phase_matrix,
    printed_rows,
)
from conset_papers.grids import permutation, picture_grids
from conset_papers.item import Cell, Claim, Item, Picture

SIDE = 8
ABOUT = (
    "alltoall on mesh:8x8 by method bounded at contention 1 and 2. The scan shows the collapsed "
    "permutation; the "
    "phases it stands in are looked up, not given."
)


def reproduce() -> Item:
    """Finds the printed permutation in the compiled schedules and compares all of its cells."""
    base = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=1)
    merged = conset.compile("alltoall", "mesh:8x8", method="bounded", contention=2)
    rows = printed_rows("figure_5")
    source, target = (
        np.concatenate(ends) for ends in zip(*(row.nodes(SIDE) for row in rows), strict=True)
    )
    printed = grid_from(source, target, SIDE)
    pair = np.unique(phase_matrix(base)[source, target]).tolist()
    whole = int(np.unique(phase_matrix(merged)[source, target])[0])
    parts, third = [grid_of(base, phase) for phase in pair], grid_of(merged, whole)
    cells = tuple(
        Cell(
            f"node {at // SIDE},{at % SIDE}",
            f"target (row {to // SIDE}, column {to % SIDE})",
            to,
            int(third.flat[at]),
        )
        for at, to in enumerate(printed.ravel().tolist())
    )
    active = [grid >= 0 for grid in parts]
    loads = [largest_loads(grid) for grid in (*parts, third)]
    sums = " + ".join(str(phase) for phase in pair)
    claims = (
        Claim(
            "the printed permutation is two consecutive phases of ours, merged",
            len(pair) == 2 and pair[1] == pair[0] + 1 and pair[0] == 2 * whole,
            f"phases {sums} at contention 1, phase {whole} at contention 2",
        ),
        Claim(
            "the active cells of the first are the inactive cells of the second",
            len(active) == 2 and bool((active[0] ^ active[1]).all()),
            " + ".join(f"{int(grid.sum())}" for grid in active) + f" of {SIDE * SIDE} nodes",
        ),
        Claim(
            "link contention is 1 in both and 2 in the third; each node transmits exactly once",
            loads == [(1, 1), (1, 1), (1, 2)],
            ", ".join(f"port {port} link {link}" for port, link in loads),
        ),
    )
    shades = [np.full_like(printed, k) for k in range(len(parts))]
    third_shade = np.where(active[0], 0, 1).astype(np.int64)
    grids = [
        permutation(f"phase {phase}", grid, shade)
        for phase, grid, shade in zip(pair, parts, shades, strict=True)
    ]
    return Item(
        PAPER,
        "Figure 5",
        "two permutations collapse to a denser one",
        ABOUT,
        cells=cells,
        claims=claims,
        tolerance=0.0,
        pictures=(
            Picture(
                lambda: picture_grids(
                    [
                        [
                            *grids,
                            permutation(f"both: phase {whole} at contention 2", third, third_shade),
                        ]
                    ],
                    title="Figure 5: two permutations collapse to a third on 8 x 8 nodes",
                    subtitle=(
                        "a cell names the row,column it sends to; compiled phases, the third "
                        "equals the printed one"
                    ),
                )
            ),
        ),
        basis="computed",
    )
