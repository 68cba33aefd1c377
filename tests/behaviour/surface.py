"""Public interfaces: names, signatures and attributes of Python, declarations of C."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

SPECIAL = frozenset(
    [
        "__call__",
        "__contains__",
        "__enter__",
        "__eq__",
        "__exit__",
        "__getitem__",
        "__hash__",
        "__iter__",
        "__len__",
        "__repr__",
        "__str__",
        "_repr_html_",
        "_repr_png_",
        "_repr_svg_",
    ]
)
"""Special methods that belong to an interface where a class defines them."""


def python_surface(root: Path) -> dict[str, Any]:
    """Every name of `conset.__all__`: signature of a function, attributes of a class."""
    conset = importlib.import_module("conset")
    return {name: describe(getattr(conset, name)) for name in sorted(conset.__all__)}


def errors_surface(root: Path) -> dict[str, Any]:
    """Classes of `conset.errors` with their bases and exit codes."""
    errors = importlib.import_module("conset.errors")
    found = {}
    for name, value in sorted(vars(errors).items()):
        if inspect.isclass(value) and issubclass(value, errors.ConsetError):
            bases = [base.__name__ for base in value.__mro__[1:-1]]
            found[name] = {"exit": value.exit_code, "bases": bases}
    return found


def describe(value: Any) -> Any:
    """A function's signature, a class's attributes, a constant's type."""
    if inspect.isclass(value):
        return of_class(value)
    return signature(value) if callable(value) else type(value).__name__


def signature(function: Any) -> str:
    """As `inspect` has it, with types by their last name: modules may move."""
    try:
        text = str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(…)"
    text = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", r"<\1>", text)
    return re.sub(r"\b(?:[a-zA-Z_]\w*\.)+(?=[A-Za-z_])", "", text)


def of_class(value: type) -> dict[str, Any]:
    """Signature, fields, public attributes and special methods."""
    found: dict[str, Any] = {"signature": signature(value)}
    if dataclasses.is_dataclass(value):
        found["fields"] = [field.name for field in dataclasses.fields(value)]
    own = [base for base in value.__mro__ if base.__module__.split(".")[0] == "conset"]
    names = {name for base in own for name in vars(base)}
    for name in sorted(names):
        if name.startswith("_") and name not in SPECIAL:
            continue
        attribute = inspect.getattr_static(value, name)
        if isinstance(attribute, classmethod | staticmethod):
            found[name] = f"{type(attribute).__name__} {signature(getattr(value, name))}"
        elif callable(attribute):
            found[name] = signature(attribute)
        else:
            found[name] = "value"
    return found


def c_surface(root: Path) -> dict[str, Any]:
    """Macros, types, enumerators and functions that `conset.h` declares."""
    text = (root / "cpp" / "capi" / "conset.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = text.replace("\\\n", " ")
    macros = sorted(re.findall(r"^\s*#\s*define\s+(\w+(?:\([^)]*\))?)", text, flags=re.M))
    code = " ".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    code = " ".join(code.split())
    functions = re.findall(
        r"[\w*][\w* ]*\bconset_\w+ ?\([^(){};]*(?:\([^)]*\)[^(){};]*)*\)(?= ?[;{])", code
    )
    return {
        "macros": macros,
        "functions": sorted({each.strip() for each in functions if not each.startswith("return ")}),
        "types": sorted(set(re.findall(r"typedef [^;{]*(?:\{[^}]*\} ?\w+)?;", code))),
        "enumerators": sorted(set(re.findall(r"\bCONSET_\w+(?: = \d+)?", code))),
    }
