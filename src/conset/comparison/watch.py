"""Watch: callbacks that report what is done next; the command line shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Watch = Callable[[str], AbstractContextManager[None]]
"""Called with what is done next; entered for as long as that takes."""


def quiet(what: str) -> AbstractContextManager[None]:
    """Says nothing."""
    return nullcontext()
