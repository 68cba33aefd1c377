"""Receives: how many a node has posted at once; receives are posted first, before anything is sent to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.schedule.sync import Sync


def most_posted(
    source: NDArray[np.int32], target: NDArray[np.int32], phase_of: NDArray[np.int32], sync: Sync
) -> tuple[int, int]:
    """(most receives posted at once at any node, that node): all under `none`, else those of a phase or group.

    Args:
        source: shape=(messages), int32: nodes; a message inside a node needs no receive.
        target: shape=(messages), int32: nodes.
        phase_of: shape=(messages), int32, not falling.
        sync: the policy.
    """
    inside = source != target
    if not inside.any():
        return 0, 0
    group = np.zeros(phase_of.size, np.int64) if sync.kind == "none" else phase_of.astype(np.int64) // sync.every
    groups = int(group.max()) + 1
    key = target[inside].astype(np.int64) * groups + group[inside]
    if key.max() < 4 * key.size:  # counted without sorting: predictions ask for every candidate
        counts = np.bincount(key)
        worst = int(np.argmax(counts))
        return int(counts[worst]), worst // groups
    keys, counts = np.unique(key, return_counts=True)
    worst = int(np.argmax(counts))
    return int(counts[worst]), int(keys[worst]) // groups
