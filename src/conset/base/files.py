"""Files: written without halves, beside the target and renamed over it.

Read only where they are files.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conset.base.errors import InputError, shortened

_half_written: set[Path] = set()
_written: list[Path] = []


def written() -> tuple[Path, ...]:
    """The files that this process has written, in order.

    What a command that is interrupted has to say.
    """
    return tuple(_written)


def remove_half_written() -> None:
    """Removes what `replacing` has begun; for a process that ends at once."""
    for path in tuple(_half_written):
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path` (same suffix).

    Renamed over it at the end, removed on any error.

    Raises:
        InputError: the folder is missing or not writable, `path` is a directory, a device or a
            pipe, the disk is full, or the file grows larger than the system allows.
    """
    path = Path(path)
    require_replaceable(path)
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem[:100]}.", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    temporary = Path(name)
    _half_written.add(temporary)
    try:
        os.close(handle)
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
        _written.append(path)
    except BaseException as error:
        if not temporary.exists() and path not in _written:
            _written.append(path)  # interrupted right after the renaming
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
        raise
    finally:
        _half_written.discard(temporary)


def require_replaceable(path: Path) -> None:
    """Checks that what stands at `path`, if anything, may be replaced by a file.

    Raises:
        InputError: a directory, a device, a pipe, or no name of a file.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{shortened(path)}: cannot be written: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a directory, a file is required")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: cannot be written: is a device or a pipe, a file is required")


def require_file(path: str | Path) -> Path:
    """`path` as a `Path`, checked to be a file that has content and may be read.

    Raises:
        InputError: missing, a directory, a FIFO (it may wait for ever) or device, empty, or not to
            be read.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if path.is_file():
            path.open("rb").close()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (
        OSError,
        ValueError,
    ) as error:  # a name that is too long, one with a zero byte, no permission
        raise InputError(
            f"{shortened(path)}: cannot be read: {getattr(error, 'strerror', error)}"
        ) from None
    if path.is_dir():
        raise InputError(f"{path}: is a directory, a file is required")
    if not path.is_file():
        raise InputError(
            f"{path}: is {'a FIFO' if path.is_fifo() else 'a device'}, a file is required"
        )
    if size == 0:
        raise InputError(f"{path}: is empty")
    return path


def is_file(path: str | Path) -> bool:
    """Whether there is a file of that name to read.

    No directory, and nothing that may wait for a writer (a FIFO).
    """
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def read_text(path: str | Path) -> str:
    """The text in a file, UTF-8, without a byte order mark.

    Lines end in a newline whatever the file has.

    Raises:
        InputError: as `require_file`, or no UTF-8.
    """
    try:
        return require_file(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def whole_number(text: str) -> int | None:
    """The whole number that a text of at most 18 decimal digits is, else None.

    `int` alone takes `1_1` as 11 and digits of any script, and trips over thousands of them.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None
