"""Connections: elements move hop by hop through the linkage tables.

Phases are switched as the program describes.

Problem. What does a schedule of connections take on the machine that the tables are loaded into?
Links that connections share, bounded queues, the order of a node's list and the switch of a context
decide, and no rate is solved for.

Idea. A connection is what the tables make of it: the gate of its source, a channel in every node,
the gate of its target (`chains.py`). Nothing else says where elements go. The sender's gate, every
link and the receiver's gate are servers that take one element (`flit`) after the other from the
connections that wait and have room behind, round robin, in flit / (rate · width); from a link into
the next channel it takes `hop` more. A channel holds `queue` elements. Rules to the last detail:
`cpp/include/conset/simulation/connections/connections.hpp`.

Phases. All nodes switch together: what is under way arrives (drain: from when the last element has
left a gate), all nodes synchronize, the next context is set up. So the policy is `barrier`;
consecutive phases of one context are one phase here already (`conset.schedule.program`) and nothing
is switched between them. Opening the first context costs its set-up, and a synchronization where
the machine says `first_barrier`. A phase begins in an empty network with every turn at its first
channel, so the same phase takes the same time: each distinct one is simulated once. Transfers over
the same stated channels share a connection; where channels are not stated, each transfer has one of
its own.

Interleaved or not. `in_flight` and `receives` `all`: all connections of a node at once. 1 and 1: a
node sends on one and receives from one, in list order, as the text's programs did; a sender fills
the queues of a connection whose receiver is busy elsewhere. `per_transfer` is paid at both ends,
each when its turn comes; so are overheads, which no processor keeps apart here; `inject` before,
`eject` behind.

What is left out: eager messages and system buffers (a connection has its queues), preemption.

Complexity. One step for every element at every server, 30 to 70 ns each; see
docs/connections-simulated.md.

Reference. Feldmann, Stricker, Warfel, Supporting sets of arbitrary connections on iWarp through
communication context switches (1993), sections 4.1.2, 4.2.

Open tables: the connections of a phase as stations and servers with whole ticks.

As the core takes them.

A server is the gate out of a node, a link, or the gate into a node; stations are where elements
wait for it. Ticks are the largest step of which all times are multiples, so that what ends at one
time meets.

Waits inside an open context.

Which transfers wait for each other where nothing moves any more, as text.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import gcd, inf
from typing import Any

import numpy as np

from conset import _core
from conset.base import (
    Array,
    Floats,
    Indices,
    InputError,
    Ints,
    Ints32,
    NoScheduleError,
    UsageError,
    take_rows,
)
from conset.machine import (
    Costs,
    Machine,
    link_rates,
    route_links,
    stops_of_links,
    synchronization_s,
)
from conset.models.chains import Chains, follow_tables
from conset.models.nanoseconds import describe_cycle
from conset.models.needs import check_receives, require_one_route
from conset.models.settings import Settings
from conset.models.timeline import Timeline, mean_latency, phase_ends
from conset.models.workload import Workload
from conset.schedule import GATE, link_channels, number_channels, parse_sync

FINEST_S = 1e-15
MOST_TICKS = 2.0**61
QUEUE = 8
"""Elements of a channel where links are short; see `default_queue`."""
MOST = 2**20
"""Elements of a channel at most."""


@dataclass(frozen=True, eq=False)
class Services:
    """How long every server takes for an element.

    Servers are numbered: the gate out of each node, the gate into each, each link, then what costs
    nothing. Where a node's rates in and out share one (`node`), both gates are one server, numbered
    as the gate out.

    Attributes:
        out_s: of a gate out [s].
        in_s: of a gate into a node [s].
        link_s: shape=(link_slots) [s].
        hop_s: from a link into the channel behind it [s].
        shared: whether both gates of a node are one.
    """

    out_s: float
    in_s: float
    link_s: Floats
    hop_s: float
    shared: bool

    @staticmethod
    def of(machine: Machine, costs: Costs) -> Services:
        """Of one flit on each.

        Raises:
            InputError: a rate of a node in and out together that is above that of a port, or counts
                exchanges apart.
        """
        topology, flit = machine.topology, float(costs.flit_B)
        shared = costs.node_Bps < inf
        if costs.startup_s:
            raise InputError(f"connections: startup of {machine.name}: must be 0, gates have none")
        out, into = costs.port_out_Bps, costs.port_in_Bps
        if shared:
            if costs.node_Bps > min(out, into):
                rule = f"must be none, or at most the rate of a port, {min(out, into):g} B/s"
                raise InputError(
                    f"connections: node = {costs.node_Bps:g} B/s of {machine.name}: {rule}"
                )
            if costs.exchange_weight != 1 and "barrier" in costs.exchange_syncs:
                raise InputError(f"connections: exchange_weight of {machine.name}: must be 1")
            out = into = costs.node_Bps
        link_s = flit / link_rates(topology, costs)
        return Services(flit / out, flit / into, link_s, costs.hop.at(flit), shared)


def default_queue(services: Services) -> int:
    """Elements of a channel.

    8, and no fewer than keep a connection from waiting for room on its own account.

    An element holds its place from when the server before takes it until the server behind has
    passed it on: two services and a hop, in which the slower server takes 2 + hop / service at
    most. Where nothing takes time but the hop, as many as there may be.
    """
    every = np.concatenate([[services.out_s, services.in_s], services.link_s])
    timed = every[every > 0]
    if not timed.size:
        return MOST if services.hop_s else QUEUE
    return min(max(QUEUE, 2 + int(np.ceil(services.hop_s / float(timed.min()) - 1e-9))), MOST)


@dataclass(frozen=True, eq=False)
class Stations:
    """The stations of a phase: for every connection the sender's end and then each stop.

    Attributes:
        server: shape=(stations), as `Services` numbers them.
        link: shape=(stations), the link that elements leave by, -1 at gates.
        position: shape=(stations), among its server's stations: turns go by channel.
        next: shape=(stations), int32: where elements go, -1: out.
        first: shape=(connections), int32.
        last: shape=(connections), int32.
    """

    server: Ints
    link: Ints
    position: Ints
    next: Ints32
    first: Ints32
    last: Ints32

    @staticmethod
    def of(chains: Chains, machine: Machine, services: Services) -> Stations:
        """Of these chains.

        Raises:
            InputError: a table links two nodes that no link joins.
        """
        topology = machine.topology
        stops = np.diff(chains.offsets)
        count, connections = chains.node.size + stops.size, stops.size
        first = chains.offsets[:-1] + np.arange(connections)
        last = first + stops
        stop = np.ones(count, bool)
        stop[first] = False
        node, channel = np.empty((2, count), np.int64)
        node[stop], channel[stop] = chains.node, chains.channel
        node[first], channel[first] = node[first + 1], channel[first + 1]
        inner = stop.copy()
        inner[last] = False
        at = np.flatnonzero(inner)
        link = np.full(count, -1, np.int64)
        server = node.copy()
        server[last] += 0 if services.shared else topology.nodes
        if topology.kind == "crossbar":
            server[at] = 2 * topology.nodes + topology.link_slots + at
        else:
            link[stop] = chains.link
            apart = at[link[at] < 0]
            if apart.size:
                k = int(apart[0])
                one, other = (topology.node_name(int(n)) for n in node[k : k + 2])
                raise InputError(f"linkage tables: {one} and {other} are not joined by a link")
            server[at] = 2 * topology.nodes + link[at]
        next_ = np.arange(1, count + 1, dtype=np.int32)
        next_[last] = -1
        turn = channel * 2
        turn[last] += 1
        return Stations(server, link, turn, next_, first.astype(np.int32), last.astype(np.int32))


class Ticks:
    """Whole ticks for times [s].

    `tick_s` is the longest of which all that it was made from are multiples.
    """

    def __init__(self, times_s: Floats, total_s: float) -> None:
        unit = FINEST_S
        while total_s / unit > MOST_TICKS:
            unit *= 10
        whole = np.unique(np.rint(times_s / unit).astype(np.int64))
        self._unit, self._step = unit, max(1, gcd(*whole.tolist()) if whole.size else 1)
        self.tick_s = self._unit * self._step

    def of(self, times_s: Floats) -> Ints:
        """In ticks."""
        return np.rint(np.asarray(times_s) / self._unit).astype(np.int64) // self._step

    def seconds(self, ticks: Ints) -> Floats:
        """In seconds, rounded once: as many of the units as they are."""
        return np.asarray(ticks * self._step / round(1 / self._unit), np.float64)


def core_tables(
    stations: Stations, services: Services, machine: Machine, ticks: Ticks, queue: int
) -> _core.OpenTables:
    """As the core takes them."""
    servers, own = np.unique(stations.server, return_inverse=True)
    order = np.lexsort((stations.position, own)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=servers.size))]).astype(
        np.int64
    )
    service, hop = service_times(servers, services, machine)
    return _core.OpenTables(
        service=ticks.of(service),
        hop=ticks.of(hop),
        turn_offsets=offsets,
        turns=order,
        next=stations.next,
        first=stations.first,
        last=stations.last,
        queue=queue,
    )


def service_times(servers: Ints, services: Services, machine: Machine) -> tuple[Floats, Floats]:
    """(service, hop) of servers [s]."""
    nodes, slots = machine.topology.nodes, machine.topology.link_slots
    each = np.concatenate(
        [np.full(nodes, services.out_s), np.full(nodes, services.in_s), services.link_s, [0.0]]
    )
    is_link = (servers >= 2 * nodes) & (servers < 2 * nodes + slots)
    return each[np.minimum(servers, 2 * nodes + slots)], np.where(is_link, services.hop_s, 0.0)


@dataclass(frozen=True, eq=False)
class Waiting:
    """The transfers of a phase in list order.

    Attributes:
        messages: of the workload.
        sender: shape=(transfers), ranks.
        receiver: shape=(transfers).
        dep_offsets: shape=(transfers + 1).
        deps: what each waits for.
        connection: shape=(transfers), -1 for none.
    """

    messages: Indices
    sender: Ints32
    receiver: Ints32
    dep_offsets: Ints
    deps: Ints32
    connection: Ints32


def require_all(
    result: _core.OpenTimes, workload: Workload, machine: Machine, waiting: Waiting
) -> None:
    """Raises NoScheduleError where a transfer was not delivered.

    Follows one wait after the other to a cycle.
    """
    stuck = np.flatnonzero(result.end < 0)
    if not stuck.size:
        return
    seen: dict[int, int] = {}
    t, path, texts = int(stuck[0]), list[int](), list[str]()
    while t not in seen:
        seen[t] = len(path)
        path.append(t)
        t, text = _wait_of(t, result, waiting)
        texts.append(text)
    cycle = waiting.messages[np.array(path[seen[t] :])].astype(np.int32)
    text = describe_cycle(workload, cycle, texts[seen[t] :])
    raise NoScheduleError(f"{workload.name} on {machine.name}: deadlock: {text}")


def _wait_of(t: int, result: _core.OpenTimes, waiting: Waiting) -> tuple[int, str]:
    """(the transfer that one waits for, how)."""
    undelivered = result.end < 0
    mine = waiting.sender == waiting.sender[t]
    if result.slot[t] < 0:
        deps = waiting.deps[waiting.dep_offsets[t] : waiting.dep_offsets[t + 1]]
        first = int(np.flatnonzero(mine & (result.slot < 0))[0])
        if undelivered[deps].any():
            return int(deps[undelivered[deps]][0]), "waits for the delivery of"
        if first != t:
            return first, "comes in its list after"
        return int(
            np.flatnonzero(mine & (result.slot >= 0) & (result.left < 0))[0]
        ), "waits for a send of its rank beside"
    connection = waiting.connection[t]
    ahead = np.flatnonzero(undelivered & (waiting.connection == connection))
    if connection >= 0 and ahead[0] != t:
        return int(ahead[0]), "waits on its connection for"
    taken = undelivered & (waiting.receiver == waiting.receiver[t]) & (result.receiving > 0)
    return int(np.flatnonzero(taken)[0]), "waits for a receive of its rank beside"


def simulate_connections(
    workload: Workload,
    machine: Machine,
    settings: Settings | None = None,
    *,
    pace_s: Floats | None = None,
) -> Timeline:
    """When every transfer is delivered, where elements go as the linkage tables say.

    Args:
        workload: what is sent; channels that are not stated are numbered as
            `conset.schedule.linkage` does.
        machine: its network, rates, and what a switch costs.
        settings: `in_flight`, `receives`, `receive_order` and `queue` count here; `sync` must be
            `barrier`.
        pace_s: shape=(messages) [s]: elements of each come to the gate at this distance; None: all
            at once.

    Returns:
        A timeline. `figures`: `queue`; `element_hops`; `simulated_phases`, distinct ones; `switch`
            {count, drain_s,
        synchronization_s, setup_s}, sums over all switches, and `opening_s` of the first context;
        `connections` {rate_Bps, latency_s} by message: its bytes over the time from when it came to
        the gate to its delivery, and the longest time of an element from the head of the sender's
        gate to out of the target's; None where nothing moved.

    Raises:
        UsageError: another policy between phases.
        InputError: the tables do not lead to the targets, more receives than allowed, a rate that
            is not modelled.
        NoScheduleError: transfers wait for each other in a cycle; names them.
    """
    settings = settings or Settings()
    costs = machine.costs_for(workload.method)
    check_receives(workload, machine, costs, settings)
    require_one_route(workload, machine, "connections")
    if workload.phases > 1 and str(parse_sync(settings.sync)) != "barrier":
        raise UsageError(
            f"connections: all nodes switch together: sync must be barrier, is {settings.sync}",
            options=["sync"],
        )
    workload.require_fits(machine.topology)
    return _Run(workload, machine, costs, settings, pace_s).timeline()


@dataclass(frozen=True, eq=False)
class _Play:
    """What one phase comes to: arrays over its transfers in list order, counted from its start [s].

    Infinite: not.
    """

    slot: Floats
    sent: Floats
    begun: Floats
    left: Floats
    end: Floats
    latency: Floats
    moves: int
    stopped: bool

    @property
    def time_s(self) -> float:
        """The last delivery [s]."""
        return float(self.end.max(initial=0.0))

    @property
    def drain_s(self) -> float:
        """How long elements are under way that none follows [s]."""
        return self.time_s - float(self.left.max(initial=0.0))


class _Run:
    """One simulation: the workload as stops, elements and costs of each end."""

    def __init__(
        self,
        workload: Workload,
        machine: Machine,
        costs: Costs,
        settings: Settings,
        pace_s: Floats | None,
    ) -> None:
        self.work, self.machine, self.costs, self.settings = workload, machine, costs, settings
        self.services = Services.of(machine, costs)
        self.queue = settings.queue or default_queue(self.services)
        self.offsets, self.links = workload.link_offsets, workload.links
        if not self.offsets.size:
            self.offsets, self.links = route_links(
                machine.topology, machine.routing, workload.source, workload.target
            )
        self.phase_offsets = (
            workload.phase_offsets if workload.phases else np.array([0, workload.messages])
        )
        self.route_offsets, self.nodes, self.entered = self._stops()
        self.channels = workload.channels
        if not self.channels.size:
            self.channels = number_channels(self.phase_offsets, self.route_offsets, self.nodes)
        self.elements = np.where(workload.crosses, -(-workload.bytes // costs.flit_B), 0)
        self.pace = np.zeros(workload.messages) if pace_s is None else pace_s
        copies = workload.copies_s(costs) if workload.packed.any() else 0.0
        size = workload.bytes
        before = costs.receive == "before"
        receive = costs.receive_overhead.of(size) + (copies if before else 0.0)
        self.send_s = (
            costs.send_overhead.of(size) + costs.per_transfer_s + costs.inject.of(size) + copies
        )
        self.receive_s = costs.per_transfer_s + (receive if before else np.zeros(size.size))
        self.after_s = costs.eject.of(size) + (np.zeros(size.size) if before else receive + copies)
        self.copy_s = np.where(workload.crosses, 0.0, size / costs.copy_Bps)

    def _stops(self) -> tuple[Ints, Ints32, Ints32]:
        """(offsets, node, link it is entered by) of the stops of every message.

        A message inside its node has one.
        """
        work, topology = self.work, self.machine.topology
        if topology.kind == "crossbar":
            offsets = np.concatenate([[0], np.cumsum(1 + work.crosses)]).astype(np.int64)
            nodes = np.repeat(work.source, np.diff(offsets))
            nodes[offsets[1:] - 1] = work.target
            return offsets, nodes, np.full(nodes.size, GATE, np.int32)
        return stops_of_links(topology, self.offsets, self.links, work.source)

    def timeline(self) -> Timeline:
        """All phases, one after the other."""
        work, costs = self.work, self.costs
        begun = time.perf_counter()
        columns = np.full((5, work.messages), inf)
        latency = np.full(work.messages, inf)
        synchronization = synchronization_s(self.machine, costs) if work.phases else 0.0
        setup = costs.setup_s if work.phases else 0.0
        opening = setup + (synchronization if costs.first_barrier else 0.0)
        now, drained, moves = opening, 0.0, 0
        known: dict[tuple[bytes, ...], _Play] = {}
        stopped = False
        for p in range(max(work.phases, 1)):
            if p:
                now += synchronization + setup
            chosen = self._listed(p)
            play = self._play(p, chosen, now, moves, known)
            columns[:, chosen] = now + np.stack(
                [play.slot, play.sent, play.begun, play.left, play.end]
            )
            latency[chosen] = play.latency
            moves += play.moves
            if play.stopped or now > self.settings.until_s:
                stopped = True
                break
            now += play.time_s
            drained += play.drain_s if p + 1 < work.phases else 0.0
        switches = max(work.phases - 1, 0)
        figures: dict[str, Any] = {
            "queue": self.queue,
            "element_hops": moves,
            "work": moves,
            "simulated_phases": len(known),
            "opening_s": opening,
            "switch": {
                "count": switches,
                "drain_s": drained,
                "synchronization_s": switches * synchronization,
                "setup_s": switches * setup,
            },
            **({"cut": True} if stopped else {}),
        }
        return self._timeline(columns, latency, figures, time.perf_counter() - begun)

    def _listed(self, p: int) -> Indices:
        """The messages of a phase in list order."""
        place = slice(int(self.phase_offsets[p]), int(self.phase_offsets[p + 1]))
        if self.work.order.size:
            return self.work.order[place].astype(np.intp)
        return np.arange(place.start, place.stop)

    def _play(
        self,
        p: int,
        chosen: Indices,
        now: float,
        moves: int,
        known: dict[tuple[bytes, ...], _Play],
    ) -> _Play:
        """One phase; taken from `known` where the same was simulated."""
        work = self.work
        route_offsets, at = take_rows(self.route_offsets, chosen)
        stops = np.diff(route_offsets)
        dep_offsets, deps = self._deps(p, chosen)
        release = np.maximum(work.time_s[chosen] - now, 0.0)
        ranks, own = np.unique(
            np.concatenate([work.sending_rank[chosen], work.receiving_rank[chosen]]),
            return_inverse=True,
        )
        sender, receiver = own[: chosen.size].astype(np.int32), own[chosen.size :].astype(np.int32)
        rows: tuple[Array, ...] = (
            stops,
            self.nodes[at],
            self.entered[at],
            self.channels[at],
            work.bytes[chosen],
            sender,
            receiver,
            dep_offsets,
            deps,
            release,
            self.pace[chosen],
            work.packed[chosen] if work.packed.size else work.packed,
            self.elements[chosen],
        )
        key = tuple(values.tobytes() for values in rows)
        if key in known:
            return known[key]
        table = link_channels(
            np.zeros(chosen.size, np.int32), route_offsets, rows[1], rows[2], rows[3]
        )
        chains = follow_tables(
            table, work.source[chosen], work.target[chosen], self.machine.topology, p
        )
        stations = Stations.of(chains, self.machine, self.services)
        ends = [self.send_s, self.receive_s, self.after_s, self.copy_s]
        times = [release, *(each[chosen] for each in ends), self.pace[chosen]]
        ticks = self._ticks(stops, chosen, times)
        release_t, send, receive, after, copy, pace = (ticks.of(each) for each in times)
        result = _core.simulate_connections(
            core_tables(stations, self.services, self.machine, ticks, self.queue),
            _core.OpenTransfers(
                connection=np.where(self.elements[chosen] > 0, chains.connection, -1).astype(
                    np.int32
                ),
                sender=sender,
                receiver=receiver,
                elements=self.elements[chosen],
                release=release_t,
                send_cost=send,
                receive_cost=receive,
                after=after,
                copy=copy,
                pace=pace,
                dep_offsets=dep_offsets,
                deps=deps,
                ranks=int(ranks.size),
                in_flight=self.settings.in_flight or 0,
                receives=self.settings.receives or 0,
                any=self.settings.receive_order == "any",
                in_order=work.phases > 0 or self.settings.in_flight is not None,
            ),
            until=2**62  # the last tick that is not after the end
            if self.settings.until_s == inf
            else max(-1, int(min((self.settings.until_s - now) / ticks.tick_s, 2.0**61))),
            work=2**62
            if self.settings.max_work is None
            else max(self.settings.max_work - moves, 0),
            delivered=int(self.phase_offsets[p]),
        )
        if not (result.late or result.cut):
            require_all(
                result,
                work,
                self.machine,
                Waiting(chosen, sender, receiver, dep_offsets, deps, chains.connection),
            )
        columns = (result.slot, result.sent, result.begun, result.left, result.end, result.latency)
        slot, sent, begun, left, end, latency = (
            np.where(each < 0, inf, ticks.seconds(each)) for each in columns
        )
        known[key] = _Play(
            slot, sent, begun, left, end, latency, result.moves, result.late or result.cut
        )
        return known[key]

    def _ticks(self, stops: Ints, chosen: Indices, times: list[Floats]) -> Ticks:
        services = self.services
        link = np.unique(services.link_s)
        each = np.concatenate([[services.out_s, services.in_s, services.hop_s], link, *times])
        slowest = (
            services.out_s
            + services.in_s
            + float(stops.max(initial=0)) * (float(link.max(initial=0.0)) + services.hop_s)
        )
        elements = float(self.elements[chosen].sum(dtype=np.float64))
        total = (elements + 1) * (slowest + float(times[-1].max(initial=0.0))) + sum(
            float(x.sum()) for x in times
        )
        return Ticks(each, total)

    def _deps(self, p: int, chosen: Indices) -> tuple[Ints, Ints32]:
        """(offsets, transfers of the phase) that each transfer of the phase waits for.

        Earlier phases are over.

        Raises:
            NoScheduleError: one waits for a later phase.
        """
        work = self.work
        offsets, at = take_rows(work.dep_offsets, chosen)
        if not at.size:
            return offsets, np.zeros(0, np.int32)
        deps, owner = work.deps[at], np.repeat(np.arange(chosen.size), np.diff(offsets))
        late = np.flatnonzero(work.phase_of[deps] > p)
        if late.size:
            m, other = int(chosen[owner[late[0]]]), int(deps[late[0]])
            raise NoScheduleError(
                f"{work.name}: message {m} of phase {p} waits for message {other} of phase "
                f"{work.phase_of[other]}"
            )
        here = work.phase_of[deps] == p
        place = np.full(work.messages, -1, np.int32)
        place[chosen] = np.arange(chosen.size, dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owner[here], minlength=chosen.size))])
        return offsets.astype(np.int64), np.ascontiguousarray(place[deps[here]])

    def _timeline(
        self, columns: Floats, latency: Floats, figures: dict[str, Any], elapsed_s: float
    ) -> Timeline:
        work, topology, services = self.work, self.machine.topology, self.services
        slot, sent, begun, left, end = columns
        crosses = work.crosses
        hops = np.diff(self.offsets)
        link_bytes = np.zeros(topology.link_slots, np.int64)
        link_elements = np.zeros(topology.link_slots, np.int64)
        np.add.at(link_bytes, self.links, np.repeat(work.bytes, hops))
        np.add.at(link_elements, self.links, np.repeat(self.elements, hops))
        totals = np.zeros((4, topology.nodes), np.int64)
        for k, node in enumerate((work.source, work.target)):
            np.add.at(totals[2 * k], node[crosses], work.bytes[crosses])
            np.add.at(totals[2 * k + 1], node[crosses], self.elements[crosses])
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(
                (self.elements > 0) & (end > sent) & (end < inf), work.bytes / (end - sent), inf
            )
        figures["connections"] = {
            "rate_Bps": [value if value < inf else None for value in rate.tolist()],
            "latency_s": [
                value if value < inf and moved else None
                for value, moved in zip(latency.tolist(), self.elements.tolist(), strict=True)
            ],
        }
        return Timeline(
            "connections",
            "barrier" if work.phases else "none",
            self.settings.in_flight,
            self.machine.name,
            slot,
            end,
            phase_ends(work, end),
            link_bytes,
            link_elements * services.link_s,
            totals[0],
            totals[1] * services.out_s,
            totals[2],
            totals[3] * services.in_s,
            mean_latency(work, end, crosses),
            events=figures["element_hops"],
            elapsed_s=elapsed_s,
            workload=work,
            sent_s=sent,
            first_byte_s=begun,
            left_s=left,
            figures=figures,
        )
