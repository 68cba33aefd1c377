"""Contention of pairwise exchanges by formula: messages on the busiest link of each step, on a mesh.

Ranks stand row-major on an r × c mesh (the text: r rows, c columns), routes take X (the columns) first; step i of a
complete exchange, 1 ≤ i ≤ p - 1, p = r·c. All formulas are held against counted loads on the ten meshes of the text.

PEX, rank x to x XOR i, both sides powers of two. Digits of i in base c are the XOR of columns (i mod c) and of rows
(⌊i/c⌋); in a line, x → x XOR d crosses the middle of every block of 2^(⌊lg d⌋+1) nodes with 2^⌊lg d⌋ messages each
way and no link with more:
    f(i) = 2^⌊lg max(i mod c, ⌊i/c⌋)⌋
Correction: the scan shows ceilings, with which f is too high in 461 of 511 steps of a 16×32 mesh and contradicts the
text's own "limited by max(r, c)/2". Any number of sides that are powers of two: the digits of i in their mixed radix.

GEN, rank x to (x + i) mod p. With j = i mod c and k = ⌊i/c⌋ a row is turned by j, and columns by k, those messages
that wrap around the end of a row by k + 1:
    f(i) = max(min(j, c - j), V),   V = min(k, r - k) where j = 0, else max(min(k, r - k), min(k + 1, r - k - 1))
Correction: the text adds the horizontal and the vertical term. They load different links, so the sum
(`text_gen_contention`) is an upper bound: never too low, too high in 406 of 511 steps on 16×32.

PEX-GEN and PEX-GEN-SHIFT have no formula off powers of two: absent partners leave gaps, and the text's claim that
they stay below PEX in every step is wrong there (9 against 8 on 16×14, 18 against 16 on 16×30). Their loads are
counted.

Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), sections 3.1 and 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray


def pex_contention(sides: Sequence[int]) -> NDArray[np.int64]:
    """shape=(p - 1): entry i - 1 is f(i) of PEX on a mesh of `sides`, all powers of two."""
    step = np.arange(1, prod(sides), dtype=np.int64)
    largest = np.zeros_like(step)
    for side in reversed(sides):
        step, digit = np.divmod(step, side)
        largest = np.maximum(largest, digit)
    return _power_below(largest)


def gen_contention(rows: int, columns: int) -> NDArray[np.int64]:
    """shape=(p - 1): entry i - 1 is f(i) of GEN on a mesh of `rows` × `columns`, exact for any sides."""
    k, j = np.divmod(np.arange(1, rows * columns, dtype=np.int64), columns)
    wrapped = np.minimum(k + 1, rows - k - 1)
    vertical = np.maximum(np.minimum(k, rows - k), np.where(j == 0, 0, wrapped))
    load: NDArray[np.int64] = np.maximum(np.minimum(j, columns - j), vertical)
    return load


def text_gen_contention(rows: int, columns: int) -> NDArray[np.int64]:
    """shape=(p - 1): GEN's f(i) as the text prints it, with whole divisions: an upper bound of the contention."""
    ranks = rows * columns
    step = np.arange(1, ranks, dtype=np.int64)
    j = step % columns
    return np.minimum(j, columns - j) + np.minimum(step // columns, (ranks - step) // columns)


def _power_below(value: NDArray[np.int64]) -> NDArray[np.int64]:
    """The largest power of two not above each value of at least 1."""
    exponent = np.frexp(value.astype(np.float64))[1] - 1
    return np.int64(1) << exponent.astype(np.int64)
