"""Bounds: what no execution of a workload under given settings can beat.

In each class, without simulating it.

These are bounds on *this* order and these settings, for checking timelines and drawn beside them;
what no schedule of a pattern can beat is the business of `conset.bounds`.

    resource       bytes of a link, port or node over its rate, after the least way there of a
                   message of it and before the least receive overhead after it (`flit`: flits times
                   a cycle)
    processor      send overheads, set-ups and signals of a rank, and the least rest of a message
                   after its overhead; receive overheads likewise after the least way there; both
                   added where one processor pays for both and sending interrupts nothing, and those
                   of all ranks of a node where they share it
    slots          the sum over a rank's messages of how long each keeps its slot alone, over the
                   slots it has
    message        each alone, after what it depends on and, under `local` and `ready`, the phases
                   before of its ends
    barriers       the sum of these over the groups between barriers, with the barriers

Where there are phases, every transfer is after a set-up of its ends. `connections` has the bounds
of resources, messages and barriers: what its ends pay passes together, and a slot is free when the
last element has left.

Resources: what the messages of a workload share, as flat arrays.

For checks, not for simulating.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from conset.base import Bools, Floats, Ints, Ints32, count_of, format_rate, format_size
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.models.needs import MessageTimes, cycle_of, partners, rounded_up
from conset.models.settings import Settings
from conset.models.timeline import Rates, resource_name
from conset.models.workload import Workload
from conset.schedule.policy import parse_sync

Bound = tuple[float, str]
"""(time [s], witness)."""

ROUNDS = 64
"""Longest chain of dependences that is followed."""
MAX_PHASES = 4096
"""Phases over which chains of phases are followed."""


@dataclass(frozen=True, eq=False)
class Demand:
    """A workload under settings, with what its messages need and share."""

    workload: Workload
    machine: Machine
    settings: Settings
    model: str
    resources: Resources
    needs: MessageTimes

    @staticmethod
    def of(
        workload: Workload, machine: Machine, settings: Settings, model: str, resources: Resources
    ) -> Demand:
        """The demand over the routes of `resources`."""
        needs = MessageTimes.of(
            workload, machine, settings, model, resources.hops, resources.bytes / resources.slowest
        )
        return Demand(workload, machine, settings, model, resources, needs)

    @property
    def costs(self) -> Costs:
        """Of running what a method found."""
        return self.machine.costs_for(self.workload.method)

    @property
    def setup_s(self) -> float:
        """Of a phase [s]; 0 where there are none."""
        return (
            rounded_up(self.costs.setup_s, cycle_of(self.costs, self.model))
            if self.workload.phases
            else 0.0
        )


def lower_bound(demand: Demand) -> Bound:
    """(time [s], witness): the largest of all bounds that hold."""
    work, costs = demand.workload, demand.costs
    if not work.messages:
        return 0.0, "nothing to send"
    bounds = [_largest(demand, slice(0, work.messages)), _chain(demand)]
    sync = parse_sync(demand.settings.sync if work.phases else "none")
    if sync.kind in ("local", "ready"):
        bounds.append(_chain_of_phases(demand))
    if sync.kind == "barrier":
        edges = work.phase_offsets[:: sync.every].tolist()
        edges += [work.messages] * (edges[-1] < work.messages)
        each = [_largest(demand, slice(a, b))[0] for a, b in pairwise(edges) if a < b]
        barriers = len(each) - (0 if costs.first_barrier else 1)
        synchronization_s = costs.synchronization.at(demand.machine.topology.endpoints)
        fixed = barriers * rounded_up(synchronization_s, cycle_of(costs, demand.model))
        witness = f"{count_of(barriers, 'barrier')} and the busiest of each group"
        bounds.append((sum(each) + fixed, witness))
    return _top(bounds)


def _largest(demand: Demand, chosen: slice) -> Bound:
    """The largest bound of some messages that begin together."""
    needs, setup_s = demand.needs, demand.setup_s
    # a signal may be under way, and a request asked, while set-ups are paid
    alone = needs.alone - needs.asking + np.maximum(np.maximum(needs.signal, needs.asking), setup_s)
    worst = chosen.start + int(alone[chosen].argmax())
    message = float(alone[worst]), f"{_named(demand.workload, worst)} alone"
    bounds = [message, _resource(demand, chosen)]
    if demand.model != "connections":
        bounds += [*_processors(demand, chosen), *_slots(demand, chosen)]
    return _top(bounds)


def _top(bounds: list[Bound]) -> Bound:
    """The largest; of equal ones the first."""
    largest = max(time_s for time_s, _ in bounds)
    return next(bound for bound in bounds if bound[0] >= largest * (1 - 1e-12))


def _resource(demand: Demand, chosen: slice) -> Bound:
    resources, needs = demand.resources, demand.needs
    counts = np.diff(resources.offsets[chosen.start : chosen.stop + 1])
    used = slice(int(resources.offsets[chosen.start]), int(resources.offsets[chosen.stop]))
    items, size = resources.items[used], np.repeat(resources.bytes[chosen], counts)
    loads = (
        np.bincount(items, size * resources.weight[used], resources.capacity.size)
        / resources.capacity
    )
    if not loads.size or not loads.max() > 0:
        return 0.0, "nothing to send"
    inside = demand.model in ("flit", "connections")  # latency is on both sides of a resource
    entering = needs.send if inside else needs.to_bytes - needs.asking

    def least(seconds: Floats) -> Floats:
        found = np.full(loads.size, inf)
        np.minimum.at(found, items[size > 0], np.repeat(seconds[chosen], counts)[size > 0])
        return np.where(np.isfinite(found), found, 0.0)

    after = np.where(needs.buffered, needs.receive, needs.after)
    whole = np.where(loads > 0, demand.setup_s + least(entering) + loads + least(after), 0.0)
    busiest = int(whole.argmax())
    witness = describe_resource(resources, demand.machine.topology, busiest, demand.model)
    return float(whole[busiest]), witness


def _processors(demand: Demand, chosen: slice) -> list[Bound]:
    """Overheads one after the other; signals, requests and grants pay at both ends."""
    work, needs, costs = demand.workload, demand.needs, demand.costs
    senders, receivers = work.sending_rank, work.receiving_rank
    ranks = int(max(senders[chosen].max(), receivers[chosen].max())) + 1
    half = np.where(needs.signal > 0, needs.half, 0.0)
    asks = np.where(needs.asking > 0, needs.half, 0.0)

    def total(rank: Ints32, seconds: Floats) -> Floats:
        return np.asarray(np.bincount(rank[chosen], seconds[chosen], ranks), np.float64)

    def least(rank: Ints32, seconds: Floats) -> Floats:
        found = np.full(ranks, inf)
        np.minimum.at(found, rank[chosen], seconds[chosen])
        return np.where(np.isfinite(found), found, 0.0)

    setups = demand.setup_s * _visits(demand, chosen, ranks)
    sends, receives = total(senders, needs.send), total(receivers, needs.receive)
    asking, answers = (
        total(a, asks) + total(b, half + asks)
        for a, b in ((senders, receivers), (receivers, senders))
    )
    first_setup = np.where(setups > 0, demand.setup_s, 0.0)
    rest = least(senders, needs.alone - needs.asking - needs.send)
    # out of a system buffer it is paid when the bytes have come
    late = needs.buffered | (needs.before <= 0)
    lead = least(receivers, needs.send + needs.latency + np.where(late, needs.flow, 0.0))
    tail = least(receivers, np.where(late, 0.0, needs.flow))
    bounds = [
        # set-ups and signals may come after the last send, or receive
        _of_ranks(
            np.maximum(first_setup + sends + rest, setups + sends + asking), "overheads of sends of"
        ),
        _of_ranks(
            np.maximum(first_setup + lead + receives + tail, setups + receives + answers),
            "overheads of receives of",
        ),
    ]
    if costs.one_processor and not costs.preempts:
        work_s = sends + receives + asking + answers + setups
        bounds.append(_of_ranks(work_s, "overheads of"))
        if costs.processors == "shared":
            bounds.append(_of_nodes(demand, chosen, work_s))
    return bounds


def _of_nodes(demand: Demand, chosen: slice, work_s: Floats) -> Bound:
    """The work of all ranks of a node, added up; `work_s`: shape=(ranks)."""
    work = demand.workload
    node = np.zeros(work_s.size, np.int64)
    for rank, place in ((work.sending_rank, work.source), (work.receiving_rank, work.target)):
        node[rank[chosen]] = place[chosen]
    of_node = np.bincount(node, work_s)
    busiest = int(of_node.argmax())
    name = demand.machine.topology.node_name(busiest)
    return float(of_node[busiest]), f"overheads of all ranks on {name}"


def _visits(demand: Demand, chosen: slice, ranks: int) -> Ints:
    """shape=(ranks): phases of the chosen messages in which each sends or receives."""
    work = demand.workload
    if not demand.setup_s:
        return np.zeros(ranks, np.int64)
    ends = np.concatenate([work.sending_rank[chosen], work.receiving_rank[chosen]]).astype(np.int64)
    phases = np.tile(work.phase_of[chosen], 2)
    return np.asarray(
        np.bincount(np.unique(ends * work.phases + phases) // work.phases, minlength=ranks),
        np.int64,
    )


def _slots(demand: Demand, chosen: slice) -> list[Bound]:
    work, needs, slots = demand.workload, demand.needs, demand.settings.in_flight
    if slots is None:
        return []
    rank = work.sending_rank[chosen]
    rest = np.full(int(rank.max()) + 1, inf)
    np.minimum.at(rest, rank, np.where(needs.buffered, needs.receive, needs.after)[chosen])
    held, asking = (
        np.bincount(rank, seconds[chosen]) / slots for seconds in (needs.of_slot, needs.asking)
    )
    # a request may be under way while the set-up is paid
    whole = np.where(np.isfinite(rest), held + np.maximum(demand.setup_s - asking, 0.0) + rest, 0.0)
    return [_of_ranks(whole, f"{slots:,} slot{'' if slots == 1 else 's'} of")]


def _of_ranks(seconds: Floats, what: str) -> Bound:
    if not seconds.size:
        return 0.0, "nothing to send"
    return float(seconds.max()), f"{what} rank {int(seconds.argmax())}"


def _chain(demand: Demand) -> Bound:
    """The last of releases, dependences and messages alone."""
    work = demand.workload
    alone = demand.needs.alone
    end = work.time_s + alone
    if work.deps.size:
        waiting = np.repeat(np.arange(work.messages), np.diff(work.dep_offsets))
        for _ in range(ROUNDS):
            ready = work.time_s.copy()
            np.maximum.at(ready, waiting, end[work.deps])
            if not (ready + alone > end).any():
                break
            end = ready + alone
    last = int(end.argmax())
    witness = "after its release and what it depends on" if work.deps.size else "after its release"
    return float(end[last]), f"{_named(work, last)} alone {witness}"


def _chain_of_phases(demand: Demand) -> Bound:
    """`local`, `ready`: a message after what its ends have in the phases before, each alone."""
    work, needs, setup_s = demand.workload, demand.needs, demand.setup_s
    if work.phases > MAX_PHASES:
        return 0.0, "nothing to send"
    ready = needs.signal > 0
    ranks = int(max(work.sending_rank.max(), work.receiving_rank.max())) + 1
    over, end = np.zeros(ranks), np.zeros(work.messages)
    for low, high in zip(
        work.phase_offsets[:-1].tolist(), work.phase_offsets[1:].tolist(), strict=True
    ):
        s, t = work.sending_rank[low:high], work.receiving_rank[low:high]
        begin = over[s]
        if setup_s:  # paid at both ends, after each has entered
            begin = np.maximum(begin, over[t]) + setup_s
        begin = np.where(
            ready[low:high], np.maximum(begin, over[t] + needs.signal[low:high]), begin
        )
        end[low:high] = begin + needs.alone[low:high]
        for rank in (s, t):
            np.maximum.at(over, rank, end[low:high])
    last = int(end.argmax())
    return float(end[last]), f"{_named(work, last)} after the phases before of its ends"


def _named(work: Workload, m: int) -> str:
    return f"message {m} ({work.sending_rank[m]} → {work.receiving_rank[m]})"


@dataclass(frozen=True, eq=False)
class Spread:
    """How messages are spread over links.

    Attributes:
        share: shape=(links of all messages), float64: the part of a message on each of its links.
        hops: shape=(messages), int64: links from its source to its target.
    """

    share: Floats
    hops: Ints

    def only_sure(self, offsets: Ints, links: Ints32) -> tuple[Ints, Ints32, Spread]:
        """(offsets, links, spread) of the links that all of a message takes, on any way."""
        sure = self.share > 1 - 1e-9
        counted = np.concatenate([[0], np.cumsum(sure)])
        return counted[offsets], links[sure], Spread(self.share[sure], self.hops)


@dataclass(frozen=True, eq=False)
class Resources:
    """Links, ports and nodes with a finite rate, numbered as in `Timeline.held_by`.

    Attributes:
        capacity: shape=(resources), float64 [B/s], infinite where nothing limits; flits in a second
            for `flit`.
        offsets: shape=(messages + 1), int64.
        items: the resources of message m are `items[offsets[m] : offsets[m + 1]]`, its links first.
        weight: shape=(items), float64: what a byte counts there at least; below 1 in `node` for an
            exchange, on links the part of the message that takes it.
        slowest: shape=(messages), float64 [B/s]: the least rate of one unit of width, port or node
            on its way; of the whole width for `connections` and where messages are spread.
        bytes: shape=(messages), int64 [B]; flits for `flit`.
        hops: shape=(messages), int64: links of each route, of any where a message is spread.
        partner: shape=(messages), int64: the other message of a synchronized exchange, or -1.
    """

    capacity: Floats
    offsets: Ints
    items: Ints
    weight: Floats
    slowest: Floats
    bytes: Ints
    hops: Ints
    partner: Ints

    @staticmethod
    def of(
        workload: Workload,
        machine: Machine,
        settings: Settings,
        model: str,
        offsets: Ints,
        links: Ints32,
        spread: Spread | None = None,
    ) -> Resources:
        """The resources of every message; `links[offsets[m] : offsets[m + 1]]` is its route.

        Args:
            workload: what is sent.
            machine: on what.
            settings: how.
            model: by what.
            offsets: shape=(messages + 1).
            links: shape=(hops).
            spread: the part of each message on each of `links`, where these are no route; None: all
                of it.
        """
        slots, nodes = machine.topology.link_slots, machine.topology.nodes
        costs = machine.costs_for(workload.method)
        unit, capacity = _capacities(machine, costs, model)
        if model == "connections" or spread is not None:
            unit = capacity[:slots]  # elements of one connection take whichever unit is free
        partner = partners(workload, machine, settings)
        # in `flit` what stays in its node goes through the router there
        crosses = np.flatnonzero(workload.crosses | (model == "flit"))
        s, t = workload.source[crosses].astype(np.int64), workload.target[crosses].astype(np.int64)
        ends = [slots + s, slots + nodes + t, slots + 2 * nodes + s, slots + 2 * nodes + t]
        ways = np.diff(offsets)
        message = np.concatenate(
            [np.repeat(np.arange(workload.messages), ways), np.tile(crosses, 4)]
        )
        part = np.ones(message.size)
        if spread is not None:
            part[: links.size] = spread.share
        items = np.concatenate([links.astype(np.int64), *ends])
        order = np.argsort(message, kind="stable")
        message, items, part = message[order], items[order], part[order]
        exchanged = (partner[message] >= 0) & (items >= slots + 2 * nodes) & (model != "flit")
        weight = np.where(exchanged, costs.exchange_weight, part)
        slowest = np.full(workload.messages, inf)
        np.minimum.at(slowest, message, np.concatenate([unit, capacity[slots:]])[items] / weight)
        starts = np.concatenate(
            [[0], np.cumsum(np.bincount(message, minlength=workload.messages))]
        ).astype(np.int64)
        sizes = (
            np.maximum(1, -(-workload.bytes // costs.flit_B)) if model == "flit" else workload.bytes
        )
        hops = ways if spread is None else spread.hops
        return Resources(capacity, starts, items, weight, slowest, sizes, hops, partner)

    def loads(self, chosen: Bools | None = None) -> Floats:
        """shape=(resources): bytes of the chosen messages over the rate [s]."""
        size = self.bytes if chosen is None else np.where(chosen, self.bytes, 0)
        counts = np.repeat(size, np.diff(self.offsets)) * self.weight
        return np.asarray(np.bincount(self.items, counts, self.capacity.size) / self.capacity)


def _capacities(machine: Machine, costs: Costs, model: str) -> tuple[Floats, Floats]:
    """(rate of a unit of each link, rates of all resources) [B/s]; flits in a second for `flit`."""
    topology = machine.topology
    nodes = topology.nodes
    if model == "flit":
        per_s = costs.link_Bps / costs.flit_B
        unit, ports = np.full(topology.link_slots, per_s), (per_s, per_s, inf)
    else:
        rates = topology.link_rate_Bps
        unit = np.full(topology.link_slots, costs.link_Bps) if rates is None else rates
        ports = (costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps)
    return unit, np.concatenate(
        [unit * topology.widths(), *(np.full(nodes, rate) for rate in ports)]
    )


def describe_resource(resources: Resources, topology: Topology, resource: int, model: str) -> str:
    """`link 3 → 4: 64 KiB at 175 MB/s`."""
    carried = float(
        np.repeat(resources.bytes, np.diff(resources.offsets))[resources.items == resource].sum()
    )
    name, rate = resource_name(topology, resource), float(resources.capacity[resource])
    if model == "flit":
        return f"{name}: {carried:,.0f} flits, one a cycle"
    return f"{name}: {format_size(carried)} at {format_rate(rate)}"


def growth(rates: Rates, messages: int) -> Floats:
    """shape=(changes): by how much each change raises its message's rate [B/s]."""
    order = np.lexsort((np.arange(rates.message.size), rates.message))
    rate, message = rates.rate_Bps[order], rates.message[order]
    before = np.concatenate([[0.0], rate[:-1]])[: rate.size]
    before[np.append(True, message[1:] != message[:-1])[: rate.size]] = 0
    grown = np.empty(rate.size)
    grown[order] = rate - before
    return grown
