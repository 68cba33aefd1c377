"""Writing without halves: beside the target first, then renamed over it."""

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
    """`path` as a `Path`, checked to be a file that has content.

    Raises:
        InputError: missing, a directory, or empty.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a directory, a file is required")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is empty")
    return path
