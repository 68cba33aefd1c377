"""Columns: the arrays of archives, and lists that are numbers alone; kinds, shapes, lengths and ranges by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.arrays import frozen_ints
from conset.errors import InputError

_INTS = (np.dtype(np.int32), np.dtype(np.int64))


def stored_ints(values: NDArray[Any], columns: int = 1) -> NDArray[Any]:
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


def stored_floats(values: NDArray[Any], columns: int) -> NDArray[np.float64]:
    """`values`, checked to be float64 in rows of `columns`.

    Raises:
        ValueError: the rule; whoever asks knows the name.
    """
    if values.dtype != np.float64 or values.ndim != 2 or values.shape[1] != columns:
        raise ValueError(f"float64 of shape (n, {columns}) required, given {values.dtype} {values.shape}")
    return values


def numbers(values: Any) -> NDArray[Any]:
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


def whole_numbers(values: Any, dtype: type[np.signedinteger[Any]], name: str) -> NDArray[Any]:
    """A list or an array as whole numbers of `dtype`.

    Raises:
        ValueError: no list of numbers. InputError: other numbers; names `name[index]`.
    """
    return frozen_ints(numbers(values), dtype, name)


def finite_numbers(values: Any) -> NDArray[np.float64]:
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


def check_length(name: str, values: NDArray[Any] | None, required: int) -> None:
    """A column, where it is there, has so many values.

    Raises:
        InputError: it has not.
    """
    if values is not None and len(values) != required:
        raise InputError(f"entry '{name}': {required} values required, given {len(values)}")


def check_rising(name: str, offsets: NDArray[Any], end: int) -> None:
    """Offsets rise from 0 to `end`.

    Raises:
        InputError: they do not.
    """
    if not offsets.size or offsets[0] != 0 or offsets[-1] != end or np.any(np.diff(offsets) < 0):
        raise InputError(f"entry '{name}': must rise from 0 to {end}")


def check_within(name: str, values: NDArray[Any], low: int, below: int, on: str = "") -> None:
    """All values are from `low` on and below `below`; `on`: of what, in words.

    Raises:
        InputError: one is not; names the first.
    """
    if values.size and not low <= values.min() <= values.max() < below:
        k = int(np.argmax((values < low) | (values >= below)))
        raise InputError(f"{name}[{k}] = {values[k]}: must be from {low} to {below - 1}{on}")
