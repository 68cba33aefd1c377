"""Stop requests: from Ctrl-C and other signals to the searches and jobs that observe them.

Every thread has a search of its own in the core (`cpp/include/conset/stop.hpp`), so that two
compiles in two threads do not stop each other; threads that work for another one share its search
(`workers`). Ctrl-C reaches a search at once, by a thread that the interpreter's own signal handler
wakes through a socket: Python code, and so a handler written in it, runs in the main thread only
after the core has returned.

A command is ended by the first signal (`ended_by_signals`), except in a search that has something
to give: there the first Ctrl-C asks for the best so far (`interruptible`).
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType

from conset import _core
from conset.base.errors import ConsetError

STOPPED = 6
"""The exit code of a command that was stopped and gives its best so far."""
ENDINGS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
)
"""Signals that end a command."""
_listened: list[_core.Search] = []
_ending = threading.Event()
"""Set from the signal that ends a command until the command has cleaned up."""


def workers(threads: int) -> ThreadPoolExecutor:
    """A pool whose threads work on the search of the thread that asks for it.

    A wish to stop reaches them all.
    """
    return ThreadPoolExecutor(
        threads, initializer=_core.share_search, initargs=(_core.this_search(),)
    )


@contextmanager
def stopped_by(*numbers: signal.Signals) -> Iterator[None]:
    """Within, in the main thread.

    A signal of these asks this thread's search to stop, whatever the core is doing.

    Their handlers run as ever, after the core has returned. Nothing in other threads: signals are
    for the main one; nor where somebody listens for this search already.
    """
    search = _core.this_search()
    if threading.current_thread() is not threading.main_thread() or search in _listened:
        yield
        return
    wakes, woken = socket.socketpair()
    wakes.setblocking(False)
    before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_listen, args=(woken, search, numbers, before), daemon=True)
    thread.start()
    _listened.append(search)
    try:
        yield
    finally:
        _listened.remove(search)
        signal.set_wakeup_fd(before)
        wakes.close()
        thread.join()
        woken.close()


def _listen(
    woken: socket.socket, search: _core.Search, numbers: tuple[int, ...], before: int
) -> None:
    """Asks to stop at every byte that names one of the signals; ends with the connection."""
    while came := woken.recv(16):
        if any(number in came for number in numbers):
            search.ask_stop()
        if before != -1:  # an event loop that listened before hears of it too, unless it is closed
            with suppress(OSError):
                os.write(before, came)


@contextmanager
def keyboard_interrupts() -> Iterator[None]:
    """Within: Ctrl-C ends a search of a Python program.

    Nothing where the program handles Ctrl-C in its own way.

    Raises:
        KeyboardInterrupt: Ctrl-C, as soon as the search has looked.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    outer = _core.share_search(_core.Search())  # a wish ends with what it was for
    try:
        with stopped_by(signal.SIGINT):
            yield
    finally:
        _core.share_search(outer)


class Ended(BaseException):
    """A signal ended a command; not a `KeyboardInterrupt`, on which a search gives its best."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within, in the main thread: one of `ENDINGS` raises `Ended` as soon as the core has returned.

    A signal that was ignored or handled before, as under nohup, stays so. Those that follow are
    ignored, so that jobs are ended and half-written files removed.

    Raises:
        KeyboardInterrupt: in place of `Ended`, at the end.
    """
    handlers = {number: signal.getsignal(number) for number in ENDINGS}
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: handler for number, handler in handlers.items() if handler in defaults}
    if threading.current_thread() is not threading.main_thread():
        before = {}
    for number in before:
        signal.signal(number, _end_once)
    try:
        with stopped_by(*before):
            yield
    except Ended:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if before:
            _ending.clear()
        _core.reset_search()  # a request ends with the command


def _end_once(number: int, frame: FrameType | None) -> None:
    if not _ending.is_set():
        _ending.set()
        raise Ended


@contextmanager
def interruptible() -> Iterator[None]:
    """Within: the first Ctrl-C asks the search to stop; the second is an interrupt.

    Raises:
        KeyboardInterrupt: the search was asked to stop and had nothing to give, or Ctrl-C was
            pressed twice.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    _core.reset_search()
    before = signal.getsignal(signal.SIGINT)
    after = before if callable(before) else signal.default_int_handler

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, after)
        _core.ask_stop()

    signal.signal(signal.SIGINT, ask)
    try:
        with stopped_by(*ENDINGS):
            yield
    except ConsetError:
        if _core.stop_asked():
            raise KeyboardInterrupt from None  # a search that was cut short says it found nothing
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        _core.reset_search()
