"""Costs: what scheduling at run time takes, and after how many uses of a schedule it has paid.

Setting an exchange up takes its rows (each rank knows its own and hears the others'), the
scheduling and the planning (a rank's part and its requests); each use takes an execution. Posting
everything takes least to set up, and pays for it in every execution that a schedule makes shorter:
after n uses a schedule has paid if

    set-up + n · execution  ≤  (set-up + n · execution) of the naive exchange.

Times are kept repetition by repetition, paired with those of the naive exchange in the same job, so
that a gain comes with an interval; a gain whose interval holds zero is none. Of a prediction there
is one repetition, exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from conset.base import Floats
from conset.execution import Ratio

POSTING, DETECT = "naive", "detect"
"""The method that sends everything at once; the policy that looks for what comes."""
SYNCS = ("none", "ready", "auto")
"""S2, S1, and what is chosen."""
WAYS = ("all", "one")
"""Who computes: every rank the same, or rank 0, which scatters."""
RESAMPLES = 2000
MIN_REPEATS = 6
"""Repetitions below which no gain is decided.

So many differences of one sign are no chance (2 · 0.5^6 < 5 %).
"""
Times = tuple[float, ...]
"""One time per repetition [s]."""


@dataclass(frozen=True)
class Gain:
    """What is saved by each execution, beside the naive exchange: a median of paired differences.

    Attributes:
        median_s: [s]; negative where the naive exchange is faster.
        low_s: 2.5th percentile of the median over resamples [s].
        high_s: 97.5th percentile [s].
    """

    median_s: float
    low_s: float
    high_s: float

    @staticmethod
    def of(posting: Sequence[float], times: Sequence[float]) -> Gain:
        """The gain over lists of times paired by repetition; the resampling is seeded."""
        saved = np.asarray(posting, float) - np.asarray(times, float)
        draw = np.random.default_rng(0).integers(0, saved.size, (RESAMPLES, saved.size))
        low, high = np.percentile(np.median(saved[draw], axis=1), [2.5, 97.5])
        return Gain(float(np.median(saved)), float(low), float(high))

    def to_object(self) -> dict[str, float]:
        """`{"median_s": …, "low_s": …, "high_s": …}`."""
        return {"median_s": self.median_s, "low_s": self.low_s, "high_s": self.high_s}


def uses_until_paid(extra_s: float, gain_s: float) -> int | None:
    """The number of uses after which a gain per use has made up for what was spent before.

    None: it never does.

    >>> uses_until_paid(10e-3, 3e-3)
    4
    """
    return max(1, ceil(extra_s / gain_s)) if gain_s > 0 else None


@dataclass(frozen=True)
class BreakEven:
    """After how many uses a schedule has paid.

    Attributes:
        uses: of it; None: never, or the gain is not decided.
        least: where the gain is at the upper end of its interval; None as `uses`.
        most: where it is at the lower end; None as `uses`.
        extra_s: more set-up than the naive exchange, median of paired differences [s].
        gain: per execution.
        ratio: an execution over that of the naive exchange.
    """

    uses: int | None
    least: int | None
    most: int | None
    extra_s: float
    gain: Gain
    ratio: Ratio

    def to_object(self) -> dict[str, Any]:
        """As JSON; `uses` is null where it never pays."""
        return {
            "uses": self.uses,
            "least": self.least,
            "most": self.most,
            "extra_s": self.extra_s,
            "gain_s": self.gain.to_object(),
            "ratio": self.ratio.to_object(),
        }


@dataclass(frozen=True)
class RunTimeRow:
    """One way to schedule at run time; lists have a time per repetition.

    Attributes:
        method: that was chosen where `auto` was asked for, else what was asked for.
        sync: the policy that was executed.
        compute: `all`: every rank computes the schedule; `one`: rank 0 does and scatters; empty:
            nothing is computed.
        sources_known: whether ranks know what they receive; else they learn it first.
        asked_method: as it was asked for.
        asked_sync: as it was asked for; what `auto` takes to choose is part of the scheduling.
        phases: of the schedule.
        rows_s: exchange of rows [s], the longest of the ranks', as the next two.
        schedule_s: computation of the schedule.
        plan_s: the rank's part and its requests; empty of a prediction.
        setup_s: the whole set-up [s], from its first start to its last end.
        first_s: the first execution after it [s]; empty: not distinguished.
        execution_s: an execution [s].
    """

    method: str
    sync: str
    compute: str
    sources_known: bool
    asked_method: str
    asked_sync: str
    phases: int
    rows_s: Times
    schedule_s: Times
    plan_s: Times
    setup_s: Times
    first_s: Times
    execution_s: Times

    @staticmethod
    def of_object(found: Mapping[str, Any]) -> RunTimeRow:
        """Return the row that a rank of a job has measured."""
        row: dict[str, Any] = {
            key: tuple(value) if key.endswith("_s") else value for key, value in found.items()
        }
        return RunTimeRow(**row)

    @property
    def is_posting(self) -> bool:
        """Whether this is the naive exchange, with nothing to find out before."""
        return self.method == POSTING and self.sync == "none" and self.sources_known

    @property
    def is_schedule(self) -> bool:
        """Whether a schedule was made that may pay.

        Neither the naive exchange nor looking for what comes.
        """
        return bool(self.compute)

    def median_of(self, name: str) -> float | None:
        """Median of one of the lists [s]; None where it is empty."""
        times: Times = getattr(self, name)
        return float(np.median(times)) if times else None

    @property
    def own_setup_s(self) -> Floats:
        """shape=(repetitions): the set-up that this needs [s].

        Of the naive exchange without the exchange of rows: it is made there only to check counts,
        and to learn nothing.
        """
        setup = np.asarray(self.setup_s)
        return (
            setup - np.asarray(self.rows_s) - np.asarray(self.schedule_s)
            if self.is_posting
            else setup
        )

    @property
    def scheduling_s(self) -> float:
        """Rows and scheduling together, medians [s]."""
        return (self.median_of("rows_s") or 0.0) + (self.median_of("schedule_s") or 0.0)

    @property
    def execution_median_s(self) -> float:
        """Median of an execution [s]."""
        return float(np.median(self.execution_s))

    @property
    def overhead(self) -> float:
        """Rows and scheduling over one execution, as Wang and Ranka's Figures 10 and 11 have it."""
        return self.scheduling_s / max(self.execution_median_s, 1e-12)

    @property
    def share(self) -> float:
        """Rows and scheduling over the first communication: they, planning and one execution."""
        first = self.scheduling_s + (self.median_of("plan_s") or 0.0) + self.execution_median_s
        return self.scheduling_s / max(first, 1e-12)

    def pays_against(self, other: RunTimeRow) -> BreakEven:
        """After how many uses this has paid beside `other`, measured in the same job."""
        extra_s = float(np.median(np.asarray(self.setup_s) - other.own_setup_s))
        gain = Gain.of(other.execution_s, self.execution_s)
        uses = least = most = None
        if gain.low_s > 0 and (not self.plan_s or len(self.execution_s) >= MIN_REPEATS):
            uses, least, most = (
                uses_until_paid(extra_s, gain_s)
                for gain_s in (gain.median_s, gain.high_s, gain.low_s)
            )
        return BreakEven(
            uses, least, most, extra_s, gain, Ratio.of(self.execution_s, other.execution_s)
        )


@dataclass(frozen=True)
class RunTimeCosts:
    """Rows that were measured in one job, or predicted for one number of ranks.

    Attributes:
        ranks: how many.
        pattern: its name.
        machine: what the schedules are made for.
        messages: of the pattern.
        bytes: that they carry.
        by: library that was measured, or the model that predicts executions.
        is_measured: whether times are; else they are by model, but for the scheduling, which is.
        rows: the naive exchange first.
        skipped: methods that do not apply, and why.
    """

    ranks: int
    pattern: str
    machine: str
    messages: int
    bytes: int
    by: str
    is_measured: bool
    rows: tuple[RunTimeRow, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def posting(self) -> RunTimeRow:
        """The naive exchange."""
        return next(row for row in self.rows if row.is_posting)

    @property
    def detecting(self) -> RunTimeRow | None:
        """Send, detect, receive; None in predictions."""
        return next((row for row in self.rows if row.asked_sync == DETECT), None)

    def find(self, method: str, sync: str, compute: str) -> RunTimeRow:
        """The row of what was asked for.

        Raises:
            KeyError: there is none.
        """
        for row in self.rows:
            if (row.asked_method, row.asked_sync, row.compute) == (method, sync, compute):
                return row
        raise KeyError(f"{method} under {sync}, computed by {compute}")

    def to_object(self) -> dict[str, Any]:
        """As `conset run --at-run-time --json` prints it."""
        return {
            "ranks": self.ranks,
            "pattern": self.pattern,
            "machine": self.machine,
            "messages": self.messages,
            "bytes": self.bytes,
            "by": self.by,
            "measured": self.is_measured,
            "rows": [self._row_object(row) for row in self.rows],
            "skipped": [{"method": method, "reason": reason} for method, reason in self.skipped],
        }

    def _row_object(self, row: RunTimeRow) -> dict[str, Any]:
        pays = None if row.is_posting else row.pays_against(self.posting).to_object()
        detecting = self.detecting
        beside = (
            None
            if detecting is None or row is detecting
            else row.pays_against(detecting).to_object()
        )
        names = ("rows_s", "schedule_s", "plan_s", "setup_s", "first_s", "execution_s")
        return {
            "method": row.method,
            "sync": row.sync,
            "asked": {"method": row.asked_method, "sync": row.asked_sync},
            "compute": row.compute or None,
            "sources_known": row.sources_known,
            "phases": row.phases,
            **{name: row.median_of(name) for name in names},
            "share": row.share,
            "overhead": row.overhead,
            "pays": pays,
            "pays_against_detecting": beside,
            "times_s": {name.removesuffix("_s"): list(getattr(row, name)) for name in names},
        }
