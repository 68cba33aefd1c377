"""Bounds of a program.

Of every stage by itself, of the whole with these bundles, and over all ways to forward.

Phases and loads add up over stages. Of a program that forwards, time is that of it as one schedule,
whose bundles wait for what they pass on; with a barrier after every phase also the sum over stages,
as none begins before the one before has ended. Both speak of these bundles only. What no other
paths beat either is beside them: in as many stages, and in any number.

Of building blocks time is what the formula of `predict_program` cannot go below: every run of a
block takes its own bound without switches, and there are as many contexts as the phases of the
block that needs most, as two phases whose connections could be open together could be one. Messages
of one connection, and of one context, take its channels once, however many runs there are: bounds
of one schedule of all messages would not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conset.base import ValueObject, count_of, format_time
from conset.bounds import Bounds, StageBounds, bound_schedule, bound_stages, bound_volume
from conset.machine import synchronization_s, without_switches
from conset.schedule import Paths, Program, Schedule, chained

THESE = "these stages of messages"
BLOCKS = "these blocks one after the other, by formula, any sharing of contexts"


@dataclass(frozen=True, eq=False)
class ProgramBounds(ValueObject):
    """What no program of a class beats.

    Attributes:
        whole: with the messages that the stages send; of building blocks by formula, one run after
            the other.
        stages: of every stage by itself, once for each repetition in `whole`.
        as_many: over all paths in as many stages; None: the stages send messages of their own.
        any_number: over all paths in any number of stages; None as well.
        volume: bytes sent over bytes of the pattern, at least, where no rank sends or receives more
            bundles in a stage than here; 1 where nothing is forwarded.
    """

    whole: Bounds
    stages: tuple[Bounds, ...]
    as_many: StageBounds | None
    any_number: StageBounds | None
    volume: float

    def to_object(self) -> dict[str, Any]:
        """The keys of a schedule's bound, and those of programs."""
        own: dict[str, Any] = {"volume": self.volume, "as_many": None, "any_number": None}
        for name in ("as_many", "any_number"):
            found: StageBounds | None = getattr(self, name)
            if found is not None:
                keys = (
                    "stages",
                    "sends",
                    "sends_witness",
                    "time_s",
                    "time_witness",
                    "stages_class",
                )
                own[name] = {key: getattr(found, key) for key in keys}
        return {**self.whole.to_object(), **own}

    def gap(self, phases: int, predicted_s: float, time_s: float) -> dict[str, float]:
        """How far above its bounds a program is.

        `phases`, `time`, and `any_number` over all ways to forward.

        Args:
            phases: that it executes.
            predicted_s: that it takes by formula [s], as the gap of a schedule has it.
            time_s: that it takes by what decides [s]; a formula does not wait at ranks that
                forward.
        """
        least_s = self.whole.time_s if self.any_number is None else self.any_number.time_s
        return {
            "phases": _over(phases, self.whole.phases),
            "time": _over(predicted_s, self.whole.time_s),
            "any_number": _over(time_s, least_s),
        }


def _over(value: float, bound: float) -> float:
    return value / bound if bound > 0 else 1.0


def bound_program(program: Program, whole: Schedule | None = None) -> ProgramBounds:
    """What no program beats, from these bundles to any way to forward.

    Args:
        program: its stages.
        whole: `chained(program)` of one that forwards, where it is there already.

    Raises:
        InputError: it forwards, and executes more messages than one schedule may hold.
    """
    found = tuple(bound_schedule(schedule) for schedule in program.schedules)
    stages = tuple(found[stage.schedule] for stage in program.stages)
    if program.paths is None:
        return ProgramBounds(_blocks(program, found), stages, None, None, 1.0)
    one, paths = chained(program) if whole is None else whole, program.paths
    bounds = _whole(program, one, found)
    options: dict[str, Any] = {
        "placement": one.placement,
        "method": one.method,
        "split": paths.message is not None or any(s.parts is not None for s in program.schedules),
    }
    as_many = bound_stages(paths.pattern, program.machine, stages=paths.stages, **options)
    any_number = bound_stages(paths.pattern, program.machine, **options)
    sends, receives = stage_maxima(paths)
    return ProgramBounds(
        bounds, stages, as_many, any_number, bound_volume(paths.pattern, sends, receives)[1]
    )


def stage_maxima(paths: Paths) -> tuple[list[int], list[int]]:
    """(the most bundles that a rank sends, that a rank receives) in every stage."""
    patterns = [paths.stage_pattern(stage) for stage in range(paths.stages)]
    sends = [int(np.diff(pattern.offsets).max()) for pattern in patterns]
    return sends, [int(np.bincount(pattern.target, minlength=1).max()) for pattern in patterns]


def _whole(program: Program, one: Schedule, found: tuple[Bounds, ...]) -> Bounds:
    """Sums over stages, and the time of a program that forwards as one schedule."""
    times = [(stage.repeat, found[stage.schedule]) for stage in program.stages]
    phases = sum(repeat * bounds.phases for repeat, bounds in times)
    load = sum(repeat * bounds.load_sum for repeat, bounds in times)
    bounds = bound_schedule(one)
    time_s, witness = bounds.time_s, bounds.time_witness
    added_s = sum(repeat * each.time_s for repeat, each in times)
    if program.sync == "barrier" and added_s > time_s:
        time_s, witness = added_s, _list(times, "time_witness")
    return Bounds(
        phases,
        _list(times, "phases_witness"),
        f"{THESE}, {times[0][1].phases_class}" if times else THESE,
        time_s,
        witness,
        f"{THESE}, {bounds.time_class}",
        bounds.candidates,
        load,
        _list(times, "load_sum_witness"),
        f"{THESE}, {bounds.load_sum_class}",
    )


def _blocks(program: Program, found: tuple[Bounds, ...]) -> Bounds:
    """Sums over the runs of building blocks, and the least switches between them."""
    times = [(stage.repeat, found[stage.schedule]) for stage in program.stages]
    machine = program.machine.with_costs(without_switches)
    alone_s = [
        bound_schedule(replace(each, machine=machine, sync="barrier")).time_s
        for each in program.schedules
    ]
    runs_s = sum(stage.repeat * alone_s[stage.schedule] for stage in program.stages)
    contexts, most = max(
        (bounds.phases, bounds.phases_witness)
        if schedule.pattern.repeated_pair() is None
        else (1, "messages of one pair may share a connection")
        for schedule, bounds in zip(program.schedules, found, strict=True)
    )
    costs = program.machine.costs_for(program.schedules[0].method)
    barriers = max(0, contexts - (not costs.first_barrier))
    switching_s = contexts * costs.setup_s + barriers * synchronization_s(program.machine, costs)
    witness = (
        f"all runs {format_time(runs_s)}, {count_of(contexts, 'context')} "
        f"{format_time(switching_s)}: {most}"
    )
    return Bounds(
        sum(repeat * each.phases for repeat, each in times),
        _list(times, "phases_witness"),
        f"{THESE}, {times[0][1].phases_class}",
        runs_s + switching_s,
        witness,
        BLOCKS,
        (),
        sum(repeat * each.load_sum for repeat, each in times),
        _list(times, "load_sum_witness"),
        f"{THESE}, {times[0][1].load_sum_class}",
    )


def _list(times: list[tuple[int, Bounds]], name: str) -> str:
    """`2 × …; then …`: the witnesses of the stages."""
    said = [
        ("" if repeat == 1 else f"{repeat} × ") + getattr(bounds, name) for repeat, bounds in times
    ]
    return "; then ".join(said[:4]) + ("; …" if len(said) > 4 else "")
