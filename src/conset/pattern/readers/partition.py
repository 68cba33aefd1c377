"""Cells of a mesh or vertices of a graph to parts by METIS, and what the parts then exchange."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from conset.base import InputError, Ints, import_extra
from conset.pattern.layout import Partition
from conset.pattern.readers.halo import ghost_layout, shared_layout


@dataclass(frozen=True, eq=False)
class Cells:
    """Elements by their nodes.

    Attributes:
        offsets: shape=(cells + 1), int64.
        nodes: int64: cell c has `nodes[offsets[c]:offsets[c + 1]]`, numbers from 0.
        corners: shape=(cells), int64: the first so many nodes of a cell are its corners; cells are
            next to each other by corners only, nodes on the middle of an edge are shared all the
            same.
        common: corners that two cells next to each other share at least.
        weights: shape=(cells), int64: work of a cell; None: all equal.
        numbers: int64, ascending: what the file calls each node, from 0; None: the same.
    """

    offsets: Ints
    nodes: Ints
    corners: Ints
    common: int
    weights: Ints | None = None
    numbers: Ints | None = None

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.offsets.size - 1)


@dataclass(frozen=True, eq=False)
class Graph:
    """Vertices by their neighbours, every edge in both rows.

    Attributes:
        offsets: shape=(vertices + 1), int64.
        neighbor: int64: vertex v is joined to `neighbor[offsets[v]:offsets[v + 1]]`, numbers
            from 0.
        weights: shape=(vertices), int64: work of a vertex; None: all equal.
        edge_weights: shape of `neighbor`, int64; None: all equal.
    """

    offsets: Ints
    neighbor: Ints
    weights: Ints | None = None
    edge_weights: Ints | None = None

    @property
    def count(self) -> int:
        """Number of vertices."""
        return int(self.offsets.size - 1)


def partition_cells(
    cells: Cells, parts: int, word: int, seed: int, where: str, name: str
) -> Partition:
    """The halo exchange of a mesh: part a sends part b one word for every node that both have.

    Raises:
        InputError: fewer cells than parts.
        MissingExtraError: METIS is not installed.
    """
    part = partition_graph(dual_graph(cells), parts, seed, where)
    layout = shared_layout(cells.offsets, cells.nodes, part, parts, word, cells.numbers)
    return Partition(layout.pattern(name), layout)


def partition_rows(
    graph: Graph, parts: int, word: int, seed: int, where: str, name: str
) -> Partition:
    """The halo exchange of a graph.

    Part a sends part b one word for every vertex of a with a neighbour in b.

    Raises:
        InputError: fewer vertices than parts.
        MissingExtraError: METIS is not installed.
    """
    part = partition_graph(graph, parts, seed, where)
    vertex = np.repeat(np.arange(graph.count), np.diff(graph.offsets))
    layout = ghost_layout(vertex, graph.neighbor, part, parts, word)
    return Partition(layout.pattern(name), layout)


def dual_graph(cells: Cells) -> Graph:
    """The graph of cells: two are joined where they have at least `common` corners in common."""
    from scipy.sparse import csr_matrix

    corner = np.arange(cells.nodes.size) - np.repeat(cells.offsets[:-1], np.diff(cells.offsets))
    kept = corner < np.repeat(cells.corners, np.diff(cells.offsets))
    offsets = np.concatenate([[0], np.cumsum(kept)])[cells.offsets]
    nodes = int(cells.nodes.max()) + 1
    has = csr_matrix(
        (np.ones(int(offsets[-1]), np.int32), cells.nodes[kept], offsets),
        shape=(cells.count, nodes),
    )
    common = (has @ has.T).tocoo()
    joined = (common.data >= cells.common) & (common.row != common.col)
    order = np.lexsort((common.col[joined], common.row[joined]))
    row = common.row[joined][order]
    return Graph(
        np.searchsorted(row, np.arange(cells.count + 1)).astype(np.int64),
        common.col[joined][order].astype(np.int64),
        cells.weights,
    )


def partition_graph(graph: Graph, parts: int, seed: int, where: str) -> Ints:
    """shape=(vertices), int64: the part of each vertex; k-way METIS, the same for the same seed.

    K-way may leave parts empty where there are few vertices a part; recursive bisection does not,
    and is tried then.

    Raises:
        InputError: fewer vertices than parts.
        MissingExtraError: METIS is not installed.
    """
    if parts > graph.count:
        raise InputError(
            f"{where}: parts {parts}: must be at most its {graph.count} cells or vertices",
            options=["parts"],
        )
    if parts == 1:
        return np.zeros(graph.count, np.int64)
    part = _run_metis(graph, parts, seed, recursive=False)
    if np.unique(part).size < parts:
        part = _run_metis(graph, parts, seed, recursive=True)
    return part


def _run_metis(graph: Graph, parts: int, seed: int, *, recursive: bool) -> Ints:
    pymetis = import_extra("pymetis", "mesh")
    index = pymetis.zero_copy_dtype()
    with _silent_library():
        _, part = pymetis.part_graph(
            parts,
            pymetis.CSRAdjacency(graph.offsets.astype(index), graph.neighbor.astype(index)),
            vweights=None if graph.weights is None else graph.weights.astype(index),
            eweights=None if graph.edge_weights is None else graph.edge_weights.astype(index),
            recursive=recursive,
            options=pymetis.Options(seed=seed % 2**31),
        )
    return np.asarray(part, np.int64)


@contextmanager
def _silent_library() -> Iterator[None]:
    """What METIS prints on stdout goes nowhere.

    It says "cannot bisect" of what is then partitioned all the same.

    The file descriptor is turned away, as the library knows no other stdout; buffers of both sides
    are emptied before and after.
    """
    library = ctypes.CDLL(None)
    try:
        sys.stdout.flush()
        library.fflush(None)
        kept = os.dup(1)
    except (OSError, ValueError):  # there is no stdout
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        yield
    finally:
        library.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
