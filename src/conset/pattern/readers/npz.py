"""NumPy archives (`.npz`): a dense matrix of bytes, or a list of messages."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from conset.base import Array, InputError, Ints, count_of, frozen_ints, read_archive, shortened
from conset.pattern.pattern import Pattern
from conset.pattern.readers.entries import (
    ReadOptions,
    in_bytes,
    pattern_from_list,
    pattern_from_matrix,
    require_square,
)


def read_npz(path: Path, options: ReadOptions) -> Pattern:
    """An archive with `matrix`, or with `source`, `target` and `bytes` (or `size`).

    A list may have `ranks` (number of ranks), `before` (shape=(pairs, 2): entry `before[k, 0]` ends
    before entry `before[k, 1]` starts) or `after` (shape=(entries): the entry that ends before this
    one starts, -1 for none) and `id` (shape=(entries): entries of one pair then stay apart).

    Raises:
        InputError: no archive, truncated, other arrays, shapes that do not agree, values that are
            no ranks or sizes.
    """
    arrays = read_archive(
        path,
        ("matrix", "source", "target", "bytes", "size", "ranks", "before", "after", "id"),
        lambda name, shape: name != "matrix" or require_square(shape, str(path)),
    )
    if "matrix" in arrays:
        return pattern_from_matrix(
            arrays["matrix"],
            lambda row, column: f"{path}: matrix[{row}, {column}]",
            path,
            options.unit,
        )
    if "bytes" not in arrays and "size" in arrays:
        arrays["bytes"] = arrays["size"]
    if not {"source", "target", "bytes"} <= set(arrays):
        with zipfile.ZipFile(path) as archive:
            names = sorted(name.removesuffix(".npy") for name in archive.namelist())
        found = shortened(", ".join(names) or "none")
        raise InputError(
            f"{path}: arrays matrix, or source, target and bytes required, found: {found}"
        )
    source, target = (_integers(path, arrays, key) for key in ("source", "target"))
    size, rounded = in_bytes(arrays["bytes"].ravel(), lambda k: f"{path}: bytes[{k}]", options.unit)
    if not source.shape == target.shape == size.shape:
        raise InputError(
            f"{path}: source, target and bytes have {source.size}, {target.size} and {size.size} "
            "entries: must agree"
        )
    before = _order(path, arrays, source.size)
    ids = _each(path, arrays, "id", source.size) if "id" in arrays else None
    ranks = options.ranks
    if "ranks" in arrays:
        stated = _integers(path, arrays, "ranks")
        if stated.size != 1 or not 1 <= stated[0] < 2**31:
            raise InputError(f"{path}: ranks = {stated.tolist()}: must be one number of at least 1")
        ranks = int(stated[0])
    return pattern_from_list(
        source,
        target,
        size,
        before,
        lambda k: f"{path}: entry {k}",
        path,
        ranks,
        rounded=rounded,
        ids=ids,
    )


def _integers(path: Path, arrays: dict[str, Array], key: str) -> Ints:
    return frozen_ints(arrays[key].ravel(), np.int64, f"{path}: {key}")


def _each(path: Path, arrays: dict[str, Array], key: str, entries: int) -> Ints:
    values = _integers(path, arrays, key)
    if values.size != entries:
        given = count_of(values.size, "entry", "entries")
        raise InputError(
            f"{path}: {key} has {given}: must be one for each of the {count_of(entries, 'message')}"
        )
    return values


def _order(path: Path, arrays: dict[str, Array], entries: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    if "before" in arrays and arrays["before"].size:
        before = _integers(path, arrays, "before")
        if before.size % 2:
            raise InputError(
                f"{path}: before has shape {arrays['before'].shape}: must be (pairs, 2)"
            )
        wrong = np.flatnonzero((before < 0) | (before >= entries))
        if wrong.size:
            k = int(wrong[0])
            raise InputError(
                f"{path}: before[{k // 2}, {k % 2}] = {before[k]}: must be an entry from 0 to "
                f"{entries - 1}"
            )
        pairs.extend((int(a), int(b)) for a, b in before.reshape(-1, 2))
    if "after" in arrays and arrays["after"].size:
        after = _each(path, arrays, "after", entries)
        pairs.extend((int(a), k) for k, a in enumerate(after) if a != -1)
    return pairs
