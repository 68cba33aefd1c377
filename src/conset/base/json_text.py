"""JSON in files, parsed without belief.

No key twice, no constants that are no numbers, no depth without end.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import Array
from conset.base.errors import InputError, shortened

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""A surrogate in JSON, escaped or not."""


def json_text(value: Any) -> str:
    """A value as files have it."""
    return json.dumps(value, ensure_ascii=False)


def parse_json(path: Path, *, constants: bool = False) -> Any:
    """The JSON in a file; raises as `parse_text`, without the file's name."""
    try:
        return parse_text(path.read_bytes(), constants=constants)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from None


def parse_text(text: str | bytes, *, constants: bool = False) -> Any:
    """The JSON that a text is, no key twice; NaN and Infinity only where `constants`.

    Raises:
        InputError: no JSON (names line and column), nested too deeply, a number of thousands of
            digits, or half of a surrogate pair.
    """
    try:
        with _no_collection():
            found = json.loads(
                text, object_pairs_hook=_unique, parse_constant=float if constants else _no_constant
            )
        raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        if _SURROGATE.search(raw):
            json_text(found).encode()  # fails where a surrogate is alone
        return found
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno} column {error.colno}: not valid JSON: {error.msg}"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})") from None
    except (InputError, ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}") from None


def parse_header(entries: dict[str, Array], *, constants: bool = False) -> Any:
    """The JSON in the entry `header` of an archive.

    Raises:
        InputError: missing, no text, or no JSON.
    """
    if "header" not in entries:
        raise InputError("entry 'header' is missing")
    header = entries["header"]
    if header.ndim != 0 or header.dtype.kind != "U":
        raise InputError(
            f"entry 'header': one text required, given {header.dtype} of shape {header.shape}"
        )
    try:
        return parse_text(str(header), constants=constants)
    except InputError as error:
        raise InputError(f"entry 'header': {error}") from None


def header_entry(head: dict[str, Any]) -> NDArray[np.str_]:
    """The entry `header` of an archive."""
    return np.array(json_text(head))


def shown(value: Any) -> str:
    """A value in an error message, shortened."""
    try:
        text = "null" if value is None else repr(value)
    except (RecursionError, ValueError):  # nested a thousand deep, a number of thousands of digits
        text = type(value).__name__
    return shortened(text)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Within: no garbage is looked for.

    Of a million lists none is, and looking takes as long as reading them.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f"key '{next(key for key in keys if keys.count(key) > 1)}' is there twice")
    return found


def _no_constant(name: str) -> float:
    raise InputError(f"{name} is no number of JSON")
