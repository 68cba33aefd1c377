"""Squares of side n = 4m: the closed form, ⌈n³/4c⌉ phases for every contention c ≤ n/4, which is optimal.

The algorithm, its proof in short, its complexity and its sources stand in
`cpp/include/conset/scheduling/complete_exchange/complete_exchange.hpp`.
Steps are numbered from 0 to n³/4 - 1; phase p of a schedule of contention c holds the steps c·p … c·p + c - 1. Beyond
c = n/4 the schedule stays at n/4, so that every phase keeps one send and one receive.

`partner_at` and `step_of` are for applications: each rank computes its own part in O(1) per step, without a table and
without a word to anybody.
"""

from __future__ import annotations

from functools import lru_cache

from conset import _core
from conset.errors import InputError
from conset.methods.complete_exchange.box import Box
from conset.methods.problem import Phases


def applies_square_4m(box: Box) -> bool:
    """A square mesh whose side is divisible by 4."""
    return len(box.axes) == 2 and len(box.sides) == 2 and box.is_mesh and box.is_cube() and box.sides[0] % 4 == 0


def schedule_square_4m(box: Box, seed: int) -> Phases:
    """The closed form, min(c, n/4) steps in a phase."""
    side = box.sides[0]
    return Phases(*_square(side).phases(min(box.contention, side // 4)))


def partner_at(side: int, rank: int, step: int) -> int | None:
    """The rank that `rank` sends to at `step` on a `side` × `side` mesh.

    The rank itself where its own data are due, None where it is idle.

    Args:
        side: n, divisible by 4; ranks are row-major, rank r on node r.
        rank: from 0 to n² - 1.
        step: from 0 to n³/4 - 1.

    Raises:
        InputError: a number out of range.
    """
    square = _square(side)
    _require("rank", rank, side * side)
    _require("step", step, square.steps)
    partner = square.partner(rank, step)
    return None if partner < 0 else partner


def step_of(side: int, source: int, target: int) -> int:
    """The step at which rank `source` sends to rank `target` on a `side` × `side` mesh; the inverse of `partner_at`.

    Raises:
        InputError: a number out of range.
    """
    square = _square(side)
    _require("source", source, side * side)
    _require("target", target, side * side)
    return square.step(source, target)


@lru_cache(maxsize=8)
def _square(side: int) -> _core.SquareExchange:
    if side < 4 or side % 4 or side > 212:
        raise InputError(f"closed form of a square mesh: the side must be a multiple of 4 from 4 to 212, given {side}")
    return _core.SquareExchange(side)


def _require(what: str, value: int, end: int) -> None:
    if not 0 <= value < end:
        raise InputError(f"{what} {value}: must be from 0 to {end - 1}")
