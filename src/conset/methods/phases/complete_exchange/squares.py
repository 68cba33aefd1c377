"""Square meshes: closed forms for sides 4m, 4m+2 and 4m+3, and two stored schedules of 25 nodes.

Side n = 4m: the closed form, ⌈n³/4c⌉ phases for every contention c ≤ n/4, which is optimal. The
algorithm, its proof in short, its complexity and its sources stand in
`cpp/include/conset/scheduling/complete_exchange/complete_exchange.hpp`. Steps are numbered from 0
to n³/4 - 1; phase p of a schedule of contention c holds the steps c·p … c·p + c - 1. Beyond c = n/4
the schedule stays at n/4, so that every phase keeps one send and one receive. `partner_at` and
`step_of` are for applications: each rank computes its own part in O(1) per step, without a table
and without a word to anybody.

Side n = 4m+2: an exact packing of the factors, n³/4 steps at contention 1. New. Problem: a factor
of a path of n nodes (`conset.methods.phases.complete_exchange.families`) has m tiles and one vertex
left out, which stays in one type and flips in the other. As permutations the types load m and m+1,
and their products need more steps than the bound. Idea: pack both types of a column factor and a
row factor together, T = 4m+2 slots for a pair of factors. Column block k and row block l, tiles 0 …
m-1, the vertex left out m; t the horizontal and t' the vertical type; times modulo T:
    k, l < m             (t, t') at k + l + {0, m, 2m+1, 3m+1}
    k = m, l < m         flips (1,0), (1,1) at l+2m, l-1; stays (0,0), (0,1) at l+m, l+3m
    k < m, l = m         flips (0,1), (1,1) at k+2m, k-1; stays (0,0), (1,0) at k+m-1, k+3m
    k = m, l = m         (1,1) at 4m, (1,0) at 2m-1, (0,1) at m-1, (0,0) at 3m-1
Invariant: each row has at most one horizontal and each column at most one vertical tile or flip in
a slot; a cell's items are at least m slots apart, cyclically, so c ≤ m aligned slots of a pair make
a phase. Order: factors forth and back, blocks of odd factors in reverse, slots turned back by one
whenever an even factor is left; then windows across pairs merge too (any of at most m-1 steps);
they are cut greedily, which is optimal for the order. Guarantee: the bisection bound ⌈n³/4c⌉ at c =
1, every c ≤ m-1, every c ≤ m that divides n; n² at c = m+1 is a product. Complexity: O(messages).

Side n = 4m+3: products of folded factors, and what moves in one dimension side by side. New.
Problem: the factors leave out the stays. A product with the identity moves data along rows only, or
along columns only, and wastes half of the links. Idea: the h = 2m+1 factors of M = m+1 tiles make
h² · 4M steps as any product. For each factor i let the P_t (columns move in type t, rows stay) and
the Q_t (rows move, columns stay) run together in 2M slots: with k and l the blocks of factor i that
the column and the row of a node are in, P_t at k + l + M t and Q_t at k + l + M t + ⌊M/2⌋ modulo
2M. Invariant: a row sees one k in a slot, a column one l, a cell's four items stand in four slots
(M ≥ 2). Guarantee: n(n²-1)/4 steps at c = 1, the bisection bound; c of them in a phase in windows
of at most m steps. At c = m+1 the product of the n permutations, n² - 1 phases, is the port bound
itself. Complexity: O(messages).

Stored: two networks of 25 nodes whose fewest phases no construction and no search of ours finds.
`mesh_5x5.txt` (30 phases, the bisection bound) and `torus_5x5.txt` (24 phases, the port bound) hold
the phase of the message from node s to node t in line s, column t; "-" is no message. They were
found by the SAT solver CaDiCaL 1.5.3 (python-sat) in less than a second, from variables "message m
is in phase p": each message in exactly one phase, at most one message for each sender, receiver and
link in a phase, and at least one for those that are needed in every phase; the half turn of the
network takes phase p to phase p + K/2 modulo K. Without "at least one" it did not end in four
minutes.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import InputError
from conset.methods.phases.complete_exchange.box import Box
from conset.methods.phases.complete_exchange.families import Factors, build_factors
from conset.methods.phases.complete_exchange.product import (
    cheapest_plan,
    merge_steps,
    reflected,
    steps_of,
)
from conset.methods.phases.problem import Phases

FILES = {True: "mesh_5x5.txt", False: "torus_5x5.txt"}
"""By whether the network is a mesh."""


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


def _slot_steps(box: Box, merge: int) -> NDArray[np.int32]:
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
    label = _classes(factors)
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


def _classes(factors: Factors) -> NDArray[np.int32]:
    """shape=(side, side).

    2 · block + type, tiles from 0, reversed in odd factors, the vertex left out last.
    """
    m = factors.blocks - 1
    tile = np.where(factors.factor % 2 == 0, factors.block - 1, m - factors.block)
    return (2 * np.where(factors.block == 0, m, tile) + factors.kind).astype(np.int32)


def _slot_cells(m: int) -> NDArray[np.int32]:
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


def block_of(factors: Factors) -> NDArray[np.int32]:
    """shape=(factors, side): the block of every node in every factor."""
    result = np.zeros((factors.count, factors.side), np.int32)
    for f in range(factors.count):
        x, y = np.nonzero(factors.factor == f)
        result[f, x] = factors.block[x, y]
    return result


def applies_stored(box: Box) -> bool:
    """5 × 5 meshes and tori at contention 1."""
    return box.sides == (5, 5) and (box.is_mesh or box.is_torus) and box.contention == 1


def schedule_stored(box: Box, seed: int) -> Phases:
    """The schedule read from the package."""
    text = resources.files(__package__).joinpath(FILES[box.is_mesh]).read_text(encoding="ascii")
    words = [word for line in text.splitlines() for word in line.split() if word != "-"]
    return Phases.of(np.array(words, np.int32))


def _is_square_mesh(box: Box) -> bool:
    return len(box.axes) == 2 and len(box.sides) == 2 and box.is_mesh and box.is_cube()
