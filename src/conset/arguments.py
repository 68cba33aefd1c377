"""Arguments of the Python interface: unknown ones are named with the nearest known, and errors speak Python.

Where the library names options as the command line spells them (`--rows-to 4`), functions for Python programs say
`rows_to 4`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from conset.errors import ConsetError, unknown_argument

P = ParamSpec("P")
R = TypeVar("R")

_OTHERWISE = {"set": "conset.machine.spec.with_settings"}
"""Options that are no arguments."""
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")


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
        try:
            return function(*args, **named)
        except ConsetError as error:
            error.args = (in_python(str(error)),)
            raise

    return checked


def in_python(text: str) -> str:
    """A message with options of the command line as arguments: `--rows-to 4` is `rows_to 4`, `--lp` is `lp`."""
    return _OPTION.sub(lambda option: _OTHERWISE.get(option[1], option[1].replace("-", "_")), text)
