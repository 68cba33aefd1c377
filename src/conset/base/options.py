"""Options as fields of dataclasses, from which checks, command line, help and completion follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, field
from typing import Any

from conset.base.errors import UsageError, unknown_name


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
        metavar: what stands for its value in the help; None: the option has none.
        help: one line of the help.
        known: the words that it takes, which a shell completes.
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
