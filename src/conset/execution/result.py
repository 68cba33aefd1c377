"""RunResult: what an execution showed, with how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conset.units import count_of

VARIANTS = ("schedule", "naive", "alltoallv", "neighbor_alltoallv")
"""What a run executes, in the order of its table."""


def count_cores(cores: int) -> str:
    """`1 core`, `2 cores`."""
    return count_of(cores, "core")


@dataclass(frozen=True)
class Ratio:
    """A median of paired ratios with a bootstrap interval.

    Attributes:
        median: of time of the variant / time of naive, repetition by repetition.
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

    @staticmethod
    def of(times: Sequence[float], naive: Sequence[float], *, resamples: int = 2000) -> Ratio:
        """The ratio of two lists of times paired by repetition; the resampling is seeded, same times, same interval."""
        paired = np.asarray(times) / np.maximum(np.asarray(naive), 1e-9)
        draw = np.random.default_rng(0).integers(0, paired.size, (resamples, paired.size))
        low, high = np.percentile(np.median(paired[draw], axis=1), [2.5, 97.5])
        return Ratio(float(np.median(paired)), float(low), float(high))

    def to_object(self) -> dict[str, float]:
        """`{"median": …, "low": …, "high": …}`."""
        return {"median": self.median, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class RunResult:
    """Times of a schedule and its rivals in one job, and the check of every byte.

    Attributes:
        ranks: size of the job.
        mpi: name and version of the library.
        sync: the policy that was executed.
        in_flight: sends a rank kept open at once; None: all.
        phases: of the schedule.
        cores: cores that the ranks on one machine share.
        local_ranks: ranks on that machine.
        one_machine: whether these are all ranks.
        times_s: by variant (`VARIANTS`), one time per repetition [s].
        bytes_checked: received bytes compared, over ranks, variants and repetitions, the dropped one included.
        mismatches: of these.
        wrong: the first wrong byte of each rank that has one, in words.
        elapsed_s: the whole job, start-up included [s].
    """

    ranks: int
    mpi: str
    sync: str
    in_flight: int | None
    phases: int
    cores: int
    local_ranks: int
    one_machine: bool
    times_s: dict[str, list[float]]
    bytes_checked: int
    mismatches: int
    wrong: tuple[str, ...]
    elapsed_s: float

    @property
    def repeat(self) -> int:
        """Repetitions that were timed."""
        return len(self.times_s["schedule"])

    @property
    def median_s(self) -> float:
        """Median time of the schedule [s]."""
        return self.median_of("schedule")

    def median_of(self, variant: str) -> float:
        """Median time of a variant [s]."""
        return float(np.median(self.times_s[variant]))

    def ratio_of(self, variant: str) -> Ratio:
        """Time of a variant over that of naive."""
        return Ratio.of(self.times_s[variant], self.times_s["naive"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the times do and do not say, in sentences."""
        notes = []
        if self.one_machine:
            notes.append(
                "On one machine there is no network to contend for; posting everything is usually fastest here; what "
                "this proves is correctness and overhead."
            )
        if self.local_ranks > self.cores:
            notes.append(
                f"{self.local_ranks} ranks share {count_cores(self.cores)}: waiting, and above all barriers, measures "
                "the operating system's scheduler."
            )
        if not self.one_machine:
            notes.append("Several machines have no common clock: a time is the longest of the ranks' own.")
        return tuple(notes)

    def to_object(self) -> dict[str, Any]:
        """As `conset run --json` prints it."""
        return {
            "ranks": self.ranks,
            "mpi": self.mpi,
            "sync": self.sync,
            "in_flight": "all" if self.in_flight is None else self.in_flight,
            "phases": self.phases,
            "repeat": self.repeat,
            "median_s": self.median_s,
            "min_s": min(self.times_s["schedule"]),
            **{f"{name}_median_s": self.median_of(name) for name in VARIANTS[1:]},
            **{f"{name}_min_s": min(self.times_s[name]) for name in VARIANTS[1:]},
            "ratio_to_naive": {name: self.ratio_of(name).to_object() for name in VARIANTS if name != "naive"},
            "times_s": self.times_s,
            "bytes_checked": self.bytes_checked,
            "mismatches": self.mismatches,
            "wrong": list(self.wrong),
            "cores": self.cores,
            "one_machine": self.one_machine,
            "elapsed_s": self.elapsed_s,
            "notes": list(self.notes),
        }
