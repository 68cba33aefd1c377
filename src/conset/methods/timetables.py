"""The table of timetables: how the transfers of a phase may be put one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from conset.errors import unknown_name
from conset.methods.event_list import time_event_list
from conset.methods.problem import Phases, Problem
from conset.methods.timetable_as import time_as


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
