"""Progress on anything over two seconds: stderr, terminals only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

DELAY_S = 2.0


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Shows `what` and the seconds gone, once `DELAY_S` have passed; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    start = time.monotonic()

    def show() -> None:
        if done.wait(DELAY_S):
            return
        from rich.console import Console
        from rich.status import Status

        with Status(what, console=Console(stderr=True)) as status:
            while not done.wait(0.2):
                status.update(f"{what} … {time.monotonic() - start:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
