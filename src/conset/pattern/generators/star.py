"""Star: one rank with all others, one way; what hotspot, gather and scatter share."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, partners_of_map, require


def _require_rank(setting: Setting, name: str, argument: str, rank: int) -> None:
    require(rank < setting.ranks, name, f"{argument} = a rank from 0 to {setting.ranks - 1}", f"{rank}")


def partners_into(setting: Setting, name: str, argument: str, rank: int) -> Partners:
    """Every other rank sends to `rank`.

    Raises:
        InputError: there is no such rank.
    """
    _require_rank(setting, name, argument, rank)
    into = partners_of_map(np.full(setting.ranks, rank))
    return Partners(into.offsets, into.target)


def partners_out_of(setting: Setting, name: str, argument: str, rank: int) -> Partners:
    """`rank` sends to every other one.

    Raises:
        InputError: there is no such rank.
    """
    _require_rank(setting, name, argument, rank)
    offsets = np.where(np.arange(setting.ranks + 1) > rank, setting.ranks - 1, 0).astype(np.int64)
    return Partners(offsets, np.delete(np.arange(setting.ranks, dtype=np.int32), rank))
