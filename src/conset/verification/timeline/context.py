"""A timeline with all that a rule of the checker looks at, computed again from the workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.models.bounds import Demand
from conset.models.needs import HELD, MessageTimes, cycle_of
from conset.models.order import Rows, in_list_order
from conset.models.resources import Resources
from conset.models.settings import Settings
from conset.models.timeline import Timeline
from conset.models.workload import Workload
from conset.schedule.policy import Sync, parse_sync
from conset.verification.timeline.begins import PhaseVisits
from conset.verification.timeline.routes import Routes

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative: of a capacity, a time, a number of bytes."""
GRAIN_S = 1e-15
"""What the times of one element, under `connections`, are multiples of."""


@dataclass(frozen=True)
class Violation:
    """What is impossible.

    Attributes:
        rule: `route`, `release`, `latency`, `processor`, `set-up`, `deps`, `policy`, `order`,
            `in flight`, `receives`, `bound`, `figures`, `conservation`, `capacity`, `lanes`,
            `fairness`, `channels`.
        text: one line with what, where and both numbers.
    """

    rule: str
    text: str


@dataclass(frozen=True, eq=False)
class CheckContext:
    """A timeline, what was played, where and how."""

    timeline: Timeline
    workload: Workload
    machine: Machine
    settings: Settings

    @property
    def model(self) -> str:
        """`flow`, `wormhole`, `circuit`, `flit`, `connections`."""
        return self.timeline.model

    @property
    def held(self) -> bool:
        """Whether messages hold channels."""
        return self.model in HELD

    @cached_property
    def costs(self) -> Costs:
        """Of running what a method found."""
        return self.machine.costs_for(self.workload.method)

    @cached_property
    def sync(self) -> Sync:
        """The policy between phases."""
        return parse_sync(self.settings.sync if self.workload.phases else "none")

    @cached_property
    def routes(self) -> Routes:
        """The links of every message."""
        return Routes.of(self.workload, self.machine)

    @cached_property
    def resources(self) -> Resources:
        """What messages share."""
        routes = self.routes
        return Resources.of(
            self.workload,
            self.machine,
            self.settings,
            self.model,
            routes.offsets,
            routes.links,
            routes.spread,
        )

    @cached_property
    def demand(self) -> Demand:
        """For bounds."""
        return Demand.of(self.workload, self.machine, self.settings, self.model, self.resources)

    @property
    def needs(self) -> MessageTimes:
        """What each message takes at least."""
        return self.demand.needs

    @property
    def injected_only(self) -> bool:
        """Whether the timeline starts when the first flit was injected.

        After slot and send overhead.
        """
        return self.model == "flit" and self.sent is None

    @cached_property
    def start(self) -> Floats:
        """shape=(messages) [s]: when each took its slot; at the latest where nobody says."""
        return (
            self.timeline.start_s - self.needs.send if self.injected_only else self.timeline.start_s
        )

    @property
    def end(self) -> Floats:
        """shape=(messages) [s]: delivered."""
        return self.timeline.end_s

    @property
    def sent(self) -> Floats | None:
        """shape=(messages) [s]: when its send overhead was paid; None where nobody says."""
        return self.timeline.sent_s if self.timeline.sent_s.size == self.end.size else None

    @cached_property
    def first(self) -> Floats | None:
        """shape=(messages) [s]: when its bytes began to flow; None where nobody says."""
        if self.timeline.first_byte_s.size == self.end.size:
            return self.timeline.first_byte_s
        if self.injected_only:
            return self.timeline.start_s
        return None if self.streams is None else np.where(self.flows, self.streams[0], self.end)

    @cached_property
    def left(self) -> Floats | None:
        """shape=(messages) [s]: when its bytes had left; None where nobody says."""
        if self.timeline.left_s.size == self.end.size:
            return self.timeline.left_s
        if self.streams is None:
            return None
        # what has no bytes that take time has left before its receiver pays
        return np.where(self.flows, self.streams[1], self.end - self.needs.after)

    @property
    def slot_free(self) -> Floats:
        """shape=(messages) [s]: when its slot was free, at the earliest where nobody says."""
        return self.start + self.needs.of_slot if self.left is None else self.left

    @cached_property
    def slack(self) -> float:
        """What two times may differ by and still be one [s]; rounded times of elements add up."""
        relative = TOLERANCE
        if self.model == "connections":
            rates = self.resources.capacity
            relative += (
                GRAIN_S * float(rates[np.isfinite(rates)].max(initial=0.0)) / self.costs.flit_B
            )
        return relative * max(self.timeline.time_s, 1e-30)

    @cached_property
    def cycle(self) -> float:
        """Of the flit model [s]; 0 in others: nothing else happens in steps."""
        return cycle_of(self.costs, self.model)

    @property
    def setup_s(self) -> float:
        """Of a phase [s]; 0 where there are none."""
        return self.demand.setup_s

    @property
    def senders(self) -> NDArray[np.int32]:
        """shape=(messages): the rank that has the list in which a message stands."""
        return self.workload.sending_rank

    @property
    def receivers(self) -> NDArray[np.int32]:
        """shape=(messages): the rank at the other end."""
        return self.workload.receiving_rank

    @cached_property
    def rows(self) -> Rows:
        """The sends of every rank in posting order."""
        return in_list_order(self.workload, self.senders)

    @property
    def listed(self) -> bool:
        """Whether receives go by the receiver's list; `flow` does unless it is told otherwise."""
        order = self.settings.receive_order
        return order == "list" or (order is None and self.model == "flow")

    @cached_property
    def in_order(self) -> bool:
        """Whether ranks take slots in posting order: in schedules, and where slots are limited."""
        return self.workload.phases > 0 or self.settings.in_flight is not None

    @cached_property
    def begins(self) -> PhaseVisits:
        """When ranks may enter phases, by the deliveries that the timeline states."""
        return PhaseVisits.of(self.workload, self.machine, self.sync, self.end, self.cycle)

    @cached_property
    def flows(self) -> NDArray[np.bool_]:
        """shape=(messages): which have bytes that take time on the network."""
        work = self.workload
        return np.asarray(work.crosses & (work.bytes > 0) & np.isfinite(self.resources.slowest))

    @cached_property
    def streams(self) -> tuple[Floats, Floats] | None:
        """(first byte, last byte), shape=(messages) [s], by the rates; the end where nothing flows.

        None without.
        """
        rates = self.timeline.rates
        if rates is None:
            return None
        first, last = self.end.copy(), self.end.copy()
        seen = np.zeros(self.end.size, bool)
        seen[rates.message] = True
        last[seen] = -np.inf
        np.minimum.at(first, rates.message, rates.time_s)
        np.maximum.at(last, rates.message, rates.time_s)
        return first, last

    def not_before(self, rule: str, earliest: Floats, times: Floats, what: str) -> list[Violation]:
        """`times[m] >= earliest[m]` for every message; the worst one that is not."""
        late = earliest - times
        if not late.size or not late.max() > self.slack:
            return []
        m = int(late.argmax())
        return [
            Violation(
                rule,
                f"message {m}: {what} at {times[m]:.9g} s, must be at least {earliest[m]:.9g} s",
            )
        ]
