"""Shortlist: what formulas find best is simulated, and the least simulated time is taken.

Problem: formulas do not see blocking, nor ranks that run ahead; simulating everything `auto` tries takes too long for
large patterns.
Idea: order the trials by formula; simulate the best few, and posting everything, each under every policy that may win
(`conset.choice.simulated`); take the least. How many: as many as carry `MOST` messages together, the best `LEAST`
always; so of small patterns everything that was tried. Where formulas call many equal, as on networks that share
fairly, one of each limits comes first: limits are what keeps messages from blocking each other.
Guarantee: no shortlisted schedule is simulated faster, under any policy that is allowed. Nothing is said of others.
Complexity: at most `max(MOST[model], LEAST · messages)` messages under each of four policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from conset import _core
from conset.choice.simulated import MOST, best_simulated
from conset.choice.trial import FORMULA, Trial, best_of
from conset.errors import InputError, NoScheduleError
from conset.machine.limits import Limits
from conset.prediction import predict
from conset.schedule.schedule import Schedule
from conset.units import format_time

LEAST = 4
"""Trials that are simulated however large the pattern, beside posting everything."""

DEADLOCKS = "it deadlocks"
NO_ROOM = "a node has no room for its receives"


def choose_simulated(
    trials: Sequence[Trial], model: str, *, sync: str | None = None, asked: bool = False, effort: int = 1
) -> Schedule:
    """The schedule with the least simulated time of the shortlist, its `reason` in one sentence.

    Args:
        trials: what was tried, ranked by formula.
        model: what simulates.
        sync: a policy that is fixed; None: the best.
        asked: whether options fix limits.
        effort: multiplies how many are simulated.

    Raises:
        NoScheduleError: none of the shortlist can be simulated; what the last one said.
        KeyboardInterrupt: stopped before any was.
    """
    short = shortlist(trials, MOST[model] * effort)
    simulated: list[Trial] = []
    error: InputError | NoScheduleError | None = None
    refused = ""
    for trial in short:
        if simulated and _core.stop_asked():
            break
        try:
            simulated.append(best_simulated(trial.schedule, model, sync, asked=asked))
        except (InputError, NoScheduleError) as reason:
            error = reason
            if trial.schedule.method == "naive":
                refused = (
                    "it deadlocks" if isinstance(reason, NoScheduleError) else "a node has no room for its receives"
                )
        except KeyboardInterrupt:
            if not simulated:
                raise
            break
    if not simulated:
        raise NoScheduleError(f"none of the {len(short)} best by formula can be simulated by {model}: {error}")
    best = best_of(simulated)
    return replace(best.ranked, reason=reason_of(best, simulated, refused))


def shortlist(trials: Sequence[Trial], messages: int) -> list[Trial]:
    """The best by formula that carry `messages` together, at least `LEAST`; and posting everything."""
    largest = max((trial.schedule.transfers for trial in trials), default=0)
    count = max(LEAST, messages // max(largest, 1))
    ordered = order_by_formula(trials)
    return ordered[:count] + [trial for trial in ordered[count:] if trial.schedule.method == "naive"]


def order_by_formula(trials: Sequence[Trial]) -> list[Trial]:
    """By predicted time; equals one of each limits first, then the next of each, which wait the least with barriers."""
    waits = {trial: predict(trial.schedule, sync="barrier").time_s for trial in trials}
    ordered = sorted(trials, key=lambda trial: (_merit(trial), _rounded(waits[trial]), trial.schedule.phases))
    turn: dict[Trial, int] = {}
    seen: Counter[tuple[Limits, tuple[bool, float]]] = Counter()
    for trial in ordered:
        kind = trial.schedule.limits, _merit(trial)
        turn[trial] = seen[kind]
        seen[kind] += 1
    return sorted(ordered, key=lambda trial: (_merit(trial), turn[trial]))


def _merit(trial: Trial) -> tuple[bool, float]:
    return not trial.fits, _rounded(trial.time_s)


def _rounded(time_s: float) -> float:
    """Sums in another order are one time."""
    return float(f"{time_s:.9g}")


def reason_of(best: Trial, simulated: Sequence[Trial], refused: str = "") -> str:
    """One sentence: what was chosen, by which model, both its times, those of the next best and of posting all.

    Args:
        best: of `simulated`.
        simulated: those that could be.
        refused: why posting everything could not be, if so.
    """
    if not best.schedule.transfers:
        return "nothing is sent"
    parts = [f"{best.words} is fastest of {len(simulated)} simulated by {best.rank_by}, {_both(best)}"]
    others = [trial for trial in simulated if trial.schedule.method != best.schedule.method]
    rival = min(others, key=lambda trial: trial.time_s, default=None)
    if rival is not None:
        parts.append(f"against {_both(rival)} by {rival.words}")
    naive = next((trial for trial in simulated if trial.schedule.method == "naive"), None)
    if naive is None:
        parts.append(f"(posting everything is not among them: {refused})" if refused else "")
    elif naive is not rival and naive is not best:
        parts.append(f"and {_both(naive)} by {naive.words}")
    return " ".join(filter(None, parts))


def _both(trial: Trial) -> str:
    """`12.3 ms (formula 10.1 ms)`."""
    return f"{format_time(trial.time_s)} ({FORMULA} {format_time(predict(trial.schedule).time_s)})"
