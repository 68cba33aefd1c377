"""Shift: every rank sends the same distance up."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, partners_of_map


def generate_shift(setting: Setting, *, by: int) -> Partners:
    """Rank `r` sends to `(r + by) mod ranks`; `by` may be negative."""
    return partners_of_map((np.arange(setting.ranks, dtype=np.int64) + by % setting.ranks) % setting.ranks)
