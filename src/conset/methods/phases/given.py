"""Methods of other people: a function, the function of a file, or one of an installed package.

A method is a function `(Problem) -> Phases`. A function of Python and a function of a file are both
called `FILE.py:NAME`, by the file that defines them. Packages register functions by names of their
choice in the group `conset.methods` of entry points, which is looked at when a name is unknown or
all methods are listed.

Only `function_in` executes a file. Commands and the functions of the Python interface hand it what
their user named (`conset.methods.phases.table.load_method`), and no text of a file that is read as
data: `find_method`, which looks names up, knows what was loaded before in the process.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from conset.base import ConsetError, InputError, UsageError, python_interface, require_file
from conset.machine import Limits
from conset.methods.phases.problem import (
    ANY,
    Method,
    Phases,
    Problem,
)

MethodFunction = Callable[[Problem], Phases]
GROUP = "conset.methods"
"""Of entry points."""
DECLARED = "conset_method"
"""Attribute of a function: the arguments of `method`."""
_LIBRARY = str(Path(__file__).parents[2])
Function = TypeVar("Function", bound=MethodFunction)


@python_interface
def method(
    *,
    limits: Limits | str = ANY,
    keeps_order: bool = False,
    title: str = "",
    any_value: Iterable[str] = (),
) -> Callable[[Function], Function]:
    """Says of a function `(Problem) -> Phases` what it keeps; it can be called as before.

    >>> @method(limits="send=1,receive=1", title="one message after the other")
    ... def one_by_one(problem: Problem) -> Phases:
    ...     return Phases.of(range(problem.pattern.messages))

    Args:
        limits: what every phase keeps, as an object or as text (`send=1,receive=1`; what is not
            named is not limited); without this decorator one message out of a node, one into it
            and one on a link.
        keeps_order: whether a message whose pattern has an order waits for those before it.
        title: what it is, in a few words; "": the first line of its documentation.
        any_value: the limits that it keeps at any other value too (`link`), which it finds in
            `problem.limits`.

    Raises:
        UsageError: limits that do not parse.
    """
    kept = Limits().changed(limits) if isinstance(limits, str) else limits
    words = {
        "limits": lambda topology: kept,
        "ordered": keeps_order,
        "adjustable_limits": frozenset(any_value),
        **({"title": title} if title else {}),
    }

    def declare(function: Function) -> Function:
        setattr(function, DECLARED, words)
        return function

    return declare


def method_of(name: str, function: MethodFunction) -> Method:
    """The row of a function under a name."""
    said: dict[str, Any] = getattr(function, DECLARED, {})
    ordered = said.get("ordered", False)
    title, _, _ = (function.__doc__ or "").strip().partition("\n")
    row = Method(
        name,
        run=_checked(name, function),
        title=title or "a method of your own",
        limits=lambda topology: ANY,
        adjustable_limits=frozenset(),
        ordered=ordered,
        domain="as its author says" if ordered else "as its author says; no order",
        guarantee="none that conset knows",
        complexity="as its author says",
        reference=name_of(function),
    )
    return replace(row, **said)


class FaultyMethodError(InputError):
    """A method failed, or gave what cannot be phases of its pattern."""


def _checked(name: str, function: MethodFunction) -> MethodFunction:
    """The function with its errors in one line and its result looked at."""

    @wraps(function)
    def schedule(problem: Problem) -> Phases:
        try:
            found = function(problem)
        except ConsetError:
            raise
        except Exception as error:
            raise FaultyMethodError(f"method {name}: {_where(error)}") from error
        if not isinstance(found, Phases):
            raise FaultyMethodError(
                f"method {name}: must give conset.Phases, gave {type(found).__name__}"
            )
        _require_messages(name, found, problem.pattern.messages)
        return found

    return schedule


def _require_messages(name: str, found: Phases, messages: int) -> None:
    """Raises `FaultyMethodError` where phases do not hold every message, whole ones once."""
    message = np.asarray(found.message)
    if message.size < messages or (found.parts is None and message.size != messages):
        raise FaultyMethodError(
            f"method {name}: gave phases of {message.size} messages, the pattern has {messages}"
        )
    if messages and not 0 <= message.min() <= message.max() < messages:
        raise FaultyMethodError(f"method {name}: gave messages that are not in 0 … {messages - 1}")
    count = np.bincount(message, minlength=messages)
    wrong = np.flatnonzero(count < 1 if found.parts is not None else count != 1)
    if wrong.size:
        raise FaultyMethodError(
            f"method {name}: gave message {wrong[0]} {count[wrong[0]]} times, once is required"
        )


def _where(error: Exception) -> str:
    """`mine.py:12: ValueError: why`, in one line: the deepest line that is the author's own."""
    places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    own = [place for place in places if not place[0].startswith(("<frozen", _LIBRARY))]
    own = [place for place in own if "site-packages" not in place[0]]
    file, line = (own or places)[-1]
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    text = " ".join(str(error).split())
    return f"{Path(file).name}:{line}: {type(error).__name__}{': ' if text else ''}{text}"


def is_in_file(text: str) -> bool:
    """Whether a name says `FILE.py:NAME`."""
    return text.rpartition(":")[0].endswith(".py")


def function_in(text: str) -> tuple[str, MethodFunction]:
    """(`FILE.py:NAME` without folders, the function) of a text with them; executes the file.

    Raises:
        UsageError: no such file, or no such function in it.
        InputError: the file's own error, with its line.
    """
    file, _, name = text.rpartition(":")
    path = require_file(file)
    spec = spec_from_file_location(f"{path.stem} of {path.resolve()}", path)
    assert spec is not None  # its name ends in .py
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # where its classes look for it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"method {text}: {_where(error)}") from error
    if not callable(function := getattr(module, name, None)):
        own = [
            key
            for key, value in vars(module).items()
            if callable(value) and getattr(value, "__module__", "") == module.__name__
        ]
        known = ", ".join(own) or "it has none"
        raise UsageError(
            f"method {text}: no function '{name}' in {path.name}: {known}",
            options=["method"],
        )
    return f"{path.name}:{name}", function


def name_of(function: MethodFunction) -> str:
    """`FILE.py:NAME` of a function, or `MODULE:NAME` where no file defines it."""
    module = getattr(function, "__module__", None) or "python"
    file = getattr(sys.modules.get(module), "__file__", None)
    home = module if file is None else Path(file).name
    return f"{home}:{getattr(function, '__name__', type(function).__name__)}"


def installed_methods() -> dict[str, Callable[[], Method]]:
    """Name → how to load it, of the methods of installed packages."""
    from importlib.metadata import entry_points  # takes as long as a small compile

    def loader(entry: Any) -> Callable[[], Method]:
        def load() -> Method:
            try:
                function = entry.load()
            except Exception as error:
                raise InputError(
                    f"method {entry.name} of {entry.value}: {_where(error)}"
                ) from error
            return method_of(entry.name, function)

        return load

    return {entry.name: loader(entry) for entry in entry_points(group=GROUP)}
