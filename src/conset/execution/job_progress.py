"""How far a job is: rank 0 tells it between exchanges, through a file in the job's folder.

Who started the job hears.

A share of all that is to be done becomes a `conset.base.progress.work`, from which the time left is
read; words are passed on as they are.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conset.base.progress import work

Tell = Callable[[float, str], None]
"""Given how much is done, from 0 to 1, and words; neither need be known (0, "")."""
_FILE = "progress.json"
_EVERY_S = 0.3


def nobody(share: float, text: str = "") -> None:
    """A `Tell` that nobody hears."""


class Teller:
    """A `Tell` of rank 0: writes into the folder of a job, not too often."""

    def __init__(self, folder: Path) -> None:
        self._path, self._last = folder / _FILE, 0.0

    def __call__(self, share: float, text: str = "") -> None:
        """Tells; a reader may see half of it, and waits for the next."""
        if time.monotonic() - self._last > _EVERY_S:
            self._last = time.monotonic()
            self._path.write_text(json.dumps({"share": share, "text": text}))


@contextmanager
def heard(folder: Path, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Within: a work, as far done as the job in `folder` tells.

    `say` is given its words as they change.
    """
    ended = threading.Event()
    with work(1.0) as own:

        def listen() -> None:
            last = ""
            while not ended.wait(_EVERY_S):
                try:
                    told = json.loads((folder / _FILE).read_text())
                except (OSError, ValueError):  # nothing told yet, or half a line
                    continue
                own.done = float(told["share"])
                if say is not None and told["text"] and told["text"] != last:
                    last = str(told["text"])
                    say(last)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            yield
        finally:
            ended.set()
            listener.join()
