"""Problem and Phases: what every method is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conset import _core
from conset.base.arrays import ValueObject, frozen, frozen_ints
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern

Routes = Literal["fixed", "free"]
"""The machine's routes, or routes that the method chooses."""
Objective = Literal["time", "phases"]
"""The least time, or the fewest phases, then the least ΣL."""


@dataclass(frozen=True)
class SearchOptions:
    """How a method searches.

    Attributes:
        seed: of every random choice.
        effort: how long to search, counted in sweeps, never in seconds; 0: not at all, where a
            construction does.
        routes: the machine's, or chosen by a method that can.
        router: which one finds the routes of `connections`; None: the best of those that apply.
        objective: `time`, or `phases`: fewest phases, then least ΣL.
        phases: how many `connections` makes; None: as the objective says.
        posting: what `naive` orders the messages of each rank by: a word of
            `conset.schedule.policy`.
    """

    seed: int = 0
    effort: int = 1
    routes: Routes = "fixed"
    router: str | None = None
    objective: Objective = "time"
    phases: int | None = None
    posting: str = "schedule"


@dataclass(frozen=True, eq=False)
class Problem:
    """A placed pattern on a machine, to be cut into phases under limits.

    Attributes:
        pattern: what is sent.
        machine: network, routing and costs.
        limits: what every phase must keep.
        placement: shape=(ranks), int32: node of each rank; None: rank r on node r.
        search: how the method searches.
        min_bandwidth: shape=(messages), float64 [B/s]: what every connection must be guaranteed; or
            None.
        max_latency: shape=(messages), float64 [s]: what an element of every connection may take at
            most, infinite: any time; or None.
    """

    pattern: Pattern
    machine: Machine
    limits: Limits
    placement: NDArray[np.int32] | None = None
    search: SearchOptions = field(default_factory=SearchOptions)
    min_bandwidth: NDArray[np.float64] | None = None
    max_latency: NDArray[np.float64] | None = None

    @cached_property
    def source_node(self) -> NDArray[np.int32]:
        """shape=(messages), int32: the node message `m` leaves."""
        source = self.pattern.source
        return source if self.placement is None else frozen(self.placement[source])

    @cached_property
    def target_node(self) -> NDArray[np.int32]:
        """shape=(messages), int32: the node message `m` enters."""
        target = self.pattern.target
        return target if self.placement is None else frozen(self.placement[target])

    @property
    def nodes(self) -> int:
        """Nodes of the network."""
        return self.machine.topology.nodes


@dataclass(frozen=True, eq=False)
class Phases(ValueObject):
    """What a method found; the arrays are those of `Schedule`.

    Attributes:
        offsets: shape=(phases + 1), int64.
        message: shape=(transfers), int32, in the order in which they are posted.
        parts: shape=(transfers), int64 [B], where messages are split.
        route_offsets: shape=(transfers + 1), int64, where the method chose routes.
        route_nodes: int32 node ids, ends included.
        timetable: shape=(transfers, 2), float64 [s].
        channels: int32, the channel each route takes in each node of `route_nodes`, where
            connections are opened.
        stopped_early: the search was interrupted; the phases are valid all the same.
        note: what a user should know of how they were found, such as that a method fell back to
            another one.
    """

    offsets: NDArray[np.int64]
    message: NDArray[np.int32]
    parts: NDArray[np.int64] | None = None
    route_offsets: NDArray[np.int64] | None = None
    route_nodes: NDArray[np.int32] | None = None
    timetable: NDArray[np.float64] | None = None
    channels: NDArray[np.int32] | None = None
    stopped_early: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        self._freeze()

    @staticmethod
    def of(phase: ArrayLike, order: NDArray[np.int32] | None = None) -> Phases:
        """Phases from the phase of each message.

        Empty phases vanish, messages stay in index order within a phase.

        Args:
            phase: shape=(messages), whole numbers from 0.
            order: shape=(messages), int32: another order within phases, as ranks (lower is posted
                first).
        """
        phase = np.ascontiguousarray(frozen_ints(phase, np.int32, "phase"))
        if order is None:
            found = _core.group_phases(phase)
            return Phases(found.offsets, found.message)
        count = np.bincount(phase)
        offsets = np.concatenate([[0], np.cumsum(count[count > 0])]).astype(np.int64)
        return Phases(offsets, np.lexsort((order, phase)).astype(np.int32))
