"""Every rank sends to exactly d distinct others (`random-rows`), and receives from d (`random`).

If only the rows are regular the largest column dominates every schedule and hides the differences;
so `random` is regular both ways:

Problem: a random directed graph without loops or repeated edges, in and out degree d everywhere
(Wang and Ranka's test sets).
Idea: d permutations, one after the other. Each starts uniform; positions that hit the own rank or
an earlier permutation are repaired by swapping with random positions where both come out well. For
d above half the ranks the complement is drawn instead, so a random swap always succeeds with a fair
chance.
Invariant: after k permutations every row and every column holds k distinct others.
End: what swaps do not repair in a bounded number of rounds, a perfect matching of the free pairs
does; the free pairs are regular, so one exists (König).
Complexity: O(ranks * d) expected time, 4 bytes a message and one byte a pair of ranks up to 8192
ranks.
Departure: relabelled circulants followed by 100 to 200 random switches a message give the same
statistics (link loads on hypercubes agree within their spread) but need millions of dependent
steps.
Notation: `permutation[r]` is the target of rank r in one round.

Power law: few ranks with very many partners, many with few.

As in graphs of the web and of people.

Problem: an undirected graph, every edge two messages, whose degrees fall as a power: the share of
ranks with more than x partners goes as x^-alpha.
Idea: rank number i of a random order expects w[i] partners, w falling as i^(-1/alpha); each pair is
an edge with probability p = min(1, w[i] w[j] / sum of w), independent of all others (Chung and Lu).
How: pairs with p > 1/2 are listed, rows of a staircase, and each is drawn. All others are proposed,
several at once, as often as a Poisson process of rate 2 log 2 · w[i] w[j] / sum says, and kept so
that pair (i, j) is met with rate -log(1 - p), thus at least once with probability p.
Invariant: 2 log 2 · p is at least -log(1 - p) up to p = 1/2.
Complexity: O(ranks + messages log messages) expected time, O(ranks + messages) memory.
Departure: hubs that would need more partners than there are keep all others, so the mean falls a
little below `degree`.
Source: F. Chung and L. Lu, "Connected components in random graphs with given expected degree
sequences", Annals of Combinatorics 6 (2002).
"""

from __future__ import annotations

from math import log

import numpy as np

from conset.base import Bools, Floats, Integers, Ints
from conset.pattern.generators.partners import (
    Partners,
    Setting,
    partners_of_pairs,
    partners_of_table,
    require,
    require_messages,
)

_MATRIX_RANKS = 8192
_REPAIR_ROUNDS = 300


def generate_random(setting: Setting, *, degree: int) -> Partners:
    """Every rank sends to, and receives from, exactly `degree` distinct other ranks.

    Raises:
        InputError: `degree` is not below the number of ranks.
    """
    ranks = setting.ranks
    require(degree < ranks, "random", f"a degree of at most ranks - 1 = {ranks - 1}", f"{degree}")
    require_messages(ranks * degree, "random")
    drawn = min(degree, ranks - 1 - degree)
    used = UsedPairs(ranks, drawn)
    for _ in range(drawn):
        used.add(_permutation_outside(used, setting.random))
    if drawn == degree:
        return partners_of_table(used.table.T)
    free = ~used.matrix()
    np.fill_diagonal(free, False)
    return partners_of_table(np.nonzero(free)[1].reshape(ranks, degree))


def _permutation_outside(used: UsedPairs, random: np.random.Generator) -> Ints:
    """shape=(ranks): a random permutation that avoids the own rank and everything taken."""
    ranks = used.table.shape[1]
    everybody = np.arange(ranks)
    permutation = random.permutation(ranks)
    bad = np.flatnonzero(_conflicts(used, everybody, permutation))
    for _ in range(_REPAIR_ROUNDS):
        if not bad.size:
            return permutation
        a, b = _disjoint_swaps(bad, random.integers(ranks, size=bad.size), ranks)
        good = ~(_conflicts(used, a, permutation[b]) | _conflicts(used, b, permutation[a]))
        a, b = a[good], b[good]
        permutation[a], permutation[b] = permutation[b], permutation[a]
        bad = bad[_conflicts(used, bad, permutation[bad])]
    return permutation if not bad.size else _matching_outside(used, random)


def _conflicts(used: UsedPairs, rank: Ints, target: Ints) -> Bools:
    return np.asarray((rank == target) | used(rank, target))


def _disjoint_swaps(bad: Ints, partner: Ints, ranks: int) -> tuple[Ints, Ints]:
    """The swaps (bad[k], partner[k]) in which no position occurs twice; at least one of them."""
    single = np.bincount(np.concatenate([bad, partner]), minlength=ranks)[partner] == 1
    if not single.any():
        return bad[:1], partner[:1]
    return bad[single], partner[single]


def _matching_outside(used: UsedPairs, random: np.random.Generator) -> Ints:
    """shape=(ranks): a perfect matching of ranks to free targets, on randomly renamed ranks."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    ranks = used.table.shape[1]
    free = ~used.matrix()
    np.fill_diagonal(free, False)
    row, column = random.permutation(ranks), random.permutation(ranks)
    matched = maximum_bipartite_matching(csr_matrix(free[np.ix_(row, column)]), perm_type="column")
    permutation = np.empty(ranks, np.int64)
    permutation[row] = column[matched]
    return permutation


def generate_random_rows(setting: Setting, *, degree: int) -> Partners:
    """Every rank sends to `degree` distinct others, each set equally likely.

    What a rank receives varies.

    Floyd's sampling without replacement, all ranks at once: for j = n - d … n - 1 of the n =
    ranks - 1 others draw t from 0 … j and take it, or j itself where t is taken (Bentley and Floyd,
    doi:10.1145/30401.315746). O(ranks * d).

    Raises:
        InputError: `degree` is not below the number of ranks.
    """
    ranks = setting.ranks
    require(
        degree < ranks, "random-rows", f"a degree of at most ranks - 1 = {ranks - 1}", f"{degree}"
    )
    require_messages(ranks * degree, "random-rows")
    rank = np.arange(ranks)
    used = UsedPairs(ranks, degree)
    for j in range(ranks - 1 - degree, ranks - 1):
        other = setting.random.integers(j + 1, size=ranks)
        used.add(np.where(used(rank, other), j, other))
    # the k-th other of rank r is k below r and k + 1 from there on
    return partners_of_table((used.table + (used.table >= rank)).T)


class UsedPairs:
    """A set of pairs (rank, target), at most one new target per rank and round.

    A matrix of bits would be quadratic in the ranks: up to 8192 of them one byte a pair (64 MiB)
    answers at once, above that the rounds so far are compared one by one.

    Args:
        ranks: number of ranks.
        rounds: how many targets each rank gets.
    """

    def __init__(self, ranks: int, rounds: int) -> None:
        self.table = np.zeros((rounds, ranks), np.int32)
        self.rounds = 0
        self._matrix = np.zeros((ranks, ranks), bool) if ranks <= _MATRIX_RANKS else None

    def __call__(self, rank: Integers, target: Integers) -> Bools:
        """Shape of `rank`: whether `rank[k]` has `target[k]` already."""
        if self._matrix is not None:
            return np.asarray(self._matrix[rank, target])
        found = np.zeros(rank.shape, bool)
        for earlier in self.table[: self.rounds]:
            found |= earlier[rank] == target
        return found

    def add(self, target: Integers) -> None:
        """Rank `r` takes `target[r]`."""
        self.table[self.rounds] = target
        self.rounds += 1
        if self._matrix is not None:
            self._matrix[np.arange(target.size), target] = True

    def matrix(self) -> Bools:
        """shape=(ranks, ranks): row r marks what rank r has taken; a copy."""
        if self._matrix is not None:
            return self._matrix.copy()
        ranks = self.table.shape[1]
        marked = np.zeros((ranks, ranks), bool)
        for earlier in self.table[: self.rounds]:
            marked[np.arange(ranks), earlier] = True
        return marked


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


def _likely(expected: Floats, random: np.random.Generator) -> tuple[Ints, Ints]:
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


def _others(expected: Floats, random: np.random.Generator) -> tuple[Ints, Ints]:
    """The edges among all other pairs; some several times."""
    total = expected.sum()
    proposed = int(random.poisson(_RATE * total / 2))
    ends = np.searchsorted(np.cumsum(expected), random.random((2, proposed)) * total, side="right")
    one, other = np.minimum(ends, expected.size - 1)
    share = expected[one] * expected[other] / total
    rate = -np.log1p(-np.minimum(share, 0.5)) / (_RATE * share)
    kept = (share <= 0.5) & (one != other) & (random.random(proposed) < rate)
    return one[kept], other[kept]
