"""Files and archives of arrays (`.npz`).

Files are written whole: beside the target, then renamed over it. They are read only where they are
files.

Archives are the same bytes every time, and are read without belief in what their headers promise:
`numpy.load` allocates what a header says (29 TiB from 214 bytes), gives bytes for a member that is
no array, and ends in errors of a dozen classes where an archive is damaged; `numpy.savez` writes
the clock.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from conset.base.errors import InputError, UsageError, shortened
from conset.base.units import require_memory

if TYPE_CHECKING:  # the command line begins with this module
    from numpy.typing import NDArray

_written: list[Path] = []


def written() -> tuple[Path, ...]:
    """The files that this process has written, in order, removed ones among them."""
    return tuple(_written)


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


def require_suffix(path: str | Path, what: str, *suffixes: str) -> Path:
    """Return `path` as a Path; raise UsageError unless it ends in one of `suffixes`.

    Args:
        path: of a file that is read or written.
        what: the kind of file, with its article: `a plan file`.
        suffixes: in lower case, each with its dot.
    """
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        known = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
        raise UsageError(f"{path}: {what} ends in {known}, given '{path.suffix}'")
    return path


def require_replaceable(path: Path) -> None:
    """Checks that what is at `path`, if anything, may be replaced by a file.

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
        raise InputError(f"{path}: no such file", what="file", given=path) from None
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


_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_KINDS = "biufcUS"
"""Booleans, integers, floating-point and complex numbers, texts."""
_DEFLATE = 1040
"""A deflated byte becomes at most so many."""
_LEVEL = 1
"""Deflate's fastest level.

A schedule of millions of messages compresses 3 times faster and little worse than at 6.
"""
_LARGE_B = 1 << 24
"""From here on an entry is deflated only where that pays."""
_PAYS = 4
"""Factor of compression above which Deflate reads and writes hundreds of MB/s.

Below it is tens of MB/s.
"""
_SAMPLES, _SAMPLE_B = 16, 1 << 14


def write_archive(file: IO[bytes] | Path, entries: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Writes an `.npz`, entry by entry; entries carry zip's epoch, not the clock.

    Large entries that hardly compress are stored: which ones, a sample of their values says.
    """
    import numpy as np

    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, values in entries:
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = (
                zipfile.ZIP_DEFLATED if _deflates(np.asarray(values)) else zipfile.ZIP_STORED
            )
            # an entry of its own forgets the archive's
            entry._compresslevel = _LEVEL  # type: ignore[attr-defined]
            with archive.open(entry, "w", force_zip64=True) as target:
                np.lib.format.write_array(
                    target, np.asarray(values), version=(1, 0), allow_pickle=False
                )


def _deflates(values: NDArray[Any]) -> bool:
    """Whether an entry is worth deflating."""
    import numpy as np

    if values.nbytes < _LARGE_B or values.ndim == 0:
        return True
    rows = max(1, _SAMPLE_B * values.shape[0] // values.nbytes)
    begins = np.linspace(0, values.shape[0] - rows, _SAMPLES, dtype=np.int64).tolist()
    sample = [values[begin : begin + rows].tobytes() for begin in begins]
    return sum(len(zlib.compress(part, _LEVEL)) for part in sample) * _PAYS <= sum(
        len(part) for part in sample
    )


def read_archive(
    path: str | Path,
    only: Collection[str] = (),
    check_shape: Callable[[str, tuple[int, ...]], object] = lambda name, shape: None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by their names.

    Args:
        path: the file.
        only: names of arrays, of which those that are there are read; (): all.
        check_shape: called with name and shape of each before any of them is read.

    Raises:
        InputError: missing, no archive, truncated or damaged, a member that is no plain array, or
            one that promises another size than it has; names the file and the member.
    """
    path = require_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len({member.filename for member in members}) < len(members):
                raise InputError(f"{path}: no valid .npz archive: two members have one name")
            wanted = {
                member.filename.removesuffix(".npy"): member
                for member in members
                if not only or member.filename.removesuffix(".npy") in only
            }
            for name, member in wanted.items():
                check_shape(name, _shape(archive, member, path))
            require_memory(sum(member.file_size for member in wanted.values()), str(path))
            return {name: _array(archive, member, path) for name, member in wanted.items()}
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: does not fit into memory: {error}") from None
    except Exception as error:  # whatever zipfile or zlib trips over is a broken file
        with path.open("rb") as file:
            whole = zipfile.is_zipfile(file)
        reason = f"no valid .npz archive: {error}" if whole else "no .npz archive, or truncated"
        raise InputError(f"{path}: {reason}") from None


def _where(member: zipfile.ZipInfo, path: Path) -> str:
    return f"{path}: no valid .npz archive: member {shortened(member.filename)!r}"


def _shape(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> tuple[int, ...]:
    """Return the shape in the header of an array, whose size must be that of its member."""
    where = _where(member, path)
    if not member.filename.endswith(".npy"):
        raise InputError(f"{where} is no array")
    if member.flag_bits & 1:
        raise InputError(f"{where} is encrypted")
    if member.compress_type not in _METHODS:
        raise InputError(
            f"{where} is compressed by method {member.compress_type}, which .npz does not know"
        )
    if (
        member.file_size > _DEFLATE * member.compress_size
        or member.compress_size > path.stat().st_size
    ):
        raise InputError(f"{where} promises {member.file_size} bytes out of {member.compress_size}")
    with archive.open(member) as file:
        promised, shape = _promised(file, where)
    if promised != member.file_size:
        raise InputError(
            f"{where}: its header promises {promised} bytes, it has {member.file_size}"
        )
    return shape


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> NDArray[Any]:
    import numpy as np

    with archive.open(member) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    if array.dtype.kind == "U":  # NumPy does not look at the code points
        native = array.astype(array.dtype.newbyteorder("="))
        if np.frombuffer(native.tobytes(), np.uint32).max(initial=0) > sys.maxunicode:
            raise InputError(f"{_where(member, path)}: a letter above {sys.maxunicode}")
    return array


def _promised(file: IO[bytes], where: str) -> tuple[int, tuple[int, ...]]:
    """Return the bytes of a member by the header of its array, header included, and its shape."""
    import numpy as np

    try:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
    except MemoryError:
        raise
    except (
        Exception
    ) as error:  # the header is a Python expression: its errors are those of a parser, or any
        raise InputError(f"{where}: no header of an array: {type(error).__name__}") from None
    if dtype.hasobject or dtype.kind not in _KINDS:
        raise InputError(f"{where}: numbers or a text required, given {dtype}")
    if any(type(side) is not int or side < 0 for side in shape):
        raise InputError(f"{where}: shape {shape}: whole numbers of at least 0 required")
    return file.tell() + prod(shape) * dtype.itemsize, shape
