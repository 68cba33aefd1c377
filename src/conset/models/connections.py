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
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from conset import _core
from conset.base import Array, Floats, Indices, Ints, Ints32, NoScheduleError, UsageError, take_rows
from conset.machine import Costs, Machine, route_links, synchronization_s
from conset.models.chains import follow_tables
from conset.models.needs import check_receives, require_one_route
from conset.models.open_tables import (
    Services,
    Stations,
    Ticks,
    Waiting,
    core_tables,
    default_queue,
    require_all,
)
from conset.models.settings import Settings
from conset.models.timeline import Timeline, mean_latency, phase_ends
from conset.models.workload import Workload
from conset.schedule import link_channels, number_channels, parse_sync


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
        self.route_offsets, self.nodes = self._stops()
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

    def _stops(self) -> tuple[Ints, Ints32]:
        """(offsets, node) of the stops of every message; a message inside its node has one."""
        work, topology = self.work, self.machine.topology
        if topology.kind == "crossbar":
            offsets = np.concatenate([[0], np.cumsum(1 + work.crosses)]).astype(np.int64)
            nodes = np.repeat(work.source, np.diff(offsets))
            nodes[offsets[1:] - 1] = work.target
            return offsets, nodes
        offsets = self.offsets + np.arange(work.messages + 1)
        nodes = np.empty(int(offsets[-1]), np.int32)
        first = np.zeros(nodes.size, bool)
        first[offsets[:-1]] = True
        nodes[first], nodes[~first] = work.source, topology.ends[1][self.links]
        return offsets, nodes

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
        table = link_channels(np.zeros(chosen.size, np.int32), route_offsets, rows[1], rows[2])
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
