"""Connections: linkage tables followed from gate to gate, and minimum bandwidths.

The tables are built here from the stated channels: a node's channel leads to a channel of the next node, or out of
the gate. Of two entries for one channel the later one stands, as in a machine: then another connection is lost, which
the replay shows. The replay knows of a connection only where it enters and on which channel; what comes out must be
its target.

A port or link that u connections of a phase or context share gives each at least 1/u of its rate, whatever the others
do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.verification.schedule.chosen import ChosenWalk
from conset.verification.schedule.traffic import Groups, Ints, Traffic
from conset.verification.schedule.walks import Walk
from conset.verification.verification import Violation

_GATE = -1
"""In place of a next channel: out to the processor."""
_HOPS = 1 << 21
"""Of a chunk of phases."""
_ROUNDING = 1 + 1e-9


def check_linkage(traffic: Traffic, walk: ChosenWalk) -> list[Violation]:
    """Rules `channel-number`, `channel-taken` and `linkage`, where the document states channels."""
    stated = traffic.document.channels
    if stated is None:
        return []
    if stated.size != walk.nodes.size:
        text = f"{stated.size} channels are stated for {walk.nodes.size} stops of routes"
        return [Violation(None, None, "channel-number", text)]
    ids = np.arange(traffic.source.size)
    length = np.diff(walk.offsets)
    used = traffic.networked(ids) & (length > 0)
    transfer = np.repeat(ids, length)
    stops = np.flatnonzero(used[transfer])
    if not stops.size:
        return []
    inside = (walk.nodes[stops] >= 0) & (walk.nodes[stops] < walk.topology.nodes)
    channel = stated.astype(np.int64)
    found = _numbers(traffic, walk, transfer, stops[inside], channel)
    if found or not inside.all():
        return found  # nodes that are none are reported by `route-node`; there is no table to replay
    key = _keys(traffic, walk, transfer, stops, channel)
    return _taken(traffic, walk, transfer, stops, channel, key) + _replay(traffic, walk, ids[used], stops, key)


def _numbers(
    traffic: Traffic, walk: ChosenWalk, transfer: Ints, stops: Ints, channel: NDArray[np.int64]
) -> list[Violation]:  # fmt: skip
    """Rule `channel-number`: from 0, below the limit where there is one."""
    limit = traffic.document.limits.get("channels")
    most = min(np.iinfo(np.int32).max, 1 << 31 if limit is None else int(limit))
    wrong = stops[(channel[stops] < 0) | (channel[stops] >= most)]
    found = []
    for at in wrong.tolist():
        k, name = int(transfer[at]), walk.topology.node_name(int(walk.nodes[at]))
        text = f"{traffic.where(k)}: channel {channel[at]} of {name}, must be from 0 to {most - 1}"
        found.append(Violation(*traffic.place_of(k), "channel-number", text))
    return found


def _keys(traffic: Traffic, walk: ChosenWalk, transfer: Ints, stops: Ints, channel: Ints) -> NDArray[np.int64]:
    """One number for each (phase, node, channel) of `stops`; -1 elsewhere."""
    phase = np.searchsorted(traffic.offsets, np.arange(traffic.source.size), side="right") - 1
    # places are numbered from 0 before channels, up to 2³¹ of them, are told apart
    place = np.unique(phase[transfer[stops]] * walk.topology.nodes + walk.nodes[stops], return_inverse=True)[1]
    key = np.full(channel.size, -1, np.int64)
    key[stops] = place.reshape(-1) * (int(channel[stops].max()) + 1) + channel[stops]
    return key


def _taken(
    traffic: Traffic, walk: ChosenWalk, transfer: Ints, stops: Ints, channel: Ints, key: NDArray[np.int64]
) -> list[Violation]:
    """Rule `channel-taken`: once in a phase."""
    order = stops[np.argsort(key[stops], kind="stable")]
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    found = []
    for i in again.tolist():
        at, other = int(order[i + 1]), int(order[i])
        k, first = int(transfer[at]), int(transfer[other])
        text = (
            f"{traffic.where(k)}: channel {channel[at]} of {walk.topology.node_name(int(walk.nodes[at]))} is taken by "
            f"transfer {traffic.place_of(first)[1]}"
        )
        found.append(Violation(*traffic.place_of(k), "channel-taken", text))
    return found


def _replay(
    traffic: Traffic, walk: ChosenWalk, ids: Ints, stops: Ints, key: NDArray[np.int64]
) -> list[Violation]:  # fmt: skip
    """Rule `linkage`: from the source's gate through the tables to the gate of the target."""
    after = np.full(key.size, _GATE, np.int64)
    last = np.zeros(key.size, bool)
    last[walk.offsets[ids + 1] - 1] = True
    inner = stops[~last[stops]]
    after[inner] = key[inner + 1]
    order = stops[np.argsort(key[stops], kind="stable")]
    latest = order[np.append(key[order][1:] != key[order][:-1], True)]
    row, then, node = key[latest], after[latest], walk.nodes[latest]
    at = np.searchsorted(row, key[walk.offsets[ids]])
    out = np.full(ids.size, -1, np.int64)
    moving = np.arange(ids.size)
    for _ in range(walk.longest):
        arrived = then[at[moving]] == _GATE
        out[moving[arrived]] = node[at[moving[arrived]]]
        moving = moving[~arrived]
        if not moving.size:
            break
        at[moving] = np.searchsorted(row, then[at[moving]])
    found = []
    for i in np.flatnonzero(out != traffic.target[ids]).tolist():
        k = int(ids[i])
        where = "at no gate" if out[i] < 0 else f"at the gate of {walk.topology.node_name(int(out[i]))}"
        text = (
            f"{traffic.where(k)}: followed through the linkage tables it comes out {where}, "
            f"its target is {walk.topology.node_name(int(traffic.target[k]))}"
        )
        found.append(Violation(*traffic.place_of(k), "linkage", text))
    return found


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
