"""Program: ordered stages, each a schedule that runs a number of times; the whole as one schedule.

Two kinds of programs have one form. *Building blocks* (Feldmann, Stricker, Warfel): the stages send
messages of their own; phases share open connections, their contexts. *Forwarding*: the stages
together deliver one pattern, whose messages travel in bundles along paths of ranks. A plain
schedule is a program of one stage.

Problem: models, bounds, the predictor and the executor take schedules; a program is a list of them.
Idea (`chained`): the phases of the stages one after the other are phases of one schedule. Of a
program that forwards, the pattern holds the bundles of all stages, and a bundle waits for those by
which its parts arrived, and for nothing else (`Pattern.before`). Of building blocks, every
repetition has messages of its own, and consecutive phases of one context, between which nothing is
switched, are one phase.
Complexity: O(transfers + bundles that a rank gets × bundles that it passes on).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    Floats,
    InputError,
    Ints,
    Ints32,
    ValueObject,
    distinct_ints,
    frozen,
)
from conset.machine.circuits import CircuitState, circuit_times
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import route_stops
from conset.pattern.pattern import Pattern
from conset.schedule.document import MAX_REPEAT
from conset.schedule.loads import circuits_held
from conset.schedule.paths import Paths
from conset.schedule.schedule import Manifest, Schedule, as_routes, routes_of


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
        reason: of methods that were chosen, with the times that decided; never in a file.
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
    reason: str = field(default="", compare=False)

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
            if self.schedules[stage.schedule].pattern != paths.stage_pattern(k):
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
    def of(what: Schedule | Program) -> Program:
        """A schedule as a program of one stage; a program itself."""
        if isinstance(what, Program):
            return what
        stage = Stage(what.pattern.name, 1, 0, False)
        contexts = (tuple(range(what.phases)),)
        return Program(what.machine, (stage,), (what,), contexts, None, what.sync, what.manifest)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.schedules[0].pattern.ranks

    @cached_property
    def whole(self) -> Schedule:
        """All that the program sends, as one schedule; see `chained`."""
        return chained(self)

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
        total = 0
        for stage, _, contexts in self.runs():
            total += stage.repeat * sum(one != other for one, other in pairwise(contexts))
            if not stage.turns and contexts[-1] != contexts[0]:
                total += stage.repeat - 1
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
    if paths.box is not None:
        # of the messages that a rank holds, which agree with its cell in the target's coordinates
        # that are corrected and the source's that are not: all but its own, sent and received
        ranks, sides = paths.pattern.ranks, [paths.box.sides[d] for d in paths.box.order]
        relayed = [
            ranks - prod(sides[:stage]) - prod(sides[stage:]) + 1
            for stage in range(1, paths.stages)
        ]
        return max(relayed, default=0) * int(paths.pattern.size[0])
    at, most = paths.positions, 0
    for stage in range(1, paths.stages):
        others = (at[:, stage] != at[:, 0]) & (at[:, stage] != at[:, -1])
        held = np.zeros(paths.pattern.ranks, np.int64)
        np.add.at(held, at[others, stage], paths.size_of[others])
        most = max(most, int(held.max()))
    return most


def _last(stage: Stage, contexts: tuple[int, ...]) -> int:
    """The context a stage ends in."""
    return contexts[0] if stage.turns and stage.repeat % 2 == 0 else contexts[-1]


KEPT = 4
"""Repetitions of a block after which those to come take as long as those before."""
MAX_CHAINED = 2**26
"""Messages that a program may execute as one schedule."""


def chained(program: Program, bundles: Pattern | None = None) -> Schedule:
    """All that a program sends, as one schedule.

    Message indices: by source rank, then by stage (of building blocks: by repetition), then as in
    the stage.

    Args:
        program: its stages.
        bundles: `bundles_of(program.paths)`, where it is there already: it is the same for all
            schedules of the stages.

    Raises:
        InputError: it executes more than 2^26 messages.
    """
    if program.paths is None and len(program.stages) == 1 and program.stages[0].repeat == 1:
        return program.schedules[0]
    messages = [program.schedules[stage.schedule].pattern.messages for stage in program.stages]
    for times, what in ((1, "runs {:,} stages"), (messages, "executes {:,} messages")):
        total = sum(np.multiply(times, [stage.repeat for stage in program.stages]).tolist())
        if total > MAX_CHAINED:
            raise InputError(
                f"the program {what.format(total)}, as one schedule at most {MAX_CHAINED:,}"
            )
    runs = _passes(program)
    patterns = [program.schedules[k].pattern for k, _ in runs]
    pattern, places = (
        _together(patterns, program.paths) if bundles is None else (bundles, _places(patterns))
    )
    schedules = [program.schedules[k] for k, _ in runs]
    orders = [_phases_in(program.schedules[k], back) for k, back in runs]
    merged = _join(schedules, orders, places, pattern)
    if (
        program.paths is not None
    ):  # of building blocks, what phases of a context share would count twice in one phase
        merged = replace(
            merged,
            min_bandwidth_Bps=_demands(
                [s.min_bandwidth_Bps for s in schedules], places, pattern.messages, 0.0
            ),
            max_latency_s=_demands(
                [s.max_latency_s for s in schedules], places, pattern.messages, np.inf
            ),
        )
    table: Floats | None = None
    if program.machine.is_circuit:
        ends = [0.0]
        state = _disconnected(program)
        tables = [_pass(program.schedules[k], back, state, ends) for k, back in runs]
        table = np.concatenate(tables)
    return replace(
        merged,
        phase_offsets=_phase_offsets(program, runs),
        timetable=table,
        sync=program.sync,
        manifest=program.manifest,
    )


def _disconnected(program: Program) -> CircuitState:
    topology = program.machine.topology
    return CircuitState.of(topology.planes, topology.endpoints)


def _pass(schedule: Schedule, back: bool, state: CircuitState, ends: list[float]) -> Floats:
    """The timetable of a repetition as posted, which begins at the last of `ends`; adds its end."""
    order = _phases_in(schedule, back)
    length = np.diff(schedule.phase_offsets)
    offsets = np.concatenate([[0], np.cumsum(length[::-1] if back else length)])
    plane, source, target, duration = circuits_held(schedule)
    times = circuit_times(
        schedule.machine,
        offsets,
        plane[order],
        source[order],
        target[order],
        duration[order],
        state=state,
        not_before=ends[-1],
    )
    ends.append(max(ends[-1], times.time_s))
    return np.column_stack([times.begin, times.end])


def block_ends(program: Program) -> list[float]:
    """When each block of a program over circuit switches has ended [s].

    A block begins when the one before it has ended everywhere; switches keep what they hold, and
    change for it as soon as they carry nothing. From the fifth repetition on, each takes as long as
    the one two before it.
    """
    state, found = _disconnected(program), [0.0]
    for stage in program.stages:
        schedule, ends = program.schedules[stage.schedule], [found[-1]]
        for repetition in range(min(stage.repeat, KEPT)):
            _pass(schedule, stage.backwards(repetition), state, ends)
        more = stage.repeat - len(ends) + 1
        if more:
            if more % 2:
                _pass(schedule, stage.backwards(KEPT), state, ends)
            passed = (more // 2) * (ends[-1] - ends[-3])
            state.later(passed)
            ends.append(ends[-1] + passed)
        found.append(ends[-1])
    return found[1:]


def bundles_of(paths: Paths) -> Pattern:
    """The pattern of a chained program along these paths.

    The bundles of all stages, and what each waits for.
    """
    return _together([paths.stage_pattern(stage) for stage in range(paths.stages)], paths)[0]


def unchained(schedule: Schedule, paths: Paths) -> Program:
    """The program of which `schedule` is what `chained` makes.

    Possibly in another order inside its phases.

    Raises:
        InputError: it is no schedule of the bundles of these paths, or a phase of it belongs to
            several stages.
    """
    patterns = [paths.stage_pattern(stage) for stage in range(paths.stages)]
    places = _places(patterns)
    if sum(pattern.messages for pattern in patterns) != schedule.pattern.messages:
        raise InputError("the schedule sends other messages than the bundles of the paths")
    stage_of, own = (np.empty(schedule.pattern.messages, np.int32) for _ in range(2))
    for stage, place in enumerate(places):
        stage_of[place], own[place] = stage, np.arange(place.size)
    stage_of_phase = [
        np.unique(stage_of[schedule.message[schedule.phase(p)]]) for p in range(schedule.phases)
    ]
    if any(stages.size != 1 for stages in stage_of_phase):
        raise InputError("a phase of the schedule sends bundles of several stages")
    numbers = np.array([stages[0] for stages in stage_of_phase], np.int64)
    parts = [
        _stage(schedule, patterns[stage], own, places[stage], np.flatnonzero(numbers == stage))
        for stage in range(paths.stages)
    ]
    return Program.of_schedules(paths, parts, schedule.sync, schedule.manifest)


def _stage(
    schedule: Schedule,
    pattern: Pattern,
    own: Ints32,
    place: Ints32,
    phases: Ints,
) -> Schedule:
    """The phases of one stage as a schedule of its bundles; they follow one another."""
    first, last = (int(phases[0]), int(phases[-1]) + 1) if phases.size else (0, 0)
    begin, end = int(schedule.phase_offsets[first]), int(schedule.phase_offsets[last])
    offsets = schedule.phase_offsets[first : last + 1] - begin
    found = schedule.rearranged(np.arange(begin, end), offsets)
    rates, times = schedule.min_bandwidth_Bps, schedule.max_latency_s
    return replace(
        found,
        pattern=pattern,
        message=own[found.message],
        report=None,
        min_bandwidth_Bps=None if rates is None else rates[place],
        max_latency_s=None if times is None else times[place],
    )


def _demands(
    asked: Sequence[Floats | None],
    places: Sequence[Ints32],
    messages: int,
    nothing: float,
) -> Floats | None:
    """What the messages of all stages are to be guaranteed.

    None where no stage asks for anything.
    """
    if all(demands is None for demands in asked):
        return None
    found = np.full(messages, nothing)
    for demands, place in zip(asked, places, strict=True):
        if demands is not None:
            found[place] = demands
    return found


def _passes(program: Program) -> list[tuple[int, bool]]:
    """(schedule, whether it runs backwards) of every repetition."""
    return [
        (stage.schedule, stage.backwards(repetition))
        for stage in program.stages
        for repetition in range(stage.repeat)
    ]


def _phases_in(schedule: Schedule, back: bool) -> Ints32:
    """The transfers of a schedule as posted, phase after phase.

    The last phase is first where it runs backwards.
    """
    if not back:
        return schedule.posted
    pieces = [schedule.posted[schedule.phase(p)] for p in reversed(range(schedule.phases))]
    return np.concatenate([np.zeros(0, np.int32), *pieces])


def _phase_offsets(program: Program, runs: Sequence[tuple[int, bool]]) -> Ints:
    """Where phases begin.

    Those of building blocks that follow each other in one context are one; circuits that stay
    carry one message after the other.
    """
    is_one = program.paths is None and not program.machine.is_circuit
    sizes: list[int] = []
    last: int | None = None
    for k, back in runs:
        lengths = np.diff(program.schedules[k].phase_offsets).tolist()
        contexts = list(program.contexts[k])
        if back:
            lengths, contexts = lengths[::-1], contexts[::-1]
        for length, context in zip(lengths, contexts, strict=True):
            if is_one and context == last:
                sizes[-1] += length
            else:
                sizes.append(length)
            last = context
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _together(patterns: Sequence[Pattern], paths: Paths | None) -> tuple[Pattern, list[Ints32]]:
    """All messages of the patterns in one, and for each pattern where its messages are in it."""
    places = _places(patterns)
    offsets = np.sum([pattern.offsets for pattern in patterns], axis=0)
    target, size = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int64)
    packed = np.zeros(offsets[-1], bool)
    before = [np.zeros((0, 2), np.int32)]
    for place, pattern in zip(places, patterns, strict=True):
        target[place], size[place] = pattern.target, pattern.size
        if pattern.packed is not None:
            packed[place] = pattern.packed
        if pattern.before is not None:
            before.append(place[pattern.before])
    if paths is not None:
        before.append(needs(paths, places))
    order = np.concatenate(before)
    name = "program" if paths is None else paths.pattern.name
    return Pattern(
        patterns[0].ranks,
        offsets,
        target,
        size,
        order if order.size else None,
        name=name,
        packed=packed if packed.any() else None,
    ), places


def _places(patterns: Sequence[Pattern]) -> list[Ints32]:
    """For each pattern where its messages are among those of all.

    Which are by source, then by pattern.
    """
    counts = np.stack([np.diff(pattern.offsets) for pattern in patterns])
    begin = (
        np.concatenate([[0], np.cumsum(counts.sum(axis=0))[:-1]])
        + np.cumsum(counts, axis=0)
        - counts
    )
    return [
        (
            np.arange(pattern.messages) + np.repeat(begin[k] - pattern.offsets[:-1], counts[k])
        ).astype(np.int32)
        for k, pattern in enumerate(patterns)
    ]


def needs(paths: Paths, places: Sequence[Ints32]) -> Ints32:
    """shape=(pairs, 2), int32.

    (bundle that brings a part, bundle that passes it on), each pair once.

    `places[j]` numbers the bundles of stage j.
    """
    if paths.box is not None:
        return _needs_in_box(paths)
    last = np.full(paths.parts, -1, np.int64)
    found = []
    count = 1 + max((int(place.max(initial=0)) for place in places), default=0)
    for stage, place in enumerate(places):
        bundles = paths.bundles(stage)
        own = place[bundles.bundle_of].astype(np.int64)
        brought = last[bundles.parts]
        found.append(distinct_ints((brought * count + own)[brought >= 0]))
        last[bundles.parts] = own
    keys = np.concatenate([np.zeros(0, np.int64), *found])
    return np.column_stack((keys // count, keys % count)).astype(np.int32)


def _needs_in_box(paths: Paths) -> Ints32:
    """The same in a box that a complete exchange fills, sorted.

    A bundle waits for all that its rank was sent in earlier stages; those of a rank are numbered by
    stage.
    """
    ranks, patterns = paths.pattern.ranks, [paths.stage_pattern(j) for j in range(paths.stages)]
    each = [pattern.messages // ranks for pattern in patterns]
    target = np.concatenate([pattern.target.reshape(ranks, -1) for pattern in patterns], axis=1)
    later = np.repeat(sum(each) - np.cumsum(each), each)
    count = np.broadcast_to(later, target.shape).reshape(-1)
    ends = (target.reshape(-1).astype(np.int64) + 1) * sum(each)
    pairs = np.empty((int(count.sum()), 2), np.int32)
    pairs[:, 0] = np.repeat(np.arange(count.size, dtype=np.int32), count)
    pairs[:, 1] = np.arange(len(pairs)) + np.repeat(ends - np.cumsum(count), count)
    return pairs


def _join(
    schedules: Sequence[Schedule],
    orders: Sequence[Ints32],
    places: Sequence[Ints32],
    pattern: Pattern,
) -> Schedule:
    """The transfers of the schedules, each in its order.

    As those of one, in a phase of their own for now.
    """
    first = schedules[0]
    message = np.concatenate(
        [place[s.message[o]] for s, o, place in zip(schedules, orders, places, strict=True)]
    )
    parts = None
    if any(s.parts is not None for s in schedules):
        parts = np.concatenate([s.size[o] for s, o in zip(schedules, orders, strict=True)])
    same = {
        name: len({getattr(s, name) for s in schedules}) == 1
        for name in ("limits", "in_flight", "posting")
    }
    return Schedule(
        pattern,
        first.machine,
        first.method,
        first.limits if same["limits"] else Limits(),
        np.array([0, message.size]),
        message,
        parts,
        first.placement,
        **_routes(schedules, orders),
        in_flight=first.in_flight if same["in_flight"] else None,
        posting=first.posting if same["posting"] else "schedule",
    )


def _routes(schedules: Sequence[Schedule], orders: Sequence[Ints32]) -> dict[str, Any]:
    """`ROUTES` of all transfers.

    Routes that were not chosen are the machine's own.

    Channels where all state them: those of a connection are the same in all phases of its context.
    """
    if all(s.route_offsets is None for s in schedules):
        return {}
    found = []
    for schedule, order in zip(schedules, orders, strict=True):
        if schedule.route_offsets is None:
            network = schedule.machine.topology, schedule.machine.routing
            own = route_stops(*network, schedule.source_node, schedule.target_node)
            schedule = replace(schedule, **as_routes(*own))
        found.append(routes_of(schedule, order))
    lengths = [np.diff(each.pop("route_offsets")) for each in found]
    joined = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return {"route_offsets": frozen(joined)} | {
        name: frozen(np.concatenate([each[name] for each in found]))
        for name in found[0]
        if all(each[name] is not None for each in found)
    }
