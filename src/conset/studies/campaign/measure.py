"""Measured cases: all contenders of a case in one job, paired by repetition, every byte checked."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from conset.base import VERSION
from conset.base.errors import ExecutionError, VerificationError
from conset.base.units import count_of
from conset.compilation.options import CompileOptions
from conset.execution.plan import Plan
from conset.execution.planner import plan_direct
from conset.execution.run import PairedResult, run_paired, why_no_alltoall
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.studies.campaign.campaign import Campaign, MachineSource
from conset.studies.campaign.case import Case
from conset.studies.campaign.contender import CHOICE, NAIVE, Contender, Prepared, prepare_all
from conset.studies.campaign.result import CaseResult, Contest

MIN_REPETITIONS = 3
"""Fewer have no interval."""
POSTED = Contender(NAIVE, CompileOptions(method=NAIVE, sync="none"))
"""What posting everything is predicted as."""


def measure_case(
    case: Case,
    campaign: Campaign,
    source: MachineSource,
    machine: Machine,
    digest: str,
    mpiexec: str | None,
    start_s: float = 0.0,
) -> CaseResult:
    """Compiles, predicts and runs every contender of a case.

    Args:
        case: which.
        campaign: who competes, and how often.
        source: of the machine.
        machine: with the costs that `auto` chooses by.
        digest: of the case.
        mpiexec: how jobs are started, or None.
        start_s: how far apart ranks begin, which every prediction has beside what models say [s].

    Raises:
        ConsetError: pattern and machine do not fit, `auto` finds nothing, the job fails.
        VerificationError: a wrong byte was received.
    """
    pattern = load_case(case, source, machine)
    contenders = [
        each.on(source.ranks_per_node) for each in (campaign.choice, POSTED, *campaign.contenders)
    ]
    made, skipped = prepare_all(contenders, pattern, machine)
    plans, same = _distinct({name: each for name, each in made.items() if name != NAIVE})
    baselines = [NAIVE]
    for name in campaign.baselines:
        reason = why_no_alltoall(pattern) if name == "alltoall" else None
        if reason is None:
            baselines.append(name)
        else:
            skipped[name] = reason
    before = os.getloadavg()[0]
    result = run_paired(
        plan_direct(pattern),
        plans,
        baselines,
        campaign.stopping,
        fixed=(CHOICE, *baselines),
        mpiexec=mpiexec,
    )
    repetitions = len(result.times_s[NAIVE])
    if repetitions < MIN_REPETITIONS:
        raise ExecutionError(
            f"{count_of(repetitions, 'repetition')} in {result.measuring_s:.0f} s, an "
            "interval needs "
            f"{MIN_REPETITIONS}: allow more by repeat.time"
        )
    if result.mismatches:
        raise VerificationError(
            f"{count_of(result.mismatches, 'wrong byte')}: {'; '.join(result.wrong)}"
        )
    made = {name: each.later(start_s) for name, each in made.items()}
    contests = _contests(contenders, made, campaign.baselines, skipped, same, result)
    return CaseResult(
        case,
        digest,
        machine.name,
        pattern.ranks,
        pattern.messages,
        pattern.bytes,
        False,
        "",
        contests,
        {**_conditions(result, before), "start_s": start_s},
    )


def load_case(case: Case, source: MachineSource, machine: Machine) -> Pattern:
    """The pattern of a case, for the ranks of its machine."""
    return case.load(machine, source.ranks or machine.topology.endpoints * source.ranks_per_node)


def _distinct(made: dict[str, Prepared]) -> tuple[dict[str, Plan], dict[str, str]]:
    """(plans that differ, by the first that has them; of the others who has the same)."""
    plans: dict[str, Plan] = {}
    same: dict[str, str] = {}
    for name, prepared in made.items():
        plan = prepared.plan()
        first = next((other for other, known in plans.items() if known == plan), None)
        if first is None:
            plans[name] = plan
        else:
            same[name] = first
    return plans, same


def _contests(
    contenders: Sequence[Contender],
    made: dict[str, Prepared],
    baselines: Sequence[str],
    skipped: dict[str, str],
    same: dict[str, str],
    result: PairedResult,
) -> tuple[Contest, ...]:
    contests = [
        contest_of(each.name, made.get(each.name), skipped, same.get(each.name, ""), result.times_s)
        for each in contenders
    ]
    return (
        *contests,
        *(contest_of(name, None, skipped, "", result.times_s, "mpi") for name in baselines),
    )


def contest_of(
    name: str,
    prepared: Prepared | None,
    skipped: dict[str, str],
    same: str,
    times_s: dict[str, list[float]],
    kind: str = "",
) -> Contest:
    """A contender with what is known of it."""
    kind = kind or {CHOICE: "choice", NAIVE: "naive"}.get(name, "schedule")
    times = tuple(times_s.get(same or name, ()))
    if prepared is None:
        return Contest(name, kind, times_s=times, skipped=skipped.get(name, ""))
    return Contest(name, kind, prepared.facts(), prepared.predicted_s, prepared.model, times, same)


def _conditions(result: PairedResult, load_before: float) -> dict[str, Any]:
    return {
        "mpi": result.mpi,
        "cores": result.cores,
        "local_ranks": result.local_ranks,
        "one_machine": result.one_machine,
        "load_before": round(load_before, 2),
        "load_after": round(os.getloadavg()[0], 2),
        "repetitions": len(result.times_s[NAIVE]),
        "stopped": result.stopped,
        "bytes_checked": result.bytes_checked,
        "elapsed_s": round(result.elapsed_s, 3),
        "measuring_s": round(result.measuring_s, 3),
        "version": VERSION,
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host_system": " ".join(os.uname()[:3:2]),
    }
