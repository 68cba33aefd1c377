"""Resources: what the messages of a workload share, as flat arrays.

For checks, not for simulating.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset.base.units import format_rate, format_size
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.models.needs import partners
from conset.models.settings import Settings
from conset.models.timeline import Rates, resource_name
from conset.models.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spread:
    """How messages are spread over links.

    Attributes:
        share: shape=(links of all messages), float64: the part of a message on each of its links.
        hops: shape=(messages), int64: links from its source to its target.
    """

    share: Floats
    hops: Ints


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
        links: NDArray[np.int32],
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

    def loads(self, chosen: NDArray[np.bool_] | None = None) -> Floats:
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


def growth(rates: Rates, messages: int) -> NDArray[np.float64]:
    """shape=(changes): by how much each change raises its message's rate [B/s]."""
    order = np.lexsort((np.arange(rates.message.size), rates.message))
    rate, message = rates.rate_Bps[order], rates.message[order]
    before = np.concatenate([[0.0], rate[:-1]])[: rate.size]
    before[np.append(True, message[1:] != message[:-1])[: rate.size]] = 0
    grown = np.empty(rate.size)
    grown[order] = rate - before
    return grown
