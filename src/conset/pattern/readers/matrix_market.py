"""Matrix Market (`.mtx`): a matrix of bytes, or a sparse matrix whose rows are distributed over ranks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError, UsageError
from conset.pattern.pattern import Pattern
from conset.pattern.readers.cells import Graph
from conset.pattern.readers.entries import located, require_ranks, require_square, whole_bytes
from conset.pattern.readers.matrix_market_text import checked_text
from conset.pattern.readers.options import ReadOptions
from conset.pattern.readers.partition import pattern_from_graph

_MAX_ROWS = 2**27
"""Of a matrix whose graph is partitioned: arrays by row, a gigabyte each."""


def read_matrix_market(path: Path, options: ReadOptions) -> Pattern:
    """Entry (i, j) is what rank i - 1 sends to rank j - 1 [B], or with `rows_to` see `halo_of_rows`.

    With `parts` the rows are the vertices of a graph, joined where an entry stands on either side of the diagonal,
    which METIS partitions; see `pattern_from_graph`.

    A symmetric matrix is expanded; entries of a matrix without values count one word each; repeated entries add up.

    Raises:
        UsageError: both `rows_to` and `parts`.
        InputError: no Matrix Market file, truncated, not square, or an entry that is no whole number of bytes.
        MissingExtraError: METIS is not installed.
    """
    if options.rows_to is not None and options.parts is not None:
        raise UsageError(f"{path}: --rows-to and --parts exclude each other: rows in order, or METIS on the graph")
    rows, columns, values, shape = _read_entries(path)
    ranks = require_square(shape, str(path))
    if options.rows_to is not None:
        return halo_of_rows(path, rows, columns, ranks, options.rows_to, options.word)
    if options.parts is not None:
        if ranks > _MAX_ROWS:
            raise InputError(f"{path}: --parts: {ranks} rows: must be at most {_MAX_ROWS}")
        graph = graph_of_entries(rows, columns, ranks)
        return pattern_from_graph(graph, options.parts, options.word, options.seed, str(path), path.name)
    require_ranks(ranks, str(path))
    if values is None:
        size = np.full(rows.size, options.word, np.int64)
    else:
        try:
            size = whole_bytes(values, lambda k: f"{path}: entry ({rows[k] + 1}, {columns[k] + 1})")
        except InputError as error:
            way = "--rows-to N or --parts N distributes a matrix over N ranks"
            raise InputError(f"{error}; entries are sizes here, {way}") from None
    return located(str(path), lambda: Pattern.from_messages(rows, columns, size, ranks, name=path.name))


def graph_of_entries(rows: NDArray[np.int64], columns: NDArray[np.int64], size: int) -> Graph:
    """The graph of a square matrix: rows are joined where (i, j) or (j, i) is stored; the diagonal joins nothing."""
    apart = rows != columns
    both = np.concatenate([rows[apart] * size + columns[apart], columns[apart] * size + rows[apart]])
    key = np.unique(both)
    return Graph(np.searchsorted(key // size, np.arange(size + 1)).astype(np.int64), key % size)


def halo_of_rows(
    path: Path, rows: NDArray[np.int64], columns: NDArray[np.int64], size: int, ranks: int, word: int
) -> Pattern:
    """What a product of a distributed sparse matrix with a vector sends.

    Ranks own contiguous rows, the first `size mod ranks` of them one more than the others, and the entries of the
    vector with the same numbers. Rank q sends rank p the distinct entries it owns that occur as columns in the rows of
    p. Stored zeros count: what is stored is multiplied.

    Raises:
        InputError: more ranks than rows, or than a pattern may have.
    """
    if ranks > size:
        raise InputError(f"{path}: --rows-to {ranks}: must be at most its {size} rows")
    require_ranks(ranks, f"{path}: --rows-to")
    begin = np.arange(ranks + 1) * (size // ranks) + np.minimum(np.arange(ranks + 1), size % ranks)
    user = np.searchsorted(begin, rows, side="right") - 1
    used = np.arange(0)
    if ranks * size >= 2**63:  # number the columns that occur, so that a key of rank and column fits
        used, columns = np.unique(columns, return_inverse=True)
        size = used.size
    needed = np.unique(user * size + columns)
    user, column = needed // size, needed % size
    column = used[column] if used.size else column
    owner = np.searchsorted(begin, column, side="right") - 1
    foreign = owner != user
    pair, count = np.unique(owner[foreign] * ranks + user[foreign], return_counts=True)
    return located(
        str(path), lambda: Pattern.from_messages(pair // ranks, pair % ranks, count * word, ranks, name=path.name)
    )


def _read_entries(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None, tuple[int, ...]]:
    """(rows, columns, values or None, shape) of all entries, from 0."""
    from scipy.io import mmread

    text = checked_text(path)
    try:
        matrix = mmread(io.BytesIO(text.content))
    except (ValueError, OverflowError, TypeError, OSError, MemoryError) as error:
        raise InputError(f"{path}: no valid Matrix Market file: {error}") from None
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(matrix)
        return rows, columns, matrix[rows, columns], matrix.shape
    values = None if text.field == "pattern" else matrix.data
    return matrix.row.astype(np.int64), matrix.col.astype(np.int64), values, matrix.shape
