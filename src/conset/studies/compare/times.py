"""Times: what a schedule takes by the machine's model, by another or by formula.

And what replaces a model that fails.

A machine names the model that says what it does by a method (`Costs.model`). By it a schedule is
simulated as `conset simulate` does, up to a counted size: `MAX_MESSAGES` of
`conset.compilation.ranking`, and as much counted work as is allowed. Beyond it the formula stands
in, which sees no message block another, and the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import ValueObject
from conset.base.errors import InputError, NoScheduleError, unknown_name
from conset.compilation.options import FORMULA
from conset.compilation.ranking import MAX_MESSAGES, is_affordable, ranking_of
from conset.machine.machine import Machine
from conset.models.formula import Prediction, predict
from conset.models.formula.evaluate import retarget
from conset.models.settings import Settings
from conset.models.table import find_model
from conset.models.workload import Workload
from conset.schedule.schedule import Schedule

WORK = 100_000_000
"""Counted work of a model that one schedule may take where no model was asked for: some seconds."""
COMPUTATION = ("computation_s", "hidden_s", "with_computation_s")
"""What stands beside the time of a machine that is to compute meanwhile."""


@dataclass(frozen=True, eq=False)
class Timing(ValueObject):
    """What a schedule takes.

    Attributes:
        by: the model that says `time_s`, or `formula`.
        time_s: [s].
        phase_s: shape=(phases), float64 [s]: by formula as in `Prediction`; by a model the time
            from the last delivery of the phases before to that of each phase. They add up to
            `time_s`.
        terms: `synchronization`, `setup` and `transfer` [s], which add up to `time_s`. By a model
            the first two are what the formula charges (nothing is under way in a barrier), and
            `transfer` is the rest.
        prediction: what the formula says.
        stands_in: why the formula is in place of a model, if so.
        computation: of a machine that is to compute meanwhile, as in `Prediction`.
    """

    by: str
    time_s: float
    phase_s: NDArray[np.float64]
    terms: dict[str, float]
    prediction: Prediction
    stands_in: str = ""
    computation: dict[str, float] | None = None

    def __post_init__(self) -> None:
        self._freeze()

    @property
    def sync(self) -> str:
        """The policy it is said for."""
        return self.prediction.sync

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the machine's numbers were not made for, a line each."""
        return self.prediction.warnings

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it.

        The keys of a prediction, `by`, `formula_s` and `stands_in`.
        """
        return {
            **self.prediction.to_object(),
            "time_s": self.time_s,
            "by": self.by,
            "phase_s": self.phase_s.tolist(),
            "terms": dict(self.terms),
            "formula_s": self.prediction.time_s,
            "stands_in": self.stands_in or None,
            **(self.computation or {}),
        }


def check_by(by: str | None) -> None:
    """Raises `UsageError` unless `by` is None, `formula` or a network model in seconds."""
    if by is not None and by != FORMULA and by not in MAX_MESSAGES:
        raise unknown_name("by", by, (FORMULA, *MAX_MESSAGES), options=["by"])


def deciding(machine: Machine, by: str | None, messages: int, effort: int = 1) -> tuple[str, str]:
    """(model of patterns of so many messages, why the formula replaces it or "")."""
    model = ranking_of(machine, by)
    most = MAX_MESSAGES.get(model, messages) * effort
    if messages <= most:
        return model, ""
    return FORMULA, f"the formula stands in for {model} above {most:,} messages, given {messages:,}"


def time_schedule(
    schedule: Schedule,
    *,
    sync: str | None = None,
    machine: Machine | None = None,
    by: str | None = None,
) -> Timing:
    """What a schedule takes.

    Args:
        schedule: phases of transfers, with sends in flight and a posting order.
        sync: policy; None: its own.
        machine: another machine.
        by: `formula` or a model, which then simulates whatever that takes; None: the machine's
            model, for which the formula stands in where the schedule is too large or cannot run.

    Raises:
        UsageError: an unknown policy or model.
        InputError: a rank lives on a node that the other machine does not have; by a model that was
            asked for, a node has no room for its receives. NoScheduleError: by such a model it
            deadlocks.
    """
    check_by(by)
    prediction = predict(schedule, sync=sync, machine=machine)
    schedule = schedule if machine is None else retarget(schedule, machine)
    model, is_required = ranking_of(schedule.machine, by, schedule.method), by is not None
    if model == FORMULA:
        return _by_formula(prediction)
    if not is_required and not is_affordable(schedule.pattern, model, 1):
        return _by_formula(prediction, deciding(schedule.machine, by, schedule.pattern.messages)[1])
    try:
        timing = _simulated(schedule, prediction, model, None if is_required else WORK)
    except (InputError, NoScheduleError) as reason:
        if is_required:
            raise
        return _by_formula(
            prediction, f"the formula stands in for {model}, by which it cannot run: {reason}"
        )
    if timing is None:
        stands_in = (
            f"the formula stands in for {model}, which takes more than {WORK:,} steps (--by "
            f"{model}: all of them)"
        )
        return _by_formula(prediction, stands_in)
    return timing


def _by_formula(prediction: Prediction, stands_in: str = "") -> Timing:
    return Timing(
        FORMULA,
        prediction.time_s,
        prediction.phase_s,
        prediction.terms,
        prediction,
        stands_in,
        prediction.computation,
    )


def _simulated(
    schedule: Schedule, prediction: Prediction, model: str, max_work: int | None
) -> Timing | None:
    """By a model; None where that takes more than `max_work`."""
    costs = schedule.machine.costs_for(schedule.method)
    settings = Settings.of(
        costs, in_flight=schedule.in_flight, sync=prediction.sync, max_work=max_work
    )
    timeline = find_model(model).simulate(
        Workload.of_schedule(schedule), schedule.machine, settings
    )
    if not isfinite(timeline.time_s):
        return None
    ends = timeline.phase_end_s if schedule.phases else np.zeros(0)
    computation = {
        key: float(timeline.figures[key]) for key in COMPUTATION if key in timeline.figures
    }
    terms = _terms(timeline.time_s, prediction.terms)
    return Timing(
        model, timeline.time_s, np.diff(ends, prepend=0.0), terms, prediction, "", computation
    )


def _terms(time_s: float, charged: dict[str, float]) -> dict[str, float]:
    synchronization = min(charged["synchronization"], time_s)
    setup = min(charged["setup"], time_s - synchronization)
    return {
        "synchronization": synchronization,
        "setup": setup,
        "transfer": time_s - synchronization - setup,
    }


def model_time(schedule: Schedule, model: str, max_work: int) -> tuple[float | None, str]:
    """(time of a schedule by a model under its policy [s], "") or (None, why it has none).

    Within counted work.
    """
    costs = schedule.machine.costs_for(schedule.method)
    settings = Settings.of(
        costs, in_flight=schedule.in_flight, sync=schedule.sync, max_work=max_work
    )
    return simulate_workload(Workload.of_schedule(schedule), schedule.machine, settings, model)


def simulate_workload(
    workload: Workload, machine: Machine, settings: Settings, model: str
) -> tuple[float | None, str]:
    """As `model_time`, of a workload."""
    try:
        timeline = find_model(model).simulate(workload, machine, settings)
    except (InputError, NoScheduleError) as reason:
        return None, str(reason)
    if not isfinite(timeline.time_s):
        return None, describe_cutoff(settings.max_work or 0)
    return timeline.time_s, ""


def describe_cutoff(max_work: int) -> str:
    """What is said of a simulation that was ended."""
    return f"cut after {max_work:,} steps of simulation; --effort allows more"


def under(schedule: Schedule, sync: str) -> Schedule:
    """The schedule under another policy, about which nothing is known that was simulated before."""
    if sync == schedule.sync:
        return schedule
    other = replace(schedule, sync=sync)
    return other if other.report is None else other.with_report(simulated_s=None, verdict=None)
