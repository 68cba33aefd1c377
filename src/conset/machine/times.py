"""Times of messages alone, and how long they keep ports, nodes and links.

Rates are turned round into seconds per byte, so that an infinite rate is 0 and costs nothing.

Work, as methods that search for short phases weigh it. They ask for one number per message at a
port and take overheads and latencies of both ends together, which formulas and bounds tell apart
(`conset.models.formula.evaluate`, `conset.bounds.problem`). Of a message of b bytes, overhead taken
at its size:

    port        overhead + b / rate of the port, at the source's port out and at the target's port
                in
    node        overhead / 2 + w · b / `node_Bps`, at both ends, where in and out share a rate; w is
                `exchange_weight` for bytes that meet as many of the other direction while both
                nodes do nothing else, 1 for the rest
    link        b / (rate · width), for every link of its route
    message     overhead + b / the slowest of all these: no message is faster than alone

A message inside a node uses none of them. What packed messages cost processors is the same in every
phase and left out: formulas, bounds and models have it. Latency of hops is not part of it: flow
that fills a machine hides it.

Times alone: when each message reaches a port, a processor or a slot at the earliest, and how long
it has to go. Every resource takes at least its least lead-in, its work and its least lead-out;
formulas (in the core) and bounds (here) work that out apart, so that each is held against the
other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from conset import _core
from conset.base import Bools, Floats, Ints, Ints32
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.network.routes import core_network, core_widths, route_hops
from conset.machine.network.topology import Topology

KINDS = ("port out", "port in", "node", "link", "message")
"""Resources by the number the core gives them."""

Links = tuple[Ints, Ints32]
"""(offsets, links) of routes a compiler chose; both empty where the machine's routing is used."""

NO_LINKS: Links = (np.zeros(0, np.int64), np.zeros(0, np.int32))
Seconds = Floats


@dataclass(frozen=True, eq=False)
class Work:
    """Costs as seconds per message and per byte under one policy.

    Attributes:
        overhead: of a message; its ready signal included where the policy sends one, else its
            request and its grant above the eager threshold.
        out: of a port out [s/B].
        into: of a port in [s/B].
        node: of both together [s/B], 0 where they are independent.
        exchange: what a matched byte of an exchange counts in `node`.
        link: shape=(link_slots), or (1) for one value everywhere, or (0) where links cost nothing
            [s/B] of the whole width.
        width: shape=(link_slots) or (1), int32.
        tolerance: messages per unit of width a link carries without harm.
        blocking: exponent of the loss beyond it.
    """

    overhead: Steps
    out: float
    into: float
    node: float
    exchange: float
    link: Floats
    width: Ints32
    tolerance: float
    blocking: float


def work_of(machine: Machine, costs: Costs, sync: str) -> Work:
    """The work of messages on `machine` under a policy of the kind `sync`.

    One of `conset.schedule.KINDS`.
    """
    topology = machine.topology
    overhead = costs.overhead + (Steps((costs.signal_s,)) if sync == "ready" else costs.requests)
    exchanges = sync in costs.exchange_syncs and costs.node_Bps < inf
    width = core_widths(topology)
    return Work(
        overhead,
        1 / costs.port_out_Bps,
        1 / costs.port_in_Bps,
        1 / costs.node_Bps,
        costs.exchange_weight if exchanges else 1.0,
        link_work(topology, costs, width),
        width,
        float(costs.tolerance),
        costs.blocking,
    )


def link_rates(topology: Topology, costs: Costs) -> Floats:
    """shape=(link_slots): the rate of every link with all its width [B/s]."""
    rate = costs.link_Bps if topology.link_rate_Bps is None else topology.link_rate_Bps
    return rate * topology.widths().astype(np.float64)


def link_work(topology: Topology, costs: Costs, width: Ints32) -> Floats:
    """Cost of a byte on each link of the whole width [s/B].

    shape=(link_slots), or (1) where all cost the same, or (0) where none costs anything.
    """
    if topology.kind == "crossbar":
        return np.zeros(0)
    rate = (
        topology.link_rate_Bps if topology.link_rate_Bps is not None else np.array([costs.link_Bps])
    )
    per_byte: Floats = 1 / (rate * width)
    if per_byte.size and (per_byte == per_byte[0]).all():
        per_byte = per_byte[:1].copy()
    return per_byte if per_byte.any() else np.zeros(0)


def synchronization_s(machine: Machine, costs: Costs) -> float:
    """The time of one barrier [s], over every node that may hold ranks.

    The machine represents the partition in use.
    """
    return costs.synchronization.at(machine.topology.endpoints)


def plain_sizes(size: Ints) -> Ints:
    """Sizes as the core takes them: one entry where they are one broadcast element."""
    return np.ascontiguousarray(size[:1] if size.strides == (0,) else size)


def profile_phases(
    machine: Machine,
    work: Work,
    source: Ints32,
    target: Ints32,
    size: Ints,
    *,
    phase_offsets: Ints,
    batch_offsets: Ints,
    phase_by_phase: bool,
    links: Links = NO_LINKS,
    match_all_exchanges: bool = False,
) -> _core.Profile:
    """The busiest resource after every phase.

    O(transfers + sum of hops), without hops where links cost nothing.

    Args:
        machine: whose network.
        work: what messages cost.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        size: shape=(transfers), int64 [B].
        phase_offsets: shape=(phases + 1), int64, over transfers.
        batch_offsets: shape=(batches + 1), int64, over phases; work adds up inside a batch.
        phase_by_phase: whether loads and exchanges are counted in each phase, not in the whole
            batch.
        links: routes a compiler chose.
        match_all_exchanges: whether exchanges count even where a node does more meanwhile: no
            schedule does better.
    """
    transfers = _core.Transfers(
        core_network(machine.topology, machine.routing),
        np.ascontiguousarray(source),
        np.ascontiguousarray(target),
        *links,
        plain_sizes(size),
    )
    paid = _core.Work(
        step_up_to=np.asarray(work.overhead.up_to_B, np.float64),
        step_seconds=np.asarray(work.overhead.seconds, np.float64),
        out=work.out,
        in_=work.into,
        node=work.node,
        exchange=work.exchange,
        link=work.link,
        width=work.width,
        tolerance=work.tolerance,
        blocking=work.blocking,
        match_all_exchanges=match_all_exchanges,
    )
    return _core.profile_phases(transfers, phase_offsets, batch_offsets, phase_by_phase, paid)


class Times(NamedTuple):
    """Times of messages alone; all shape=(messages), float64 [s].

    Attributes:
        send: work of the sending processor.
        receive: work of the receiving processor.
        to_bytes: from the start to the first byte, at least.
        after: from the last byte to delivery, at least.
        to_receive: from the start to the receiving processor's work, at least.
        left: from its end to delivery, at least.
        held: how long it keeps a slot, at least.
        alone: from the start to delivery.
    """

    send: Seconds
    receive: Seconds
    to_bytes: Seconds
    after: Seconds
    to_receive: Seconds
    left: Seconds
    held: Seconds
    alone: Seconds


def message_times(
    costs: Costs,
    size: Ints,
    leaves: Bools,
    hops: Ints32,
    per_byte: Seconds,
    *,
    packed: Bools | None = None,
    requests: bool = True,
) -> Times:
    """Times of messages by what they carry and how far.

    Where a message may be taken into a system buffer, its bytes and its receive overhead keep no
    order, so that neither leads in the other.

    Args:
        costs: of the method.
        size: shape=(messages), int64 [B].
        leaves: shape=(messages): whether each leaves its node.
        hops: shape=(messages): links on its way.
        per_byte: shape=(messages) [s/B]: of the slowest resource on its way.
        packed: shape=(messages): whether each is put together and taken apart; None: none is.
        requests: whether messages above the eager threshold ask first.
    """
    send, receive = costs.send_overhead.of(size), costs.receive_overhead.of(size)
    if packed is not None:
        send, receive = (work + costs.copies(size, packed) for work in (send, receive))
    once = (
        costs.inject
        + costs.eject
        + Steps((costs.per_transfer_s,))
        + (costs.requests if requests else Steps())
    )
    latency = np.where(leaves, once.of(size) + hops * costs.hop.of(size) + costs.startup_s, 0.0)
    flow = np.where(leaves, size * per_byte, size / costs.copy_Bps)
    before = leaves & (costs.receive == "before")
    loose = before & (size <= (-1.0 if costs.eager_B is None else costs.eager_B))
    to_bytes = send + latency + np.where(before & ~loose, receive, 0.0)
    return Times(
        send,
        receive,
        to_bytes,
        np.where(before, 0.0, receive),
        send + latency + np.where(before, 0.0, flow),
        np.where(before & ~loose, flow, 0.0),
        to_bytes + flow,
        send + latency + flow + receive,
    )


def transfer_times(
    machine: Machine,
    costs: Costs,
    source: Ints32,
    target: Ints32,
    size: Ints,
    links: Links = NO_LINKS,
    packed: Bools | None = None,
) -> Times:
    """Times of transfers between nodes; see `slowest_rates` for the arguments.

    Args:
        machine: whose network.
        costs: of the method.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        size: shape=(transfers), int64 [B].
        links: routes a compiler chose.
        packed: shape=(transfers): whether each is put together and taken apart; None: none is.
    """
    hops, per_byte = slowest_rates(machine, costs, source, target, links)
    return message_times(costs, size, source != target, hops, per_byte, packed=packed)


def slowest_rates(
    machine: Machine,
    costs: Costs,
    source: Ints32,
    target: Ints32,
    links: Links = NO_LINKS,
) -> tuple[Ints32, Seconds]:
    """(links on the way of each transfer, seconds per byte of its slowest port, node or link).

    Args:
        machine: whose network.
        costs: of the method.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        links: routes a compiler chose.
    """
    topology, offsets = machine.topology, links[0]
    port = max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps, 1 / costs.node_Bps)
    per_byte = _slowest(
        machine, port, link_work(topology, costs, topology.widths()), source, target, links
    )
    if topology.link_slots == 0:
        return np.zeros(source.size, np.int32), per_byte
    if offsets.size:
        return np.diff(offsets).astype(np.int32), per_byte
    out, into = (np.ascontiguousarray(nodes, np.int32) for nodes in (source, target))
    return route_hops(topology, machine.routing, out, into), per_byte


def transfer_s(
    machine: Machine,
    work: Work,
    source: Ints32,
    target: Ints32,
    size: Ints,
    links: Links = NO_LINKS,
) -> Floats:
    """shape=(transfers), float64 [s].

    What each takes alone with its ports and one unit of width of every link.

    That is its duration in a timetable; 0 inside a node.

    Args:
        machine: whose network.
        work: what messages cost.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        size: shape=(transfers), int64 [B].
        links: routes a compiler chose.
    """
    port = max(work.out, work.into, work.node)
    unit = work.link * work.width if work.link.size else work.link
    per_byte = _slowest(machine, port, unit, source, target, links)
    return np.where(source != target, work.overhead.of(size) + size * per_byte, 0.0)


def _slowest(
    machine: Machine,
    port: float,
    link: Seconds,
    source: Ints32,
    target: Ints32,
    links: Links,
) -> Seconds:
    """shape=(transfers) [s/B]: the slower of a port and of the links on the way of each.

    Args:
        machine: whose network.
        port: of ports and nodes [s/B].
        link: shape=(link_slots), or (1) where all are alike, or (0) where none costs anything
            [s/B].
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        links: routes a compiler chose.
    """
    per_byte = np.full(source.size, port)
    if not link.size or not machine.topology.link_slots:
        return per_byte
    offsets, chosen = links
    if (link == link[0]).all():
        per_byte[source != target] = max(port, link[0])
    elif offsets.size:
        long = np.flatnonzero(np.diff(offsets))
        per_byte[long] = np.maximum(port, np.maximum.reduceat(link[chosen], offsets[long]))
    else:
        network = core_network(machine.topology, machine.routing)
        out, into = (np.ascontiguousarray(nodes, np.int32) for nodes in (source, target))
        per_byte = np.maximum(
            per_byte, _core.slowest_links(network, out, into, np.ascontiguousarray(link))
        )
    return per_byte


def message_costs(
    machine: Machine, costs: Costs, sync: str, *, in_flight: int | None, blocking: bool = True
) -> _core.MessageCosts:
    """What messages cost under a policy of the kind `sync`.

    A request and a grant above the eager threshold are latency; under `ready` the signal replaces
    both. Under `detect` messages up to it are copied by their receiver.

    Args:
        machine: whose network.
        costs: of the method.
        sync: kind of the policy.
        in_flight: slots of a rank, None: any number.
        blocking: whether links that carry more than `tolerance` lose time, which is an estimate.
    """
    topology = machine.topology
    width = core_widths(topology)
    ready = sync == "ready"
    latency = (
        costs.inject
        + costs.eject
        + Steps((costs.per_transfer_s,))
        + (Steps() if ready else costs.requests)
    )
    steps = (costs.send_overhead, costs.receive_overhead, latency, costs.hop)
    limits = tuple(sorted({limit for each in steps for limit in each.up_to_B}))
    send, receive, once, hop = (np.array([each.at(limit) for limit in limits]) for each in steps)
    exchanges = sync in costs.exchange_syncs and costs.node_Bps < inf
    return _core.MessageCosts(
        up_to=np.array(limits),
        send=send,
        receive=receive,
        latency=once,
        hop=hop,
        out=1 / costs.port_out_Bps,
        in_=1 / costs.port_in_Bps,
        node=1 / costs.node_Bps,
        copy=1 / costs.copy_Bps,
        startup=costs.startup_s,
        exchange=costs.exchange_weight if exchanges else 1.0,
        link=link_work(topology, costs, width),
        width=width,
        tolerance=float(costs.tolerance),
        blocking=costs.blocking if blocking else 0.0,
        setup=costs.setup_s,
        signal=costs.signal_s if ready else 0.0,
        signal_hop=costs.hop.at(0) if ready else 0.0,
        eager=-1.0 if costs.eager_B is None else costs.eager_B,
        before=costs.receive == "before",
        one_processor=costs.one_processor and not costs.preempts,
        shared_processor=costs.processors == "shared",
        in_flight=in_flight or 0,
        detects=costs.detected_B if sync == "detect" else -1.0,
    )
