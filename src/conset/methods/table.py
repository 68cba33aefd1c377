"""The table of all methods: name, function, limits, domain, guarantee. Compiler, help, docs and tests read it."""

from __future__ import annotations

from conset.errors import unknown_name
from conset.methods.method import Method
from conset.methods.rows import ROWS


def find_method(name: str) -> Method:
    """The row called `name`.

    Raises:
        UsageError: unknown, with the nearest known name.
    """
    methods = table()
    if name not in methods:
        raise unknown_name("method", name, methods)
    return methods[name]


def table() -> dict[str, Method]:
    """All rows by name, in the order of the documentation."""
    return {row.name: row for row in ROWS}
