"""Tori: one and two dimensions, two of which one has links to spare, and three equal sides of 8k.

All pack the factors of cycles (`conset.methods.phases.complete_exchange.families`) and require ties
by parity; other ties are mended by the chooser. Complexity: O(messages) each. New, but for what a
paragraph says.

One and two dimensions: both directions of every cycle and both types of every factor packed
together.
Problem: a tile of a cycle uses one direction only. A pair of factors, M blocks each, has four items
in each cell (k, l) of column block k and row block l: horizontal type σ, vertical type σ'. Row
block l has a link resource for each σ, column block k one for each σ'.
Idea: the item is in slot a(l, σ) + b(k, σ') modulo T = 2M, b(k, ·) = k, k+M and a(l, ·) = x,
x+δ, where the pairs (x, x+δ) tile Z_T, δ = M/2 or, M odd, the odd one of (M±1)/2. M is the larger
of the two numbers of blocks; T ≥ 4.
Invariant: row resource (l, σ) meets each b once, column resource (k, σ') each a once; a cell's
items differ by δ, M, M±δ. n = 4k+2 the vertex left out is a block: it flips upwards in one type,
downwards or not at all in the other. n = 4k+1 the vertex left out stays: it uses the slots of block
0 and no link of its dimension. n = 4k+3 the stays belong to no factor: what moves in one dimension
only is packed for itself, for each factor in max(M, 2) slots, type + of block k at k, type - at
k+1; where both dimensions have such moves they run together in max(M, 4) slots: columns at k + l +
{0, 1}, rows at k + l + {2, 3}. One dimension is such a tail alone. A side 4k+2 may also have all
ties upwards.
Guarantee: at c = 1: n³/8 for a square n = 4k, exact; n²(n+2)/8 for 4k+2; (n+1)²(n-1)/8 for 4k+1.
Reference: none consulted; Hinrichs et al., SPAA 1994, doi:10.1145/181014.181028, have an optimal
one on a 2-D torus.

Three equal sides 8k: both types of all factors packed together, n⁴/8c phases.
Problem: a cell of three blocks has 2³ items, one for each combination of types, but a residue class
of T = 4M slots only half as many per label sum; sums of labels, which serve meshes of any
dimension, waste half of the links.
Idea: M = 2k blocks in each of the N = 4k factors of a side; the item (k_i, σ_i) is in slot Σ
A_i(k_i) + σ_i d_i modulo 4M = 8k, with d_i = 2^{i-1} k and A_1(x) = x; A_2(x) = x for x < k, else x
+ k; A_3(x) = x for x < k, else x + 3k.
Invariant: fix two of the three blocks and the type that names the link direction; what remains
takes each slot at most once. A cell's items are k slots apart, so c | k aligned slots merge.
Guarantee: n⁴/8 steps, the bound; n⁴/8c phases where c divides k.

Two dimensions, one of which has links to spare: permutations of it times whole factors of the
other.
Problem: where a torus R × C has R well below C the links of the long cycles decide, and every row
should use both directions of them in every step. The packing above pays for pairs of factors of
both dimensions instead.
Idea: one permutation of the short side at a time, arcs labelled λ < L, and one factor of the long
side, M blocks of two types σ. The item (λ, k, σ) is in slot k + σ L + λ modulo T = max(M, 2L).
Invariant: in a row λ is fixed, and k runs once through the slots in each direction; in a target
column (k, σ) are fixed up to σ, and the labels of the two types are L apart. A cell's two items are
in different slots. short side 4k+1 the n reflections, all full; else the folded family. long side
4k+3 what stays in the long dimension is left over and fitted into the gaps.
Guarantee: R (C²-1)/8 for C = 4k+1, R C²/8 for C = 4k, the bound, where the short side has R
permutations and 2L ≤ M: from C = 8 on beside R = 5, from C = 16 on beside R = 9; C = 4k+3 as far as
what is left over fits.
"""

from __future__ import annotations

import numpy as np

from conset import _core
from conset.base import Bools, Ints, Ints32
from conset.methods.phases.complete_exchange.box import Box, absorb_leftovers, empty
from conset.methods.phases.complete_exchange.families import (
    Factors,
    Family,
    build_factors,
    families_of,
)
from conset.methods.phases.complete_exchange.product import block_of, merge_steps, reflected
from conset.methods.phases.problem import Phases


def applies_torus(box: Box) -> bool:
    """A torus of one or two dimensions, sides of 1 not counted."""
    return box.is_torus and len(box.axes) <= 2 and box.nodes > 1


def applies_torus_absorbed(box: Box) -> bool:
    """As `applies_torus`, where moves in one dimension are left over.

    Or flips whose ties are not by parity.
    """
    left_over = (3,) if box.tie == "parity" else (3, 0)
    return (
        applies_torus(box)
        and len(box.axes) == 2
        and any(box.sides[k] % 4 in left_over for k in box.axes)
    )


def schedule_torus(box: Box, seed: int) -> Phases:
    """The packing; consecutive steps merged up to the contention."""
    return merge_steps(box, _packed_steps(box)[0])


def schedule_torus_absorbed(box: Box, seed: int) -> Phases:
    """The packing with the rest fitted into its gaps.

    What moves in one dimension and what ties another way is fitted first.
    """
    step, first = _packed_steps(box)
    if box.tie != "parity":
        step[_in_identity_factors(box)] = first
    return merge_steps(box, absorb_leftovers(box, step, first))


def _in_identity_factors(box: Box) -> Bools:
    """shape=(messages): whether a message flips or stays in a dimension of 4k nodes.

    Both types may want one way.
    """
    source, target = box.ends
    found = np.zeros(box.messages, bool)
    for axis in (k for k in box.axes if box.sides[k] % 4 == 0):
        side, stride = box.sides[axis], box.stride(axis)
        found |= (
            build_factors(side, True).factor[source // stride % side, target // stride % side] == 0
        )
    return found


def _packed_steps(box: Box) -> tuple[Ints32, int]:
    """(step of every message, first step of what moves in one dimension only)."""
    axes = box.axes
    factors = [build_factors(box.sides[k], True, ties_up=box.tie == "plus") for k in axes]
    if len(axes) == 1:
        step = np.zeros(box.messages, np.int32)
        _pack_lines(box, step, [(axes[0], factors[0])], 0)
        return step, 0
    step, at = _pack_pairs(box, factors)
    movers = [(axes[k], factors[k]) for k in (0, 1) if factors[1 - k].has_identity]
    if movers:
        _pack_lines(box, step, movers, at)
    return step, at


def _pack_pairs(box: Box, factors: list[Factors]) -> tuple[Ints32, int]:
    """(step of every message that moves in both dimensions, steps).

    T slots for each pair of factors.
    """
    rows, columns = factors
    blocks = max(_count_blocks(rows), _count_blocks(columns))
    slots = max(2 * blocks, 4)
    counts = [f.count + f.has_identity for f in factors]
    base = np.zeros((counts[1], counts[0]), np.int32)
    pairs = [(row, column) for row, column in reflected([rows.count, columns.count])]
    for k, (row, column) in enumerate(pairs):
        base[column, row] = k * slots
    axes = box.product_axes(
        box.axes,
        [np.where(f.factor < 0, f.count, f.factor) for f in factors],
        [2 * _block_slots(f) + f.kind for f in factors],
    )
    groups = _core.ProductGroups(
        stride=np.array([1, counts[0]], np.int32),
        variant=np.zeros(counts[1], np.int32),
        base=base.ravel(),
        modulus=np.full(base.size, slots, np.int32),
        shift=np.zeros(base.size, np.int32),
    )
    cells = _pair_cells(_count_blocks(rows), _count_blocks(columns), slots)
    step = _core.product_steps(
        axes, groups, slots=cells.ravel(), columns=2 * _count_blocks(columns), merge=1
    )
    return step, len(pairs) * slots


def _count_blocks(factors: Factors) -> int:
    """Blocks that need slots of their own: a vertex that only stays needs none."""
    return max(factors.blocks - (factors.side % 4 == 1), 1)


def _block_slots(factors: Factors) -> Ints32:
    return (
        np.maximum(factors.block - 1, 0).astype(np.int32)
        if factors.side % 4 == 1
        else factors.block
    )


def _pair_cells(rows: int, columns: int, slots: int) -> Ints32:
    """shape=(2 rows, 2 columns), int32: the slot of (row block and type, column block and type)."""
    half = slots // 2
    a = tiling(slots)[:rows]  # [l, horizontal type]
    b = np.arange(columns)[:, None] + np.array([0, half])  # [k, vertical type]
    cell: Ints = (
        a[:, None, None, :] + b.T[None, :, :, None]
    )  # [l, vertical type, k, horizontal type]
    return (cell % slots).astype(np.int32).reshape(2 * rows, 2 * columns)


def tiling(slots: int) -> Ints:
    """shape=(slots / 2, 2).

    Pairs (x, x + δ) that tile the integers modulo `slots`, δ near a quarter of them.
    """
    half = slots // 2
    delta = half // 2 if half % 2 == 0 else half // 2 + (half // 2 + 1) % 2
    pairs, taken = [], np.zeros(slots, bool)
    for start in range(slots):
        x = start
        while not taken[x]:
            y = (x + delta) % slots
            pairs.append((x, y))
            taken[[x, y]] = True
            x = (y + delta) % slots
    return np.array(sorted(pairs), np.int64)


def _pack_lines(box: Box, step: Ints32, movers: list[tuple[int, Factors]], at: int) -> None:
    """Writes the steps of what moves in one dimension only, from `at` on.

    Two dimensions run together.
    """
    together = min(f.count for _, f in movers) if len(movers) == 2 else 0
    slots = max([4] + [f.blocks for _, f in movers])
    for turn, (axis, factors) in enumerate(movers):
        own = max(_count_blocks(factors), 2)
        i = np.arange(factors.count)
        first = at + np.where(i < together, i * slots, together * slots + (i - together) * own)
        other = next((f for k, f in movers if k != axis), None)
        shifts = block_of(other) if other is not None else None
        _pack_axis(
            box,
            step,
            axis,
            factors,
            first,
            np.where(i < together, slots, own),
            shifts,
            2 * turn,
            together,
        )


def _pack_axis(
    box: Box,
    step: Ints32,
    axis: int,
    factors: Factors,
    first: Ints,
    slots: Ints,
    shifts: Ints32 | None,
    offset: int,
    together: int,
) -> None:
    """One dimension of `_pack_lines`.

    Factor i from `first[i]` in `slots[i]`, shifted by blocks of the other one.
    """
    side, stride = box.sides[axis], box.stride(axis)
    x, y = np.nonzero(~np.eye(side, dtype=bool))
    i = factors.factor[x, y]
    slot = _block_slots(factors)[x, y] + factors.kind[x, y]
    others = np.arange(box.nodes)[(np.arange(box.nodes) // stride) % side == 0]
    for start in others:
        shift = np.zeros(i.size, np.int64)
        if shifts is not None:
            rest = next(k for k in box.axes if k != axis)
            coordinate = start // box.stride(rest) % box.sides[rest]
            joint = i < together
            shift[joint] = shifts[i[joint], coordinate] + offset
        ids = box.message_ids(start + x * stride, start + y * stride)
        step[ids] = first[i] + (slot + shift) % slots[i]


def applies_torus_cube(box: Box) -> bool:
    """A torus of three equal sides that 8 divides."""
    return len(box.sides) == 3 and box.is_torus and box.is_cube() and box.sides[0] % 8 == 0


def schedule_torus_cube(box: Box, seed: int) -> Phases:
    """The packing; consecutive slots merged up to the contention."""
    side = box.sides[0]
    factors = build_factors(side, True)
    count, slots = factors.count, side
    groups = np.arange(count**3, dtype=np.int32)
    axes = box.product_axes(
        (0, 1, 2), [factors.factor] * 3, [_cube_labels(factors, i) for i in range(3)]
    )
    given = _core.ProductGroups(
        stride=np.array([1, count, count**2], np.int32),
        variant=np.zeros(count, np.int32),
        base=groups * slots,
        modulus=np.full(groups.size, slots, np.int32),
        shift=np.zeros(groups.size, np.int32),
    )
    return merge_steps(box, _core.product_steps(axes, given, slots=empty(), columns=0, merge=1))


def _cube_labels(factors: Factors, axis: int) -> Ints32:
    """shape=(side, side): A_i(block) + type · d_i."""
    k = factors.side // 8
    far = np.where(factors.block < k, 0, (0, k, 3 * k)[axis])
    return (factors.block + far + factors.kind * (k << axis)).astype(np.int32)


def applies_torus_lines(box: Box) -> bool:
    """A torus of two dimensions, sides of 1 not counted."""
    return box.is_torus and len(box.axes) == 2


def schedule_torus_lines(box: Box, seed: int) -> Phases:
    """The cheaper of both ways to name the short side, and of its families.

    Steps merged up to the contention.
    """
    choices = [
        (_line_cost(family, build_factors(box.sides[long], True)), short, long, k)
        for short, long in (box.axes, box.axes[::-1])
        for k, family in enumerate(families_of(box.sides[short], box.cycles[short], seed))
    ]
    _, short, long, k = min(choices)
    return merge_steps(
        box,
        _line_steps(box, families_of(box.sides[short], box.cycles[short], seed)[k], short, long),
    )


def _line_slots(family: Family, factors: Factors) -> Ints:
    """shape=(permutations): T of each permutation of the short side."""
    most = max(int(family.load.max()), 1)
    return np.maximum(_count_blocks(factors), np.maximum(most + family.load, most + 1))


def _line_cost(family: Family, factors: Factors) -> int:
    left_over = int(family.load.sum()) if factors.has_identity else 0
    return int(_line_slots(family, factors).sum()) * factors.count + left_over


def _line_steps(box: Box, family: Family, short: int, long: int) -> Ints32:
    """shape=(messages): the step of every message."""
    factors = build_factors(box.sides[long], True)
    slots, count = _line_slots(family, factors), factors.count
    modulus = np.empty(
        (count + 1, family.count), np.int32
    )  # the last row is the identity of the long side
    modulus[:count], modulus[count] = slots, np.maximum(family.load, 1)
    base = (np.cumsum(modulus) - modulus.ravel()).astype(np.int32)
    label = np.where(
        factors.factor < 0, 0, _block_slots(factors) + factors.kind * max(int(family.load.max()), 1)
    )
    factor = np.where(factors.factor < 0, count, factors.factor)
    axes = box.product_axes((short, long), [family.permutation, factor], [family.label, label])
    groups = _core.ProductGroups(
        stride=np.array([1, family.count], np.int32),
        variant=np.zeros(count + 1, np.int32),
        base=base,
        modulus=modulus.ravel(),
        shift=np.zeros(base.size, np.int32),
    )
    step: Ints32 = _core.product_steps(axes, groups, slots=empty(), columns=0, merge=1)
    return absorb_leftovers(box, step, int(slots.sum()) * count) if factors.has_identity else step
