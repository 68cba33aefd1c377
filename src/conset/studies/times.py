"""Times of schedules.

Predicted by formula, or simulated by a model within a counted amount of work.

A machine names the model that each method follows on it (`Costs.model`). By it a schedule is
simulated as `conset simulate` does, up to a counted size: `MAX_MESSAGES` of
`conset.compilation.trial`, and as much counted work as is allowed. Beyond it the formula is
in, which does not model blocking between messages; the result says so.

A model that does not apply, or would have more to do than `LARGEST` allows, is left out with its
reason. Errors are relative to the measured time where there is one, else to the most detailed model
that has a time: `flit` where its routers are all that the machine charges a message, else
`connections`, or `wormhole` or `circuit`, which pay overheads too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np

from conset.base import (
    Floats,
    InputError,
    NoScheduleError,
    UsageError,
    ValueObject,
    unknown_name,
)
from conset.bounds import Bounds, StageBounds, bound_stages
from conset.compilation import (
    FEW,
    FORMULA,
    MAX_MESSAGES,
    THREADS,
    CompileOptions,
    allowed_work,
    applied,
    compile_by,
    is_affordable,
    least_bounds,
    loss_of,
    ranking_of,
    settings_of,
)
from conset.machine import USUAL_OVERHEAD, Machine, with_settings
from conset.models import Prediction, Timeline, Workload, find_model, flits_of, predict, retarget
from conset.schedule import Paths, Schedule

WORK = 100_000_000
"""Counted work that one schedule may take where no model was asked for: some seconds."""
COMPUTATION = ("computation_s", "hidden_s", "with_computation_s")
"""Further times of a machine that is to compute during the exchange."""
LARGEST: Mapping[str, int] = MappingProxyType(
    {"flow": 1 << 17, "wormhole": 1 << 20, "circuit": 1 << 20, "packet": 1 << 17}
)
"""Maximum number of messages that a model simulates here; `conset simulate` has no limit."""
LARGEST_BASELINE = 1 << 21
"""Maximum number of messages of a baseline: its time takes some ten seconds."""
LARGEST_FLITS = 1 << 24
"""Maximum number of flits that `flit` and `connections` simulate here.

Messages do not determine their work.
"""
ROUTER_CYCLES = 5
"""Cycles that `flit` takes for a message beside its hops and flits."""
CYCLES_ONLY = "cycles of routers and links alone, without the machine's overheads of a message"
MEASURED = "measured"
PREDICTED = "predicted"

Row = Mapping[str, Any]
"""Keys of `compile --json`, with `simulated` {model.

{time_s, …}} and `measured` {median_s, …} or None.
"""


@dataclass(frozen=True, eq=False)
class Timing(ValueObject):
    """Time of a schedule.

    Attributes:
        by: the model that gives `time_s`, or `formula`.
        time_s: [s].
        phase_s: shape=(phases), float64 [s]: by formula as in `Prediction`; by a model the time
            from the last delivery of the phases before to that of each phase. They add up to
            `time_s`.
        terms: `synchronization`, `setup` and `transfer` [s], which add up to `time_s`. By a model
            the first two are what the formula charges (nothing is under way in a barrier), and
            `transfer` is the rest.
        prediction: by formula.
        stands_in: why the formula is in place of a model, if so.
        computation: of a machine that is to compute meanwhile, as in `Prediction`.
    """

    by: str
    time_s: float
    phase_s: Floats
    terms: dict[str, float]
    prediction: Prediction
    stands_in: str = ""
    computation: dict[str, float] | None = None

    def __post_init__(self) -> None:
        self._freeze()

    @property
    def sync(self) -> str:
        """Policy that the time holds for."""
        return self.prediction.sync

    @property
    def warnings(self) -> tuple[str, ...]:
        """Uses that the machine's numbers were not made for, a line each."""
        return self.prediction.warnings

    def to_object(self) -> dict[str, Any]:
        """Return the keys of `predict --json`.

        Those of a prediction, `by`, `formula_s` and `stands_in`.
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


@dataclass(frozen=True)
class Simulated:
    """Figures of one simulation.

    Attributes:
        time_s: end of the last message [s].
        mean_latency_s: delivery minus release, over messages [s].
        sync: the policy.
        in_flight: sends a rank keeps open, or `all`.
        elapsed_s: how long the simulation took [s].
        note: what the model leaves out, if anything.
    """

    time_s: float
    mean_latency_s: float
    sync: str
    in_flight: int | str
    elapsed_s: float
    note: str | None


def check_by(by: str | None) -> None:
    """Raise `UsageError` where `by` is neither None nor `formula` nor a model of the network in
    seconds.
    """  # noqa: D205
    if by is not None and by != FORMULA and by not in MAX_MESSAGES:
        raise unknown_name("by", by, (FORMULA, *MAX_MESSAGES), options=["by"])


def deciding(machine: Machine, by: str | None, messages: int, effort: int = 1) -> tuple[str, str]:
    """Return (what gives the times of patterns of so many messages, why the formula is in
    for it or "").
    """  # noqa: D205
    model = ranking_of(machine, by)
    most = MAX_MESSAGES.get(model, messages) * effort
    if messages <= most:
        return model, ""
    return (
        FORMULA,
        f"the formula is used instead of {model} above {most:,} messages, given {messages:,}",
    )


def time_schedule(
    schedule: Schedule,
    *,
    sync: str | None = None,
    machine: Machine | None = None,
    by: str | None = None,
) -> Timing:
    """Return the time of a schedule.

    Args:
        schedule: phases of transfers, with sends in flight and a posting order.
        sync: policy; None: its own.
        machine: another machine.
        by: `formula` or a model, which then simulates whatever that takes; None: the machine's
            model, instead of which the formula is used where the schedule is too large or cannot
            run.

    Raises:
        UsageError: an unknown policy or model.
        InputError: a rank lives on a node that the other machine does not have; by a model that was
            asked for, a node has no room for its receives. NoScheduleError: by such a model it
            deadlocks.
    """
    check_by(by)
    prediction = predict(schedule, sync=sync, machine=machine)
    schedule = schedule if machine is None else retarget(schedule, machine)
    model, stands_in = ranking_of(schedule.machine, by, schedule.method), ""
    timeline = None
    if by is None and not is_affordable(schedule.pattern, model, 1):
        stands_in = deciding(schedule.machine, by, schedule.pattern.messages)[1]
    elif model != FORMULA:
        most = WORK if by is None else None
        settings = settings_of(schedule, prediction.sync, schedule.in_flight, max_work=most)
        try:
            timeline = find_model(model).simulate(
                Workload.of_schedule(schedule), schedule.machine, settings
            )
        except (InputError, NoScheduleError) as reason:
            if by is not None:
                raise
            stands_in = f"the formula is used instead of {model}, by which it cannot run: {reason}"
    if timeline is not None and not isfinite(timeline.time_s):
        timeline = None
        stands_in = (
            f"the formula is used instead of {model}, which takes more than {WORK:,} steps (--by "
            f"{model}: all of them)"
        )
    if timeline is None:
        return Timing(
            FORMULA,
            prediction.time_s,
            prediction.phase_s,
            prediction.terms,
            prediction,
            stands_in,
            prediction.computation,
        )
    time_s, charged = timeline.time_s, prediction.terms
    synchronization = min(charged["synchronization"], time_s)
    setup = min(charged["setup"], time_s - synchronization)
    terms = {
        "synchronization": synchronization,
        "setup": setup,
        "transfer": time_s - synchronization - setup,
    }
    ends = timeline.phase_end_s if schedule.phases else np.zeros(0)
    computation = {
        key: float(timeline.figures[key]) for key in COMPUTATION if key in timeline.figures
    }
    return Timing(model, time_s, np.diff(ends, prepend=0.0), terms, prediction, "", computation)


BASELINES: Mapping[str, tuple[CompileOptions, str]] = MappingProxyType(
    {
        "rotated_s": (CompileOptions(method="naive", posting="rotated"), "none"),
        "rank_order_s": (CompileOptions(method="naive", posting="ascending"), "none"),
        "pairwise_s": (CompileOptions(method="gen"), "local"),
    }
)
"""Exchanges that codes and MPI libraries do without a schedule, each with its policy.

Everything posted at once, in the order rank + step (of careful codes, and of MPICH's
`MPI_Alltoallv`) and by rising target; step by step, as Open MPI's pairwise exchange.
"""
OTHERS = ("flow", "packet", "wormhole")
"""Models that are asked beside the machine's own: fair sharing, bounded buffers, paths held."""
OTHER_SHARE = 8
"""Another model may take one part in so many of the work of the machine's own."""


def with_modelled(schedule: Schedule, paths: Paths | None = None) -> Schedule:
    """Return the schedule with its time by the machine's model, beside its baselines and the bound.

    `others` has the times of the schedule and of the first baseline [s] by each other model, where
    nothing vouches for the machine's own, and with an overhead, where it has none. A
    baseline has the schedule's placement; one that does not apply, or takes a model more than its
    work, is None. Where the formula is used instead of a model, it is for all. With `paths` the
    schedule is a program that forwards the messages of their pattern, which baselines send.
    """
    pattern = schedule.pattern if paths is None else paths.pattern
    machine, report = schedule.machine, schedule.report
    own, asked = machine.costs_for(schedule.method).model, report.rank_by if report else ""
    by = asked if asked in MAX_MESSAGES and asked != own else None
    timing = time_schedule(schedule, by=by)
    simulated_s = report.simulated_s if report is not None and asked == timing.by else None
    own_s = _with_loss(timing, schedule)
    time_s = own_s if simulated_s is None else simulated_s
    table: dict[str, Any] = {"model": timing.by, "schedule_s": time_s}

    def baseline(name: str) -> tuple[Schedule | None, float | None]:
        options, sync = BASELINES[name]
        method, made = options.chosen_method, None
        with suppress(InputError, NoScheduleError):
            made = compile_by(method, pattern, machine, options, schedule.placement)
            made = replace(made, sync="none" if machine.is_circuit else sync)
            if replace(made, posting=schedule.posting) == schedule:
                return schedule, own_s
            decides = ranking_of(machine, by, method)
            if by is None and timing.by != FORMULA and not is_affordable(pattern, decides, 1):
                return made, None  # only the formula has a time for it
            found = time_schedule(made, by=by)
            if (found.by == FORMULA) == (timing.by == FORMULA):
                return made, _with_loss(found, made)
        return made, None

    names = BASELINES if pattern.messages <= LARGEST_BASELINE else ()
    threads = THREADS if pattern.messages > FEW else 1
    with applied(threads) as apply:
        made = dict(zip(names, apply(baseline, [*names]), strict=True))
    table |= {name: made[name][1] if name in made else None for name in BASELINES}
    least: Bounds | StageBounds = (
        least_bounds(pattern, machine, schedule)
        if paths is None
        else bound_stages(pattern, machine, placement=schedule.placement, split=True)
    )
    table |= {"bound_s": least.time_s, "bound_witness": least.time_witness}
    table["why"] = report.reason or None if report is not None else None
    asks = timing.by != FORMULA and not machine.states("model")
    rotated = made["rotated_s"][0] if made else None
    both = [] if rotated is None else [schedule, rotated]
    apart = both[:1] if rotated is schedule else both  # each is asked once
    models = [model for model in OTHERS if model != timing.by] if both and asks else []
    models = [model for model in models if pattern.messages <= LARGEST[model]]
    table["others"] = {}
    with applied(threads) as apply:
        for model in models:
            most = allowed_work(schedule.pattern, model, 1) // OTHER_SHARE
            timed = apply(partial(time_by, by=model, max_work=most), apart)
            if None not in (times := [time_s for time_s, _ in timed]):
                table["others"][model] = times * (len(both) // len(apart))
        if both and not (machine.states("overhead") or machine.states("send_overhead")):
            with_usual = with_settings(machine, USUAL_OVERHEAD)
            found = apply(partial(time_schedule, machine=with_usual, by=by), apart)
            times = [each.time_s for each in found]
            table["others"][USUAL_OVERHEAD] = times * (len(both) // len(apart))
    return replace(schedule, modelled=table)


def _with_loss(timing: Timing, schedule: Schedule) -> float:
    """Time with what links lose beyond their tolerance, which `flow` does not show [s]."""
    return timing.time_s * (loss_of(schedule, schedule.sync) if timing.by == "flow" else 1.0)


def simulate(
    schedule: Schedule, model: str, max_work: int | None, workload: Workload | None = None
) -> tuple[Timeline | None, str]:
    """Return (the timeline of a schedule under its own policy, "") or (None, the reason why
    there is none).

    Args:
        schedule: with its sends in flight, else those of its machine.
        model: what simulates it.
        max_work: counted work after which the simulation ends without a time.
        workload: of the schedule, where the caller has it already.
    """  # noqa: D205
    settings = settings_of(schedule, schedule.sync, schedule.in_flight, max_work=max_work)
    played = Workload.of_schedule(schedule) if workload is None else workload
    try:
        timeline = find_model(model).simulate(played, schedule.machine, settings)
    except (InputError, NoScheduleError, UsageError) as reason:
        return None, str(reason)
    if not isfinite(timeline.time_s):
        return None, f"cut after {max_work or 0:,} steps of simulation; --effort allows more"
    return timeline, ""


def time_by(
    schedule: Schedule, by: str, max_work: int, workload: Workload | None = None
) -> tuple[float | None, str]:
    """Return (the time by a model or by `formula` [s], "") or (None, the reason why there is
    none).
    """  # noqa: D205
    if by == FORMULA:
        return predict(schedule).time_s, ""
    timeline, reason = simulate(schedule, by, max_work, workload)
    return None if timeline is None else timeline.time_s, reason


def simulate_by(
    schedule: Schedule, models: Sequence[str], *, effort: int = 1
) -> tuple[dict[str, Simulated], dict[str, str]]:
    """Return (figures by each model under the schedule's policy, the reasons of models that have
    none).

    Each simulation takes at most the counted work that `allowed_work` allows, times `effort`.
    """  # noqa: D205
    workload = Workload.of_schedule(schedule)
    simulated: dict[str, Simulated] = {}
    refused: dict[str, str] = {}
    for model in models:
        refused[model] = too_large(workload, schedule.machine, model)
        if refused[model]:
            continue
        most = allowed_work(schedule.pattern, model, effort) if model in MAX_MESSAGES else None
        timeline, refused[model] = simulate(schedule, model, most, workload)
        if timeline is not None:
            del refused[model]
            figures = timeline.to_object()
            note = (
                CYCLES_ONLY if model == "flit" and not routers_are_all(schedule.machine) else None
            )
            keys = ("time_s", "mean_latency_s", "sync", "in_flight", "elapsed_s")
            simulated[model] = Simulated(**{key: figures[key] for key in keys}, note=note)
    return simulated, refused


def too_large(workload: Workload, machine: Machine, model: str) -> str:
    """Return why a model would have too much to do, with both numbers; "" where it would not."""
    if model in ("flit", "connections"):
        flits = int(
            flits_of(workload.bytes, machine.costs_for(workload.method).flit_B).sum(dtype=np.int64)
        )
        return (
            ""
            if flits <= LARGEST_FLITS
            else f"{flits:,} flits, at most {LARGEST_FLITS:,} are simulated here"
        )
    if workload.messages <= LARGEST[model]:
        return ""
    return f"{workload.messages:,} messages, at most {LARGEST[model]:,} are simulated here"


def default_models(machine: Machine) -> tuple[str, ...]:
    """Return fair sharing, and the model that shows blocking on this machine."""
    return ("flow", next((model for model in machine.models if model != "flow"), "wormhole"))


def parse_models(text: str | None, machine: Machine) -> tuple[str, ...]:
    """Return the models of `--models A,B`, each known; without a text the default ones.

    Raises:
        UsageError: an unknown model, or none.
    """
    if text is None:
        return default_models(machine)
    names = tuple(
        dict.fromkeys(find_model(word.strip()).name for word in text.split(",") if word.strip())
    )
    if not names:
        raise UsageError("models: at least one model required", options=["models"])
    return names


def reference_of(rows: Sequence[Row], machine: Machine) -> str:
    """Return what errors are relative to.

    `measured`, a model, or "" where there is only the prediction.
    """
    if any(row.get(MEASURED) for row in rows):
        return MEASURED
    detailed = ("connections", "packet", "wormhole", "circuit", "flow", "flit")
    if routers_are_all(machine):
        detailed = ("flit", *detailed[:-1])
    return next((model for model in detailed if any(model in row["simulated"] for row in rows)), "")


def routers_are_all(machine: Machine) -> bool:
    """Return whether the overheads of a message are at most twice the cycles that routers of
    `flit` take anyway.
    """  # noqa: D205
    costs = machine.costs
    if costs.has_overheads or not isfinite(costs.link_Bps):
        return False
    return costs.overhead.at(0) <= 2 * ROUTER_CYCLES * costs.flit_B / costs.link_Bps


def time_of(row: Row, what: str) -> float | None:
    """Return the time of a row: `predicted`, by a model, or `measured` [s].

    None where there is none.
    """
    if what == PREDICTED:
        return float(row["predicted_s"])
    if what == MEASURED:
        return float(row[MEASURED]["median_s"]) if row.get(MEASURED) else None
    simulated = row["simulated"].get(what)
    return None if simulated is None else float(simulated["time_s"])


def errors_of(row: Row, reference: str) -> dict[str, float]:
    """Return the error of every time of a row relative to the reference.

    Nothing without a reference.
    """
    against = time_of(row, reference) if reference else None
    if not against:
        return {}
    times = {
        what: time_of(row, what)
        for what in (PREDICTED, *row["simulated"], MEASURED)
        if what != reference
    }
    return {what: time / against - 1 for what, time in times.items() if time is not None}
