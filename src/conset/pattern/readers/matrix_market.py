"""Matrix Market (`.mtx`).

A matrix of bytes, or a sparse matrix whose rows are distributed over ranks.

The text is checked line by line before a parser sees it. SciPy's parser ends the process where the
last line ends in a blank without a newline, and reads `2.0x` as 2, `0x10` as 0, `1D2` as 1 and
`4-5` as 4. So every line must be of the format's grammar first: one regular expression over the
whole text, whose possessive repeats never step back: 0.1 to 0.3 s for a million lines.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np

from conset.base import Array, InputError, Ints, UsageError, count_of, shortened
from conset.pattern.layout import Partition
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import (
    ReadOptions,
    in_bytes,
    located,
    require_ranks,
    require_square,
)
from conset.pattern.readers.halo import ghost_layout
from conset.pattern.readers.partition import Graph, partition_rows

_BANNER = re.compile(
    rb"%%?MatrixMarket[ \t]+matrix[ \t]+(\w+)[ \t]+([\w-]+)[ \t]+([\w-]+)[ \t]*", re.IGNORECASE
)
_SIZES = re.compile(rb"([0-9]{1,19})(?:[ \t]+([0-9]{1,19}))(?:[ \t]+([0-9]{1,19}))?")
_REAL = rb"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[nN][aA][nN]|[iI][nN][fF])"
_VALUE_KINDS = {
    "real": (_REAL, "a number"),
    "double": (_REAL, "a number"),
    "integer": (rb"[+-]?[0-9]+", "a whole number"),
    "unsigned-integer": (rb"[0-9]+", "a whole number"),
    "complex": (_REAL + rb"[ \t]+" + _REAL, "two numbers"),
    "pattern": (b"", ""),
}
"""Kind of value → its grammar and its name in errors.

No two ways to match anything, so that none is tried again, and no possessive quantifiers: before
Python 3.11.5 a group of them that fails keeps what it took.
"""
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_PLUS = re.compile(rb"(?<![eE])\+")
_BLANK = re.compile(rb"^[ \t\r]*+\n", re.MULTILINE)
_MAX_ROWS = 2**27
"""Of a matrix whose graph is partitioned: arrays by row, a gigabyte each."""


def read_matrix_market(path: Path, options: ReadOptions) -> Pattern:
    """Entry (i, j) is what rank i - 1 sends to rank j - 1 [B].

    With `rows_to` or `parts` see `partition_matrix`.

    A symmetric matrix is expanded; entries of a matrix without values count one word each; repeated
    entries add up.

    Raises:
        UsageError: both `rows_to` and `parts`.
        InputError: no Matrix Market file, truncated, not square, or an entry that is no whole
            number of bytes.
        MissingExtraError: METIS is not installed.
    """
    if options.parts is not None:
        return partition_matrix(path, options).pattern
    rows, columns, values, shape = _read_entries(path)
    ranks = require_square(shape, str(path))
    if options.rows_to is not None:
        return halo_of_rows(path, rows, columns, ranks, options.rows_to, options.word)
    require_ranks(ranks, str(path))
    if values is None:
        size = np.full(rows.size, options.word, np.int64)
    else:
        try:
            size, _ = in_bytes(
                values, lambda k: f"{path}: entry ({rows[k] + 1}, {columns[k] + 1})", options.unit
            )
        except InputError as error:
            way = "rows_to N or parts N distributes a matrix over N ranks"
            raise InputError(
                f"{error}; entries are sizes here, {way}", options=["rows_to", "parts"]
            ) from None
    return located(
        str(path), lambda: Pattern.from_messages(rows, columns, size, ranks, name=path.name)
    )


def partition_matrix(path: Path, options: ReadOptions) -> Partition:
    """A sparse matrix whose rows are distributed: with `rows_to` in order, see `halo_of_rows`.

    With `parts` the rows are the vertices of a graph, joined where an entry is stored on either
    side of the diagonal, which METIS partitions; see `partition_rows`.

    Raises:
        UsageError: both `rows_to` and `parts`, or none of them.
        InputError: no Matrix Market file, truncated, not square, or more ranks than rows.
        MissingExtraError: METIS is not installed.
    """
    if (options.rows_to is None) == (options.parts is None):
        rule = "exclude each other" if options.parts is not None else "one of them is required"
        raise UsageError(
            f"{path}: rows_to and parts: {rule}: rows in order, or METIS on the graph",
            options=["rows_to", "parts"],
        )
    rows, columns, _, shape = _read_entries(path)
    size = require_square(shape, str(path))
    if size > _MAX_ROWS:
        raise InputError(
            f"{path}: {size} rows: must be at most {_MAX_ROWS} to be distributed with a layout"
        )
    if options.parts is not None:
        graph = graph_of_entries(rows, columns, size)
        return partition_rows(
            graph, options.parts, options.word, options.seed, str(path), path.name
        )
    assert options.rows_to is not None
    begin = _first_rows(path, size, options.rows_to)
    part = np.repeat(np.arange(options.rows_to, dtype=np.int32), np.diff(begin))
    layout = ghost_layout(rows, columns, part, options.rows_to, options.word)
    return Partition(layout.pattern(path.name), layout)


def graph_of_entries(rows: Ints, columns: Ints, size: int) -> Graph:
    """The graph of a square matrix: rows are joined where (i, j) or (j, i) is stored.

    The diagonal joins nothing.
    """
    apart = rows != columns
    both = np.concatenate(
        [rows[apart] * size + columns[apart], columns[apart] * size + rows[apart]]
    )
    key = np.unique(both)
    return Graph(np.searchsorted(key // size, np.arange(size + 1)).astype(np.int64), key % size)


def halo_of_rows(
    path: Path,
    rows: Ints,
    columns: Ints,
    size: int,
    ranks: int,
    word: int,
) -> Pattern:
    """What a product of a distributed sparse matrix with a vector sends.

    Ranks own contiguous rows, the first `size mod ranks` of them one more than the others, and the
    entries of the vector with the same numbers. Rank q sends rank p the distinct entries it owns
    that occur as columns in the rows of p. Stored zeros count: what is stored is multiplied.

    Raises:
        InputError: more ranks than rows, or than a pattern may have.
    """
    begin = _first_rows(path, size, ranks)
    user = np.searchsorted(begin, rows, side="right") - 1
    used = np.arange(0)
    if (
        ranks * size >= 2**63
    ):  # number the columns that occur, so that a key of rank and column fits
        used, columns = np.unique(columns, return_inverse=True)
        size = used.size
    needed = np.unique(user * size + columns)
    user, column = needed // size, needed % size
    column = used[column] if used.size else column
    owner = np.searchsorted(begin, column, side="right") - 1
    foreign = owner != user
    pair, count = np.unique(owner[foreign] * ranks + user[foreign], return_counts=True)
    return located(
        str(path),
        lambda: Pattern.from_messages(
            pair // ranks, pair % ranks, count * word, ranks, name=path.name
        ),
    )


def _first_rows(path: Path, size: int, ranks: int) -> Ints:
    """shape=(ranks + 1): where the rows of each rank begin."""
    if ranks > size:
        raise InputError(
            f"{path}: rows_to {ranks}: must be at most its {count_of(size, 'row')}",
            options=["rows_to"],
        )
    require_ranks(ranks, f"{path}: rows_to", options=["rows_to"])
    return np.arange(ranks + 1) * (size // ranks) + np.minimum(np.arange(ranks + 1), size % ranks)


def _read_entries(
    path: Path,
) -> tuple[Ints, Ints, Array | None, tuple[int, ...]]:
    """(rows, columns, values or None, shape) of all entries, from 0."""
    from scipy.io import mmread

    content, field = checked_text(path)
    try:
        matrix = mmread(io.BytesIO(content))
    except (ValueError, OverflowError, TypeError, OSError, MemoryError) as error:
        raise InputError(f"{path}: no valid Matrix Market file: {error}") from None
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(matrix)
        return rows, columns, matrix[rows, columns], matrix.shape
    values = None if field == "pattern" else matrix.data
    return matrix.row.astype(np.int64), matrix.col.astype(np.int64), values, matrix.shape


def checked_text(path: Path) -> tuple[bytes, str]:
    """Return the text of a file, every line checked, and the kind of its values in lower case.

    It has as many entries as its header promises, a newline at its end and no plus in front of a
    number.

    Raises:
        InputError: names the line and what is required there.
    """
    content = path.read_bytes()
    content = content if content.endswith(b"\n") else content + b"\n"
    form, field, symmetry = _read_banner(content, path)
    begin, number, sizes = _read_sizes(content, form, path)
    promised = sizes[2] if form == "coordinate" else _count_stored(sizes[0], sizes[1], symmetry)
    # what finds the beginning of the first line that is neither blank nor an entry
    value, _ = _VALUE_KINDS[field]
    ends = rb"[0-9]+[ \t]+[0-9]+" if form == "coordinate" else b""
    between = rb"[ \t]+" if ends and value else b""
    wrong_line = re.compile(
        rb"^(?![ \t]*(?:" + ends + between + value + rb"[ \t]*)?\r?$)", re.MULTILINE
    )
    wrong = wrong_line.search(content, begin)
    if wrong is not None:
        end = wrong.start()
        line = content[end : content.index(b"\n", end)]
        number += content.count(b"\n", begin, end) + 1
        given = shortened(_decoded(line).strip())
        raise InputError(f"{path}, line {number}: {_entry_rule(form, field)}, given '{given}'")
    found = content.count(b"\n", begin) - len(_BLANK.findall(content, begin))
    if found != promised:
        state = "truncated: " if found < promised else ""
        entries = "1 entry" if promised == 1 else f"{promised} entries"
        raise InputError(f"{path}: {state}the header promises {entries}, the file has {found}")
    if content.find(b"+", begin) >= 0:  # SciPy does not read a plus in front of a number
        content = content[:begin] + _PLUS.sub(b"", content[begin:])
    return content, field


def _read_banner(content: bytes, path: Path) -> tuple[str, str, str]:
    match = _BANNER.fullmatch(content[: content.index(b"\n")].rstrip())
    fields = [word.decode().lower() for word in match.groups()] if match else ["", "", ""]
    known = (
        fields[0] in ("coordinate", "array")
        and fields[1] in _VALUE_KINDS
        and fields[2] in _SYMMETRIES
    )
    if not known or fields[:2] == ["array", "pattern"]:
        first = shortened(_decoded(content[: content.index(b"\n")]).strip())
        required = (
            "%%MatrixMarket matrix coordinate|array real|integer|complex|pattern "
            "general|symmetric|…"
        )
        raise InputError(f"{path}: no Matrix Market file: line 1 must be {required}, is '{first}'")
    return fields[0], fields[1], fields[2]


def _read_sizes(content: bytes, form: str, path: Path) -> tuple[int, int, tuple[int, ...]]:
    """(where the entries begin, number of the line of sizes, the sizes)."""
    begin, number = content.index(b"\n") + 1, 1
    while begin < len(content):
        end, number = content.index(b"\n", begin), number + 1
        line = content[begin:end].strip()
        begin = end + 1
        if not line or line.startswith(b"%"):
            continue
        match = _SIZES.fullmatch(line)
        count = 3 if form == "coordinate" else 2
        if match is None or sum(word is not None for word in match.groups()) != count:
            what = "rows, columns and entries" if count == 3 else "rows and columns"
            raise InputError(
                f"{path}, line {number}: {what} required, given '{shortened(_decoded(line))}'"
            )
        return begin, number, tuple(int(word) for word in match.groups() if word is not None)
    raise InputError(f"{path}: truncated: no line of sizes after the header")


def _count_stored(rows: int, columns: int, symmetry: str) -> int:
    """Values of a dense matrix in its file: below and on the diagonal where it is symmetric."""
    if symmetry == "general":
        return rows * columns
    return rows * (rows - 1) // 2 if symmetry == "skew-symmetric" else rows * (rows + 1) // 2


def _entry_rule(form: str, field: str) -> str:
    _, value = _VALUE_KINDS[field]
    if form == "array":
        return f"{value} required"
    return f"row and column required, and {value}" if value else "row and column required"


def _decoded(text: bytes) -> str:
    return text[:200].decode("utf-8", errors="replace")
