"""Results of cases: what was measured or simulated of every contender, and what follows from it.

The choice is *right* where it is within 5 % of the best, or where the measurement does not tell
them apart, and is not above 1.05 × posting everything. Ratios are of times paired by repetition,
with bootstrap intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from conset.base.errors import InputError
from conset.compilation.options import FORMULA
from conset.execution.stopping import Ratio
from conset.studies.campaign.case import Case
from conset.studies.campaign.contender import CHOICE, NAIVE

SCHEMA = "conset/campaign-case@1"
WITHIN = 1.05
"""A choice is right up to so many times the best.

It is wrong above so many times posting everything.
"""


@dataclass(frozen=True)
class Contest:
    """One contender in one case.

    Attributes:
        name: as the campaign calls it.
        kind: `choice`, `naive` (posting everything), `schedule` or `mpi`.
        facts: method, contention, sync, phases, stages, in_flight, posting, why; {} of what has no
            schedule.
        predicted_s: by formula and models [s].
        model: the machine's model of its method; "" without a schedule.
        times_s: measured, a repetition each [s]; of a simulated case what the model says that
            decides.
        same_as: the contender that has the very same plan, whose times these are; "": it has its
            own.
        skipped: why it did not take part; "": it did.
    """

    name: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    predicted_s: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    times_s: tuple[float, ...] = ()
    same_as: str = ""
    skipped: str = ""

    @cached_property
    def median_s(self) -> float:
        """Median of its times [s]."""
        times = sorted(self.times_s)
        half = len(times) // 2
        return times[half] if len(times) % 2 else (times[half - 1] + times[half]) / 2

    def error_of(self, by: str) -> float | None:
        """Predicted over measured, less 1."""
        predicted = self.predicted_s.get(by)
        return (
            None
            if predicted is None or not self.times_s or not self.median_s
            else predicted / self.median_s - 1
        )

    def to_object(self) -> dict[str, Any]:
        """As a case's file keeps it."""
        return {
            "name": self.name,
            "kind": self.kind,
            **dict(self.facts),
            "model": self.model or None,
            "predicted_s": dict(self.predicted_s),
            "times_s": list(self.times_s),
            "same_as": self.same_as or None,
            "skipped": self.skipped or None,
        }


_OWN = ("name", "kind", "model", "predicted_s", "times_s", "same_as", "skipped")


@dataclass(frozen=True)
class CaseResult:
    """What came of a case.

    Attributes:
        case: which.
        digest: of all that decides it.
        machine: what the machine is, for people: its name and model.
        messages: of the pattern.
        bytes: of the pattern [B].
        ranks: of the pattern.
        simulated: whether a model says the times.
        decides: that model; "" where they are measured.
        contests: contenders, the choice first, then posting everything.
        conditions: of a measured case: mpi, cores, ranks on a machine, load before and after,
            version, …
    """

    case: Case
    digest: str
    machine: str
    ranks: int
    messages: int
    bytes: int
    simulated: bool
    decides: str
    contests: tuple[Contest, ...]
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The case's."""
        return self.case.name

    @cached_property
    def timed(self) -> tuple[Contest, ...]:
        """Contenders that have times."""
        return tuple(each for each in self.contests if each.times_s)

    def contest(self, name: str) -> Contest:
        """The contender of that name."""
        return next(each for each in self.contests if each.name == name)

    @property
    def choice(self) -> Contest:
        """What `auto` chose."""
        return self.contest(CHOICE)

    @property
    def naive(self) -> Contest:
        """Posting everything."""
        return self.contest(NAIVE)

    @cached_property
    def best(self) -> Contest:
        """The least median; of equals the choice, then the first."""
        return min(self.timed, key=lambda each: (each.median_s, each.name != CHOICE))

    @cached_property
    def best_mpi(self) -> Contest | None:
        """The fastest of MPI's own."""
        return min(
            (each for each in self.timed if each.kind == "mpi"),
            key=lambda each: each.median_s,
            default=None,
        )

    def to_naive(self, contest: Contest) -> Ratio:
        """Of a contender to posting everything."""
        return self._ratio(contest, self.naive)

    def _ratio(self, one: Contest, other: Contest) -> Ratio:
        key = (one.name, other.name)
        if key not in self._ratios:
            self._ratios[key] = Ratio.of(one.times_s, other.times_s)
        return self._ratios[key]

    @cached_property
    def _ratios(self) -> dict[tuple[str, str], Ratio]:
        return {}

    @cached_property
    def to_best(self) -> Ratio:
        """Of the choice to the best."""
        return self._ratio(self.choice, self.best)

    @cached_property
    def to_mpi(self) -> Ratio | None:
        """Of the choice to the fastest of MPI's own."""
        return None if self.best_mpi is None else self._ratio(self.choice, self.best_mpi)

    def predictor(self, contest: Contest) -> str:
        """What predicts a contender.

        The machine's model, or the formula where that model says the times.
        """
        return FORMULA if contest.model == self.decides else contest.model

    @property
    def is_near_best(self) -> bool:
        """Whether the choice is within 5 % of the best, or cannot be distinguished from it."""
        return self.to_best.median <= WITHIN or self.to_best.low <= 1

    @property
    def is_above_naive(self) -> bool:
        """Whether the choice takes more than 1.05 × posting everything.

        And the measurement shows that it takes more.
        """
        ratio = self.to_naive(self.choice)
        return ratio.median > WITHIN and ratio.low > 1

    @property
    def is_right(self) -> bool:
        """Whether it was right to choose so."""
        return self.is_near_best and not self.is_above_naive

    @cached_property
    def ties(self) -> tuple[Contest, ...]:
        """Those the measurement does not tell from the best, the best first."""
        others = [
            each
            for each in self.timed
            if each is not self.best and self._ratio(each, self.best).low <= 1
        ]
        return (self.best, *sorted(others, key=lambda each: each.median_s))

    @property
    def verdict(self) -> str:
        """A text such as `right`, `right: best`, `right: a tie` or `1.12 × the best`.

        Or `1.08 × posting everything`.
        """
        if self.is_above_naive:
            return f"{self.to_naive(self.choice).median:.2f} × posting everything"
        if not self.is_near_best:
            return f"{self.to_best.median:.2f} × the best"
        if CHOICE in (self.best.name, self.best.same_as):
            return "right: the best"
        return (
            "right: a tie"
            if min(self.to_best.low, self.to_best.median) <= 1
            else "right: within 5 %"
        )

    def to_object(self) -> dict[str, Any]:
        """As its file keeps it: what was found, nothing that follows from it."""
        return {
            "schema": SCHEMA,
            "case": self.case.to_object(),
            "digest": self.digest,
            "machine": self.machine,
            "ranks": self.ranks,
            "messages": self.messages,
            "bytes": self.bytes,
            "simulated": self.simulated,
            "decides": self.decides or None,
            "contenders": [each.to_object() for each in self.contests],
            "conditions": dict(self.conditions),
        }

    @staticmethod
    def of_object(data: Mapping[str, Any]) -> CaseResult:
        """What a file says; raises InputError where it is of another form."""
        if data.get("schema") != SCHEMA:
            raise InputError(f"schema {data.get('schema')!r:.40}: must be {SCHEMA}")
        try:
            return CaseResult(
                Case(**data["case"]),
                str(data["digest"]),
                str(data["machine"]),
                int(data["ranks"]),
                int(data["messages"]),
                int(data["bytes"]),
                bool(data["simulated"]),
                data["decides"] or "",
                tuple(_contest(each) for each in data["contenders"]),
                data["conditions"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is no result of a case: {error}") from None


def _contest(data: Mapping[str, Any]) -> Contest:
    facts = {key: value for key, value in data.items() if key not in _OWN}
    return Contest(
        data["name"],
        data["kind"],
        facts,
        data["predicted_s"],
        data["model"] or "",
        tuple(float(time) for time in data["times_s"]),
        data["same_as"] or "",
        data["skipped"] or "",
    )


def predictors(results: Sequence[CaseResult]) -> list[str]:
    """What predicts in any of the results: the formula, then models."""
    found = {by for result in results for each in result.contests for by in each.predicted_s}
    return sorted(found, key=lambda by: (by != FORMULA, by))
