"""Guarantees: what every open connection gets at least, whatever the others do (Principle 2.1 of the ConSet text).

A resource that carries u connections in a phase serves those that wait in turn, an element (flit) each, so one
connection has at least 1/u of its rate:

    bandwidth  the least over port out, links of the route, port in of rate · width / u
    latency    hops · hop_s + the sum over the same of u · flit / (rate · width): an element waits once for the others

Both hold while the phase is open. A message inside a node shares nothing: infinite bandwidth, no latency.
Source: Feldmann, Stricker, Warfel, Section 2, Principle 2.1; round robin: Section 4.1.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.network.routes import route_links
from conset.schedule.loads import chosen_links
from conset.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Guarantees:
    """What connections get at least; both shape=(transfers), float64.

    Attributes:
        bandwidth_Bps: least bandwidth [B/s]; infinite where nothing is shared or costs anything.
        latency_s: longest time of one element from gate to gate [s].
    """

    bandwidth_Bps: NDArray[np.float64]  # noqa: N815
    latency_s: NDArray[np.float64]

    def to_object(self) -> dict[str, Any]:
        """The worst of all: `{"bandwidth_Bps": …, "latency_s": …}`; null where there is nothing to guarantee."""
        least = float(self.bandwidth_Bps.min(initial=np.inf))
        return {
            "bandwidth_Bps": least if np.isfinite(least) else None,
            "latency_s": float(self.latency_s.max(initial=0.0)),
        }


def guarantees(schedule: Schedule) -> Guarantees:
    """Least bandwidth and worst latency of every transfer while its phase is open; O(sum of hops log)."""
    costs, topology = schedule.machine.costs_for(schedule.method), schedule.machine.topology
    source, target, phase = schedule.source_node, schedule.target_node, schedule.phase_of
    if schedule.route_offsets is None:
        offsets, links = route_links(topology, schedule.machine.routing, source, target)
    else:
        offsets, links = chosen_links(schedule)
    leaves = source != target
    per_flit = np.zeros(schedule.transfers)
    least = np.full(schedule.transfers, np.inf)
    for ends, rate in ((source, costs.port_out_Bps), (target, costs.port_in_Bps)):
        share = rate / _load(phase[leaves], ends[leaves], topology.nodes)
        least[leaves] = np.minimum(least[leaves], share)
        per_flit[leaves] += 1 / share
    hops = np.diff(offsets)
    if links.size:
        transfer = np.repeat(np.arange(schedule.transfers), hops)
        rates = np.full(1, costs.link_Bps) if topology.link_rate_Bps is None else topology.link_rate_Bps
        share = (rates * topology.widths().astype(np.float64))[links] / _load(
            phase[transfer], links, topology.link_slots
        )
        np.minimum.at(least, transfer, share)
        np.add.at(per_flit, transfer, 1 / share)
    return Guarantees(least, hops * costs.hop_s + per_flit * costs.flit_B)


def _load(phase: NDArray[np.int32], place: NDArray[np.int32], places: int) -> NDArray[np.int64]:
    """Shape as `phase`: how many entries have the same phase and place."""
    key = phase.astype(np.int64) * places + place
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    load: NDArray[np.int64] = count[inverse]
    return load
