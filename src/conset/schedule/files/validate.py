"""The validator of conset's own files.

Models of pydantic, and what they find in one line of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from conset.base.errors import ConsetError, InputError
from conset.base.json_text import shown

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "float_type": "a number",
}
_OBJECTS = ("model_type", "dict_type", "model_attributes_type")
_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
_SHOWN = 16
"""Keys that are named where none is near."""
_FIRST = {"extra_forbidden": 0, "missing": 1}
"""Order of what is wrong in one object: unknown keys, then missing ones, then values."""


class Table(BaseModel):
    """An object of a file: known keys alone.

    Attributes:
        whole: what the outermost object is called in errors.
        entries: whether its keys are called entries, as those of an archive.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    whole: ClassVar[str] = "file"
    entries: ClassVar[bool] = False


class SaidError(ValueError):
    """A rule that is broken, in a line that names its place itself."""


_Table = TypeVar("_Table", bound=Table)


def checked(model: type[_Table], found: Any) -> _Table:
    """`found` as the model says.

    Raises:
        InputError: the first thing that is wrong, from the outside in: place, rule, and what is
            there instead.
    """
    try:
        return model.model_validate(found)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        first = min(errors, key=lambda each: (len(each["loc"]), _FIRST.get(each["type"], 2)))
        raise InputError(_line(model, first)) from None


def by_noun(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A validator of pydantic from a check of a noun, which raises errors of ours."""

    def run(value: Any) -> Any:
        try:
            check(value)
        except ConsetError as error:
            raise SaidError(str(error)) from None
        return value

    return run


def unknown_key(key: str, known: Collection[str], kind: str = "key") -> str:
    """`unknown key 'phase': did you mean 'phases'?`."""
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    some = ", ".join([*known][:_SHOWN]) + ("" if len(known) <= _SHOWN else ", …")
    hint = f"did you mean '{near[0]}'?" if near else f"known: {some}"
    return f"unknown {kind} '{key}': {hint}"


def _line(model: type[Table], error: Mapping[str, Any]) -> str:
    """What pydantic found, in our words."""
    path, kind, given = tuple(error["loc"]), error["type"], error["input"]
    if kind in _FIRST:
        return _line_of_key(model, path, kind)
    place = _place(model, path)
    if kind == "value_error":
        text = str(error["ctx"]["error"])
        return text if isinstance(error["ctx"]["error"], SaidError) else f"{place}: {text}"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        none = ", or null for none" if _may_be_null(model, path) else ""
        return f"{place} = {shown(given)}: must be {words} {error['ctx'][bound]}{none}"
    if kind in _OBJECTS:
        return f"{place}: an object is required, given {shown(given)}"
    if kind == "literal_error":
        return f"{place}: must be {error['ctx']['expected']}, is {shown(given)}"
    rule = _KINDS[kind] if kind in _KINDS else error["msg"].removeprefix("Input should be ")
    return f"{place}: must be {rule}, is {shown(given)}"


def _line_of_key(model: type[Table], path: tuple[Any, ...], kind: str) -> str:
    """Of a key that is missing, or that nobody knows."""
    *outer, key = path
    table, key = _table_at(model, outer), str(key)
    word = "entry" if model.entries and not outer else "key"
    before = f"{_dotted(outer) or model.whole}: " if word == "key" else ""
    if kind == "missing":
        return f"{before}{word} '{key}' is missing"
    return before + unknown_key(shown(key)[1:-1], keys_of(table), word)


def keys_of(table: type[BaseModel]) -> list[str]:
    """The keys that an object may have, as they stand in files."""
    return [field.alias or name for name, field in table.model_fields.items()]


def _place(model: type[Table], path: tuple[Any, ...]) -> str:
    if model.entries and len(path) == 1:
        return f"entry '{path[0]}'"
    return _dotted(path) or model.whole


def _dotted(path: Collection[Any]) -> str:
    """`blocks[2].repeat`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def _table_at(model: type[BaseModel], path: Collection[Any]) -> type[BaseModel]:
    """The model of an object within one of `model`."""
    table = model
    for key in path:
        if isinstance(key, str):
            table = next(
                each for each in _types(_annotation(table, key)) if issubclass(each, BaseModel)
            )
    return table


def _may_be_null(model: type[BaseModel], path: tuple[Any, ...]) -> bool:
    return type(None) in _types(_annotation(_table_at(model, path[:-1]), str(path[-1])))


def _annotation(table: type[BaseModel], key: str) -> Any:
    return next(
        field.annotation for name, field in table.model_fields.items() if key in (name, field.alias)
    )


def _types(annotation: Any) -> list[type]:
    """The classes that an annotation is made of: `list[Block] | None`: list, Block, None."""
    inner = [each for part in get_args(annotation) for each in _types(part)]
    return (
        [annotation, *inner] if isinstance(annotation, type) and not get_args(annotation) else inner
    )
