"""Posting: the order in which every rank posts its messages of a phase, and how many of its sends are open at once."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError, unknown_name
from conset.pattern.pattern import Pattern

InFlight = int | Literal["all"]

ORDERS = ("ascending", "rotated", "random", "longest-first")
"""What `naive` may be ordered by; the words of `order_messages`."""
POSTINGS = ("schedule", *ORDERS)
"""`schedule`: the list stands as its method made it."""
MAX_IN_FLIGHT = 999_999_999
"""What `--in-flight` takes at most."""


def check_in_flight(value: Any) -> InFlight:
    """`value`, checked to be a number of sends or `all`.

    Raises:
        InputError: anything else.
    """
    if value == "all":
        return "all"
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_IN_FLIGHT:
        raise InputError(f"in_flight = {value!r:.40}: must be a whole number from 1 to {MAX_IN_FLIGHT}, or 'all'")
    return value


def check_posting(value: Any) -> str:
    """`value`, checked to be one of `POSTINGS`.

    Raises:
        InputError: anything else, with the nearest word.
    """
    if not isinstance(value, str) or value not in POSTINGS:
        raise InputError(str(unknown_name("posting", str(value)[:40], POSTINGS)))
    return value


def order_messages(pattern: Pattern, order: str, seed: int = 0) -> NDArray[np.int32]:
    """shape=(messages), int32: the messages by source rank, and of each rank in the order in which it posts them.

    - `schedule`: by index.
    - `ascending`: by rising target.
    - `rotated`: by rising distance (target - source) modulo ranks, so that no two ranks begin with one target.
    - `random`: drawn with `seed`.
    - `longest-first`: by falling size, equal ones rotated.

    Raises:
        UsageError: another word.
    """
    if order == "schedule":
        return np.arange(pattern.messages, dtype=np.int32)
    if order not in ORDERS:
        raise unknown_name("posting", order, POSTINGS)
    source, target = pattern.source, pattern.target
    if order == "ascending":
        keys: tuple[NDArray[Any], ...] = (target, source)
    elif order == "random":
        keys = (np.random.default_rng(seed).permutation(pattern.messages), source)
    else:
        distance = (target.astype(np.int64) - source) % pattern.ranks
        keys = (distance, source) if order == "rotated" else (distance, -pattern.size, source)
    return np.lexsort(keys).astype(np.int32)
