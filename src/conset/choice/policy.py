"""The policy alone: a schedule that is made, under the policy with the least time by formula or by a model."""

from __future__ import annotations

from dataclasses import replace

from conset.choice.opinions import verdict_by_formula, verdict_by_model
from conset.choice.policies import allowed_policies
from conset.choice.search import THREADS, Search
from conset.choice.simulated import FORMULA, MAX_MESSAGES, allowed_work, is_affordable, ranking_of
from conset.choice.trial import Base, Trial, best_of, predicted_trials
from conset.choice.verdict import Verdict
from conset.errors import NoScheduleError
from conset.schedule.schedule import Schedule
from conset.stopping import workers


def choose_policy(
    schedule: Schedule, *, user_limits: bool = False, rank_by: str | None = None, effort: int = 1
) -> Schedule:
    """The schedule under its fastest policy, with the verdict on it.

    Args:
        schedule: its own policy does not count.
        user_limits: whether its limits were asked for.
        rank_by: `formula` or a model; None: the machine's model, or the formula where the pattern is too large.
        effort: multiplies what may be simulated.

    Raises:
        InputError: it has no room for its receives under any policy. NoScheduleError: it deadlocks under all.
    """
    return _verdict(schedule, None, rank_by, effort, user_limits=user_limits).to_schedule()


def best_trial(schedule: Schedule, sync: str | None = None, *, rank_by: str | None = None, effort: int = 1) -> Trial:
    """The schedule under its fastest policy, or under `sync`; arguments and errors as `choose_policy`."""
    return _verdict(schedule, sync, rank_by, effort, user_limits=False).chosen


def _verdict(schedule: Schedule, sync: str | None, rank_by: str | None, effort: int, *, user_limits: bool) -> Verdict:
    base, model = Base(schedule), ranking_of(schedule.machine, rank_by)
    trials = predicted_trials(base, allowed_policies(schedule) if sync is None else (sync,))
    if model == FORMULA:
        return verdict_by_formula(trials, best_of(trials), user_limits=user_limits)
    stands_in = f"the formula stands in for {model} above {MAX_MESSAGES[model] * effort:,} messages"
    if not is_affordable(schedule.pattern, model, effort):
        return verdict_by_formula(trials, best_of(trials), user_limits=user_limits, stands_in=stands_in)
    with workers(THREADS) as executor:
        search = Search(model, allowed_work(schedule.pattern, model, effort), executor)
        search.run(sorted((replace(trial, time_s=float("inf")) for trial in trials), key=lambda t: t.predicted_s))
        if search.best is None and search.refused:
            raise search.refused[-1][1]
        if search.best is None:
            raise NoScheduleError(f"{base.workload.name}: no policy to simulate within {search.budget:,} steps")
        return verdict_by_model(search, search.best, [], schedule.machine, user_limits=user_limits)
