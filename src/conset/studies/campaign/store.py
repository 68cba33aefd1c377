"""Store: the folder of a campaign; one file for each case that is done, and tables of them all.

A case's file is written beside and renamed, and named by the digest of all that decides it: a file
is always whole, and a changed campaign, machine or version takes nothing that is out of date.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from conset.base.errors import ConsetError, InputError
from conset.base.files import replacing
from conset.base.json_text import parse_json
from conset.studies.campaign.result import Case, CaseResult, Contest, predictors, summarize_campaign
from conset.studies.contender import CHOICE

CASES, CSV, JSON = "cases", "results.csv", "results.json"
SCHEMA = "conset/campaign@1"


class Store:
    """Results of cases in a folder; without one, in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._kept: dict[str, CaseResult] = {}

    def require(self) -> None:
        """Make the folder; raises InputError where it cannot be."""
        if self.folder is None:
            return
        try:
            (self.folder / CASES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be made: {error.strerror}") from None

    def read(self, case: Case, digest: str) -> CaseResult | None:
        """Return the result of a case, or None where it is not done or its file is broken."""
        if self.folder is None:
            return self._kept.get(digest)
        path = self.folder / CASES / case.file_name(digest)
        try:
            result = CaseResult.of_object(parse_json(path, constants=True))
        except (AttributeError, ConsetError):
            return None
        return replace(result, case=case) if result.digest == digest else None

    def write(self, result: CaseResult) -> None:
        """Keep a result."""
        if self.folder is None:
            self._kept[result.digest] = result
            return
        with replacing(self.folder / CASES / result.case.file_name(result.digest)) as temporary:
            temporary.write_text(json.dumps(result.to_object(), indent=1), encoding="utf-8")

    def forget(self, case: Case, digest: str) -> None:
        """Remove a result."""
        self._kept.pop(digest, None)
        if self.folder is not None:
            (self.folder / CASES / case.file_name(digest)).unlink(missing_ok=True)


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
        writer = csv.DictWriter(file, columns(names), lineterminator="\n")
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


def columns(names: Sequence[str]) -> list[str]:
    """Of the table; `names` predict."""
    return [
        "machine",
        "fabric",
        "pattern",
        "size_B",
        "seed",
        "ranks",
        "messages",
        "bytes",
        "contender",
        "kind",
        "method",
        "contention",
        "sync",
        "phases",
        "stages",
        "in_flight",
        "posting",
        "simulated",
        "repetitions",
        "median_s",
        "least_s",
        "ratio_to_naive",
        "ratio_low",
        "ratio_high",
        "is_best",
        "right",
        "model",
        *(f"predicted_{name}_s" for name in names),
        *(f"error_{name}" for name in names),
        "same_as",
        "skipped",
        "digest",
    ]


def _row(result: CaseResult, each: Contest, names: Sequence[str]) -> dict[str, Any]:
    case, facts = result.case, each.facts
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
        "model": each.model,
        "right": int(result.is_right) if each.kind == "choice" else None,
        "same_as": each.same_as,
        "skipped": each.skipped,
        "digest": result.digest,
    }
    if each.times_s:
        ratio = result.to_naive(each)
        row |= {
            "median_s": each.median_s,
            "least_s": min(each.times_s),
            "ratio_to_naive": ratio.median,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "is_best": int(each is result.best),
        }
    for name in names:
        row[f"predicted_{name}_s"] = each.predicted_s.get(name)
        row[f"error_{name}"] = each.error_of(name)
    return {
        key: f"{value:.9g}" if isinstance(value, float) else value for key, value in row.items()
    }
