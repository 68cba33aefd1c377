"""Transpose: a square matrix of ranks turned over its diagonal."""

from __future__ import annotations

from math import isqrt

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, partners_of_map, require


def generate_transpose(setting: Setting) -> Partners:
    """Rank `r * s + c` sends to `c * s + r` on s² ranks; the diagonal stays local.

    Raises:
        InputError: no square number of ranks.
    """
    side = isqrt(setting.ranks)
    require(side * side == setting.ranks, "transpose", "a square number of ranks", f"{setting.ranks}")
    return partners_of_map(np.arange(setting.ranks, dtype=np.int64).reshape(side, side).T.ravel())
