"""Arrays in files: columns of archives and lists of JSON, held to kind, shape and range by NumPy.

A million rows of JSON are looked at as sets of types and lengths, singly only to name a fault.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np

from conset.base import Array, Floats, InputError, Ints, frozen_ints, shown

_INTS = (np.dtype(np.int32), np.dtype(np.int64))
Offsets = Ints


def stored_ints(values: Array, columns: int = 1) -> Array:
    """`values`, checked to be int32 or int64 in one dimension, or in rows of `columns`.

    Raises:
        ValueError: the rule; whoever asks knows the name.
    """
    if values.dtype not in _INTS:
        raise ValueError(f"int32 or int64 required, given {values.dtype}")
    if values.ndim != (1 if columns == 1 else 2) or (columns > 1 and values.shape[1] != columns):
        required = "(n,)" if columns == 1 else f"(n, {columns})"
        raise ValueError(f"wrong shape {values.shape}: {required} required")
    return values


def stored_floats(values: Array, columns: int) -> Floats:
    """`values`, checked to be float64 in rows of `columns`.

    Raises:
        ValueError: the rule; whoever asks knows the name.
    """
    if values.dtype != np.float64 or values.ndim != 2 or values.shape[1] != columns:
        raise ValueError(
            f"float64 of shape (n, {columns}) required, given {values.dtype} {values.shape}"
        )
    return values


def numbers(values: Any) -> Array:
    """A list or an array as an array of one dimension.

    Raises:
        ValueError: it is none; whoever asks knows the name.
    """
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        raise ValueError("a list of numbers required, given lists of several lengths") from None
    if array.ndim != 1:
        raise ValueError(f"a list of numbers required, given the shape {array.shape}")
    return array


def whole_numbers(values: Any, dtype: type[np.signedinteger[Any]], name: str) -> Array:
    """A list or an array as whole numbers of `dtype`.

    Raises:
        ValueError: no list of numbers. InputError: other numbers; names `name[index]`.
    """
    return frozen_ints(numbers(values), dtype, name)


def finite_numbers(values: Any) -> Floats:
    """A list or an array as finite floating-point numbers.

    Raises:
        ValueError: it is none; whoever asks knows the name.
    """
    array = numbers(values)
    if array.size and array.dtype.kind not in "iuf":
        raise ValueError(f"numbers required, given {array.dtype}")
    array = np.ascontiguousarray(array, np.float64) if array.size else np.zeros(0)
    if not np.isfinite(array).all():
        raise ValueError(f"finite numbers required, [{int(np.argmin(np.isfinite(array)))}] is not")
    return array


def check_length(name: str, values: Array | None, required: int) -> None:
    """A column, where it is there, has so many values.

    Raises:
        InputError: it has not.
    """
    if values is not None and len(values) != required:
        raise InputError(f"entry '{name}': {required} values required, given {len(values)}")


def check_rising(name: str, offsets: Array, end: int) -> None:
    """Offsets rise from 0 to `end`.

    Raises:
        InputError: they do not.
    """
    if not offsets.size or offsets[0] != 0 or offsets[-1] != end or np.any(np.diff(offsets) < 0):
        raise InputError(f"entry '{name}': must rise from 0 to {end}")


def check_within(name: str, values: Array, low: int, below: int, on: str = "") -> None:
    """All values are from `low` on and below `below`; `on`: of what, as text.

    Raises:
        InputError: one is not; names the first.
    """
    if values.size and not low <= values.min() <= values.max() < below:
        k = int(np.argmax((values < low) | (values >= below)))
        raise InputError(f"{name}[{k}] = {values[k]}: must be from {low} to {below - 1}{on}")


def require_list(value: Any, place: str) -> list[Any]:
    """`value`, checked to be a list.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, list):
        raise InputError(f"{place}: must be a list, is {shown(value)}")
    return value


def ints(values: Any, place: str) -> Ints:
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


def int_rows(rows: Any, length: int, place: str) -> Ints:
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


def _check_rows(rows: list[Any], length: int, place: str, what: str = "numbers") -> None:
    """Every row is a list of `length`."""
    if set(map(type, rows)) <= {list} and set(map(len, rows)) <= {length}:
        return
    for k, row in enumerate(rows):
        if len(require_list(row, f"{place}[{k}]")) != length:
            raise InputError(f"{place}[{k}]: {length} {what} required, given {len(row)}")


def bundle_rows(bundles: Any, place: str) -> tuple[Ints, Offsets, Ints]:
    """(shape=(bundles, 3), shape=(bundles + 1).

    Offsets, shape=(parts, 3)) of rows of 3 numbers and a list of parts.

    Raises:
        InputError: names `place[bundle][column]`, or `place[bundle][3][part][column]`.
    """
    _check_rows(require_list(bundles, place), 4, place, "entries")
    heads = [bundle[:3] for bundle in bundles]
    parts = [bundle[3] for bundle in bundles]
    for b, rows in enumerate(parts):
        require_list(rows, f"{place}[{b}][3]")
    try:
        found = int_rows(list(chain.from_iterable(parts)), 3, "")
    except InputError:
        for b, rows in enumerate(parts):
            int_rows(rows, 3, f"{place}[{b}][3]")
        raise
    return int_rows(heads, 3, place), _offsets_of(parts), found


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


def phase_rows(phases: Any, length: int, place: str) -> tuple[Offsets, Ints]:
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


def route_lists(routes: Any, offsets: Offsets, place: str) -> tuple[Offsets, Ints]:
    """(shape=(transfers + 1).

    Offsets, what every stop has) of a list for each transfer of each phase.

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


def time_rows(phases: Any, offsets: Offsets, place: str) -> Floats:
    """shape=(transfers, 2), float64 [s]: a start and an end for each transfer of each phase.

    Raises:
        InputError: another shape than that of `phases`, or no pairs of numbers.
    """
    entries = _same_shape(phases, offsets, place)
    for p, phase in enumerate(phases):
        _check_rows(phase, 2, f"{place}[{p}]")
        if not set(map(type, chain.from_iterable(phase))) <= {int, float}:
            row = next(
                k for k, row in enumerate(phase) if not {type(time) for time in row} <= {int, float}
            )
            raise InputError(
                f"{place}[{p}][{row}]: two numbers of seconds required, given {shown(phase[row])}"
            )
    flat = (
        math.inf if isinstance(t, int) and abs(t) > 1 << 62 else float(t)
        for row in entries
        for t in row
    )
    return np.fromiter(flat, np.float64, 2 * len(entries)).reshape(-1, 2)
