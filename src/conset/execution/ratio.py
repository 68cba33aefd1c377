"""Ratio: how two lists of times that are paired by repetition compare, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ratio:
    """A median of paired ratios with a bootstrap interval.

    Attributes:
        median: of time / time of what it is compared with, repetition by repetition.
        low: 2.5th percentile of the median over resamples.
        high: 97.5th percentile.
    """

    median: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 1: otherwise nobody has won."""
        return not self.low <= 1 <= self.high

    @property
    def spread(self) -> float:
        """Half of the interval, as a share of the median."""
        return (self.high - self.low) / 2 / max(self.median, 1e-9)

    @staticmethod
    def of(times: Sequence[float], base: Sequence[float], *, resamples: int = 2000) -> Ratio:
        """The ratio of two lists of times paired by repetition, those of the shorter one.

        The resampling is seeded: the same times give the same interval.
        """
        pairs = min(len(times), len(base))
        paired = np.asarray(times)[:pairs] / np.maximum(np.asarray(base)[:pairs], 1e-9)
        draw = np.random.default_rng(0).integers(0, paired.size, (resamples, paired.size))
        low, high = np.percentile(np.median(paired[draw], axis=1), [2.5, 97.5])
        return Ratio(float(np.median(paired)), float(low), float(high))

    def to_object(self) -> dict[str, float]:
        """`{"median": …, "low": …, "high": …}`."""
        return {"median": self.median, "low": self.low, "high": self.high}
