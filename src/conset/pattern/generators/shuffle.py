"""Perfect shuffle: the bits of a rank turned left by one."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, bits_of, partners_of_map


def generate_shuffle(setting: Setting) -> Partners:
    """Rank b₀b₁…bₖ sends to b₁…bₖb₀; the first and the last rank stay local.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "shuffle")
    rank = np.arange(setting.ranks, dtype=np.int64)
    return partners_of_map(((rank << 1) | (rank >> max(bits - 1, 0))) % setting.ranks)
