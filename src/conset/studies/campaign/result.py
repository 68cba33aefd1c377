"""Results of cases: the times of every contender.

Measured or simulated, and what follows from them.

A case is one machine, one pattern, one size, one seed; it has a name, and the digest of all that
decides its result. The choice is *right* where it is within 5 % of the best, or where the
measurement does not tell them apart, and is not above 1.05 × the naive exchange. Ratios are of
times paired by repetition, with bootstrap intervals. A summary of the cases of a fabric has how
often the choice was right, what it gained, and how exact predictions were.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from conset.base import InputError, format_size, replacing
from conset.compilation import FORMULA
from conset.execution import Ratio
from conset.machine import Machine
from conset.pattern import Pattern, input_path, parse_pattern
from conset.schedule import sha256_of
from conset.studies.contender import CHOICE, NAIVE

SCHEMA = "conset/campaign-case@1"
CSV, JSON = "results.csv", "results.json"
"""Names of tables of all cases."""
WITHIN = 1.05
"""A choice is right up to so many times the best.

It is wrong above so many times the naive exchange.
"""
DIGEST = 12
"""Letters of a digest in names of files."""
MODEL = "model"
"""Errors by the machine's own model, whichever that is for a method."""


@dataclass(frozen=True)
class Case:
    """What is compared once.

    Attributes:
        machine: name of its machine.
        fabric: what it is summed up with.
        pattern: name of the pattern.
        spec: the pattern, its size filled in.
        size: of a message [B]; None: the pattern has its own.
        seed: of the pattern.
        shows_seed: whether its name has the seed: where there are several.
        parts: of a mesh or graph, or None.
        rows_to: ranks of a sparse matrix, or None.
        word: bytes of an entry or node where a file counts words [B].
    """

    machine: str
    fabric: str
    pattern: str
    spec: str
    size: int | None
    seed: int = 0
    shows_seed: bool = False
    parts: int | None = None
    rows_to: int | None = None
    word: int = 8

    @property
    def name(self) -> str:
        """`credit/complete/16KiB`, with the seed where there are several."""
        return f"{self.machine}/{self.label}"

    @property
    def label(self) -> str:
        """`complete/16KiB`: what it is on its machine."""
        size = [] if self.size is None else [format_size(self.size).replace(" ", "")]
        return "/".join([self.pattern, *size, *([f"seed={self.seed}"] if self.shows_seed else [])])

    def load(self, machine: Machine, ranks: int | None = None) -> Pattern:
        """Return the pattern, for so many ranks on the machine; raises as `parse_pattern`."""
        return parse_pattern(
            self.spec,
            topology=machine.topology,
            ranks=ranks,
            seed=self.seed,
            parts=self.parts,
            rows_to=self.rows_to,
            word=self.word,
        )

    def digest(self, decides: Mapping[str, Any]) -> str:
        """Return the SHA-256 of the case and of all else that decides its result.

        Args:
            decides: JSON-ready: machine, contenders, how they are measured, version.
        """
        path = input_path(self.spec)
        # of a pattern in a file the contents count, not the name alone
        contents = sha256_of(path) if path is not None and path.is_file() else None
        # how a case is shown does not change it
        own = {
            key: value for key, value in asdict(self).items() if key not in ("shows_seed", "fabric")
        }
        text = json.dumps([own, contents, decides], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def file_name(self, digest: str) -> str:
        """Return the name of the file that keeps the result of that digest."""
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", self.name).strip("-")[:80]
        return f"{slug}.{digest[:DIGEST]}.json"


@dataclass(frozen=True)
class Contest:
    """One contender in one case.

    Attributes:
        name: as in the campaign.
        kind: `choice`, `naive` (the naive exchange), `schedule` or `mpi`.
        facts: method, contention, sync, phases, stages, in_flight, posting, why; {} without a
            schedule.
        predicted_s: by formula and models [s].
        model: the machine's model of its method; "" without a schedule.
        times_s: measured, a repetition each [s]; of a simulated case the time by the model that
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
        return median(self.times_s)

    def error_of(self, by: str) -> float | None:
        """Return predicted over measured, less 1."""
        predicted = self.predicted_s.get(by)
        return (
            None
            if predicted is None or not self.times_s or not self.median_s
            else predicted / self.median_s - 1
        )

    def to_object(self) -> dict[str, Any]:
        """Return the contender as a case's file keeps it."""
        return {
            "name": self.name,
            "kind": self.kind,
            **self.facts,
            "model": self.model or None,
            "predicted_s": dict(self.predicted_s),
            "times_s": list(self.times_s),
            "same_as": self.same_as or None,
            "skipped": self.skipped or None,
        }

    @staticmethod
    def of_object(data: Mapping[str, Any]) -> Contest:
        """Return the contender of a case's file."""
        own = {key: data[key] or "" for key in ("name", "kind", "model", "same_as", "skipped")}
        times = tuple(float(time) for time in data["times_s"])
        known = {*own, "predicted_s", "times_s"}
        facts = {key: value for key, value in data.items() if key not in known}
        return Contest(**own, facts=facts, predicted_s=data["predicted_s"], times_s=times)


@dataclass(frozen=True)
class CaseResult:
    """Result of a case.

    Attributes:
        case: which.
        digest: of all that decides it.
        machine: what the machine is, for people: its name and model.
        messages: of the pattern.
        bytes: of the pattern [B].
        ranks: of the pattern.
        simulated: whether a model gives the times.
        decides: that model; "" where they are measured.
        contests: contenders, the choice first, then the naive exchange.
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
        """Name of the case."""
        return self.case.name

    @cached_property
    def timed(self) -> tuple[Contest, ...]:
        """Contenders that have times."""
        return tuple(each for each in self.contests if each.times_s)

    def contest(self, name: str) -> Contest:
        """Return the contender of that name."""
        return next(each for each in self.contests if each.name == name)

    @property
    def choice(self) -> Contest:
        """What `auto` chose."""
        return self.contest(CHOICE)

    @property
    def naive(self) -> Contest:
        """The naive exchange."""
        return self.contest(NAIVE)

    @cached_property
    def best(self) -> Contest:
        """The contender of the least median; of equals the choice, then the first."""
        return min(self.timed, key=lambda each: (each.median_s, each.name != CHOICE))

    @cached_property
    def best_mpi(self) -> Contest | None:
        """The fastest collective of MPI."""
        return min(
            (each for each in self.timed if each.kind == "mpi"),
            key=lambda each: each.median_s,
            default=None,
        )

    def to_naive(self, contest: Contest) -> Ratio:
        """Return the ratio of a contender to the naive exchange."""
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
        """Ratio of the choice to the best."""
        return self._ratio(self.choice, self.best)

    @cached_property
    def to_mpi(self) -> Ratio | None:
        """Ratio of the choice to the fastest collective of MPI."""
        return None if self.best_mpi is None else self._ratio(self.choice, self.best_mpi)

    def predictor(self, contest: Contest) -> str:
        """Return what predicts a contender.

        Its model, or the formula where that model gives the times.
        """
        return FORMULA if contest.model == self.decides else contest.model

    @property
    def is_near_best(self) -> bool:
        """Whether the choice is within 5 % of the best, or cannot be distinguished from it."""
        return self.to_best.median <= WITHIN or self.to_best.low <= 1

    @property
    def is_above_naive(self) -> bool:
        """Whether the choice takes more than 1.05 × the naive exchange.

        And the interval leaves out less.
        """
        ratio = self.to_naive(self.choice)
        return ratio.median > WITHIN and ratio.low > 1

    @property
    def is_right(self) -> bool:
        """Whether the choice is near the best and not above the naive exchange."""
        return self.is_near_best and not self.is_above_naive

    @property
    def pays(self) -> bool:
        """Whether something is faster than the naive exchange beyond doubt, by more than 5 %."""
        ratio = self.to_naive(self.best)
        return ratio.high < 1 and ratio.median <= 1 / WITHIN

    @cached_property
    def ties(self) -> tuple[Contest, ...]:
        """Contenders that the measurement does not tell from the best, the best first."""
        others = [
            each
            for each in self.timed
            if each is not self.best and self._ratio(each, self.best).low <= 1
        ]
        return (self.best, *sorted(others, key=lambda each: each.median_s))

    @property
    def verdict(self) -> str:
        """`right: the best`, `right: a tie`, `1.12 × the best`, `1.08 × the naive exchange`."""
        if self.is_above_naive:
            return f"{self.to_naive(self.choice).median:.2f} × the naive exchange"
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
        """Return the result as its file keeps it: what was found, nothing that follows from it."""
        return {
            "schema": SCHEMA,
            "case": asdict(self.case),
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
        """Return the result of a file; raises InputError where it is of another form."""
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
                tuple(Contest.of_object(each) for each in data["contenders"]),
                data["conditions"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"is no result of a case: {error}") from None


def predictors(results: Sequence[CaseResult]) -> list[str]:
    """Return what predicts in any of the results: the formula, then models."""
    found = {by for result in results for each in result.contests for by in each.predicted_s}
    return sorted(found, key=lambda by: (by != FORMULA, by))


@dataclass(frozen=True)
class Errors:
    """How far predictions were off, of contenders that were timed.

    Attributes:
        count: number of them.
        median: of |predicted / measured - 1|.
        worst: the largest, with its sign.
        where: the case and contender of the worst.
    """

    count: int
    median: float
    worst: float
    where: str


@dataclass(frozen=True)
class FabricSummary:
    """Summary of the cases of one fabric.

    Attributes:
        fabric: its name.
        cases: done.
        right: of these the choice was right.
        above_naive: of these the choice takes more than 1.05 × the naive exchange.
        worst: the largest ratio of the choice to the best, where that was measured.
        worst_case: where.
        pays: cases in which something is faster than the naive exchange beyond doubt.
        gain: median over `pays` of the naive exchange over the choice; None where nothing pays.
        gain_most: the largest of these.
        gain_mpi: median over `pays` of the fastest collective of MPI over the choice; None without.
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
        """Share of the cases in which the choice was right."""
        return self.right / self.cases

    def to_object(self) -> dict[str, Any]:
        """Return the summary as `conset campaign --json` prints it."""
        return {**asdict(self), "share": self.share}


def summarize_campaign(results: Sequence[CaseResult]) -> tuple[FabricSummary, ...]:
    """Return one for each fabric, in the order of the cases.

    With several, one of all of them, `all`, at the end.
    """
    own = [
        _summarize(fabric, [each for each in results if each.case.fabric == fabric])
        for fabric in list(dict.fromkeys(result.case.fabric for result in results))
    ]
    return (*own, _summarize("all", results)) if len(own) > 1 else tuple(own)


def _summarize(fabric: str, results: Sequence[CaseResult]) -> FabricSummary:
    worst = max(results, key=lambda result: result.to_best.median)
    paying = [result for result in results if result.pays]
    gains = [1 / result.to_naive(result.choice).median for result in paying]
    over_mpi = [1 / result.to_mpi.median for result in paying if result.to_mpi is not None]
    schedules = [(result, each) for result in results for each in result.timed if not each.same_as]
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
        choice_errors=_errors([(result, result.choice) for result in results], predictors(results)),
    )


def _errors(pairs: Sequence[tuple[CaseResult, Contest]], names: Sequence[str]) -> dict[str, Errors]:
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


def write_tables(results: Sequence[CaseResult], folder: Path, head: Mapping[str, Any]) -> None:
    """Write `results.csv`, a row for each contender of each case, and `results.json`.

    Raises:
        InputError: one cannot be written.
    """
    names = predictors(results)
    rows = [_row(result, each, names) for result in results for each in result.contests]
    with (
        replacing(folder / CSV) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with replacing(folder / JSON) as temporary:
        temporary.write_text(
            json.dumps({**head, **results_object(results)}, indent=1), encoding="utf-8"
        )


def results_object(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return summaries by fabric, and cases with what follows from their times.

    As `conset campaign --json`.
    """
    return {
        "fabrics": [summary.to_object() for summary in summarize_campaign(results)],
        "cases": [_case_object(result) for result in results],
    }


def _case_object(result: CaseResult) -> dict[str, Any]:
    mpi = result.best_mpi
    return {
        "name": result.name,
        **asdict(result.case),
        "ranks": result.ranks,
        "messages": result.messages,
        "bytes": result.bytes,
        "right": result.is_right,
        "verdict": result.verdict,
        "choice": {"name": CHOICE, **dict(result.choice.facts)},
        "choice_s": result.choice.median_s,
        "naive_s": result.naive.median_s,
        "best": result.best.name,
        "best_s": result.best.median_s,
        "ties": [each.name for each in result.ties],
        "mpi": None if mpi is None else mpi.name,
        "mpi_s": None if mpi is None else mpi.median_s,
        "ratio_to_naive": result.to_naive(result.choice).to_object(),
        "ratio_to_best": result.to_best.to_object(),
        "ratio_to_mpi": None if result.to_mpi is None else result.to_mpi.to_object(),
        "predicted_s": dict(result.choice.predicted_s),
        "model": result.choice.model,
        "contenders": [
            {
                "name": each.name,
                "kind": each.kind,
                "median_s": each.median_s if each.times_s else None,
                "ratio_to_naive": result.to_naive(each).to_object() if each.times_s else None,
                "predicted_s": dict(each.predicted_s),
                "repetitions": len(each.times_s),
                "same_as": each.same_as or None,
                "skipped": each.skipped or None,
            }
            for each in result.contests
        ],
        "conditions": dict(result.conditions),
    }


def _row(result: CaseResult, each: Contest, names: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a contender, in the order of the table; `names` predict."""
    case, facts = result.case, each.facts
    ratio = result.to_naive(each) if each.times_s else None
    row: dict[str, Any] = {
        "machine": case.machine,
        "fabric": case.fabric,
        "pattern": case.pattern,
        "size_B": case.size,
        "seed": case.seed,
        "ranks": result.ranks,
        "messages": result.messages,
        "bytes": result.bytes,
        "contender": each.name,
        "kind": each.kind,
        **{
            key: facts.get(key)
            for key in ("method", "contention", "sync", "phases", "stages", "in_flight", "posting")
        },
        "simulated": int(result.simulated),
        "repetitions": len(each.times_s),
        "median_s": each.median_s if each.times_s else None,
        "least_s": min(each.times_s, default=None),
        "ratio_to_naive": ratio and ratio.median,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
        "is_best": int(each is result.best) if each.times_s else None,
        "right": int(result.is_right) if each.kind == "choice" else None,
        "model": each.model,
        **{f"predicted_{name}_s": each.predicted_s.get(name) for name in names},
        **{f"error_{name}": each.error_of(name) for name in names},
        "same_as": each.same_as,
        "skipped": each.skipped,
        "digest": result.digest,
    }
    return {
        key: f"{value:.9g}" if isinstance(value, float) else value for key, value in row.items()
    }
