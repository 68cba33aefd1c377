"""TOML in files, parsed without belief, and what a model of pydantic finds in it as one line.

A reader of TOML keeps every prefix of a dotted key, so its time and memory grow with the square of
the parts: 200 kB of `a.a.a…` take more than any machine has. So the depth of keys is checked before
a reader sees them. Nested arrays and inline tables end at the reader's own depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from conset.base.errors import InputError, nearest, require_texts

MAX_PARTS = 32
"""Parts of one key, as in `methods.lp.setup`, which has three."""

_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|' + r"'[^'\n]*'"
_PART = rf"(?:[A-Za-z0-9_-]+|{_STRING})"
_DOT = r"[ \t]*\.[ \t]*"
_TOKEN = re.compile(
    rf"(?P<deep>{_PART}(?:{_DOT}{_PART}){{{MAX_PARTS},}})"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^']*(?:'(?!'')[^']*)*'''"
    rf"|#[^\n]*|{_PART}|[^A-Za-z0-9_\-\"'#]+|.",
    re.DOTALL,
)


def parse_toml(content: bytes, where: str, what: str) -> tuple[dict[str, Any], str]:
    """What a file says, and its text.

    Args:
        content: of the file.
        where: its name, for errors.
        what: it should be, for errors: `machine`.

    Raises:
        InputError: no UTF-8, no TOML, nested too deeply, or a number of thousands of digits.
    """
    import tomllib

    try:
        text = content.decode("utf-8-sig")
        _check_depth(text, where)
        data = tomllib.loads(text)
        require_texts(data, where)
        return data, text
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: is no complete TOML: {error}") from None
    except (
        RecursionError,
        ValueError,
    ) as error:  # nested too deeply, a number of thousands of digits
        raise InputError(f"{where}: no TOML of a {what}: {error}") from None


def _check_depth(text: str, where: str) -> None:
    """Raises `InputError` where a key has more parts than `MAX_PARTS`.

    Strings and comments may have any dots.
    """
    if not any(line.count(".") >= MAX_PARTS for line in text.split("\n")):
        return  # nearly all files
    for token in _TOKEN.finditer(text):
        if token["deep"] is not None:
            line = text.count("\n", 0, token.start()) + 1
            parts = len(re.findall(_PART, token["deep"]))
            raise InputError(
                f"{where}, line {line}: a key of {parts} parts, nested too deeply: at "
                f"most {MAX_PARTS}"
            )


Keys = tuple[Any, ...]
"""The place of a value: keys, and indices of lists."""

_SHOWN = 60
"""Letters of a value that are shown."""
_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_KEYS = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEYS})\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"\s*({_KEYS})\s*=")


def located(where: str, path: Keys, text: str = "") -> str:
    """`cluster.toml:7: costs.link`: file, line where it is found in `text`, key."""
    line = line_of(text, path) if text else None
    dotted = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
    return f"{where}:{line}: {dotted}" if line else f"{where}: {dotted}"


def line_of(text: str, path: Keys) -> int | None:
    """The line of a TOML text that sets a key or, without it, last opens a table towards it."""
    table: Keys = ()
    counts: dict[Keys, int] = {}
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            names = _names(header[2])
            if header[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
            here = table = _numbered(names, counts)
        elif assignment := _ASSIGNMENT.match(line):
            here = (*table, *_names(assignment[1]))
        else:
            continue
        if here == path[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return best[1] if best else None


def _names(keys: str) -> Keys:
    return tuple(key.strip("\"'") for key in re.findall(_KEY, keys))


def _numbered(names: Keys, counts: Mapping[Keys, int]) -> Keys:
    """A header's names, each behind which tables are counted with the number of the last."""
    found: list[Any] = []
    for k, name in enumerate(names, 1):
        found.append(name)
        if names[:k] in counts:
            found.append(counts[names[:k]])
    return tuple(found)


def rule_of(
    error: Mapping[str, Any], path: Keys, known: Callable[[Keys], Iterable[str]], kind: str = "key"
) -> str:
    """What pydantic found.

    Args:
        error: of pydantic's list.
        path: its place.
        known: the keys of the table that a path ends in.
        kind: what a key is called.
    """
    found, given = error["type"], error["input"]
    if found == "extra_forbidden":
        return f"unknown {kind} '{path[-1]}': {nearest(str(path[-1]), known(path))}"
    if found == "missing":
        return "is required"
    if found == "value_error":
        return str(error["ctx"]["error"])
    if found in ("model_type", "dict_type"):
        return f"must be a table, is {given!r}"
    message = re.sub(r"^Input should be ", "must be ", error["msg"]).replace(
        "Input should have", "must have"
    )
    message = re.sub(r"^(\w+) should ", lambda match: f"{match[1].lower()} must ", message)
    shown = "a table" if isinstance(given, Mapping) else repr(given)
    return f"{message}, is {shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + '...'}"


class Table(BaseModel):
    """A table or object of a file: known keys alone."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


T = TypeVar("T", bound=BaseModel)
_UNION_MEMBERS = ("str", "int", "constrained-int", "constrained-str", "literal")
"""Members of unions, which pydantic names among the keys of a path."""


def checked_table(model: type[T], data: Mapping[str, Any], where: str, text: str = "") -> T:
    """Return the model of a file's object; `text`, where there is one, gives the line.

    Raises:
        InputError: the first error: file, line, key, rule and value.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        # a key that is misspelt is missing too: the one in the file is nearer to the user
        errors = error.errors(include_url=False)
        first = min(errors, key=lambda each: each["type"] != "extra_forbidden")
        path = tuple(
            key
            for key in first["loc"]
            if not isinstance(key, str) or ("[" not in key and key not in _UNION_MEMBERS)
        )
        given = first["input"]
        rule = rule_of(first, path, lambda path: keys_at(model, path))
        if first["type"] == "literal_error" and isinstance(given, str):
            known = re.findall(r"'([^']+)'", first["ctx"]["expected"])
            rule = f"unknown word '{given}': {nearest(given, known)}"
        raise InputError(f"{located(where, path, text)}: {rule}") from None


def table_at(table: type[BaseModel], path: Keys) -> type[BaseModel]:
    """Return the model that has the last key of a path."""
    for key in path[:-1]:
        field = table.model_fields.get(str(key))  # None: an index, or a name that is free
        inner = classes_of(None if field is None else field.annotation)
        table = next((each for each in inner if issubclass(each, BaseModel)), table)
    return table


def keys_at(table: type[BaseModel], path: Keys) -> list[str]:
    """Return the keys that may be in the place of the last one of a path."""
    return [field.alias or name for name, field in table_at(table, path).model_fields.items()]


def classes_of(annotation: Any) -> list[type]:
    """Return the classes that an annotation is made of: `list[Block] | None`: Block, None."""
    inner = [each for part in get_args(annotation) for each in classes_of(part)]
    return [annotation, *inner] if isinstance(annotation, type) else inner
