"""Hotspot: everybody sends to one rank."""

from __future__ import annotations

from conset.pattern.generators.partners import Partners, Setting
from conset.pattern.generators.star import partners_into


def generate_hotspot(setting: Setting, *, to: int) -> Partners:
    """Every other rank sends one message to rank `to`.

    Raises:
        InputError: there is no such rank.
    """
    return partners_into(setting, "hotspot", "to", to)
