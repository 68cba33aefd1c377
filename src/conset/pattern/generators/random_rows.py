"""Random messages, rows regular: every rank sends to exactly d distinct others, whoever receives."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, partners_of_table, require, require_messages
from conset.pattern.generators.taken import UsedPairs


def generate_random_rows(setting: Setting, *, degree: int) -> Partners:
    """Every rank sends to `degree` distinct others, each set equally likely; what a rank receives varies.

    Floyd's sampling without replacement, all ranks at once: for j = n - d … n - 1 of the n = ranks - 1 others draw t
    from 0 … j and take it, or j itself where t is taken (Bentley and Floyd, doi:10.1145/30401.315746). O(ranks * d).

    Raises:
        InputError: `degree` is not below the number of ranks.
    """
    ranks = setting.ranks
    require(degree < ranks, "random-rows", f"a degree of at most ranks - 1 = {ranks - 1}", f"{degree}")
    require_messages(ranks * degree, "random-rows")
    rank = np.arange(ranks)
    used = UsedPairs(ranks, degree)
    for j in range(ranks - 1 - degree, ranks - 1):
        other = setting.random.integers(j + 1, size=ranks)
        used.add(np.where(used(rank, other), j, other))
    # the k-th other of rank r is k below r and k + 1 from there on
    return partners_of_table((used.table + (used.table >= rank)).T)
