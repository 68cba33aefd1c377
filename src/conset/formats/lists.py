"""Lists of JSON to arrays: a million rows are looked at as sets of types and lengths, singly only to name a fault."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError
from conset.formats.json_text import shown

Offsets = NDArray[np.int64]


def require_list(value: Any, place: str) -> list[Any]:
    """`value`, checked to be a list.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, list):
        raise InputError(f"{place}: must be a list, is {shown(value)}")
    return value


def ints(values: Any, place: str) -> NDArray[np.int64]:
    """A list of whole numbers within 64 bits.

    Raises:
        InputError: it is none; names `place[k]`.
    """
    if set(map(type, require_list(values, place))) <= {int}:
        try:
            return np.fromiter(values, np.int64, len(values))
        except OverflowError:
            pass
    for k, value in enumerate(values):
        if not isinstance(value, int) or isinstance(value, bool):
            raise InputError(f"{place}[{k}]: must be a whole number, is {shown(value)}")
        if value.bit_length() > 63:
            raise InputError(f"{place}[{k}] = {value}: must fit into 64 bits")
    raise AssertionError("a list of whole numbers that fit was refused")


def int_rows(rows: Any, length: int, place: str) -> NDArray[np.int64]:
    """shape=(rows, length) of rows of whole numbers.

    Raises:
        InputError: names `place[row][column]`.
    """
    _check_rows(require_list(rows, place), length, place)
    try:
        return ints(list(chain.from_iterable(rows)), "").reshape(-1, length)
    except InputError:
        for k, row in enumerate(rows):
            ints(row, f"{place}[{k}]")
        raise


def _check_rows(rows: list[Any], length: int, place: str) -> None:
    """Every row is a list of `length`."""
    if set(map(type, rows)) <= {list} and set(map(len, rows)) <= {length}:
        return
    for k, row in enumerate(rows):
        if len(require_list(row, f"{place}[{k}]")) != length:
            raise InputError(f"{place}[{k}]: {length} numbers required, given {len(row)}")


def _phase_lists(phases: Any, place: str) -> tuple[Offsets, list[Any]]:
    """(offsets, all entries) of a list of lists."""
    for p, phase in enumerate(require_list(phases, place)):
        require_list(phase, f"{place}[{p}]")
    return _offsets_of(phases), list(chain.from_iterable(phases))


def _offsets_of(rows: list[Any]) -> Offsets:
    """shape=(rows + 1): where each list begins once they stand one after the other."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets


def phase_rows(phases: Any, length: int, place: str) -> tuple[Offsets, NDArray[np.int64]]:
    """(shape=(phases + 1): offsets, shape=(rows, length)) of phases of rows.

    Raises:
        InputError: names `place[phase][row][column]`.
    """
    offsets, rows = _phase_lists(phases, place)
    try:
        return offsets, int_rows(rows, length, "")
    except InputError:
        for p, phase in enumerate(phases):
            int_rows(phase, length, f"{place}[{p}]")
        raise


def _same_shape(phases: Any, offsets: Offsets, place: str) -> list[Any]:
    """All entries of a list of lists that has the shape of `phases`."""
    own, entries = _phase_lists(phases, place)
    if own.size != offsets.size:
        raise InputError(f"{place}: {own.size - 1} phases, `phases` has {offsets.size - 1}")
    wrong = np.flatnonzero(np.diff(own) != np.diff(offsets))
    if wrong.size:
        p = int(wrong[0])
        given, required = int(np.diff(own)[p]), int(np.diff(offsets)[p])
        raise InputError(f"{place}[{p}]: {given} entries, phases[{p}] has {required} transfers")
    return entries


def route_lists(routes: Any, offsets: Offsets, place: str) -> tuple[Offsets, NDArray[np.int64]]:
    """(shape=(transfers + 1): offsets, what every stop has) of a list for each transfer of each phase.

    Raises:
        InputError: another shape than that of `phases`, or no lists of whole numbers.
    """
    entries = _same_shape(routes, offsets, place)
    try:
        for entry in entries:
            require_list(entry, "")
        stops = ints(list(chain.from_iterable(entries)), "")
    except InputError:
        for p, phase in enumerate(routes):
            for k, route in enumerate(phase):
                ints(route, f"{place}[{p}][{k}]")
        raise
    return _offsets_of(entries), stops


def time_rows(phases: Any, offsets: Offsets, place: str) -> NDArray[np.float64]:
    """shape=(transfers, 2), float64 [s]: a start and an end for each transfer of each phase.

    Raises:
        InputError: another shape than that of `phases`, or no pairs of numbers.
    """
    entries = _same_shape(phases, offsets, place)
    for p, phase in enumerate(phases):
        _check_rows(phase, 2, f"{place}[{p}]")
        if not set(map(type, chain.from_iterable(phase))) <= {int, float}:
            row = next(k for k, row in enumerate(phase) if not {type(time) for time in row} <= {int, float})
            raise InputError(f"{place}[{p}][{row}]: two numbers of seconds required, given {shown(phase[row])}")
    flat = (math.inf if isinstance(t, int) and abs(t) > 1 << 62 else float(t) for row in entries for t in row)
    return np.fromiter(flat, np.float64, 2 * len(entries)).reshape(-1, 2)
