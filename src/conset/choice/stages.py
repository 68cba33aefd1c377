"""Stages of a search by a model: all schedules under all policies, then the best with fewer sends in flight.

What is simulated first tells how far the formula is off: one trial under each policy, then every schedule under the
best of these. The rest goes by predicted times that are corrected by that (`corrected_trials`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from conset.bounds import bound
from conset.choice.candidates import CANDIDATES
from conset.choice.policies import allowed_policies
from conset.choice.search import Search
from conset.choice.simulated import BLOCKING, EQUAL
from conset.choice.trial import Base, Trial, predicted_trials
from conset.errors import NoScheduleError
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule

POSTED_SHARE = 0.5
"""Of the effort, for posting everything."""
FIRST_SHARE = 0.8
"""Of the effort, for the first stage."""
REFINED = 6
"""Trials that are tried with fewer sends in flight, beside posting everything."""
FLIGHTS = (1, 2, 4, 8)
"""Sends in flight that are tried, below the machine's number, with the best and with posting everything."""
FEW_FLIGHTS = (1, 2)
"""With the other schedules, whose order spreads the load only where few are in flight."""


def least_time(pattern: Pattern, machine: Machine, like: Schedule) -> float:
    """What no schedule takes less than [s], whatever its method, policy, order and limits."""
    free = machine.limits.channels is not None  # only `connections` chooses routes, and only there is it tried
    times = [
        bound(
            pattern, machine, Limits(), placement=like.placement, sync=sync, routes="free" if free else "fixed",
            split=True, timetable=True, method=method,
        ).time_s
        for method in ("", *machine.method_costs)
        for sync in dict.fromkeys(("none", *machine.costs_for(method).exchange_syncs))
    ]  # fmt: skip
    return min(times)


def all_trials(bases: Sequence[Base], sync: str | None, search: Search) -> list[Trial]:
    """Every schedule under every policy it may run under (or `sync`), the least by formula first.

    Those that cannot win are left out, unless nothing can: then they are for the other models.
    """
    over = search.is_over

    def predict(base: Base) -> list[Trial]:
        policies = allowed_policies(base.schedule) if sync is None else (sync,)
        trials = [Trial(base, policy) for policy in policies]
        if not over:
            trials = [t for t in trials if search.may_win(t) and not is_as_posted(t, search.model)]
        return predicted_trials(base, [trial.sync for trial in trials])

    trials = [replace(trial, time_s=inf) for found in search.executor.map(predict, bases) for trial in found]
    return sorted(trials, key=lambda trial: _rounded(trial.predicted_s))


def first_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """The first under each policy."""
    return list({trial.sync: trial for trial in reversed(_unknown(search, trials))}.values())[::-1]


def second_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """Every schedule under the policy that is best so far."""
    best = search.best
    return [trial for trial in _unknown(search, trials) if best is not None and trial.sync == best.sync]


def corrected_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """What is left, by predicted times corrected by what was simulated: a factor for each policy and each schedule.

    A formula may be wrong by much, but it is so in like manner for what shares a policy or a schedule.
    """
    predicted = {(trial.base, trial.sync): trial.predicted_s for trial in trials}
    known = {key: least for key, least in search.least_s.items() if predicted.get(key, 0.0) > 0 and least < inf}
    of_policy: dict[str, float] = {}
    for (base, sync), least in known.items():
        of_policy[sync] = min(of_policy.get(sync, inf), least / predicted[base, sync])
    of_base: dict[Base, float] = {}
    for (base, sync), least in known.items():
        of_base[base] = min(of_base.get(base, inf), least / predicted[base, sync] / of_policy[sync])

    def corrected_s(trial: Trial) -> float:
        return _rounded(trial.predicted_s * of_policy.get(trial.sync, 1.0) * of_base.get(trial.base, 1.0))

    return sorted(_unknown(search, trials), key=corrected_s)


def _unknown(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    refused = {(trial.base, trial.sync) for trial, _ in search.refused}
    return [t for t in trials if (t.base, t.sync) not in search.least_s and (t.base, t.sync) not in refused]


def is_as_posted(trial: Trial, model: str) -> bool:
    """Whether a model must say of a trial what it says of posting everything: all is in flight at once anyway.

    So it is where bytes share rates and nothing else: no slots, processors or receives take messages one by one.
    """
    schedule = trial.base.schedule
    costs = schedule.machine.costs_for(schedule.method)
    limited = costs.in_flight is not None or trial.in_flight is not None or costs.receives is not None
    worked = costs.has_overheads or costs.setup_s > 0 or costs.eager_B is not None
    whole = schedule.parts is None and schedule.route_offsets is None
    same_costs = not schedule.machine.method_costs
    return model == "flow" and trial.sync == "none" and whole and same_costs and not (limited or worked)


def refined_trials(search: Search, bases: Sequence[Base], orders: Sequence[Base], sync: str | None) -> list[Trial]:
    """With fewer sends in flight: the best so far, posting everything in every order, every schedule under `none`.

    Args:
        search: what was found under every policy.
        bases: all schedules.
        orders: posting everything, in every order.
        sync: a policy that is fixed.
    """
    near = sorted(search.finished, key=lambda trial: trial.time_s)[:REFINED]
    kinds: dict[tuple[Base, str], tuple[int, ...]] = {(trial.base, trial.sync): FLIGHTS for trial in near}
    kinds |= {(base, sync or "none"): FLIGHTS for base in orders}
    if sync in (None, "none"):
        for base in bases:
            if "none" in allowed_policies(base.schedule):
                kinds.setdefault((base, "none"), FEW_FLIGHTS)
    return [
        Trial(base, policy, flight)
        for (base, policy), flights in kinds.items()
        for flight in flights
        if flight < most_in_flight(base.schedule)
    ]


def robust_trials(search: Search, trials: Sequence[Trial]) -> list[Trial]:
    """Where messages block and the best has no barrier after every phase: those with one that are not simulated yet."""
    best = search.best
    if best is None or search.model not in BLOCKING or best.sync == "barrier" or best.base.is_naive:
        return []
    known = {(trial.base, trial.sync) for trial in search.finished}
    return [trial for trial in trials if trial.sync == "barrier" and (trial.base, trial.sync) not in known]


def robust_choice(search: Search) -> Trial:
    """The best, or what is as fast to `EQUAL` and takes its time from phases alone: a barrier after every phase.

    What keeps phases apart by `local` or `ready` alone is fast as long as no rank is late. Where messages block each
    other, one that is late holds up many.

    Raises:
        NoScheduleError: nothing was simulated.
    """
    best = search.best
    if best is None:
        raise NoScheduleError(f"no trial was simulated to its end by {search.model}")
    if search.model not in BLOCKING or best.sync == "barrier" or best.base.is_naive:
        return best
    posted_s = min((trial.time_s for trial in search.finished if trial.posts_everything), default=inf)
    most_s = min(best.time_s * EQUAL, posted_s)
    apart = [trial for trial in search.finished if trial.sync == "barrier" and trial.time_s <= most_s]
    listed = [candidate.method for candidate in CANDIDATES]
    return min(apart, key=lambda t: (_rounded(t.time_s), listed.index(t.base.schedule.method)), default=best)


def _rounded(time_s: float) -> float:
    """Sums in another order are one time."""
    return float(f"{time_s:.9g}")


def most_in_flight(schedule: Schedule) -> int:
    """Sends that a rank can have in flight at once: the machine's number, or all it has."""
    own = schedule.machine.costs_for(schedule.method).in_flight
    most = int(np.bincount(schedule.pattern.source).max(initial=0))
    return most if own is None else min(own, most)
