"""Minimum bandwidths: what ports and links leave a connection while everything of its phase or context is open.

A port or link that u connections share gives each at least 1/u of its rate, whatever the others do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.verification.traffic import Groups, Ints, Traffic
from conset.verification.verification import Violation
from conset.verification.walks import Walk

_HOPS = 1 << 21
_ROUNDING = 1 + 1e-9


def demands_of(stated: float | Sequence[float] | None, messages: int) -> NDArray[np.float64] | None:
    """shape=(messages), float64 [B/s]: what each message is to be guaranteed; None where nothing is said."""
    return None if stated is None else np.broadcast_to(np.asarray(stated, np.float64), messages)


def resource_rates(machine: Machine, method: str) -> tuple[float, float, NDArray[np.float64]]:
    """(port out, port in, links of all their width, shape=(link_slots)) [B/s]."""
    costs, topology = machine.costs_for(method), machine.topology
    rates = np.full(topology.link_slots, costs.link_Bps) if topology.link_rate_Bps is None else topology.link_rate_Bps
    return costs.port_out_Bps, costs.port_in_Bps, rates * topology.widths()


def check_bandwidth(traffic: Traffic, walk: Walk, machine: Machine) -> list[Violation]:
    """Rule `bandwidth`; O(hops log hops)."""
    document = traffic.document
    stated = document.min_bandwidth_Bps
    if stated is None:
        return []
    messages = document.source.size
    if not isinstance(stated, int | float) and len(stated) != messages:
        text = f"{len(stated)} minimum bandwidths are stated for {messages} messages"
        return [Violation(None, None, "bandwidth", text)]
    demand = demands_of(stated, messages)
    if demand is None or not messages:
        return []
    wrong = np.flatnonzero(~(demand >= 0) | np.isinf(demand))
    if wrong.size:
        text = f"message {wrong[0]}: minimum bandwidth {demand[wrong[0]]:g} B/s, must be finite and at least 0"
        return [Violation(None, None, "bandwidth", text)]
    message = np.clip(document.transfer_message, 0, messages - 1)  # others are reported by `message-index`
    groups, found = Groups.of_phases(traffic.offsets), []
    for low, high in groups.chunks(groups.count, max(1, _HOPS // walk.longest)):
        for ids, group in groups.blocks(low, high, max(1, groups.transfers)):
            used = traffic.networked(ids)
            least = _least(traffic, walk, machine, ids[used], group[used])
            required = demand[message[ids[used]]]
            for n in np.flatnonzero(least * _ROUNDING < required).tolist():
                k = int(ids[used][n])
                text = f"{traffic.where(k)}: {least[n]:.6g} B/s are guaranteed, {required[n]:.6g} B/s were asked for"
                found.append(Violation(*traffic.place_of(k), "bandwidth", text))
    return found


def _least(traffic: Traffic, walk: Walk, machine: Machine, ids: Ints, group: Ints) -> NDArray[np.float64]:
    """shape=(ids): the least share of any port and link of each transfer [B/s]."""
    out, into, links = resource_rates(machine, traffic.document.method)
    source, target = traffic.source[ids], traffic.target[ids]
    least = np.minimum(
        out / _users(group, source, machine.topology.nodes), into / _users(group, target, machine.topology.nodes)
    )
    position, link = walk.hops(ids, source, target)
    if link.size:
        np.minimum.at(least, position, links[link] / _users(group[position], link, links.size))
    return least


def _users(group: Ints, place: NDArray[np.int32] | Ints, places: int) -> Ints:
    """Shape as `group`: how many entries have the same group and place."""
    _, inverse, count = np.unique(group * places + place, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse.reshape(-1)])
