"""Collectives: complete exchange, one rank with all others, trees, butterflies."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import (
    Partners,
    Setting,
    bits_of,
    partners_of_map,
    partners_of_pairs,
    partners_of_table,
    require,
    require_messages,
)


def generate_alltoall(setting: Setting) -> Partners:
    """Message `r * (ranks - 1) + j` goes from `r` to `j`, or to `j + 1` from `j >= r` on.

    Written straight into its 4 bytes a message: an index matrix with its diagonal taken out would
    need three times that.
    """
    ranks = setting.ranks
    require_messages(ranks * (ranks - 1), "alltoall", bytes_each=4)
    everybody = np.arange(ranks, dtype=np.int32)
    target = np.empty((ranks, ranks - 1), np.int32)
    for rank in range(ranks):
        target[rank, :rank] = everybody[:rank]
        target[rank, rank:] = everybody[rank + 1 :]
    return Partners(np.arange(ranks + 1, dtype=np.int64) * (ranks - 1), target.reshape(-1))


def _into(setting: Setting, name: str, argument: str, rank: int) -> Partners:
    """Return the partners where every other rank sends to `rank`; raises where there is none."""
    required = f"{argument} = a rank from 0 to {setting.ranks - 1}"
    require(rank < setting.ranks, name, required, f"{rank}")
    into = partners_of_map(np.full(setting.ranks, rank))
    return Partners(into.offsets, into.target)


def generate_gather(setting: Setting, *, root: int) -> Partners:
    """Every other rank sends one message to rank `root`, directly.

    Raises:
        InputError: there is no such rank.
    """
    return _into(setting, "gather", "root", root)


def generate_scatter(setting: Setting, *, root: int) -> Partners:
    """Rank `root` sends one message to every other rank, directly.

    Raises:
        InputError: there is no such rank.
    """
    _into(setting, "scatter", "root", root)  # checks the rank
    offsets = np.where(np.arange(setting.ranks + 1) > root, setting.ranks - 1, 0).astype(np.int64)
    return Partners(offsets, np.delete(np.arange(setting.ranks, dtype=np.int32), root))


def generate_hotspot(setting: Setting, *, to: int) -> Partners:
    """Every other rank sends one message to rank `to`.

    Raises:
        InputError: there is no such rank.
    """
    return _into(setting, "hotspot", "to", to)


def generate_tree(setting: Setting) -> Partners:
    """Heap numbering: the parent of rank `r` is `(r - 1) // 2`, the root is 0.

    Every edge both ways.
    """
    child = np.arange(1, setting.ranks, dtype=np.int64)
    parent = (child - 1) // 2
    return partners_of_pairs(
        setting.ranks, np.concatenate([child, parent]), np.concatenate([parent, child])
    )


def generate_butterfly(setting: Setting) -> Partners:
    """Rank `r` sends to `r ^ 2^i` for every bit i.

    All stages of a butterfly at once, binary numbering.

    Raises:
        InputError: no power of two of ranks.
    """
    bits = bits_of(setting.ranks, "butterfly")
    rank = np.arange(setting.ranks, dtype=np.int64)
    return partners_of_table(rank[:, None] ^ (1 << np.arange(bits, dtype=np.int64)))
