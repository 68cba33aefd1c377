"""Cells: the elements of a mesh or the vertices of a graph, in compressed rows, ready to be partitioned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Cells:
    """Elements by their nodes.

    Attributes:
        offsets: shape=(cells + 1), int64.
        nodes: int64: cell c has `nodes[offsets[c]:offsets[c + 1]]`, numbers from 0.
        corners: shape=(cells), int64: the first so many nodes of a cell are its corners; cells are next to each other
            by corners only, nodes on the middle of an edge are shared all the same.
        common: corners that two cells next to each other share at least.
        weights: shape=(cells), int64: work of a cell; None: all equal.
    """

    offsets: NDArray[np.int64]
    nodes: NDArray[np.int64]
    corners: NDArray[np.int64]
    common: int
    weights: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.offsets.size - 1)


@dataclass(frozen=True, eq=False)
class Graph:
    """Vertices by their neighbours, every edge in both rows.

    Attributes:
        offsets: shape=(vertices + 1), int64.
        neighbor: int64: vertex v is joined to `neighbor[offsets[v]:offsets[v + 1]]`, numbers from 0.
        weights: shape=(vertices), int64: work of a vertex; None: all equal.
        edge_weights: shape of `neighbor`, int64; None: all equal.
    """

    offsets: NDArray[np.int64]
    neighbor: NDArray[np.int64]
    weights: NDArray[np.int64] | None = None
    edge_weights: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """Number of vertices."""
        return int(self.offsets.size - 1)
