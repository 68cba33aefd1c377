"""Product: a complete exchange on any mesh or torus, from one family per side.

Problem: phases of a complete exchange in which no link carries more than c messages and no node
sends or receives twice. Idea: choose one permutation on each side. Their product moves every node
once; the messages whose labels add to s modulo T, the largest load among the permutations, form
step s of T: in any line of links the arcs of the other sides are fixed, so one label's arcs remain,
which share no link. Over all products every ordered pair occurs once. Merging c steps of a product
gives contention c with one send and one receive still: ⌈T/c⌉ phases. The side with the largest
total load leads: for each of its permutations the others may choose the cheaper of their families.
Windows: products are walked forth and back (reflected order) over the factors, and the sum of
labels is turned back by one for each step back; then on equal sides divisible by 4, consecutive
steps can be merged across products too. Guarantee: mesh, all sides 4m: n^{d+1}/4c where c divides
m, the bisection bound. Mesh R×C, R < C: exact at c = 1 unless a side is 3 mod 4 or R is close to C.
Other sides and dimensions: any, without a guarantee. Complexity: O(messages) in the core,
O(products) here. When not to use it: squares of side 4m have a closed form, 4m+2 a better packing,
tori of two dimensions a denser one. Reference: the product of two paths of 4m nodes is Scott's
schedule as Bokhari and Nicol (1997) use it; the rest is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as tuples
from math import prod

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.phases.complete_exchange.box import Box, empty
from conset.methods.phases.complete_exchange.families import Family, families_of
from conset.methods.phases.complete_exchange.search import absorb_leftovers
from conset.methods.phases.problem import Phases


@dataclass(frozen=True, eq=False)
class Plan:
    """Which family each axis uses, axes with the leading one last, and what that costs.

    Attributes:
        axes: dimensions of the box.
        families: families[axis][variant].
        variant: the variant each permutation of the leading family chooses.
        cost: phases when each product is merged by itself.
    """

    axes: tuple[int, ...]
    families: tuple[tuple[Family, ...], ...]
    variant: NDArray[np.int32]
    cost: int


def schedule_product(box: Box, seed: int) -> Phases:
    """The cheapest product of families.

    Consecutive steps merged where that is better than merging each product.
    """
    merged = Phases.of(_absorbed_steps(box, box.contention, seed))
    if box.contention == 1 or merged.offsets.size - 1 <= box.bound:
        return merged
    cut = merge_steps(box, _plain_steps(box, 1, seed)[0])
    return cut if cut.offsets.size < merged.offsets.size else merged


def _absorbed_steps(box: Box, contention: int, seed: int) -> NDArray[np.int32]:
    """Steps where what the leading side's identity leaves over.

    If anything, fills the gaps of the rest.
    """
    step, leftovers = _plain_steps(box, contention, seed)
    return step if leftovers is None else absorb_leftovers(box, step, leftovers)


def _plain_steps(box: Box, contention: int, seed: int) -> tuple[NDArray[np.int32], int | None]:
    """(step of every message, first step of products with the leading side's identity).

    Those come last.
    """
    plan = cheapest_plan(box, contention, seed)
    step, total = steps_of(plan, box, contention), plan.cost
    lead = plan.families[-1][0]
    if len(plan.axes) == 1 or lead.load[-1] > 0:
        return step, None
    v = int(plan.variant[-1])
    most = np.zeros(1, np.int64)
    for families in plan.families[:-1]:
        most = np.maximum.outer(most, families[v].load).ravel()
    return step, total - int((-(-most // contention)).sum())


def merge_steps(box: Box, step: NDArray[np.int32]) -> Phases:
    """Consecutive steps of contention 1, merged as contention, senders and receivers allow."""
    found = _core.group_phases(step)
    return Phases(
        _core.merge_phases(box.nodes, found.offsets, found.message, box.contention), found.message
    )


def cheapest_plan(box: Box, contention: int, seed: int) -> Plan:
    """Over every leading axis and family of it; ties to the later axis, then the folded family."""
    families = {k: families_of(box.sides[k], box.cycles[k], seed) for k in box.axes}
    best: Plan | None = None
    for lead in reversed(box.axes):
        rest = [k for k in box.axes if k != lead]
        for family in families[lead]:
            options = [families[k] for k in rest]
            variant, cost = _choose(family, options, contention)
            if best is None or cost < best.cost:
                width = max((len(option) for option in options), default=1)
                chosen = tuple(
                    tuple(option[min(v, len(option) - 1)] for v in range(width))
                    for option in options
                )
                best = Plan((*rest, lead), (*chosen, (family,) * width), variant, cost)
    if best is None:  # pragma: no cover - a box has at least one axis
        raise ValueError("a box without axes")
    return best


def _choose(
    lead: Family, options: Sequence[list[Family]], contention: int
) -> tuple[NDArray[np.int32], int]:
    """(variant of each permutation of `lead`, phases in all)."""
    width = max((len(option) for option in options), default=1)
    cost = np.empty((width, lead.count), np.int64)
    for v in range(width):
        most = np.zeros(1, np.int64)
        for option in options:
            most = np.maximum.outer(most, option[min(v, len(option) - 1)].load).ravel()
        value, many = np.unique(most, return_counts=True)
        steps = np.maximum(value, lead.load[:, None])
        cost[v] = (-(-steps // contention) * many).sum(axis=1)
    variant = cost.argmin(axis=0).astype(np.int32)
    return variant, int(cost[variant, np.arange(lead.count)].sum())


def steps_of(plan: Plan, box: Box, merge: int) -> NDArray[np.int32]:
    """shape=(messages), int32.

    The step of every message when `merge` slots of each product share one.
    """
    width = len(plan.families[0])
    others, lead = plan.families[:-1], plan.families[-1][0]
    strides = np.zeros((len(plan.axes), width), np.int32)
    for v in range(width):
        counts = [families[v].count for families in others]
        strides[:-1, v] = [prod(counts[k + 1 :]) for k in range(len(counts))]
    per_lead = max(prod(families[v].count for families in others) for v in range(width))
    strides[-1] = per_lead
    base, modulus, shift = (np.ones(per_lead * lead.count, np.int32) for _ in range(3))
    at = 0
    for v, chosen, back in _walk(plan):
        group = int(np.dot(chosen, strides[:, v]))
        slots = max(
            int(families[v].load[p]) for families, p in zip(plan.families, chosen, strict=True)
        )
        base[group], modulus[group] = at, max(slots, 1)
        shift[group] = -back % modulus[group]
        at += -(-slots // merge)
    tables = [family for families in plan.families for family in families]
    axes = box.product_axes(
        plan.axes,
        [family.permutation for family in tables],
        [family.label for family in tables],
        variants=width,
    )
    groups = _core.ProductGroups(
        stride=strides.ravel(), variant=plan.variant, base=base, modulus=modulus, shift=shift
    )
    return _core.product_steps(axes, groups, slots=empty(), columns=0, merge=merge)


def _walk(plan: Plan) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """(variant, permutation of each axis, steps back), factors in reflected order.

    Types are inside.
    """
    lead = plan.families[-1][0]
    back, forth = 0, True
    for leading in _leading_blocks(plan, lead):
        v = int(plan.variant[leading[0]])
        inner = [_by_factor(families[v]) for families in plan.families[:-1]]
        indices = list(reflected([len(factors) for factors in inner]))
        before: tuple[int, ...] | None = None
        for index in indices if forth else indices[::-1]:
            if before is not None and sum(index) < sum(before):
                back += 1
            before = index
            choices = [factors[k] for factors, k in zip(inner, index, strict=True)] + [leading]
            for chosen in tuples(*choices):
                yield v, chosen, back
        forth = not forth


def _leading_blocks(plan: Plan, lead: Family) -> list[list[int]]:
    """The leading family by factors.

    Permutations of one factor are apart where they choose different variants.
    """
    blocks: list[list[int]] = []
    for permutations in _by_factor(lead):
        variants = np.unique(plan.variant[permutations])
        blocks.extend([p for p in permutations if plan.variant[p] == v] for v in variants)
    return blocks


def _by_factor(family: Family) -> list[list[int]]:
    """Permutations of each factor."""
    return [np.flatnonzero(family.factor == f).tolist() for f in np.unique(family.factor)]


def reflected(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All index tuples below `counts`, neighbours differing by one in one place.

    The last place varies fastest.
    """
    if not counts:
        yield ()
        return
    tail = list(reflected(counts[1:]))
    for k in range(counts[0]):
        for rest in tail if k % 2 == 0 else tail[::-1]:
            yield (k, *rest)
