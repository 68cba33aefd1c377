"""What is a file?

Schedule, timeline, program, plan or machine: said by what is in it, not by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from conset.base import (
    MACHINE_FILE,
    PLAN_FILE,
    ConsetError,
    InputError,
    is_file,
    parse_header,
    parse_json,
    read_archive,
)
from conset.machine.network.graph_files import is_node_link

Form = Literal[
    "schedule", "timeline", "program", "plan", "machine", "network", "pattern", "unknown"
]
Container = Literal["json", "npz", "toml", "flat", "unknown"]

SCHEDULE = "conset/schedule@1"
TIMELINE = "conset/timeline@1"
PROGRAM = "conset/program@1"
_FORMS: dict[str, Form] = {
    SCHEDULE: "schedule",
    TIMELINE: "timeline",
    PROGRAM: "program",
    PLAN_FILE: "plan",
    MACHINE_FILE: "machine",
}
_ZIP = b"PK"
_NEAR = 256
"""Bytes in which a file of ours has said what it is: `schema` is its first key."""
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"([^"\\]*)"')
_TOML_TABLE = re.compile(rb"^\s*\[\s*network\s*\]", re.MULTILINE)


@dataclass(frozen=True)
class Sniffed:
    """What a file is.

    Attributes:
        form: what it holds; `pattern`: an archive without a header; `machine`: a machine's record
            or file; `network`: a graph of nodes and edges in JSON; `unknown`: none of them, or a
            file that cannot be read.
        container: how.
        schema: what it names as its own; empty where it names nothing.
    """

    form: Form
    container: Container
    schema: str = ""


def sniff(path: str | Path) -> Sniffed:
    """What a file is; never an error, and a FIFO is not waited for."""
    path = Path(path)
    if not is_file(path):
        return Sniffed("unknown", "unknown")
    try:
        with path.open("rb") as file:
            begin = file.read(_NEAR)
        if begin.startswith(_ZIP):
            return _archive(path)
        first = begin.partition(b"\n")[0].decode(errors="replace")
        if first in (PLAN_FILE, MACHINE_FILE):
            return _named(first, "flat")
        if begin.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            return _object(path, begin)
        if path.suffix.lower() == ".toml" and _TOML_TABLE.search(path.read_bytes()):
            return Sniffed("machine", "toml")
        return Sniffed("unknown", "unknown")
    except (ConsetError, OSError):
        return Sniffed("unknown", "unknown")


def require_form(path: Path, form: Form) -> None:
    """Checks that a file does not say that it is another of ours.

    The reader of `form` reports what else is wrong.

    Raises:
        InputError: it is another one.
    """
    found = sniff(path)
    if found.schema in _FORMS and found.form != form:
        raise InputError(
            f"{path}: is a {found.form}, a {form} is required: schema is '{found.schema}'"
        )


def _named(schema: object, container: Container) -> Sniffed:
    name = schema if isinstance(schema, str) else ""
    return Sniffed(_FORMS.get(name, "unknown"), container, name)


def _archive(path: Path) -> Sniffed:
    entries = read_archive(path, only=("header",))
    if not entries:
        return Sniffed("pattern", "npz")
    try:
        head = parse_header(entries, constants=True)
    except InputError:
        return Sniffed("unknown", "npz")
    return _named(head.get("schema") if isinstance(head, dict) else None, "npz")


def _object(path: Path, begin: bytes) -> Sniffed:
    """Of a JSON object; one that others wrote, its keys in another order, is read as a whole."""
    first = _FIRST_KEY.match(begin)
    if first:
        return _named(first[1].decode(errors="replace"), "json")
    try:
        found = parse_json(path, constants=True)
    except InputError:
        return Sniffed("unknown", "json")
    if "schema" not in found and isinstance(found.get("network"), dict):
        return Sniffed("machine", "json")
    if "schema" not in found and is_node_link(found):
        return Sniffed("network", "json")
    return _named(found.get("schema"), "json")
