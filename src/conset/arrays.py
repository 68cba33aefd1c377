"""Arrays: cast to the one right dtype, range-checked, read-only; archives of them that are the same bytes every time.

`np.array(x, dtype=np.int32)` wraps silently, and `np.savez` writes the clock.
"""

from __future__ import annotations

import zipfile
import zlib
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


def check_offsets(what: str, offsets: NDArray[Any], rows: int | None, end: int, of: str) -> None:
    """Checks that offsets rise from 0 to `end`, the number `of` something, in `rows` steps (None: any number).

    Raises:
        InputError: they do not.
    """
    if offsets.ndim != 1 or not offsets.size or (rows is not None and offsets.size != rows + 1):
        steps = "at least 0" if rows is None else rows
        raise InputError(f"{what} has shape {offsets.shape}: {steps} steps require one entry more than there are steps")
    if offsets[0] != 0 or offsets[-1] != end or np.any(np.diff(offsets) < 0):
        raise InputError(f"{what}: must rise from 0 to the {end} {of}")


_LEVEL = 1
"""Deflate's fastest level: a schedule of millions of messages compresses 3 times faster and little worse than at 6."""
_LARGE_B = 1 << 24
"""From here on an entry is deflated only where that pays."""
_PAYS = 4
"""Deflate reads and writes hundreds of MB/s of what becomes so many times smaller, tens of what does not."""
_SAMPLES, _SAMPLE_B = 16, 1 << 14


def write_archive(file: IO[bytes] | Path, entries: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Writes an `.npz`, entry by entry; entries carry zip's epoch, not the clock.

    Large entries that hardly compress are stored: which ones, a sample of their values says.
    """
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, values in entries:
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED if _deflates(np.asarray(values)) else zipfile.ZIP_STORED
            entry._compresslevel = _LEVEL  # type: ignore[attr-defined]  # an entry of its own forgets the archive's
            with archive.open(entry, "w", force_zip64=True) as target:
                np.lib.format.write_array(target, np.asarray(values), version=(1, 0), allow_pickle=False)


def _deflates(values: NDArray[Any]) -> bool:
    """Whether an entry is worth deflating."""
    if values.nbytes < _LARGE_B or values.ndim == 0:
        return True
    rows = max(1, _SAMPLE_B * values.shape[0] // values.nbytes)
    begins = np.linspace(0, values.shape[0] - rows, _SAMPLES, dtype=np.int64).tolist()
    sample = [values[begin : begin + rows].tobytes() for begin in begins]
    return sum(len(zlib.compress(part, _LEVEL)) for part in sample) * _PAYS <= sum(len(part) for part in sample)
