"""Run: every case of a campaign that is not done yet.

What is done is kept at once, so that it can be stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from conset.base import VERSION
from conset.base.errors import ConsetError, UnavailableError, UsageError, unknown_name
from conset.base.progress import duration_text
from conset.base.units import count_of
from conset.machine.machine import Machine
from conset.machine.record import record_of
from conset.studies.campaign.campaign import Campaign, MachineSource
from conset.studies.campaign.case import Case, digest_of
from conset.studies.campaign.machines import (
    calibrate_machine,
    known_machine,
    known_start_s,
    standing,
)
from conset.studies.campaign.measure import measure_case
from conset.studies.campaign.result import CaseResult
from conset.studies.campaign.simulate import Task, simulate_case
from conset.studies.campaign.store import Store


@dataclass(frozen=True)
class Progress:
    """How far a campaign is.

    Attributes:
        what: is done next: `credit/complete/16KiB`, or `calibrating credit`.
        done: cases that are done, those of earlier runs too.
        cases: of the campaign.
        left_s: what is left is likely to take [s]; None before anything is known.
    """

    what: str
    done: int
    cases: int
    left_s: float | None

    def __str__(self) -> str:
        """`credit/complete/16KiB, 12 of 36, about 8 min left`."""
        left = "" if self.left_s is None else f", about {duration_text(self.left_s)} left"
        return f"{self.what}, {self.done} of {count_of(self.cases, 'case')} done{left}"


Watch = Callable[[Progress], AbstractContextManager[None]]
"""Called with what is done next; entered for as long as that takes."""


@dataclass
class CampaignRun:
    """What a campaign has come to.

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
    """Why a case has no result, in a line."""
    return f"not available: {error}" if isinstance(error, UnavailableError) else str(error)


def select_cases(campaign: Campaign, only: Sequence[str]) -> tuple[Case, ...]:
    """The cases whose names fit any of the patterns, as `credit/*` or `*/16KiB`.

    All without a pattern.

    Raises:
        UsageError: a pattern that no case fits.
    """
    if not only:
        return campaign.cases
    for pattern in only:
        if not any(fits(case, pattern) for case in campaign.cases):
            raise unknown_name(
                "case", pattern, [case.name for case in campaign.cases], options=["only"]
            )
    return tuple(case for case in campaign.cases if any(fits(case, pattern) for pattern in only))


def fits(case: Case, pattern: str) -> bool:
    """Whether a case's name is a pattern, fits it, or stands below it."""
    return fnmatchcase(case.name, pattern) or fnmatchcase(case.name, f"{pattern}/*")


def run_campaign(
    campaign: Campaign,
    folder: Path | None = None,
    *,
    executor: Executor | None = None,
    only: Sequence[str] = (),
    again: Sequence[str] = (),
    stop_after_s: float | None = None,
    watch: Watch | None = None,
) -> CampaignRun:
    """Runs every case that is not done yet.

    A case that fails, or whose testbed this machine does not permit, is listed and does not stop
    the others. Results do not depend on the executor; of a simulated campaign they are the same,
    bit by bit, in every run.

    Args:
        campaign: what to run.
        folder: keeps the results, from which the next run goes on; None: in memory.
        executor: carries out simulated cases: any of `concurrent.futures`, or `mpi4py.futures`;
            None: this process.
        only: names or patterns of cases.
        again: of these the results are forgotten first; `calibration/NAME` a machine's.
        stop_after_s: nothing is begun that is likely to end later [s].
        watch: called with what is done next.

    Returns:
        Results of all cases that are done, whenever that was.

    Raises:
        UsageError: an unknown case, no launcher. KeyboardInterrupt: what is done is kept.
    """
    store = Store(folder)
    store.require()
    run = CampaignRun(campaign)
    clock = _Clock(len(campaign.cases), stop_after_s)
    cases = select_cases(campaign, only)
    select_cases(campaign, again)
    watching = watch or _quietly
    if campaign.simulated:
        _simulate_all(run, store, cases, again, executor, clock, watching)
    else:
        if executor is not None:
            raise UsageError(
                "executor: is for simulated campaigns; measured ones run one job at a time"
            )
        for name, source in campaign.machines.items():
            _measure_all(
                run,
                store,
                source,
                [case for case in cases if case.machine == name],
                again,
                clock,
                watching,
            )
    order = {case.name: k for k, case in enumerate(campaign.cases)}
    run.results.sort(key=lambda result: order[result.name])
    done = {result.name for result in run.results}
    run.missing = [
        case.name for case in cases if case.name not in done and case.name not in run.failures
    ]
    return run


def state_of_cases(campaign: Campaign, folder: Path | None) -> dict[str, str]:
    """By name: `done`, `open`, or `to be calibrated` where the machine is not known yet."""
    store, found = Store(folder), {}
    for name, source in campaign.machines.items():
        machine = known_machine(source, folder)
        for case in campaign.cases:
            if case.machine == name and machine is None:
                found[case.name] = "to be calibrated"
            elif case.machine == name and machine is not None:
                digest = digest_of(case, _decides(campaign, source, machine))
                found[case.name] = "done" if store.read(case, digest) else "open"
    return {case.name: found[case.name] for case in campaign.cases}


def read_results(campaign: Campaign, folder: Path) -> list[CaseResult]:
    """Results in a folder that are of this very campaign, in its order."""
    store, results = Store(folder), []
    for name, source in campaign.machines.items():
        machine = known_machine(source, folder)
        if machine is not None:
            for case in campaign.cases:
                if case.machine == name:
                    digest = digest_of(case, _decides(campaign, source, machine))
                    results += [found for found in [store.read(case, digest)] if found is not None]
    return results


def _decides(campaign: Campaign, source: MachineSource, machine: Machine) -> dict[str, Any]:
    """What decides a result beside the case."""
    contenders = (campaign.choice, *campaign.contenders)
    own: dict[str, Any] = {"models": list(campaign.models)}
    if not campaign.simulated:
        own = {"stopping": asdict(campaign.stopping), "baselines": list(campaign.baselines)}
    return {
        "version": VERSION,
        "machine": record_of(machine),
        "source": source.to_object(),
        "contenders": [[each.name, each.to_object()] for each in contenders],
        **own,
    }


class _Clock:
    """What has been done, how long it took, and whether there is time for more."""

    def __init__(self, cases: int, stop_after_s: float | None) -> None:
        self.cases, self.stop_after_s = cases, stop_after_s
        self.began = time.monotonic()
        self.done = self.fresh = 0
        self.took_s = self.longest_s = 0.0

    @contextmanager
    def case(self) -> Iterator[None]:
        """Around a case."""
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        self.took_s, self.longest_s = self.took_s + took, max(self.longest_s, took)
        self.fresh, self.done = self.fresh + 1, self.done + 1

    def progress(self, what: str, open_cases: int) -> Progress:
        """With so many cases that are still to be done."""
        left = self.took_s / self.fresh * open_cases if self.fresh else None
        return Progress(what, self.done, self.cases, left)

    @property
    def is_over(self) -> bool:
        """Whether a case as long as the longest would end too late."""
        if self.stop_after_s is None:
            return False
        return time.monotonic() - self.began + self.longest_s > self.stop_after_s


def _measure_all(
    run: CampaignRun,
    store: Store,
    source: MachineSource,
    cases: Sequence[Case],
    again: Sequence[str],
    clock: _Clock,
    watch: Watch,
) -> None:
    """The cases of one machine, which stands meanwhile."""
    if not cases:
        return
    campaign, folder = run.campaign, store.folder
    machine, start_s = known_machine(source, folder), known_start_s(source, folder)
    if machine is not None:
        cases = _open_cases(run, store, source, machine, cases, again, clock)
    if not cases or clock.is_over:
        return
    try:
        with standing(source) as stands:
            if machine is None:
                with watch(clock.progress(f"calibrating {source.name}", len(cases))):
                    machine, start_s = calibrate_machine(
                        source, stands, campaign.calibration, folder
                    )
            decides = _decides(campaign, source, machine)
            for k, case in enumerate(cases):
                if clock.is_over:
                    return
                digest = digest_of(case, decides)
                with watch(clock.progress(case.name, len(cases) - k)):
                    try:
                        with clock.case():
                            result = measure_case(
                                case, campaign, source, machine, digest, stands.mpiexec, start_s
                            )
                    except ConsetError as error:
                        _fail(run, [case], error)
                        continue
                _keep(run, store, result)
    except ConsetError as error:  # no calibration, or no testbed: other machines go on
        done = {result.name for result in run.results}
        _fail(run, [case for case in cases if case.name not in {*done, *run.failures}], error)


def _fail(run: CampaignRun, cases: Sequence[Case], error: ConsetError) -> None:
    """Notes why cases have no result.

    Raises a `UsageError` again, as where there is no launcher: none would run.
    """
    if isinstance(error, UsageError) and not isinstance(error, UnavailableError):
        raise error
    run.failures |= {case.name: error for case in cases}


def _open_cases(
    run: CampaignRun,
    store: Store,
    source: MachineSource,
    machine: Machine,
    cases: Sequence[Case],
    again: Sequence[str],
    clock: _Clock,
) -> list[Case]:
    """Those that are not done; the others' results are taken."""
    decides, left = _decides(run.campaign, source, machine), []
    for case in cases:
        digest = digest_of(case, decides)
        if any(fits(case, pattern) for pattern in again):
            store.forget(case, digest)
        found = store.read(case, digest)
        if found is None:
            left.append(case)
        else:
            run.results.append(found)
            clock.done += 1
    return left


def _simulate_all(
    run: CampaignRun,
    store: Store,
    cases: Sequence[Case],
    again: Sequence[str],
    executor: Executor | None,
    clock: _Clock,
    watch: Watch,
) -> None:
    campaign = run.campaign
    tasks = []
    for name, source in campaign.machines.items():
        machine = source.stated()
        decides = _decides(campaign, source, machine)
        own = [case for case in cases if case.machine == name]
        tasks += [
            Task.of(case, campaign, source, record_of(machine), digest_of(case, decides))
            for case in _open_cases(run, store, source, machine, own, again, clock)
        ]
    if executor is None:
        for k, task in enumerate(tasks):
            if clock.is_over:
                return
            with watch(clock.progress(task.case.name, len(tasks) - k)), clock.case():
                _take(run, store, task, partial(simulate_case, task))
        return
    futures: dict[Future[dict[str, Any]], Task] = {
        executor.submit(simulate_case, task): task for task in tasks
    }
    try:
        waiting = as_completed(futures)
        for k in range(len(futures)):
            with watch(clock.progress("simulating", len(futures) - k)), clock.case():
                future = next(waiting)
                _take(run, store, futures[future], future.result)
            if clock.is_over:
                return
    finally:
        for future in futures:
            future.cancel()


def _take(
    run: CampaignRun, store: Store, task: Task, simulate: Callable[[], Mapping[str, Any]]
) -> None:
    try:
        found = CaseResult.of_object(simulate())
    except ConsetError as error:
        run.failures[task.case.name] = error
        return
    _keep(run, store, found)


def _keep(run: CampaignRun, store: Store, result: CaseResult) -> None:
    store.write(result)
    run.results.append(result)
    run.fresh += 1


def _quietly(progress: Progress) -> AbstractContextManager[None]:
    return nullcontext()
