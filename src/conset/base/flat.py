"""Flat files: named numbers, texts and arrays for programs without Python (`docs/flat-files.md`).

A header in text, then the data, little endian; read by `cpp/include/conset/formats/flat_file.hpp`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from conset.base.arrays import Array
from conset.base.errors import InputError, shortened
from conset.base.files import replacing, require_file

PLAN_FILE = "conset/plan@1"
MACHINE_FILE = "conset/machine@1"
"""Kinds of flat files, their first lines."""

_DTYPES: dict[str, np.dtype[Any]] = {
    "i4": np.dtype("<i4"),
    "i8": np.dtype("<i8"),
    "f8": np.dtype("<f8"),
    "u1": np.dtype("u1"),
    "text": np.dtype("u1"),
}
_BLOCK = 64
"""The header is padded to a multiple of so many bytes."""
_ALIGN = 8
"""Every entry begins at a multiple of so many bytes of the data."""
_LINE = 200
"""Longest line of a header."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ENTRY = re.compile(rb"([^ \n]+) (i4|i8|f8|u1|text) ([0-9]{1,18}) ([0-9]{1,18})")

FlatValue = int | float | str | Array


def write_flat(path: str | Path, kind: str, entries: Mapping[str, FlatValue]) -> None:
    """Writes a flat file, entries in their order; the same entries give the same bytes.

    Args:
        path: where to; written beside and renamed.
        kind: first line, as `conset/plan@1`.
        entries: name → a whole number (i8), a number (f8), a text (UTF-8), or an array of one
            dimension of int32, int64, float64, uint8 or bool (u1).

    Raises:
        InputError: the file cannot be written.
        ValueError: a name, or a type or shape, that the form does not have: a bug of the caller.
    """
    header, begin, columns = [kind], 0, []
    for name, value in entries.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r}: a name of small letters, digits and _ required")
        code, array = _column(name, value)
        header.append(f"{name} {code} {array.size} {begin}")
        columns.append(array)
        begin += -(-array.nbytes // _ALIGN) * _ALIGN
    head = "\n".join([*header, "end", ""]).encode()
    with replacing(path) as temporary, temporary.open("wb") as file:
        _write_padded(file, head, _BLOCK)
        for array in columns:
            _write_padded(file, array.tobytes(), _ALIGN)


def _write_padded(file: IO[bytes], content: bytes, multiple: int) -> None:
    file.write(content)
    file.write(bytes(-len(content) % multiple))


def _column(name: str, value: FlatValue) -> tuple[str, Array]:
    """(type, data) of an entry."""
    if isinstance(value, str):
        return "text", np.frombuffer(value.encode(), np.uint8)
    if isinstance(value, int):
        value = np.array([value], np.int64)
    elif isinstance(value, float):
        value = np.array([value], np.float64)
    dtype = np.dtype(np.uint8) if value.dtype == np.bool_ else value.dtype
    code = next((code for code, known in _DTYPES.items() if known == dtype), None)
    if code is None or value.ndim != 1:
        raise ValueError(f"{name}: {value.dtype} of shape {value.shape}: no type of a flat file")
    return code, value.astype(_DTYPES[code], copy=False)


def read_flat(path: str | Path, kind: str) -> dict[str, str | Array]:
    """The entries of a flat file by name: texts as such, numbers as arrays, single ones too.

    Raises:
        InputError: missing, of another kind, truncated or broken; names the entry.
    """
    path = require_file(path)
    with path.open("rb") as file:
        first = file.readline(_LINE)
        if first != kind.encode() + b"\n":
            given = shortened(first.decode(errors="replace").rstrip("\n"))
            raise InputError(f"{path}: must begin with '{kind}', begins with '{given}'")
        places = _read_header(file, path)
        begin = -(-file.tell() // _BLOCK) * _BLOCK
        left = max(0, path.stat().st_size - begin)
        for name, (code, count, at) in places.items():
            if at + count * _DTYPES[code].itemsize > left:
                raise InputError(
                    f"{path}: truncated: '{name}' has {count} entries from byte {at} of {left}"
                )
        found: dict[str, str | Array] = {}
        for name, (code, count, at) in places.items():
            file.seek(begin + at)
            values = np.frombuffer(file.read(count * _DTYPES[code].itemsize), _DTYPES[code])
            found[name] = _text(values, name, path) if code == "text" else values
    return found


def _read_header(file: IO[bytes], path: Path) -> dict[str, tuple[str, int, int]]:
    """Name → (type, entries, first byte of the data)."""
    places: dict[str, tuple[str, int, int]] = {}
    while (line := file.readline(_LINE)) != b"end\n":
        if not line.endswith(b"\n"):
            raise InputError(f"{path}: truncated, or no file of conset: its header has no end")
        match = _ENTRY.fullmatch(line[:-1])
        if match is None:
            given = shortened(line[:-1].decode(errors="replace"))
            raise InputError(
                f"{path}: header: name, type, entries and place required, given '{given}'"
            )
        name = match[1].decode(errors="replace")
        if name in places:
            raise InputError(f"{path}: header: two are named '{shortened(name)}'")
        places[name] = match[2].decode(), int(match[3]), int(match[4])
    return places


def _text(values: Array, name: str, path: Path) -> str:
    try:
        return values.tobytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: '{name}' is not UTF-8 text") from None
