"""Options as fields of dataclasses, and arguments of functions.

From a field follow its checks, the command line, help, completion and the signatures of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, field, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from conset.base.errors import UsageError, unknown_argument, unknown_name

P = ParamSpec("P")
R = TypeVar("R")


def option(
    default: Any,
    metavar: str | None,
    help: str,
    *,
    known: Callable[[], Iterable[str]] | None = None,
    check: Callable[[str], object] | None = None,
    least: int | None = None,
    most: int | None = None,
    python: str | None = None,
) -> Any:
    """A field that is an option, with all that the command line and its checks need.

    Args:
        default: the value where it is not given.
        metavar: the placeholder of its value in the help; None: the option has none.
        help: one line of the help.
        known: the values that it takes, which a shell completes.
        check: raises for an unknown word; None: every value is one of `known`, if that is given.
        least: smallest number.
        most: largest number.
        python: what Python takes, where that is more than the field's type.
    """
    about: dict[str, Any] = {"metavar": metavar, "help": help, "known": known, "check": check}
    about |= {"least": least, "most": most} | ({} if python is None else {"python": python})
    return field(default=default, metadata=about)


def check_option(field: Field[Any], value: Any) -> None:
    """Raises `UsageError` for a number out of range or an unknown word."""
    if value is None:
        return
    about = field.metadata
    least, most, known, check = about["least"], about["most"], about["known"], about["check"]
    if least is not None and value < least:
        raise UsageError(f"{field.name} {value}: must be at least {least}", options=[field.name])
    if most is not None and value > most:
        raise UsageError(f"{field.name} {value}: must be at most {most}", options=[field.name])
    if check is not None:
        check(value)
    elif known is not None and value not in (words := tuple(known())):
        raise unknown_name(field.name, value, words)


def python_interface(function: Callable[P, R]) -> Callable[P, R]:
    """The function with checked arguments, for callers that no type checker has looked at.

    Its signature stays visible to `inspect.signature` and to type checkers.

    Raises:
        ArgumentError: from the function: an argument that it does not have.
    """
    names = tuple(signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **named: P.kwargs) -> R:
        for name in named:
            if name not in names:
                raise unknown_argument(function.__name__, name, names)
        return function(*args, **named)

    return checked


def with_fields(record: type[Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lists the fields of a dataclass as arguments of a function that takes `**changes`.

    They are in its signature, as `metadata["python"]` or their type, and in its documentation in
    place of `**changes: {changes}`.
    """

    def listed(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        plain = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        changes = [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.metadata.get("python", field.type),
            )
            for field in fields(record)
            if field.name not in own.parameters
        ]
        function.__signature__ = own.replace(parameters=plain + changes)  # type: ignore[attr-defined]
        described = (record.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        function.__doc__ = (function.__doc__ or "").replace(
            "**changes: {changes}", described.strip()
        )
        return function

    return listed
