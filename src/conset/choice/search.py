"""Search: trials simulated in an order that is given, on two threads, until a counted effort is spent.

Problem: find the trial with the least simulated time among some hundred, within a second, and the same one whatever
the number of threads.
Idea: the order is best first, so that the best so far is soon a good one. A simulation stops as soon as its clock
passes that time; what cannot be faster by its lower bound is not simulated at all.
Batches: trials are taken `BATCH` at a time; all of a batch are stopped at what was best when it began and may spend
equal shares of the effort that was left then, at most `SINGLE_SHARE` of all. Neither depends on which ends first.
Guarantee: of the trials that were not left out for lack of effort none is simulated faster than `best`.
Complexity: at most the effort, in counted work of the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import inf, isfinite

from conset import _core
from conset.choice.simulated import Outcome, end_time, settings_of
from conset.choice.trial import REL_TOL, Base, Trial, TrialKey
from conset.errors import InputError, NoScheduleError
from conset.machine.work import synchronization_s
from conset.schedule.sync import parse_sync

BATCH = 4
"""Trials that are simulated without knowing of each other."""
THREADS = 2
SINGLE_SHARE = 1 / 8
"""Of the budget, for one trial, so that a few that take long do not leave nothing for the rest."""


@dataclass
class Search:
    """What was simulated so far.

    Attributes:
        model: what simulates.
        budget: counted work that may be spent.
        executor: where the trials of a batch run.
        floor_s: no schedule over the machine's routes takes less, whatever its policy [s].
        spent: counted work.
        finished: trials with a simulated time, in the order in which they were simulated.
        least_s: of every schedule and policy that was simulated with the machine's sends in flight, what it takes, or
            when it was stopped [s].
        simulated: trials that were begun.
        skipped: those that were not, or not to an end, for lack of effort.
        refused: what the models said of trials that cannot run.
    """

    model: str
    budget: int
    executor: Executor
    floor_s: float = 0.0
    spent: int = 0
    finished: list[Trial] = field(default_factory=list)
    least_s: dict[tuple[Base, str], float] = field(default_factory=dict)
    simulated: int = 0
    skipped: set[TrialKey] = field(default_factory=set)
    refused: list[tuple[Trial, InputError | NoScheduleError]] = field(default_factory=list)

    @property
    def best(self) -> Trial | None:
        """The least time, the first of equals; None before anything has one."""
        if not self.finished:
            return None
        least = min(trial.time_s for trial in self.finished) * REL_TOL
        return next(trial for trial in self.finished if trial.time_s <= least)

    @property
    def best_s(self) -> float:
        """Its time [s]; infinite before there is one."""
        return min((trial.time_s for trial in self.finished), default=inf)

    @property
    def is_over(self) -> bool:
        """Whether nothing can be faster, or nothing may be spent any more."""
        return self.best_s <= self.floor_s * REL_TOL or self.spent >= self.budget or _core.stop_asked()

    def run(
        self,
        trials: Iterable[Trial],
        *,
        slack: float = 1.0,
        share: float = 1.0,
        single: float = SINGLE_SHARE,
        equals: bool = False,
    ) -> None:
        """Simulates trials, the first ones first.

        Args:
            trials: without a simulated time.
            slack: a simulation is stopped when its clock passes this multiple of the best time so far.
            share: of the budget that may be spent when it ends.
            single: of the budget that one trial may spend.
            equals: whether trials are wanted that cannot be faster than the best, but within `slack` of it.
        """
        allowed = int(self.budget * share)
        left = iter(trials)
        reach = slack if equals else 1.0
        while batch := self._next_batch(left, reach):
            if (self.best_s <= self.floor_s * REL_TOL and not equals) or _core.stop_asked():
                return
            if self.spent >= allowed:
                self.skipped |= {t.key for t in (*batch, *(t for t in left if self.may_win(t, reach)))}
                return
            most = min((allowed - self.spent) // len(batch), int(self.budget * single))
            self._simulate(batch, slack, max(most, 1))

    def may_win(self, trial: Trial, reach: float = 1.0) -> bool:
        """Whether its lower bound is below `reach` times the best time so far."""
        return self.floor_s + barriers_s(trial) < self.best_s * reach

    def _next_batch(self, trials: Iterator[Trial], reach: float) -> list[Trial]:
        batch: list[Trial] = []
        for trial in trials:
            if self.may_win(trial, reach):
                batch.append(trial)
                if len(batch) == BATCH:
                    break
        return batch

    def _simulate(self, batch: list[Trial], slack: float, max_work: int) -> None:
        until_s = self.best_s * slack

        def play(trial: Trial) -> Outcome | InputError | NoScheduleError:
            settings = settings_of(trial.base.schedule, trial.sync, trial.in_flight, until_s=until_s, max_work=max_work)
            try:
                return end_time(trial.base.workload, trial.base.schedule.machine, settings, self.model)
            except (InputError, NoScheduleError) as reason:
                return reason

        for trial, outcome in zip(batch, list(self.executor.map(play, batch)), strict=True):
            self.simulated += 1
            self.skipped.discard(trial.key)
            if not isinstance(outcome, Outcome):
                self.refused.append((trial, outcome))
                continue
            self.spent += outcome.work
            if outcome.cut:
                self.skipped.add(trial.key)
            if trial.in_flight is None:
                self.least_s[trial.base, trial.sync] = min(outcome.time_s, until_s)
            if isfinite(outcome.time_s) and outcome.time_s <= until_s:
                self.finished.append(replace(trial, time_s=outcome.time_s, rank_by=self.model))


def barriers_s(trial: Trial) -> float:
    """What the barriers of a trial take [s], during which nothing is under way."""
    schedule = trial.base.schedule
    machine = schedule.machine
    barriers = parse_sync(trial.sync).barriers(schedule.phases)
    if not barriers:
        return 0.0
    return barriers * synchronization_s(machine, machine.costs_for(schedule.method))
