"""Independent cells on a few threads.

The core works without the interpreter's lock, so they run at once.

Results stand in the order of the items, whatever the number of threads and whichever ends first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from conset import _core
from conset.base import workers

THREADS = 2

T = TypeVar("T")
R = TypeVar("R")


def on_threads(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    cost: Callable[[T], float] | None = None,
    threads: int = THREADS,
) -> list[R]:
    """`[function(item) for item in items]`, `threads` at a time.

    Args:
        function: of one item alone: what it gives must not depend on the others.
        items: what to make.
        cost: how long an item takes, in any unit: the longest start first, so that no thread waits
            at the end.
        threads: how many work at once.

    Raises:
        KeyboardInterrupt: Ctrl-C; what has not started never does.
    """

    def make(item: T) -> R:
        if _core.stop_asked():
            raise KeyboardInterrupt
        return function(item)

    places = list(range(len(items)))
    if cost is not None:
        places.sort(key=lambda k: -cost(items[k]))
    with workers(threads) as pool:
        futures = {k: pool.submit(make, items[k]) for k in places}
        return [futures[k].result() for k in range(len(items))]
