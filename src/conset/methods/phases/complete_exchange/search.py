"""Search: the general fallback, and what absorbs the leftovers of a construction.

The engine is in the core.

Problem: few phases on a box for which no construction meets the bound, at any contention. Idea, in
turn, each from the best so far and each ending at the bound: iterated greedy from the
constructions' best, which fits their leftovers into earlier phases; peeling, then iterated greedy;
the same over orbits under symmetries of the network with ejection, where the search is smaller by
the order of the group; ejection from the best. Guarantee: never worse than what it was given.
Complexity: `effort` sweeps, each of a budget of elementary operations that is the same for all
sizes, at least one round of greedy; nothing is searched on boxes with more messages than
`MAX_MESSAGES`. Reference: see
`cpp/include/conset/scheduling/complete_exchange/exchange_search.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.phases.complete_exchange.box import Box, Orbits, build_orbits, symmetry_groups
from conset.methods.phases.problem import Phases

MAX_ABSORBED = 2_000_000
"""Messages of which leftovers are fitted into gaps."""
MAX_MESSAGES = 400_000
"""More than these are never searched; more than a quarter of them not by orbits."""
WORTH = 200
"""A gap below 1 / WORTH of the bound is not worth a search of effort 1."""
MAX_ROUNDS = 400
"""Rounds of iterated greedy from one start, in one sweep."""
ROUND_BUDGET = 25_000_000
"""Resources looked at by the iterated greedy of one start, in one sweep."""
PEEL_BUDGET = 250_000_000
"""Resources looked at by peeling; above, there is none."""
MOVE_BUDGET = 30_000_000
"""Places looked at by one ejection, in one sweep."""
MAX_PLACES = 20_000_000
"""Messages times phases that an ejection keeps a number for."""

Steps = NDArray[np.int32]


def mend_phases(box: Box, phases: Phases) -> Phases:
    """Phases whose links carry too much, made valid.

    What does not fit moves to the first phase with room.
    """
    packed = _singles(box).fill(phase_of(phases)).phase
    return Phases.of(packed)


def absorb_leftovers(box: Box, step: Steps, first: int) -> Steps:
    """Steps from `first` on emptied into earlier ones, longest routes first.

    What fits nowhere gets new steps.
    """
    if box.messages > MAX_ABSORBED or first > _count(step):
        return step
    found: Steps = _singles(box).fill(np.where(step < first, step, -1).astype(np.int32)).phase
    return found


def search_phases(box: Box, starts: Sequence[Phases], effort: int, seed: int) -> Phases:
    """Fewer phases than the first, best of `starts`, or that itself.

    `effort` sweeps, each from the best so far.
    """
    best = starts[0]
    gap = best.offsets.size - 1 - box.bound
    if box.messages > MAX_MESSAGES or effort < 1 or (effort == 1 and WORTH * gap < box.bound):
        return best
    steps = [phase_of(phases) for phases in starts]
    for sweep in range(effort):
        _core.publish(_count(steps[0]), box.bound)
        if _core.should_stop(True):
            break
        found = _sweep(box, steps, (seed + sweep) % 2**64)
        if _count(found) < _count(steps[0]):
            steps.insert(0, found)
        if _count(steps[0]) <= box.bound:
            break
    return Phases.of(steps[0]) if _count(steps[0]) < best.offsets.size - 1 else best


def _sweep(box: Box, starts: Sequence[Steps], seed: int) -> Steps:
    """One unit of effort."""
    step = _reorder_all(box, starts, seed)
    if box.messages <= MAX_MESSAGES // 4:
        for group in symmetry_groups(box, most=16):
            if -(-box.bound // len(group)) * len(group) < _count(step):
                step = min(step, _search_orbits(box, build_orbits(box, group), seed), key=_count)
    if box.bound < _count(step) and box.messages * _count(step) <= MAX_PLACES:
        moves = MOVE_BUDGET // (_count(step) * _width(box))
        step = min(
            step, _singles(box).eject(step, _own(box), box.bound, moves, seed).phase, key=_count
        )
    return step


def _reorder_all(box: Box, starts: Sequence[Steps], seed: int) -> Steps:
    """A quarter of the rounds from each start, from peeling and from first fit.

    Then all of them from the two best.
    """
    singles, own = _singles(box), _own(box)
    rounds = min(max(1, ROUND_BUDGET // (box.messages * _width(box))), MAX_ROUNDS)
    makers: list[Callable[[], Steps]] = [partial(np.copy, step) for step in starts]
    if box.bound * box.messages * _width(box) <= PEEL_BUDGET:
        makers.append(lambda: singles.peel(seed).phase)
    makers.append(lambda: singles.fill(np.full(box.messages, -1, np.int32)).phase)
    found: list[Steps] = []
    for make in makers:
        found.append(singles.reorder(make(), own, box.bound, -(-rounds // 4), seed).phase)
        if _count(found[-1]) <= box.bound:
            return found[-1]
    longer = [
        singles.reorder(step, own, box.bound, rounds, (seed + 1) % 2**64).phase
        for step in sorted(found, key=_count)[:2]
    ]
    return min(longer, key=_count)


def _search_orbits(box: Box, orbits: Orbits, seed: int) -> Steps:
    """The phase of every message from a search over orbits."""
    search = _core.ExchangeSearch(box.network, box.contention, orbits.offsets, orbits.message)
    target = -(-box.bound // orbits.order)
    packed = search.fill(np.full(orbits.offsets.size - 1, -1, np.int32))
    rounds = max(1, ROUND_BUDGET // (4 * box.messages * _width(box)))
    packed = search.reorder(packed.phase, packed.chosen, target, min(rounds, MAX_ROUNDS // 8), seed)
    looks = orbits.order * _count(packed.phase) * _width(box)
    packed = search.eject(packed.phase, packed.chosen, target, MOVE_BUDGET // (2 * looks), seed)
    return orbits.expand(packed.phase, packed.chosen)


def _own(box: Box) -> NDArray[np.int64]:
    """The alternative of every message: itself."""
    return np.arange(box.messages, dtype=np.int64)


def _singles(box: Box) -> _core.ExchangeSearch:
    """Every message an item of its own."""
    messages = box.messages
    return _core.ExchangeSearch(
        box.network,
        box.contention,
        np.arange(messages + 1, dtype=np.int64),
        np.arange(messages, dtype=np.int32),
    )


def phase_of(phases: Phases) -> Steps:
    """shape=(messages), int32: the phase of each message."""
    result = np.empty(phases.message.size, np.int32)
    result[phases.message] = np.repeat(
        np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets)
    )
    return result


def _width(box: Box) -> int:
    """Resources of a typical message: two ports and a third (cycle: a quarter) of each side."""
    return 2 + sum(
        side // (4 if cycle else 3) for side, cycle in zip(box.sides, box.cycles, strict=True)
    )


def _count(step: Steps) -> int:
    return int(step.max(initial=-1)) + 1
