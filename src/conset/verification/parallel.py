"""Parallel: parts of a check on several threads, what they find in the order of the parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Found = TypeVar("Found")


def in_order(check: Callable[[Part], Found], parts: Iterable[Part]) -> Iterator[Found]:
    """What `check` finds in each of `parts`, in their order; NumPy lets threads run while it counts."""
    parts = list(parts)
    threads = min(len(parts), os.cpu_count() or 1)
    if threads <= 1:
        yield from map(check, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(check, parts)
