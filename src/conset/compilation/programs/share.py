"""Share: phases of blocks that follow one another put into one context.

So that no switch is due between them.

Problem: a program executes phases in an order that is free in places; a switch is due between
phases of different contexts; put phases into contexts, under the limits, so that few switches are
due.
Idea: a block that is repeated turns round: it runs its phases forth and back, so that the phase it
ends with is the one it begins with again. Where one block follows another, one of the lightest
phases of the one becomes its last and one of the other its first, if their connections may be open
together with all that the two contexts already hold; of several such pairs the one with the fewest
connections in all. What follows more often in the program is looked at first.
Afterwards channels are numbered anew: schedules number them phase by phase; phases that are open
together need numbers that differ between connections, while a connection that several phases share
has one number at a node in all of them.
Invariant: all connections of a context together keep the strictest limits of all schedules.
Complexity: at most 16 × 16 pairs for each pair of schedules that follow one another, O(connections
· hops) each.
When it does nothing: blocks whose pattern has an order keep their phases' order and never turn.
Not optimal: pairs are taken one after the other; the count without sharing is given beside the
result.
Reference: Feldmann, Stricker, Warfel, ConSet, section 2: building blocks, phases, and `instantiate
phase`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Literal, NamedTuple

import numpy as np

from conset.schedule import Connections, Ids, Schedule, Stage

TRIED = 16
"""Phases of a schedule, the lightest ones, that may come first or last."""


class Slot(NamedTuple):
    """The first or the last phase of a schedule."""

    schedule: int
    end: Literal["first", "last"]


def turns(schedule: Schedule) -> bool:
    """Whether the phases of a schedule may also run backwards."""
    return schedule.pattern.before is None


def share(
    blocks: Sequence[Stage], schedules: Sequence[Schedule]
) -> tuple[tuple[Schedule, ...], tuple[tuple[int, ...], ...]]:
    """(schedules with their phases reordered, the context of each phase)."""
    sharing = _Sharing(schedules)
    following = Counter(
        (
            # a block that turns an odd number of times ends where it began
            _slot(
                one.schedule,
                "first" if one.turns and one.repeat % 2 == 0 else "last",
                schedules[one.schedule],
            ),
            _slot(other.schedule, "first", schedules[other.schedule]),
        )
        for one, other in pairwise(block for block in blocks if schedules[block.schedule].phases)
    )
    for (one, other), _ in following.most_common():
        sharing.join(one, other)
    orders = [sharing.order(k) for k in range(len(schedules))]
    numbers: dict[tuple[int, int], int] = {}
    contexts = tuple(
        tuple(numbers.setdefault(sharing.context(k, p), len(numbers)) for p in order)
        for k, order in enumerate(orders)
    )
    return tuple(map(reorder, schedules, orders)), contexts


def _slot(schedule: int, end: Literal["first", "last"], plan: Schedule) -> Slot:
    """The slot; of a single phase both ends are one."""
    return Slot(schedule, "first" if plan.phases == 1 else end)


class _Sharing:
    """Contexts while they grow: a forest of (schedule, phase), and what each context holds."""

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = schedules
        self._connections = Connections(schedules)
        self._parent: dict[tuple[int, int], tuple[int, int]] = {}
        self._holds: dict[tuple[int, int], Ids] = {}
        self._chosen: dict[Slot, int] = {}
        for k, schedule in enumerate(schedules):
            if schedule.phases and (schedule.phases == 1 or not turns(schedule)):
                self._chosen[Slot(k, "first")] = 0
                self._chosen[Slot(k, "last")] = schedule.phases - 1

    def context(self, schedule: int, phase: int) -> tuple[int, int]:
        """The phase that represents the context of this one."""
        at = (schedule, phase)
        while (above := self._parent.get(at, at)) != at:
            at = above
        return at

    def join(self, one: Slot, other: Slot) -> None:
        """Puts a phase for each slot into one context, if any two fit."""
        best: tuple[int, int, int] | None = None
        for p, q in product(self._candidates(one), self._candidates(other)):
            if one.schedule == other.schedule and (p == q) != (one.end == other.end):
                continue
            roots = self.context(one.schedule, p), self.context(other.schedule, q)
            together = self._held(roots[0]) | self._held(roots[1])
            size = len(together)
            if (best is None or size < best[0]) and (
                roots[0] == roots[1] or self._connections.fit(together)
            ):
                best = size, p, q
        if best is None:
            return
        _, p, q = best
        self._chosen[one], self._chosen[other] = p, q
        first, second = self.context(one.schedule, p), self.context(other.schedule, q)
        if first != second:
            self._holds[first] = self._held(first) | self._held(second)
            self._parent[second] = first

    def order(self, schedule: int) -> list[int]:
        """The phases of a schedule, the chosen ones first and last."""
        phases = self._schedules[schedule].phases
        first, last = (self._chosen.get(Slot(schedule, end)) for end in ("first", "last"))
        inner = [p for p in range(phases) if p not in (first, last)]
        if phases == 1:
            return [0]
        return [*([] if first is None else [first]), *inner, *([] if last is None else [last])]

    def _held(self, root: tuple[int, int]) -> Ids:
        return self._holds.get(root) or self._connections.of(*root)

    def _candidates(self, slot: Slot) -> list[int]:
        if slot in self._chosen:
            return [self._chosen[slot]]
        plan = self._schedules[slot.schedule]
        taken = self._chosen.get(Slot(slot.schedule, "last" if slot.end == "first" else "first"))
        lightest = np.argsort(np.diff(plan.phase_offsets), kind="stable").tolist()
        return [p for p in lightest if p != taken][:TRIED]


def reorder(schedule: Schedule, order: Sequence[int]) -> Schedule:
    """The same phases in another order."""
    if list(order) == list(range(schedule.phases)):
        return schedule
    length = np.diff(schedule.phase_offsets)[list(order)]
    transfers = np.concatenate(
        [np.arange(*schedule.phase(p).indices(schedule.transfers)) for p in order]
    )
    return schedule.rearranged(transfers, np.concatenate([[0], np.cumsum(length)]))


def number_contexts(
    schedules: Sequence[Schedule], contexts: Sequence[Sequence[int]]
) -> tuple[Schedule, ...]:
    """The schedules with channels numbered anew in every context that several phases share."""
    members = Counter(context for phases in contexts for context in phases)
    known: dict[tuple[int, bytes, int], list[int]] = {}
    used: dict[tuple[int, int], int] = defaultdict(int)
    return tuple(
        _numbered(schedule, phases, members, known, used)
        for schedule, phases in zip(schedules, contexts, strict=True)
    )


def _numbered(
    schedule: Schedule,
    contexts: Sequence[int],
    members: Counter[int],
    known: dict[tuple[int, bytes, int], list[int]],
    used: dict[tuple[int, int], int],
) -> Schedule:
    offsets, nodes = schedule.route_offsets, schedule.route_nodes
    if schedule.channels is None or offsets is None or nodes is None:
        return schedule
    channels = np.array(schedule.channels)
    for p, context in enumerate(contexts):
        if members[context] == 1:
            continue
        at = schedule.phase(p)
        same: Counter[bytes] = Counter()
        for k in range(at.start, at.stop):
            route = nodes[offsets[k] : offsets[k + 1]]
            if route.size < 2:
                continue
            way = route.tobytes()
            key = (context, way, same[way])
            same[way] += 1
            if key not in known:
                known[key] = [used[context, node] for node in route.tolist()]
                for node in route.tolist():
                    used[context, node] += 1
            channels[offsets[k] : offsets[k + 1]] = known[key]
    return replace(schedule, channels=channels)
