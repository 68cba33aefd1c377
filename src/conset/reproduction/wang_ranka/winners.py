"""Who is fastest where: winners over message size, and the borders between them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from conset.reproduction.wang_ranka.algorithms import TEXT, UNSCHEDULED_OR_NODES
from conset.reproduction.wang_ranka.times import SIZES, Times
from conset.units import format_size

NAMES = tuple(algorithm.name for algorithm in TEXT)
POWERS = 2
"""A border within this many powers of two of the text's agrees."""


def winners(times: Times, degree: int, names: Sequence[str] = NAMES) -> list[str]:
    """The fastest at each of `SIZES`."""
    return [min(names, key=lambda name: times[name, degree][k]) for k in range(len(SIZES))]


def last_of(times: Times, degree: int, members: Sequence[str]) -> int | None:
    """The largest size up to which one of `members` is fastest at every size [B]; None: not even at the first."""
    count = 0
    for name in winners(times, degree):
        if name not in members:
            break
        count += 1
    return SIZES[count - 1] if count else None


def above(times: Times, degree: int, name: str) -> int | None:
    """The size above which `name` is fastest at every size [B]; None: not even at the last."""
    names = winners(times, degree)
    first = len(SIZES)
    while first and names[first - 1] == name:
        first -= 1
    return None if first == len(SIZES) else SIZES[max(first - 1, 0)]


def last_of_class(times: Times, degree: int) -> int | None:
    """The size up to which AC or RS_N is fastest [B]."""
    return last_of(times, degree, UNSCHEDULED_OR_NODES)


def powers_off(ours: int | None, published: int) -> float:
    """How many powers of two a border is above (below: negative) the text's; infinite where there is none."""
    return float("inf") if ours is None else log2(ours / published)


def format_bytes(size: int | None) -> str:
    """A border for people."""
    return "nowhere" if size is None else format_size(size)


def gain(times: Times, degree: int, k: int, name: str, names: Sequence[str] = NAMES) -> float:
    """How much longer the best other of `names` takes than `name` at size `k`, as a share of the time of `name`."""
    others = min(times[other, degree][k] for other in names if other != name)
    return others / times[name, degree][k] - 1
