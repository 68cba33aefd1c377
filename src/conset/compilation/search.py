"""Trials simulated in an order that is given, on two threads, until a counted effort is spent.

Problem: find the trial with the least simulated time among some hundred, within a second, and the
same one whatever the number of threads.
Idea: the order is best first, so that the best so far is soon a good one. A simulation stops as
soon as its clock passes that time; what cannot be faster by its lower bound is not simulated at
all.
Batches: trials are taken `BATCH` at a time; all of a batch are stopped at what was best when it
began and may spend equal shares of the effort that was left then, at most `SINGLE_SHARE` of all.
Neither depends on which ends first.
Guarantee: of the trials that were not left out for lack of effort none is simulated faster than
`best`.
Complexity: at most the effort, in counted work of the models.

Stages of a search by a model: all schedules under all policies, then the best with fewer sends in
flight.

What is simulated first shows how far the formula is off: one trial under each policy, then every
schedule under the best of these. The rest goes by predicted times that are corrected by that
(`corrected_trials`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from operator import length_hint

import numpy as np

from conset import _core
from conset.base import InputError, NoScheduleError, work
from conset.bounds import Bounds, bound
from conset.compilation.candidates import CANDIDATES
from conset.compilation.trial import (
    BLOCKING,
    EQUAL,
    ERROR,
    MODEL_ERRORS,
    REL_TOL,
    Base,
    Outcome,
    Trial,
    TrialKey,
    allowed_policies,
    end_time,
    predicted_trials,
    ranking_of,
    settings_of,
)
from conset.machine import Limits, Machine, synchronization_s
from conset.pattern import Pattern
from conset.schedule import Schedule, parse_sync

BATCH = 4
"""Trials that are simulated without knowing of each other."""
THREADS = 2
SINGLE_SHARE = 1 / 8
"""Of the budget, for one trial, so that a few that take long do not leave nothing for the rest."""


@dataclass
class Search:
    """What was simulated so far.

    Attributes:
        model: what simulates; with `own` what simulates most methods.
        budget: counted work that may be spent.
        executor: where the trials of a batch run.
        own: whether the machine's model of its method simulates a trial.
        floor_s: no schedule over the machine's routes takes less, whatever its policy [s].
        beat_s: the time of another schedule; only trials that take less are wanted [s].
        spent: counted work.
        finished: trials with a simulated time, in the order in which they were simulated.
        least_s: of every schedule and policy that was simulated with the machine's sends in flight,
            what it takes, or when it was stopped [s].
        simulated: trials that were begun.
        skipped: those that were not, or not to an end, for lack of effort.
        refused: what the models said of trials that cannot run.
    """

    model: str
    budget: int
    executor: Executor
    own: bool = False
    floor_s: float = 0.0
    beat_s: float = inf
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
        """Its time, or before there is one the time to beat [s]."""
        return min((trial.time_s for trial in self.finished), default=self.beat_s)

    @property
    def is_over(self) -> bool:
        """Whether nothing can be faster, or nothing may be spent any more."""
        return (
            self.best_s <= self.floor_s * REL_TOL or self.spent >= self.budget or _core.stop_asked()
        )

    def model_of(self, trial: Trial) -> str:
        """What simulates a trial."""
        schedule = trial.base.schedule
        return ranking_of(schedule.machine, None if self.own else self.model, schedule.method)

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
            slack: a simulation is stopped when its clock passes this multiple of the best time so
                far.
            share: of the budget that may be spent when it ends.
            single: of the budget that one trial may spend.
            equals: whether trials are wanted that cannot be faster than the best, but within
                `slack` of it.
        """
        allowed = int(self.budget * share)
        trials = list(trials)
        left = iter(trials)
        reach = slack if equals else 1.0
        with work(len(trials)) as whole:
            while batch := self._next_batch(left, reach):
                if (self.best_s <= self.floor_s * REL_TOL and not equals) or _core.stop_asked():
                    return
                if self.spent >= allowed:
                    self.skipped |= {
                        t.key for t in (*batch, *(t for t in left if self.may_win(t, reach)))
                    }
                    return
                most = min((allowed - self.spent) // len(batch), int(self.budget * single))
                self._simulate(batch, slack, max(most, 1))
                whole.done = len(trials) - length_hint(left)

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

        def simulate_workload(trial: Trial) -> Outcome | InputError | NoScheduleError:
            loss = trial.base.loss(trial.sync) if self.model_of(trial) == "flow" else 1.0
            settings = settings_of(
                trial.base.schedule,
                trial.sync,
                trial.in_flight,
                until_s=until_s / loss,
                max_work=max_work,
            )
            try:
                outcome = end_time(
                    trial.base.workload, trial.base.schedule.machine, settings, self.model_of(trial)
                )
                return replace(outcome, time_s=outcome.time_s * loss)
            except (InputError, NoScheduleError) as reason:
                return reason

        for trial, outcome in zip(
            batch, list(self.executor.map(simulate_workload, batch)), strict=True
        ):
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
                self.finished.append(
                    replace(trial, time_s=outcome.time_s, rank_by=self.model_of(trial))
                )


def barriers_s(trial: Trial) -> float:
    """What the barriers of a trial take [s], during which nothing is under way."""
    schedule = trial.base.schedule
    machine = schedule.machine
    barriers = parse_sync(trial.sync).barriers(schedule.phases)
    if not barriers:
        return 0.0
    return barriers * synchronization_s(machine, machine.costs_for(schedule.method))


POSTED_SHARE = 0.5
"""Of the effort, for the naive exchange."""
FIRST_SHARE = 0.8
"""Of the effort, for the first stage."""
REFINED = 6
"""Trials that are tried with fewer sends in flight, beside the naive exchange."""
IN_FLIGHT_LIMITS = (1, 2, 4, 8)
"""Sends in flight that are tried, below the machine's number.

With the best and with the naive exchange.
"""
FEW_IN_FLIGHT = (1, 2)
"""With the other schedules, whose order spreads the load only where few are in flight."""


def least_bounds(pattern: Pattern, machine: Machine, like: Schedule) -> Bounds:
    """What no schedule takes less time than, whatever its method, policy, order and limits.

    With the placement of `like`; over the machine's routes, unless `like` chooses its own.
    """
    # only `connections` chooses routes unasked, and only there is it tried
    free = machine.limits.channels is not None or like.route_offsets is not None
    found = [
        bound(
            pattern,
            machine,
            Limits(),
            placement=like.placement,
            sync=sync,
            routes="free" if free else "fixed",
            split=True,
            method=method,
        )
        for method in ("", *machine.method_costs)
        for sync in dict.fromkeys(("none", *machine.costs_for(method).exchange_syncs))
    ]
    return min(found, key=lambda bounds: bounds.time_s)


def all_trials(bases: Sequence[Base], sync: str | None, search: Search) -> list[Trial]:
    """Every schedule under every policy it may run under (or `sync`), the least by formula first.

    Those that cannot win are left out, unless nothing can: then they are for the other models. On a
    machine that was measured `local` is: a library says that a send has ended when it has buffered
    it, so ranks go on too early, and nowhere was it the fastest that was measured
    (docs/cost-model.md).
    """
    over = search.is_over

    def predict(base: Base) -> list[Trial]:
        policies = allowed_policies(base.schedule) if sync is None else (sync,)
        trials = [Trial(base, policy) for policy in policies]
        if sync is None and is_measured(Trial(base, "none")):
            trials = [trial for trial in trials if trial.sync != "local"]
        if not over:
            trials = [
                t for t in trials if search.may_win(t) and not is_as_posted(t, search.model_of(t))
            ]
        return predicted_trials(base, [trial.sync for trial in trials])

    trials = [
        replace(trial, time_s=inf)
        for found in search.executor.map(predict, bases)
        for trial in found
    ]
    return sorted(trials, key=lambda trial: _rounded(trial.predicted_s))


def first_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """The first under each policy."""
    return list({trial.sync: trial for trial in reversed(_unknown(search, trials))}.values())[::-1]


def second_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """Every schedule under the policy that is best so far."""
    best = search.best
    return [
        trial for trial in _unknown(search, trials) if best is not None and trial.sync == best.sync
    ]


def corrected_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """What is left, by predicted times corrected by what was simulated.

    A factor for each policy and each schedule.

    A formula may be wrong by much, but it is so in like manner for what shares a policy or a
    schedule.
    """
    predicted = {(trial.base, trial.sync): trial.predicted_s for trial in trials}
    known = {
        key: least
        for key, least in search.least_s.items()
        if predicted.get(key, 0.0) > 0 and least < inf
    }
    of_policy: dict[str, float] = {}
    for (base, sync), least in known.items():
        of_policy[sync] = min(of_policy.get(sync, inf), least / predicted[base, sync])
    of_base: dict[Base, float] = {}
    for (base, sync), least in known.items():
        of_base[base] = min(of_base.get(base, inf), least / predicted[base, sync] / of_policy[sync])

    def corrected_s(trial: Trial) -> float:
        return _rounded(
            trial.predicted_s * of_policy.get(trial.sync, 1.0) * of_base.get(trial.base, 1.0)
        )

    return sorted(_unknown(search, trials), key=corrected_s)


def _unknown(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    refused = {(trial.base, trial.sync) for trial, _ in search.refused}
    return [
        t
        for t in trials
        if (t.base, t.sync) not in search.least_s and (t.base, t.sync) not in refused
    ]


def is_as_posted(trial: Trial, model: str) -> bool:
    """Whether a model must say of a trial what it says of the naive exchange.

    All is in flight at once anyway.

    So it is where bytes share rates and nothing else: no slots, processors or receives take
    messages one by one.
    """
    schedule = trial.base.schedule
    costs = schedule.machine.costs_for(schedule.method)
    limited = (
        costs.in_flight is not None or trial.in_flight is not None or costs.receives is not None
    )
    packs = schedule.pattern.packed is not None and costs.copy_Bps < inf
    worked = costs.has_overheads or costs.setup_s > 0 or costs.eager_B is not None or packs
    whole = schedule.parts is None and schedule.route_offsets is None
    same_costs = not schedule.machine.method_costs
    return (
        model == "flow"
        and trial.sync == "none"
        and whole
        and same_costs
        and not (limited or worked)
    )


def refined_trials(
    search: Search, bases: Sequence[Base], orders: Sequence[Base], sync: str | None
) -> list[Trial]:
    """With fewer sends in flight.

    The best so far, the naive exchange in every order, every schedule under `none`.

    Args:
        search: what was found under every policy.
        bases: all schedules.
        orders: the naive exchange, in every order.
        sync: a policy that is fixed.
    """
    if all(search.model_of(Trial(base, sync or "none")) == "packet" for base in (*bases, *orders)):
        # what is under way is kept by windows in the network: sends end long before their bytes
        # arrive
        return []
    near = sorted(search.finished, key=lambda trial: trial.time_s)[:REFINED]
    kinds: dict[tuple[Base, str], tuple[int, ...]] = {
        **{(trial.base, trial.sync): IN_FLIGHT_LIMITS for trial in near},
        **{(base, sync or "none"): IN_FLIGHT_LIMITS for base in orders},
    }
    if sync in (None, "none"):
        for base in bases:
            if "none" in allowed_policies(base.schedule):
                kinds.setdefault((base, "none"), FEW_IN_FLIGHT)
    return [
        Trial(base, policy, flight)
        for (base, policy), flights in kinds.items()
        for flight in flights
        if flight < most_in_flight(base.schedule)
    ]


def robust_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """Where messages block and the best has no barrier after every phase.

    Those with one that are not simulated yet.
    """
    best = search.best
    if (
        best is None
        or search.model_of(best) not in BLOCKING
        or keeps_apart(best)
        or best.base.is_naive
    ):
        return []
    known = {(trial.base, trial.sync) for trial in search.finished}
    return [
        trial for trial in trials if keeps_apart(trial) and (trial.base, trial.sync) not in known
    ]


def robust_choice(search: Search) -> Trial:
    """The best, or what is as fast to `EQUAL` and takes its time from phases alone.

    A barrier after every phase.

    What keeps phases apart by `local` or `ready` alone is fast as long as no rank is late. Where
    messages block each other, one that is late holds up many. On a machine whose numbers were
    measured what is as fast to `ERROR` counts as equal, of several with barriers the one that has
    them after the fewest phases is taken, and the naive exchange where nothing is faster by more
    than the error of the model.

    Raises:
        NoScheduleError: nothing was simulated.
    """
    best = search.best
    if best is None:
        raise NoScheduleError(f"no trial was simulated to its end by {search.model}")
    measured = is_measured(best)
    posted = next((trial for trial in search.finished if trial.posts_everything), None)
    if (
        measured
        and posted is not None
        and posted.time_s <= best.time_s * error_of(search.model_of(posted))
    ):
        return posted
    if search.model_of(best) not in BLOCKING or keeps_apart(best) or best.base.is_naive:
        return best
    posted_s = min(
        (trial.time_s for trial in search.finished if trial.posts_everything), default=inf
    )
    most_s = min(best.time_s * (ERROR if measured else EQUAL), posted_s)
    apart = [trial for trial in search.finished if keeps_apart(trial) and trial.time_s <= most_s]
    listed = [candidate.method for candidate in CANDIDATES]
    return min(
        apart,
        key=lambda t: (
            parse_sync(t.sync).every,
            _rounded(t.time_s),
            listed.index(t.base.schedule.method),
        ),
        default=best,
    )


def keeps_apart(trial: Trial) -> bool:
    """Whether late ranks delay no other rank for long: a barrier after every phase.

    Of a measured machine any barriers.

    Measured with back-pressure, 128 KiB: phases of contention 1 under `none` took 1.28 s where 0.89
    s were simulated, under `barrier:4` 0.97 s where 0.91 s were.
    """
    return trial.sync == "barrier" or (trial.sync.startswith("barrier") and is_measured(trial))


def error_of(model: str) -> float:
    """Factor up to which a measured model cannot tell an order from the naive exchange."""
    return MODEL_ERRORS.get(model, ERROR)


def is_measured(trial: Trial) -> bool:
    """Whether the numbers of its machine were measured, as `conset calibrate` does.

    Then they have errors.
    """
    schedule = trial.base.schedule
    costs = schedule.machine.costs_for(schedule.method)
    model = costs.provenance.get("model")
    return costs.jitter_s > 0 or (model is not None and model.tag == "fitted")


def _rounded(time_s: float) -> float:
    """Sums in another order are one time."""
    return float(f"{time_s:.9g}")


def most_in_flight(schedule: Schedule) -> int:
    """Sends that a rank can have in flight at once: the machine's number, or all it has."""
    own = schedule.machine.costs_for(schedule.method).in_flight
    most = int(np.bincount(schedule.pattern.source).max(initial=0))
    return most if own is None else min(own, most)
