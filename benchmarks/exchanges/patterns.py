"""Patterns on which exchanges are measured; the same for the same number of ranks and bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from conset.pattern.pattern import Pattern
from conset.pattern.readers.halo import shared_layout
from conset.pattern.readers.partition import Cells, dual_graph, partition_graph
from conset.pattern.spec import parse_pattern

WORD_B = 8
MESH_NODES = 7_000
ALPHA = 1.6
"""Exponent of the power laws."""
ROWS, ROW_ENTRIES, SITES, NEAR = 19_200, 4, 400, 30
"""Of the irregular matrix; entries of a row on average.

An entry that is near is so many columns off at most.
"""


def make_random(ranks: int, size: int, degree: int) -> Pattern:
    """Everyone sends to `degree` others and receives from as many."""
    return parse_pattern(f"random:degree={degree},size={size}", ranks=ranks, seed=1)


def make_power_law(ranks: int, size: int, mean: float = 6.0) -> Pattern:
    """Partners after Chung and Lu.

    Rank k has weight (k + 1)^(-1/1.6), a pair exchanges with their product.
    """
    random = np.random.default_rng(3)
    weight = (np.arange(ranks) + 1.0) ** (-1 / ALPHA)
    weight = random.permutation(weight * mean * ranks / weight.sum())
    chance = np.minimum(np.outer(weight, weight) / weight.sum(), 1)
    upper = np.triu(random.random((ranks, ranks)) < chance, 1)
    source, target = np.nonzero(upper | upper.T)
    return Pattern.from_messages(
        source, target, np.full(source.size, size), ranks, name="power law"
    )


def make_elements(ranks: int, size: int) -> Pattern:
    """Halo exchange of tetrahedra between random points, cut by METIS.

    Every message has `size` bytes.
    """
    from scipy.spatial import Delaunay

    elements = Delaunay(np.random.default_rng(0).random((MESH_NODES, 3))).simplices.astype(np.int64)
    count = len(elements)
    cells = Cells(np.arange(0, 4 * count + 1, 4), elements.ravel(), np.full(count, 4, np.int64), 3)
    part = partition_graph(dual_graph(cells), ranks, 0, "mesh")
    halo = shared_layout(cells.offsets, cells.nodes, part, ranks, WORD_B).pattern("mesh")
    return Pattern.from_messages(
        halo.source, halo.target, np.full(halo.messages, size), ranks, name="finite elements"
    )


def make_matrix_rows(ranks: int, size: int) -> Pattern:
    """What a product of an irregular matrix with a vector sends.

    `size` bytes for each entry of the vector.

    As links of the web: half of a row's entries are near it, half at columns that are popular; the
    popularity of a site is a power law over neighbouring columns, so that few ranks own most of
    what all others need. Ranks have as many neighbouring rows each.
    """
    random = np.random.default_rng(5)
    sites = random.permutation((np.arange(SITES) + 1.0) ** (-ALPHA))
    weight = np.repeat(sites / sites.sum() * SITES / ROWS, ROWS // SITES)
    rows = random.integers(ROWS, size=ROWS * ROW_ENTRIES)
    near = np.clip(rows + random.integers(-NEAR, NEAR + 1, rows.size), 0, ROWS - 1)
    popular = random.choice(ROWS, rows.size, p=weight / weight.sum())
    return _rows_exchange(
        rows, np.where(random.random(rows.size) < 0.5, near, popular), ranks, size
    )


def _rows_exchange(
    rows: NDArray[np.int64], columns: NDArray[np.int64], ranks: int, word: int
) -> Pattern:
    needed = np.unique(rows * ranks // ROWS * ROWS + columns)
    user, column = needed // ROWS, needed % ROWS
    owner = column * ranks // ROWS
    apart = owner != user
    pair, count = np.unique(owner[apart] * ranks + user[apart], return_counts=True)
    return Pattern.from_messages(
        pair // ranks, pair % ranks, count * word, ranks, name="matrix rows"
    )


PATTERNS: dict[str, Callable[[int, int], Pattern]] = {
    "complete": lambda ranks, size: parse_pattern(f"alltoall:size={size}", ranks=ranks, seed=0),
    "random 8": lambda ranks, size: make_random(ranks, size, 8),
    "random 16": lambda ranks, size: make_random(ranks, size, 16),
    "random 24": lambda ranks, size: make_random(ranks, size, 24),
    "power law": make_power_law,
    "finite elements": make_elements,
    "matrix rows": make_matrix_rows,
}
"""(ranks, bytes) → pattern, by its name in tables.

Of `matrix rows` the bytes are those of a word.
"""


def make_pattern(name: str, ranks: int, size: int) -> Pattern:
    """The pattern of that name.

    Random ones with a degree above ranks / 2 where there are fewer ranks are refused.
    """
    return PATTERNS[name](ranks, size)
