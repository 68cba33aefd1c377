"""BoundProblem: what is to be sent under which rules.

With the sums that several bounds share, each made once.

Sums that bounds on time share.

What messages ask of processors, slots, ports, nodes and links, in one pass.

Lead-ins and lead-outs are the least over the messages of a resource. Where messages may be split, a
part is only known to pay the least overhead of any size up to the whole, and its bytes may be few:
they lead nothing in or out. Its parts are packed as it is: together they are copied as long as the
whole. The core counts parts of the messages, several at once; time and memory as in
`cpp/include/conset/bounds/sums.hpp`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from conset import _core
from conset.base import Bools, Floats, InputError, Ints, Ints32, count_of, workers
from conset.machine import (
    NO_LINKS,
    Costs,
    Limits,
    Machine,
    Routing,
    Steps,
    Topology,
    core_network,
    link_work,
    message_times,
    plain_sizes,
    route_hops,
    synchronization_s,
)
from conset.pattern import Pattern
from conset.schedule import Sync

Routes = Literal["fixed", "free"]
OrderKept = Literal["inside", "phases"]
"""Where an order between messages is kept: inside a phase too, or by phases alone."""


class BoundValue(NamedTuple):
    """What one bound says: a value and its witness as text."""

    value: float
    witness: str


def require_nodes(pattern: Pattern, machine: Machine, placement: Ints32 | None) -> None:
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
        said: which routes a schedule may take, as text; "": as `free` says.
    """

    pattern: Pattern
    machine: Machine
    costs: Costs
    limits: Limits
    placement: Ints32 | None
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
    def kept(self) -> Bools | None:
        """shape=(messages): which messages leave their node; None: all of them."""
        if self.placement is None:
            return None
        leaves = self.placement[self.pattern.source] != self.placement[self.pattern.target]
        return None if leaves.all() else leaves

    def _nodes(self, ranks: Ints32) -> Ints32:
        nodes = self.nodes_of(ranks)
        return np.ascontiguousarray(nodes if self.kept is None else nodes[self.kept])

    @cached_property
    def source(self) -> Ints32:
        """shape=(messages that leave their node), int32: the node each leaves."""
        return self._nodes(self.pattern.source)

    @cached_property
    def target(self) -> Ints32:
        """Shape as `source`: the node each enters."""
        return self._nodes(self.pattern.target)

    @cached_property
    def size(self) -> Ints:
        """Shape as `source` [B]."""
        if self.pattern.size.strides == (0,):
            return self.pattern.size[: self.source.size]
        return self.pattern.size if self.kept is None else self.pattern.size[self.kept]

    @cached_property
    def packed(self) -> Bools | None:
        """Shape as `source`: which are put together and taken apart; None: none."""
        if self.pattern.packed is None or self.kept is None:
            return self.pattern.packed
        return self.pattern.packed[self.kept]

    def index(self, k: int) -> int:
        """The message that is the k-th to leave its node."""
        return k if self.kept is None else int(np.flatnonzero(self.kept)[k])

    @cached_property
    def sends(self) -> Ints:
        """shape=(nodes): messages that leave each node."""
        return np.bincount(self.source, minlength=self.topology.nodes)

    @cached_property
    def receives(self) -> Ints:
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
    def link_messages(self) -> Ints:
        """shape=(link_slots): messages on every link of the machine's routes."""
        return self.totals.messages

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
    def least_hops(self) -> Ints32:
        """Shape as `source`, int32: links on a shortest path; 0 on a crossbar."""
        return route_hops(self.topology, Routing.default(self.topology), self.source, self.target)

    def nodes_of(self, ranks: Ints32) -> Ints32:
        """The node of each of `ranks`."""
        return ranks if self.placement is None else self.placement[ranks]

    @cached_property
    def link_work(self) -> Floats:
        """Cost of a byte on each link over its whole width [s/B].

        shape=(link_slots), or (1) where all cost the same, or (0) where none costs anything.
        """
        return link_work(self.topology, self.costs, self.topology.widths())

    def ways(self, source: Ints32, target: Ints32) -> tuple[Ints32, Floats]:
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
    def exchanges(self) -> Ints | None:
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

    def exchange_weights(self, source: Ints32, target: Ints32) -> Floats:
        """Shape as `source`: what a byte of each message counts at a node, at least."""
        if self.exchanges is None:
            return np.ones(source.size)
        key = target.astype(np.int64) * self.topology.nodes + source
        at = np.minimum(np.searchsorted(self.exchanges, key), self.exchanges.size - 1)
        back = self.exchanges[at] == key if self.exchanges.size else np.zeros(key.size, bool)
        return np.where(back, self.costs.exchange_weight, 1.0)

    @cached_property
    def alone(self) -> Floats:
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

    def port_work(self, source: Ints32, target: Ints32) -> Floats:
        """Shape as `source` [s/B]: of the slower of a message's ports and nodes."""
        costs = self.costs
        ports = max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps)
        return np.maximum(ports, self.exchange_weights(source, target) / costs.node_Bps)

    @cached_property
    def sums(self) -> WorkSums:
        """What the pattern asks of processors, slots, ports, nodes and links."""
        return sum_up(self)

    def phases_of(self, *users: tuple[Ints, int | None]) -> Ints:
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
        work: Floats,
        lead: Floats,
        needed: Ints,
        phases: int,
    ) -> Floats:
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


CHUNK = 1 << 20
"""Messages of a part: sums are added up part by part, whatever the number of threads."""

NOT_PACKED = np.zeros(0, np.uint8)
"""As the core takes it where no message is packed."""


class Lead:
    """Least lead-in and lead-out of every resource of a kind; infinite where it has no message."""

    def __init__(self, count: int) -> None:
        self.into, self.out = np.full(count, inf), np.full(count, inf)

    def least(self, leads: _core.Leads) -> None:
        """Takes in the leads of more messages, for every resource."""
        np.minimum(self.into, leads.into, out=self.into)
        np.minimum(self.out, leads.out, out=self.out)

    @property
    def both(self) -> Floats:
        """Lead-in and lead-out added."""
        return np.asarray(self.into + self.out)


@dataclass
class WorkSums:
    """What a pattern asks of a machine.

    Attributes:
        send, receive, held: shape=(ranks), float64 [s]: work of the processors; time in slots.
        sending, receiving, holding: lead-ins and lead-outs of these.
        sends, receives: shape=(ranks), int64: messages that leave their node.
        out, into: shape=(nodes), float64 [s]: bytes over the rate of the port, out with start-ups;
            `both` weighed, at the rate of the node.
        leaving, entering, passing: lead-ins and lead-outs of these.
        links: lead-ins and lead-outs of links, where they cost anything and routes are the
            machine's; else None.
        first, last: least lead-in and lead-out of bytes of any message that leaves its node [s].
        longest: (time alone with its wait, message) of the longest message.
        least: the shortest message alone with its wait [s].
    """

    send: Floats
    receive: Floats
    held: Floats
    sending: Lead
    receiving: Lead
    holding: Lead
    sends: Ints
    receives: Ints
    out: Floats
    into: Floats
    both: Floats
    leaving: Lead
    entering: Lead
    passing: Lead
    links: Lead | None
    first: float = inf
    last: float = inf
    longest: tuple[float, int] = (0.0, -1)
    least: float = inf


def costs_of_parts(costs: Costs) -> Costs:
    """The least a part of a message may pay.

    Each overhead and latency of the cheapest size up to the whole.
    """

    def least(steps: Steps) -> Steps:
        return Steps(tuple(np.minimum.accumulate(steps.seconds).tolist()), steps.up_to_B)

    return replace(
        costs,
        send_overhead=least(costs.send_overhead),
        receive_overhead=least(costs.receive_overhead),
        inject=least(costs.inject),
        eject=least(costs.eject),
        hop_by_size=least(costs.hop),
        eager_B=None if costs.eager_B is None else inf,
        copy_Bps=inf,
    )


def sum_up(problem: BoundProblem) -> WorkSums:
    """The sums of a question."""
    ranks, nodes, costs = problem.pattern.ranks, problem.topology.nodes, problem.costs
    with_links = not problem.free and problem.link_work.size > 0
    sums = WorkSums(
        np.zeros(ranks),
        np.zeros(ranks),
        np.zeros(ranks),
        Lead(ranks),
        Lead(ranks),
        Lead(ranks),
        np.zeros(ranks, np.int64),
        np.zeros(ranks, np.int64),
        np.zeros(nodes),
        np.zeros(nodes),
        np.zeros(nodes),
        Lead(nodes),
        Lead(nodes),
        Lead(nodes),
        Lead(problem.topology.link_slots) if with_links else None,
    )
    paid = costs_of_parts(costs) if problem.split else costs
    prices = _prices(problem, paid, with_links)
    if costs.startup_s:
        sums.out += costs.startup_s * problem.sends
    problem.walked, problem.exchanges  # noqa: B018  found once, before threads ask for them

    def count(begin: int) -> _core.MessageSums:
        return _count(problem, prices, slice(begin, begin + CHUNK))

    begins = range(0, problem.pattern.messages, CHUNK)
    if len(begins) <= 1:
        _merge_all(sums, problem, paid, map(count, begins))
        return sums
    with workers(min(len(begins), os.cpu_count() or 1)) as pool:
        _merge_all(sums, problem, paid, pool.map(count, begins))
    return sums


def _prices(problem: BoundProblem, costs: Costs, with_links: bool) -> _core.BoundPrices:
    """What messages cost, as the core takes it.

    `costs`: what they pay, which parts may pay less of.
    """
    ready = problem.sync.kind == "ready"
    once = costs.inject + costs.eject + Steps((costs.per_transfer_s,))
    once = once if ready or problem.split else once + costs.requests
    steps = (costs.send_overhead, costs.receive_overhead, once, costs.hop)
    limits = sorted({limit for each in steps for limit in each.up_to_B})
    per_byte = problem.link_work
    if problem.free and per_byte.size:
        per_byte = np.array([problem.least_link_work])
    send, receive, latency, hop = (np.array([each.at(limit) for limit in limits]) for each in steps)
    return _core.BoundPrices(
        up_to=np.array(limits),
        send=send,
        receive=receive,
        once=latency,
        link=hop,
        per_byte=per_byte,
        port=max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps),
        node_Bps=costs.node_Bps,
        copy_Bps=problem.costs.copy_Bps,
        startup=costs.startup_s,
        setup=costs.setup_s,
        signal=costs.signal_s if ready else 0.0,
        signal_link=costs.hop.at(0) if ready else 0.0,
        eager=-1.0 if costs.eager_B is None else costs.eager_B,
        before=costs.receive == "before",
        ready=ready,
        split=problem.split,
        leads_of_links=with_links,
    )


def _count(problem: BoundProblem, prices: _core.BoundPrices, chunk: slice) -> _core.MessageSums:
    """The sums of a part of the messages."""
    pattern = problem.pattern
    sender, receiver = pattern.source[chunk], pattern.target[chunk]
    source, target = (np.ascontiguousarray(problem.nodes_of(each)) for each in (sender, receiver))
    weight = np.zeros(0) if problem.exchanges is None else problem.exchange_weights(source, target)
    transfers = _core.Transfers(
        problem.walked, source, target, *NO_LINKS, plain_sizes(pattern.size[chunk])
    )
    packed = NOT_PACKED if pattern.packed is None else pattern.packed[chunk].astype(np.uint8)
    return _core.sum_messages(
        transfers, _core.Ranks(sender, receiver, pattern.ranks, packed), weight, prices
    )


def _merge_all(
    sums: WorkSums, problem: BoundProblem, costs: Costs, parts: Iterable[_core.MessageSums]
) -> None:
    """Adds up the parts in their order, so that sums do not depend on threads."""
    for number, part in enumerate(parts):
        _merge(sums, problem, costs, part)
        if part.longest > sums.longest[0] or sums.longest[1] < 0:
            sums.longest = part.longest, number * CHUNK + part.longest_at
        sums.least = min(sums.least, part.least)
        sums.first, sums.last = min(sums.first, part.first), min(sums.last, part.last)


def _merge(sums: WorkSums, problem: BoundProblem, costs: Costs, part: _core.MessageSums) -> None:
    for name in ("sends", "receives", "send", "receive", "held"):
        np.add(getattr(sums, name), getattr(part, name), out=getattr(sums, name))
    if problem.sync.kind == "ready":
        sums.send += costs.signal_s / 2 * part.receives
        sums.receive += costs.signal_s / 2 * part.sends
    sums.out += part.out / costs.port_out_Bps
    sums.into += part.into / costs.port_in_Bps
    leads = ["sending", "receiving", "holding", "leaving", "entering"]
    if costs.node_Bps < inf:
        sums.both += part.weighed_out / costs.node_Bps
        sums.both += part.weighed_in / costs.node_Bps
        leads.append("passing")
    if sums.links is not None:
        leads.append("links")
    for name in leads:
        getattr(sums, name).least(getattr(part, name))
