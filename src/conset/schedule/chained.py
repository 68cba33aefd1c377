"""Chained: a whole program as one schedule of all that it sends.

Problem: models, bounds, the predictor and the executor take schedules; a program is a list of them.
Idea: the phases of the stages one after the other are phases of one schedule. Of a program that
forwards, the pattern holds the bundles of all stages, and a bundle waits for those by which its
parts arrived, and for nothing else: the stages are chained by what a rank really needs
(`Pattern.before`). Of building blocks, every repetition has messages of its own, and consecutive
phases of one context, between which nothing is switched, are one phase. Complexity: O(transfers +
bundles that a rank gets × bundles that it passes on).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import frozen, take_rows
from conset.base.errors import InputError
from conset.machine.limits import Limits
from conset.machine.network.routes import route_nodes
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule

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
    runs = _passes(program)
    executed = sum(program.schedules[k].pattern.messages for k, _ in runs)
    if executed > MAX_CHAINED:
        raise InputError(
            f"the program executes {executed:,} messages, as one schedule at most {MAX_CHAINED:,}"
        )
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
    return replace(
        merged,
        phase_offsets=_phase_offsets(program, runs),
        sync=program.sync,
        manifest=program.manifest,
    )


def bundles_of(paths: Paths) -> Pattern:
    """The pattern of a chained program along these paths.

    The bundles of all stages, and what each waits for.
    """
    return _together([paths.bundles(stage).pattern for stage in range(paths.stages)], paths)[0]


def unchained(schedule: Schedule, paths: Paths) -> Program:
    """The program of which `schedule` is what `chained` makes.

    Possibly in another order inside its phases.

    Raises:
        InputError: it is no schedule of the bundles of these paths, or a phase of it belongs to
            several stages.
    """
    patterns = [paths.bundles(stage).pattern for stage in range(paths.stages)]
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
    own: NDArray[np.int32],
    place: NDArray[np.int32],
    phases: NDArray[np.int64],
) -> Schedule:
    """The phases of one stage as a schedule of its bundles; they follow one another."""
    first, last = (int(phases[0]), int(phases[-1]) + 1) if phases.size else (0, 0)
    begin, end = int(schedule.phase_offsets[first]), int(schedule.phase_offsets[last])
    at = slice(begin, end)
    offsets, nodes, channels = schedule.route_offsets, schedule.route_nodes, schedule.channels
    if offsets is not None and nodes is not None:
        stops = slice(int(offsets[begin]), int(offsets[end]))
        nodes, channels = nodes[stops], None if channels is None else channels[stops]
        offsets = offsets[begin : end + 1] - offsets[begin]
    return replace(
        schedule,
        pattern=pattern,
        message=own[schedule.message[at]],
        phase_offsets=schedule.phase_offsets[first : last + 1] - begin,
        parts=None if schedule.parts is None else schedule.parts[at],
        timetable=None if schedule.timetable is None else schedule.timetable[at],
        route_offsets=offsets,
        route_nodes=nodes,
        channels=channels,
        report=None,
        min_bandwidth_Bps=None
        if schedule.min_bandwidth_Bps is None
        else schedule.min_bandwidth_Bps[place],
        max_latency_s=None if schedule.max_latency_s is None else schedule.max_latency_s[place],
    )


def _demands(
    asked: Sequence[NDArray[np.float64] | None],
    places: Sequence[NDArray[np.int32]],
    messages: int,
    nothing: float,
) -> NDArray[np.float64] | None:
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
    times = sum(stage.repeat for stage in program.stages)
    if times > MAX_CHAINED:
        raise InputError(
            f"the program runs {times:,} stages, as one schedule at most {MAX_CHAINED:,}"
        )
    return [
        (stage.schedule, stage.backwards(repetition))
        for stage in program.stages
        for repetition in range(stage.repeat)
    ]


def _phases_in(schedule: Schedule, back: bool) -> NDArray[np.int32]:
    """The transfers of a schedule as posted, phase after phase.

    The last phase is first where it runs backwards.
    """
    if not back:
        return schedule.posted
    pieces = [schedule.posted[schedule.phase(p)] for p in reversed(range(schedule.phases))]
    return np.concatenate([np.zeros(0, np.int32), *pieces])


def _phase_offsets(program: Program, runs: Sequence[tuple[int, bool]]) -> NDArray[np.int64]:
    """Where phases begin.

    Those of building blocks that follow each other in one context are one.
    """
    sizes: list[int] = []
    last: int | None = None
    for k, back in runs:
        lengths = np.diff(program.schedules[k].phase_offsets).tolist()
        contexts = list(program.contexts[k])
        if back:
            lengths, contexts = lengths[::-1], contexts[::-1]
        for length, context in zip(lengths, contexts, strict=True):
            if program.paths is None and context == last:
                sizes[-1] += length
            else:
                sizes.append(length)
            last = context
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _together(
    patterns: Sequence[Pattern], paths: Paths | None
) -> tuple[Pattern, list[NDArray[np.int32]]]:
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


def _places(patterns: Sequence[Pattern]) -> list[NDArray[np.int32]]:
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


def needs(paths: Paths, places: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    """shape=(pairs, 2), int32.

    (bundle that brings a part, bundle that passes it on), each pair once.

    `places[j]` numbers the bundles of stage j.
    """
    last = np.full(paths.parts, -1, np.int64)
    found = []
    count = 1 + max((int(place.max(initial=0)) for place in places), default=0)
    for stage, place in enumerate(places):
        bundles = paths.bundles(stage)
        own = place[bundles.bundle_of].astype(np.int64)
        brought = last[bundles.parts]
        found.append(np.unique((brought * count + own)[brought >= 0]))
        last[bundles.parts] = own
    keys = np.concatenate([np.zeros(0, np.int64), *found])
    return np.column_stack((keys // count, keys % count)).astype(np.int32)


def _join(
    schedules: Sequence[Schedule],
    orders: Sequence[NDArray[np.int32]],
    places: Sequence[NDArray[np.int32]],
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
    offsets, nodes, channels = _routes(schedules, orders)
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
        offsets,
        nodes,
        channels,
        in_flight=first.in_flight if same["in_flight"] else None,
        posting=first.posting if same["posting"] else "schedule",
    )


def _routes(
    schedules: Sequence[Schedule], orders: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """(offsets, nodes, channels) of all transfers.

    Routes that were not chosen are the machine's own.

    Channels where all state them: those of a connection are the same in all phases of its context.
    """
    if all(s.route_offsets is None for s in schedules):
        return None, None, None
    stated = all(s.channels is not None for s in schedules)
    lengths, pieces, channels = [], [], []
    for schedule, order in zip(schedules, orders, strict=True):
        offsets, nodes = schedule.route_offsets, schedule.route_nodes
        if offsets is None or nodes is None:
            machine = schedule.machine
            offsets, nodes = route_nodes(
                machine.topology, machine.routing, schedule.source_node, schedule.target_node
            )
        taken, stops = take_rows(offsets, order)
        pieces.append(nodes[stops])
        lengths.append(np.diff(taken))
        if stated and schedule.channels is not None:
            channels.append(schedule.channels[stops])
    joined = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return (
        frozen(joined),
        frozen(np.concatenate(pieces)),
        frozen(np.concatenate(channels)) if stated else None,
    )
