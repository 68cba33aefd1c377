"""event-list: one phase, whose transfers start greedily whenever all they hold is free.

Problem: give every transfer of a phase a start and an end such that a port carries one transfer at
a time and a link one per unit of its width, and the last end comes early. As a method of its own it
takes all messages as one phase.
Idea: at every event (the start, and whenever transfers end) look at those that wait for a line just
freed, by falling priority: the most unfinished work on any line they hold, longer ones first among
equals. Start each whose lines are all free. So the line that has most to do is never kept waiting
by one that has time. Then restart, every priority times a factor of its transfer: that of the best
run so far, or, one in twenty, a new one, 1 + 0.3 u with u uniform in [0, 1); runs as good as the
best take its place. The shortest timetable of every phase is kept. Where durations are nearly equal
going greedily loses a round or two. So the phases of `coloring` (ports alone, no order) and of a
sweep of `first-fit` are timed, too: every line takes its transfers phase by phase, each as soon as
it is free, without barriers. The shortest of the three is kept.
Invariant: at every instant the transfers in flight hold disjoint units; in the event list no
transfer waits while all it holds is free.
Complexity: O(restarts · messages · degree · hops) in time: a transfer is looked at when one of its
lines becomes free. O(messages + sum of hops) in memory, as routes are stored here. Restarts stop
when a phase ends with its busiest line, which nothing beats, and become fewer above about 3,000
messages of degree 50.
When to use it: sizes differ and barriers hurt; means of 10 regular patterns on 64 nodes are 1.000
to 1.004 times the busiest port where only nodes limit, 1.000 to 1.031 times the busiest port or
link of the 6-cube. The executor keeps the order of the transfers, not the times.
Guarantee: for ports alone and without an order at most twice the busiest port: when the last
transfer to end has to wait, one of its two ports is busy, so its start is at most what both have
besides it. With links none.
Order: a transfer becomes ready when all before it have ended.
Half-duplex machines: a node has one line for what it sends and receives.
Departures: the text's AS (`timetable_as`) fills gaps of a global table processor by processor; this
one goes by time and is 3 to 16 % shorter on its finite-element patterns. Independent restarts, all
factors new (the notes'), gain half.
Reference: list scheduling of open shops, Gonzalez, Sahni, doi:10.1145/321978.321985; none for the
restarts.

`as`, the text's own scheduler of the transfers of a phase.

Problem: the connections of a phase, each with its amount of data, and optionally a partial order
between them; give every one a start and an end such that a processor sends one at a time and
receives one at a time. Idea (AS, the automatic scheduler of the ConSet text): compute the duration
of every connection; until all are scheduled take the processor with the largest MIN_TIME, of it the
connection with the largest duration, and put that into the first gap of the timetable that is large
enough on both processors; update MIN_TIME.
Invariant: what is in the table overlaps nowhere; it is never moved again.
Complexity: O(messages · (degree · hops + log messages)) in time, O(messages + sum of hops) in
memory.
When to use it: as the text's reference. `event-list` is 3 to 16 % shorter.
Assumptions the text leaves open: MIN_TIME is the work a processor still has to schedule, what it
sends and what it receives together; "its connection" may go either way; ties are broken at random,
by the seed.
Order: the text has an extended scheduler with constraints in a report that never became public.
Here a connection may be chosen when all before it are in the table, and gaps before the last of
their ends are not looked at.
Departures: the text's table knows processors only, and it says itself that congestion is missing;
here a transfer also holds a unit of every link of its route, as timetables promise (on a crossbar
the two agree). A half-duplex machine has one line for each processor, as the text's Table 6 was
predicted.
Reference: Feldmann, Stricker, Warfel: Supporting sets of arbitrary connections on iWarp through
communication context switches, Section 4.4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import numpy as np

from conset import _core
from conset.base import Floats, Ints32, unknown_name
from conset.methods.phases.core import (
    NO_LINKS,
    NO_OFFSETS,
    Timing,
    core_arguments,
    core_order,
    time_lines,
)
from conset.methods.phases.problem import Phases, Problem
from conset.schedule import depths

RESTARTS = 50
"""In a sweep of effort."""
MAX_PROBES = 8_000_000
"""Transfers times largest degree times restarts of a sweep, at most."""
NOISE = 0.3
ROUNDING = 1 + 1e-12


def schedule_event_list(problem: Problem) -> Phases:
    """One phase with a timetable, transfers in the order of their starts; keeps an order."""
    messages = problem.pattern.messages
    if messages == 0:
        return Phases(np.zeros(1, np.int64), np.zeros(0, np.int32))
    together = Phases(np.array([0, messages], np.int64), np.arange(messages, dtype=np.int32))
    timing = time_lines(problem, together, method="event-list")
    try:
        found = [time_event_list(problem, together, method="event-list")]
    except _core.Interrupted:
        if problem.pattern.before is not None:
            raise
        # the longest message first, which takes no time
        longest = np.argsort(-timing.duration, kind="stable").astype(np.int32)
        found = [_in_order(timing, longest)]
    # the most work of a port [s]
    source, target = timing.source, timing.target
    least = max(
        float(np.bincount(end, timing.duration, minlength=1).max()) for end in (source, target)
    )
    with suppress(_core.Interrupted):  # of what is only another start
        for phase in _rounds(problem):
            if found[0][:, 1].max() > least * ROUNDING:
                order = np.argsort(phase, kind="stable").astype(np.int32)
                found.append(_in_order(timing, order))
    table = min(found, key=lambda times: float(times[:, 1].max()))
    depth = depths(problem.pattern.before, messages)  # of windows that are one instant
    order = np.lexsort((depth, table[:, 1], table[:, 0])).astype(np.int32)
    return Phases(
        together.offsets, order, timetable=table[order], stopped_early=_core.should_stop(True)
    )


def _rounds(problem: Problem) -> Iterator[Ints32]:
    """Phases of cheap methods, as phase of each message."""
    network, source, target, width, _ = core_arguments(problem)
    if problem.pattern.before is None:
        yield _core.color_ports(problem.nodes, source, target, problem.search.seed % 2**64)
    first, second = core_order(problem)
    resources = _core.Resources(
        network, source, target, width, _core.Limits(1, 1, 1, 0, False), NO_OFFSETS, NO_LINKS
    )
    longest_first = _core.order_longest_first(resources, np.ascontiguousarray(problem.pattern.size))
    yield _core.first_fit(resources, longest_first, first, second)


def _in_order(timing: Timing, order: Ints32) -> Floats:
    return np.stack(_core.time_in_order(timing.lines, order, timing.offsets), axis=1)


def time_event_list(
    problem: Problem,
    phases: Phases,
    *,
    serial: bool | None = None,
    restarts: int | None = None,
    method: str = "",
) -> Floats:
    """shape=(transfers, 2), float64 [s].

    Start and end of every transfer, counted from the start of its phase.

    Args:
        problem: the pattern, its machine and the seed.
        phases: transfers, with the routes that were chosen for them if any.
        serial: whether a node sends or receives, one at a time; None: where the machine is
            half-duplex.
        restarts: how many; None: by effort and size.
        method: whose costs, where a machine runs methods in several ways.
    """
    timing = time_lines(problem, phases, serial=serial, method=method)
    if restarts is None:
        ends, effort = (timing.source, timing.target), problem.search.effort
        degree = max((int(np.bincount(end).max(initial=1)) for end in ends if end.size), default=1)
        probes = MAX_PROBES * effort // max(1, timing.source.size * degree)
        restarts = min(RESTARTS * effort, probes, 2**31 - 1)
    return np.stack(
        _core.time_event_list(
            timing.lines, timing.offsets, restarts, NOISE, problem.search.seed % 2**64
        ),
        axis=1,
    )


def time_as(
    problem: Problem, phases: Phases, *, serial: bool | None = None, method: str = ""
) -> Floats:
    """shape=(transfers, 2), float64 [s].

    Start and end of every transfer, counted from the start of its phase.

    Args:
        problem: the pattern, its machine and the seed.
        phases: transfers, with the routes that were chosen for them if any.
        serial: whether a node sends or receives, one at a time; None: where the machine is
            half-duplex.
        method: whose costs, where a machine runs methods in several ways.
    """
    timing = time_lines(problem, phases, serial=serial, method=method)
    return np.stack(
        _core.time_as(timing.lines, timing.offsets, problem.search.seed % 2**64), axis=1
    )


class Timetabler(Protocol):
    """Phases in, start and end of every transfer out."""

    def __call__(
        self, problem: Problem, phases: Phases, *, serial: bool | None = None, method: str = ""
    ) -> Floats:
        """shape=(transfers, 2), float64 [s]."""


TIMETABLES: Mapping[str, Timetabler] = {"as": time_as, "event-list": time_event_list}


def find_timetable(name: str) -> Timetabler:
    """The scheduler of timetables called `name`.

    Raises:
        UsageError: unknown, with the nearest known name.
    """
    if name not in TIMETABLES:
        raise unknown_name("timetable", name, TIMETABLES)
    return TIMETABLES[name]


def add_timetable(problem: Problem, phases: Phases, name: str, *, method: str = "") -> Phases:
    """`phases` with a timetable inside each, by the scheduler `name`; one they had is replaced.

    Raises:
        UsageError: an unknown name.
    """
    return replace(phases, timetable=find_timetable(name)(problem, phases, method=method))
