"""Elements on connections as an obvious slow program.

The specification that the core is compared with.

Everything is looked at again at every instant, times are fractions, queues are lists of elements.
Nothing is shared with the core; routes are `hand_made.route`, channels are numbered here. One phase
from an empty network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.workload import Workload
from support.hand_made import route

Time = Fraction


def exact(seconds: float) -> Time:
    """A decimal number as it is written."""
    return Fraction(repr(float(seconds)))


def time_of(size: float, rate: float) -> Time:
    """[s]; nothing where the rate has no limit."""
    return Fraction(0) if rate == inf else Fraction(int(size)) / exact(rate)


class Server:
    """Takes one element after the other from its places, in turn from the one after the last it
    served."""

    def __init__(self, service: Time, hop: Time) -> None:
        self.service, self.hop = service, hop
        self.places: list[Place] = []
        self.last = -1
        self.busy = False

    def choose(self, queue: int) -> Place | None:
        for step in range(1, len(self.places) + 1):
            k = (self.last + step) % len(self.places)
            place = self.places[k]
            if place.elements and place.open and (place.then is None or place.then.held < queue):
                self.last = k
                return place
        return None


class Place:
    """Where elements of one message wait: the sender's end, or a channel.

    An element is the time at which it came to the head of the gate; at the sender's end, at which
    it was offered.
    """

    def __init__(self, message: int, server: Server, channel: int) -> None:
        self.message, self.server, self.channel = message, server, channel
        self.then: Place | None = None
        self.elements: list[Time] = []
        self.held = 0
        self.open = True
        server.places.append(self)


class Slow:
    """One run; `end`, `left`, `sent`, `first`, `slot`, `latency` by message, None where it did
    not come to that."""

    def __init__(
        self,
        work: Workload,
        machine: Machine,
        settings: Settings,
        queue: int,
        pace: Sequence[Time] | None = None,
    ) -> None:
        self.work, self.machine, self.settings, self.queue = work, machine, settings, queue
        self.costs = costs = machine.costs_for(work.method)
        self.all = range(work.messages)
        self.pace = list(pace) if pace is not None else [Fraction(0)] * work.messages
        self.listed = work.order.tolist() if work.order.size else list(self.all)
        self.sender, self.receiver = work.sending_rank.tolist(), work.receiving_rank.tolist()
        self.deps = [
            work.deps[work.dep_offsets[m] : work.dep_offsets[m + 1]].tolist() for m in self.all
        ]
        size = work.bytes.tolist()
        self.send_cost = [
            exact(costs.send_overhead.at(b))
            + exact(costs.per_transfer_s)
            + exact(costs.inject.at(b))
            for b in size
        ]
        early = costs.receive == "before"
        receive = [exact(costs.receive_overhead.at(b)) for b in size]
        self.receive_cost = [exact(costs.per_transfer_s) + (r if early else 0) for r in receive]
        self.after = [
            exact(costs.eject.at(b)) + (0 if early else r)
            for b, r in zip(size, receive, strict=True)
        ]
        self.copy = [time_of(b, costs.copy_Bps) for b in size]
        nothing: list[Time | None] = [None] * work.messages
        self.slot, self.sent, self.first, self.left, self.end = (list(nothing) for _ in range(5))
        self.takes, self.took_slot, self.arrived, self.out = (list(nothing) for _ in range(4))
        self.finishing = [False] * work.messages
        self.latency = [Fraction(0)] * work.messages
        self.gate_free = [Fraction(0)] * work.messages
        self.passed, self.came_out = [0] * work.messages, [0] * work.messages
        self.now = Fraction(0)
        self.servers: dict[tuple[Any, ...], Server] = {}
        self.elements = [
            -(-b // costs.flit_B) if s != t else 0
            for b, s, t in zip(size, work.source.tolist(), work.target.tolist(), strict=True)
        ]
        self.places: list[list[Place]] = [[] for _ in self.all]
        self.in_order = work.phases > 0 or settings.in_flight is not None
        self.events: list[tuple[Time, Any]] = [
            (exact(t), lambda: None) for t in work.time_s if t > 0
        ]
        self.build()
        self.run()

    def build(self) -> None:
        topology, costs = self.machine.topology, self.costs
        used: dict[int, int] = defaultdict(int)
        links = {
            pair: link
            for link, pair in enumerate(
                zip(*(ends.tolist() for ends in topology.ends), strict=True)
            )
        }
        for m in self.all:
            nodes = route(self.machine, int(self.work.source[m]), int(self.work.target[m]))
            channels = []
            for node in nodes if len(nodes) > 1 else []:
                channels.append(used[node])
                used[node] += 1
            if not self.elements[m]:
                continue
            servers = [self.server(("out", nodes[0]), time_of(costs.flit_B, costs.port_out_Bps))]
            for pair in pairwise(nodes):
                service, hop = Fraction(0), Fraction(0)
                if topology.kind != "crossbar":
                    width = int(topology.widths()[links[pair]])
                    service, hop = time_of(costs.flit_B, costs.link_Bps) / width, exact(costs.hop_s)
                    servers.append(self.server(pair, service, hop))
                else:
                    servers.append(self.server((m, *pair), service))
            servers.append(self.server(("in", nodes[-1]), time_of(costs.flit_B, costs.port_in_Bps)))
            places = [
                Place(m, server, c)
                for server, c in zip(servers, [channels[0], *channels], strict=True)
            ]
            for one, other in pairwise(places):
                one.then = other
            places[-1].open = False
            self.places[m] = places
        for server in self.servers.values():
            server.places.sort(key=lambda place: place.channel)

    def server(self, name: tuple[Any, ...], service: Time, hop: Time = Fraction(0)) -> Server:
        return self.servers.setdefault(name, Server(service, hop))

    def run(self) -> None:
        while True:
            while self.lists():
                pass
            for server in self.servers.values():
                if not server.busy and (place := server.choose(self.queue)) is not None:
                    self.serve(server, place)
            if not self.events:
                return
            self.now = min(time for time, _ in self.events)
            due = [what for time, what in self.events if time == self.now]
            self.events = [event for event in self.events if event[0] > self.now]
            for what in due:
                what()

    def at(self, delay: Time, what: Any) -> None:
        """At once where there is nothing to wait for.

        All that ends at one time ends before servers choose.
        """
        if delay:
            self.events.append((self.now + delay, what))
        else:
            what()

    def serve(self, server: Server, place: Place) -> None:
        server.busy = True
        since = place.elements.pop(0)
        if place is self.places[place.message][0]:
            since = max(since, self.gate_free[place.message])
            if self.first[place.message] is None:
                self.first[place.message] = self.now
        if place.then is not None:
            place.then.held += 1
        self.events.append((self.now + server.service, lambda: self.served(server, place, since)))

    def served(self, server: Server, place: Place, since: Time) -> None:
        server.busy = False
        m = place.message
        if place is self.places[m][0]:
            self.gate_free[m] = self.now
            self.passed[m] += 1
            if self.passed[m] == self.elements[m]:
                self.left[m] = self.now
        else:
            place.held -= 1
        if place.then is not None:
            then = place.then
            self.at(server.hop, lambda: self.arrive(then, since))
            return
        self.latency[m] = max(self.latency[m], self.now - since)
        self.came_out[m] += 1
        if self.came_out[m] == self.elements[m]:
            self.out[m] = self.now

    def arrive(self, place: Place, since: Time) -> None:
        place.elements.append(since)
        if place.then is None and self.arrived[place.message] is None:
            self.arrived[place.message] = self.now

    def lists(self) -> bool:
        """Whether anything that ranks do at this instant has changed something."""
        changed = False
        for rank in set(self.sender):
            changed |= self.give_sends(rank)
        for rank in set(self.receiver):
            changed |= self.give_receives(rank)
        for m in self.all:
            changed |= self.finish(m)
        return changed

    def give_sends(self, rank: int) -> bool:
        changed = False
        for m in [m for m in self.listed if self.sender[m] == rank and self.slot[m] is None]:
            open_ = sum(
                self.sender[k] == rank and self.slot[k] is not None and self.left[k] is None
                for k in self.all
            )
            if self.settings.in_flight is not None and open_ >= self.settings.in_flight:
                break
            if (
                any(self.end[d] is None for d in self.deps[m])
                or exact(self.work.time_s[m]) > self.now
            ):
                if self.in_order:
                    break
                continue
            self.slot[m], changed = self.now, True
            self.at(self.send_cost[m], lambda m=m: self.offer(m))
        return changed

    def offer(self, m: int) -> None:
        self.sent[m] = self.now
        if not self.elements[m]:
            self.at(self.copy[m], lambda: self.copied(m))
            return
        for n in range(self.elements[m]):
            self.at(n * self.pace[m], lambda: self.places[m][0].elements.append(self.now))

    def copied(self, m: int) -> None:
        self.first[m], self.left[m], self.arrived[m] = self.sent[m], self.now, self.now

    def give_receives(self, rank: int) -> bool:
        mine = [m for m in self.listed if self.receiver[m] == rank and self.end[m] is None]
        limit = self.settings.receives or len(mine)
        taken = sum(self.took_slot[m] is not None for m in mine)
        if self.settings.receive_order == "any" and self.settings.receives:
            there = [m for m in mine if self.arrived[m] is not None and self.took_slot[m] is None]
            chosen = sorted(there, key=lambda m: (self.arrived[m], self.listed.index(m)))[
                : limit - taken
            ]
        else:
            chosen = [m for m in mine[:limit] if self.took_slot[m] is None]
        for m in chosen:
            self.took_slot[m] = self.now
            self.at(self.receive_cost[m], lambda m=m: self.take(m))
        return bool(chosen)

    def take(self, m: int) -> None:
        self.takes[m] = self.now
        if self.elements[m]:
            self.places[m][-1].open = True
        elif self.arrived[m] is not None:
            self.out[m] = self.now

    def finish(self, m: int) -> bool:
        if (
            not self.elements[m]
            and self.out[m] is None
            and None not in (self.arrived[m], self.takes[m])
        ):
            self.out[m] = self.now
        if self.out[m] is None or self.finishing[m]:
            return False
        self.finishing[m] = True
        self.at(self.after[m], lambda: self.deliver(m))
        return True

    def deliver(self, m: int) -> None:
        self.end[m] = self.now

    def column(self, name: str) -> np.ndarray:
        """A column in seconds, infinite where there is none."""
        return np.array([inf if value is None else float(value) for value in getattr(self, name)])
