"""Signals and streams of the command line.

Ctrl-C, an end from outside, a reader that leaves, a full disk.

Before a command begins Ctrl-C ends the process, which has done nothing yet (`conset.cli.entry`).
While it works it is an exception, on which files that are half written are removed; Ctrl-C again
does not stop that, three times does. In a long search the first Ctrl-C asks for the best so far
(`interruptible`), the next is the exception. What a search does with the wish is in
`cpp/include/conset/stop.hpp`.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from conset.base.errors import InputError
from conset.cli.entry import end, end_early

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


STOPPED = 6
"""The exit code of a command that was stopped and gives its best so far."""
END_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT")
"""Ends from outside, by name: not every system has them."""


class Terminated(BaseException):
    """Ctrl-C or one of `END_SIGNALS` came.

    No `KeyboardInterrupt`, on which a search would give its best so far.
    """


def listen_late() -> None:
    """The last thing a process does: the command is over, nothing changes its exit code."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def interrupts() -> Iterator[None]:
    """Within: Ctrl-C and the ends from outside are exceptions.

    Only in a process that `listen_early` began.

    Raises:
        Terminated: the first of them, as soon as the core has returned, which it is asked to do.
    """
    if signal.getsignal(signal.SIGINT) is not end_early:
        yield
        return
    try:
        from conset.base.stopping import stopped_by
    except ImportError:  # without its core, of which `conset doctor` has to tell
        yield
        return
    signal.signal(signal.SIGINT, _Presses())
    for number in _endings():
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end_once)
    with stopped_by(signal.SIGINT, *_endings()):
        yield


def _endings() -> list[signal.Signals]:
    return [getattr(signal, name) for name in END_SIGNALS if hasattr(signal, name)]


def _end_once(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # again: cleaning up goes on
    raise Terminated


class _Presses:
    """An end, then nothing while it cleans up, then an end without."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            raise Terminated
        if self.count >= 3:
            from conset.base.files import remove_half_written

            remove_half_written()
            end("interrupted three times, ended")


@contextmanager
def interruptible() -> Iterator[None]:
    """Within: the first Ctrl-C asks the search to stop; the second is an interrupt.

    Raises:
        KeyboardInterrupt: the search was asked to stop and had nothing to give, or Ctrl-C was
            pressed twice.
    """
    import threading

    from conset import _core
    from conset.base.errors import ConsetError
    from conset.base.stopping import stopped_by

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    _core.reset_search()
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, _Once(before))
    try:
        with stopped_by(signal.SIGINT, *_endings()):
            yield
    except ConsetError:
        if _core.stop_asked():
            # a search that was cut short says that it found nothing
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        _core.reset_search()


class _Once:
    """The handler in Python.

    Asks at the first Ctrl-C, leaves the others to what handled it before.
    """

    def __init__(self, before: object) -> None:
        self.stop_requested, self.before = False, before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        from conset import _core

        if self.stop_requested:
            if callable(self.before):
                self.before(number, frame)
                return
            raise KeyboardInterrupt
        self.stop_requested = True
        _core.ask_stop()


_failures: list[OSError] = []


def open_streams() -> None:
    """Replaces stdout and stderr by streams that never fail; what is closed leads nowhere.

    A command goes on where nobody reads, or nobody can write, so that its exit code is what it
    would have been.
    """
    for descriptor in (0, 1, 2):  # else the next file that is opened takes the place
        try:
            os.fstat(descriptor)
        except OSError:
            _to_nowhere(descriptor)
    sys.stdout = _stream(sys.stdout, _Output(1), is_errors=False)
    sys.stderr = _stream(sys.stderr, _Output(2), is_errors=True)


def close_streams(code: int) -> int:
    """Writes what is left and returns the exit code.

    `code`, or that of an output that could not be written.
    """
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
