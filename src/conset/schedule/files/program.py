"""Program files: JSON.

A stage holds its schedule as in a file of its own, and its bundles where it forwards.

A schedule stands in the stage that runs it first; a later stage names that one by its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base.errors import InputError, UsageError
from conset.base.files import replacing, require_file
from conset.base.json_text import json_text, parse_json
from conset.schedule.document import (
    BundlesDocument,
    Document,
    MessagesDocument,
    ProgramDocument,
    StageDocument,
    final_name,
)
from conset.schedule.files import arrays, schedule_forms
from conset.schedule.files.program_paths import bundles_of, paths_of
from conset.schedule.files.schedule import document_of, read_schedule, to_schedule
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
    from conset.schedule.files.models import ProgramFile
    from conset.schedule.files.validate import checked

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
