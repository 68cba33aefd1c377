"""The `.npz` form of a schedule: a JSON header beside flat arrays, the same bytes every time.

`header` is a text of the object without its long lists; `source`, `target` and `size` are the messages' columns,
`transfer_…` the transfers', `phase_offsets[p] … phase_offsets[p + 1] - 1` the transfers of phase p. `before`,
`placement`, `route_offsets` with `route_nodes` (and `channels`), and `timetable` are there only where the JSON form
is not null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from conset.archives import read_archive
from conset.arrays import write_archive
from conset.errors import InputError
from conset.schedule.document import SCHEMA, Document
from conset.schedule.json_form import parse_text
from conset.schedule.structure import OPTIONAL, check_head, check_name, optional_words, require, require_keys

_HEADER = ("schema", "machine", "method", "sync", "limits", "limits_asked", "ranks", "figures", "manifest")
_ALWAYS = (
    "source", "target", "size", "phase_offsets",
    "transfer_source", "transfer_target", "transfer_size", "transfer_message",
)  # fmt: skip
_SOMETIMES = ("before", "placement", "route_offsets", "route_nodes", "channels", "timetable")


def write_npz(document: Document, file: IO[bytes]) -> None:
    """Writes the archive; see `conset.arrays.write_archive`."""
    write_archive(file, _entries(document))


def _entries(document: Document) -> Iterator[tuple[str, NDArray[Any]]]:
    head = {key: SCHEMA if key == "schema" else getattr(document, key) for key in _HEADER}
    head |= {"pattern_name": document.pattern_name, **optional_words(document)}
    yield "header", np.array(json.dumps(head, ensure_ascii=False))
    for name in (*_ALWAYS, *_SOMETIMES):
        values = getattr(document, name)
        if values is not None:
            yield name, values if name == "timetable" else _narrow(values)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """int32 where all values fit, so that a file does not depend on how the arrays were held."""
    if values.dtype == np.int32:
        return values
    info = np.iinfo(np.int32)
    if values.size and (values.min() < info.min or values.max() > info.max):
        return values
    if values.strides == (0,) and values.size:
        return np.broadcast_to(values[:1].astype(np.int32)[0], values.shape)
    return values.astype(np.int32)


def read_npz(path: Path) -> Document:
    """What the file says.

    Raises:
        InputError: no archive, a truncated one, or not of this structure; names the entry.
    """
    entries = read_archive(path)
    try:
        return _document(entries)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _document(entries: dict[str, NDArray[Any]]) -> Document:
    for name in entries:
        if name not in (*_ALWAYS, *_SOMETIMES, "header"):
            raise InputError(f"unknown entry '{name}'")
    for name in ("header", *_ALWAYS):
        if name not in entries:
            raise InputError(f"entry '{name}' is missing")
    head = _head(entries["header"])
    for name, values in entries.items():
        if name not in ("header", "timetable"):
            _check_ints(name, values, 2 if name == "before" else 1)
    _check_sizes(entries)
    fields: dict[str, Any] = {key: head[key] for key in _HEADER if key != "schema"}
    fields |= {key: head[key] for key in (*OPTIONAL, "pattern_name") if key in head}
    fields |= {name: entries.get(name) for name in (*_ALWAYS, *_SOMETIMES)}
    return Document(**fields)


def _head(header: NDArray[Any]) -> dict[str, Any]:
    if header.ndim != 0 or header.dtype.kind != "U":
        raise InputError(f"entry 'header': one text required, given {header.dtype} of shape {header.shape}")
    try:
        found = parse_text(str(header))
    except InputError as error:
        raise InputError(f"entry 'header': {error}") from None
    head = dict(require_keys(found, _HEADER, "header", optional=(*OPTIONAL, "pattern_name")))
    check_head(head)
    check_name(head.get("pattern_name", "pattern"), "pattern_name")
    if not 1 <= require(head["ranks"], int, "ranks") < 1 << 31:
        raise InputError(f"ranks = {head['ranks']}: must be from 1 to {(1 << 31) - 1}")
    return head


def _check_ints(name: str, values: NDArray[Any], dimensions: int) -> None:
    if values.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise InputError(f"entry '{name}': int32 or int64 required, given {values.dtype}")
    if values.ndim != dimensions or (dimensions == 2 and values.shape[1] != 2):
        raise InputError(f"entry '{name}': wrong shape {values.shape}")


def _check_sizes(entries: dict[str, NDArray[Any]]) -> None:
    """Columns agree in length, offsets rise to what they cut."""
    messages, transfers = entries["source"].size, entries["transfer_source"].size
    for name, values in entries.items():
        required = (
            messages if name in ("target", "size") else transfers if name.startswith("transfer_") else values.size
        )
        if values.size != required:
            raise InputError(f"entry '{name}': {required} values required, given {values.size}")
    _check_offsets("phase_offsets", entries["phase_offsets"], transfers)
    if ("route_offsets" in entries) != ("route_nodes" in entries):
        raise InputError("entries 'route_offsets' and 'route_nodes' go together")
    if "route_offsets" in entries:
        if entries["route_offsets"].size != transfers + 1:
            raise InputError(
                f"entry 'route_offsets': {transfers + 1} values required, given {entries['route_offsets'].size}"
            )
        _check_offsets("route_offsets", entries["route_offsets"], entries["route_nodes"].size)
    stops = entries["route_nodes"].size if "route_nodes" in entries else None
    if "channels" in entries and entries["channels"].size != stops:
        raise InputError("entry 'channels': one value for each of 'route_nodes' required")
    table = entries.get("timetable")
    if table is not None and (table.dtype != np.float64 or table.shape != (transfers, 2)):
        raise InputError(
            f"entry 'timetable': float64 of shape ({transfers}, 2) required, given {table.dtype} {table.shape}"
        )


def _check_offsets(name: str, offsets: NDArray[Any], end: int) -> None:
    if not offsets.size or offsets[0] != 0 or offsets[-1] != end or np.any(np.diff(offsets) < 0):
        raise InputError(f"entry '{name}': must rise from 0 to {end}")
