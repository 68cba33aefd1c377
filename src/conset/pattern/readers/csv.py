"""CSV (`.csv`): a square matrix of sizes, with or without labels, or a list of messages.

Words are separated by commas, semicolons, tabs or blanks (`columns.py`, which also has the names of
columns). A list has a header such as `source,target[,bytes][,after][,id]`, or three columns that
cannot be a matrix. What can be both is refused.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import (
    Array,
    InputError,
    Ints,
    UsageError,
    count_of,
    parse_size,
    read_text,
    shortened,
    whole_number,
)
from conset.pattern.pattern import Pattern
from conset.pattern.readers.columns import columns_of, rows_of, separator_of
from conset.pattern.readers.entries import (
    MAX_RANKS,
    ReadOptions,
    pattern_from_list,
    pattern_from_matrix,
)

_HEADER = "source,target[,bytes][,after][,id]"
_LIST = ["source", "target", "bytes"]
_INDEX = ("", "index", "unnamed: 0")
"""Names of a column of row numbers, which is ignored."""
Row = tuple[int, list[str]]
"""Line number, words."""


def read_csv(path: Path, options: ReadOptions) -> Pattern:
    """Read a matrix, or a message list.

    Row r, column c of a matrix: what rank r sends to rank c. Labels of rows and columns are names
    of the ranks in order.

    Sizes are bytes, or count the unit of `options`, of the header (`size [KiB]`) or of their own
    (`4KiB`); what is then a part of a byte is rounded. `after` contains the entries, counted from 0
    and separated by `;`, that must end before this one starts. Rows of one pair add up, unless a
    column `id` has a number for each connection. One without an amount has no column or an empty
    word for it, and counts 1 byte.

    Raises:
        InputError: no text, neither a list nor a square matrix, or both; labels that contradict
            each other, a value that is no size or rank, an order that cannot be kept.
    """
    text = read_text(path)
    rows = rows_of(io.StringIO(text))
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path}: holds no numbers")
    columns, unit = columns_of(first[1])
    if {"source", "target"} <= {*columns}:
        extra = {*columns} - {*_LIST, "after", "id", *_INDEX}
        if len({*columns}) != len(columns) or extra:
            given = shortened(",".join(first[1]).lower())
            raise InputError(f"{path}: the header must be {_HEADER}, given '{given}'")
        if unit and options.unit not in (None, unit):
            raise UsageError(
                f"{path}: unit {options.unit} B, the header has {unit} B: must agree",
                options=["unit"],
            )
        return _read_list(path, columns, [*rows], replace(options, unit=unit or options.unit))
    table = _numbers(text, separator_of(text.splitlines()[first[0] - 1]), options.unit)
    if table is not None and table.shape[0] == table.shape[1] != 3:
        numbers = [first[0], *(number for number, _ in rows)]
        return pattern_from_matrix(
            table,
            lambda row, column: f"{path}, line {numbers[row]}, column {column + 1}",
            path,
            options.unit,
        )
    return _read_words(path, [first, *rows], options)


def _numbers(text: str, separator: str, unit: int | None) -> Array | None:
    """Return the whole file as integers or floats by the fast parser.

    None where it contains anything else, or floats that are no whole bytes or not exact, to be read
    word by word.
    """
    how: dict[str, Any] = {"delimiter": separator.strip(" ") or None, "ndmin": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.suppress(ValueError, OverflowError, Warning):
            return np.loadtxt(io.StringIO(text), np.int64, **how)
        with contextlib.suppress(ValueError, OverflowError, Warning):
            table = np.loadtxt(io.StringIO(text), np.float64, **how)
            exact = (table == np.floor(table)) | (unit is not None)
            return table if (exact & (table >= 0) & (table < 2**53)).all() else None
    return None


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or word[:1] in ("+", "-", ".") or word.lower() in ("nan", "inf")


def _read_words(path: Path, rows: list[Row], options: ReadOptions) -> Pattern:
    """Read a matrix that has labels or sizes with units, or a list without a header."""
    first = rows[0][1]
    counted = _counts(len(first))
    header: list[str] = []
    if not any(map(_is_number, first)) or (
        len(rows) == len(first) + 1
        if first in counted
        else not _is_number(first[0]) and len(rows) != len(first) - 1
    ):
        header = rows.pop(0)[1]
    if not rows:
        raise InputError(f"{path}: holds no numbers")
    width = len(rows[0][1])
    if any(len(words) != width for _, words in rows):
        number, words = next(row for row in rows if len(row[1]) != len(rows))
        shape = f"{count_of(len(rows), 'line')} but {count_of(len(words), 'column')} here"
        raise InputError(f"{path}, line {number}: a square matrix required, given {shape}")
    labels = [words[0] for _, words in rows]
    if all(map(_is_number, labels)) and (
        width != len(rows) + 1 or (labels not in _counts(len(rows)) and not header)
    ):
        labels = []
    ends = [_whole(word) for _, row in rows for word in row[:2]]
    is_list = width == 3 <= len(rows) and not labels and None not in ends
    # a number that is no rank makes three lines a matrix
    if is_list and len(rows) == 3:
        is_list = all(end is not None and 0 <= end < (options.ranks or MAX_RANKS) for end in ends)
    if is_list:
        if len(rows) == 3 or header in counted:
            source, target, size = rows[0][1]
            raise InputError(
                f"{path}: ambiguous: {len(rows)} messages (the first from rank {source} to "
                f"{target}, {size} B) or a matrix of 3 ranks: a first line source,target,bytes "
                "makes it a list, labels of rows and columns make it a matrix"
            )
        if header:
            given = shortened(",".join(header).lower())
            raise InputError(f"{path}: the header must be {_HEADER}, given '{given}'")
        return _read_list(path, _LIST, rows, options)
    columns = header[-len(rows) :]
    if labels and columns and labels != columns:
        raise InputError(f"{path}: labels of rows and of columns must agree, in the same order")
    for names in (labels, columns):
        if all(name.isdecimal() for name in names) and names not in ([], *_counts(len(names))):
            raise InputError(f"{path}: labels that are numbers must be 0, 1, 2 … in order")
    skipped = 1 if labels else 0
    cells = [
        [
            _size(word, options.unit, f"{path}, line {number}, column {column}")
            for column, word in enumerate(words[skipped:], skipped + 1)
        ]
        for number, words in rows
    ]
    return pattern_from_matrix(
        np.array([[size for size, _ in row] for row in cells], np.int64).reshape(len(rows), -1),
        lambda row, column: f"{path}, line {rows[row][0]}, column {column + skipped + 1}",
        path,
        rounded=sum(is_rounded for row in cells for _, is_rounded in row),
    )


def _counts(count: int) -> list[list[str]]:
    """Return the labels 0, 1, 2 … and 1, 2, 3 …."""
    return [[*map(str, range(begin, begin + count))] for begin in (0, 1)]


def _whole(word: str) -> int | None:
    """Return the whole number in a word, which a float may state: `2.0e+00`."""
    number = whole_number(word)
    if number is None and word.isascii() and word[-1:].isdigit():
        with contextlib.suppress(UsageError):
            return parse_size(word)
    return number


def _size(word: str, unit: int | None, place: str) -> tuple[int, bool]:
    """Return a size [B], and whether it is rounded: only sizes with a unit are."""
    whole = whole_number(word) if unit is None else None
    if whole is not None and whole >= 0:
        return whole, False
    try:
        return parse_size(word, unit_bytes=unit or 1), False
    except UsageError as error:
        try:
            if unit is not None or word[-1:].isalpha():
                return parse_size(word, unit_bytes=unit or 1, rounds=True), True
        except UsageError:
            pass
        hint = "; unit U (KiB …) if it counts other than bytes" if "whole" in str(error) else ""
        raise InputError(f"{place}: {error}{hint}", options=["unit"]) from None


def _rank(word: str, what: str, place: str) -> int:
    rank = _whole(word)
    if rank is None:
        raise InputError(f"{place}: {what} = '{shortened(word)}': a whole number required")
    if abs(rank) >= 2**31:
        raise InputError(f"{place}: {what} = {rank}: must be from 0 to 2^31 - 1")
    return rank


def _ids(words: list[str], places: list[str]) -> Ints:
    """Numbers of connections; distinct names are numbered by their rows."""
    names = any(_whole(word) is None for word in words)
    if names and all(words) and len({*words}) == len(words):
        return np.arange(len(words))
    return np.array(
        [_rank(word, "id", place) for word, place in zip(words, places, strict=True)], np.int64
    )


def _read_list(path: Path, columns: list[str], rows: list[Row], options: ReadOptions) -> Pattern:
    at = {column: k for k, column in enumerate(columns)}
    entries: list[tuple[int, int, int]] = []
    places: list[str] = []
    ids: list[str] = []
    before: list[tuple[int, int]] = []
    rounded = unknown = 0
    for number, fields in rows:
        place = f"{path}, line {number}"
        # an empty last column may be left out
        if columns[-1] == "after" and len(fields) == len(columns) - 1:
            fields = [*fields, ""]
        if len(fields) != len(columns):
            raise InputError(f"{place}: {len(columns)} columns required, given {len(fields)}")
        source, target = (_rank(fields[at[end]], end, place) for end in ("source", "target"))
        size, is_rounded = 1, False
        if amount := fields[at["bytes"]] if "bytes" in at else "":
            size, is_rounded = _size(amount, options.unit, place)
        rounded += is_rounded
        unknown += not amount
        entries.append((source, target, size))
        after = fields[at["after"]] if "after" in at else ""
        before.extend(
            (_rank(word, "after", place), len(places))
            for word in re.split(r"[;\s]+", after)
            if word
        )
        ids += [fields[at["id"]]] if "id" in at else []
        places.append(place)
    table = np.array(entries, np.int64).reshape(-1, 3)
    return pattern_from_list(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        before,
        places.__getitem__,
        path,
        options.ranks,
        rounded=rounded,
        notes=[f"{count_of(unknown, 'message')} without an amount, 1 B each"] if unknown else [],
        ids=_ids(ids, places) if "id" in at else None,
    )
