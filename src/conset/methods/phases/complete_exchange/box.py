"""Box: a mesh or torus as the constructions see it, with its bound, symmetries and search.

Symmetry: a group G of maps of messages that take routes to routes and leave no message where it is.
A packing of one message per orbit into K phases becomes, with its images, |G| K phases of all
messages: the search is |G| times smaller. Where |G| does not divide the number of phases, some are
their own images under a subgroup H, and hold messages with their images under H; such a phase has
|G| / |H| images.
Maps that keep routes: reflections of a mesh, free where a reflected side is even or all sides are
reflected (the half turn); on a square a quarter turn of a message that is sent back, (s, t) → (R t,
R s), as a route along the row first, turned and reversed, goes along the row first again; on a
cycle of odd length all translations, on one of even length those that agree with the rule for ties,
which is checked line by line.

Search: the general fallback, and what absorbs the leftovers of a construction. The engines are in
the core.

Problem: few phases on a box for which no construction meets the bound, at any contention.
Idea, in turn, each from the best so far and each ending at the bound: negotiation of orbits
(`conset.methods.phases.negotiated`), upwards from the bound; iterated greedy from the
constructions' best, which fits their leftovers into earlier phases; peeling, then iterated greedy.
Guarantee: never worse than what it was given.
Complexity: in units of effort, each of a budget of elementary operations that grows with the
messages up to a limit, at least one round of greedy; nothing is searched on boxes with more
messages than `MAX_MESSAGES`.
Measured: all meshes up to 16 × 16 at their bound, 9 × 9 (180 phases) in a second, 9 × 10 and 13 ×
14 (225, 637) by the half turn; `benchmarks/bench_bounded.py`.
Reference: see `cpp/include/conset/scheduling/complete_exchange/exchange_search.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod

import numpy as np
import numpy.typing as npt

from conset import _core
from conset.base import Ints, Ints32
from conset.methods.phases.negotiated import FIXED, Assignment, fewest_slots, negotiate
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

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """(source, target) of every message, by index."""
        source, rest = np.divmod(np.arange(self.messages), self.nodes - 1)
        return source, rest + (rest >= source)

    def message_ids(self, source: Ints, target: Ints) -> Ints:
        """Indices of the messages from `source[k]` to `target[k]`."""
        return source * (self.nodes - 1) + target - (target > source)


def empty() -> Ints32:
    """No entries, where the core takes an optional array."""
    return _NOTHING


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A group G of maps of messages, commutative and without fixed messages.

    Attributes:
        nodes: shape=(|G|, nodes): where each element takes each node; the first one nowhere.
        reverses: shape=(|G|), bool: whether it swaps the ends of a message.
        orders: of subgroups, rising, from 1 to |G|: the first elements are a subgroup, and so many
            in a row are its cosets.
    """

    nodes: Ints
    reverses: npt.NDArray[np.bool_]
    orders: tuple[int, ...]

    @property
    def order(self) -> int:
        """|G|."""
        return len(self.nodes)

    def images(self, box: Box) -> Ints32:
        """shape=(|G|, messages), int32: where each element takes each message."""
        source, target = box.ends
        return np.stack(
            [
                box.message_ids(*((g[target], g[source]) if back else (g[source], g[target])))
                for g, back in zip(self.nodes, self.reverses, strict=True)
            ]
        ).astype(np.int32)

    def shares(self, phases: int) -> tuple[int, list[int]]:
        """(phases with |G| images each, orders of the subgroups of the others)."""
        whole, rest = divmod(phases, self.order)
        others = []
        for order in self.orders[1:]:
            others += [order] * (rest // (self.order // order))
            rest %= self.order // order
        return whole, others


def symmetries(box: Box, most: int) -> list[Symmetry]:
    """Groups of at most `most` elements each that are worth trying, the largest first.

    Reflections of a mesh, quarter turns of a square; translations along each cycle; at last the
    group of one element.
    """
    nothing = _reflections(box, [])
    if not box.is_mesh:
        return [*_translation_groups(box, most), nothing]
    found = [nothing, _reflections(box, [tuple(range(len(box.sides)))])]
    even = [(axis,) for axis in box.axes if box.sides[axis] % 2 == 0]
    if len(even) > 1 and 1 << len(even) <= most:
        found.append(_reflections(box, even))
    if len(box.sides) == 2 and box.is_cube():
        turn = np.rot90(np.arange(box.nodes).reshape(box.sides)).ravel()
        half = turn[turn]
        found.append(
            Symmetry(
                np.stack([np.arange(box.nodes), half, turn, turn[half]]),
                np.array([False, False, True, True]),
                (1, 2, 4),
            )
        )
    return found[::-1]


def _reflections(box: Box, generators: Sequence[tuple[int, ...]]) -> Symmetry:
    """Of several sides at once by each generator."""
    group = np.arange(box.nodes)[None]
    for axes in generators:
        mirror = np.flip(np.arange(box.nodes).reshape(box.sides), axes).ravel()
        group = np.concatenate([group, group[:, mirror]])
    orders = tuple(1 << k for k in range(len(generators) + 1))
    return Symmetry(group, np.zeros(len(group), np.bool_), orders)


def _translation_groups(box: Box, most: int) -> list[Symmetry]:
    """Of one or two cycles by multiples of what keeps their routes, one group of each order."""
    # ties of a line are decided by its own coordinate, unless there are any of a checker
    if box.tie == "checker" and any(
        c and side % 2 == 0 for side, c in zip(box.sides, box.cycles, strict=True)
    ):
        return []
    groups: dict[int, Symmetry] = {}
    steps = [_translations(box, k) for k in range(len(box.sides))]
    coordinate = np.stack(np.unravel_index(np.arange(box.nodes), box.sides))
    for one in range(len(box.sides)):
        for other in range(one, len(box.sides)):
            for step in steps[one]:
                for more in steps[other] if other > one else [box.sides[one]]:
                    by = [np.zeros(1, np.int64) for _ in box.sides]
                    by[one] = np.arange(0, box.sides[one], step)
                    if other > one:
                        by[other] = np.arange(0, box.sides[other], more)
                    order = prod(shifts.size for shifts in by)
                    if not 1 < order <= most:
                        continue
                    grid = np.stack(np.meshgrid(*by, indexing="ij"), axis=-1)
                    moved = coordinate + grid.reshape(order, -1, 1)
                    moved %= np.array(box.sides)[:, None]
                    nodes = np.stack([np.ravel_multi_index(tuple(m), box.sides) for m in moved])
                    orders = tuple(sorted({1, by[other].size if other > one else 1, order}))
                    found = Symmetry(nodes, np.zeros(order, np.bool_), orders)
                    groups.setdefault(order, found)
    return sorted(groups.values(), key=lambda group: -group.order)


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
"""More than these are never searched."""
ORBIT_WORK = 200_000
"""Prices read, for each message, by one negotiation of orbits, per unit of effort."""
MAX_ORBIT_WORK = 1_200_000_000
"""At most in one negotiation, per unit of effort."""
WORTH = 200
"""A gap below 1 / WORTH of the bound is not worth a search of effort 1."""
MAX_ROUNDS = 400
"""Rounds of iterated greedy from one start, in one sweep."""
ROUND_BUDGET = 25_000_000
"""Resources looked at by the iterated greedy of one start, in one sweep."""
PEEL_BUDGET = 250_000_000
"""Resources looked at by peeling; above, there is none."""

MAX_ORBITS = MAX_MESSAGES // 4
"""Messages that are negotiated by orbits."""
MAX_SINGLES = 4096
"""Messages that are negotiated one by one where orbits miss the bound."""
MAX_SWEEPS = 1 << 30
"""Of a negotiation, which its work ends."""

Steps = Ints32


def mend_phases(box: Box, phases: Phases) -> Phases:
    """Phases whose links carry too much, made valid.

    What does not fit moves to the first phase with room.
    """
    packed = _singles(box).fill(phase_of(phases))
    return Phases.of(packed)


def absorb_leftovers(box: Box, step: Steps, first: int) -> Steps:
    """Steps from `first` on emptied into earlier ones, longest routes first.

    What fits nowhere gets new steps.
    """
    if box.messages > MAX_ABSORBED or first > _count(step):
        return step
    return _singles(box).fill(np.where(step < first, step, -1).astype(np.int32))


def search_phases(box: Box, starts: Sequence[Phases], effort: int, seed: int) -> Phases:
    """Fewer phases than the first, best of `starts`, or that itself.

    `effort` sweeps, each from the best so far.
    """
    best = starts[0]
    gap = best.offsets.size - 1 - box.bound
    if box.messages > MAX_MESSAGES or effort < 1 or (effort == 1 and WORTH * gap < box.bound):
        return best
    steps = [phase_of(phases) for phases in starts]
    if (found := _negotiate_orbits(box, steps[0], effort, seed)) is not steps[0]:
        steps.insert(0, found)
    for sweep in range(effort):
        _core.publish(_count(steps[0]), box.bound)
        if _count(steps[0]) <= box.bound or _core.should_stop(True):
            break
        found = _reorder_all(box, steps, (seed + sweep) % 2**64)
        if _count(found) < _count(steps[0]):
            steps.insert(0, found)
    return Phases.of(steps[0]) if _count(steps[0]) < best.offsets.size - 1 else best


def _reorder_all(box: Box, starts: Sequence[Steps], seed: int) -> Steps:
    """A quarter of the rounds from each start, from peeling and from first fit.

    Then all of them from the two best.
    """
    singles = _singles(box)
    rounds = min(max(1, ROUND_BUDGET // (box.messages * _width(box))), MAX_ROUNDS)
    makers: list[Callable[[], Steps]] = [partial(np.copy, step) for step in starts]
    if box.bound * box.messages * _width(box) <= PEEL_BUDGET:
        makers.append(lambda: singles.peel(seed))
    makers.append(lambda: singles.fill(np.full(box.messages, -1, np.int32)))
    found: list[Steps] = []
    for make in makers:
        found.append(singles.reorder(make(), box.bound, -(-rounds // 4), seed))
        if _count(found[-1]) <= box.bound:
            return found[-1]
    longer = [
        singles.reorder(step, box.bound, rounds, (seed + 1) % 2**64)
        for step in sorted(found, key=_count)[:2]
    ]
    return min(longer, key=_count)


def _negotiate_orbits(box: Box, best: Steps, effort: int, seed: int) -> Steps:
    """Fewer phases than `best` that are their own images under a symmetry, or `best`."""
    work = min(ORBIT_WORK * box.messages, MAX_ORBIT_WORK) * effort
    for group in symmetries(box, most=min(16, box.bound)):
        if box.messages > (MAX_ORBITS if group.order > 1 else MAX_SINGLES):
            break
        attempt = partial(OrbitPacking(box, group).negotiate, work=work, seed=seed)
        found = fewest_slots(box.bound, _count(best), attempt, MAX_SWEEPS)
        if found is not None:
            best = found.slot
        if _count(best) <= box.bound or _core.stop_asked():
            break
    return best


class OrbitPacking:
    """Negotiation of one message per orbit."""

    def __init__(self, box: Box, group: Symmetry) -> None:
        self._box, self._group, self._images = box, group, group.images(box)
        first = np.flatnonzero(self._images.min(axis=0) == np.arange(box.messages))
        self._orbits = np.ascontiguousarray(self._images[:, first].T)  # shape=(orbits, |G|)

    def negotiate(self, phases: int, work: int, seed: int) -> Assignment:
        """One try at so many phases: the phase of every message in place of its slot."""
        box, orbits = self._box, len(self._orbits)
        source, target = (nodes.astype(np.int32) for nodes in box.ends)
        whole, others = self._group.shares(phases)
        slots = whole + len(others)
        # of an orbit: one message in any of the whole slots, or those of a coset in a slot of its
        # own images
        together = np.array([1, *others])
        cosets = self._group.order // together
        first = np.repeat([0, *range(whole, slots)], cosets)
        end = np.repeat([whole, *range(whole + 1, slots + 1)], cosets)
        sizes = np.tile(np.repeat(together, cosets), orbits)
        items = _core.NegotiatedItems.alternatives(
            box.network,
            _core.Connections(source, target, empty(), empty()),
            np.ones(1, np.int32),
            items=np.arange(orbits + 1, dtype=np.int64) * first.size,
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            message=np.tile(self._orbits, together.size).ravel(),
            first_slot=np.tile(first, orbits).astype(np.int32),
            end_slot=np.tile(end, orbits).astype(np.int32),
        )
        pressure = replace(FIXED, sweeps=MAX_SWEEPS, work=work)
        found = negotiate(
            items, slots, send=1, receive=1, link=box.contention, pressure=pressure, seed=seed
        )
        if not found.complete:
            return found
        return replace(found, slot=self._phases(found.slot, whole, others))

    def stored(self, place: Ints, phases: int) -> Phases:
        """Phases from `slot * |G| + element` of every orbit: the element's message has the slot."""
        slot = np.full(self._box.messages, -1, np.int32)
        at, element = np.divmod(place.astype(np.int32), self._group.order)
        slot[self._orbits[np.arange(place.size), element]] = at
        return Phases.of(self._phases(slot, *self._group.shares(phases)))

    def _phases(self, slot: Ints32, whole: int, others: Sequence[int]) -> Steps:
        """Slots of representatives, -1 of the others, as phases of all messages."""
        order = self._group.order
        share = np.array([1] * whole + list(others))
        first = np.concatenate([[0], np.cumsum(order // share)])
        chosen = np.flatnonzero(slot >= 0)
        result = np.empty(slot.size, np.int32)
        for element, image in enumerate(self._images):
            result[image[chosen]] = first[slot[chosen]] + element // share[slot[chosen]]
        return result


def _singles(box: Box) -> _core.ExchangeSearch:
    return _core.ExchangeSearch(box.network, box.contention)


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
