"""Stopping: when repetitions of a paired measurement end.

Who is repeated until then, and how times compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np

from conset.base import Bytes, Floats, UsageError

_RESAMPLES = 400
"""Of the intervals that decide whether to go on; those of results are finer."""
_CLOSE = 1.1
"""A contender within so many times the best may still be the best."""
_HOPELESS = 1.1
"""Factor over the limit above which a contender is left out before there are intervals.

In every repetition.
"""
_PATIENCE = 4
"""The least number of repetitions may take so many times what is allowed."""
_GROWTH = 1.25
"""Intervals are looked at again after so many times as many repetitions."""


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
        """Whether the interval leaves out 1: otherwise no difference is shown."""
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


@dataclass(frozen=True)
class Stopping:
    """When repetitions end: precise enough, or enough of them, or out of time.

    Attributes:
        least: repetitions before anything is looked at, at least 1.
        most: repetitions at most.
        precision: half of the interval of a paired ratio that is narrow enough, as a share of the
            median.
        drop: a contender whose ratio to the best is above this with certainty is not repeated
            further; 0: all are.
        time_s: what measuring may take, but for the `least` repetitions, which may take four times
            that [s].
        before: repetitions before those, whose times are kept apart: what is chosen by them is not
            judged by them.
    """

    least: int = 3
    most: int = 20
    precision: float = 0.03
    drop: float = 1.5
    time_s: float = 60.0
    before: int = 0

    @property
    def last(self) -> int:
        """The last repetition at most, the first being 0."""
        return self.before + self.most

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise UsageError(
                f"repetitions: at least 1, and {self.least} (least) at most {self.most} (most)"
            )
        if not 0 < self.precision < 1:
            raise UsageError(f"precision {self.precision:g}: must be above 0 and below 1")
        if self.drop and self.drop < 1:
            raise UsageError(f"drop {self.drop:g}: must be at least 1, or 0")
        if not self.time_s > 0:
            raise UsageError(f"time {self.time_s:g} s: must be above 0 s")


@dataclass
class Race:
    """Who is repeated, and until when.

    Attributes:
        names: of all contenders.
        stopping: when repetitions end.
        fixed: who is repeated to the end.
        times_s: so far.
        before_s: of the repetitions before those.
        stopped: why it ended.
    """

    names: list[str]
    stopping: Stopping
    fixed: frozenset[str]
    times_s: dict[str, list[float]] = field(init=False)
    before_s: dict[str, list[float]] = field(init=False)
    stopped: str = ""
    _look_at: int = field(init=False)
    _last_s: float = 0.0

    def __post_init__(self) -> None:
        self.times_s = {name: [] for name in self.names}
        self.before_s = {name: [] for name in self.names}
        self._look_at = self.stopping.least

    def after(self, repetition: int, took: Floats, going: Bytes, elapsed_s: float) -> Bytes:
        """shape=(contenders), uint8: who goes on after a repetition; none at the end.

        The first is dropped.
        """
        last_s, self._last_s = elapsed_s - self._last_s, elapsed_s
        stopping = self.stopping
        if repetition:
            kept = self.times_s if repetition > stopping.before else self.before_s
            for k in np.flatnonzero(going).tolist():
                kept[self.names[k]].append(float(took[k]))
        repetition -= stopping.before
        if repetition >= stopping.most:
            self.stopped = "most"
        # where even few repetitions take too long, fewer are something
        allowed_s = stopping.time_s * (1 if repetition >= stopping.least else _PATIENCE)
        if repetition > 0 and elapsed_s + last_s > allowed_s:
            self.stopped = "time"
        if self.stopped:
            return np.zeros_like(going)
        if repetition < self._look_at:
            return self._without_hopeless(going)
        self._look_at = max(repetition + 1, ceil(repetition * _GROWTH))
        return self._look(going)

    def _without_hopeless(self, going: Bytes) -> Bytes:
        """Without those that were far slower than the best in every repetition so far.

        Before there are intervals.
        """
        here, best = self._best_of(going)
        if not self.times_s[best] or not self.stopping.drop:
            return going
        base = np.array(self.times_s[best])
        limit = self.stopping.drop * _HOPELESS
        slow = {
            name
            for name in here
            if name not in self.fixed and (self.times_s[name] > limit * base).all()
        }
        return np.array(
            [going[k] and name not in slow for k, name in enumerate(self.names)], np.uint8
        )

    def _best_of(self, going: Bytes) -> tuple[list[str], str]:
        """(who is repeated, the fastest of them)."""
        here = [self.names[k] for k in np.flatnonzero(going).tolist()]
        return here, min(here, key=lambda name: float(np.median(self.times_s[name] or [inf])))

    def _look(self, going: Bytes) -> Bytes:
        here, best = self._best_of(going)
        to_best = {name: self._ratio(name, best) for name in here}
        drop = self.stopping.drop or inf
        kept = [name for name in here if name in self.fixed or to_best[name].low <= drop]
        matter = [name for name in kept if name in self.fixed or to_best[name].low <= _CLOSE]
        if all(self._ratio(name, "naive").spread <= self.stopping.precision for name in matter):
            self.stopped = "precision"
            return np.zeros_like(going)
        return np.array([name in kept for name in self.names], np.uint8)

    def _ratio(self, name: str, base: str) -> Ratio:
        return Ratio.of(self.times_s[name], self.times_s[base], resamples=_RESAMPLES)
