"""Timetables: how the transfers of a phase follow one another, by which of two schedulers.

Here is AS, the text's own.

Problem: the connections of a phase, each with its amount of data, and optionally a partial order
between them; give every one a start and an end such that a processor sends one at a time and
receives one at a time. Idea (AS, the automatic scheduler of the ConSet text): compute the duration
of every connection; until all are scheduled take the processor with the largest MIN_TIME, of it the
connection with the largest duration, and put that into the first gap of the timetable that is large
enough on both processors; update MIN_TIME. Invariant: what is in the table overlaps nowhere; it is
never moved again. Complexity: O(messages · (degree · hops + log messages)) in time, O(messages +
sum of hops) in memory. When to use it: as the text's reference. `event-list` is 3 to 16 % shorter.
Assumptions the text leaves open: MIN_TIME is the work a processor still has to schedule, what it
sends and what it receives together; "its connection" may go either way; ties are broken at random,
by the seed. Order: the text has an extended scheduler with constraints in a report that never
became public. Here a connection may be chosen when all before it are in the table, and gaps before
the last of their ends are not looked at. Departures: the text's table knows processors only, and it
says itself that congestion is missing; here a transfer also holds a unit of every link of its
route, as timetables promise (on a crossbar the two agree). A half-duplex machine has one line for
each processor, as the text's Table 6 was predicted. Reference: Feldmann, Stricker, Warfel:
Supporting sets of arbitrary connections on iWarp through communication context switches, Section
4.4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import unknown_name
from conset.methods.phases.core import time_lines
from conset.methods.phases.event_list import time_event_list
from conset.methods.phases.problem import Phases, Problem


def time_as(
    problem: Problem, phases: Phases, *, serial: bool | None = None, method: str = ""
) -> NDArray[np.float64]:
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
    ) -> NDArray[np.float64]:
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
