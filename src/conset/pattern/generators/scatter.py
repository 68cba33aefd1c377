"""Scatter: the root sends to everybody."""

from __future__ import annotations

from conset.pattern.generators.partners import Partners, Setting
from conset.pattern.generators.star import partners_out_of


def generate_scatter(setting: Setting, *, root: int) -> Partners:
    """Rank `root` sends one message to every other rank, directly.

    Raises:
        InputError: there is no such rank.
    """
    return partners_out_of(setting, "scatter", "root", root)
