"""Complete exchange: every rank sends to every other one."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, require_messages


def generate_alltoall(setting: Setting) -> Partners:
    """Message `r * (ranks - 1) + j` goes from `r` to `j`, or to `j + 1` from `j >= r` on.

    Written straight into its 4 bytes a message: an index matrix with its diagonal taken out would need three times
    that.
    """
    ranks = setting.ranks
    require_messages(ranks * (ranks - 1), "alltoall")
    everybody = np.arange(ranks, dtype=np.int32)
    target = np.empty((ranks, ranks - 1), np.int32)
    for rank in range(ranks):
        target[rank, :rank] = everybody[:rank]
        target[rank, rank:] = everybody[rank + 1 :]
    return Partners(np.arange(ranks + 1, dtype=np.int64) * (ranks - 1), target.reshape(-1))
