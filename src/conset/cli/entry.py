"""Where the process begins: Ctrl-C is listened to before anything is imported that takes time.

This module and the packages it stands in import nothing at their top but `signal`, and what Python
itself has loaded.
"""

from __future__ import annotations

import os
import signal
import sys

from conset.base import VERSION

TYPE_CHECKING = False  # typing takes half of the time to the first line of `main`
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended with nothing to give."""
NOTHING_WRITTEN = "interrupted, nothing written"


def main() -> None:
    """Entry point of the `conset` script."""
    listen_early()
    from conset.cli.main import main

    main()


def listen_early() -> None:
    """The first thing a process does: until a command begins, Ctrl-C ends it.

    Where it is ignored, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_early)


def end_early(number: int = 0, frame: FrameType | None = None) -> None:
    """The handler before a command begins: ends the process at once, in one line."""
    end(NOTHING_WRITTEN)


def end(message: str) -> None:
    """Ends the process at once, in one line, for people or as JSON."""
    if "--json" in sys.argv[1:]:
        manifest = f'{{"version": "{VERSION}", "seed": 0, "command": "", "input_sha256": ""}}'
        error = f'"schema": "conset/error@1", "message": "{message}", "exit": {INTERRUPTED}'
        _say(1, f'{{{error}, "manifest": {manifest}}}\n')
    _say(2, f"conset: {message}\n")
    os._exit(INTERRUPTED)


def _say(descriptor: int, text: str) -> None:
    try:  # noqa: SIM105  contextlib may be half imported
        os.write(descriptor, text.encode())
    except OSError:
        pass  # closed: nobody wants to know
