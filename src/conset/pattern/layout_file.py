"""Layout files (`.npz`): who owns what of a partition, for applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import frozen_ints
from conset.base.errors import InputError, UsageError
from conset.base.files import read_archive, replacing, require_file, write_archive
from conset.base.units import count_of
from conset.pattern.layout import Layout


def write_layout(layout: Layout, path: str | Path) -> None:
    """Writes what `Layout.write` says."""
    path = require_layout_path(path)
    entries: list[tuple[str, NDArray[Any]]] = [
        ("kind", np.array(layout.kind)),
        ("word", np.array(layout.word)),
        ("part", layout.part),
        ("source", layout.source),
        ("target", layout.target),
    ]
    for r in range(layout.ranks):
        if layout.kind == "ghost":
            entries += [(f"owned_{r}", layout.owned(r)), (f"ghost_{r}", layout.ghost(r))]
        else:
            entries.append((f"nodes_{r}", layout.nodes(r)))
    entries += [(f"items_{m}", layout.items(m)) for m in range(layout.messages)]
    with replacing(path) as temporary:
        write_archive(temporary, entries)


def require_layout_path(path: str | Path) -> Path:
    """`path`, if its name is that of a layout file; raises UsageError."""
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise UsageError(f"{path}: a layout file ends in .npz, not in '{path.suffix}'")
    return path


def read_layout(path: str | Path) -> Layout:
    """The layout in a file that `Layout.write` or `compile --layout` wrote.

    Raises:
        UsageError: another suffix.
        InputError: no such archive, an entry that is missing, or entries that contradict each
            other; names it.
    """
    path = require_file(require_layout_path(path))
    arrays = read_archive(path)
    try:
        kind: Any = str(_entry(arrays, "kind", 0))
        own = "nodes" if kind == "shared" else "owned"
        ranks = sum(1 for name in arrays if name.startswith(f"{own}_"))
        if not ranks:
            raise InputError(f"{own}_0 is missing: no layout")
        source = _ints(arrays, "source", np.int32)
        none = np.zeros(ranks + 1, np.int64), _NOTHING
        ghost_offsets, ghosts = _rows(arrays, "ghost", ranks) if kind == "ghost" else none
        word = _entry(arrays, "word", 0)
        return Layout(
            kind,
            _ints(arrays, "part", np.int32),
            int(frozen_ints(word, np.int64, "word")),
            *_rows(arrays, own, ranks),
            ghost_offsets,
            ghosts,
            source,
            _ints(arrays, "target", np.int32),
            *_rows(arrays, "items", source.size),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


_NOTHING = np.zeros(0, np.int64)


def _entry(arrays: dict[str, NDArray[Any]], name: str, dimensions: int) -> NDArray[Any]:
    if name not in arrays:
        raise InputError(f"{name} is missing: no layout")
    if arrays[name].ndim != dimensions:
        raise InputError(
            f"{name} has shape {arrays[name].shape}: {count_of(dimensions, 'dimension')} required"
        )
    return arrays[name]


def _ints(
    arrays: dict[str, NDArray[Any]], name: str, dtype: type[np.signedinteger[Any]]
) -> NDArray[Any]:
    return frozen_ints(_entry(arrays, name, 1), dtype, name)


def _rows(
    arrays: dict[str, NDArray[Any]], name: str, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(offsets, numbers) of the entries `name_0`, `name_1` and so on."""
    rows = [_ints(arrays, f"{name}_{k}", np.int64) for k in range(count)]
    return np.cumsum([0, *(row.size for row in rows)], dtype=np.int64), np.concatenate(
        [_NOTHING, *rows]
    )
