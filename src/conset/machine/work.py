"""Work: how long messages keep ports, nodes and links busy, as methods that search for short phases weigh them.

Formulas and bounds tell overheads from latencies (`conset.prediction.costs`, `conset.bounds.question`); a search asks
for one number per message at a port, and takes overheads and latencies of both ends together.

Rates are turned round into seconds per byte, so that an infinite rate is 0 and costs nothing. Work of a message of b
bytes, overhead taken at its size:

    port        overhead + b / rate of the port, at the source's port out and at the target's port in
    node        overhead / 2 + w · b / `node_Bps`, at both ends, where in and out share a rate; w is `exchange_weight`
                for bytes that meet as many of the other direction while both nodes do nothing else, 1 for the rest
    link        b / (rate · width), for every link of its route
    message     overhead + b / the slowest of all these: no message is faster than alone

A message inside a node uses none of them. Latency of hops is not part of it: flow that fills a machine hides it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.network.routes import core_network
from conset.network.topology import Topology

KINDS = ("port out", "port in", "node", "link", "message")
"""Resources by the number the core gives them."""

Links = tuple[NDArray[np.int64], NDArray[np.int32]]
"""(offsets, links) of routes a compiler chose; both empty where the machine's routing is used."""

NO_LINKS: Links = (np.zeros(0, np.int64), np.zeros(0, np.int32))


@dataclass(frozen=True, eq=False)
class Work:
    """Costs as seconds per message and per byte under one policy.

    Attributes:
        overhead: of a message; its ready signal included where the policy sends one, else its request and its grant
            above the eager threshold.
        out: of a port out [s/B].
        into: of a port in [s/B].
        node: of both together [s/B], 0 where they are independent.
        exchange: what a matched byte of an exchange counts in `node`.
        link: shape=(link_slots), or (1) for one value everywhere, or (0) where links cost nothing [s/B] of the whole
            width.
        width: shape=(link_slots) or (1), int32.
        tolerance: messages per unit of width a link carries without harm.
        blocking: exponent of the loss beyond it.
    """

    overhead: Steps
    out: float
    into: float
    node: float
    exchange: float
    link: NDArray[np.float64]
    width: NDArray[np.int32]
    tolerance: float
    blocking: float

    @property
    def uniform_link(self) -> bool:
        """Whether all links cost the same."""
        return self.link.size <= 1


def work_of(machine: Machine, costs: Costs, sync: str) -> Work:
    """The work of messages on `machine` under a policy of the kind `sync` (none, local, ready, barrier)."""
    topology = machine.topology
    overhead = costs.overhead + (Steps((costs.signal_s,)) if sync == "ready" else costs.requests)
    exchanges = sync in costs.exchange_syncs and costs.node_Bps < inf
    width = topology.link_width if topology.link_width is not None else np.array([topology.width], np.int32)
    return Work(
        overhead, 1 / costs.port_out_Bps, 1 / costs.port_in_Bps, 1 / costs.node_Bps,
        costs.exchange_weight if exchanges else 1.0, link_work(topology, costs, width), width,
        float(costs.tolerance), costs.blocking,
    )  # fmt: skip


def link_work(topology: Topology, costs: Costs, width: NDArray[np.int32]) -> NDArray[np.float64]:
    """shape=(link_slots), or (1) where all cost the same, or (0) where none costs anything [s/B] of the whole width."""
    if topology.kind == "crossbar":
        return np.zeros(0)
    rate = topology.link_rate_Bps if topology.link_rate_Bps is not None else np.array([costs.link_Bps])
    per_byte: NDArray[np.float64] = 1 / (rate * width)
    if per_byte.size and (per_byte == per_byte[0]).all():
        per_byte = per_byte[:1].copy()
    return per_byte if per_byte.any() else np.zeros(0)


def transfer_s(
    machine: Machine,
    work: Work,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    size: NDArray[np.int64],
    links: Links = NO_LINKS,
) -> NDArray[np.float64]:
    """shape=(transfers), float64 [s]: what each takes alone with its ports and one unit of width of every link.

    That is how long it stands in a timetable; 0 inside a node.

    Args:
        machine: whose network.
        work: what messages cost.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        size: shape=(transfers), int64 [B].
        links: routes a compiler chose.
    """
    per_byte = np.full(size.shape, max(work.out, work.into, work.node))
    leaves = source != target
    slots = machine.topology.link_slots
    if work.link.size and slots:
        unit = np.ascontiguousarray(np.broadcast_to(work.link * work.width, slots))
        offsets, chosen = links
        if offsets.size:
            long = np.flatnonzero(np.diff(offsets))
            per_byte[long] = np.maximum(per_byte[long], np.maximum.reduceat(unit[chosen], offsets[long]))
        elif np.ptp(unit) == 0:
            per_byte = np.maximum(per_byte, unit[0])
        else:
            network = core_network(machine.topology, machine.routing)
            out, into = np.ascontiguousarray(source, np.int32), np.ascontiguousarray(target, np.int32)
            per_byte = np.maximum(per_byte, _core.slowest_links(network, out, into, unit))
    return np.where(leaves, work.overhead.of(size) + size * per_byte, 0.0)


def synchronization_s(machine: Machine, costs: Costs) -> float:
    """The time of one barrier [s], over every node that may hold ranks: the machine stands for the partition in use."""
    return costs.synchronization.at(machine.topology.endpoints)


def plain_sizes(size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes as the core takes them: one entry where they are one broadcast element."""
    return np.ascontiguousarray(size[:1] if size.strides == (0,) else size)


def profile_phases(
    machine: Machine,
    work: Work,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    size: NDArray[np.int64],
    *,
    phase_offsets: NDArray[np.int64],
    batch_offsets: NDArray[np.int64],
    phase_by_phase: bool,
    links: Links = NO_LINKS,
    match_all_exchanges: bool = False,
) -> _core.Profile:
    """The busiest resource after every phase; O(transfers + sum of hops), without hops where links cost nothing.

    Args:
        machine: whose network.
        work: what messages cost.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        size: shape=(transfers), int64 [B].
        phase_offsets: shape=(phases + 1), int64, over transfers.
        batch_offsets: shape=(batches + 1), int64, over phases; work adds up inside a batch.
        phase_by_phase: whether loads and exchanges are counted in each phase, not in the whole batch.
        links: routes a compiler chose.
        match_all_exchanges: whether exchanges count even where a node does more meanwhile: no schedule does better.
    """
    return _core.profile_phases(
        core_network(machine.topology, machine.routing),
        np.ascontiguousarray(source), np.ascontiguousarray(target), *links, plain_sizes(size),
        phase_offsets, batch_offsets, phase_by_phase,
        np.asarray(work.overhead.up_to_B, np.float64), np.asarray(work.overhead.seconds, np.float64),
        work.out, work.into, work.node, work.exchange, work.link, work.width, work.tolerance, work.blocking,
        match_all_exchanges,
    )  # fmt: skip
