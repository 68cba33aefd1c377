"""Taken: which targets each rank already has, for generators that draw distinct ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MATRIX_RANKS = 8192


class UsedPairs:
    """A set of pairs (rank, target), at most one new target per rank and round.

    A matrix of bits would be quadratic in the ranks: up to 8192 of them one byte a pair (64 MiB) answers at once, above
    that the rounds so far are compared one by one.

    Args:
        ranks: number of ranks.
        rounds: how many targets each rank gets.
    """

    def __init__(self, ranks: int, rounds: int) -> None:
        self.table = np.zeros((rounds, ranks), np.int32)
        self.rounds = 0
        self._matrix = np.zeros((ranks, ranks), bool) if ranks <= _MATRIX_RANKS else None

    def __call__(self, rank: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Shape of `rank`: whether `rank[k]` has `target[k]` already."""
        if self._matrix is not None:
            return np.asarray(self._matrix[rank, target])
        found = np.zeros(rank.shape, bool)
        for earlier in self.table[: self.rounds]:
            found |= earlier[rank] == target
        return found

    def add(self, target: NDArray[np.integer]) -> None:
        """Rank `r` takes `target[r]`."""
        self.table[self.rounds] = target
        self.rounds += 1
        if self._matrix is not None:
            self._matrix[np.arange(target.size), target] = True

    def matrix(self) -> NDArray[np.bool_]:
        """shape=(ranks, ranks): row r marks what rank r has taken; a copy."""
        if self._matrix is not None:
            return self._matrix.copy()
        ranks = self.table.shape[1]
        marked = np.zeros((ranks, ranks), bool)
        for earlier in self.table[: self.rounds]:
            marked[np.arange(ranks), earlier] = True
        return marked
