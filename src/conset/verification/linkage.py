"""Linkage tables, replayed: every connection is followed from gate to gate through what the nodes would be loaded with.

The tables are built here from the stated channels: a node's channel leads to a channel of the next node, or out of
the gate. Of two entries for one channel the later one stands, as in a machine: then another connection is lost, which
the replay shows. The replay knows of a connection only where it enters and on which channel; what comes out must be
its target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.verification.chosen import ChosenWalk
from conset.verification.traffic import Ints, Traffic
from conset.verification.verification import Violation

_GATE = -1


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
