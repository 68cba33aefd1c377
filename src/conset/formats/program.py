"""Program files: JSON, whose schedules are as in files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conset.errors import InputError, UsageError
from conset.files import replacing, require_file
from conset.formats import arrays, schedule_forms
from conset.formats.json_text import json_text, parse_json
from conset.formats.schedule import document_of, to_schedule
from conset.formats.sniff import PROGRAM, require_form
from conset.program import Program, Stage
from conset.schedule.document import Document, ProgramDocument, StageDocument
from conset.schedule.manifest import Manifest


def document_of_program(program: Program) -> ProgramDocument:
    """What the file of `program` says."""
    stages = tuple(StageDocument(b.name, b.repeat, b.schedule, b.turns) for b in program.stages)
    return ProgramDocument(
        program.machine.to_spec(), stages, program.contexts, tuple(document_of(each) for each in program.schedules),
        program.figures(), program.manifest.to_object(),
    )  # fmt: skip


def to_program(document: ProgramDocument) -> Program:
    """The program a sound document describes (`conset verify` reports all that is wrong with another).

    Raises:
        InputError: it has no schedule, an index is out of range, or a schedule is none.
    """
    schedules = tuple(to_schedule(schedule) for schedule in document.schedules)
    if not schedules:
        raise InputError("a program needs a schedule, given none")
    stages = tuple(Stage(b.name, b.repeat, b.schedule, b.turns) for b in document.stages)
    return Program(schedules[0].machine, stages, schedules, document.contexts, manifest=Manifest(**document.manifest))


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
    yield f'{{\n"schema": {json_text(PROGRAM)},\n"machine": {json_text(d.machine)},\n"stages": [\n'
    yield ",\n".join(json_text(stage.to_object()) for stage in d.stages)
    yield '\n],\n"contexts": [\n' + ",\n".join(json_text(list(contexts)) for contexts in d.contexts)
    yield '\n],\n"schedules": [\n'
    for k, schedule in enumerate(d.schedules):
        yield ",\n" if k else ""
        yield from schedule_forms.iter_json(schedule)
    yield f'],\n"figures": {json_text(d.figures)},\n"manifest": {json_text(d.manifest)}\n}}\n'


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
    from conset.formats.models import ProgramFile
    from conset.formats.validate import checked

    head = checked(ProgramFile, found)
    stages = tuple(StageDocument(b.name, b.repeat, b.schedule, b.turns) for b in head.stages)
    contexts = arrays.require_list(head.contexts, "contexts")
    return ProgramDocument(
        machine=head.machine, stages=stages,
        contexts=tuple(tuple(arrays.ints(row, f"contexts[{k}]").tolist()) for k, row in enumerate(contexts)),
        schedules=tuple(_schedule(k, schedule) for k, schedule in enumerate(head.schedules)),
        figures=found["figures"], manifest=found["manifest"],
    )  # fmt: skip


def _schedule(k: int, found: Any) -> Document:
    try:
        return schedule_forms.document_of_object(found)
    except InputError as error:
        raise InputError(f"schedules[{k}]: {error}") from None


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
