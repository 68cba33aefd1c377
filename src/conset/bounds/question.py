"""Question: what is to be sent under which rules, with the sums that several bounds share, each made once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.machine.costs import Costs, Steps
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.machine.work import Work, plain_sizes, synchronization_s, work_of
from conset.network.routes import core_network, route_hops
from conset.network.routing import Routing
from conset.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.sync import Sync

Routes = Literal["fixed", "free"]


class Found(NamedTuple):
    """What one bound says: a value and its witness in words."""

    value: float
    witness: str


@dataclass(frozen=True, eq=False)
class Question:
    """A placed pattern and the class of schedules that is asked about.

    Attributes:
        pattern: what is sent.
        machine: network and routing.
        costs: of the method that is asked about.
        limits: what every phase keeps.
        placement: shape=(ranks), int32, or None: rank r on node r.
        sync: the policy.
        free: whether a schedule may choose routes; else the machine's.
        split: whether a message may be cut over several phases.
        timetabled: whether an order may be kept inside a phase.
        phases: the number of phases that sums over phases are asked for; None: any.
        lp: whether linear programs may be solved, which take seconds.
    """

    pattern: Pattern
    machine: Machine
    costs: Costs
    limits: Limits
    placement: NDArray[np.int32] | None
    sync: Sync
    free: bool
    split: bool
    timetabled: bool
    phases: int | None = None
    lp: bool = False

    @property
    def topology(self) -> Topology:
        """The network."""
        return self.machine.topology

    @cached_property
    def kept(self) -> NDArray[np.bool_] | None:
        """shape=(messages): which messages leave their node; None: all of them."""
        if self.placement is None:
            return None
        leaves = self.placement[self.pattern.source] != self.placement[self.pattern.target]
        return None if leaves.all() else leaves

    def _nodes(self, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        nodes = ranks if self.placement is None else self.placement[ranks]
        return np.ascontiguousarray(nodes if self.kept is None else nodes[self.kept])

    @cached_property
    def source(self) -> NDArray[np.int32]:
        """shape=(messages that leave their node), int32: the node each leaves."""
        return self._nodes(self.pattern.source)

    @cached_property
    def target(self) -> NDArray[np.int32]:
        """Shape as `source`: the node each enters."""
        return self._nodes(self.pattern.target)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Shape as `source` [B]."""
        if self.pattern.size.strides == (0,):
            return self.pattern.size[: self.source.size]
        return self.pattern.size if self.kept is None else self.pattern.size[self.kept]

    def index(self, k: int) -> int:
        """The message that is the k-th to leave its node."""
        return k if self.kept is None else int(np.flatnonzero(self.kept)[k])

    @cached_property
    def sends(self) -> NDArray[np.int64]:
        """shape=(nodes): messages that leave each node."""
        return np.bincount(self.source, minlength=self.topology.nodes)

    @cached_property
    def receives(self) -> NDArray[np.int64]:
        """shape=(nodes): messages that enter each node."""
        return np.bincount(self.target, minlength=self.topology.nodes)

    @cached_property
    def totals(self) -> _core.Totals:
        """Messages and bytes on every link of the machine's routes."""
        return _core.count_totals(self.network, self.source, self.target, plain_sizes(self.size))

    @cached_property
    def link_messages(self) -> NDArray[np.int64]:
        """shape=(link_slots): messages on every link of the machine's routes."""
        messages: NDArray[np.int64] = self.totals.messages
        return messages

    @property
    def network(self) -> _core.Network:
        """The core's form of the network and the machine's routing."""
        return core_network(self.topology, self.machine.routing)

    @cached_property
    def least_hops(self) -> NDArray[np.int32]:
        """Shape as `source`, int32: links on a shortest path; 0 on a crossbar."""
        return route_hops(self.topology, Routing.default(self.topology), self.source, self.target)

    @cached_property
    def work(self) -> Work:
        """Costs of messages under the policy; where messages may be split, parts may be cheaper than the whole.

        A timetable keeps messages on a link apart, so that none is slowed down by others.
        """
        work = work_of(self.machine, self.costs, self.sync.kind)
        if self.timetabled:
            work = replace(work, blocking=0.0)
        if not self.split:
            return work
        least = Steps(tuple(np.minimum.accumulate(work.overhead.seconds).tolist()), work.overhead.up_to_B)
        return Work(
            least, work.out, work.into, work.node, work.exchange, work.link, work.width, work.tolerance, work.blocking
        )

    @cached_property
    def alone(self) -> NDArray[np.float64]:
        """Shape as `source` [s]: what each message takes alone; one broadcast element where all take the same."""
        work = self.work
        slowest: float | NDArray[np.float64]
        if work.link.size == 0:
            slowest = 0.0
        elif work.uniform_link or self.free:
            slowest = float(work.link.min())
        else:
            slowest = _core.slowest_links(self.network, self.source, self.target, work.link)
        per_byte = np.maximum(slowest, max(work.out, work.into, work.node))
        size = plain_sizes(self.size)
        return np.broadcast_to(work.overhead.of(size) + size * per_byte, self.size.shape)

    def charges(self, phases: int) -> float:
        """Synchronization and set-up of `phases` phases [s]; what every schedule with at least so many pays."""
        barriers = self.sync.barriers(phases)
        if self.sync.kind == "barrier" and self.costs.first_barrier and phases > 0:
            barriers += 1
        return barriers * synchronization_s(self.machine, self.costs) + phases * self.costs.setup_s
