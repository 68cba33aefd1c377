"""Run: every case of a campaign that is not done yet; what is done is kept at once.

A folder keeps one file for each case that is done. It is written beside and renamed, and named by
the digest of all that decides its result: a file is always whole, and a changed campaign, machine
or version takes nothing that is out of date.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conset.base import VERSION
from conset.base.errors import ConsetError, InputError, UnavailableError, UsageError, unknown_name
from conset.base.files import replacing
from conset.base.json_text import parse_json
from conset.base.progress import duration_text
from conset.base.units import count_of
from conset.machine.machine import Machine
from conset.studies.campaign.campaign import Campaign, MachineSource
from conset.studies.campaign.cases import (
    Task,
    calibrate_machine,
    known_machine,
    measure_case,
    simulate_case,
    standing,
)
from conset.studies.campaign.result import Case, CaseResult


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


def select_cases(campaign: Campaign, only: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases whose names fit any of the patterns, as `credit/*` or `*/16KiB`.

    All without a pattern.

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
    return tuple(case for case in campaign.cases if not only or case in selected)


def run_campaign(
    campaign: Campaign,
    folder: Path | None = None,
    *,
    executor: Executor | None = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    stop_after_s: float | None = None,
    watch: Watch = lambda progress: nullcontext(),
) -> CampaignRun:
    """Run every case that is not done yet.

    A case that fails, or whose testbed this machine does not permit, is listed and does not stop
    the others. Results do not depend on the executor; of a simulated campaign they are the same,
    bit by bit, in every run.

    Args:
        campaign: what to run.
        folder: keeps the results, from which the next run goes on; None: in memory.
        executor: carries out simulated cases: any of `concurrent.futures`, or `mpi4py.futures`;
            None: this process.
        only: names or patterns of cases.
        again: names or patterns of cases whose results are forgotten first.
        stop_after_s: no case is begun that is likely to end later [s].
        watch: progress callback.

    Returns:
        Results of all cases that are done, whenever that was.

    Raises:
        UsageError: an unknown case, no launcher. KeyboardInterrupt: what is done is kept.
    """
    store = Store(folder)
    store.require()
    cases = select_cases(campaign, only)
    runner = _Runner(
        campaign, store, select_cases(campaign, again) if again else (), stop_after_s, watch
    )
    if executor is not None and not campaign.simulated:
        raise UsageError(
            "executor: is for simulated campaigns; measured ones run one job at a time"
        )
    tasks: list[Task] = []
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
        self.run.results.append(result)
        self.run.fresh += 1

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
            with standing(source) as stands:
                if known is None or tasks is None:
                    with self.step(f"calibrating {source.name}", len(cases)):
                        known = calibrate_machine(source, stands, self.campaign.calibration, folder)
                    tasks = self.open_tasks(source, known.machine, cases)
                for k, task in enumerate(tasks):
                    if self.is_over:
                        return
                    with self.case(task.case, task.case.name, len(tasks) - k):
                        self.keep(measure_case(task, self.campaign, stands.mpiexec, known.start_s))
        except ConsetError as error:  # no calibration, or no testbed: other machines go on
            done = {*(result.name for result in self.run.results), *self.run.failures}
            self.fail([case for case in cases if case.name not in done], error)

    def simulate(self, tasks: Sequence[Task], executor: Executor | None) -> None:
        """Simulate cases here or by an executor, in whatever order they end."""
        if executor is None:
            for k, task in enumerate(tasks):
                if self.is_over:
                    return
                with self.case(task.case, task.case.name, len(tasks) - k):
                    self.keep(CaseResult.of_object(simulate_case(task)))
            return
        futures: dict[Future[dict[str, Any]], Task] = {
            executor.submit(simulate_case, task): task for task in tasks
        }
        try:
            waiting = as_completed(futures)
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
