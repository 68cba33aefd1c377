"""Program files: JSON; a stage holds its schedule as in a file of its own.

Also its bundles where it forwards. A schedule stands in the stage that runs it first; a later stage
names that one by its number.

A file says which bytes travel together; a program knows where each part is before every stage.
Bytes that no bundle parts from one another are one part, so the files of programs whose paths have
such parts say the same again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError, UsageError
from conset.base.files import replacing, require_file
from conset.base.json_text import json_text, parse_json
from conset.pattern.pattern import Pattern
from conset.schedule.document import (
    BundlesDocument,
    Document,
    MessagesDocument,
    ProgramDocument,
    StageDocument,
    final_name,
)
from conset.schedule.files import arrays
from conset.schedule.files import schedule as schedule_forms
from conset.schedule.files.schedule import document_of, pattern_of, read_schedule, to_schedule
from conset.schedule.files.sniff import PROGRAM, require_form, sniff
from conset.schedule.manifest import Manifest
from conset.schedule.paths import MAX_STAGES, Bundles, Paths
from conset.schedule.program import Program, Stage
from conset.schedule.schedule import Schedule

if TYPE_CHECKING:
    from conset.schedule.files.models import MessagesTable


_BLOCK = 1 << 15
"""Parts, or bundles, that are written at once."""


def document_of_program(program: Program) -> ProgramDocument:
    """What the file of `program` says."""
    paths = program.paths
    stages = tuple(
        StageDocument(
            stage.name,
            stage.repeat,
            stage.schedule,
            stage.turns,
            None if paths is None else bundles_of(paths, k),
        )
        for k, stage in enumerate(program.stages)
    )
    messages = None
    if paths is not None:
        own = paths.pattern
        messages = MessagesDocument(
            own.ranks, own.source, own.target, own.size, final_name(own.name)
        )
    return ProgramDocument(
        program.machine.to_spec(),
        stages,
        program.contexts,
        tuple(document_of(each) for each in program.schedules),
        program.figures(),
        program.manifest.to_object(),
        program.sync,
        messages,
        program.staging_limit_B,
    )


def to_program(document: ProgramDocument) -> Program:
    """The program of a sound document; `conset verify` reports what is wrong with another.

    Raises:
        InputError: it has no schedule, an index is out of range, a schedule is none, or bundles are
            no paths.
    """
    schedules = [to_schedule(schedule) for schedule in document.schedules]
    if not schedules:
        raise InputError("a program needs a schedule, given none")
    stages = tuple(Stage(b.name, b.repeat, b.schedule, b.turns) for b in document.stages)
    paths = _paths(document)
    for k, stage in enumerate(stages if paths is not None else ()):
        if paths is not None and 0 <= stage.schedule < len(schedules):
            schedules[stage.schedule] = _of_bundles(schedules[stage.schedule], paths.bundles(k))
    return Program(
        schedules[0].machine,
        stages,
        tuple(schedules),
        document.contexts,
        paths,
        document.sync,
        Manifest(**document.manifest),
        staging_limit_B=document.staging_limit_B,
    )


def _paths(document: ProgramDocument) -> Paths | None:
    bundles = [stage.bundles for stage in document.stages if stage.bundles is not None]
    if document.messages is None:
        if bundles:
            raise InputError(
                "stages have bundles, the messages that they carry are missing: key 'messages'"
            )
        return None
    for k, stage in enumerate(document.stages):
        if stage.bundles is None:
            raise InputError(f"stages[{k}]: key 'bundles' is missing, the program has 'messages'")
    ranks = document.schedules[0].ranks
    if document.messages.ranks != ranks:
        raise InputError(f"messages.ranks = {document.messages.ranks}: the schedules have {ranks}")
    if len(bundles) > MAX_STAGES:
        raise InputError(f"stages: {len(bundles)} that forward, at most {MAX_STAGES}")
    return paths_of(document.messages, bundles)


def _of_bundles(schedule: Schedule, bundles: Bundles) -> Schedule:
    """The schedule with its messages in the order of bundles.

    Packed are those of several parts, where it says none.
    """
    pattern = schedule.pattern
    order = np.lexsort((pattern.target, pattern.source))
    message, rates, times = schedule.message, schedule.min_bandwidth_Bps, schedule.max_latency_s
    if (np.diff(order) < 0).any() and pattern.before is None:
        index = np.empty(order.size, np.int32)
        index[order] = np.arange(order.size, dtype=np.int32)
        message = index[message]
        rates, times = (None if demands is None else demands[order] for demands in (rates, times))
        packed = None if pattern.packed is None else pattern.packed[order]
        pattern = replace(
            pattern, target=pattern.target[order], size=pattern.size[order], packed=packed
        )
    if pattern.packed is None and pattern.messages == bundles.bundles:
        pattern = replace(pattern, packed=bundles.pattern.packed)
    return replace(
        schedule, pattern=pattern, message=message, min_bandwidth_Bps=rates, max_latency_s=times
    )


def require_json(path: str | Path) -> None:
    """Checks the suffix of a program file.

    Raises:
        UsageError: it is not `.json`.
    """
    if Path(path).suffix != ".json":
        raise UsageError(f"{path}: a program file ends in .json, not in '{Path(path).suffix}'")


def write_program_document(document: ProgramDocument, path: str | Path) -> None:
    """Writes `path`, whole or not at all.

    Raises:
        UsageError: another suffix than `.json`.
        InputError: the folder is missing or not writable.
    """
    require_json(path)
    with replacing(path) as temporary, temporary.open("wb") as file:
        for piece in _pieces(document):
            file.write(piece.encode())


def _pieces(d: ProgramDocument) -> Iterator[str]:
    head: dict[str, Any] = {"schema": PROGRAM, "machine": d.machine, "sync": d.sync}
    head |= {} if d.staging_limit_B is None else {"staging_limit": d.staging_limit_B}
    yield "{\n" + "".join(f'"{key}": {json_text(value)},\n' for key, value in head.items())
    if d.messages is not None:
        yield '"messages": '
        own = d.messages
        yield from schedule_forms.iter_messages(
            own.ranks, own.name, (own.source, own.target, own.size)
        )
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
    yield from (
        schedule_forms.iter_json(d.schedules[stage.schedule]) if earlier == k else [str(earlier)]
    )
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


def read_program_document(path: str | Path) -> ProgramDocument:
    """What a program file says.

    Raises:
        InputError: no file, no JSON, or not of this structure; names the file and the place.
    """
    path = require_file(path)
    require_form(path, "program")
    try:
        return _document(parse_json(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _document(found: Any) -> ProgramDocument:
    from conset.schedule.files.models import ProgramFile, checked

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
        return schedule_forms.document_of_object(found)
    except InputError as error:
        raise InputError(f"{place}.schedule: {error}") from None


def read_schedule_or_program(path: str | Path) -> Schedule | Program:
    """What is in a file of `compile`: a program where it says so, else a schedule.

    Raises:
        InputError: neither, or what it says is none; names the file.
    """
    return read_program_file(path) if sniff(path).form == "program" else read_schedule(path)


def read_program_file(path: str | Path) -> Program:
    """The program in a file.

    Raises:
        InputError: no program file, or what it says is no program; names the file.
    """
    document = read_program_document(path)
    try:
        return to_program(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


Ints = NDArray[np.int64]


def bundles_of(paths: Paths, stage: int) -> BundlesDocument:
    """What a file says of the bundles of a stage."""
    bundles = paths.bundles(stage)
    pattern, parts = bundles.pattern, bundles.parts
    first = paths.first_of[parts]
    return BundlesDocument(
        pattern.source,
        pattern.target,
        pattern.size,
        bundles.offsets,
        paths.message_of[parts],
        first,
        first + paths.size_of[parts] - 1,
    )


def paths_of(messages: MessagesDocument, stages: Sequence[BundlesDocument]) -> Paths:
    """The paths that the bundles of all stages amount to.

    Raises:
        InputError: they are none: a part is no range of bytes of a message, travels twice in a
            stage, or leaves a rank that does not hold it, or a message does not arrive; names stage
            and bundle.
    """
    pattern, index = pattern_of(messages)
    rows = [_rows(stage, bundles, pattern, index) for stage, bundles in enumerate(stages)]
    message, first, size, spans = _parts(pattern, rows)
    at = pattern.source[message]
    columns = [at]
    for stage, (bundles, (begin, end)) in enumerate(zip(stages, spans, strict=True)):
        at = _moved(at, stage, bundles, begin, end)
        columns.append(at)
    lost = np.flatnonzero(at != pattern.target[message])
    if lost.size:
        m = int(message[lost[0]])
        rule = f"its target is rank {pattern.target[m]}"
        raise InputError(f"message {m}: after the last stage at rank {at[lost[0]]}, {rule}")
    positions = np.stack(columns, axis=1)
    if message.size == pattern.messages:
        return Paths(pattern, positions)
    return Paths(pattern, positions, message.astype(np.int32), first, size)


def _rows(
    stage: int, bundles: BundlesDocument, pattern: Pattern, index: NDArray[np.int32] | None
) -> tuple[Ints, Ints, Ints]:
    """(message, first byte, byte after the last) of every part of a stage.

    Messages of the pattern, in the order of the file.
    """
    message, first, last = bundles.message, bundles.first, bundles.last
    outside = (message < 0) | (message >= pattern.messages)
    if outside.any():
        k = int(np.argmax(outside))
        rule = f"must be from 0 to {pattern.messages - 1}"
        raise InputError(f"{_place(stage, bundles, k)}: message {message[k]}, {rule}")
    own = (message if index is None else index[message]).astype(np.int64)
    wrong = (first < 0) | (last < first) | (last >= pattern.size[own])
    if wrong.any():
        k = int(np.argmax(wrong))
        rule = f"{_bytes(bundles, k)}, which has {pattern.size[own[k]]} B"
        raise InputError(f"{_place(stage, bundles, k)}: {rule}")
    ends: Ints = np.concatenate((bundles.source, bundles.target)).astype(np.int64)
    if ends.size and (ends.min() < 0 or ends.max() >= pattern.ranks):
        b = int(np.argmax((ends < 0) | (ends >= pattern.ranks)))
        rule = f"rank {ends[b]}, must be from 0 to {pattern.ranks - 1}"
        raise InputError(f"stages[{stage}].bundles[{b % bundles.source.size}]: {rule}")
    order = np.lexsort((first, own))
    twice = (own[order[1:]] == own[order[:-1]]) & (first[order[1:]] <= last[order[:-1]])
    if twice.any():
        k = int(order[1:][np.argmax(twice)])
        raise InputError(
            f"{_place(stage, bundles, k)}: {_bytes(bundles, k)}, of which the stage "
            "sends some twice"
        )
    return own, first.astype(np.int64), last.astype(np.int64) + 1


def _parts(
    pattern: Pattern, rows: Sequence[tuple[Ints, Ints, Ints]]
) -> tuple[Ints, Ints, Ints, list[tuple[Ints, Ints]]]:
    """(message, first byte, bytes) of every part.

    And for each stage (first part, part after the last) of its rows.
    """
    numbers = np.arange(pattern.messages)
    if all(
        not first.any() and (end == pattern.size[message]).all() for message, first, end in rows
    ):
        return numbers, np.zeros_like(numbers), pattern.size, [(m, m + 1) for m, _, _ in rows]
    message = np.concatenate([numbers, numbers, *(m for m, _, _ in rows for _ in range(2))])
    byte = np.concatenate(
        [np.zeros_like(numbers), pattern.size, *(at for _, *ends in rows for at in ends)]
    )
    order = np.lexsort((byte, message))
    of, at = message[order], byte[order]
    new = np.concatenate([[True], (of[1:] != of[:-1]) | (at[1:] != at[:-1])])
    of, at = of[new], at[new]
    # where messages are cut, ends included: a part begins at every cut of a message but the last
    cut = np.empty(order.size, np.int64)
    cut[order] = np.cumsum(new) - 1
    part = cut - message
    same = np.flatnonzero(of[1:] == of[:-1])
    begins = np.cumsum([2 * numbers.size, *(m.size for m, _, _ in rows for _ in range(2))])
    pieces = np.split(part, begins[:-1])[1:]
    spans = list(zip(pieces[::2], pieces[1::2], strict=True))
    return of[same], at[same], at[same + 1] - at[same], spans


def _moved(
    at: NDArray[np.int32], stage: int, bundles: BundlesDocument, begin: Ints, end: Ints
) -> NDArray[np.int32]:
    """Where the parts are after a stage."""
    length = end - begin
    row = np.repeat(np.arange(begin.size), length)
    parts = np.arange(row.size) + np.repeat(begin - np.cumsum(length) + length, length)
    bundle = np.repeat(np.arange(bundles.source.size), np.diff(bundles.offsets))[row]
    wrong = at[parts] != bundles.source[bundle]
    if wrong.any():
        k = int(np.argmax(wrong))
        rule = f"at rank {at[parts[k]]}, not at rank {bundles.source[bundle[k]]}"
        raise InputError(
            f"{_place(stage, bundles, int(row[k]))}: {_bytes(bundles, int(row[k]))} are {rule}"
        )
    after = at.copy()
    after[parts] = bundles.target[bundle]
    return after


def _place(stage: int, bundles: BundlesDocument, row: int) -> str:
    """`stages[0].bundles[3]`, which holds a part."""
    return (
        f"stages[{stage}].bundles[{int(np.searchsorted(bundles.offsets, row, side='right')) - 1}]"
    )


def _bytes(bundles: BundlesDocument, row: int) -> str:
    return f"bytes {bundles.first[row]} to {bundles.last[row]} of message {bundles.message[row]}"
