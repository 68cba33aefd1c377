"""What goes out: a reader that leaves (`| head`) is no error, a full disk is one, a closed output is nobody's."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from conset.errors import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_failures: list[OSError] = []


def open_streams() -> None:
    """Replaces stdout and stderr by streams that never fail; what is closed leads nowhere.

    A command goes on where nobody reads, or nobody can write, so that its exit code is what it would have been.
    """
    for descriptor in (0, 1, 2):  # else the next file that is opened takes the place
        try:
            os.fstat(descriptor)
        except OSError:
            _to_nowhere(descriptor)
    sys.stdout = _stream(sys.stdout, _Output(1), is_errors=False)
    sys.stderr = _stream(sys.stderr, _Output(2), is_errors=True)


def close_streams(code: int) -> int:
    """Writes what is left and returns the exit code: `code`, or that of an output that could not be written."""
    sys.stdout.flush()
    for error in _failures:
        print(f"conset: standard output: cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201
        code = code or InputError.exit_code
    sys.stderr.flush()
    return code


def _stream(old: TextIO | None, raw: io.FileIO, *, is_errors: bool) -> TextIO:
    if old is not None and not isinstance(old, io.TextIOWrapper):
        return old  # somebody else's
    encoding, errors = ("utf-8", None) if old is None else (old.encoding, old.errors)
    lines = is_errors or (old is not None and old.line_buffering)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=lines)


class _Output(io.FileIO):
    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == 1 and not isinstance(error, BrokenPipeError):
                _failures.append(error)
            _to_nowhere(self.fileno())
        return memoryview(data).nbytes


def _to_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
