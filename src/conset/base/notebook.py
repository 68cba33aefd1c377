"""Forms of nouns in a notebook.

Whoever draws nouns registers here, nouns ask here and do not import the drawing code.

No library is imported: `conset` itself registers a loader, so that the drawing code loads when a
noun is first shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Noun = TypeVar("Noun")

_forms: dict[type, Callable[[Any], str]] = {}
_loaders: list[Callable[[], object]] = []


def load_forms_by(load: Callable[[], object]) -> None:
    """Calls `load` once, before the first noun is shown; it registers forms."""
    _loaders.append(load)


def register_form(noun: type[Noun], form: Callable[[Noun], str]) -> None:
    """Nouns of this class are shown as the HTML that `form` returns."""
    _forms[noun] = form


def html_of(noun: object) -> str | None:
    """HTML of a noun, or None where none is registered.

    A notebook then shows its `repr`.
    """
    while _loaders:
        _loaders.pop()()
    form = _forms.get(type(noun))
    return None if form is None else form(noun)
