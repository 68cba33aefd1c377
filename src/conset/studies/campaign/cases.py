"""Every contender compiled and predicted, then simulated, or run beside the others in one job.

A measured case runs its contenders over MPI, paired by repetition, every byte checked. A simulated
case is a task that any executor carries out alone. The machine of a case is stated, or calibrated
once and kept in the campaign's folder.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from conset.base import VERSION
from conset.base.errors import (
    ConsetError,
    ExecutionError,
    InputError,
    VerificationError,
    unknown_argument,
)
from conset.base.files import replacing
from conset.base.json_text import parse_json
from conset.base.units import count_of
from conset.compilation.options import FORMULA, CompileOptions
from conset.execution.plan import Plan
from conset.execution.planner import plan_direct
from conset.execution.run import run_paired, why_no_alltoall
from conset.machine.machine import Machine
from conset.machine.spec import machine_of_record, parse_machine
from conset.pattern.pattern import Pattern
from conset.studies.calibrate.calibrate import calibrate
from conset.studies.campaign.campaign import Campaign, MachineSource
from conset.studies.campaign.result import Case, CaseResult, Contest
from conset.studies.contender import CHOICE, NAIVE, Contender, Entry
from conset.studies.times import default_models, simulate_by

MACHINES = "machines"
"""Folder of calibrated machines, in a campaign's folder."""
TESTBED_TTL_S = 7200.0
"""Maximum life of a testbed [s]."""
MIN_REPETITIONS = 3
"""Number of repetitions below which there is no interval."""
POSTED = Contender(NAIVE, CompileOptions(method=NAIVE, sync="none"))
"""What posting everything is predicted as."""


class Known(NamedTuple):
    """A machine with the costs that `auto` chooses by.

    Attributes:
        machine: stated or calibrated.
        start_s: how far apart ranks begin after a barrier: part of every measured time and of no
            model [s].
    """

    machine: Machine
    start_s: float = 0.0


@dataclass(frozen=True)
class Standing:
    """What jobs on a machine need.

    Attributes:
        network: its structure, as a spec.
        mpiexec: how they are started, or None for the wheel's launcher.
    """

    network: str
    mpiexec: str | None


def known_machine(source: MachineSource, folder: Path | None) -> Known | None:
    """Return the machine, or None where it has to be calibrated first."""
    if not source.calibrate:
        return Known(source.stated())
    path = None if folder is None else _record_path(folder, source)
    if path is None or not path.is_file():
        return None
    try:
        kept = parse_json(path, constants=True)
        if kept["of"] != _identity(source):
            return None
        machine, start_s = machine_of_record(kept["machine"]), float(kept["start_s"])
    except (KeyError, TypeError, ValueError, ConsetError) as error:
        raise InputError(
            f"{path}: is no machine that was calibrated, remove it to calibrate again: {error}"
        ) from None
    return Known(source.changed(machine), start_s)


def calibrate_machine(
    source: MachineSource, stands: Standing, options: Mapping[str, Any], folder: Path | None
) -> Known:
    """Measure the costs of a machine, and keep them beside the results.

    Raises:
        ConsetError: as `conset.studies.calibrate.calibrate`.
    """
    network = parse_machine(stands.network)
    known = signature(calibrate).parameters
    for name in options:
        if name not in known:
            raise unknown_argument("calibration", name, known)
    ranks = source.ranks or network.topology.endpoints * source.ranks_per_node
    found = calibrate(network, ranks=ranks, mpiexec=stands.mpiexec, **options)
    start_s = float(found.found.start_s)
    if folder is not None:
        path = _record_path(folder, source)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {
            "of": _identity(source),
            "machine": found.machine.to_spec(),
            "start_s": start_s,
            "calibration": found.to_object(),
        }
        found.write(path.with_suffix(".toml"))  # for people, and for other commands
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return Known(source.changed(found.machine), start_s)


def _identity(source: MachineSource) -> dict[str, Any]:
    """Return what a calibration is of; its version is that of the costs it measures."""
    return {"spec": source.spec, **source.to_object(), "version": VERSION}


def _record_path(folder: Path, source: MachineSource) -> Path:
    return folder / MACHINES / f"{source.name.replace(' ', '-')}.json"


@contextmanager
def standing(source: MachineSource) -> Iterator[Standing]:
    """Within: the machine is there. A testbed is built, and removed at the end whatever happens.

    Raises:
        ConsetError: this host permits no testbed; says why.
    """
    if source.testbed is None:
        yield Standing(source.spec, source.mpiexec)
        return
    # testbeds are in a package above this one, which only starts one where a file asks for it
    bed, settings = (
        import_module("conset_testbed").bed,
        import_module("conset_testbed.settings").Settings,
    )
    known = {*signature(bed).parameters, *signature(settings).parameters} - {"settings"}
    for name in source.testbed:
        if name not in known:
            raise unknown_argument(f"machine {source.name}: testbed", name, known)
    # it is removed when this process ends, whatever its time
    with bed(**{"ttl_s": TESTBED_TTL_S, **source.testbed}) as built:
        yield Standing(source.spec or built.network, built.mpiexec)


@dataclass(frozen=True)
class Task:
    """A case with all that decides it; it can be sent to another process.

    Attributes:
        case: which.
        source: of the machine.
        machine: its record.
        contenders: the choice, then the others.
        models: what gives the times of simulated cases; the first decides; (): the machine's own.
        digest: of the case.
    """

    case: Case
    source: MachineSource
    machine: str | Mapping[str, Any]
    contenders: tuple[Contender, ...]
    models: tuple[str, ...]
    digest: str

    @staticmethod
    def of(
        case: Case, campaign: Campaign, source: MachineSource, machine: Machine, digest: str
    ) -> Task:
        """Return the task of a case on a machine."""
        contenders = (campaign.choice, POSTED, *campaign.contenders)
        return Task(case, source, machine.to_spec(), contenders, campaign.models, digest)

    def load(self) -> tuple[Machine, Pattern]:
        """Return the machine, and the pattern for its ranks."""
        machine, source = machine_of_record(self.machine), self.source
        ranks = source.ranks or machine.topology.endpoints * source.ranks_per_node
        return machine, self.case.load(machine, ranks)

    def prepare(
        self, machine: Machine, pattern: Pattern
    ) -> Iterator[tuple[Contest, Entry | None, Mapping[str, str]]]:
        """Yield each contender without times.

        Its entry where it applies, and why models have no time of it.

        Raises:
            ConsetError: the choice does not apply.
        """
        for contender in self.contenders:
            name = contender.name
            contest = Contest(name, {CHOICE: "choice", NAIVE: "naive"}.get(name, "schedule"))
            options = replace(contender.options, ranks_per_node=self.source.ranks_per_node)
            try:
                entry = replace(contender, options=options).compile(pattern, machine)
                models = dict.fromkeys(self.models or (entry.model, *default_models(machine)))
                simulated, refused = simulate_by(entry.whole, [*models])
            except ConsetError as error:
                if name == CHOICE:
                    raise
                yield replace(contest, skipped=str(error)), None, {}
                continue
            predicted = {
                FORMULA: entry.prediction.time_s,
                **{by: each.time_s for by, each in simulated.items()},
            }
            yield (
                replace(contest, facts=facts_of(entry), predicted_s=predicted, model=entry.model),
                entry,
                refused,
            )

    def result(self, machine: Machine, pattern: Pattern, decides: str, *rest: Any) -> CaseResult:
        """Return the result of the case.

        `rest`: its contests, and the conditions of a measurement.
        """
        return CaseResult(
            self.case,
            self.digest,
            machine.name,
            pattern.ranks,
            pattern.messages,
            pattern.bytes,
            bool(decides),
            decides,
            *rest,
        )


def facts_of(entry: Entry) -> dict[str, Any]:
    """Return what a contender is, JSON-ready."""
    whole, program = entry.whole, entry.program
    return {
        "method": whole.method,
        "contention": entry.contention,
        "sync": whole.sync,
        "phases": whole.phases,
        "stages": 1 if program is None else sum(stage.repeat for stage in program.stages),
        "in_flight": whole.in_flight,
        "posting": whole.posting,
        "why": None if whole.report is None else whole.report.reason or None,
    }


def simulate_case(task: Task) -> dict[str, Any]:
    """Return the object of the case's result: the same wherever and beside whatever it is computed.

    Raises:
        ConsetError: pattern and machine do not fit, `auto` finds nothing.
        InputError: the deciding model has no time of the choice or of posting everything.
    """
    machine, pattern = task.load()
    decides = task.models[0] if task.models else machine.costs.model
    contests = []
    for contest, entry, refused in task.prepare(machine, pattern):
        if decides in contest.predicted_s:
            contest = replace(contest, times_s=(contest.predicted_s[decides],))
        elif entry is not None:
            reason = refused.get(decides, "")
            if contest.name in (CHOICE, NAIVE):
                raise InputError(
                    f"{task.case.name}: {contest.name}: {decides} says nothing: {reason}"
                )
            contest = Contest(
                contest.name, contest.kind, skipped=reason or f"{decides} says nothing"
            )
        contests.append(contest)
    return task.result(machine, pattern, decides, tuple(contests)).to_object()


def measure_case(task: Task, campaign: Campaign, mpiexec: str | None, start_s: float) -> CaseResult:
    """Compile, predict and run every contender of a case.

    Args:
        task: the case.
        campaign: how often, and beside which collectives.
        mpiexec: how jobs are started, or None.
        start_s: how far apart ranks begin, which every prediction has beside what models give [s].

    Raises:
        ConsetError: pattern and machine do not fit, `auto` finds nothing, the job fails.
        VerificationError: a wrong byte was received.
    """
    machine, pattern = task.load()
    contests: list[Contest] = []
    plans: dict[str, Plan] = {}
    for contest, entry, _ in task.prepare(machine, pattern):
        predicted = {by: time_s + start_s for by, time_s in contest.predicted_s.items()}
        same = ""
        if entry is not None and contest.name != NAIVE:
            plan = entry.plan()
            same = next((other for other, known in plans.items() if known == plan), "")
            if not same:
                plans[contest.name] = plan
        contests.append(replace(contest, predicted_s=predicted, same_as=same))
    refused = (
        {"alltoall": why_no_alltoall(pattern) or ""} if "alltoall" in campaign.baselines else {}
    )
    contests += [Contest(name, "mpi", skipped=refused.get(name, "")) for name in campaign.baselines]
    baselines = [NAIVE, *(name for name in campaign.baselines if not refused.get(name))]
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
    times = {name: tuple(own) for name, own in result.times_s.items()}
    conditions = {
        "mpi": result.mpi,
        "cores": result.cores,
        "local_ranks": result.local_ranks,
        "one_machine": result.one_machine,
        "load_before": round(before, 2),
        "load_after": round(os.getloadavg()[0], 2),
        "repetitions": repetitions,
        "stopped": result.stopped,
        "bytes_checked": result.bytes_checked,
        "elapsed_s": round(result.elapsed_s, 3),
        "measuring_s": round(result.measuring_s, 3),
        "version": VERSION,
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host_system": " ".join(os.uname()[:3:2]),
        "start_s": start_s,
    }
    timed = tuple(
        replace(each, times_s=times.get(each.same_as or each.name, ())) for each in contests
    )
    return task.result(machine, pattern, "", timed, conditions)
