"""Families: one side's ordered pairs as permutations whose arcs are labelled, ready for the product.

Arcs of a permutation with one label share no link in either direction, so a permutation needs as many labels as it
loads its busiest link. Four families:

- `folded_family`, path: factor and type make a permutation; its blocks are the labels, in an order in which label k of
  a factor meets only the labels k and k+1 of the factor before, so that products walked boustrophedon can be merged in
  windows.
- `folded_family`, cycle: a permutation takes every other block in type 0 (upwards) and the rest in type 1 (downwards):
  both directions of the links work, ⌈blocks/2⌉ labels.
- `full_family`, path of 4m+1 nodes: the folded family has n+1 permutations that leave nodes out; here are n full ones
  of load at most m+1, made from a transversal: see `cpp/include/conset/scheduling/complete_exchange/transversal.hpp`.

- `reflected_family`, cycle of 4k+1 nodes: the reflections, n full permutations, for a side that has links to spare.

Complexity: O(n²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.complete_exchange.factors import Factors, build_factors

LARGEST_FULL = 257
"""Longer sides have their folded family only: full ones serve short sides and large contention."""


@dataclass(frozen=True, eq=False)
class Family:
    """A side's ordered pairs as labelled permutations.

    Attributes:
        side: nodes.
        permutation: shape=(side, side), int32: the permutation that takes x to y.
        label: shape=(side, side), int32: from 0.
        load: shape=(permutations), int64: labels of each permutation; 0 for the identity.
        factor: shape=(permutations), int64, rising: permutations of one factor have the same blocks.
    """

    side: int
    permutation: NDArray[np.int32]
    label: NDArray[np.int32]
    load: NDArray[np.int64]
    factor: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of permutations."""
        return int(self.load.size)


def folded_family(side: int, cycle: bool) -> Family:
    """Factors and types as permutations."""
    factors = build_factors(side, cycle)
    if cycle:
        permutation, label = 2 * factors.factor + (factors.kind ^ (factors.block & 1)), factors.block >> 1
        label = _without_left_out(factors, permutation, label)
    else:
        permutation, label = 2 * factors.factor + factors.kind, path_label(factors)
    stays = factors.factor < 0
    count = 2 * factors.count + bool(stays.any())
    permutation = np.where(stays, count - 1, permutation).astype(np.int32)
    return _family(side, permutation, np.where(stays, 0, label).astype(np.int32), count, np.arange(count) // 2)


def path_label(factors: Factors) -> NDArray[np.int32]:
    """shape=(side, side): the label of every arc of a path, from its block and factor."""
    side, k = factors.side, factors.block
    i = np.maximum(factors.factor - (side % 4 == 0), 0)
    if side % 4 == 2:  # tiles before the special block, whose stays need no label
        return np.where(k == 0, np.where(factors.kind == 1, factors.blocks - 1, 0), k - 1).astype(np.int32)
    labels = factors.blocks - factors.leaves_one
    turned = np.where(i % 2 == 0, k, -k) - (i // 2 if side % 4 == 1 else (i + 1) // 2)
    result: NDArray[np.int32] = (turned % max(labels, 1)).astype(np.int32)
    return result


def _without_left_out(factors: Factors, permutation: NDArray[np.int32], label: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels of a cycle counted again where block 0 does not move: the blocks of a direction are numbered from 0."""
    if not factors.leaves_one:
        return label
    result = label.copy()
    side = factors.side
    moving = ~np.eye(side, dtype=bool)
    for p in range(2 * factors.count):
        for kind in (0, 1):
            chosen = (permutation == p) & moving & (factors.kind == kind)
            result[chosen] = np.unique(factors.block[chosen], return_inverse=True)[1]
    return result


def _family(
    side: int, permutation: NDArray[np.int32], label: NDArray[np.int32], count: int, factor: NDArray[np.int64]
) -> Family:
    """A family with its loads: one more than the largest label of an arc that moves."""
    load = np.zeros(count, np.int64)
    moving = ~np.eye(side, dtype=bool)
    np.maximum.at(load, permutation[moving], label[moving].astype(np.int64) + 1)
    label = np.where(moving, label, label % np.maximum(load, 1)[permutation]).astype(np.int32)
    return Family(side, np.ascontiguousarray(permutation), np.ascontiguousarray(label), load, factor.astype(np.int64))


def full_family(side: int, seed: int) -> Family | None:
    """The n full permutations of a path of n = 4m+1 nodes, of load at most m+1; None where no transversal was found.

    One arc x → y is taken out of each of the n-1 permutations of the path of n-1 nodes, all sources and targets
    distinct; the new middle node z goes into its place as x → z → y, which adds at most 1 to any link; the arcs taken
    out and z → z are the n-th permutation.
    """
    if side < 5 or side % 4 != 1:
        return None
    inner = folded_family(side - 1, False)
    target = _core.find_transversal(side - 1, inner.permutation.ravel(), side // 4 + 1, seed % 2**64)
    if not target.size:
        return None
    middle = side // 2
    old = np.delete(np.arange(side), middle)
    permutation = np.zeros((side, side), np.int32)
    permutation[np.ix_(old, old)] = inner.permutation
    source = np.arange(side - 1)
    symbol = inner.permutation[source, target]
    permutation[old[source], middle] = symbol
    permutation[middle, old[target]] = symbol
    permutation[old[source], old[target]] = side - 1
    permutation[middle, middle] = side - 1
    return _family(side, permutation, interval_labels(permutation, side), side, np.arange(side))


def reflected_family(side: int) -> Family:
    """The n reflections x → a - x of a cycle of odd length, all full, of load ⌈(n-1)/4⌉.

    With 2c = a the nodes c + j and c - j change places: for small j across c, else across the opposite link, so the
    arcs are two bundles of nested intervals that do not meet; both directions carry the same.
    """
    x, y = np.divmod(np.arange(side * side), side)
    center = (x + y) * ((side + 1) // 2) % side
    away = (x - center) % side
    away = np.minimum(away, side - away)
    near = away <= (side - 1) // 4
    label = np.where(near, np.maximum(away - 1, 0), side // 2 - away).reshape(side, side)
    permutation = ((x + y) % side).reshape(side, side).astype(np.int32)
    return _family(side, permutation, label.astype(np.int32), side, np.arange(side))


def interval_labels(permutation: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """shape=(side, side): fewest labels for each permutation of a path, by colouring intervals.

    Arcs that go up, and arcs that go down, are intervals of links; swept from the left each takes the lowest free
    label, which needs no more labels than the busiest link has arcs.
    """
    side = permutation.shape[0]
    label = np.zeros((side, side), np.int32)
    source, target = np.divmod(np.arange(side * side), side)
    order = np.lexsort((np.minimum(source, target), permutation.ravel()))
    free_at: dict[tuple[int, bool], list[int]] = {}
    for arc in order.tolist():
        x, y = divmod(arc, side)
        if x == y:
            continue
        ends = free_at.setdefault((int(permutation[x, y]), x < y), [])
        low, high = min(x, y), max(x, y)
        for k, end in enumerate(ends):
            if end <= low:
                ends[k] = high
                break
        else:
            k = len(ends)
            ends.append(high)
        label[x, y] = k
    return label


def families_of(side: int, cycle: bool, seed: int) -> list[Family]:
    """The families of a side, the folded one first."""
    folded = folded_family(side, cycle)
    if side % 4 != 1 or not 1 < side <= LARGEST_FULL:
        return [folded]
    full = reflected_family(side) if cycle else full_family(side, seed)
    return [folded] if full is None else [folded, full]
