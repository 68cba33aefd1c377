"""BoundProblem: what is to be sent under which rules.

With the sums that several bounds share, each made once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import InputError
from conset.base.units import count_of
from conset.machine.costs import Costs
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import core_network, route_hops
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.machine.times import link_work, message_times, plain_sizes, synchronization_s
from conset.pattern.pattern import Pattern
from conset.schedule.policy import Sync

if TYPE_CHECKING:
    from conset.bounds.sums import WorkSums


Routes = Literal["fixed", "free"]
OrderKept = Literal["inside", "phases"]
"""Where an order between messages is kept: inside a phase too, or by phases alone."""


class BoundValue(NamedTuple):
    """What one bound says: a value and its witness in words."""

    value: float
    witness: str


def require_nodes(pattern: Pattern, machine: Machine, placement: NDArray[np.int32] | None) -> None:
    """Raises InputError unless every rank has a node on the machine."""
    endpoints = machine.topology.endpoints
    last = pattern.ranks - 1 if placement is None else int(np.max(placement, initial=-1))
    if last >= endpoints:
        raise InputError(
            f"node {last} holds a rank of {pattern.name}: {machine.name} has "
            f"{count_of(endpoints, 'endpoint')}"
        )


@dataclass(frozen=True, eq=False)
class BoundProblem:
    """A placed pattern and the class of schedules that is asked about.

    Attributes:
        pattern: what is sent.
        machine: network and routing.
        costs: of the method that is asked about.
        limits: what every phase keeps.
        placement: shape=(ranks), int32, or None: rank r on node r.
        sync: the policy.
        free: whether a schedule may choose routes, or the machine's are not known; else they are
            the machine's.
        split: whether a message may be cut over several phases.
        inside: whether an order may be kept inside a phase.
        phases: the number of phases that sums over phases are asked for; None: any.
        lp: whether linear programs may be solved, which take seconds.
        in_flight: the most messages that a rank may have in flight, None: any number.
        machine_routes: whether routes are the machine's, known or not.
        said: which routes a schedule may take, in words; "": as `free` says.
    """

    pattern: Pattern
    machine: Machine
    costs: Costs
    limits: Limits
    placement: NDArray[np.int32] | None
    sync: Sync
    free: bool
    split: bool
    inside: bool
    phases: int | None = None
    lp: bool = False
    in_flight: int | None = None
    machine_routes: bool = True
    said: str = ""

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
        nodes = self.nodes_of(ranks)
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

    @cached_property
    def packed(self) -> NDArray[np.bool_] | None:
        """Shape as `source`: which are put together and taken apart; None: none."""
        if self.pattern.packed is None or self.kept is None:
            return self.pattern.packed
        return self.pattern.packed[self.kept]

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
    def expected(self) -> _core.ExpectedTotals:
        """Expected messages and bytes on every link over the hash of the machine's routing."""
        return _core.expect_totals(self.network, self.source, self.target, plain_sizes(self.size))

    @property
    def is_hashed(self) -> bool:
        """Whether routes are the machine's, drawn by a hash: bounds speak of the expectation."""
        return self.machine_routes and self.machine.routing.knowledge == "hashed"

    @property
    def is_adaptive(self) -> bool:
        """Whether messages may be spread over routes as switches find best."""
        return self.machine_routes and self.machine.routing.knowledge == "adaptive"

    def per_supply(self, amount: int, supply: int) -> float:
        """Phases' loads that `amount` needs at least.

        Whole ones, or fractions where loads are expected or spread.
        """
        return -(-amount // supply) if self.machine.routing.is_known else amount / supply

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
    def walked(self) -> _core.Network:
        """As `network`, with the shortest routes where a schedule may choose."""
        return (
            core_network(self.topology, Routing.default(self.topology))
            if self.free
            else self.network
        )

    @cached_property
    def least_hops(self) -> NDArray[np.int32]:
        """Shape as `source`, int32: links on a shortest path; 0 on a crossbar."""
        return route_hops(self.topology, Routing.default(self.topology), self.source, self.target)

    def nodes_of(self, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """The node of each of `ranks`."""
        return ranks if self.placement is None else self.placement[ranks]

    @cached_property
    def link_work(self) -> NDArray[np.float64]:
        """Cost of a byte on each link over its whole width [s/B].

        shape=(link_slots), or (1) where all cost the same, or (0) where none costs anything.
        """
        return link_work(self.topology, self.costs, self.topology.widths())

    def ways(
        self, source: NDArray[np.int32], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """(hops, seconds per byte of the slowest link) of routes between nodes.

        Free routes: at least that.
        """
        source, target = np.ascontiguousarray(source), np.ascontiguousarray(target)
        if self.topology.link_slots == 0:
            return np.zeros(source.size, np.int32), np.zeros(source.size)
        routing = Routing.default(self.topology) if self.free else self.machine.routing
        hops = route_hops(self.topology, routing, source, target)
        if self.free or self.link_work.size <= 1:
            return hops, np.where(hops > 0, self.least_link_work, 0.0)
        return hops, _core.slowest_links(self.network, source, target, self.link_work)

    @cached_property
    def least_link_work(self) -> float:
        """Of the links that a message may take [s/B]: of the fastest.

        Of a message that is spread, of all at its end.

        Parts of a spread message share the links out of its node, and no message leaves faster than
        all of them carry.
        """
        work, topology = self.link_work, self.topology
        if not work.size:
            return 0.0
        if not self.is_adaptive or not work.all():
            return float(work.min(initial=inf))
        rate = np.bincount(
            topology.link_source, np.broadcast_to(1 / work, topology.link_slots), topology.nodes
        )
        return float(1 / rate[: topology.endpoints].max())

    @cached_property
    def exchanges(self) -> NDArray[np.int64] | None:
        """Pairs of nodes with messages, as one sorted number each.

        None where no byte of an exchange counts less.

        Messages of a pair may meet under the policy; which bytes do is the schedule's, so all of
        them count less.
        """
        costs = self.costs
        if (
            costs.exchange_weight == 1
            or costs.node_Bps == inf
            or self.sync.kind not in costs.exchange_syncs
        ):
            return None
        return np.unique(self.source.astype(np.int64) * self.topology.nodes + self.target)

    def exchange_weights(
        self, source: NDArray[np.int32], target: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Shape as `source`: what a byte of each message counts at a node, at least."""
        if self.exchanges is None:
            return np.ones(source.size)
        key = target.astype(np.int64) * self.topology.nodes + source
        at = np.minimum(np.searchsorted(self.exchanges, key), self.exchanges.size - 1)
        back = self.exchanges[at] == key if self.exchanges.size else np.zeros(key.size, bool)
        return np.where(back, self.costs.exchange_weight, 1.0)

    @cached_property
    def alone(self) -> NDArray[np.float64]:
        """Shape as `source` [s].

        What each message that leaves its node takes alone, with one set-up.
        """
        hops, per_byte = self.ways(self.source, self.target)
        slowest = np.maximum(per_byte, self.port_work(self.source, self.target))
        crosses = np.ones(self.source.size, bool)
        return (
            self.costs.setup_s
            + message_times(self.costs, self.size, crosses, hops, slowest, packed=self.packed).alone
        )

    def port_work(
        self, source: NDArray[np.int32], target: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Shape as `source` [s/B]: of the slower of a message's ports and nodes."""
        costs = self.costs
        ports = max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps)
        return np.maximum(ports, self.exchange_weights(source, target) / costs.node_Bps)

    @cached_property
    def sums(self) -> WorkSums:
        """What the pattern asks of processors, slots, ports, nodes and links."""
        from conset.bounds.sums import sum_up

        return sum_up(self)

    def phases_of(self, *users: tuple[NDArray[np.int64], int | None]) -> NDArray[np.int64]:
        """Phases that each resource has messages in, at least.

        1, or messages over what a phase may hold of them.
        """
        phases = np.ones(users[0][0].shape, np.int64)
        for count, limit in users:
            if limit is not None:
                phases = np.maximum(phases, -(-count // limit))
        return phases

    def in_groups(
        self,
        work: NDArray[np.float64],
        lead: NDArray[np.float64],
        needed: NDArray[np.int64],
        phases: int,
    ) -> NDArray[np.float64]:
        """Time of resources [s]: work and lead-in and lead-out.

        With barriers, these once for every group of phases.

        A group is over when all its messages are delivered, so a resource pays its least lead-in
        and lead-out in each group it has messages in; each further group takes that, or the
        shortest message.

        Args:
            work: shape=(resources) [s].
            lead: shape=(resources) [s]; infinite where a resource has no message.
            needed: shape=(resources): phases that it has messages in, at least.
            phases: phases of any schedule of the class, at least.
        """
        used = np.isfinite(lead)
        if self.sync.kind != "barrier":
            return np.where(used, work + np.where(used, lead, 0.0), 0.0)
        own = -(-needed // self.sync.every)
        others = np.maximum(0, -(-phases // self.sync.every) - own)
        time = (
            work
            + own * np.where(used, lead, 0.0)
            + others * np.minimum(np.where(used, lead, 0.0), self.sums.least)
        )
        return np.where(used, time, 0.0)

    def all_bytes(self, work: float, phases: int) -> float:
        """Time in which all bytes of the pattern need `work` seconds [s].

        They flow between the least leads.
        """
        if self.source.size == 0:
            return 0.0
        groups = -(-phases // self.sync.every) if self.sync.kind == "barrier" else 1
        return work + min(self.sums.first + self.sums.last, self.sums.least) * groups

    def more_groups(self, groups: int, phases: int) -> float:
        """What groups beyond `groups` take at least [s]: each has a message."""
        if self.sync.kind != "barrier":
            return 0.0
        return max(0, -(-phases // self.sync.every) - groups) * self.sums.least

    def charges(self, phases: int) -> float:
        """Synchronizations [s] that every schedule with at least so many phases pays."""
        barriers = self.sync.barriers(phases)
        if self.sync.kind == "barrier" and self.costs.first_barrier and phases > 0:
            barriers += 1
        return barriers * synchronization_s(self.machine, self.costs)
