"""Schedule files: `.json` for people, `.npz` for size.

Both say the same and are the same bytes for the same input.

JSON: one phase to the line, messages a few to the line, written block by block.

`.npz`: `header` is a text of the object without its long lists; `source`, `target` and `size` are
the messages' columns, `transfer_…` the transfers', `phase_offsets[p] … phase_offsets[p + 1] - 1`
the transfers of phase p. `before`, `packed` (the messages that are put together from several
pieces), `placement`, `route_offsets` with `route_nodes` (and `channels`), and `timetable` are there
only where the JSON form is not null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import frozen_ints
from conset.base.errors import ConsetError, InputError, UsageError
from conset.base.files import (
    read_archive,
    replacing,
    require_file,
    require_replaceable,
    write_archive,
)
from conset.base.json_text import header_entry, json_text, parse_header, parse_json
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.document import Document, IntArray, MessagesDocument, document_from, machine_of
from conset.schedule.files import arrays
from conset.schedule.files.arrays import check_length, check_rising, check_within
from conset.schedule.files.sniff import SCHEDULE, require_form
from conset.schedule.manifest import Manifest
from conset.schedule.policy import check_in_flight
from conset.schedule.schedule import Schedule

if TYPE_CHECKING:
    from conset.schedule.files.models import ScheduleEntries


def document_of(schedule: Schedule) -> Document:
    """What the file of `schedule` says, its figures counted.

    Arrays are shared, not copied, where they can.
    """
    from conset.schedule.loads import figures

    return document_from(schedule, figures(schedule))


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Writes `path` (`.json` or `.npz`), whole or not at all.

    Raises:
        UsageError: another suffix.
        InputError: the folder is missing or not writable.
    """
    path = Path(path)
    _form(path, _WRITERS)
    write_document(document_of(schedule), path)


def require_writable(path: str | Path) -> None:
    """Checks before a long compile that `path` can be written after it.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: the folder is missing, or `path` is a directory.
    """
    path = Path(path)
    _form(path, _WRITERS)
    require_replaceable(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")


def write_document(document: Document, path: str | Path) -> None:
    """Writes what `document` says, true or not, to `path` (`.json` or `.npz`).

    Raises as `write_schedule`.
    """
    path = Path(path)
    write = _form(path, _WRITERS)
    with replacing(path) as temporary, temporary.open("wb") as file:
        write(document, file)


def read_document(path: str | Path) -> Document:
    """What a schedule file says; its structure alone is checked.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: no file, or none of this form; names the file and the place.
    """
    path = require_file(path)
    require_form(path, "schedule")
    read = _form(path, _READERS)
    try:
        document: Document = read(path)
    except InputError as error:
        raise named(error, path) from None
    return document


def read_schedule(path: str | Path) -> Schedule:
    """The schedule in a file.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: not a schedule file, or what it says is no schedule (`conset verify` reports all
            that is wrong).
    """
    from conset.schedule.loads import chosen_links

    try:
        schedule = to_schedule(read_document(path))
        chosen_links(
            schedule
        )  # else whoever follows its routes trips over them, and does not know the file
        return schedule
    except InputError as error:
        raise named(error, path) from None


def named(error: ConsetError, path: str | Path) -> InputError:
    """An error of a file's contents, that begins with the file."""
    text = str(error)
    return InputError(text if text.startswith(str(path)) else f"{path}: {text}")


def to_schedule(document: Document) -> Schedule:
    """The schedule a sound document describes.

    Messages are renumbered where the file lists them in another order.

    Raises:
        InputError: the machine cannot be built, or the document is no schedule of its pattern.
    """
    machine = machine_of(document)
    try:
        limits = Limits(**document.limits)
    except UsageError as error:
        raise InputError(f"limits: {error}") from None
    _check_placement(document, machine)
    _check_rows(document)
    pattern, index = pattern_of(document, document.before)
    message = document.transfer_message if index is None else index[document.transfer_message]
    whole = bool((document.transfer_size == document.size[document.transfer_message]).all())
    return Schedule(
        pattern,
        machine,
        document.method,
        limits,
        _int64(document.phase_offsets, "phase_offsets"),
        _int32(message, "message"),
        parts=None if whole else _int64(document.transfer_size, "transfer_size"),
        placement=None if document.placement is None else _int32(document.placement, "placement"),
        route_offsets=None
        if document.route_offsets is None
        else _int64(document.route_offsets, "route_offsets"),
        route_nodes=None
        if document.route_nodes is None
        else _int32(document.route_nodes, "route_nodes"),
        channels=None if document.channels is None else _int32(document.channels, "channels"),
        timetable=document.timetable,
        sync=document.sync,
        limits_asked=document.limits_asked,
        manifest=Manifest(**document.manifest),
        in_flight=None if document.in_flight is None else check_in_flight(document.in_flight),
        posting=document.posting,
        min_bandwidth_Bps=_demands(document, "min_bandwidth_Bps", "rates", index),
        max_latency_s=_demands(document, "max_latency_s", "times", index),
    )


def _demands(
    document: Document, name: str, what: str, index: NDArray[np.int32] | None
) -> NDArray[np.float64] | None:
    """What the messages of the pattern are guaranteed, None in a list being infinite.

    `index` as of `_pattern_of`.
    """
    stated, messages = getattr(document, name), document.source.size
    if stated is None:
        return None
    if not isinstance(stated, list):
        return np.full(messages, float(stated))
    if len(stated) != messages:
        raise InputError(f"{name}: {messages} {what} required, given {len(stated)}")
    given = np.array([np.inf if value is None else value for value in stated], np.float64)
    result = given.copy()
    result[slice(None) if index is None else index] = given
    return result


def _int32(values: IntArray, what: str) -> NDArray[np.int32]:
    return frozen_ints(values, np.int32, what)


def _int64(values: IntArray, what: str) -> NDArray[np.int64]:
    return frozen_ints(values, np.int64, what)


def _form(path: Path, forms: dict[str, Any]) -> Any:
    if path.suffix not in forms:
        raise UsageError(f"{path}: a schedule file ends in .json or .npz, not in '{path.suffix}'")
    return forms[path.suffix]


def _check_rows(document: Document) -> None:
    """Every row is of a message and joins its ranks.

    All the rest is for the nouns and for `verify`.
    """
    message, messages = document.transfer_message, document.source.size
    if message.size and (message.min() < 0 or message.max() >= messages):
        raise InputError(
            f"a transfer's message must be from 0 to {messages - 1}, one is {message.min()} or "
            f"{message.max()}"
        )
    wrong = document.source[message] != document.transfer_source
    wrong |= document.target[message] != document.transfer_target
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        phase = int(np.searchsorted(document.phase_offsets, k, side="right")) - 1
        own = f"{document.transfer_source[k]} → {document.transfer_target[k]}"
        m = int(message[k])
        raise InputError(
            f"phase {phase} transfer {k - document.phase_offsets[phase]}: goes {own}, "
            f"its message {m} is {document.source[m]} → {document.target[m]}"
        )


def _check_placement(document: Document, machine: Machine) -> None:
    endpoints, place = machine.topology.endpoints, document.placement
    if place is None and document.ranks > endpoints:
        raise InputError(
            f"{document.ranks} ranks without a placement on the {endpoints} nodes of {machine.name}"
        )
    if place is not None and (
        place.size != document.ranks or place.min() < 0 or place.max() >= endpoints
    ):
        raise InputError(f"placement: {document.ranks} nodes from 0 to {endpoints - 1} required")


def pattern_of(
    document: Document | MessagesDocument, before: IntArray | None = None
) -> tuple[Pattern, NDArray[np.int32] | None]:
    """The pattern, and the index in it of each message of the file where the two differ.

    Raises:
        InputError: it is none.
    """
    source = _int32(document.source, "source")
    wrong = np.flatnonzero((source < 0) | (source >= document.ranks))
    if wrong.size:
        raise InputError(
            f"source[{wrong[0]}] = {source[wrong[0]]}: must be a rank from 0 to "
            f"{document.ranks - 1}"
        )
    target, size, index = document.target, document.size, None
    if np.any(np.diff(source) < 0):
        order = np.argsort(source, kind="stable")
        index = np.empty(order.size, np.int32)
        index[order] = np.arange(order.size, dtype=np.int32)
        target, size = target[order], size[order]
        before = None if before is None else index[before]
    if size.size and (size == size[0]).all():
        size = np.broadcast_to(size[0], size.shape)
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(source, minlength=document.ranks))]
    ).astype(np.int64)
    checked = _int32(target, "target"), _int64(size, "size")
    pairs = None if before is None else _int32(before, "before")
    packed = _packed_of(document, index)
    name = document.pattern_name if isinstance(document, Document) else document.name
    return Pattern(document.ranks, offsets, *checked, before=pairs, name=name, packed=packed), index


def _packed_of(
    document: Document | MessagesDocument, index: NDArray[np.int32] | None
) -> NDArray[np.bool_] | None:
    """shape=(messages): whether each message of the pattern is packed.

    `index` as of `_pattern_of`.
    """
    if not isinstance(document, Document) or document.packed is None:
        return None
    check_within("packed", document.packed, 0, document.source.size, ": a message")
    flags = np.zeros(document.source.size, np.bool_)
    flags[document.packed if index is None else index[document.packed]] = True
    return flags


_HEAD = ("machine", "method", "sync", "limits", "limits_asked")
"""Keys of the JSON form before the pattern."""
_BLOCK = 1 << 15
"""Rows that are written at once."""
_PER_LINE = 8
"""Messages to the line."""
_HEADER = (
    "schema",
    "machine",
    "method",
    "sync",
    "limits",
    "limits_asked",
    "ranks",
    "figures",
    "manifest",
)
_ALWAYS = (
    "source",
    "target",
    "size",
    "phase_offsets",
    "transfer_source",
    "transfer_target",
    "transfer_size",
    "transfer_message",
)
_SOMETIMES = (
    "before",
    "packed",
    "placement",
    "route_offsets",
    "route_nodes",
    "channels",
    "timetable",
)


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
    yield (
        "null"
        if d.before is None
        else "".join(("[", *_lines((d.before[:, 0], d.before[:, 1])), "]"))
    )
    if d.packed is not None:
        yield f',\n"packed": {json_text(d.packed.tolist())}'
    yield '},\n"placement": ' + ("null" if d.placement is None else json_text(d.placement.tolist()))
    yield ',\n"phases": ['
    yield from _phases(
        d, (d.transfer_source, d.transfer_target, d.transfer_size, d.transfer_message)
    )
    yield '],\n"routes": '
    yield from (
        ["null"] if d.route_offsets is None or d.route_nodes is None else _routes(d, d.route_nodes)
    )
    if d.route_offsets is not None and d.channels is not None:
        yield ',\n"channels": '
        yield from _routes(d, d.channels)
    yield ',\n"timetable": '
    table = d.timetable
    yield from (
        ["null"] if table is None else chain("[", _phases(d, (table[:, 0], table[:, 1])), "]")
    )
    yield f',\n"figures": {json_text(d.figures)},\n"manifest": {json_text(d.manifest)}\n}}\n'


def _rows(columns: tuple[NDArray[Any], ...], low: int, high: int) -> str:
    """Rows `low … high - 1` as `[0,1,64], [0,2,64]`."""
    rows = np.stack([column[low:high] for column in columns], axis=1).tolist()
    return json.dumps(rows, separators=(",", ":"))[1:-1].replace("],[", "], [")


def _lines(columns: tuple[NDArray[Any], ...]) -> Iterator[str]:
    count = columns[0].size
    block = max(_BLOCK // _PER_LINE, 1) * _PER_LINE
    for low in range(0, count, block):
        rows = np.stack([column[low : low + block] for column in columns], axis=1).tolist()
        lines = [rows[k : k + _PER_LINE] for k in range(0, len(rows), _PER_LINE)]
        text = (
            json.dumps(lines, separators=(",", ":"))[2:-2]
            .replace("]],[[", "],\n[")
            .replace("],[", "], [")
        )
        yield ("\n" if low == 0 else ",\n") + text
    yield "\n" if count else ""


def iter_messages(ranks: int, name: str, columns: tuple[NDArray[Any], ...]) -> Iterator[str]:
    """A pattern whose messages have no order, as in a schedule's file."""
    yield f'{{"ranks": {ranks}, "name": {json_text(name)}, "messages": ['
    yield from _lines(columns)
    yield '],\n"before": null}'


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
    """Keys of the head that are written only where they have a value.

    In the order of the file.
    """
    words: dict[str, Any] = {"in_flight": document.in_flight, "posting": document.posting}
    words |= {
        "min_bandwidth_Bps": document.min_bandwidth_Bps,
        "max_latency_s": document.max_latency_s,
    }
    return {key: value for key, value in words.items() if value is not None and value != "schedule"}


def read_json(path: Path) -> Document:
    """What the file says.

    Raises:
        InputError: no JSON (with line and column), or not of this structure (with the phase and
            transfer).
    """
    return document_of_object(parse_json(path))


def document_of_object(found: Any) -> Document:
    """What a parsed object says; raises as `read_json`."""
    from conset.schedule.files.models import ScheduleFile, checked

    head = checked(ScheduleFile, found)
    pattern = head.pattern
    messages = arrays.int_rows(pattern.messages, 3, "pattern.messages")
    offsets, transfers = arrays.phase_rows(head.phases, 4, "phases")
    routes = None if head.routes is None else arrays.route_lists(head.routes, offsets, "routes")
    channels = (
        None if head.channels is None else arrays.route_lists(head.channels, offsets, "channels")
    )
    if channels is not None and (routes is None or not np.array_equal(channels[0], routes[0])):
        raise InputError("channels: one for each node of `routes` required")
    return Document(
        machine=head.machine,
        method=head.method,
        sync=head.sync,
        limits=found["limits"],
        limits_asked=head.limits_asked,
        ranks=pattern.ranks,
        source=messages[:, 0],
        target=messages[:, 1],
        size=messages[:, 2],
        before=None
        if pattern.before is None
        else arrays.int_rows(pattern.before, 2, "pattern.before"),
        placement=None if head.placement is None else arrays.ints(head.placement, "placement"),
        phase_offsets=offsets,
        transfer_source=transfers[:, 0],
        transfer_target=transfers[:, 1],
        transfer_size=transfers[:, 2],
        transfer_message=transfers[:, 3],
        route_offsets=None if routes is None else routes[0],
        route_nodes=None if routes is None else routes[1],
        timetable=None
        if head.timetable is None
        else arrays.time_rows(head.timetable, offsets, "timetable"),
        figures=found["figures"],
        manifest=found["manifest"],
        channels=None if channels is None else channels[1],
        pattern_name=pattern.name,
        packed=None if pattern.packed is None else arrays.ints(pattern.packed, "pattern.packed"),
        **head.optional(),
    )


def write_npz(document: Document, file: IO[bytes]) -> None:
    """Writes the archive; see `conset.base.files.write_archive`."""
    write_archive(file, _npz_entries(document))


def _npz_entries(document: Document) -> Iterator[tuple[str, NDArray[Any]]]:
    head = {key: SCHEDULE if key == "schema" else getattr(document, key) for key in _HEADER}
    head |= {"pattern_name": document.pattern_name, **optional_keys(document)}
    yield "header", header_entry(head)
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
    from conset.schedule.files.models import ScheduleEntries, ScheduleHeader, checked

    entries = checked(ScheduleEntries, read_archive(path))
    found = parse_header({"header": entries.header})
    head = checked(ScheduleHeader, found)
    _check_sizes(entries)
    fields: dict[str, Any] = {key: found[key] for key in _HEADER if key != "schema"}
    fields |= {name: getattr(entries, name) for name in (*_ALWAYS, *_SOMETIMES)}
    return Document(**fields, pattern_name=head.pattern_name, **head.optional())


def _check_sizes(entries: ScheduleEntries) -> None:
    """Columns agree in length, offsets rise to what they cut."""
    messages, transfers = entries.source.size, entries.transfer_source.size
    for name in ("target", "size"):
        check_length(name, getattr(entries, name), messages)
    for name in ("transfer_target", "transfer_size", "transfer_message", "timetable"):
        check_length(name, getattr(entries, name), transfers)
    check_rising("phase_offsets", entries.phase_offsets, transfers)
    if (entries.route_offsets is None) != (entries.route_nodes is None):
        raise InputError("entries 'route_offsets' and 'route_nodes' go together")
    if entries.route_offsets is not None:
        check_length("route_offsets", entries.route_offsets, transfers + 1)
        check_rising("route_offsets", entries.route_offsets, entries.route_nodes.size)
    if entries.channels is not None and entries.route_nodes is None:
        raise InputError(
            "entry 'channels': one value for each of 'route_nodes' required, which is missing"
        )
    if entries.channels is not None:
        check_length("channels", entries.channels, entries.route_nodes.size)


_WRITERS: dict[str, Callable[[Document, IO[bytes]], None]] = {
    ".json": write_json,
    ".npz": write_npz,
}
_READERS: dict[str, Callable[[Path], Document]] = {".json": read_json, ".npz": read_npz}
