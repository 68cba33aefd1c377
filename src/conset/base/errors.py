"""The errors that a user may meet, one small tree, each with its exit code.

Every message is one line that states what, where (file, line, index), the rule, and both numbers.
The command line prints the line and ends with `exit_code`; a library user catches `ConsetError`.
Nothing here ends the process.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any


class ConsetError(Exception):
    """Base of every error raised on purpose; `exit_code` is what the command line returns.

    Attributes:
        options: the options that the message names as Python spells them (`rank_by`), with a value
            where the word alone stands elsewhere in it too (`routes free`); the command line writes
            `--rank-by`, `--routes free`.
        what: what is wrong, where the command line has more to say of it: `pattern` or `machine`,
            not known; `file`, that is not there; `content`, of a file that is something else.
        given: the word or file that was given.
        known: the words that are known in place of `given`.
        rank: of the process, where all ranks of a job raise the same error; None: this one alone.
    """

    exit_code = 1
    rank: int | None = None

    def __init__(
        self,
        message: object = "",
        *,
        options: Iterable[str] = (),
        what: str = "",
        given: object = "",
        known: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.options, self.what, self.given = tuple(options), what, str(given)
        self.known = tuple(known)


class UsageError(ConsetError):
    """A word of the command line or of a spec is wrong: unknown name, value out of range."""

    exit_code = 2


class ArgumentError(UsageError, TypeError):
    """A function of the Python interface has no such argument."""


class UnavailableError(UsageError):
    """This machine does not permit what was asked for, or its kernel refused what that needs."""


class InputError(ConsetError):
    """A file's contents are wrong, or pattern, machine and method do not fit each other."""

    exit_code = 3


class VerificationError(ConsetError):
    """A schedule breaks a rule, or an execution delivered a wrong byte."""

    exit_code = 4


class ExecutionError(VerificationError):
    """A run did not end: a rank died, a deadline passed, or no launcher started it."""


class NoScheduleError(ConsetError):
    """No schedule exists, or none was found, within the limits."""

    exit_code = 5


class MissingExtraError(UsageError):
    """An optional library is not installed; the message names the command that brings it."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed: pip install 'conset[{extra}]'")


def import_extra(library: str, extra: str) -> Any:
    """Return the module of an optional library.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(library)
    except ImportError:
        raise MissingExtraError(library.partition(".")[0], extra) from None


def shortened(text: object, most: int = 60) -> str:
    """A name for a message: its middle left out where it has more than `most` letters."""
    name = str(text)
    return name if len(name) <= most else f"{name[: most - 20]}…{name[-19:]} ({len(name)} letters)"


MAX_TEXT = 100_000
"""Most letters of a text in a file."""
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What moves cursors, names windows or turns lines round where a text is printed."""


def printable(text: str) -> str:
    """A text with `?` in place of what may not be printed."""
    return _CONTROL.sub("?", text)


def require_texts(value: object, where: str) -> None:
    """Checks every text inside of what a file says, keys too: printable, of bounded length.

    Raises:
        InputError: a control character, or more than `MAX_TEXT` letters; names the text.
    """
    if isinstance(value, str):
        if (found := _CONTROL.search(value)) is not None:
            text = printable(shortened(value))
            raise InputError(f"{where}: '{text}' contains the control character {ord(found[0]):#x}")
        if len(value) > MAX_TEXT:
            raise InputError(f"{where}: a text of {len(value)} letters, at most {MAX_TEXT}")
    elif isinstance(value, Mapping):
        for key, each in value.items():
            require_texts(key, where)
            require_texts(each, where)
    elif isinstance(value, list):
        for each in value:
            if not isinstance(each, int | float):
                require_texts(each, where)


def unknown_name(
    kind: str, name: str, known: Iterable[str], *, options: Iterable[str] = ()
) -> UsageError:
    """A `UsageError` for an unknown word, with the nearest known one.

    `unknown method 'rsn': did you mean 'rs-n'?`.
    """
    known = tuple(known)
    message = f"unknown {kind} '{shortened(name)}': {nearest(name, known)}"
    return UsageError(message, options=options, what=kind, given=name, known=known)


def unknown_argument(function: str, name: str, known: Iterable[str]) -> ArgumentError:
    """An error for an unknown argument.

    `compile: unknown argument 'metod', did you mean 'method'?`.
    """
    return ArgumentError(
        f"{function}: unknown argument '{shortened(name)}', {nearest(name, known)}"
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """What may be meant by an unknown word.

    `did you mean 'rs-n'?`, or all that are known where none is near.
    """
    names = sorted(known)
    given = shortened(name)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    near = near or difflib.get_close_matches(given.lower(), names, n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
