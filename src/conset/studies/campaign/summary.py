"""Summary over the cases of a fabric.

How often the choice was right, what it gained, how exact predictions were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from conset.compilation.options import FORMULA
from conset.studies.campaign.result import CaseResult, Contest, predictors

MODEL = "model"
"""Errors by the machine's own model, whichever that is for a method."""


@dataclass(frozen=True)
class Errors:
    """How far predictions were off, of contenders that were timed.

    Attributes:
        count: of them.
        median: of |predicted / measured - 1|.
        worst: of the same, with its sign.
        where: the case and contender of the worst.
    """

    count: int
    median: float
    worst: float
    where: str


@dataclass(frozen=True)
class FabricSummary:
    """What came of the cases of one fabric.

    Attributes:
        fabric: its name.
        cases: done.
        right: of these the choice was right.
        above_naive: of these the choice takes more than 1.05 × posting everything.
        worst: the largest ratio of the choice to the best, where that was measured.
        worst_case: where.
        pays: cases in which something is faster than posting everything beyond doubt.
        gain: median over `pays` of posting everything over the choice; None where nothing pays.
        gain_most: the largest of these.
        gain_mpi: median over `pays` of the fastest of MPI's own over the choice; None without.
        gain_mpi_most: the largest of these.
        errors: by `formula`, `model` (the machine's own) and every model, of all that has a
            schedule.
        choice_errors: the same of the choice alone.
    """

    fabric: str
    cases: int
    right: int
    above_naive: int
    worst: float
    worst_case: str
    pays: int
    gain: float | None
    gain_most: float | None
    gain_mpi: float | None
    gain_mpi_most: float | None
    errors: dict[str, Errors]
    choice_errors: dict[str, Errors]

    @property
    def share(self) -> float:
        """Of the cases in which the choice was right."""
        return self.right / self.cases

    def to_object(self) -> dict[str, Any]:
        """As `conset campaign --json` prints it."""
        return {**asdict(self), "share": self.share}


def summarize_campaign(results: Sequence[CaseResult]) -> tuple[FabricSummary, ...]:
    """One for each fabric, in the order of the cases.

    With several, one of all of them, `all`, at the end.
    """
    fabrics = list(dict.fromkeys(result.case.fabric for result in results))
    own = [
        _summarize(fabric, [each for each in results if each.case.fabric == fabric])
        for fabric in fabrics
    ]
    return (*own, _summarize("all", results)) if len(own) > 1 else tuple(own)


def pays(result: CaseResult) -> bool:
    """Whether something is faster than posting everything beyond doubt, by more than 5 %."""
    ratio = result.to_naive(result.best)
    return ratio.high < 1 and ratio.median <= 1 / 1.05


def _summarize(fabric: str, results: Sequence[CaseResult]) -> FabricSummary:
    worst = max(results, key=lambda result: result.to_best.median)
    paying = [result for result in results if pays(result)]
    gains = [1 / result.to_naive(result.choice).median for result in paying]
    over_mpi = [1 / result.to_mpi.median for result in paying if result.to_mpi is not None]
    schedules = [(result, each) for result in results for each in result.timed if not each.same_as]
    choices = [(result, result.choice) for result in results]
    return FabricSummary(
        fabric=fabric,
        cases=len(results),
        right=sum(result.is_right for result in results),
        above_naive=sum(result.is_above_naive for result in results),
        worst=worst.to_best.median,
        worst_case=worst.name,
        pays=len(paying),
        gain=median(gains) if gains else None,
        gain_most=max(gains, default=None),
        gain_mpi=median(over_mpi) if over_mpi else None,
        gain_mpi_most=max(over_mpi, default=None),
        errors=_errors(schedules, predictors(results)),
        choice_errors=_errors(choices, predictors(results)),
    )


def _errors(pairs: Iterable[tuple[CaseResult, Contest]], names: Sequence[str]) -> dict[str, Errors]:
    pairs = list(pairs)
    found = {}
    for name in (FORMULA, MODEL, *(name for name in names if name != FORMULA)):
        errors = [
            (error, f"{result.name}, {each.name}")
            for result, each in pairs
            for by in [each.model if name == MODEL else name]
            if by != result.decides and (error := each.error_of(by)) is not None
        ]
        if errors:
            worst, where = max(errors, key=lambda pair: abs(pair[0]))
            found[name] = Errors(
                len(errors), median(abs(error) for error, _ in errors), worst, where
            )
    return found
