"""Squares of side n = 4m+2: an exact packing of the factors, n³/4 steps at contention 1.

Problem: a factor of a path of n = 4m+2 nodes has m tiles and one vertex left out, which stays in one type and flips in
the other. As permutations the types load m and m+1, and their products need more steps than the bound.
Idea: pack both types of a column factor and a row factor together, T = 4m+2 slots for a pair of factors. Column block
k and row block l, tiles 0 … m-1, the vertex left out m; t the horizontal and t' the vertical type; times modulo T:
    k, l < m             (t, t') at k + l + {0, m, 2m+1, 3m+1}
    k = m, l < m         flips (1,0), (1,1) at l+2m, l-1; stays (0,0), (0,1) at l+m, l+3m
    k < m, l = m         flips (0,1), (1,1) at k+2m, k-1; stays (0,0), (1,0) at k+m-1, k+3m
    k = m, l = m         (1,1) at 4m, (1,0) at 2m-1, (0,1) at m-1, (0,0) at 3m-1
Invariant: each row has at most one horizontal and each column at most one vertical tile or flip in a slot; a cell's
items are at least m slots apart, cyclically, so c ≤ m aligned slots of a pair make a phase.
Order: factors forth and back, blocks of odd factors in reverse, slots turned back by one whenever an even factor is
left; then windows across pairs merge too (any of at most m-1 steps); they are cut greedily, which is optimal for the
order.
Guarantee: the bisection bound ⌈n³/4c⌉ at c = 1, every c ≤ m-1, every c ≤ m that divides n; n² at c = m+1 is a product.
Complexity: O(messages).
Reference: none; new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.complete_exchange.box import Box
from conset.methods.complete_exchange.factors import Factors, build_factors
from conset.methods.complete_exchange.product import merge_steps, reflected
from conset.methods.problem import Phases


def applies_square_4m2(box: Box) -> bool:
    """A square mesh of side 4m+2, m at least 1."""
    side = box.sides[0]
    return len(box.axes) == 2 and len(box.sides) == 2 and box.is_mesh and box.is_cube() and side % 4 == 2 and side > 2


def schedule_square_4m2(box: Box, seed: int) -> Phases:
    """The packing; steps merged in windows, or in each pair of factors where that gives fewer phases."""
    windows = merge_steps(box, _steps(box, 1))
    if box.contention == 1 or box.contention > box.sides[0] // 4 or windows.offsets.size - 1 <= box.bound:
        return windows
    aligned = Phases(*_core.group_phases(_steps(box, box.contention)))
    return aligned if aligned.offsets.size < windows.offsets.size else windows


def _steps(box: Box, merge: int) -> NDArray[np.int32]:
    """shape=(messages): the step of every message when `merge` slots of a pair of factors share one."""
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
    table = np.concatenate([factors.factor.ravel()] * 2), np.concatenate([label.ravel()] * 2)
    return _core.product_steps(
        np.array([side, side], np.int32), np.array([side, 1], np.int32), 1, *table, np.array([1, count], np.int32),
        np.zeros(count, np.int32), base.ravel(), np.full(count * count, slots, np.int32), shift.ravel(),
        _cells(side // 4).ravel(), 2 * (side // 4 + 1), merge,
    )  # fmt: skip


def _classes(factors: Factors) -> NDArray[np.int32]:
    """shape=(side, side): 2 · block + type, tiles from 0, reversed in odd factors, the vertex left out last."""
    m = factors.blocks - 1
    tile = np.where(factors.factor % 2 == 0, factors.block - 1, m - factors.block)
    return (2 * np.where(factors.block == 0, m, tile) + factors.kind).astype(np.int32)


def _cells(m: int) -> NDArray[np.int32]:
    """shape=(2m+2, 2m+2), int32: the slot of (row class, column class); at least 0, to be taken modulo T."""
    slots = 4 * m + 2
    cell = np.zeros((m + 1, 2, m + 1, 2), np.int64)  # [l, t', k, t]
    block = np.arange(m)
    for (t, u), at in zip(((0, 0), (0, 1), (1, 0), (1, 1)), (0, m, 2 * m + 1, 3 * m + 1), strict=True):
        cell[:m, u, :m, t] = block + block[:, None] + at
    for (t, u), at in {(1, 0): 2 * m, (1, 1): -1, (0, 0): m, (0, 1): 3 * m}.items():
        cell[:m, u, m, t] = block + at
    for (t, u), at in {(0, 1): 2 * m, (1, 1): -1, (0, 0): m - 1, (1, 0): 3 * m}.items():
        cell[m, u, :m, t] = block + at
    for (t, u), at in {(1, 1): 4 * m, (1, 0): 2 * m - 1, (0, 1): m - 1, (0, 0): 3 * m - 1}.items():
        cell[m, u, m, t] = at
    return (cell % slots).astype(np.int32).reshape(2 * m + 2, 2 * m + 2)
