"""Ctrl-C during a long search: the best so far where there is one, else the end; twice: the end.

The core is told at once, by a thread that the interpreter's own signal handler wakes through a socket: Python code, and
so a handler written in it, runs in the main thread only after the core has returned. What a search does with the wish
is in `cpp/include/conset/stop.hpp`.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from conset import _core
from conset.errors import ConsetError

STOPPED = 6
"""The exit code of a command that was stopped and gives its best so far."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Within: the first Ctrl-C asks the search to stop; the second is an interrupt.

    Raises:
        KeyboardInterrupt: the search was asked to stop and had nothing to give, or Ctrl-C was pressed twice.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    _core.reset_search()
    wakes, woken = socket.socketpair()
    wakes.setblocking(False)
    thread = threading.Thread(target=_listen, args=(woken,), daemon=True)
    thread.start()
    handler = signal.signal(signal.SIGINT, _Once())
    descriptor = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    try:
        yield
    except ConsetError:
        if _core.stop_asked():
            raise KeyboardInterrupt from None  # a search that was cut short says that it found nothing
        raise
    finally:
        signal.set_wakeup_fd(descriptor)
        signal.signal(signal.SIGINT, handler)
        wakes.close()
        thread.join()
        woken.close()
        _core.reset_search()


class _Once:
    """The handler in Python: runs in the main thread between two steps of Python."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        _core.ask_stop()


def _listen(woken: socket.socket) -> None:
    """Asks to stop at every byte; ends with the connection."""
    while numbers := woken.recv(16):
        if signal.SIGINT in numbers:
            _core.ask_stop()
