"""Connections: linkage tables followed from gate to gate.

The tables are built here from the stated channels: a node's channel leads to a channel of the next
node, or out of the gate. Of two entries for one channel the later one stands, as in a machine: then
another connection is lost, which the replay shows. The replay knows of a connection only where it
enters and on which channel; what comes out must be its target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conset.base import Ints, Ints32
from conset.verification.schedule.traffic import Traffic
from conset.verification.schedule.walks import ChosenWalk
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


class StatedChannels:
    """The channels that a document states along its routes; what rules ask of them is found once.

    Attributes:
        transfer: shape=(stops of all routes): whose stop each is.
        stops: shape=(stops of connections): which those are.
        inside: shape=(stops of connections): whether it is at a node that exists.
        channel: shape=(stops of all routes): the channel of each.
    """

    def __init__(self, traffic: Traffic, walk: ChosenWalk, stated: Ints | Ints32) -> None:
        self.traffic, self.walk = traffic, walk
        ids = np.arange(traffic.source.size)
        length = np.diff(walk.offsets)
        used = traffic.networked(ids) & (length > 0)
        self.transfer = np.repeat(ids, length)
        self.stops = np.flatnonzero(used[self.transfer])
        at = walk.nodes[self.stops]
        self.inside = (at >= 0) & (at < walk.topology.nodes)
        self.channel = stated.astype(np.int64)

    @cached_property
    def misnumbered(self) -> list[Violation]:
        """Rule `channel-number`: from 0, below the limit where there is one.

        Or as many channels as stops.
        """
        traffic, walk, channel = self.traffic, self.walk, self.channel
        if channel.size != walk.nodes.size:
            return [
                Violation(
                    None,
                    None,
                    "channel-number",
                    f"{channel.size} channels are stated for {walk.nodes.size} stops of routes",
                )
            ]
        limit = traffic.document.limits.get("channels")
        most = min(np.iinfo(np.int32).max, 1 << 31 if limit is None else int(limit))
        stops = self.stops[self.inside]
        found = []
        for at in stops[(channel[stops] < 0) | (channel[stops] >= most)].tolist():
            k, name = int(self.transfer[at]), walk.topology.node_name(int(walk.nodes[at]))
            text = f"channel {channel[at]} of {name}, must be from 0 to {most - 1}"
            found.append(traffic.violation(k, "channel-number", text))
        return found

    @cached_property
    def key(self) -> Ints:
        """One number for each (phase, node, channel) of `stops`; -1 elsewhere."""
        traffic, walk, stops, channel = self.traffic, self.walk, self.stops, self.channel
        phase = np.searchsorted(traffic.offsets, np.arange(traffic.source.size), side="right") - 1
        # places are numbered from 0 before channels, up to 2³¹ of them, are distinguished
        place = np.unique(
            phase[self.transfer[stops]] * walk.topology.nodes + walk.nodes[stops],
            return_inverse=True,
        )[1]
        key = np.full(channel.size, -1, np.int64)
        key[stops] = place.reshape(-1) * (int(channel[stops].max()) + 1) + channel[stops]
        return key

    @cached_property
    def tables(self) -> Tables | None:
        """What nodes are loaded with.

        None where there are no such nodes or channels, or no connections.
        """
        if self.misnumbered or not self.stops.size or not self.inside.all():
            return None
        traffic, walk, stops, key = self.traffic, self.walk, self.stops, self.key
        ids = np.unique(self.transfer[stops])
        after = np.full(key.size, GATE, np.int64)
        last = np.zeros(key.size, bool)
        last[walk.offsets[ids + 1] - 1] = True
        inner = stops[~last[stops]]
        after[inner] = key[inner + 1]
        order = stops[np.argsort(key[stops], kind="stable")]
        latest = order[np.append(key[order][1:] != key[order][:-1], True)]
        row, then = key[latest], after[latest]
        following = np.where(then == GATE, GATE, np.searchsorted(row, then))
        phase = np.searchsorted(traffic.offsets, self.transfer[latest], side="right") - 1
        entry = np.searchsorted(row, key[walk.offsets[ids]])
        return Tables(phase, walk.nodes[latest].astype(np.intp), following, ids, entry)


def check_linkage(channels: StatedChannels) -> list[Violation]:
    """Rules `channel-number`, `channel-taken` and `linkage`."""
    tables = channels.tables
    if tables is None:  # nodes that are none are reported by `route-node`
        return channels.misnumbered
    return [*_taken(channels), *_replay(channels.traffic, channels.walk, tables)]


def _taken(channels: StatedChannels) -> Iterator[Violation]:
    """Rule `channel-taken`: once in a phase."""
    traffic, walk, key = channels.traffic, channels.walk, channels.key
    order = channels.stops[np.argsort(key[channels.stops], kind="stable")]
    for i in np.flatnonzero(key[order][1:] == key[order][:-1]).tolist():
        at, other = int(order[i + 1]), int(order[i])
        k, first = int(channels.transfer[at]), int(channels.transfer[other])
        yield traffic.violation(
            k,
            "channel-taken",
            f"channel {channels.channel[at]} of "
            f"{walk.topology.node_name(int(walk.nodes[at]))} is "
            f"taken by transfer {traffic.place_of(first)[1]}",
        )


def _replay(traffic: Traffic, walk: ChosenWalk, tables: Tables) -> Iterator[Violation]:
    """Rule `linkage`: from the source's gate through the tables to the gate of the target."""
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
    for i in np.flatnonzero(out != traffic.target[ids]).tolist():
        k = int(ids[i])
        where = (
            "at no gate" if out[i] < 0 else f"at the gate of {walk.topology.node_name(int(out[i]))}"
        )
        yield traffic.violation(
            k,
            "linkage",
            f"followed through the linkage tables it comes out {where}, "
            f"its target is {walk.topology.node_name(int(traffic.target[k]))}",
        )
