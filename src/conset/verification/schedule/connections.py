"""Connections: linkage tables followed from gate to gate.

The tables are built here from the stated channels: a node's channel leads to a channel of the next node, or out of
the gate. Of two entries for one channel the later one stands, as in a machine: then another connection is lost, which
the replay shows. The replay knows of a connection only where it enters and on which channel; what comes out must be
its target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.verification.schedule.chosen import ChosenWalk
from conset.verification.schedule.traffic import Ints, Traffic
from conset.verification.verification import Violation

GATE = -1
"""In place of a row that follows: out to the processor."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The linkage tables of all phases, a row for each channel of a node that is in use in a phase.

    Attributes:
        phase: shape=(rows): the phase of each.
        node: shape=(rows): whose table it is in.
        following: shape=(rows): the row that it leads to, or `GATE`.
        transfer: shape=(connections): the transfers that enter at a gate.
        entry: shape=(connections): the row where each does.
    """

    phase: Ints
    node: Ints
    following: Ints
    transfer: Ints
    entry: Ints


def check_linkage(traffic: Traffic, walk: ChosenWalk) -> list[Violation]:
    """Rules `channel-number`, `channel-taken` and `linkage`, where the document states channels."""
    stated = traffic.document.channels
    if stated is None:
        return []
    if stated.size != walk.nodes.size:
        text = f"{stated.size} channels are stated for {walk.nodes.size} stops of routes"
        return [Violation(None, None, "channel-number", text)]
    transfer, stops, inside = _stops(traffic, walk)
    channel = stated.astype(np.int64)
    found = _numbers(traffic, walk, transfer, stops[inside], channel)
    if found or not inside.all():
        return found  # nodes that are none are reported by `route-node`; there is no table to replay
    if not stops.size:
        return []
    key = _keys(traffic, walk, transfer, stops, channel)
    return _taken(traffic, walk, transfer, stops, channel, key) + _replay(traffic, walk)


def tables_of(traffic: Traffic, walk: ChosenWalk) -> Tables | None:
    """What nodes are loaded with; None where no channels are stated, or there are no such nodes or channels."""
    stated = traffic.document.channels
    if stated is None or stated.size != walk.nodes.size:
        return None
    transfer, stops, inside = _stops(traffic, walk)
    channel = stated.astype(np.int64)
    if not stops.size or not inside.all() or _numbers(traffic, walk, transfer, stops, channel):
        return None
    key = _keys(traffic, walk, transfer, stops, channel)
    ids = np.unique(transfer[stops])
    after = np.full(key.size, GATE, np.int64)
    last = np.zeros(key.size, bool)
    last[walk.offsets[ids + 1] - 1] = True
    inner = stops[~last[stops]]
    after[inner] = key[inner + 1]
    order = stops[np.argsort(key[stops], kind="stable")]
    latest = order[np.append(key[order][1:] != key[order][:-1], True)]
    row, then = key[latest], after[latest]
    following = np.where(then == GATE, GATE, np.searchsorted(row, then))
    phase = np.searchsorted(traffic.offsets, transfer[latest], side="right") - 1
    entry = np.searchsorted(row, key[walk.offsets[ids]])
    return Tables(phase, walk.nodes[latest].astype(np.intp), following, ids, entry)


def _stops(traffic: Traffic, walk: ChosenWalk) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """(the transfer of every stop; the stops of connections; which of these are at nodes that exist)."""
    ids = np.arange(traffic.source.size)
    length = np.diff(walk.offsets)
    used = traffic.networked(ids) & (length > 0)
    transfer = np.repeat(ids, length)
    stops = np.flatnonzero(used[transfer])
    return transfer, stops, (walk.nodes[stops] >= 0) & (walk.nodes[stops] < walk.topology.nodes)


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


def _replay(traffic: Traffic, walk: ChosenWalk) -> list[Violation]:
    """Rule `linkage`: from the source's gate through the tables to the gate of the target."""
    tables = tables_of(traffic, walk)
    if tables is None:
        return []
    at, ids = tables.entry.copy(), tables.transfer
    out = np.full(ids.size, -1, np.int64)
    moving = np.arange(ids.size)
    for _ in range(walk.longest):
        arrived = tables.following[at[moving]] == GATE
        out[moving[arrived]] = tables.node[at[moving[arrived]]]
        moving = moving[~arrived]
        if not moving.size:
            break
        at[moving] = tables.following[at[moving]]
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
