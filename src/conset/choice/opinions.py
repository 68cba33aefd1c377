"""Opinions: what the models that did not decide say of a choice, by simulating little more than the choice itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf, isfinite

from conset import _core
from conset.choice.policies import keeps_in_flight
from conset.choice.search import Search
from conset.choice.simulated import FORMULA, allowed_work, end_time, settings_of
from conset.choice.trial import REL_TOL, Trial
from conset.choice.verdict import Opinion, Verdict
from conset.errors import InputError, NoScheduleError
from conset.machine.machine import Machine
from conset.prediction import predict

SHARE = 8
"""Another model may spend one part in so many of what it may where it decides."""
DEADLOCKS = "it deadlocks"
NO_ROOM = "a node has no room for its receives"
UNKNOWN = "it takes more steps than allowed"


def verdict_by_formula(
    trials: Sequence[Trial], best: Trial, *, user_limits: bool, stands_in: str = "", optimal: bool = False
) -> Verdict:
    """The verdict on the least predicted time."""
    posted = next((trial for trial in trials if trial.posts_everything), None)
    refused = NO_ROOM if posted is not None and not posted.fits else ""
    said = _own_opinion(best, posted if not refused else None, [t for t in trials if t.fits], refused)
    return Verdict(
        FORMULA, best, {FORMULA: said}, len(trials), optimal, stands_in, drifts=user_limits and _drifts(best)
    )


def verdict_by_model(
    search: Search, best: Trial, trials: Sequence[Trial], machine: Machine, *, user_limits: bool
) -> Verdict:
    """The verdict on the least simulated time.

    Args:
        search: what was simulated.
        best: of it.
        trials: what was to be simulated, the most promising first.
        machine: whose other models are asked.
        user_limits: whether options fix limits.
    """
    posted = next((trial for trial in search.finished if trial.posts_everything), None)
    refused = next((_words(reason) for trial, reason in search.refused if trial.posts_everything), "")
    opinions = {search.model: _own_opinion(best, posted, search.finished, refused)}
    asked = posted or next((trial for trial in trials if trial.posts_everything), None)
    with suppress(KeyboardInterrupt):  # a choice that was stopped has a verdict of fewer models
        for model in () if _core.stop_asked() else other_models(machine, search.model):
            opinions[model] = _opinion(model, best, asked, trials, search)
    opinions[FORMULA] = Opinion(_predicted(best), None if asked is None else _predicted(asked))
    return Verdict(
        search.model, best, opinions, search.simulated, best.time_s <= search.floor_s, left_out=len(search.skipped),
        allowed_work=search.budget,
        is_fastest=best.time_s <= search.best_s * REL_TOL, drifts=user_limits and _drifts(best),
    )  # fmt: skip


def other_models(machine: Machine, model: str) -> tuple[str, ...]:
    """The models that are asked beside the one that decides: fair sharing, and what shows blocking on this machine."""
    blocking = "circuit" if machine.costs.model == "circuit" else "wormhole"
    return tuple(name for name in ("flow", blocking) if name != model)


def _own_opinion(best: Trial, posted: Trial | None, known: Sequence[Trial], refused: str) -> Opinion:
    """Of the deciding model: its best by another method is the next best."""
    others = [trial for trial in known if trial.base.schedule.method != best.base.schedule.method]
    following = min((t for t in others if not t.posts_everything), key=lambda trial: trial.time_s, default=None)
    return Opinion(
        best.time_s,
        None if posted is None else posted.time_s,
        None if following is None else following.time_s,
        "" if following is None else following.description,
        refused,
    )


def _opinion(model: str, chosen: Trial, posted: Trial | None, trials: Sequence[Trial], search: Search) -> Opinion:
    """Of another model: of the choice and of posting everything; where these are one, of what it finds faster."""
    allowed = allowed_work(chosen.base.schedule.pattern, model, 1) // SHARE
    chosen_s, refused = _time(model, chosen, allowed)
    if not chosen.posts_everything:
        posted_s, refused = (None, "") if posted is None else _time(model, posted, allowed)
        return Opinion(chosen_s, posted_s, refused=refused)
    if chosen_s is None:
        return Opinion(None, None, refused=refused)
    look = Search(model, allowed, search.executor, finished=[replace(chosen, time_s=chosen_s, rank_by=model)])
    look.run(replace(trial, time_s=inf) for trial in trials if not trial.posts_everything)
    best = look.best
    if best is None or look.simulated == 0:
        return Opinion(chosen_s, chosen_s)
    return Opinion(chosen_s, chosen_s, best.time_s, best.description)


def _time(model: str, trial: Trial, max_work: int) -> tuple[float | None, str]:
    """(what a model says of a trial [s], "") or (None, why it does not)."""
    schedule = trial.base.schedule
    settings = settings_of(schedule, trial.sync, trial.in_flight, max_work=max_work)
    try:
        time_s = end_time(trial.base.workload, schedule.machine, settings, model).time_s
    except (InputError, NoScheduleError) as reason:
        return None, _words(reason)
    return (time_s, "") if isfinite(time_s) else (None, UNKNOWN)


def _words(reason: InputError | NoScheduleError) -> str:
    return DEADLOCKS if isinstance(reason, NoScheduleError) else NO_ROOM


def _predicted(trial: Trial) -> float:
    return trial.predicted_s or predict(trial.base.schedule, sync=trial.sync).time_s


def _drifts(trial: Trial) -> bool:
    return not keeps_in_flight(trial.base.schedule, trial.sync)
