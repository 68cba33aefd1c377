"""CSV (`.csv`): a square matrix of bytes, or a list of messages.

The list is under `source,target,bytes[,after]`.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from conset.base import (
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
from conset.pattern.readers.entries import ReadOptions, pattern_from_list, pattern_from_matrix

_REQUIRED = ("source", "target", "bytes")
_HEADER = "source,target,bytes or source,target,bytes,after"


def read_csv(path: Path, options: ReadOptions) -> Pattern:
    """A matrix, or a message list where the first line is a header.

    Row r, column c of a matrix: what rank r sends to rank c [B].

    Sizes may have units (`4KiB`). `after` names the entries, counted from 0 and separated by `;`,
    that must end before this one starts. Empty lines and lines that start with `#` are skipped.

    Raises:
        InputError: no text, not square, a value that is no size or rank, an order that cannot be
            kept.
    """
    text = read_text(path)
    first = next(_lines(text), None)
    if first is None:
        raise InputError(f"{path}: holds no numbers")
    if all(word[:1].isalpha() and word.lower() not in ("nan", "inf") for word in first[1]):
        return _read_list(path, text, options)
    return _read_matrix(path, text)


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, words) of every line that holds something."""
    for number, line in enumerate(io.StringIO(text), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, [word.strip() for word in line.split(",")]


def _size(word: str, place: str) -> int:
    whole = whole_number(word)
    try:
        return parse_size(word) if whole is None or whole < 0 else whole
    except UsageError as error:
        raise InputError(f"{place}: {error}") from None


def _read_matrix(path: Path, text: str) -> Pattern:
    matrix = _integers(text)
    numbers = [number for number, _ in _lines(text)]
    if matrix is None:
        rows = []
        for number, fields in _lines(text):
            if len(fields) != len(numbers):
                shape = (
                    f"{count_of(len(numbers), 'line')} but {count_of(len(fields), 'column')} here"
                )
                raise InputError(f"{path}, line {number}: a square matrix required, given {shape}")
            rows.append(
                [
                    _size(word, f"{path}, line {number}, column {c}")
                    for c, word in enumerate(fields, 1)
                ]
            )
        matrix = np.array(rows, np.int64)
    return pattern_from_matrix(
        matrix,
        lambda row, column: f"{path}, line {numbers[row]}, column {column + 1}",
        str(path),
        path.name,
    )


def _integers(text: str) -> Ints | None:
    """The whole file as integers by the fast parser.

    None where it holds anything else, to be read word by word.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.loadtxt(
                io.StringIO(text), dtype=np.int64, delimiter=",", comments="#", ndmin=2
            )
        except (ValueError, OverflowError, Warning):
            return None


def _rank(word: str, what: str, place: str) -> int:
    rank = whole_number(word)
    if rank is None:
        raise InputError(f"{place}: {what} = '{shortened(word)}': a whole number required")
    if abs(rank) >= 2**31:
        raise InputError(f"{place}: {what} = {rank}: must be from 0 to 2^31 - 1")
    return rank


def _read_list(path: Path, text: str, options: ReadOptions) -> Pattern:
    lines = _lines(text)
    header = [word.lower() for word in next(lines)[1]]
    column = {"bytes" if word == "size" else word: k for k, word in enumerate(header)}
    if len(column) != len(header) or not set(_REQUIRED) <= set(column) <= {*_REQUIRED, "after"}:
        raise InputError(f"{path}: the header must be {_HEADER}, given '{','.join(header)}'")
    entries: list[tuple[int, int, int]] = []
    numbers: list[int] = []
    before: list[tuple[int, int]] = []
    for number, fields in lines:
        place = f"{path}, line {number}"
        # an empty last column may be left out
        if len(fields) != len(header) and not (
            "after" in column and header[-1] == "after" and len(fields) == len(header) - 1
        ):
            raise InputError(f"{place}: {len(header)} columns required, given {len(fields)}")
        source, target = (_rank(fields[column[end]], end, place) for end in ("source", "target"))
        entries.append((source, target, _size(fields[column["bytes"]], place)))
        after = fields[column["after"]] if "after" in column and len(fields) == len(header) else ""
        before.extend(
            (_rank(word.strip(), "after", place), len(numbers))
            for word in after.split(";")
            if word.strip()
        )
        numbers.append(number)
    table = np.array(entries, np.int64).reshape(-1, 3)
    return pattern_from_list(
        table[:, 0],
        table[:, 1],
        table[:, 2],
        before,
        lambda k: f"{path}, line {numbers[k]}",
        str(path),
        path.name,
        options.ranks,
    )
