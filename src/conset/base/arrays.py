"""Arrays: cast to the one right dtype, range-checked, read-only; nouns of them as values.

`np.array(x, dtype=np.int32)` wraps silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from itertools import repeat
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conset.base.errors import InputError
from conset.base.notebook import html_of

# types of arrays in signatures; shapes and units are in the docstrings
Array = NDArray[Any]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.integer]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]


def frozen_ints(values: ArrayLike, dtype: type[np.signedinteger[Any]], what: str) -> NDArray[Any]:
    """`values` as a read-only array of `dtype`.

    A broadcast input (stride 0) keeps its memory of one element.

    Raises:
        InputError: a value is no integer (NaN, text, fraction) or does not fit `dtype`; names
            `what[index]`.
    """
    array = np.asarray(values)
    if array.dtype == dtype:
        return frozen(array)
    if array.size == 0:
        return frozen(np.zeros(array.shape, dtype))
    if array.dtype.kind not in "iubf":
        raise InputError(f"{what}: integers required, given {array.dtype}")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)  # a half float does not reach the limits
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        limit = float(info.max) if array.dtype.kind != "f" else np.nextafter(float(info.max), 0)
        wrong = ~((array >= info.min) & (array <= limit))
        if array.dtype.kind == "f":
            wrong |= array != np.floor(array)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = index[0] if len(index) == 1 else index
        raise InputError(
            f"{what}[{place}] = {array[index]}: must be an integer from {info.min} to {info.max}"
        )
    return frozen(array.astype(dtype))


def frozen_floats(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """`values` as a read-only array of float64 in one dimension.

    Raises:
        InputError: they are no list of numbers.
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"{what}: numbers required, given {array.dtype}")
    if array.ndim != 1:
        raise InputError(f"{what} has shape {array.shape}: one dimension required")
    return frozen(array.astype(np.float64, copy=False))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, read-only; a view where others may still write to the original."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def check_range(what: str, values: NDArray[Any], below: int) -> None:
    """Checks that indices are from 0 and below `below`.

    Raises:
        InputError: one is not, or they are no list of numbers; names `what[index]`.
    """
    if values.ndim != 1:
        raise InputError(f"{what} has shape {values.shape}: one dimension required")
    if values.size and (values.min() < 0 or values.max() >= below):
        k = int(np.flatnonzero((values < 0) | (values >= below))[0])
        raise InputError(f"{what}[{k}] = {values[k]}: must be from 0 to {below - 1}")


def distinct_ints(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct numbers of `key`, rising; what rises already is not sorted again."""
    if (key[1:] < key[:-1]).any():
        key = np.sort(key)
    first = np.ones(key.size, np.bool_)
    first[1:] = key[1:] != key[:-1]
    return key[first]


def take_rows(
    offsets: NDArray[np.integer[Any]], rows: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(offsets, entries): some rows of compressed sparse rows, one after the other.

    Args:
        offsets: shape=(all rows + 1): where the entries of each begin.
        rows: shape=(rows): which, in any order, any number of times.

    Returns:
        shape=(rows + 1), where those of the chosen begin; shape=(their entries), the index of each
        among all.
    """
    begin = offsets[rows]
    count = offsets[rows + 1] - begin
    taken = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    return taken, np.arange(taken[-1]) + np.repeat(begin - taken[:-1], count)


def check_offsets(what: str, offsets: NDArray[Any], rows: int | None, end: int, of: str) -> None:
    """Checks that offsets rise from 0 to `end` in `rows` steps.

    `end` is the number `of` something; rows None: any number.

    Raises:
        InputError: they do not.
    """
    if offsets.ndim != 1 or not offsets.size or (rows is not None and offsets.size != rows + 1):
        steps = "at least 0" if rows is None else rows
        raise InputError(
            f"{what} has shape {offsets.shape}: {steps} steps require one entry more than "
            "there are steps"
        )
    if offsets[0] != 0 or offsets[-1] != end or np.any(np.diff(offsets) < 0):
        raise InputError(f"{what}: must rise from 0 to the {end} {of}")


class ValueObject:
    """Base of nouns: frozen dataclasses (`frozen=True, eq=False`) that are what their fields say.

    Two are equal where all fields are, but those declared `compare=False` (names for people,
    measured times). Copies and pickles hold the fields alone, nothing cached; their arrays are
    read-only, and an array that repeats one element stays one element.
    """

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same_value(getattr(self, name), getattr(other, name))
            for name in _field_names(type(self), compared=True)
        )

    def __hash__(self) -> int:
        names = _field_names(type(self), compared=True)
        return hash((type(self), *map(_hashable, map(getattr, repeat(self), names))))

    def __getstate__(self) -> dict[str, Any]:
        return {name: _packed(getattr(self, name)) for name in _field_names(type(self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, _unpacked(value))

    def _repr_html_(self) -> str | None:
        return html_of(self)

    def _cast(self, dtype: type[np.signedinteger[Any] | np.floating[Any]], *names: str) -> None:
        """Makes the named arrays read-only ones of `dtype`; InputError for what does not fit."""
        for name in names:
            value = getattr(self, name)
            array = (
                frozen_floats(value, name)
                if issubclass(dtype, np.floating)
                else frozen_ints(value, dtype, name)
            )
            object.__setattr__(self, name, array)

    def _freeze(self) -> None:
        """Makes all arrays read-only, for nouns that do not cast them."""
        for name in _field_names(type(self)):
            if isinstance(value := getattr(self, name), np.ndarray):
                object.__setattr__(self, name, frozen(value))


def same_value(one: Any, other: Any) -> bool:
    """Whether two fields say the same: arrays element by element, NaN equal to itself."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
            return False
        if one.shape == other.shape and one.size and _repeats(one) and _repeats(other):
            one, other = one[:1], other[:1]
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other) or bool(one != one and other != other)


# annotated: with the type of `cache`, mypy takes the hash of a class for the hash of its instances
_field_names: Callable[..., tuple[str, ...]] = cache(
    lambda noun, compared=False: tuple(
        field.name for field in fields(noun) if field.compare or not compared
    )
)


_SAMPLED = 32
"""Elements of an array that a hash looks at, about: equality looks at all of them."""


def _hashable(value: Any) -> Any:
    """Equal for equal fields, whatever they are, and cheap."""
    if isinstance(value, np.ndarray):
        sample = value[:: len(value) // _SAMPLED + 1] if value.ndim else value
        return value.shape, tuple(np.nan_to_num(sample).ravel().tolist())
    if isinstance(value, Mapping | tuple | list):
        return len(value)
    return value if value == value else None


class _Repeated(NamedTuple):
    """An array that repeats one element, as it travels."""

    element: NDArray[Any]
    shape: tuple[int, ...]


class _ReadOnly(NamedTuple):
    """A read-only mapping, as it travels."""

    mapping: dict[Any, Any]


def _repeats(array: NDArray[Any]) -> bool:
    return array.strides == (0,)


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.size > 1 and _repeats(value):
        return _Repeated(value[:1].copy(), value.shape)
    if isinstance(value, MappingProxyType):
        return _ReadOnly({key: _packed(each) for key, each in value.items()})
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, _Repeated):
        return np.broadcast_to(value.element, value.shape)
    if isinstance(value, _ReadOnly):
        return MappingProxyType({key: _unpacked(each) for key, each in value.mapping.items()})
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value
