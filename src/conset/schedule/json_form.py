"""The JSON form of a schedule: one phase per line, messages a few to the line, written block by block."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError
from conset.schedule.document import SCHEMA, Document
from conset.schedule.structure import OPTIONAL, check_head, check_name, optional_words, require, require_keys

_KEYS = (
    "schema", "machine", "method", "sync", "limits", "limits_asked", "pattern", "placement",
    "phases", "routes", "timetable", "figures", "manifest",
)  # fmt: skip
_OPTIONAL = ("channels", *OPTIONAL)
"""Keys that are left out where there is nothing to say."""
_BLOCK = 1 << 15
_PER_LINE = 8


def write_json(document: Document, file: IO[bytes]) -> None:
    """Writes the object; memory for one block of rows at a time."""
    for piece in pieces(document):
        file.write(piece.encode())


def pieces(d: Document) -> Iterator[str]:
    """The object piece by piece, as text."""
    yield f'{{\n"schema": {_text(SCHEMA)},\n"machine": {_text(d.machine)},\n"method": {_text(d.method)},\n'
    yield f'"sync": {_text(d.sync)},\n"limits": {_text(d.limits)},\n"limits_asked": {_text(d.limits_asked)},\n'
    yield "".join(f'"{key}": {_text(value)},\n' for key, value in optional_words(d).items())
    yield f'"pattern": {{"ranks": {d.ranks}, "name": {_text(d.pattern_name)}, "messages": ['
    yield from _lines((d.source, d.target, d.size))
    yield '],\n"before": '
    yield "null" if d.before is None else "".join(("[", *_lines((d.before[:, 0], d.before[:, 1])), "]"))
    yield '},\n"placement": ' + ("null" if d.placement is None else _text(d.placement.tolist()))
    yield ',\n"phases": ['
    yield from _phases(d, (d.transfer_source, d.transfer_target, d.transfer_size, d.transfer_message))
    yield '],\n"routes": '
    yield from ["null"] if d.route_offsets is None or d.route_nodes is None else _routes(d, d.route_nodes)
    if d.route_offsets is not None and d.channels is not None:
        yield ',\n"channels": '
        yield from _routes(d, d.channels)
    yield ',\n"timetable": '
    table = d.timetable
    yield from ["null"] if table is None else chain("[", _phases(d, (table[:, 0], table[:, 1])), "]")
    yield f',\n"figures": {_text(d.figures)},\n"manifest": {_text(d.manifest)}\n}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rows(columns: tuple[NDArray[Any], ...], low: int, high: int) -> str:
    """Rows `low … high - 1` as `[0,1,64], [0,2,64]`."""
    rows = np.stack([column[low:high] for column in columns], axis=1).tolist()
    return json.dumps(rows, separators=(",", ":"))[1:-1].replace("],[", "], [")


def _lines(columns: tuple[NDArray[Any], ...]) -> Iterator[str]:
    count = columns[0].size
    for low in range(0, count, _PER_LINE):
        high = min(low + _PER_LINE, count)
        yield ("\n" if low == 0 else ",\n") + _rows(columns, low, high)
    yield "\n" if count else ""


def _phases(d: Document, columns: tuple[NDArray[Any], ...]) -> Iterator[str]:
    """One phase to the line, a long one in several pieces."""
    bounds = d.phase_offsets.tolist()
    for p, (low, high) in enumerate(pairwise(bounds)):
        yield ",\n[" if p else "\n["
        for begin in range(low, high, _BLOCK):
            yield ", " if begin > low else ""
            yield _rows(columns, begin, min(begin + _BLOCK, high))
        yield "]"
    yield "\n" if len(bounds) > 1 else ""


def _routes(d: Document, values: NDArray[Any]) -> Iterator[str]:
    """What every stop of a route has, one phase to the line."""
    assert d.route_offsets is not None  # the caller looked
    bounds = d.phase_offsets.tolist()
    yield "["
    for p, (low, high) in enumerate(pairwise(bounds)):
        yield ",\n[" if p else "\n["
        for begin in range(low, high, _BLOCK):
            cut = d.route_offsets[begin : min(begin + _BLOCK, high) + 1]
            nodes, offsets = values[cut[0] : cut[-1]].tolist(), (cut - cut[0]).tolist()
            routes = [nodes[a:b] for a, b in pairwise(offsets)]
            yield ", " if begin > low else ""
            yield json.dumps(routes, separators=(",", ":"))[1:-1].replace("],[", "], [")
        yield "]"
    yield "\n]" if len(bounds) > 1 else "]"


def read_json(path: Path) -> Document:
    """What the file says.

    Raises:
        InputError: no JSON (with line and column), or not of this structure (with the phase and transfer).
    """
    found = parse_json(path)
    try:
        return document_of_object(found)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_json(path: Path) -> Any:
    """The JSON in a file, no key twice.

    Raises:
        InputError: no JSON; names the line and column.
    """
    try:
        return parse_text(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_text(text: str | bytes, *, constants: bool = False) -> Any:
    """The JSON that a text is, no key twice; NaN and Infinity only where `constants`.

    Raises:
        InputError: no JSON (names line and column), nested too deeply, or a number of thousands of digits.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=float if constants else _no_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno} column {error.colno}: no JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start}: no UTF-8 text") from None
    except (InputError, ValueError, RecursionError) as error:
        raise InputError(f"no JSON of a schedule: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f"key '{next(key for key in keys if keys.count(key) > 1)}' is there twice")
    return found


def _no_constant(name: str) -> float:
    raise InputError(f"{name} is no number of JSON")


def document_of_object(found: Any) -> Document:
    """What a parsed object says; raises as `read_json`, without the file's name."""
    given = found if isinstance(found, dict) else {}
    head = require_keys(found, (*_KEYS, *(key for key in _OPTIONAL if key in given)), "schedule")
    check_head(head)
    pattern = require_keys(head["pattern"], ("ranks", "messages", "before"), "pattern", optional=("name",))
    messages = _int_rows(require(pattern["messages"], list, "pattern.messages"), 3, "pattern.messages[{}]")
    before = pattern["before"]
    placement = head["placement"]
    offsets, transfers = _phase_rows(head["phases"])
    route_offsets, route_nodes = _route_lists(head["routes"], offsets, "routes")
    cuts, channels = _route_lists(head.get("channels"), offsets, "channels")
    if cuts is not None and (route_offsets is None or not np.array_equal(cuts, route_offsets)):
        raise InputError("channels: one for each node of `routes` required")
    return Document(
        machine=head["machine"], method=head["method"], sync=head["sync"], limits=head["limits"],
        limits_asked=head["limits_asked"], ranks=_rank_count(pattern["ranks"]),
        source=messages[:, 0], target=messages[:, 1], size=messages[:, 2],
        before=None if before is None else _int_rows(require(before, list, "pattern.before"), 2, "pattern.before[{}]"),
        placement=None if placement is None else _ints(require(placement, list, "placement"), "placement[{}]"),
        phase_offsets=offsets, transfer_source=transfers[:, 0], transfer_target=transfers[:, 1],
        transfer_size=transfers[:, 2], transfer_message=transfers[:, 3],
        route_offsets=route_offsets, route_nodes=route_nodes, timetable=_timetable(head["timetable"], offsets),
        figures=head["figures"], manifest=head["manifest"], channels=channels,
        pattern_name=check_name(pattern.get("name", "pattern"), "pattern.name"),
        **{key: head[key] for key in OPTIONAL if key in head},
    )  # fmt: skip


def _rank_count(value: Any) -> int:
    ranks: int = require(value, int, "pattern.ranks")
    if not 1 <= ranks < 1 << 31:
        raise InputError(f"pattern.ranks = {ranks}: must be from 1 to {(1 << 31) - 1}")
    return ranks


def _ints(values: list[Any], place: str) -> NDArray[np.int64]:
    """A list of whole numbers within 64 bits; `place` names the k-th in errors."""
    if set(map(type, values)) <= {int}:
        try:
            return np.fromiter(values, np.int64, len(values))
        except OverflowError:
            pass
    for k, value in enumerate(values):
        if require(value, int, place.format(k)).bit_length() > 63:
            raise InputError(f"{place.format(k)} = {value}: must fit into 64 bits")
    raise AssertionError("a list of whole numbers that fit was refused")


def _check_rows(rows: list[Any], length: int, place: str) -> None:
    """Every row is a list of `length`; the sets are what makes a million rows fast."""
    if set(map(type, rows)) <= {list} and set(map(len, rows)) <= {length}:
        return
    for k, row in enumerate(rows):
        if len(require(row, list, place.format(k))) != length:
            raise InputError(f"{place.format(k)}: {length} numbers required, given {len(row)}")


def _int_rows(rows: list[Any], length: int, place: str) -> NDArray[np.int64]:
    """shape=(rows, length) of rows of whole numbers."""
    _check_rows(rows, length, place)
    try:
        return _ints(list(chain.from_iterable(rows)), "").reshape(-1, length)
    except InputError:
        for k, row in enumerate(rows):
            _ints(row, place.format(k) + "[{}]")
        raise


def _phase_lists(phases: Any, what: str) -> tuple[NDArray[np.int64], list[Any]]:
    """(offsets, all entries) of a list of lists."""
    for p, phase in enumerate(require(phases, list, what)):
        require(phase, list, f"{what}[{p}]")
    offsets = np.zeros(len(phases) + 1, np.int64)
    np.cumsum([len(phase) for phase in phases], out=offsets[1:])
    return offsets, list(chain.from_iterable(phases))


def _phase_rows(phases: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    offsets, rows = _phase_lists(phases, "phases")
    try:
        return offsets, _int_rows(rows, 4, "{}")
    except InputError:
        for p, phase in enumerate(phases):
            _int_rows(phase, 4, f"phases[{p}][{{}}]")
        raise


def _same_shape(phases: Any, offsets: NDArray[np.int64], what: str) -> list[Any]:
    """All entries of a list of lists that has the shape of `phases`."""
    own, entries = _phase_lists(phases, what)
    if own.size != offsets.size:
        raise InputError(f"{what}: {own.size - 1} phases, `phases` has {offsets.size - 1}")
    wrong = np.flatnonzero(np.diff(own) != np.diff(offsets))
    if wrong.size:
        p = int(wrong[0])
        given, required = int(np.diff(own)[p]), int(np.diff(offsets)[p])
        raise InputError(f"{what}[{p}]: {given} entries, phases[{p}] has {required} transfers")
    return entries


def _route_lists(
    routes: Any, offsets: NDArray[np.int64], what: str
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    if routes is None:
        return None, None
    entries = _same_shape(routes, offsets, what)
    try:
        for entry in entries:
            require(entry, list, "")
        nodes = _ints(list(chain.from_iterable(entries)), "")
    except InputError:
        for p, phase in enumerate(routes):
            for k, route in enumerate(phase):
                _ints(require(route, list, f"{what}[{p}][{k}]"), f"{what}[{p}][{k}][{{}}]")
        raise
    route_offsets = np.zeros(len(entries) + 1, np.int64)
    np.cumsum([len(entry) for entry in entries], out=route_offsets[1:])
    return route_offsets, nodes


def _timetable(timetable: Any, offsets: NDArray[np.int64]) -> NDArray[np.float64] | None:
    if timetable is None:
        return None
    entries = _same_shape(timetable, offsets, "timetable")
    for p, phase in enumerate(timetable):
        _check_rows(phase, 2, f"timetable[{p}][{{}}]")
        for k, row in enumerate(phase):
            for time in row:
                if type(time) not in (int, float):
                    raise InputError(f"timetable[{p}][{k}]: two numbers of seconds required, given {row}")
    flat = (math.inf if isinstance(t, int) and abs(t) > 1 << 62 else float(t) for row in entries for t in row)
    return np.fromiter(flat, np.float64, 2 * len(entries)).reshape(-1, 2)
