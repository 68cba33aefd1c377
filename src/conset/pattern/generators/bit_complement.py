"""Bit complement: every rank sends to the one opposite in all bits."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, bits_of, partners_of_map


def generate_bit_complement(setting: Setting) -> Partners:
    """Rank `r` sends to `ranks - 1 - r`.

    Raises:
        InputError: no power of two of ranks.
    """
    bits_of(setting.ranks, "bit-complement")
    return partners_of_map(np.arange(setting.ranks, dtype=np.int64)[::-1])
