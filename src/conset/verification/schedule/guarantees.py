"""Guarantees: what every connection of a phase gets at least, held against what was asked for it.

A port or link that u connections share serves those that wait in turn, a flit each. So whatever the
others do,

    bandwidth  at least the least over port out, links, port in of rate / u
    latency    at most a hop for every link, and the sum over the same of u · flit / rate

Where the ports of a node share a rate, either has no more than 1 / u of it, u being all connections
that end there.

Where channels are stated, users are counted in the linkage tables and connections followed through
them: what enters at a gate uses the port out, a row that leads to another node the link between
them, one that leads to the gate the port in. Otherwise users are counted along the routes.

Connections: linkage tables followed from gate to gate.

The tables are built here from the stated channels: a node's channel leads to a channel of the next
node, or out of the gate. Of two entries for one channel the later one stands, as in a machine: then
another connection is lost, which the replay shows. The replay knows of a connection only where it
enters and on which channel; what comes out must be its target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from conset.base import Floats, Ints, Ints32
from conset.machine.machine import Machine
from conset.schedule.document import Document
from conset.verification.schedule.traffic import Groups, Traffic
from conset.verification.schedule.walks import ChosenWalk, Walk
from conset.verification.verification import Violation

GATE = -1
"""In place of a row that follows: out to the processor."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The linkage tables of all phases, a row for each channel of a node that is in use in a phase.

    Attributes:
        phase: shape=(rows): the phase of each.
        node: shape=(rows): whose table it is in.
        link: shape=(rows): the link over which it does, where the file says it; else None.
        following: shape=(rows): the row that it leads to, or `GATE`.
        transfer: shape=(connections): the transfers that enter at a gate.
        entry: shape=(connections): the row where each does.
    """

    phase: Ints
    node: Ints
    link: Ints | None
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
        node = walk.nodes[latest].astype(np.intp)
        link = None if walk.links is None else np.append(walk.links, -1)[latest + 1]
        return Tables(phase, node, link, following, ids, entry)


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


_HOPS = 1 << 21
"""Of a chunk of phases."""
_ROUNDING = 1 + 1e-9
Places = Ints32 | Ints
Stated = float | Sequence[float | None] | None


def bandwidths_of(stated: Stated, messages: int) -> Floats:
    """shape=(messages), float64 [B/s]: what each message is to be guaranteed at least.

    0 where it is not specified.
    """
    return _each(stated, messages, 0.0)


def latencies_of(stated: Stated, messages: int) -> Floats:
    """shape=(messages), float64 [s]: what each message is to be guaranteed at most.

    Infinite where it is not specified.
    """
    return _each(stated, messages, np.inf)


def _each(stated: Stated, messages: int, nothing: float) -> Floats:
    if stated is None or isinstance(stated, int | float):
        return np.full(messages, nothing if stated is None else float(stated))
    return np.array([nothing if value is None else value for value in stated], np.float64)


def resource_rates(machine: Machine, method: str) -> tuple[float, float, Floats]:
    """(port out, port in, links of all their width, shape=(link_slots)) [B/s]."""
    costs, topology = machine.costs_for(method), machine.topology
    rates = (
        np.full(topology.link_slots, costs.link_Bps)
        if topology.link_rate_Bps is None
        else topology.link_rate_Bps
    )
    return costs.port_out_Bps, costs.port_in_Bps, rates * topology.widths()


def check_guarantees(
    traffic: Traffic, walk: Walk, machine: Machine, tables: Tables | None
) -> Iterator[Violation]:
    """Rules `bandwidth` and `latency`, through the linkage tables where there are any.

    O(hops log hops).
    """
    document = traffic.document
    messages = document.source.size
    if document.min_bandwidth_Bps is None and document.max_latency_s is None:
        return
    wrong = list(_misstated(document))
    yield from wrong
    if wrong or not messages:
        return
    least = bandwidths_of(document.min_bandwidth_Bps, messages)
    most = latencies_of(document.max_latency_s, messages)
    message = np.clip(
        document.transfer_message, 0, messages - 1
    )  # others are reported by `message-index`
    for ids, bandwidth, latency in _guarantees(traffic, walk, machine, tables):
        asked, limit = least[message[ids]], most[message[ids]]
        for n in np.flatnonzero(bandwidth * _ROUNDING < asked).tolist():
            yield traffic.violation(
                int(ids[n]),
                "bandwidth",
                f"{bandwidth[n]:.6g} B/s are guaranteed, {asked[n]:.6g} B/s were asked for",
            )
        for n in np.flatnonzero(latency > limit * _ROUNDING).tolist():
            yield traffic.violation(
                int(ids[n]),
                "latency",
                f"at most {latency[n]:.6g} s are guaranteed, {limit[n]:.6g} s were asked for",
            )


def _misstated(document: Document) -> Iterator[Violation]:
    """Demands that are none, of either rule."""
    messages = document.source.size
    for rule, stated, what in (
        ("bandwidth", document.min_bandwidth_Bps, "minimum bandwidths"),
        ("latency", document.max_latency_s, "maximum latencies"),
    ):
        if stated is None:
            continue
        if not isinstance(stated, int | float) and len(stated) != messages:
            yield Violation(
                None, None, rule, f"{len(stated)} {what} are stated for {messages} messages"
            )
            continue
        values = [
            value
            for value in (stated if isinstance(stated, list) else [stated])
            if value is not None
        ]
        wrong = [value for value in values if not 0 <= value < np.inf]
        if wrong:
            yield Violation(
                None, None, rule, f"{what}: {wrong[0]:g} is stated, must be finite and at least 0"
            )


def _guarantees(
    traffic: Traffic, walk: Walk, machine: Machine, tables: Tables | None
) -> Iterator[tuple[Ints, Floats, Floats]]:
    """(transfers, their least bandwidth [B/s], their longest time of an element [s]), in pieces."""
    if tables is not None and isinstance(walk, ChosenWalk):
        yield tables.transfer, *_through_tables(tables, traffic, walk, machine)
        return
    groups = Groups.of_phases(traffic.offsets)
    for low, high in groups.chunks(groups.count, max(1, _HOPS // walk.longest)):
        for ids, group in groups.blocks(low, high, max(1, groups.transfers)):
            used = traffic.networked(ids)
            yield ids[used], *_along_routes(traffic, walk, machine, ids[used], group[used])


def _through_tables(
    tables: Tables, traffic: Traffic, walk: ChosenWalk, machine: Machine
) -> tuple[Floats, Floats]:
    """Both guarantees of every connection that enters the tables."""
    out, into, links = resource_rates(machine, traffic.document.method)
    costs, nodes, following = (
        machine.costs_for(traffic.document.method),
        machine.topology.nodes,
        tables.following,
    )
    share, hop = np.full(tables.node.size, np.inf), np.zeros(tables.node.size)
    at, ends = tables.entry.copy(), np.flatnonzero(following == GATE)
    least, share[ends] = _port_shares(
        (tables.phase[at], tables.node[at]),
        (tables.phase[ends], tables.node[ends]),
        (out, into, costs.node_Bps),
        nodes,
    )
    inner = np.flatnonzero(following != GATE)
    stated = None if tables.link is None else tables.link[inner]
    link = walk.link_between(tables.node[inner], tables.node[following[inner]], stated)
    inner, link = inner[link >= 0], link[link >= 0]  # ports of a crossbar have none between them
    share[inner] = links[link] / _users(tables.phase[inner], link, links.size)
    hop[inner] = float(costs.hop.at(costs.flit_B))
    delay = costs.flit_B / least
    moving = np.arange(at.size)
    for _ in range(walk.longest):
        here = at[moving]
        least[moving] = np.minimum(least[moving], share[here])
        delay[moving] += hop[here] + costs.flit_B / share[here]
        moving = moving[following[here] != GATE]
        at[moving] = following[at[moving]]
    return least, delay


def _along_routes(
    traffic: Traffic, walk: Walk, machine: Machine, ids: Ints, group: Ints
) -> tuple[Floats, Floats]:
    """Both guarantees of `ids`, counted along their routes."""
    out, into, links = resource_rates(machine, traffic.document.method)
    costs, nodes = machine.costs_for(traffic.document.method), machine.topology.nodes
    source, target = traffic.source[ids], traffic.target[ids]
    sent, received = _port_shares(
        (group, source), (group, target), (out, into, costs.node_Bps), nodes
    )
    least, delay = np.minimum(sent, received), costs.flit_B / sent + costs.flit_B / received
    position, link = walk.hops(ids, source, target)
    if link.size:
        share = links[link] / _users(group[position], link, links.size)
        np.minimum.at(least, position, share)
        np.add.at(delay, position, float(costs.hop.at(costs.flit_B)) + costs.flit_B / share)
    return least, delay


def _port_shares(
    leaving: tuple[Ints, Places],
    entering: tuple[Ints, Places],
    rates: tuple[float, float, float],
    nodes: int,
) -> tuple[Floats, Floats]:
    """What those that leave, and those that enter, have of their ports at least [B/s].

    Args:
        leaving: (group, node) of each connection that comes in at a gate.
        entering: (group, node) of each that goes out at one.
        rates: of a port out, a port in, and of both of a node together.
        nodes: of the network.
    """
    out, into, both = rates
    ends = _users(
        np.concatenate([leaving[0], entering[0]]), np.concatenate([leaving[1], entering[1]]), nodes
    )
    first = leaving[0].size
    sent = np.minimum(out / _users(*leaving, nodes), both / ends[:first])
    return sent, np.minimum(into / _users(*entering, nodes), both / ends[first:])


def _users(group: Ints, place: Places, places: int) -> Ints:
    """Shape as `group`: how many entries have the same group and place."""
    _, inverse, count = np.unique(group * places + place, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse.reshape(-1)])
