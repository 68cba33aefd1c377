"""Permutations: every rank sends to one and receives from one."""

from __future__ import annotations

from math import isqrt

import numpy as np

from conset.pattern.generators.grid import Grid, box_of
from conset.pattern.generators.partners import Partners, Setting, bits_of, partners_of_map, require


def generate_permutation(setting: Setting) -> Partners:
    """A permutation drawn uniformly from all; its fixed points (one on average) stay local."""
    return partners_of_map(setting.random.permutation(setting.ranks))


def generate_shift(setting: Setting, *, by: int) -> Partners:
    """Rank `r` sends to `(r + by) mod ranks`; `by` may be negative."""
    return partners_of_map(
        (np.arange(setting.ranks, dtype=np.int64) + by % setting.ranks) % setting.ranks
    )


def generate_shuffle(setting: Setting) -> Partners:
    """Rank b₀b₁…bₖ sends to b₁…bₖb₀; the first and the last rank stay local.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "shuffle")
    rank = np.arange(setting.ranks, dtype=np.int64)
    return partners_of_map(((rank << 1) | (rank >> max(bits - 1, 0))) % setting.ranks)


def generate_transpose(setting: Setting) -> Partners:
    """Rank `r * s + c` sends to `c * s + r` on s² ranks; the diagonal stays local.

    Raises:
        InputError: no square number of ranks.
    """
    side = isqrt(setting.ranks)
    require(
        side * side == setting.ranks, "transpose", "a square number of ranks", f"{setting.ranks}"
    )
    return partners_of_map(np.arange(setting.ranks, dtype=np.int64).reshape(side, side).T.ravel())


def generate_bit_reverse(setting: Setting) -> Partners:
    """Rank b₀b₁…bₖ sends to bₖ…b₁b₀; palindromes stay local.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "bit-reverse")
    rank = np.arange(setting.ranks, dtype=np.int64)
    reverse = np.zeros_like(rank)
    for bit in range(bits):
        reverse |= ((rank >> bit) & 1) << (bits - 1 - bit)
    return partners_of_map(reverse)


def generate_bit_complement(setting: Setting) -> Partners:
    """Rank `r` sends to `ranks - 1 - r`.

    Raises:
        InputError: no power of two of ranks.
    """
    bits_of(setting.ranks, "bit-complement")
    return partners_of_map(np.arange(setting.ranks, dtype=np.int64)[::-1])


def generate_tornado(setting: Setting) -> Partners:
    """Coordinate x of a side of k places goes to (x + ⌈k/2⌉ - 1) mod k, on all sides at once.

    On the network's sides where it is a box with one above 2 that the ranks fill evenly (number k
    of a node sends to number k); else over the ranks as one cycle.
    """
    grid = box_of(setting)
    if grid is None or max(grid.sides) <= 2:
        grid = Grid((setting.ranks,), True, 1)
    sides = np.array(grid.sides)[:, None]
    at = np.stack(np.unravel_index(np.arange(grid.nodes), grid.sides))
    node = np.ravel_multi_index(tuple((at + (sides + 1) // 2 - 1) % sides), grid.sides)
    target = node[:, None] * grid.per_node + np.arange(grid.per_node)
    return partners_of_map(target.ravel())
