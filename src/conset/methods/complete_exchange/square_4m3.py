"""Squares of side n = 4m+3: products of folded factors, and what moves in one dimension side by side.

Problem: the factors of a path of n = 4m+3 nodes leave out the stays. A product with the identity moves data along rows
only, or along columns only, and wastes half of the links.
Idea: the h = 2m+1 factors of M = m+1 tiles make h² · 4M steps as any product. For each factor i let the P_t (columns
move in type t, rows stay) and the Q_t (rows move, columns stay) run together in 2M slots: with k and l the blocks of
factor i that the column and the row of a node are in, P_t at k + l + M t and Q_t at k + l + M t + ⌊M/2⌋ modulo 2M.
Invariant: a row sees one k in a slot, a column one l, a cell's four items stand in four slots (M ≥ 2).
Guarantee: n(n²-1)/4 steps at c = 1, the bisection bound; c of them in a phase in windows of at most m steps. At c =
m+1 the product of the n permutations, n² - 1 phases, is the port bound itself.
Complexity: O(messages).
Reference: none; new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.methods.complete_exchange.box import Box
from conset.methods.complete_exchange.factors import Factors, build_factors
from conset.methods.complete_exchange.product import cheapest_plan, merge_steps, steps_of
from conset.methods.problem import Phases


def applies_square_4m3(box: Box) -> bool:
    """A square mesh of side 4m+3, m at least 1."""
    side = box.sides[0]
    return len(box.axes) == 2 and len(box.sides) == 2 and box.is_mesh and box.is_cube() and side % 4 == 3 and side > 3


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
    step[box.message_ids(x * side + rest, y * side + rest)] = tail + (slot + factors.blocks // 2) % slots
    return merge_steps(box, step)


def block_of(factors: Factors) -> NDArray[np.int32]:
    """shape=(factors, side): the block of every node in every factor."""
    result = np.zeros((factors.count, factors.side), np.int32)
    for f in range(factors.count):
        x, y = np.nonzero(factors.factor == f)
        result[f, x] = factors.block[x, y]
    return result
