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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from conset.base import Floats, Ints, Ints32
from conset.machine.machine import Machine
from conset.schedule.document import Document
from conset.verification.schedule.connections import GATE, Tables
from conset.verification.schedule.traffic import Groups, Traffic
from conset.verification.schedule.walks import ChosenWalk, Walk
from conset.verification.verification import Violation

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
    link = walk.link_between(tables.node[inner], tables.node[following[inner]])
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
