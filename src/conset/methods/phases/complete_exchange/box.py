"""Box: a mesh or torus as the constructions see it, with its bound and symmetries.

The symmetries keep its routes.

Where a group G of node permutations takes every route to a route, a packing of one message per
orbit into K phases becomes, with its images, |G| K phases of all messages: the search is |G| times
smaller. On a mesh the half turn keeps routes; on a cycle of odd length all translations do, on one
of even length those that agree with the rule for ties, which is checked line by line.

Search: the general fallback, and what absorbs the leftovers of a construction.

The engine is in the core.

Problem: few phases on a box for which no construction meets the bound, at any contention. Idea, in
turn, each from the best so far and each ending at the bound: iterated greedy from the
constructions' best, which fits their leftovers into earlier phases; peeling, then iterated greedy;
the same over orbits under symmetries of the network with ejection, where the search is smaller by
the order of the group; ejection from the best.
Guarantee: never worse than what it was given.
Complexity: `effort` sweeps, each of a budget of elementary operations that is the same for all
sizes, at least one round of greedy; nothing is searched on boxes with more messages than
`MAX_MESSAGES`. Reference: see
`cpp/include/conset/scheduling/complete_exchange/exchange_search.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod

import numpy as np

from conset import _core
from conset.base import Ints, Ints32
from conset.methods.phases.problem import Phases

_NOTHING = np.zeros(0, np.int32)
Table = Ints32


@dataclass(frozen=True, eq=False)
class Box:
    """Sides with their links, and how many messages a link may carry in a phase.

    Attributes:
        sides: nodes along each dimension, row-major.
        cycles: which sides close to cycles; none where the routing never wraps, and no side of 2 or
            less.
        tie: `parity`, `plus` or `checker`: how a hop of exactly half a cycle is directed.
        contention: messages a link may carry in a phase, counting its width; at least 1.
        network: the core's walker of routes.
    """

    sides: tuple[int, ...]
    cycles: tuple[bool, ...]
    tie: str
    contention: int
    network: _core.Network

    @property
    def nodes(self) -> int:
        """N."""
        return prod(self.sides)

    @property
    def messages(self) -> int:
        """N (N - 1): the message from s to t has the index s (N - 1) + t - (t > s)."""
        return self.nodes * (self.nodes - 1)

    @property
    def axes(self) -> tuple[int, ...]:
        """Dimensions with more than one node; the last one where there is none."""
        return tuple(k for k, side in enumerate(self.sides) if side > 1) or (len(self.sides) - 1,)

    @property
    def is_mesh(self) -> bool:
        """Whether no side is a cycle."""
        return not any(self.cycles)

    @property
    def is_torus(self) -> bool:
        """Whether every side of more than 2 nodes is a cycle."""
        return all(cycle or side <= 2 for side, cycle in zip(self.sides, self.cycles, strict=True))

    def is_cube(self) -> bool:
        """Whether all sides are equal."""
        return len(set(self.sides)) == 1

    def stride(self, axis: int) -> int:
        """Distance of neighbours along `axis` in node ids."""
        return prod(self.sides[axis + 1 :])

    def product_axes(
        self,
        axes: Sequence[int],
        permutations: Iterable[Table],
        labels: Iterable[Table],
        *,
        variants: int = 1,
    ) -> _core.ProductAxes:
        """Axes with the tables of their decompositions, as the core takes them.

        The last axis leads.

        Args:
            axes: dimensions.
            permutations: shape=(side, side) for each variant of each axis: the permutation of every
                ordered pair.
            labels: the same: its label.
            variants: of every axis but the last.
        """
        sides, strides = [self.sides[k] for k in axes], [self.stride(k) for k in axes]
        return _core.ProductAxes(
            sides=np.array(sides, np.int32),
            strides=np.array(strides, np.int32),
            variants=variants,
            permutation=np.concatenate([table.ravel() for table in permutations]).astype(np.int32),
            label=np.concatenate([table.ravel() for table in labels]).astype(np.int32),
        )

    def line(self, axis: int) -> _core.Network:
        """One line of nodes along `axis`, as a network of its own."""
        tie = getattr(_core.Tie, self.tie)
        return _core.Network.box(np.array([self.sides[axis]], np.int32), self.cycles[axis], tie)

    def link_load(self, axis: int) -> int:
        """Messages on the busiest link along `axis`.

        N/side times what a complete exchange of one line puts on it.

        Path: all pairs across the middle. Cycle, h = side // 2: hops 1 + 2 + … of one direction,
        and for an even side the ties, of which `parity` sends (h + 1) // 2 up over each link. Where
        ties depend on other lines (`checker`) it is the mean over the links, rounded up, which the
        busiest one does not undercut.
        """
        side, half = self.sides[axis], self.sides[axis] // 2
        lines = self.nodes // side
        if not self.cycles[axis]:
            return lines * half * (side - half)
        if side % 2 == 1:
            return lines * half * (half + 1) // 2
        if self.tie == "plus":
            return lines * (half * (half + 1) // 2)
        return (
            lines * ((half * half + 1) // 2)
            if self.tie == "parity"
            else (lines * half * half + 1) // 2
        )

    @cached_property
    def bound(self) -> int:
        """max(N - 1, ⌈largest link load / contention⌉)."""
        if self.nodes == 1:
            return 0
        load = max(self.link_load(k) for k in self.axes)
        return max(self.nodes - 1, -(-load // self.contention))

    def message_ids(self, source: Ints, target: Ints) -> Ints:
        """Indices of the messages from `source[k]` to `target[k]`."""
        return source * (self.nodes - 1) + target - (target > source)


def empty() -> Ints32:
    """No entries, where the core takes an optional array."""
    return _NOTHING


@dataclass(frozen=True, eq=False)
class Orbits:
    """Messages by orbits.

    Attributes:
        order: |G|.
        offsets: shape=(orbits + 1), int64.
        message: shape=(messages), int32: orbit i is `message[offsets[i] : offsets[i + 1]]`.
        images: shape=(|G|, messages), int32: where each element of G takes each message.
    """

    order: int
    offsets: Ints
    message: Ints32
    images: Ints32

    def expand(self, phase: Ints32, chosen: Ints) -> Ints32:
        """shape=(messages), int32.

        The phase of every message, from that of each orbit and the message it chose.
        """
        result = np.full(self.images.shape[1], -1, np.int32)
        for g, image in enumerate(self.images):
            target = image[self.message[chosen]]
            free = result[target] < 0
            result[target[free]] = phase[free] * self.order + g
        return result


def build_orbits(box: Box, group: Ints) -> Orbits:
    """Orbits under `group`, shape=(|G|, nodes), closed under composition; O(|G| · messages)."""
    nodes = box.nodes
    source, rest = np.divmod(np.arange(box.messages), nodes - 1)
    target = rest + (rest >= source)
    images = np.stack([box.message_ids(g[source], g[target]) for g in group])
    first = images.min(axis=0)
    order = np.argsort(first, kind="stable")
    starts = np.flatnonzero(np.diff(first[order], prepend=-1))
    offsets = np.append(starts, order.size).astype(np.int64)
    return Orbits(len(group), offsets, order.astype(np.int32), images.astype(np.int32))


def symmetry_groups(box: Box, most: int) -> list[Ints]:
    """Groups worth trying, at most `most` elements each.

    The half turn of a mesh, translations along each cycle.
    """
    # ties of a line are decided by its own coordinate, unless there are any of a checker
    if box.tie == "checker" and any(
        c and side % 2 == 0 for side, c in zip(box.sides, box.cycles, strict=True)
    ):
        return []
    if box.is_mesh:
        return (
            [np.stack([np.arange(box.nodes), np.arange(box.nodes)[::-1]])] if box.nodes > 1 else []
        )
    groups: dict[bytes, Ints] = {}
    steps = [_translations(box, k) for k in range(len(box.sides))]
    node = np.arange(box.nodes)
    coordinate = np.stack(np.unravel_index(node, box.sides))
    for one in range(len(box.sides)):
        for step in steps[one]:
            by = [
                [0] if k != one else list(range(0, box.sides[k], step))
                for k in range(len(box.sides))
            ]
            for other in range(one, len(box.sides)):
                for more in steps[other] if other > one else [box.sides[one]]:
                    both = list(by)
                    if other > one:
                        both[other] = list(range(0, box.sides[other], more))
                    if 1 < prod(len(b) for b in both) <= most:
                        grid = np.stack(np.meshgrid(*both, indexing="ij"), axis=-1).reshape(
                            -1, len(box.sides)
                        )
                        moved = [
                            (coordinate + d[:, None]) % np.array(box.sides)[:, None] for d in grid
                        ]
                        group = np.stack([np.ravel_multi_index(tuple(m), box.sides) for m in moved])
                        groups.setdefault(group.tobytes(), group)
    return sorted(groups.values(), key=len)


def _translations(box: Box, axis: int) -> list[int]:
    """Divisors d of a cycle, itself included, such that moving by d keeps a line's routes."""
    side = box.sides[axis]
    if not box.cycles[axis]:
        return [side]
    source, target = (a.astype(np.int32) for a in np.divmod(np.arange(side * side), side))
    line = box.line(axis)
    offsets, nodes = line.route_nodes(source, target)
    kept = []
    for d in (d for d in range(1, side) if side % d == 0):
        moved_offsets, moved = line.route_nodes((source + d) % side, (target + d) % side)
        if np.array_equal(offsets, moved_offsets) and np.array_equal((nodes + d) % side, moved):
            kept.append(d)
    return [*kept, side]


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

Steps = Ints32


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
    return _singles(box).fill(np.where(step < first, step, -1).astype(np.int32)).phase


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


def _own(box: Box) -> Ints:
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
