"""Trace: a file of messages, `id,time,src,dst,bytes,deps`, to a workload.

id     a whole number, distinct
time   not released earlier [ns]
src    the rank that sends; it issues its own messages in file order
dst    the rank that receives; the same: the message stays inside the node
bytes  at least 0
deps   ids that must have been delivered first, separated by `;`; the column may be empty or missing
"""

from __future__ import annotations

import warnings
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.base import InputError, Ints, Ints32, require_file, shortened, whole_number
from conset.machine import Machine
from conset.models.workload import Workload
from conset.pattern import columns_of

HEADER = ("id", "time", "src", "dst", "bytes", "deps")
_ROW = np.dtype([("id", "i8"), ("time", "f8"), ("src", "i8"), ("dst", "i8"), ("bytes", "i8")])
_NS = 1e9


def read_trace(path: str | Path, machine: Machine) -> Workload:
    """The messages of a trace on the nodes of a machine: rank r lives on node r.

    Raises:
        InputError: missing, no such columns, a value out of range, an id that is unknown or given
            twice; names file, line, rule and value.
    """
    path = require_file(path)
    try:
        header = _header(path)
        rows = _rows(path)
        _check(path, rows, machine.topology.endpoints)
        offsets, deps = (
            _deps(path, rows["id"]) if header == HEADER else (np.zeros(0, np.int64), _NO_DEPS)
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    return Workload(
        rows["src"].astype(np.int32),
        rows["dst"].astype(np.int32),
        np.ascontiguousarray(rows["bytes"]),
        machine.topology.nodes,
        rows["time"] / _NS,
        offsets,
        deps,
        name=path.name,
    )


def _header(path: Path) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline().strip()
    columns = ("id", "time", "source", "target", "bytes", "after")
    names, unit_bytes = columns_of(first.split(","))
    header = tuple(name.strip() for name in names)
    if header not in (columns, columns[:5]) or unit_bytes is not None:
        raise InputError(
            f"{path}, line 1: the header must be {','.join(HEADER)}, is '{first[:80]}'"
        )
    return HEADER[: len(header)]


_NO_DEPS = np.zeros(0, np.int32)


def _rows(path: Path) -> NDArray[np.void]:
    """The first five columns.

    By the fast parser, and word by word where that finds something wrong.

    Lines are read one after the other, never kept: a million of them are 40 MB here and 100 MB as
    text.
    """
    with warnings.catch_warnings(), path.open(encoding="utf-8-sig") as file:
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        try:
            return np.loadtxt(
                file, _ROW, delimiter=",", usecols=range(5), ndmin=1, skiprows=1, comments=None
            )
        except UnicodeDecodeError:
            raise
        except (ValueError, OverflowError, Warning):
            pass
    with path.open(encoding="utf-8-sig") as file:
        rows = [
            _split_row(path, number, line)
            for number, line in enumerate(file, 1)
            if number > 1 and line.strip()
        ]
    return np.array(rows, _ROW)


def _split_row(path: Path, number: int, line: str) -> tuple[int | float, ...]:
    fields = [word.strip() for word in line.split(",")]
    if len(fields) not in (5, 6):
        raise InputError(
            f"{path}, line {number}: {len(HEADER)} columns required, given {len(fields)}"
        )
    values: list[int | float] = []
    for name, word in zip(HEADER, fields, strict=False):
        if name == "deps":
            break
        value = _time(word) if name == "time" else whole_number(word)
        if value is None and word.isdecimal():
            raise InputError(
                f"{path}, line {number}: {name} = {shortened(word)}: must be below 10^18"
            )
        if value is None:
            rule = "a number" if name == "time" else "a whole number"
            raise InputError(
                f"{path}, line {number}: {name} = '{shortened(word)}': {rule} required"
            )
        values.append(value)
        if abs(values[-1]) >= 2**62:
            raise InputError(f"{path}, line {number}: {name} = {word}: must be below 2^62")
    return tuple(values)


def _time(word: str) -> float | None:
    try:
        return float(word) if word.isascii() and "_" not in word else None
    except ValueError:
        return None


def _check(path: Path, rows: NDArray[np.void], nodes: int) -> None:
    rules = (
        (
            "src",
            (rows["src"] < 0) | (rows["src"] >= nodes),
            f"must be a rank from 0 to {nodes - 1}",
        ),
        (
            "dst",
            (rows["dst"] < 0) | (rows["dst"] >= nodes),
            f"must be a rank from 0 to {nodes - 1}",
        ),
        ("bytes", (rows["bytes"] < 0) | (rows["bytes"] > 2**62), "must be from 0 to 2^62 B"),
        (
            "time",
            ~((rows["time"] >= 0) & np.isfinite(rows["time"])),
            "must be finite and at least 0 ns",
        ),
    )
    for name, wrong, rule in rules:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(f"{path}, line {at + 2}: {name} = {rows[name][at]}: {rule}")
    if rows["bytes"].sum(dtype=np.float64) > 2.0**62:
        raise InputError(
            f"{path}: all messages together are {rows['bytes'].sum(dtype=np.float64):.3g} "
            "B, at most 2^62"
        )


def _deps(path: Path, ids: Ints) -> tuple[Ints, Ints32]:
    """(offsets, indices) of the last column."""
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(np.diff(ids[order]) == 0)
    if twice.size:
        at = int(order[twice[0] + 1])
        raise InputError(f"{path}, line {at + 2}: id = {ids[at]}: is given twice")
    counts, given = _wanted(path, ids.size)
    offsets = np.cumsum(counts)
    if not given.size:
        return np.zeros(0, np.int64), _NO_DEPS
    place = np.minimum(np.searchsorted(ids[order], given), ids.size - 1)
    unknown = np.flatnonzero(ids[order][place] != given)
    if unknown.size:
        line_number = int(np.searchsorted(offsets, unknown[0], side="right")) + 1
        raise InputError(
            f"{path}, line {line_number}: deps: no message has the id {given[unknown[0]]}"
        )
    return offsets, order[place].astype(np.int32)


def _wanted(path: Path, messages: int) -> tuple[Ints, Ints]:
    """(deps of the message before each index, all deps one after the other), as ids."""
    counts = np.zeros(messages + 1, np.int64)
    wanted = array("q")
    with path.open(encoding="utf-8-sig") as file:
        next(file)
        for k, line in enumerate((line for line in file if line.strip()), 1):
            fields = line.rpartition(",")[2].strip() if line.count(",") == 5 else ""
            if not fields:
                continue
            for word in fields.split(";"):
                number = whole_number(word.strip())
                if number is None:
                    raise InputError(
                        f"{path}, line {k + 1}: deps: '{shortened(word)}': whole numbers "
                        "separated by ';'"
                    )
                wanted.append(number)
            counts[k] = fields.count(";") + 1
    return counts, np.array(wanted, np.int64)
