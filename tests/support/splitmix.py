"""The core's random generator (cpp/include/conset/random.hpp), from its definition."""

from __future__ import annotations

MASK = 2**64 - 1


class Splitmix:
    """The core's generator, from its definition."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 32) * n >> 32

    def shuffle(self, values: list[int]) -> None:
        for k in range(len(values), 1, -1):
            z = self.below(k)
            values[k - 1], values[z] = values[z], values[k - 1]
