"""Product: a complete exchange on any mesh or torus, from one family per side.

Problem: phases of a complete exchange in which no link carries more than c messages and no node
sends or receives twice.
Idea: choose one permutation on each side. Their product moves every node once; the messages whose
labels add to s modulo T, the largest load among the permutations, form step s of T: in any line of
links the arcs of the other sides are fixed, so one label's arcs remain, which share no link. Over
all products every ordered pair occurs once. Merging c steps of a product gives contention c with
one send and one receive still: ⌈T/c⌉ phases. The side with the largest total load leads: for each
of its permutations the others may choose the cheaper of their families.
Windows: products are walked forth and back (reflected order) over the factors, and the sum of
labels is turned back by one for each step back; then on equal sides divisible by 4, consecutive
steps can be merged across products too.
Guarantee: mesh, all sides 4m: n^{d+1}/4c where c divides m, the bisection bound. Mesh R×C, R < C:
exact at c = 1 unless a side is 3 mod 4 or R is close to C.
Other sides and dimensions: any, without a guarantee.
Complexity: O(messages) in the core, O(products) here.
When not to use it: squares of side 4m have a closed form, 4m+2 a better packing, tori of two
dimensions a denser one.
Reference: the product of two paths of 4m nodes is Scott's schedule as Bokhari and Nicol (1997) use
it; the rest is new.

Square meshes: closed forms for sides 4m, 4m+2 and 4m+3, and stored schedules.

Side n = 4m: the closed form, ⌈n³/4c⌉ phases for every contention c ≤ n/4, which is optimal. The
algorithm, its proof in short, its complexity and its sources stand in
`cpp/include/conset/scheduling/complete_exchange/complete_exchange.hpp`. Steps are numbered from 0
to n³/4 - 1; phase p of a schedule of contention c holds the steps c·p … c·p + c - 1. Beyond c = n/4
the schedule stays at n/4, so that every phase keeps one send and one receive. `partner_at` and
`step_of` are for applications: each rank computes its own part in O(1) per step, without a table
and without a word to anybody.

Side n = 4m+2: an exact packing of the factors, n³/4 steps at contention 1. New.
Problem: a factor of a path of n nodes (`conset.methods.phases.complete_exchange.families`) has m
tiles and one vertex left out, which stays in one type and flips in the other. As permutations the
types load m and m+1, and their products need more steps than the bound.
Idea: pack both types of a column factor and a row factor together, T = 4m+2 slots for a pair of
factors. Column block k and row block l, tiles 0 … m-1, the vertex left out m; t the horizontal and
t' the vertical type; times modulo T: k, l < m (t, t') at k + l + {0, m, 2m+1, 3m+1} k = m, l < m
flips (1,0), (1,1) at l+2m, l-1; stays (0,0), (0,1) at l+m, l+3m k < m, l = m flips (0,1), (1,1) at
k+2m, k-1; stays (0,0), (1,0) at k+m-1, k+3m k = m, l = m (1,1) at 4m, (1,0) at 2m-1, (0,1) at m-1,
(0,0) at 3m-1
Invariant: each row has at most one horizontal and each column at most one vertical tile or flip in
a slot; a cell's items are at least m slots apart, cyclically, so c ≤ m aligned slots of a pair make
a phase.
Order: factors forth and back, blocks of odd factors in reverse, slots turned back by one whenever
an even factor is left; then windows across pairs merge too (any of at most m-1 steps); they are cut
greedily, which is optimal for the order.
Guarantee: the bisection bound ⌈n³/4c⌉ at c = 1, every c ≤ m-1, every c ≤ m that divides n; n² at c
= m+1 is a product. Complexity: O(messages).

Side n = 4m+3: products of folded factors, and what moves in one dimension side by side. New.
Problem: the factors leave out the stays. A product with the identity moves data along rows only, or
along columns only, and wastes half of the links.
Idea: the h = 2m+1 factors of M = m+1 tiles make h² · 4M steps as any product. For each factor i let
the P_t (columns move in type t, rows stay) and the Q_t (rows move, columns stay) run together in 2M
slots: with k and l the blocks of factor i that the column and the row of a node are in, P_t at k +
l + M t and Q_t at k + l + M t + ⌊M/2⌋ modulo 2M.
Invariant: a row sees one k in a slot, a column one l, a cell's four items stand in four slots (M ≥
2).
Guarantee: n(n²-1)/4 steps at c = 1, the bisection bound; c of them in a phase in windows of at most
m steps. At c = m+1 the product of the n permutations, n² - 1 phases, is the port bound itself.
Complexity: O(messages).

Stored: networks whose fewest phases no construction finds and no search of ours in seconds.
`mesh_5x5.txt` (30 phases, the bisection bound) and `torus_5x5.txt` (24 phases, the port bound) hold
the phase of the message from node s to node t in line s, column t; "-" is no message. They were
found by the SAT solver CaDiCaL 1.5.3 (python-sat) in less than a second, from variables "message m
is in phase p": each message in exactly one phase, at most one message for each sender, receiver and
link in a phase, and at least one for those that are needed in every phase; the half turn of the
network takes phase p to phase p + K/2 modulo K. Without "at least one" it did not end in four
minutes.
`mesh_13x13.npz` (546 phases, the bisection bound) holds the slot of one message of each orbit under
quarter turns (`OrbitPacking.stored`). It is what `OrbitPacking.negotiate` finds at seed 1 after 75
· 10⁹ prices, a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import product as tuples
from math import prod

import numpy as np

from conset import _core
from conset.base import InputError, Ints32
from conset.methods.phases.complete_exchange.box import (
    Box,
    OrbitPacking,
    absorb_leftovers,
    empty,
    symmetries,
)
from conset.methods.phases.complete_exchange.families import (
    Factors,
    Family,
    build_factors,
    families_of,
)
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
    variant: Ints32
    cost: int


def schedule_product(box: Box, seed: int) -> Phases:
    """The cheapest product of families.

    Consecutive steps merged where that is better than merging each product.
    """
    # steps where what the leading side's identity leaves over
    step, leftovers = _plain_steps(box, box.contention, seed)
    absorbed_steps = step if leftovers is None else absorb_leftovers(box, step, leftovers)
    merged = Phases.of(absorbed_steps)
    if box.contention == 1 or merged.offsets.size - 1 <= box.bound:
        return merged
    cut = merge_steps(box, _plain_steps(box, 1, seed)[0])
    return cut if cut.offsets.size < merged.offsets.size else merged


def _plain_steps(box: Box, contention: int, seed: int) -> tuple[Ints32, int | None]:
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


def merge_steps(box: Box, step: Ints32) -> Phases:
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


def _choose(lead: Family, options: Sequence[list[Family]], contention: int) -> tuple[Ints32, int]:
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


def steps_of(plan: Plan, box: Box, merge: int) -> Ints32:
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
    blocks: list[list[int]] = []  # by factors; apart where its permutations choose variants
    for permutations in _by_factor(lead):
        variants = np.unique(plan.variant[permutations])
        blocks.extend([p for p in permutations if plan.variant[p] == v] for v in variants)
    for leading in blocks:
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


FILES = {True: "mesh_5x5.txt", False: "torus_5x5.txt"}
"""By whether the network is a mesh."""
ORBIT_SIDES = (13,)
"""Meshes whose stored schedules are their own images under quarter turns."""


def applies_square_4m(box: Box) -> bool:
    """A square mesh whose side is divisible by 4."""
    return _is_square_mesh(box) and box.sides[0] % 4 == 0


def schedule_square_4m(box: Box, seed: int) -> Phases:
    """The closed form, min(c, n/4) steps in a phase."""
    side = box.sides[0]
    found = _square(side).phases(min(box.contention, side // 4))
    return Phases(found.offsets, found.message)


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
    _require_below("rank", rank, side * side)
    _require_below("step", step, square.steps)
    partner = square.partner(rank, step)
    return None if partner < 0 else partner


def step_of(side: int, source: int, target: int) -> int:
    """The step at which rank `source` sends to rank `target` on a `side` × `side` mesh.

    The inverse of `partner_at`.

    Raises:
        InputError: a number out of range.
    """
    square = _square(side)
    _require_below("source", source, side * side)
    _require_below("target", target, side * side)
    return square.step(source, target)


@lru_cache(maxsize=8)
def _square(side: int) -> _core.SquareExchange:
    if side < 4 or side % 4 or side > 212:
        raise InputError(
            "closed form of a square mesh: the side must be a multiple of 4 from 4 to "
            f"212, given {side}"
        )
    return _core.SquareExchange(side)


def _require_below(what: str, value: int, end: int) -> None:
    if not 0 <= value < end:
        raise InputError(f"{what} {value}: must be from 0 to {end - 1}")


def applies_square_4m2(box: Box) -> bool:
    """A square mesh of side 4m+2, m at least 1."""
    return _is_square_mesh(box) and box.sides[0] % 4 == 2 and box.sides[0] > 2


def schedule_square_4m2(box: Box, seed: int) -> Phases:
    """The packing with steps merged in windows.

    Or in each pair of factors where that gives fewer phases.
    """
    windows = merge_steps(box, _slot_steps(box, 1))
    if (
        box.contention == 1
        or box.contention > box.sides[0] // 4
        or windows.offsets.size - 1 <= box.bound
    ):
        return windows
    aligned = Phases.of(_slot_steps(box, box.contention))
    return aligned if aligned.offsets.size < windows.offsets.size else windows


def _slot_steps(box: Box, merge: int) -> Ints32:
    """The step of every message when `merge` slots of a pair of factors share one.

    shape=(messages).
    """
    side = box.sides[0]
    factors = build_factors(side, False)
    slots, count = side, factors.count
    base, shift = np.zeros((count, count), np.int32), np.zeros((count, count), np.int32)
    turned, before = 0, (0, 0)
    for k, (row, column) in enumerate(reflected([count, count])):
        left = before[0] if row != before[0] else before[1]
        turned += k > 0 and left % 2 == 0
        before = (row, column)
        base[column, row] = k * -(-slots // merge)
        shift[column, row] = -turned % slots
    m = factors.blocks - 1
    tile = np.where(factors.factor % 2 == 0, factors.block - 1, m - factors.block)
    label = (2 * np.where(factors.block == 0, m, tile) + factors.kind).astype(np.int32)
    axes = box.product_axes((0, 1), [factors.factor] * 2, [label] * 2)
    groups = _core.ProductGroups(
        stride=np.array([1, count], np.int32),
        variant=np.zeros(count, np.int32),
        base=base.ravel(),
        modulus=np.full(count * count, slots, np.int32),
        shift=shift.ravel(),
    )
    return _core.product_steps(
        axes, groups, slots=_slot_cells(side // 4).ravel(), columns=2 * (side // 4 + 1), merge=merge
    )


def _slot_cells(m: int) -> Ints32:
    """shape=(2m+2, 2m+2), int32: the slot of (row class, column class).

    At least 0, to be taken modulo T.
    """
    slots = 4 * m + 2
    cell = np.zeros((m + 1, 2, m + 1, 2), np.int64)  # [l, t', k, t]
    block = np.arange(m)
    for (t, u), at in zip(
        ((0, 0), (0, 1), (1, 0), (1, 1)), (0, m, 2 * m + 1, 3 * m + 1), strict=True
    ):
        cell[:m, u, :m, t] = block + block[:, None] + at
    for (t, u), at in {(1, 0): 2 * m, (1, 1): -1, (0, 0): m, (0, 1): 3 * m}.items():
        cell[:m, u, m, t] = block + at
    for (t, u), at in {(0, 1): 2 * m, (1, 1): -1, (0, 0): m - 1, (1, 0): 3 * m}.items():
        cell[m, u, :m, t] = block + at
    for (t, u), at in {(1, 1): 4 * m, (1, 0): 2 * m - 1, (0, 1): m - 1, (0, 0): 3 * m - 1}.items():
        cell[m, u, m, t] = at
    return (cell % slots).astype(np.int32).reshape(2 * m + 2, 2 * m + 2)


def applies_square_4m3(box: Box) -> bool:
    """A square mesh of side 4m+3, m at least 1."""
    return _is_square_mesh(box) and box.sides[0] % 4 == 3 and box.sides[0] > 3


def schedule_square_4m3(box: Box, seed: int) -> Phases:
    """The products, then the tails; consecutive steps merged up to the contention."""
    step = steps_of(cheapest_plan(box, 1, seed), box, 1)
    side = box.sides[0]
    factors = build_factors(side, False)
    first = int(step.max()) + 1
    slots = 2 * factors.blocks
    line = np.arange(side)
    x, y, rest = (a.ravel() for a in np.meshgrid(line, line, line, indexing="ij"))
    x, y, rest = (a[x != y] for a in (x, y, rest))
    i = factors.factor[x, y]
    slot = factors.block[x, y] + block_of(factors)[i, rest] + factors.blocks * factors.kind[x, y]
    tail = first + i * slots
    step[box.message_ids(rest * side + x, rest * side + y)] = tail + slot % slots
    step[box.message_ids(x * side + rest, y * side + rest)] = (
        tail + (slot + factors.blocks // 2) % slots
    )
    return merge_steps(box, step)


def block_of(factors: Factors) -> Ints32:
    """shape=(factors, side): the block of every node in every factor."""
    result = np.zeros((factors.count, factors.side), np.int32)
    for f in range(factors.count):
        x, y = np.nonzero(factors.factor == f)
        result[f, x] = factors.block[x, y]
    return result


def applies_stored(box: Box) -> bool:
    """5 × 5 meshes and tori and meshes of `ORBIT_SIDES`, at contention 1."""
    square = len(box.sides) == 2 and box.is_cube() and box.contention == 1
    small = box.sides[0] == 5 and (box.is_mesh or box.is_torus)
    return square and (small or (box.is_mesh and box.sides[0] in ORBIT_SIDES))


def schedule_stored(box: Box, seed: int) -> Phases:
    """The schedule read from the package."""
    side, folder = box.sides[0], resources.files(__package__)
    if side in ORBIT_SIDES:
        with (
            folder.joinpath(f"mesh_{side}x{side}.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as stored,
        ):
            return OrbitPacking(box, symmetries(box, most=4)[0]).stored(stored["place"], box.bound)
    text = folder.joinpath(FILES[box.is_mesh]).read_text(encoding="ascii")
    words = [word for line in text.splitlines() for word in line.split() if word != "-"]
    return Phases.of(np.array(words, np.int32))


def _is_square_mesh(box: Box) -> bool:
    return len(box.axes) == 2 and len(box.sides) == 2 and box.is_mesh and box.is_cube()
