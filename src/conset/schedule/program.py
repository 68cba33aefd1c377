"""Program: ordered stages, each a schedule that runs a number of times.

Two kinds of programs have one form. *Building blocks* (Feldmann, Stricker, Warfel): the stages send
messages of their own; phases share open connections, their contexts. *Forwarding*: the stages
together deliver one pattern, whose messages travel in bundles along paths of ranks. A plain
schedule is a program of one stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from conset.base.arrays import ValueObject
from conset.base.errors import InputError
from conset.base.units import MAX_SIZE_B
from conset.machine.machine import Machine
from conset.schedule.document import MAX_REPEAT
from conset.schedule.manifest import Manifest
from conset.schedule.paths import Paths
from conset.schedule.schedule import Schedule


@dataclass(frozen=True)
class Stage:
    """One stage of a program.

    Attributes:
        name: for people.
        repeat: how often it runs before the next stage, at least 1.
        schedule: index in `Program.schedules`.
        turns: every second repetition runs the phases backwards, so that none is switched where it
            begins.
    """

    name: str
    repeat: int
    schedule: int
    turns: bool

    def __post_init__(self) -> None:
        if not 1 <= self.repeat <= MAX_REPEAT:
            rule = "must be at least 1" if self.repeat < 1 else f"must be at most {MAX_REPEAT}"
            raise InputError(f"stage '{self.name}': repeat = {self.repeat}: {rule}")

    def backwards(self, repetition: int) -> bool:
        """Whether a repetition, counted from 0, runs the phases backwards."""
        return self.turns and repetition % 2 == 1


@dataclass(frozen=True, eq=False)
class Program(ValueObject):
    """Stages in the order in which they run.

    Attributes:
        machine: what it was compiled for.
        stages: one after the other.
        schedules: every distinct one once.
        contexts: for each schedule, the context of each of its phases; connections of a context are
            open together.
        paths: where the messages of one pattern are before and after every stage; each stage then
            runs once, and its schedule sends the bundles of that stage. None: stages send messages
            of their own.
        sync: the policy that the program is meant to run under as a whole.
        staging_limit_B: bytes that a rank may hold for others between two stages; None: any number.
        manifest: how it was made.
        stopped_early: a search was interrupted and this is its best so far; never in a file.
    """

    machine: Machine
    stages: tuple[Stage, ...]
    schedules: tuple[Schedule, ...]
    contexts: tuple[tuple[int, ...], ...]
    paths: Paths | None = None
    sync: str = "barrier"
    manifest: Manifest = field(default_factory=Manifest, compare=False)
    stopped_early: bool = field(default=False, compare=False)
    staging_limit_B: int | None = None  # noqa: N815

    def __post_init__(self) -> None:
        if not self.schedules:
            raise InputError("a program needs a schedule, given none")
        for k, stage in enumerate(self.stages):
            if not 0 <= stage.schedule < len(self.schedules):
                rule = f"must be from 0 to {len(self.schedules) - 1}"
                raise InputError(f"stages[{k}].schedule = {stage.schedule}: {rule}")
        unused = set(range(len(self.schedules))).difference(stage.schedule for stage in self.stages)
        if unused:
            raise InputError(f"schedules[{min(unused)}]: no stage runs it")
        sizes = [len(contexts) for contexts in self.contexts]
        if sizes != [schedule.phases for schedule in self.schedules]:
            raise InputError(f"contexts: one for each phase required, given {sizes}")
        total = sum(
            stage.repeat * self.schedules[stage.schedule].pattern.bytes for stage in self.stages
        )
        if total > MAX_SIZE_B:
            raise InputError(f"all stages together send {total} B, at most {MAX_SIZE_B} B")
        if self.paths is not None:
            self._check_paths(self.paths)
        elif self.staging_limit_B is not None:
            raise InputError(
                f"staging_limit_B = {self.staging_limit_B}: stages with messages of their "
                "own hold none"
            )

    def _check_paths(self, paths: Paths) -> None:
        if len(self.stages) != paths.stages:
            raise InputError(
                f"a program of {len(self.stages)} stages, paths of {paths.stages}: must agree"
            )
        for k, stage in enumerate(self.stages):
            if stage.repeat != 1 or stage.turns:
                raise InputError(f"stages[{k}]: a stage that forwards runs once and does not turn")
            if self.schedules[stage.schedule].pattern != paths.bundles(k).pattern:
                raise InputError(
                    f"stages[{k}]: its schedule does not send the bundles of stage {k}"
                )
        if self.staging_limit_B is not None and staging_bytes(paths) > self.staging_limit_B:
            held = f"a rank holds {staging_bytes(paths)} B for others between two stages"
            raise InputError(f"{held}, staging_limit_B is {self.staging_limit_B} B")

    @staticmethod
    def of_schedules(
        paths: Paths, schedules: Sequence[Schedule], sync: str, manifest: Manifest
    ) -> Program:
        """The program whose stage j sends the bundles of stage j of `paths` by `schedules[j]`."""
        stages = tuple(Stage(f"stage {k}", 1, k, False) for k in range(len(schedules)))
        ends = np.cumsum([0, *(schedule.phases for schedule in schedules)]).tolist()
        contexts = tuple(tuple(range(begin, end)) for begin, end in pairwise(ends))
        return Program(
            schedules[0].machine, stages, tuple(schedules), contexts, paths, sync, manifest
        )

    @staticmethod
    def of_schedule(schedule: Schedule) -> Program:
        """A schedule as a program of one stage."""
        stage = Stage(schedule.pattern.name, 1, 0, False)
        contexts = (tuple(range(schedule.phases)),)
        return Program(
            schedule.machine,
            (stage,),
            (schedule,),
            contexts,
            None,
            schedule.sync,
            schedule.manifest,
        )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.schedules[0].pattern.ranks

    def runs(self) -> Iterator[tuple[Stage, Schedule, tuple[int, ...]]]:
        """(stage, its schedule, the contexts of its phases) of every stage that has phases."""
        for stage in self.stages:
            if self.schedules[stage.schedule].phases:
                yield stage, self.schedules[stage.schedule], self.contexts[stage.schedule]

    @property
    def phases(self) -> int:
        """Phases executed."""
        return sum(stage.repeat * schedule.phases for stage, schedule, _ in self.runs())

    @property
    def switches(self) -> int:
        """Communication context switches, the one into the first context left out."""
        total = sum(_inside(stage, contexts) for stage, _, contexts in self.runs())
        ends = [(contexts[0], _last(stage, contexts)) for stage, _, contexts in self.runs()]
        return total + sum(one[1] != other[0] for one, other in pairwise(ends))

    @property
    def switches_apart(self) -> int:
        """Switches if every phase had a context of its own and no stage ran backwards."""
        runs = list(self.runs())
        inside = sum(
            stage.repeat * schedule.phases - 1 for stage, schedule, _ in runs if schedule.phases > 1
        )
        return inside + sum(
            one[0].schedule != other[0].schedule or one[1].phases > 1
            for one, other in pairwise(runs)
        )

    def figures(self) -> dict[str, Any]:
        """As in the file; see `ProgramDocument.figures`."""
        patterns = [(stage.repeat, self.schedules[stage.schedule].pattern) for stage in self.stages]
        messages = sum(repeat * pattern.messages for repeat, pattern in patterns)
        size = sum(repeat * pattern.bytes for repeat, pattern in patterns)
        figures = {
            "phases": self.phases,
            "contexts": len({context for contexts in self.contexts for context in contexts}),
            "switches": self.switches,
            "switches_apart": self.switches_apart,
        }
        if self.paths is None:
            return {**figures, "messages": messages, "bytes": size}
        own = self.paths.pattern
        return {
            **figures,
            "messages": own.messages,
            "bytes": own.bytes,
            "stages": len(self.stages),
            "bundles": messages,
            "volume": size / own.bytes if own.bytes else 1.0,
            "staging_bytes": staging_bytes(self.paths),
        }


def staging_bytes(paths: Paths) -> int:
    """The most bytes that any rank holds for others between two stages [B].

    Of what it neither sends first nor gets.
    """
    at, most = paths.positions, 0
    for stage in range(1, paths.stages):
        others = (at[:, stage] != at[:, 0]) & (at[:, stage] != at[:, -1])
        held = np.zeros(paths.pattern.ranks, np.int64)
        np.add.at(held, at[others, stage], paths.size_of[others])
        most = max(most, int(held.max()))
    return most


def _inside(stage: Stage, contexts: tuple[int, ...]) -> int:
    """Switches within the repetitions of a stage."""
    once = sum(one != other for one, other in pairwise(contexts))
    again = 0 if stage.turns else int(contexts[-1] != contexts[0])
    return stage.repeat * once + (stage.repeat - 1) * again


def _last(stage: Stage, contexts: tuple[int, ...]) -> int:
    """The context a stage ends in."""
    return contexts[0] if stage.turns and stage.repeat % 2 == 0 else contexts[-1]
