"""Arrays: cast to the one right dtype, range-checked, read-only; archives of them that are the same bytes every time.

`np.array(x, dtype=np.int32)` wraps silently, and `np.savez` writes the clock.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conset.errors import InputError


def frozen_ints(values: ArrayLike, dtype: type[np.signedinteger[Any]], what: str) -> NDArray[Any]:
    """`values` as a read-only array of `dtype`; a broadcast input (stride 0) keeps its memory of one element.

    Raises:
        InputError: a value is no integer (NaN, text, fraction) or does not fit `dtype`; names `what[index]`.
    """
    array = np.asarray(values)
    if array.dtype == dtype:
        return frozen(array)
    if array.size == 0:
        return frozen(np.zeros(array.shape, dtype))
    if array.dtype.kind not in "iubf":
        raise InputError(f"{what}: integers required, given {array.dtype}")
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        limit = float(info.max) if array.dtype.kind != "f" else np.nextafter(float(info.max), 0)
        wrong = ~((array >= info.min) & (array <= limit))
        if array.dtype.kind == "f":
            wrong |= array != np.floor(array)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = index[0] if len(index) == 1 else index
        raise InputError(f"{what}[{place}] = {array[index]}: must be an integer from {info.min} to {info.max}")
    return frozen(array.astype(dtype))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, read-only; a view where others may still write to the original."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


_LEVEL = 1
"""Deflate's fastest level: a schedule of millions of messages compresses 3 times faster and little worse than at 6."""


def write_archive(file: IO[bytes] | Path, entries: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Writes an `.npz`, entry by entry; entries carry zip's epoch, not the clock."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, values in entries:
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry._compresslevel = _LEVEL  # type: ignore[attr-defined]  # an entry of its own forgets the archive's
            with archive.open(entry, "w", force_zip64=True) as target:
                np.lib.format.write_array(target, np.asarray(values), version=(1, 0), allow_pickle=False)
