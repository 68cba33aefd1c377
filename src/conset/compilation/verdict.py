"""Why a trial was chosen, what every model gives for it, and whether they agree on the fastest.

A model that does not see a message block others finds the naive exchange as good as any schedule;
one that sees it may find a schedule twice as fast. Which of them is right on a machine is a
question for a measurement. So the sentences say which model decided, what it says of the choice, of
the next best and of the naive exchange; then what the other models say of the same choice, and
where they differ on what is fastest, to measure. Where the choice is to post everything the others
are asked what they find faster (`verdict_by_model`). Times within `EQUAL` are equal.

Opinions: what the models that did not decide say of a choice, by simulating little more than the
choice itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from conset import _core
from conset.base import InputError, NoScheduleError, counted, format_time
from conset.compilation.options import FORMULA
from conset.compilation.search import Search, error_of, is_measured
from conset.compilation.trial import (
    EQUAL,
    REL_TOL,
    SLACK,
    Trial,
    allowed_work,
    end_time,
    keeps_in_flight,
    loses,
    settings_of,
)
from conset.machine import Machine
from conset.models import predict
from conset.schedule import Schedule

MEASURE = "decide by measuring (`conset run`, `conset calibrate`)"
MEASURE_LOSSES = "decide by measuring (`conset campaign`)"


@dataclass(frozen=True)
class ModelTimes:
    """What one model says; None where it says nothing.

    Attributes:
        chosen_s: time of the choice [s].
        posted_s: time of the naive exchange [s].
        best_s: time of the best that it knows beside both [s].
        best: what that is.
        refused: why the naive exchange cannot run, if so.
    """

    chosen_s: float | None
    posted_s: float | None = None
    best_s: float | None = None
    best: str = ""
    refused: str = ""

    def to_object(self) -> dict[str, Any]:
        """As in `compile --json`."""
        return {
            "chosen_s": self.chosen_s,
            "posted_s": self.posted_s,
            "best_s": self.best_s,
            "best": self.best or None,
        }


@dataclass(frozen=True)
class Verdict:
    """The reasons of a choice.

    Attributes:
        model: what decided: the model that simulated the choice, or `formula`.
        chosen: the trial.
        model_times: by model, that of `model` too; of its own `best` is the next best by another
            method.
        tried: trials that were simulated, or predicted where the formula decided.
        optimal: whether nothing can be faster by a bound.
        stands_in: why the formula decided in place of the machine's model, if so.
        left_out: trials left out for lack of effort.
        allowed_work: the counted work that was allowed.
        is_fastest: whether no trial takes less; else some do, but equal times.
        others_by: methods that another model simulated, with it: `naive by wormhole`.
        drifts: whether limits that were asked for hold in every phase, but not over what is in
            flight at once.
    """

    model: str
    chosen: Trial
    model_times: Mapping[str, ModelTimes]
    tried: int = 0
    optimal: bool = False
    stands_in: str = ""
    left_out: int = 0
    allowed_work: int = 0
    is_fastest: bool = True
    others_by: str = ""
    drifts: bool = False

    @property
    def agree(self) -> bool:
        """Whether all simulating models agree on the choice.

        Beside the naive exchange and their best.
        """
        return (
            len({_finding(self, name) for name in self.model_times if name != FORMULA} - {""}) <= 1
        )

    @property
    def cut(self) -> tuple[str, ...]:
        """What was not done, a line each."""
        lines = [self.stands_in] if self.stands_in else []
        if self.left_out:
            trials = f"{self.left_out:,} trial{'' if self.left_out == 1 else 's'}"
            lines.append(
                f"{trials} left out after {self.allowed_work:,} steps of simulation; "
                "--effort allows more"
            )
        return tuple(lines)

    @property
    def reason(self) -> str:
        """One sentence: the choice, its time, that of the next best and of the naive exchange."""
        if not self.chosen.base.schedule.transfers:
            return "nothing is sent"
        own = self.model_times[self.model]
        time = format_time(self.chosen.time_s)
        if self.optimal:
            parts = [
                f"{self.chosen.description}: {time} by {self.model}, which no schedule "
                "beats by its bound"
            ]
        else:
            what = "predicted" if self.model == FORMULA else "simulated"
            others = f" ({self.others_by})" if self.others_by else ""
            rank = "fastest" if self.is_fastest else "as fast as any"
            parts = [
                f"{self.chosen.description} is {rank} of {self.tried:,} {what} by "
                f"{self.model}{others}, {time}"
            ]
        if own.best_s is not None and not self.optimal:
            parts.append(f"against {format_time(own.best_s)} by {own.best}")
        elif self.model != FORMULA and not self.optimal and self.tried > 1:
            parts.append(f"with no other method within {SLACK - 1:.0%}")
        if own.refused:
            parts.append(f"(the naive exchange is not among them: {own.refused})")
        elif own.posted_s is not None and not self.chosen.posts_everything:
            parts.append(f"and {format_time(own.posted_s)} by the naive exchange")
        return " ".join(parts)

    @property
    def text(self) -> str:
        """What the models say beside each other; "" where they have nothing to compare."""
        said = [
            text
            for name, times in self.model_times.items()
            if (text := _describe(self, name, times))
        ]
        said += [self.no_gain] if self.no_gain else []
        if self.losses:
            return "; ".join([*said, f"{self.losses}: {MEASURE_LOSSES}"])
        if not said:
            return ""
        return "; ".join(said) if self.agree else f"{'; '.join(said)}: {MEASURE}"

    @property
    def no_gain(self) -> str:
        """On a machine whose numbers were measured, that no order pays, where that is so.

        Else "".
        """
        if (
            not (self.chosen.posts_everything and is_measured(self.chosen))
            or self.optimal
            or self.model == FORMULA
        ):
            return ""
        error = f"{error_of(self.model) - 1:.0%}"
        return (
            f"no order pays here: none is faster by more than the {error} to which "
            f"{self.model} is right"
        )

    @property
    def losses(self) -> str:
        """That links lose messages, which no model shows, where that is so; else ""."""
        schedule = self.chosen.base.schedule
        if not loses(schedule.machine, schedule.method):
            return ""
        most = schedule.machine.costs_for(schedule.method).tolerance
        return (
            f"links lose messages beyond {most}, which no model covers: the formula's estimate "
            "of it is used instead"
        )

    @property
    def drift(self) -> str:
        """That limits do not hold over what is in flight, or ""."""
        if not self.drifts:
            return ""
        return (
            f"under {self.chosen.sync} ranks may be in different phases at once: "
            f"{self.chosen.base.schedule.limits} "
            "holds in every phase, not over all that is in flight (--sync barrier keeps "
            "it there too)"
        )

    @property
    def routes(self) -> str:
        """That order on links cannot be scheduled here, in one sentence, or ""."""
        return self.chosen.base.schedule.machine.routes_unknown

    def to_object(self) -> dict[str, Any]:
        """As in `compile --json`."""
        return {
            "model": self.model,
            "chosen": self.chosen.description,
            "times": {name: times.to_object() for name, times in self.model_times.items()},
            "tried": self.tried,
            "agree": self.agree,
            "text": self.text or None,
            "drift": self.drift or None,
            "cut": list(self.cut),
            **({"routes": self.routes} if self.routes else {}),
        }

    def to_schedule(self) -> Schedule:
        """The chosen schedule with the reasons of its choice."""
        return self.chosen.to_schedule(reason=self.reason, verdict=self.to_object())


def _finding(verdict: Verdict, model: str) -> str:
    """What a model finds of the choice beside the naive exchange.

    Where it is that, whether its best is faster.
    """
    times = verdict.model_times[model]
    if times.chosen_s is None:
        return ""
    if verdict.chosen.posts_everything:
        if model == verdict.model:
            return "chosen"
        if times.best_s is None:
            return ""
        return "best" if times.best_s * EQUAL < times.chosen_s else "chosen"
    if times.posted_s is None:
        return "faster" if times.refused else ""
    return _compare(times.chosen_s, times.posted_s)[0]


def _describe(verdict: Verdict, model: str, times: ModelTimes) -> str:
    """`by wormhole 1.6 times faster than the naive exchange`, `by flow equal`."""
    if times.chosen_s is None:
        return f"by {model} it cannot run" if times.refused else ""
    if verdict.chosen.posts_everything:
        if model == verdict.model and verdict.tried > 1:
            return f"by {model} no candidate is faster"
        if times.best_s is None:
            return ""
        word, ratio = _compare(times.best_s, times.chosen_s)
        if word == "faster":
            return f"by {model} {times.best} {_times(ratio)} faster"
        return f"by {model} no candidate is faster"
    than = " than the naive exchange" if model == verdict.model else ""
    if times.posted_s is None:
        return f"by {model} the naive exchange cannot run: {times.refused}" if times.refused else ""
    word, ratio = _compare(times.chosen_s, times.posted_s)
    if word == "equal":
        return f"by {model} equal{' to the naive exchange' if than else ''}"
    return f"by {model} {_times(ratio)} {word}{than}"


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio >= 1.1 else f"{ratio:.2f} times"


def _compare(one: float, other: float) -> tuple[str, float]:
    """(`faster`, `equal` or `slower`, the ratio, at least 1) of `one` beside `other`."""
    low, high = min(one, other), max(one, other)
    if high <= low * EQUAL:
        return "equal", 1.0
    return ("faster" if one < other else "slower"), high / low if low > 0 else float("inf")


SHARE = 8
"""Another model may spend one part in so many of what it may where it decides."""
DEADLOCKS = "it deadlocks"
NO_ROOM = "a node cannot post its receives"
UNKNOWN = "it takes more steps than allowed"


def verdict_by_formula(
    trials: Sequence[Trial],
    best: Trial,
    *,
    user_limits: bool,
    stands_in: str = "",
    optimal: bool = False,
) -> Verdict:
    """The verdict on the least predicted time."""
    posted = next((trial for trial in trials if trial.posts_everything), None)
    refused = NO_ROOM if posted is not None and not posted.fits else ""
    said = _own_times(best, posted if not refused else None, [t for t in trials if t.fits], refused)
    return Verdict(
        FORMULA,
        best,
        {FORMULA: said},
        len(trials),
        optimal,
        stands_in,
        drifts=user_limits and _drifts(best),
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
    refused = next(
        (_describe_refusal(reason) for trial, reason in search.refused if trial.posts_everything),
        "",
    )
    own = search.model_of(best)
    model_times = {own: _own_times(best, posted, search.finished, refused)}
    posting = posted or next((trial for trial in trials if trial.posts_everything), None)
    with suppress(KeyboardInterrupt):  # a choice that was stopped has a verdict of fewer models
        for model in counted(() if _core.stop_asked() else other_models(machine, own)):
            model_times[model] = _times_by(model, best, posting, trials, search)
    model_times[FORMULA] = ModelTimes(
        _predicted(best), None if posting is None else _predicted(posting)
    )
    by = {trial.base.schedule.method: search.model_of(trial) for trial in search.finished}
    return Verdict(
        own,
        best,
        model_times,
        search.simulated,
        best.time_s <= search.floor_s,
        left_out=len(search.skipped),
        allowed_work=search.budget,
        is_fastest=best.time_s <= search.best_s * REL_TOL,
        others_by=", ".join(f"{method} by {model}" for method, model in by.items() if model != own),
        drifts=user_limits and _drifts(best),
    )


def other_models(machine: Machine, model: str) -> tuple[str, ...]:
    """The models that are asked beside the one that decides.

    Fair sharing, and what shows blocking on this machine.
    """
    if machine.routing.knowledge == "adaptive":
        return tuple(
            name for name in ("flow",) if name != model
        )  # the others hold channels of one route
    blocking = "circuit" if "circuit" in machine.models else "wormhole"
    return tuple(name for name in ("flow", blocking) if name != model)


def _own_times(
    best: Trial, posted: Trial | None, known: Sequence[Trial], refused: str
) -> ModelTimes:
    """Of the deciding model: its best by another method is the next best."""
    others = [trial for trial in known if trial.base.schedule.method != best.base.schedule.method]
    following = min(
        (t for t in others if not t.posts_everything), key=lambda trial: trial.time_s, default=None
    )
    return ModelTimes(
        best.time_s,
        None if posted is None else posted.time_s,
        None if following is None else following.time_s,
        "" if following is None else following.description,
        refused,
    )


def _times_by(
    model: str, chosen: Trial, posted: Trial | None, trials: Sequence[Trial], search: Search
) -> ModelTimes:
    """Of another model: of the choice and of the naive exchange.

    Where these are one, of what it finds faster.
    """
    allowed = allowed_work(chosen.base.schedule.pattern, model, 1) // SHARE
    chosen_s, refused = _time(model, chosen, allowed)
    if not chosen.posts_everything:
        posted_s, refused = (None, "") if posted is None else _time(model, posted, allowed)
        return ModelTimes(chosen_s, posted_s, refused=refused)
    if chosen_s is None:
        return ModelTimes(None, None, refused=refused)
    known = replace(chosen, time_s=chosen_s, rank_by=model)
    look = Search(model, allowed, search.executor, floor_s=search.floor_s, finished=[known])
    look.run(replace(trial, time_s=inf) for trial in trials if not trial.posts_everything)
    best = look.best
    if best is None or (look.simulated == 0 and chosen_s > look.floor_s * REL_TOL):
        return ModelTimes(chosen_s, chosen_s)
    return ModelTimes(chosen_s, chosen_s, best.time_s, best.description)


def _time(model: str, trial: Trial, max_work: int) -> tuple[float | None, str]:
    """(what a model says of a trial [s], "") or (None, why it does not)."""
    schedule = trial.base.schedule
    settings = settings_of(schedule, trial.sync, trial.in_flight, max_work=max_work)
    try:
        time_s = end_time(trial.base.workload, schedule.machine, settings, model).time_s
    except (InputError, NoScheduleError) as reason:
        return None, _describe_refusal(reason)
    return (time_s, "") if isfinite(time_s) else (None, UNKNOWN)


def _describe_refusal(reason: InputError | NoScheduleError) -> str:
    return DEADLOCKS if isinstance(reason, NoScheduleError) else NO_ROOM


def _predicted(trial: Trial) -> float:
    return trial.predicted_s or predict(trial.base.schedule, sync=trial.sync).time_s


def _drifts(trial: Trial) -> bool:
    return not keeps_in_flight(trial.base.schedule, trial.sync)
