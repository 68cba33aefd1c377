"""Steps of scheduling, counted in the text's own pseudo-code (Figures 3 and 4), run as it is printed.

A measured time is that of today's processor and differs from run to run; a number of steps does neither. One step is
an entry of a row that is looked at (is it active, is its target free), a link of a path that is looked at or marked, an
entry of Tsend, Trecv or of the marks that is set back, or the turn of a row. Not counted: compressing COM, which is
done once, in parallel, for as long as its messages take (Section 4.2 gives its order only).

This is the text's algorithm as a yardstick, not the compiler's: `conset.methods.rs_n` and `rs_nl` make the schedules.
PATHS is reset with every permutation, as there; Figure 4 resets it once, so that links would stay claimed for ever.
"""

from __future__ import annotations

from functools import cache
from random import Random

import numpy as np

import conset
from conset.reproduction.wang_ranka.times import MACHINE, SEEDS

NOBODY = -1


@cache
def count_steps(degree: int, links: bool, seeds: int = SEEDS) -> tuple[float, float]:
    """(mean steps, mean permutations) of RS_N, or of RS_NL where links are minded."""
    runs = [_Run(degree, links, seed).run() for seed in range(seeds)]
    return float(np.mean([steps for steps, _ in runs])), float(np.mean([count for _, count in runs]))


class _Run:
    """One drawing."""

    def __init__(self, degree: int, links: bool, seed: int) -> None:
        pattern = conset.load_pattern(f"random:degree={degree}", MACHINE, seed=seed)
        self.random = Random(seed)
        self.links = links
        self.rows = [[] for _ in range(pattern.ranks)]  # type: list[list[int]]
        for source, target in zip(pattern.source.tolist(), pattern.target.tolist(), strict=True):
            self.rows[source].append(target)
        for row in self.rows:
            self.random.shuffle(row)  # CCOM: active entries first, in random order
        self.steps = 0
        self.marked: set[tuple[int, int]] = set()
        self.sender_to: list[int] = []

    def run(self) -> tuple[int, int]:
        """(steps, permutations)."""
        nodes, permutations = len(self.rows), 0
        while any(self.rows):
            permutations += 1
            self.sender_to = [NOBODY] * nodes
            self.steps += 2 * nodes + len(self.marked)
            self.marked.clear()
            first = self.random.randrange(nodes)
            for k in range(nodes):
                self._turn((first + k) % nodes)
        return self.steps, permutations

    def _turn(self, x: int) -> None:
        """Row x gets its target of this permutation; with links, who sends to x is tried first (step 3(c)i)."""
        self.steps += 1
        row, partner = self.rows[x], self.sender_to[x]
        if self.links and partner != NOBODY:
            looked = row.index(partner) + 1 if partner in row else len(row)
            self.steps += looked
            if looked and row[looked - 1] == partner and self._fits(x, partner):
                self._take(x, looked - 1)
                return
        for z, y in enumerate(row):
            self.steps += 1
            if self._fits(x, y):
                self._take(x, z)
                return

    def _fits(self, x: int, y: int) -> bool:
        if self.sender_to[y] != NOBODY:
            return False
        if not self.links:
            return True
        for link in _path(x, y):
            self.steps += 1
            if link in self.marked:
                return False
        return True

    def _take(self, x: int, z: int) -> None:
        y = self.rows[x][z]
        self.sender_to[y] = x
        if self.links:
            path = _path(x, y)
            self.steps += len(path)
            self.marked.update(path)
        self.rows[x][z] = self.rows[x][-1]
        self.rows[x].pop()


@cache
def _path(x: int, y: int) -> tuple[tuple[int, int], ...]:
    """The links from x to y on a hypercube, least significant bit first: (node, dimension)."""
    path = []
    for bit in range((x ^ y).bit_length()):
        if (x ^ y) >> bit & 1:
            path.append((x, bit))
            x ^= 1 << bit
    return tuple(path)
