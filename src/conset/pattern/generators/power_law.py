"""Power law: few ranks with very many partners, many with few.

As in graphs of the web and of people.

Problem: an undirected graph, every edge two messages, whose degrees fall as a power: the share of
ranks with more than x partners goes as x^-alpha. Idea: rank number i of a random order expects w[i]
partners, w falling as i^(-1/alpha); each pair is an edge with probability p = min(1, w[i] w[j] /
sum of w), independent of all others (Chung and Lu). How: pairs with p > 1/2 are listed, rows of a
staircase, and each is drawn. All others are proposed, several at once, as often as a Poisson
process of rate 2 log 2 · w[i] w[j] / sum says, and kept so that pair (i, j) is met with rate
-log(1 - p), thus at least once with probability p. Invariant: 2 log 2 · p is at least -log(1 - p)
up to p = 1/2. Complexity: O(ranks + messages log messages) expected time, O(ranks + messages)
memory. Departure: hubs that would need more partners than there are keep all others, so the mean
falls a little below `degree`. Source: F. Chung and L. Lu, "Connected components in random graphs
with given expected degree sequences", Annals of Combinatorics 6 (2002).
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from conset.pattern.generators.partners import (
    Partners,
    Setting,
    partners_of_pairs,
    require,
    require_messages,
)

_RATE = 2 * log(2)


def generate_power_law(setting: Setting, *, degree: int, alpha: float) -> Partners:
    """Both ways between random pairs of ranks.

    A rank has `degree` partners on average, and they follow a power law.

    Raises:
        InputError: `degree` is not below the number of ranks.
    """
    ranks = setting.ranks
    require(
        degree < ranks, "power-law", f"a degree of at most ranks - 1 = {ranks - 1}", f"{degree}"
    )
    require_messages(ranks * degree, "power-law")
    expected = np.arange(1, ranks + 1, dtype=np.float64) ** (-1 / alpha)
    expected *= ranks * degree / expected.sum()
    number = setting.random.permutation(ranks)
    if not degree:
        return partners_of_pairs(ranks, number[:0], number[:0])
    likely, others = _likely(expected, setting.random), _others(expected, setting.random)
    one, other = (number[np.concatenate(ends)] for ends in zip(likely, others, strict=True))
    return partners_of_pairs(ranks, np.concatenate([one, other]), np.concatenate([other, one]))


def _likely(
    expected: NDArray[np.float64], random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges (i, j), i < j, among pairs with a probability above 1/2."""
    total = expected.sum()
    rank = np.arange(expected.size)
    # expected falls, so the pairs of row i are those with i < j < end[i]
    end = expected.size - np.searchsorted(expected[::-1], total / 2 / expected, side="right")
    count = np.maximum(end - rank - 1, 0)
    one = np.repeat(rank, count)
    other = np.arange(one.size) - np.repeat(np.cumsum(count) - count, count) + one + 1
    edge = random.random(one.size) * total < expected[one] * expected[other]
    return one[edge], other[edge]


def _others(
    expected: NDArray[np.float64], random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges among all other pairs; some several times."""
    total = expected.sum()
    proposed = int(random.poisson(_RATE * total / 2))
    ends = np.searchsorted(np.cumsum(expected), random.random((2, proposed)) * total, side="right")
    one, other = np.minimum(ends, expected.size - 1)
    share = expected[one] * expected[other] / total
    rate = -np.log1p(-np.minimum(share, 0.5)) / (_RATE * share)
    kept = (share <= 0.5) & (one != other) & (random.random(proposed) < rate)
    return one[kept], other[kept]
