"""Times of messages alone: when each reaches a port, a processor or a slot at the earliest, and how long it has to go.

Every resource takes at least its least lead-in, its work and its least lead-out; formulas (in the core) and bounds
(here) work that out apart, so that each is held against the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.work import NO_LINKS, Links, link_work
from conset.network.routes import core_network, route_hops

Seconds = NDArray[np.float64]


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
    size: NDArray[np.int64],
    leaves: NDArray[np.bool_],
    hops: NDArray[np.int32],
    per_byte: Seconds,
    *,
    requests: bool = True,
) -> Times:
    """Times of messages by what they carry and how far.

    Where a message may be taken into a system buffer, its bytes and its receive overhead keep no order, so that neither
    leads in the other.

    Args:
        costs: of the method.
        size: shape=(messages), int64 [B].
        leaves: shape=(messages): whether each leaves its node.
        hops: shape=(messages): links on its way.
        per_byte: shape=(messages) [s/B]: of the slowest resource on its way.
        requests: whether messages above the eager threshold ask first.
    """
    send, receive = costs.send_overhead.of(size), costs.receive_overhead.of(size)
    once = costs.inject + costs.eject + Steps((costs.per_transfer_s,)) + (costs.requests if requests else Steps())
    latency = np.where(leaves, once.of(size) + hops * costs.hop.of(size), 0.0)
    flow = np.where(leaves, size * per_byte, size / costs.copy_Bps)
    before = leaves & (costs.receive == "before")
    loose = before & (size <= (-1.0 if costs.eager_B is None else costs.eager_B))
    to_bytes = send + latency + np.where(before & ~loose, receive, 0.0)
    return Times(
        send, receive, to_bytes, np.where(before, 0.0, receive), send + latency + np.where(before, 0.0, flow),
        np.where(before & ~loose, flow, 0.0), to_bytes + flow, send + latency + flow + receive,
    )  # fmt: skip


def slowest_rates(
    machine: Machine, costs: Costs, source: NDArray[np.int32], target: NDArray[np.int32], links: Links = NO_LINKS
) -> tuple[NDArray[np.int32], Seconds]:
    """(links on the way of each transfer, seconds per byte of its slowest port, node or link).

    Args:
        machine: whose network.
        costs: of the method.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        links: routes a compiler chose.
    """
    topology = machine.topology
    source, target = (np.ascontiguousarray(nodes, np.int32) for nodes in (source, target))
    per_byte = np.full(source.size, max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps, 1 / costs.node_Bps))
    if topology.link_slots == 0:
        return np.zeros(source.size, np.int32), per_byte
    offsets, chosen = links
    hops = np.diff(offsets).astype(np.int32) if offsets.size else route_hops(topology, machine.routing, source, target)
    work = link_work(topology, costs, topology.widths())
    if work.size == 1:
        per_byte[hops > 0] = np.maximum(per_byte[hops > 0], work[0])
    elif offsets.size:
        long = np.flatnonzero(hops)
        per_byte[long] = np.maximum(per_byte[long], np.maximum.reduceat(work[chosen], offsets[long]))
    elif work.size:
        network = core_network(topology, machine.routing)
        per_byte = np.maximum(per_byte, _core.slowest_links(network, source, target, work))
    return hops, per_byte


def transfer_times(
    machine: Machine,
    costs: Costs,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    size: NDArray[np.int64],
    links: Links = NO_LINKS,
) -> Times:
    """Times of transfers between nodes; see `slowest_rates` for the arguments.

    Args:
        machine: whose network.
        costs: of the method.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        size: shape=(transfers), int64 [B].
        links: routes a compiler chose.
    """
    hops, per_byte = slowest_rates(machine, costs, source, target, links)
    return message_times(costs, size, source != target, hops, per_byte)
