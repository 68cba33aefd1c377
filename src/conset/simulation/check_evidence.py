"""Evidence: a timeline with all that a rule of the checker looks at, computed again from the workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.schedule.sync import Sync, parse_sync
from conset.simulation.bounds import Demand
from conset.simulation.check_routes import Routes
from conset.simulation.costs import effective_costs
from conset.simulation.needs import HELD, Needs
from conset.simulation.resources import Resources
from conset.simulation.settings import Settings
from conset.simulation.timeline import Timeline
from conset.simulation.workload import Workload

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative: of a capacity, a time, a number of bytes."""


@dataclass(frozen=True)
class Violation:
    """What is impossible.

    Attributes:
        rule: `route`, `release`, `latency`, `processor`, `deps`, `policy`, `order`, `in flight`, `receives`, `bound`,
            `figures`, `conservation`, `capacity`, `lanes`, `fairness`.
        text: one line with what, where and both numbers.
    """

    rule: str
    text: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """A timeline, what was played, where and how."""

    timeline: Timeline
    workload: Workload
    machine: Machine
    settings: Settings

    @property
    def model(self) -> str:
        """`flow`, `wormhole`, `circuit`, `flit`."""
        return self.timeline.model

    @property
    def held(self) -> bool:
        """Whether messages hold channels."""
        return self.model in HELD

    @cached_property
    def costs(self) -> Costs:
        """As simulators take them."""
        return effective_costs(self.machine, self.workload.method)

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
            self.workload, self.machine, self.settings, self.model, routes.offsets, routes.links
        )  # fmt: skip

    @cached_property
    def demand(self) -> Demand:
        """For bounds."""
        return Demand.of(self.workload, self.machine, self.settings, self.model, self.resources)

    @property
    def needs(self) -> Needs:
        """What each message takes at least."""
        return self.demand.needs

    @property
    def start(self) -> Floats:
        """shape=(messages) [s]: let go."""
        return self.timeline.start_s

    @property
    def end(self) -> Floats:
        """shape=(messages) [s]: delivered."""
        return self.timeline.end_s

    @cached_property
    def slack(self) -> float:
        """What two times may differ by and still be one [s]."""
        return TOLERANCE * max(self.timeline.time_s, 1e-30)

    @cached_property
    def cycle(self) -> float:
        """Of the flit model [s]; 0 in others: nothing else happens in steps."""
        return self.costs.flit_B / self.costs.link_Bps if self.model == "flit" else 0.0

    @cached_property
    def senders(self) -> NDArray[np.int32]:
        """shape=(messages): who has the list that a message stands in: a rank; a node for `flit`."""
        return self.workload.source if self.model == "flit" else self.workload.sending_rank

    @cached_property
    def receivers(self) -> NDArray[np.int32]:
        """shape=(messages): likewise at the other end."""
        return self.workload.target if self.model == "flit" else self.workload.receiving_rank

    @cached_property
    def received_first(self) -> Floats:
        """shape=(messages) [s]: overheads of receives that are paid with the path held, before bytes flow."""
        if self.model == "flow":
            return np.asarray(np.where(self.needs.serial, 0.0, self.needs.receive))
        after = self.costs.receive == "after" or self.model == "flit"
        return np.where(after | self.needs.buffered, 0.0, self.needs.receive)

    @cached_property
    def flows(self) -> NDArray[np.bool_]:
        """shape=(messages): which have bytes that take time on the network."""
        work = self.workload
        return np.asarray(work.crosses & (work.bytes > 0) & np.isfinite(self.resources.slowest))

    @cached_property
    def streams(self) -> tuple[Floats, Floats] | None:
        """(first byte, last byte), shape=(messages) [s], by the rates; the end where nothing flows; None without."""
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
        return [Violation(rule, f"message {m}: {what} at {times[m]:.9g} s, must be at least {earliest[m]:.9g} s")]
