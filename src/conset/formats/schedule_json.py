"""The JSON form of a schedule: one phase per line, messages a few to the line, written block by block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError
from conset.formats import lists
from conset.formats.json_text import json_text, parse_json
from conset.formats.sniff import SCHEDULE
from conset.schedule.document import Document

_HEAD = ("machine", "method", "sync", "limits", "limits_asked")
_BLOCK = 1 << 15
_PER_LINE = 8


def write_json(document: Document, file: IO[bytes]) -> None:
    """Writes the object; memory for one block of rows at a time."""
    for piece in iter_json(document):
        file.write(piece.encode())


def iter_json(d: Document) -> Iterator[str]:
    """The object piece by piece, as text."""
    head = {"schema": SCHEDULE, **{key: getattr(d, key) for key in _HEAD}, **optional_keys(d)}
    yield "{\n" + "".join(f'"{key}": {json_text(value)},\n' for key, value in head.items())
    yield f'"pattern": {{"ranks": {d.ranks}, "name": {json_text(d.pattern_name)}, "messages": ['
    yield from _lines((d.source, d.target, d.size))
    yield '],\n"before": '
    yield "null" if d.before is None else "".join(("[", *_lines((d.before[:, 0], d.before[:, 1])), "]"))
    yield '},\n"placement": ' + ("null" if d.placement is None else json_text(d.placement.tolist()))
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
    yield f',\n"figures": {json_text(d.figures)},\n"manifest": {json_text(d.manifest)}\n}}\n'


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


def optional_keys(document: Document) -> dict[str, Any]:
    """The keys of the head that have something to say and are left out otherwise, in the order of the file."""
    words: dict[str, Any] = {"in_flight": document.in_flight, "posting": document.posting}
    words["min_bandwidth_Bps"] = document.min_bandwidth_Bps
    return {key: value for key, value in words.items() if value is not None and value != "schedule"}


def read_json(path: Path) -> Document:
    """What the file says.

    Raises:
        InputError: no JSON (with line and column), or not of this structure (with the phase and transfer).
    """
    return document_of_object(parse_json(path))


def document_of_object(found: Any) -> Document:
    """What a parsed object says; raises as `read_json`."""
    from conset.formats.models import ScheduleFile
    from conset.formats.validate import checked

    head = checked(ScheduleFile, found)
    pattern = head.pattern
    messages = lists.int_rows(pattern.messages, 3, "pattern.messages")
    offsets, transfers = lists.phase_rows(head.phases, 4, "phases")
    routes = None if head.routes is None else lists.route_lists(head.routes, offsets, "routes")
    channels = None if head.channels is None else lists.route_lists(head.channels, offsets, "channels")
    if channels is not None and (routes is None or not np.array_equal(channels[0], routes[0])):
        raise InputError("channels: one for each node of `routes` required")
    return Document(
        machine=head.machine, method=head.method, sync=head.sync, limits=found["limits"],
        limits_asked=head.limits_asked, ranks=pattern.ranks,
        source=messages[:, 0], target=messages[:, 1], size=messages[:, 2],
        before=None if pattern.before is None else lists.int_rows(pattern.before, 2, "pattern.before"),
        placement=None if head.placement is None else lists.ints(head.placement, "placement"),
        phase_offsets=offsets, transfer_source=transfers[:, 0], transfer_target=transfers[:, 1],
        transfer_size=transfers[:, 2], transfer_message=transfers[:, 3],
        route_offsets=None if routes is None else routes[0], route_nodes=None if routes is None else routes[1],
        timetable=None if head.timetable is None else lists.time_rows(head.timetable, offsets, "timetable"),
        figures=found["figures"], manifest=found["manifest"], channels=None if channels is None else channels[1],
        pattern_name=pattern.name,
        **head.optional(),
    )  # fmt: skip
