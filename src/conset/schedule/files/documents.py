"""Documents in files: the contents of schedule and program files, read and written as they are.

A schedule is `.json` for people or `.npz` for size. Both say the same and are the same bytes for
the same input.

JSON: one phase to the line, messages a few to the line, written block by block.

`.npz`: `header` is a text of the object without its long lists; `source`, `target` and `size` are
the messages' columns, `transfer_…` the transfers', `phase_offsets[p] … phase_offsets[p + 1] - 1`
the transfers of phase p. `before`, `packed` (the messages that are put together from several
pieces), `placement`, `route_offsets` with `route_nodes` or `route_links` (and `channels`), and
`timetable` are there only where the JSON form is not null.

Routes are lists of nodes (`routes`), or, where several links lead from one node to another, lists
of links (`route_links`); channels belong to stops, one more than there are links.

A program file is JSON: a stage holds its schedule as in a file of its own, and its bundles where it
forwards. A schedule is in the stage that runs it first; a later stage names that one by its
number.

Nothing here needs the core, so that files can be verified where it is out of reach.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base import (
    Array,
    ConsetError,
    InputError,
    header_entry,
    parse_header,
    parse_json,
    read_archive,
    replacing,
    require_file,
    require_suffix,
    shortened,
    write_archive,
)
from conset.base.json_text import json_text
from conset.schedule.document import (
    AnyDocument,
    BundlesDocument,
    Document,
    MessagesDocument,
    ProgramDocument,
    StageDocument,
)
from conset.schedule.files import arrays
from conset.schedule.files.arrays import check_length, check_rising
from conset.schedule.files.sniff import PROGRAM, SCHEDULE, require_form, sniff

if TYPE_CHECKING:
    from conset.schedule.files.keys import MessagesTable, ScheduleEntries


def named(error: ConsetError, path: str | Path) -> InputError:
    """An error of a file's contents, that begins with the file."""
    text = str(error)
    return InputError(text if text.startswith(str(path)) else f"{path}: {text}")


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
    "ids",
    "placement",
    "route_offsets",
    "route_nodes",
    "route_links",
    "channels",
    "timetable",
)


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
    for name in ("packed", "ids"):
        if (values := getattr(d, name)) is not None:
            yield f',\n"{name}": {json_text(values.tolist())}'
    yield '},\n"placement": ' + ("null" if d.placement is None else json_text(d.placement.tolist()))
    yield ',\n"phases": ['
    yield from _phases(
        d, (d.transfer_source, d.transfer_target, d.transfer_size, d.transfer_message)
    )
    yield '],\n"routes": '
    offsets, nodes, links = d.route_offsets, d.route_nodes, d.route_links
    yield from ["null"] if offsets is None or nodes is None else _routes(d, offsets, nodes)
    if offsets is not None and links is not None:
        yield ',\n"route_links": '
        yield from _routes(d, offsets, links)
        offsets = offsets + np.arange(offsets.size)
    if offsets is not None and d.channels is not None:
        yield ',\n"channels": '
        yield from _routes(d, offsets, d.channels)
    yield ',\n"timetable": '
    table = d.timetable
    yield from (
        ["null"] if table is None else chain("[", _phases(d, (table[:, 0], table[:, 1])), "]")
    )
    yield f',\n"figures": {json_text(d.figures)},\n"manifest": {json_text(d.manifest)}\n}}\n'


def _rows(columns: tuple[Array, ...], low: int, high: int) -> str:
    """Rows `low … high - 1` as `[0,1,64], [0,2,64]`."""
    rows = np.stack([column[low:high] for column in columns], axis=1).tolist()
    return json.dumps(rows, separators=(",", ":"))[1:-1].replace("],[", "], [")


def _lines(columns: tuple[Array, ...]) -> Iterator[str]:
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


def iter_messages(ranks: int, name: str, columns: tuple[Array, ...]) -> Iterator[str]:
    """A pattern whose messages have no order, as in a schedule's file."""
    yield f'{{"ranks": {ranks}, "name": {json_text(name)}, "messages": ['
    yield from _lines(columns)
    yield '],\n"before": null}'


def _phases(d: Document, columns: tuple[Array, ...]) -> Iterator[str]:
    """One phase to the line, a long one in several pieces."""
    bounds = d.phase_offsets.tolist()
    for p, (low, high) in enumerate(pairwise(bounds)):
        yield ",\n[" if p else "\n["
        for begin in range(low, high, _BLOCK):
            yield ", " if begin > low else ""
            yield _rows(columns, begin, min(begin + _BLOCK, high))
        yield "]"
    yield "\n" if len(bounds) > 1 else ""


def _routes(d: Document, offsets: Array, values: Array) -> Iterator[str]:
    """What every stop or link of a route has, one phase to the line."""
    bounds = d.phase_offsets.tolist()
    yield "["
    for p, (low, high) in enumerate(pairwise(bounds)):
        yield ",\n[" if p else "\n["
        for begin in range(low, high, _BLOCK):
            cut = offsets[begin : min(begin + _BLOCK, high) + 1]
            nodes, starts = values[cut[0] : cut[-1]].tolist(), (cut - cut[0]).tolist()
            routes = [nodes[a:b] for a, b in pairwise(starts)]
            yield ", " if begin > low else ""
            yield json.dumps(routes, separators=(",", ":"))[1:-1].replace("],[", "], [")
        yield "]"
    yield "\n]" if len(bounds) > 1 else "]"


def optional_keys(document: Document) -> dict[str, Any]:
    """Keys of the head that are written only where they have a value.

    In the order of the file.
    """
    words: dict[str, Any] = {
        "in_flight": document.in_flight,
        "posting": document.posting,
        "min_bandwidth_Bps": document.min_bandwidth_Bps,
        "max_latency_s": document.max_latency_s,
        "modelled": document.modelled,
    }
    return {key: value for key, value in words.items() if value is not None and value != "schedule"}


def document_of_object(found: Any) -> Document:
    """What a parsed object says; names the place of what is wrong."""
    from conset.schedule.files.keys import ScheduleFile, checked

    head = checked(ScheduleFile, found)
    pattern = head.pattern
    messages = arrays.int_rows(pattern.messages, 3, "pattern.messages")
    offsets, transfers = arrays.phase_rows(head.phases, 4, "phases")
    routes, links, channels = (
        None if given is None else arrays.route_lists(given, offsets, name)
        for name, given in (
            ("routes", head.routes),
            ("route_links", head.route_links),
            ("channels", head.channels),
        )
    )
    if routes is not None and links is not None:
        raise InputError("routes, route_links: at most one of both")
    stops = None if routes is None else routes[0]
    stops = stops if links is None else links[0] + np.arange(links[0].size)
    if channels is not None and (stops is None or not np.array_equal(channels[0], stops)):
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
        route_offsets=None if (chosen := routes or links) is None else chosen[0],
        route_nodes=None if routes is None else routes[1],
        route_links=None if links is None else links[1],
        timetable=None
        if head.timetable is None
        else arrays.time_rows(head.timetable, offsets, "timetable"),
        figures=found["figures"],
        manifest=found["manifest"],
        channels=None if channels is None else channels[1],
        pattern_name=pattern.name,
        packed=None if pattern.packed is None else arrays.ints(pattern.packed, "pattern.packed"),
        ids=None if pattern.ids is None else arrays.ints(pattern.ids, "pattern.ids"),
        **head.optional(),
    )


def _npz_entries(document: Document) -> Iterator[tuple[str, Array]]:
    head = {
        **{key: SCHEDULE if key == "schema" else getattr(document, key) for key in _HEADER},
        "pattern_name": document.pattern_name,
        **optional_keys(document),
    }
    yield "header", header_entry(head)
    for name in (*_ALWAYS, *_SOMETIMES):
        values = getattr(document, name)
        if values is not None:
            yield name, values if name == "timetable" else _narrow(values)


def _narrow(values: Array) -> Array:
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
    from conset.schedule.files.keys import ScheduleEntries, ScheduleHeader, checked

    def require_known(name: str, shape: tuple[int, ...]) -> None:
        known = ScheduleEntries.model_fields
        if name not in known:
            raise InputError(f"unknown entry '{shortened(name)}': known: {', '.join(known)}")

    entries = checked(ScheduleEntries, read_archive(path, check_shape=require_known))
    found = parse_header({"header": entries.header})
    head = checked(ScheduleHeader, found)
    _check_sizes(entries)
    fields: dict[str, Any] = {
        **{key: found[key] for key in _HEADER if key != "schema"},
        **{name: getattr(entries, name) for name in (*_ALWAYS, *_SOMETIMES)},
    }
    return Document(**fields, pattern_name=head.pattern_name, **head.optional())


def _check_sizes(entries: ScheduleEntries) -> None:
    """Columns agree in length, offsets rise to what they cut."""
    messages, transfers = entries.source.size, entries.transfer_source.size
    for name in ("target", "size"):
        check_length(name, getattr(entries, name), messages)
    for name in ("transfer_target", "transfer_size", "transfer_message", "timetable"):
        check_length(name, getattr(entries, name), transfers)
    check_rising("phase_offsets", entries.phase_offsets, transfers)
    offsets, nodes, links = entries.route_offsets, entries.route_nodes, entries.route_links
    if (offsets is None) != (nodes is None and links is None):
        raise InputError("entries 'route_offsets' and 'route_nodes' go together")
    if nodes is not None and links is not None:
        raise InputError("entries 'route_nodes' and 'route_links': at most one of both")
    stops = 0
    if offsets is not None:
        along = nodes if links is None else links
        check_length("route_offsets", offsets, transfers + 1)
        check_rising("route_offsets", offsets, along.size)
        stops = along.size + (0 if links is None else transfers)
    if entries.channels is not None and offsets is None:
        raise InputError(
            "entry 'channels': one value for each of 'route_nodes' required, which is missing"
        )
    if entries.channels is not None:
        check_length("channels", entries.channels, stops)


def check_suffix(path: Path, program: bool) -> None:
    """Raise UsageError unless the suffix is one of a schedule's file, or of a program's."""
    if program:
        require_suffix(path, "a program file", ".json")
    else:
        require_suffix(path, "a schedule file", ".json", ".npz")


def read_document(path: str | Path) -> AnyDocument:
    """The contents of a schedule or program file; only the structure is checked.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: no file, or of another form; names the file and the place.
    """
    path = require_file(path)
    program = sniff(path).form == "program"
    if not program:
        require_form(path, "schedule")
        check_suffix(path, program)
    try:
        if program:
            return _document(parse_json(path))
        return read_npz(path) if path.suffix == ".npz" else document_of_object(parse_json(path))
    except InputError as error:
        raise named(error, path) from None


def _pieces(d: ProgramDocument) -> Iterator[str]:
    head: dict[str, Any] = {"schema": PROGRAM, "machine": d.machine, "sync": d.sync}
    head |= {} if d.staging_limit_B is None else {"staging_limit": d.staging_limit_B}
    yield "{\n" + "".join(f'"{key}": {json_text(value)},\n' for key, value in head.items())
    if d.messages is not None:
        yield '"messages": '
        own = d.messages
        yield from iter_messages(own.ranks, own.name, (own.source, own.target, own.size))
        yield ",\n"
    yield '"stages": ['
    for k in range(len(d.stages)):
        yield ",\n" if k else "\n"
        yield from _stage_pieces(d, k)
    yield f'\n],\n"figures": {json_text(d.figures)},\n"manifest": {json_text(d.manifest)}\n}}\n'


def _stage_pieces(d: ProgramDocument, k: int) -> Iterator[str]:
    stage = d.stages[k]
    earlier = next(j for j, other in enumerate(d.stages) if other.schedule == stage.schedule)
    head = {"name": stage.name, "repeat": stage.repeat, "turns": stage.turns}
    head |= {"contexts": list(d.contexts[stage.schedule])} if earlier == k else {}
    yield json_text(head)[:-1]
    if stage.bundles is not None:
        yield ',\n"bundles": ['
        yield from _bundle_lines(stage.bundles)
        yield "]"
    yield ',\n"schedule": '
    yield from (iter_json(d.schedules[stage.schedule]) if earlier == k else [str(earlier)])
    yield "}"


def _bundle_lines(b: BundlesDocument) -> Iterator[str]:
    """One bundle to the line, memory for one block of parts at a time."""
    low, count = 0, b.source.size
    while low < count:
        high = int(np.searchsorted(b.offsets, b.offsets[low] + _BLOCK, side="right")) - 1
        high = min(max(high, low + 1), low + _BLOCK, count)
        begin, end = int(b.offsets[low]), int(b.offsets[high])
        parts = np.stack(
            [column[begin:end] for column in (b.message, b.first, b.last)], axis=1
        ).tolist()
        heads = np.stack(
            [column[low:high] for column in (b.source, b.target, b.size)], axis=1
        ).tolist()
        ends = (b.offsets[low : high + 1] - begin).tolist()
        rows = [[*head, parts[x:y]] for head, (x, y) in zip(heads, pairwise(ends), strict=True)]
        text = json.dumps(rows, separators=(",", ":"))[1:-1].replace("]]],[", "]]],\n[")
        yield (",\n" if low else "\n") + text
        low = high
    yield "\n" if count else ""


def _document(found: Any) -> ProgramDocument:
    from conset.schedule.files.keys import ProgramFile, checked

    head = checked(ProgramFile, found)
    stages: list[StageDocument] = []
    contexts: list[tuple[int, ...]] = []
    schedules: list[Document] = []
    for k, stage in enumerate(head.stages):
        place, given = f"stages[{k}]", stage.schedule
        if isinstance(given, int):
            if not 0 <= given < k:
                raise InputError(
                    f"{place}.schedule = {given}: must be a schedule or the number of an "
                    "earlier stage"
                )
            if stage.contexts is not None:
                raise InputError(
                    f"{place}.contexts: must stand beside the schedule, in stage {given}"
                )
            index = stages[given].schedule
        else:
            if stage.contexts is None:
                raise InputError(f"{place}: key 'contexts' is missing")
            index = len(schedules)
            contexts.append(tuple(arrays.ints(stage.contexts, f"{place}.contexts").tolist()))
            schedules.append(_schedule(place, given))
        bundles = _bundles(stage.bundles, place) if "bundles" in stage.model_fields_set else None
        stages.append(StageDocument(stage.name, stage.repeat, index, stage.turns, bundles))
    messages = None if head.messages is None else _messages(head.messages)
    return ProgramDocument(
        head.machine,
        tuple(stages),
        tuple(contexts),
        tuple(schedules),
        found["figures"],
        found["manifest"],
        head.sync,
        messages,
        head.staging_limit,
    )


def _messages(table: MessagesTable) -> MessagesDocument:
    rows = arrays.int_rows(table.messages, 3, "messages.messages")
    return MessagesDocument(table.ranks, rows[:, 0], rows[:, 1], rows[:, 2], table.name)


def _bundles(found: Any, place: str) -> BundlesDocument:
    heads, offsets, parts = arrays.bundle_rows(found, f"{place}.bundles")
    (source, target, size), (message, first, last) = heads.T, parts.T
    return BundlesDocument(source, target, size, offsets, message, first, last)


def _schedule(place: str, found: Any) -> Document:
    try:
        return document_of_object(found)
    except InputError as error:
        raise InputError(f"{place}.schedule: {error}") from None


def write_document(document: AnyDocument, path: Path) -> None:
    """Writes what `document` says, true or not, whole or not at all; raises as `write_compiled`."""
    check_suffix(path, isinstance(document, ProgramDocument))
    with replacing(path) as temporary, temporary.open("wb") as file:
        if isinstance(document, ProgramDocument):
            file.writelines(piece.encode() for piece in _pieces(document))
        elif path.suffix == ".npz":
            write_archive(file, _npz_entries(document))
        else:
            file.writelines(piece.encode() for piece in iter_json(document))
