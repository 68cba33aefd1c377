"""Gather: the root receives from everybody."""

from __future__ import annotations

from conset.pattern.generators.partners import Partners, Setting
from conset.pattern.generators.star import partners_into


def generate_gather(setting: Setting, *, root: int) -> Partners:
    """Every other rank sends one message to rank `root`, directly.

    Raises:
        InputError: there is no such rank.
    """
    return partners_into(setting, "gather", "root", root)
