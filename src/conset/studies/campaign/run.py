"""Run: every case of a campaign that is not done yet; what is done is kept at once.

A folder keeps one file for each case that is done. It is written beside and renamed, and named by
the digest of all that decides its result: a file is always whole, and a changed campaign, machine
or version takes nothing that is out of date.

In a case every contender is compiled and predicted, then simulated, or run beside the others in one
job. A measured case runs its contenders over MPI, paired by repetition, every byte checked. A
simulated case is a task that any executor carries out alone. The machine of a case is stated, or
calibrated once and kept in the campaign's folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from conset.base import (
    VERSION,
    ConsetError,
    ExecutionError,
    InputError,
    UnavailableError,
    UsageError,
    VerificationError,
    completed,
    count_of,
    duration_text,
    format_time,
    parse_json,
    replacing,
    unknown_argument,
    unknown_name,
)
from conset.compilation import FORMULA, CompileOptions
from conset.execution import Plan, plan_direct, run_paired, why_no_alltoall
from conset.machine import Machine, machine_of_record, parse_machine
from conset.pattern import Pattern
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
SCHEDULED = "the schedule of auto"
"""Name of what `auto` compiles where the choice is made by measurement."""
POSTED = Contender(NAIVE, CompileOptions(method=NAIVE, sync="none"))
"""What the naive exchange is predicted as."""


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
        machine = replace(machine, job=tuple(kept.get("job", ())))
    except (KeyError, TypeError, ValueError, ConsetError) as error:
        raise InputError(
            f"{path}: is no machine that was calibrated, remove it to calibrate again: {error}"
        ) from None
    return Known(source.changed(machine), start_s)


def calibrate_machine(
    source: MachineSource, launcher: Standing, options: Mapping[str, Any], folder: Path | None
) -> Known:
    """Measure the costs of a machine, and keep them beside the results.

    Raises:
        ConsetError: as `conset.studies.calibrate.calibrate`.
    """
    network = parse_machine(launcher.network)
    known = signature(calibrate).parameters
    for name in options:
        if name not in known:
            raise unknown_argument("calibration", name, known)
    ranks = source.ranks or network.ranks(source.ranks_per_node)
    found = calibrate(
        network,
        ranks=ranks,
        ranks_per_node=source.ranks_per_node,
        mpiexec=launcher.mpiexec,
        **options,
    )
    start_s = float(found.found.start_s)
    if folder is not None:
        path = _record_path(folder, source)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {
            "of": _identity(source),
            "machine": found.machine.to_spec(),
            "job": found.machine.job,
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
        job: where its ranks are, as `Machine.job`.
        contenders: the choice, then the others.
        models: what gives the times of simulated cases; the first decides; (): the machine's own.
        digest: of the case.
    """

    case: Case
    source: MachineSource
    machine: str | Mapping[str, Any]
    job: tuple[int, ...]
    contenders: tuple[Contender, ...]
    models: tuple[str, ...]
    digest: str

    @staticmethod
    def of(
        case: Case, campaign: Campaign, source: MachineSource, machine: Machine, digest: str
    ) -> Task:
        """Return the task of a case on a machine."""
        contenders = (campaign.choice, POSTED, *campaign.contenders)
        spec = machine.to_spec()
        return Task(case, source, spec, machine.job, contenders, campaign.models, digest)

    def load(self) -> tuple[Machine, Pattern]:
        """Return the machine, and the pattern for its ranks."""
        machine, source = replace(machine_of_record(self.machine), job=self.job), self.source
        ranks = source.ranks or machine.ranks(source.ranks_per_node)
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
        InputError: the deciding model has no time of the choice or of the naive exchange.
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
    if campaign.stopping.before:
        contests = choose_measured(contests, result.before_s)
        times[SCHEDULED] = times[CHOICE]
    conditions = {
        "mpi": result.mpi,
        "cores": result.cores,
        "local_ranks": result.local_ranks,
        "one_machine": result.one_machine,
        "load_before": round(before, 2),
        "load_after": round(os.getloadavg()[0], 2),
        "repetitions": repetitions,
        "before": campaign.stopping.before,
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


def choose_measured(
    contests: Sequence[Contest], before_s: Mapping[str, Sequence[float]]
) -> list[Contest]:
    """Return the contests with the choice by measurement: its schedule, or MPI's own.

    Where MPI's own is chosen the schedule of `auto` is a contender of its own.

    Args:
        contests: the choice first.
        before_s: by name, times of the rounds that choose [s].
    """
    auto, *others = contests
    own = [CHOICE, *(each.name for each in others if each.kind == "mpi" and not each.skipped)]
    took = sorted((median(before_s[name]), name != CHOICE, name) for name in own)
    said = ", ".join(
        f"{SCHEDULED if name == CHOICE else name} {format_time(time_s)}" for time_s, _, name in took
    )
    reason = f"measured in {count_of(len(before_s[CHOICE]), 'round')} before: {said}"
    why = "; ".join(filter(None, (reason, auto.facts["why"])))
    if (chosen := took[0][2]) == CHOICE:
        return [replace(auto, facts={**auto.facts, "why": why}), *others]
    facts = {**dict.fromkeys(auto.facts), "method": chosen, "why": why}
    moved = {CHOICE: SCHEDULED}
    return [
        Contest(CHOICE, "choice", facts, same_as=chosen),
        *(replace(each, same_as=moved.get(each.same_as, each.same_as)) for each in others),
        replace(auto, name=SCHEDULED, kind="schedule"),
    ]


@dataclass(frozen=True)
class Progress:
    """Progress of a campaign.

    Attributes:
        what: the next step: `credit/complete/16KiB`, or `calibrating credit`.
        done: cases that are done, those of earlier runs too.
        cases: of the campaign.
        left_s: likely time of what is left [s]; None before anything is known.
    """

    what: str
    done: int
    cases: int
    left_s: float | None

    def __str__(self) -> str:
        """`credit/complete/16KiB, 12 of 36, about 8 min left`."""
        left = "" if self.left_s is None else f", about {duration_text(self.left_s)} left"
        return f"{self.what}, {self.done} of {count_of(self.cases, 'case')} done{left}"


CASES = "cases"
"""Folder of results, in a campaign's folder."""
Watch = Callable[[Progress], AbstractContextManager[None]]
"""Progress callback: called with the next step, and entered for as long as that takes."""


@dataclass
class CampaignRun:
    """State of a campaign after a run.

    Attributes:
        campaign: what was asked for.
        results: of cases that are done, in the campaign's order.
        failures: by name of a case, why it has no result.
        fresh: cases done by this run.
        missing: names of cases that are neither done nor failed.
    """

    campaign: Campaign
    results: list[CaseResult] = field(default_factory=list)
    failures: dict[str, ConsetError] = field(default_factory=dict)
    fresh: int = 0
    missing: list[str] = field(default_factory=list)


def failure_text(error: ConsetError) -> str:
    """Return why a case has no result, in a line."""
    return f"not available: {error}" if isinstance(error, UnavailableError) else str(error)


def parse_share(text: str | None) -> tuple[int, int]:
    """`2/8` → (2, 8); `slurm`: the place of a job in its array; None: (1, 1).

    Raises:
        UsageError: not so, or no array of jobs.
    """
    if text == "slurm":
        names = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT")
        found = [os.environ.get(name, "") for name in names]
        if not all(map(str.isdecimal, found)):
            raise UsageError(f"share slurm: {', '.join(names)} must be set", options=["share"])
        task, first, count = map(int, found)
        step = int(os.environ.get("SLURM_ARRAY_TASK_STEP", "1"))
        return (task - first) // step + 1, count
    number, _, count_text = (text or "1/1").partition("/")
    if not (number.isdecimal() and count_text.isdecimal() and 1 <= int(number) <= int(count_text)):
        raise UsageError(f"share {text}: I/N with 1 <= I <= N required", options=["share"])
    return int(number), int(count_text)


def select_cases(
    campaign: Campaign, only: Sequence[str], share: tuple[int, int] = (1, 1)
) -> tuple[Case, ...]:
    """Return the cases whose names fit any of the patterns, as `credit/*` or `*/16KiB`.

    All without a pattern; of these every N-th, from the I-th on, of a share (I, N).

    Raises:
        UsageError: a pattern that no case fits.
    """
    selected: set[Case] = set()
    for pattern in only:
        # a name, a pattern, or what a name begins with
        fitting = {
            case
            for case in campaign.cases
            if fnmatchcase(case.name, pattern) or fnmatchcase(case.name, f"{pattern}/*")
        }
        if not fitting:
            raise unknown_name(
                "case", pattern, [case.name for case in campaign.cases], options=["only"]
            )
        selected |= fitting
    number, count = share
    return tuple(case for case in campaign.cases if not only or case in selected)[
        number - 1 :: count
    ]


def run_campaign(
    campaign: Campaign,
    folder: Path | None = None,
    *,
    executor: Executor | None = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    share: tuple[int, int] = (1, 1),
    stop_after_s: float | None = None,
    watch: Watch = lambda progress: nullcontext(),
) -> CampaignRun:
    """Run every case that is not done yet.

    A case that fails, or whose testbed this machine does not permit, is listed and does not stop
    the others. What another process is doing in the same folder is left to it, until that process
    ends. Results do not depend on the executor; of a simulated campaign they are the same,
    bit by bit, in every run.

    Args:
        campaign: what to run.
        folder: keeps the results, from which the next run goes on; None: in memory.
        executor: carries out simulated cases: any of `concurrent.futures`, or `mpi4py.futures`;
            None: this process.
        only: names or patterns of cases.
        again: names or patterns of cases whose results are forgotten first.
        share: (I, N): the I-th of N parts of the cases, each of which may be run elsewhere.
        stop_after_s: no case is begun that is likely to end later [s].
        watch: progress callback.

    Returns:
        Results of all cases that are done, whenever that was.

    Raises:
        UsageError: an unknown case, no launcher. KeyboardInterrupt: what is done is kept.
    """
    store = Store(folder)
    store.require()
    cases = select_cases(campaign, only, share)
    runner = _Runner(
        campaign, store, select_cases(campaign, again) if again else (), stop_after_s, watch
    )
    if executor is not None and not campaign.simulated:
        raise UsageError(
            "executor: is for simulated campaigns; measured ones run one job at a time"
        )
    tasks: list[Task] = []
    with closing(store):
        for name, source in campaign.machines.items():
            own = [case for case in cases if case.machine == name]
            if campaign.simulated:
                tasks += runner.open_tasks(source, source.stated(), own)
            elif own:
                runner.measure(source, own)
        runner.simulate(tasks, executor)
    run = runner.run
    order = {case.name: k for k, case in enumerate(campaign.cases)}
    run.results.sort(key=lambda result: order[result.name])
    done = {*(result.name for result in run.results), *run.failures}
    run.missing = [case.name for case in cases if case.name not in done]
    return run


def state_of_cases(campaign: Campaign, folder: Path | None) -> dict[str, str]:
    """Return by name: `done`, `open`, or `to be calibrated` where the machine is not known yet."""
    return {
        case.name: "to be calibrated" if not is_known else "open" if result is None else "done"
        for case, result, is_known in _stored(campaign, folder)
    }


def read_results(campaign: Campaign, folder: Path) -> list[CaseResult]:
    """Return the results in a folder that are of this very campaign, in its order."""
    return [result for _, result, _ in _stored(campaign, folder) if result is not None]


def _stored(
    campaign: Campaign, folder: Path | None
) -> Iterator[tuple[Case, CaseResult | None, bool]]:
    """Yield (case, its result where it is done, whether its machine is known)."""
    store = Store(folder)
    for name, source in campaign.machines.items():
        known = known_machine(source, folder)
        decides = None if known is None else _decides(campaign, source, known.machine)
        for case in campaign.cases:
            if case.machine == name:
                result = None if decides is None else store.read(case, case.digest(decides))
                yield case, result, decides is not None


def _decides(campaign: Campaign, source: MachineSource, machine: Machine) -> dict[str, Any]:
    """Return what decides a result beside the case."""
    contenders = (campaign.choice, *campaign.contenders)
    own: dict[str, Any] = {"models": list(campaign.models)}
    if not campaign.simulated:
        own = {"stopping": asdict(campaign.stopping), "baselines": list(campaign.baselines)}
    if machine.job:
        own["job"] = machine.job
    return {
        "version": VERSION,
        "machine": machine.to_spec(),
        "source": source.to_object(),
        "contenders": [[each.name, each.to_object()] for each in contenders],
        **own,
    }


class Store:
    """Results of cases in a folder; without one, in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._kept: dict[str, CaseResult] = {}
        self._claimed: dict[str, int] = {}

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

    def claim(self, case: Case, digest: str) -> bool:
        """Take a case for this process, unless another one that is alive has taken it."""
        if self.folder is None or digest in self._claimed:
            return True
        handle = os.open(self._claim_of(case, digest), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._claimed[digest] = handle
        return True

    def _claim_of(self, case: Case, digest: str) -> Path:
        return (self.folder or Path()) / CASES / f".{case.file_name(digest)}.claim"

    def release(self, case: Case, digest: str) -> None:
        """Give up the claim of a case that is done: who takes it now sees the result."""
        if digest in self._claimed:
            self._claim_of(case, digest).unlink(missing_ok=True)
            os.close(self._claimed.pop(digest))

    def close(self) -> None:
        """Give up all claims of cases that are not done."""
        while self._claimed:
            os.close(self._claimed.popitem()[1])

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


class _Runner:
    """Runs cases, keeps their results, and knows whether there is time for more."""

    def __init__(
        self,
        campaign: Campaign,
        store: Store,
        again: Sequence[Case],
        stop_after_s: float | None,
        watch: Watch,
    ) -> None:
        self.run, self.campaign, self.store, self.again = (
            CampaignRun(campaign),
            campaign,
            store,
            again,
        )
        self.stop_after_s, self.watch = stop_after_s, watch
        self.began = time.monotonic()
        self.took_s: list[float] = []

    @property
    def is_over(self) -> bool:
        """Whether a case as long as the longest would end too late."""
        if self.stop_after_s is None:
            return False
        return time.monotonic() - self.began + max(self.took_s, default=0.0) > self.stop_after_s

    def step(self, what: str, left: int) -> AbstractContextManager[None]:
        """Show what is done next, with so many cases that are still to be done."""
        took_s = self.took_s
        left_s = sum(took_s) / len(took_s) * left if took_s else None
        return self.watch(Progress(what, len(self.run.results), len(self.campaign.cases), left_s))

    @contextmanager
    def case(self, case: Case, what: str, left: int) -> Iterator[None]:
        """Carry out a case within: its time is taken, and an error of conset is its failure."""
        began = time.monotonic()
        with self.step(what, left):
            try:
                yield
            except ConsetError as error:
                self.fail([case], error)
        self.took_s.append(time.monotonic() - began)

    def fail(self, cases: Sequence[Case], error: ConsetError) -> None:
        """Note why cases have no result.

        Raises an error of use again, such as no launcher: no case would run.
        """
        if (
            not self.campaign.simulated
            and isinstance(error, UsageError)
            and not isinstance(error, UnavailableError)
        ):
            raise error
        self.run.failures |= {case.name: error for case in cases}

    def keep(self, result: CaseResult) -> None:
        """Keep a result at once."""
        self.store.write(result)
        self.store.release(result.case, result.digest)
        self.run.results.append(result)
        self.run.fresh += 1

    def take(self, task: Task) -> bool:
        """Whether a case is for this process: another one may do it, or have done it meanwhile."""
        if not self.store.claim(task.case, task.digest):
            return False
        if (result := self.store.read(task.case, task.digest)) is None:
            return True
        self.store.release(task.case, task.digest)
        self.run.results.append(result)
        return False

    def open_tasks(
        self, source: MachineSource, machine: Machine, cases: Sequence[Case]
    ) -> list[Task]:
        """Return tasks of those cases that are not done; the results of the others are taken."""
        decides, tasks = _decides(self.campaign, source, machine), []
        for case in cases:
            digest = case.digest(decides)
            if case in self.again:
                self.store.forget(case, digest)
            if (result := self.store.read(case, digest)) is None:
                tasks.append(Task.of(case, self.campaign, source, machine, digest))
            else:
                self.run.results.append(result)
        return tasks

    def measure(self, source: MachineSource, cases: Sequence[Case]) -> None:
        """Measure the cases of one machine, which is there meanwhile."""
        folder = self.store.folder
        known = known_machine(source, folder)
        tasks = None if known is None else self.open_tasks(source, known.machine, cases)
        if tasks == [] or self.is_over:
            return
        try:
            with standing(source) as launcher:
                if known is None or tasks is None:
                    with self.step(f"calibrating {source.name}", len(cases)):
                        known = calibrate_machine(
                            source, launcher, self.campaign.calibration, folder
                        )
                    tasks = self.open_tasks(source, known.machine, cases)
                for k, task in enumerate(tasks):
                    if self.is_over:
                        return
                    if not self.take(task):
                        continue
                    with self.case(task.case, task.case.name, len(tasks) - k):
                        self.keep(
                            measure_case(task, self.campaign, launcher.mpiexec, known.start_s)
                        )
        except ConsetError as error:  # no calibration, or no testbed: other machines go on
            done = {*(result.name for result in self.run.results), *self.run.failures}
            self.fail([case for case in cases if case.name not in done], error)

    def simulate(self, tasks: Sequence[Task], executor: Executor | None) -> None:
        """Simulate cases here or by an executor, in whatever order they end."""
        if executor is None:
            for k, task in enumerate(tasks):
                if self.is_over:
                    return
                if not self.take(task):
                    continue
                with self.case(task.case, task.case.name, len(tasks) - k):
                    self.keep(CaseResult.of_object(simulate_case(task)))
            return
        futures: dict[Future[dict[str, Any]], Task] = {
            executor.submit(simulate_case, task): task for task in tasks if self.take(task)
        }
        try:
            waiting = completed(futures)
            for k in range(len(futures)):
                with self.step("simulating", len(futures) - k):
                    future = next(waiting)
                with self.case(futures[future].case, "simulating", len(futures) - k):
                    self.keep(CaseResult.of_object(future.result()))
                if self.is_over:
                    return
        finally:
            for future in futures:
                future.cancel()
