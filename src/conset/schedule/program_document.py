"""ProgramDocument: a program file as it stands, before anything in it is believed; JSON, "conset/program@1".

A program runs blocks one after the other, each a number of times; a block is a schedule of the list. Every phase of
every schedule belongs to one *context*: the connections that are open together. What a phase needs is in its context,
so a switch is due only between phases of different contexts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from conset.errors import InputError, UsageError
from conset.files import is_file, replacing, require_file
from conset.schedule import json_form
from conset.schedule.document import Document
from conset.schedule.structure import require, require_keys

SCHEMA = "conset/program@1"
FIGURES = ("phases", "contexts", "switches", "switches_apart", "messages", "bytes")
_KEYS = ("schema", "machine", "blocks", "contexts", "schedules", "figures", "manifest")
_HEAD_BYTES = 256
MAX_REPEAT = 2**31 - 1
"""How often a block may run in a row."""


@dataclass(frozen=True)
class BlockDocument:
    """One block as a file says it.

    Attributes:
        name: for people.
        repeat: how often it runs before the next block.
        schedule: index in the list of schedules.
        turns: every second repetition runs the phases backwards.
    """

    name: str
    repeat: int
    schedule: int
    turns: bool

    def to_object(self) -> dict[str, Any]:
        """As in the file."""
        return {"name": self.name, "repeat": self.repeat, "schedule": self.schedule, "turns": self.turns}


@dataclass(frozen=True, eq=False)
class ProgramDocument:
    """What a program file says; types are checked, nothing else.

    Attributes:
        machine: spec or object of the machine.
        blocks: in the order in which they run.
        contexts: for each schedule, the context of each of its phases.
        schedules: as in schedule files.
        figures: `phases` (executed), `contexts`, `switches`, `switches_apart` (if every phase had its own context and
            none ran backwards), `messages` and `bytes` (executed).
        manifest: version, seed, command, input_sha256.
    """

    machine: str | Mapping[str, Any]
    blocks: tuple[BlockDocument, ...]
    contexts: tuple[tuple[int, ...], ...]
    schedules: tuple[Document, ...]
    figures: Mapping[str, Any]
    manifest: Mapping[str, Any]


def is_program(path: str | Path) -> bool:
    """Whether a file says in its head that it is a program."""
    if not is_file(path):
        return False
    try:
        with Path(path).open("rb") as file:
            return b'"' + SCHEMA.encode() + b'"' in file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False


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
        _write(document, file)


def _write(document: ProgramDocument, file: IO[bytes]) -> None:
    for piece in _pieces(document):
        file.write(piece.encode())


def _pieces(d: ProgramDocument) -> Iterator[str]:
    yield f'{{\n"schema": {_text(SCHEMA)},\n"machine": {_text(d.machine)},\n"blocks": [\n'
    yield ",\n".join(_text(block.to_object()) for block in d.blocks)
    yield '\n],\n"contexts": [\n' + ",\n".join(_text(list(contexts)) for contexts in d.contexts)
    yield '\n],\n"schedules": [\n'
    for k, schedule in enumerate(d.schedules):
        yield ",\n" if k else ""
        yield from json_form.pieces(schedule)
    yield f'],\n"figures": {_text(d.figures)},\n"manifest": {_text(d.manifest)}\n}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_program_document(path: str | Path) -> ProgramDocument:
    """What a program file says.

    Raises:
        InputError: no file, no JSON, or not of this structure; names the file and the place.
    """
    found = json_form.parse_json(require_file(path))
    try:
        return _document(found)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _document(found: Any) -> ProgramDocument:
    head = require_keys(found, _KEYS, "program")
    if head["schema"] != SCHEMA:
        raise InputError(f"schema: must be '{SCHEMA}', is {head['schema']!r}")
    if not isinstance(head["machine"], str | dict):
        raise InputError("machine: a spec or an object is required")
    schedules = []
    for k, schedule in enumerate(require(head["schedules"], list, "schedules")):
        try:
            schedules.append(json_form.document_of_object(schedule))
        except InputError as error:
            raise InputError(f"schedules[{k}]: {error}") from None
    figures = require_keys(head["figures"], FIGURES, "figures")
    for name in FIGURES:
        require(figures[name], int, f"figures.{name}")
    manifest = require_keys(head["manifest"], ("version", "seed", "command", "input_sha256"), "manifest")
    return ProgramDocument(
        head["machine"], tuple(_blocks(head["blocks"])), tuple(_contexts(head["contexts"])), tuple(schedules), figures,
        manifest,
    )  # fmt: skip


def _blocks(found: Any) -> Iterator[BlockDocument]:
    kinds = {"name": str, "repeat": int, "schedule": int, "turns": bool}
    for k, block in enumerate(require(found, list, "blocks")):
        require_keys(block, kinds, f"blocks[{k}]")
        yield BlockDocument(**{key: require(block[key], kind, f"blocks[{k}].{key}") for key, kind in kinds.items()})


def _contexts(found: Any) -> Iterator[tuple[int, ...]]:
    for k, contexts in enumerate(require(found, list, "contexts")):
        rows = require(contexts, list, f"contexts[{k}]")
        yield tuple(require(context, int, f"contexts[{k}][{p}]") for p, context in enumerate(rows))
