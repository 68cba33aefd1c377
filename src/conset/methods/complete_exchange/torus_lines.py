"""Tori of two dimensions, one of which has links to spare: permutations of it times whole factors of the other.

Problem: where a torus R × C has R well below C the links of the long cycles decide, and every row should use both
directions of them in every step. The packing of `torus` pays for pairs of factors of both dimensions instead.
Idea: one permutation of the short side at a time, arcs labelled λ < L, and one factor of the long side, M blocks of two
types σ. The item (λ, k, σ) stands in slot k + σ L + λ modulo T = max(M, 2L).
Invariant: in a row λ is fixed, and k runs once through the slots in each direction; in a target column (k, σ) are
fixed up to σ, and the labels of the two types are L apart. A cell's two items are in different slots.
    short side 4k+1   the n reflections, all full; else the folded family.
    long side 4k+3    what stays in the long dimension is left over and fitted into the gaps.
Guarantee: R (C²-1)/8 for C = 4k+1, R C²/8 for C = 4k, the bound, where the short side has R permutations and 2L ≤ M:
from C = 8 on beside R = 5, from C = 16 on beside R = 9; C = 4k+3 as far as what is left over fits. Requires ties by
parity.
Complexity: O(messages).
Reference: none; new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.complete_exchange.box import Box, empty
from conset.methods.complete_exchange.factors import Factors, build_factors
from conset.methods.complete_exchange.families import Family, families_of
from conset.methods.complete_exchange.product import merge_steps
from conset.methods.complete_exchange.search import absorb_leftovers
from conset.methods.problem import Phases


def applies_torus_lines(box: Box) -> bool:
    """A torus of two dimensions, sides of 1 not counted."""
    return box.is_torus and len(box.axes) == 2


def schedule_torus_lines(box: Box, seed: int) -> Phases:
    """The cheaper of both ways to name the short side, and of its families; steps merged up to the contention."""
    choices = [
        (_cost(family, build_factors(box.sides[long], True)), short, long, k)
        for short, long in (box.axes, box.axes[::-1])
        for k, family in enumerate(families_of(box.sides[short], box.cycles[short], seed))
    ]
    _, short, long, k = min(choices)
    return merge_steps(box, _steps(box, families_of(box.sides[short], box.cycles[short], seed)[k], short, long))


def _blocks(factors: Factors) -> int:
    """Blocks that need slots of their own: a vertex that only stays needs none."""
    return max(factors.blocks - (factors.side % 4 == 1), 1)


def _slots(family: Family, factors: Factors) -> NDArray[np.int64]:
    """shape=(permutations): T of each permutation of the short side."""
    most = max(int(family.load.max()), 1)
    return np.maximum(_blocks(factors), np.maximum(most + family.load, most + 1))


def _cost(family: Family, factors: Factors) -> int:
    left_over = int(family.load.sum()) if factors.has_identity else 0
    return int(_slots(family, factors).sum()) * factors.count + left_over


def _steps(box: Box, family: Family, short: int, long: int) -> NDArray[np.int32]:
    """shape=(messages): the step of every message."""
    factors = build_factors(box.sides[long], True)
    slots, count = _slots(family, factors), factors.count
    modulus = np.empty((count + 1, family.count), np.int32)  # the last row is the identity of the long side
    modulus[:count], modulus[count] = slots, np.maximum(family.load, 1)
    base = (np.cumsum(modulus) - modulus.ravel()).astype(np.int32)
    block = np.maximum(factors.block - 1, 0) if box.sides[long] % 4 == 1 else factors.block
    label = np.where(factors.factor < 0, 0, block + factors.kind * max(int(family.load.max()), 1))
    factor = np.where(factors.factor < 0, count, factors.factor)
    step: NDArray[np.int32] = _core.product_steps(
        np.array([box.sides[short], box.sides[long]], np.int32),
        np.array([box.stride(short), box.stride(long)], np.int32), 1,
        np.concatenate([family.permutation.ravel(), factor.ravel()]).astype(np.int32),
        np.concatenate([family.label.ravel(), label.ravel()]).astype(np.int32),
        np.array([1, family.count], np.int32), np.zeros(count + 1, np.int32), base, modulus.ravel(),
        np.zeros(base.size, np.int32), empty(), 0, 1,
    )  # fmt: skip
    return absorb_leftovers(box, step, int(slots.sum()) * count) if factors.has_identity else step
