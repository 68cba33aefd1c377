"""Files: written without halves, beside the target and renamed over it; read only where they are files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conset.errors import InputError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path` (same suffix); renamed over it at the end, removed on any error.

    Raises:
        InputError: the folder is missing or not writable, or `path` is a directory.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a directory, a file is required")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def require_file(path: str | Path) -> Path:
    """`path` as a `Path`, checked to be a file that has content and may be read.

    Raises:
        InputError: missing, a directory, a FIFO (it may wait for ever) or device, empty, or not to be read.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if path.is_file():
            path.open("rb").close()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # a name that is too long, one with a zero byte, no permission
        raise InputError(f"{shown(path)}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if path.is_dir():
        raise InputError(f"{path}: is a directory, a file is required")
    if not path.is_file():
        raise InputError(f"{path}: is {'a FIFO' if path.is_fifo() else 'a device'}, a file is required")
    if size == 0:
        raise InputError(f"{path}: is empty")
    return path


def is_file(path: str | Path) -> bool:
    """Whether there is a file of that name to read: no directory, and nothing that may wait for a writer (a FIFO)."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def read_text(path: str | Path) -> str:
    """The text in a file, UTF-8, without a byte order mark; lines end in a newline whatever the file has.

    Raises:
        InputError: as `require_file`, or no UTF-8.
    """
    try:
        return require_file(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text: byte {error.start} is not UTF-8") from None


def whole_number(text: str) -> int | None:
    """The whole number that a text of at most 18 decimal digits is, else None.

    `int` alone takes `1_1` as 11 and digits of any script, and trips over thousands of them.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def shown(value: object) -> str:
    """A word of a file in an error message, cut after 40 characters."""
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"
