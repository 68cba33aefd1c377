"""Butterfly: every rank exchanges with the ranks that differ in one bit."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, bits_of, partners_of_table


def generate_butterfly(setting: Setting) -> Partners:
    """Rank `r` sends to `r ^ 2^i` for every bit i: all stages of a butterfly at once, binary numbering.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "butterfly")
    rank = np.arange(setting.ranks, dtype=np.int64)
    return partners_of_table(rank[:, None] ^ (1 << np.arange(bits, dtype=np.int64)))
