"""Tori of three equal sides 8k: both types of all factors packed together, n⁴/8c phases.

Problem: a cell of three blocks has 2³ items, one for each combination of types, but a residue class of T = 4M slots
only half as many per label sum; sums of labels, which serve meshes of any dimension, waste half of the links.
Idea: M = 2k blocks in each of the N = 4k factors of a side; the item (k_i, σ_i) stands in slot Σ A_i(k_i) + σ_i d_i
modulo 4M = 8k, with d_i = 2^{i-1} k and A_1(x) = x; A_2(x) = x for x < k, else x + k; A_3(x) = x for x < k, else x +
3k.
Invariant: fix two of the three blocks and the type that names the link direction; what remains takes each slot at most
once. A cell's items are k slots apart, so c | k aligned slots merge.
Guarantee: n⁴/8 steps, the bound; n⁴/8c phases where c divides k. Requires ties by parity.
Complexity: O(messages).
Reference: none; new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.complete_exchange.box import Box, empty
from conset.methods.complete_exchange.factors import Factors, build_factors
from conset.methods.complete_exchange.product import merge_steps
from conset.methods.problem import Phases


def applies_torus_cube(box: Box) -> bool:
    """A torus of three equal sides that 8 divides."""
    return len(box.sides) == 3 and box.is_torus and box.is_cube() and box.sides[0] % 8 == 0


def schedule_torus_cube(box: Box, seed: int) -> Phases:
    """The packing; consecutive slots merged up to the contention."""
    side = box.sides[0]
    factors = build_factors(side, True)
    count, slots = factors.count, side
    groups = np.arange(count**3, dtype=np.int32)
    step = _core.product_steps(
        np.full(3, side, np.int32), np.array([box.stride(k) for k in range(3)], np.int32), 1,
        np.tile(factors.factor.ravel(), 3), np.concatenate([_labels(factors, i).ravel() for i in range(3)]),
        np.array([1, count, count**2], np.int32), np.zeros(count, np.int32), groups * slots,
        np.full(groups.size, slots, np.int32), np.zeros(groups.size, np.int32), empty(), 0, 1,
    )  # fmt: skip
    return merge_steps(box, step)


def _labels(factors: Factors, axis: int) -> NDArray[np.int32]:
    """shape=(side, side): A_i(block) + type · d_i."""
    k = factors.side // 8
    far = np.where(factors.block < k, 0, (0, k, 3 * k)[axis])
    return (factors.block + far + factors.kind * (k << axis)).astype(np.int32)
