"""Switching: the phases of a program of blocks over time, by formula.

And what every switch between them consists of.

A switch has three parts: *drain*, what is under way arrives; *synchronization*, all ranks;
*set-up*, new connections open. The last two are terms of `predict_program`, equal for every switch.
Drain is the end of the phase before, from when the last element is sent until it is there at the
latest: the worst latency that its connections are guaranteed in their context, at most the phase
itself. It is inside what the phases transfer, so that the other parts add up to the predicted time.
Entering the first context is no switch, but set up likewise. (Of what a model has played it is the
time from when the last byte has left its sender to the last delivery,
`conset.models.phases_over_time`.)

Stages that run often are kept as their first repetitions and their last; what is left out is
counted in every sum.
Source: Feldmann, Stricker, Warfel, Principle 2.3 (a switch is of all connections at once).

Switches in their parts.

What is under way arrives (drain), all nodes meet (synchronization), connections are opened.

Measured, simulated and predicted times have one form. Simulated: a context is switched where a
phase of the chained program ends. Its drain is the time from when the last byte of the phase has
left its sender to the last delivery: 0 in models whose bytes arrive as they leave (`flow`,
`wormhole`, `circuit`); synchronization and set-up are the machine's, and follow it.
Source: Feldmann, Stricker, Warfel, ConSet, Section 2 (t_sync, t_phase) and Section 4.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from conset.base import Bools, Floats, InputError, Ints32, ValueObject
from conset.machine import Costs, Machine, synchronization_s, without_switches
from conset.models.formula.evaluate import ProgramPrediction, predict, predict_program
from conset.models.timeline import Timeline
from conset.schedule import Guarantees, Program, Schedule, program_guarantees

PARTS = ("drain", "synchronization", "setup")
"""Of a switch, in their order."""
KEPT = 240
"""Phases of a stage up to which all its repetitions are kept."""
FIRST = 2
"""Repetitions that are kept of a longer stage, before its last."""


class LeftOut(NamedTuple):
    """Repetitions of a stage that are not kept one by one.

    Attributes:
        stage: index.
        times: repetitions.
        begin_s: when the first begins [s].
        end_s: when the last has ended [s].
    """

    stage: int
    times: int
    begin_s: float
    end_s: float


@dataclass(frozen=True, eq=False)
class Switching(ValueObject):
    """A program over time; arrays are shape=(phases kept), in the order of execution.

    Attributes:
        stage: int32: index of the stage.
        phase: int32: phase of the stage's schedule.
        context: int32: its context.
        begin_s: float64 [s]: when its messages begin, behind a switch.
        end_s: float64 [s]: when they have arrived.
        switched: bool: whether a switch goes before; of the first phase: whether contexts are
            entered at all, True.
        drain_s: float64 [s]: of the phase kept before, part of its time; 0 where no switch goes
            before.
        synchronization_s: float64 [s]: before `begin_s`; 0 where no switch goes before.
        setup_s: float64 [s]: between the two.
        left_out: repetitions that are not kept.
        parts: of all switches of the program, of what is left out too.
        prediction: of the whole program.
    """

    stage: Ints32
    phase: Ints32
    context: Ints32
    begin_s: Floats
    end_s: Floats
    switched: Bools
    drain_s: Floats
    synchronization_s: Floats
    setup_s: Floats
    left_out: tuple[LeftOut, ...]
    parts: SwitchParts
    prediction: ProgramPrediction

    def __post_init__(self) -> None:
        self._freeze()


class _Pass(NamedTuple):
    """One repetition of a stage, or as many `times` as are not kept.

    Whether the first of them runs `back`wards.
    """

    stage: int
    back: bool
    times: int


def switching(program: Program) -> Switching:
    """A program of blocks over time.

    Raises:
        InputError: its stages forward, they have no contexts to switch.
    """
    if program.paths is not None:
        raise InputError(
            "a program that forwards holds no connections open: it has no switches to show"
        )
    return _Builder(program).build()


class _Builder:
    """Walks the repetitions once."""

    def __init__(self, program: Program) -> None:
        self.program, self.prediction = program, predict_program(program)
        terms, entered = self.prediction.terms, 1 if program.phases else 0
        costs = program.machine.costs_for(program.schedules[0].method)
        self.enters_synchronized = bool(costs.first_barrier)
        self.synchronization_s = terms["synchronization"] / max(
            1, program.switches + entered * costs.first_barrier
        )
        self.setup_s = terms["setup"] / max(1, program.switches + entered)
        self.transfer_s = self._transfers()
        rows = zip(program.schedules, program_guarantees(program), self.transfer_s, strict=True)
        self.drain_s = [_drains(*row) for row in rows]
        self.now_s, self.drained_s = 0.0, 0.0
        self.context: int | None = None
        self.last_drain_s = 0.0
        self.rows: list[tuple[Any, ...]] = []
        self.left_out: list[LeftOut] = []

    def _transfers(self) -> list[Floats]:
        """[s] of every phase of every schedule, in the formula's shares.

        They add up to what the program predicts.
        """
        once = {
            stage.schedule: s / stage.repeat
            for stage, s in zip(self.program.stages, self.prediction.block_s, strict=True)
        }
        found = []
        for k, schedule in enumerate(self.program.schedules):
            alone = predict(
                schedule, sync="barrier", machine=schedule.machine.with_costs(without_switches)
            ).phase_s
            total = float(alone.sum())
            found.append(alone * (once[k] / total) if total else np.zeros(schedule.phases))
        return found

    def build(self) -> Switching:
        for each in _passes(self.program):
            self._run(each) if each.times == 1 else self._leave_out(each)
        columns: list[Any] = list(zip(*self.rows, strict=True)) or [() for _ in range(9)]
        kinds = (
            np.int32,
            np.int32,
            np.int32,
            np.float64,
            np.float64,
            np.bool_,
            np.float64,
            np.float64,
            np.float64,
        )
        arrays: list[Any] = [
            np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)
        ]
        count = self.prediction.switches
        parts = SwitchParts(
            count, self.drained_s, count * self.synchronization_s, count * self.setup_s
        )
        own: dict[str, Any] = dict(
            zip((each.name for each in fields(Switching)), arrays, strict=False)
        )
        return Switching(
            **own, left_out=tuple(self.left_out), parts=parts, prediction=self.prediction
        )

    def _ordered(self, each: _Pass) -> tuple[list[int], tuple[int, ...], Floats, Floats]:
        """Phases of a repetition in their order, with contexts, times and drains [s]."""
        index = self.program.stages[each.stage].schedule
        phases = range(self.program.schedules[index].phases)
        order = list(reversed(phases)) if each.back else list(phases)
        contexts = tuple(self.program.contexts[index][p] for p in order)
        return order, contexts, self.transfer_s[index][order], self.drain_s[index][order]

    def _run(self, each: _Pass) -> None:
        order, contexts, transfer_s, drain_s = self._ordered(each)
        for phase, context, lasts_s, drain in zip(
            order, contexts, transfer_s.tolist(), drain_s.tolist(), strict=True
        ):
            enters, switched = self.context is None, context != self.context
            synchronization_s = (
                self.synchronization_s
                if switched and (not enters or self.enters_synchronized)
                else 0.0
            )
            setup_s = self.setup_s if switched else 0.0
            drained_s = self.last_drain_s if switched else 0.0
            self.drained_s += drained_s
            begin_s = self.now_s + synchronization_s + setup_s
            self.now_s = begin_s + lasts_s
            self.rows.append(
                (
                    each.stage,
                    phase,
                    context,
                    begin_s,
                    self.now_s,
                    switched,
                    drained_s,
                    synchronization_s,
                    setup_s,
                )
            )
            self.context, self.last_drain_s = context, drain

    def _leave_out(self, each: _Pass) -> None:
        """Repetitions in the middle of a stage.

        The context they begin in is that of any repetition before.
        """
        begin_s = self.now_s
        turns = self.program.stages[each.stage].turns
        switch_s = self.synchronization_s + self.setup_s
        backward = (each.times + each.back) // 2 if turns else 0
        for back, count in ((False, each.times - backward), (True, backward)):
            if not count:
                continue
            _, contexts, transfer_s, drain_s = self._ordered(_Pass(each.stage, back, 1))
            inside = [k for k, (one, other) in enumerate(pairwise(contexts)) if one != other]
            enters = not turns and contexts[0] != contexts[-1]
            self.now_s += count * (float(transfer_s.sum()) + (len(inside) + enters) * switch_s)
            self.drained_s += count * (float(drain_s[inside].sum()) + enters * float(drain_s[-1]))
        self.left_out.append(LeftOut(each.stage, each.times, begin_s, self.now_s))
        _, contexts, _, drain_s = self._ordered(
            each._replace(back=turns and each.back != (each.times % 2 == 0))
        )
        self.context, self.last_drain_s = contexts[-1], float(drain_s[-1])


def _passes(program: Program) -> Iterator[_Pass]:
    """Every repetition; of a stage of many phases the middle ones as one."""
    for k, stage in enumerate(program.stages):
        phases = program.schedules[stage.schedule].phases
        if not phases:
            continue
        kept = range(stage.repeat)
        if stage.repeat * phases > KEPT and stage.repeat > FIRST + 2:
            for repetition in range(FIRST):
                yield _Pass(k, stage.backwards(repetition), 1)
            yield _Pass(k, stage.backwards(FIRST), stage.repeat - FIRST - 1)
            kept = range(stage.repeat - 1, stage.repeat)
        for repetition in kept:
            yield _Pass(k, stage.backwards(repetition), 1)


def _drains(schedule: Schedule, given: Guarantees, transfer_s: Floats) -> Floats:
    """shape=(phases) [s].

    The worst guaranteed latency of the connections of each phase, at most the phase.
    """
    worst = np.zeros(schedule.phases)
    np.maximum.at(worst, schedule.phase_of, given.latency_s)
    return np.minimum(worst, transfer_s)


@dataclass(frozen=True)
class SwitchParts:
    """What the communication context switches of one run of a program take together.

    Attributes:
        count: switches; entering the first context is none.
        drain_s: until what is under way has arrived [s].
        synchronization_s: of all nodes [s].
        setup_s: closing and opening connections [s].
    """

    count: int
    drain_s: float
    synchronization_s: float
    setup_s: float

    def to_object(self) -> dict[str, float]:
        """`{"count": …, "drain_s": …, "synchronization_s": …, "setup_s": …}`."""
        return asdict(self)

    @staticmethod
    def median(parts: Floats) -> SwitchParts:
        """The median of repetitions, part by part.

        Shape=(repetitions, 4), in the order of the attributes.
        """
        count, *seconds = np.median(parts, axis=0).tolist()
        return SwitchParts(round(count), *seconds)


def simulated_switches(timeline: Timeline, machine: Machine, costs: Costs) -> SwitchParts | None:
    """The switches of a chained program of blocks as a model has played it.

    Args:
        timeline: of the chained program, with its workload.
        machine: whose nodes meet.
        costs: what was played with.

    Returns:
        None where nothing is switched as a whole: another policy than barriers between all phases.
    """
    work = timeline.workload
    if work is None or timeline.sync != "barrier":
        return None
    last = np.full(work.phases, np.inf)  # where nothing is sent, nothing drains
    last[work.phase_of] = 0.0
    np.maximum.at(last, work.phase_of, timeline.left_s if timeline.left_s.size else timeline.end_s)
    drain = np.maximum(timeline.phase_end_s - last, 0.0)[:-1]
    count = drain.size
    return SwitchParts(
        count, float(drain.sum()), count * synchronization_s(machine, costs), count * costs.setup_s
    )
