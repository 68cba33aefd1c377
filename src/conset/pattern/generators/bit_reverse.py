"""Bit reversal: the permutation of a fast Fourier transform."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, bits_of, partners_of_map


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
