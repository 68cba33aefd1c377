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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conset import _core
from conset.base import format_time
from conset.compilation.options import FORMULA
from conset.compilation.trial import (
    DRAWS,
    EQUAL,
    ERROR,
    MAX_MESSAGES,
    MODEL_ERRORS,
    SLACK,
    Trial,
    fastest_in,
    finalists,
    keeps_in_flight,
    loses,
)
from conset.pattern import Pattern
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
            method, or by another policy.
        tried: trials that were simulated, or predicted where the formula decided.
        optimal: whether nothing can be faster by a bound.
        stands_in: why the formula decided in place of the machine's model, if so.
        left_out: trials left out for lack of effort.
        allowed_work: the counted work that was allowed.
        is_fastest: whether no trial takes less; else some do, but equal times.
        others_by: methods that another model simulated, with it: `naive by wormhole`.
        drifts: whether limits that were asked for hold in every phase, but not over what is in
            flight at once.
        finalists: trials that are compared again where costs may be wrong, the choice first.
        compared: whether they are.
        staged: where stages were compared with direct messages: trials of the other kind.
        rival: what the next best differs in: `method`, or `policy` where one schedule is known.
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
    finalists: tuple[Trial, ...] = ()
    compared: bool = False
    staged: tuple[Trial, ...] = ()
    rival: str = "method"

    @cached_property
    def draws(self) -> tuple[int, str]:
        """As `fastest_in`."""
        return fastest_in((*self.finalists, *self.staged)) if self.compared else (0, "")

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
            parts.append(f"with no other {self.rival} within {SLACK - 1:.0%}")
        if own.refused:
            parts.append(f"(the naive exchange is not among them: {own.refused})")
        elif own.posted_s is not None and not self.chosen.posts_everything:
            parts.append(f"and {format_time(own.posted_s)} by the naive exchange")
        if self.draws[1]:
            parts[-1] += f"; fastest in {self.draws[0]} of {DRAWS} draws of {self.draws[1]}" + (
                ", of direct messages and stages" if self.staged else ""
            )
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
        schedule = self.chosen.base.schedule
        posts = schedule.method == "naive" and self.chosen.sync == "none"
        measured = schedule.machine.costs_for("naive").is_measured
        if not (posts and measured) or self.optimal or self.model == FORMULA:
            return ""
        error = f"{MODEL_ERRORS.get(self.model, ERROR) - 1:.0%}"
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
            **({"draws": {"fastest": self.draws[0], "of": DRAWS}} if self.draws[1] else {}),
        }

    def to_schedule(self, made: Schedule | None = None) -> Schedule:
        """The chosen schedule, where it is not made already, with the reasons of its choice."""
        return (self.chosen.to_schedule() if made is None else made).with_report(
            reason=self.reason, verdict=self.to_object(), choice=self
        )


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


DEADLOCKS = "it deadlocks"
NO_ROOM = "a node cannot post its receives"
UNKNOWN = "it takes more steps than allowed"
_REFUSALS = {"": "", "deadlock": DEADLOCKS, "room": NO_ROOM, "steps": UNKNOWN}


def verdict_of(
    choice: _core.Decision,
    trial_of: Callable[[_core.Trial], Trial],
    model: str,
    effort: int,
    pattern: Pattern,
    *,
    user_limits: bool,
    compared: bool,
    rival: str,
) -> Verdict:
    """The verdict on a choice of the core.

    Args:
        choice: of a trial, with what models say.
        trial_of: one of its trials, as Python has it.
        model: what was to rank.
        effort: how much may be simulated.
        pattern: what is sent.
        user_limits: whether options fix limits.
        compared: whether the choice is compared again where costs may be other ones.
        rival: as in the verdict.
    """
    instead = {
        "": "",
        "many": f" above {MAX_MESSAGES.get(model, 0) * effort:,} messages",
        "too long": ", by which the naive exchange takes too many steps to simulate",
        "no end": ": no simulation ended",
    }[choice.instead]
    best, own = trial_of(choice.chosen), choice.models[0].model
    times = {
        each.model: ModelTimes(
            each.chosen_s,
            each.posted_s,
            each.best_s,
            "" if each.best_s is None else trial_of(each.best).description,
            _REFUSALS[each.refused],
        )
        for each in choice.models
    }
    by = {trial_of(each).base.schedule.method: each.model for each in choice.known}
    return Verdict(
        own,
        best,
        times,
        choice.tried,
        choice.optimal,
        f"the formula is used instead of {model}{instead}" if instead else "",
        choice.left_out,
        choice.allowed,
        choice.is_fastest,
        ", ".join(f"{method} by {by_}" for method, by_ in by.items() if by_ != own),
        user_limits and not keeps_in_flight(best.base.schedule, best.sync),
        finalists(best, map(trial_of, (*choice.known, *choice.estimated))),
        compared,
        rival=rival,
    )
