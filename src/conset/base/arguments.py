"""Arguments of the Python interface: unknown ones are named with the nearest known."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from conset.base.errors import unknown_argument

P = ParamSpec("P")
R = TypeVar("R")


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
