"""Open tables: the connections of a phase as stations and servers with whole ticks.

As the core takes them.

A server is the gate out of a node, a link, or the gate into a node; stations are where elements
wait for it. Ticks are the largest step of which all times are multiples, so that what ends at one
time meets.

Waits inside an open context.

Which transfers wait for each other where nothing moves any more, as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, inf

import numpy as np

from conset import _core
from conset.base import Floats, Indices, InputError, Ints, Ints32, NoScheduleError
from conset.machine import Costs, Machine, core_network, link_rates
from conset.models.chains import Chains
from conset.models.nanoseconds import describe_cycle
from conset.models.workload import Workload

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
            link[at] = core_network(topology, machine.routing).links_between(
                node[at].astype(np.int32), node[at + 1].astype(np.int32)
            )
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

    @property
    def tick_s(self) -> float:
        """One tick [s]."""
        return self._unit * self._step

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
