"""How far a long computation is.

Works of known parts, reported where they are done, read where they are shown.

Works nest: a part of one may be a work of its own. They belong to the thread that does them;
another one may look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

LEAST_SHARE = 0.02
"""What is left is not guessed from less."""

Item = TypeVar("Item")
_thread = threading.local()


@dataclass(eq=False)
class Work:
    """Something that takes time.

    Attributes:
        parts: of about equal length.
        done: of these.
        began: by `time.monotonic` [s].
    """

    parts: float
    done: float = 0.0
    began: float = field(default_factory=time.monotonic)


def works() -> list[Work]:
    """Those of this thread, the outermost first.

    The list itself, which changes while they go on.
    """
    if not hasattr(_thread, "works"):
        _thread.works = []
    return _thread.works


@contextmanager
def work(parts: float) -> Iterator[Work]:
    """Within: a work, or a part of the one around it; whoever does it counts `done` up."""
    own, under_way = Work(parts), works()
    under_way.append(own)
    try:
        yield own
    finally:
        if (
            own in under_way
        ):  # else the work around it has ended before, which a loop that was left did not hear of
            del under_way[under_way.index(own) :]


def counted(items: Collection[Item]) -> Iterator[Item]:
    """The items; a work, each of them a part, while a loop goes over them."""
    with work(len(items)) as own:
        for item in items:
            yield item
            own.done += 1


def share_of(under_way: Sequence[Work]) -> float:
    """How much of the outermost work is done, from 0 to 1."""
    share, part = 0.0, 1.0
    for each in tuple(under_way):
        if each.parts <= 0:
            break
        share += part * min(each.done / each.parts, 1.0)
        part /= each.parts
    return min(share, 1.0)


def seconds_left(elapsed_s: float, share: float) -> float | None:
    """What is left at the pace so far [s]; None before enough is done to say."""
    return None if share < LEAST_SHARE else elapsed_s * (1 - share) / share


def duration_text(seconds: float) -> str:
    """`40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
