"""Ranks of the slow wormhole: whose turn it is to be sent, and what processors are busy with."""

from __future__ import annotations

import heapq
from collections import defaultdict
from math import inf
from typing import Any

from conset.machine.machine import Machine
from conset.network.routes import route_links
from conset.schedule.sync import parse_sync
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload

ENDED, GATE, SIGNAL, RECEIVED, SENT, HEADER, ARRIVED, STREAM, IDLE = range(9)
"""What happens, in the order in which it does at one time."""


class Ranks:
    """The state of a run, its lists and its processors."""

    def __init__(self, work: Workload, machine: Machine, settings: Settings) -> None:
        self.work, self.costs, self.settings = work, machine.costs, settings
        self.sync = parse_sync(settings.sync)
        self.all = range(work.messages)
        self.sender, self.receiver = work.sending_rank.tolist(), work.receiving_rank.tolist()
        self.size, self.phase = work.bytes.tolist(), work.phase_of.tolist()
        listed = work.order.tolist() if work.order.size else list(self.all)
        self.sends = [[m for m in listed if self.sender[m] == r] for r in range(work.nodes)]
        self.receives = [[m for m in listed if self.receiver[m] == r] for r in range(work.nodes)]
        offsets, links = route_links(machine.topology, machine.routing, work.source, work.target)
        self.links = [links[offsets[m] : offsets[m + 1]].tolist() for m in self.all]
        self.ways = [self.way(m, machine) for m in self.all]
        self.free: dict[Any, float] = defaultdict(lambda: settings.lanes or self.costs.lanes)
        for r in range(work.nodes):
            self.free["out", r] = settings.in_flight or inf
            self.free["in", r] = settings.receives or inf
        self.queue: dict[Any, list[int]] = defaultdict(list)  # who waits for a channel
        self.state = ["waits"] * work.messages  # waits, posted, sent (from the buffer on), delivered
        self.taken = [0] * work.messages  # channels of the way
        self.has_receive, self.at_end, self.buffering, self.buffered, self.asks = (set[int]() for _ in range(5))
        self.room = [self.costs.buffers_B] * work.nodes
        self.room_queue: list[list[int]] = [[] for _ in range(work.nodes)]
        self.entered = [-1] * work.nodes  # the phase a rank is in
        self.early = list[int]()  # came before their receiver entered the phase
        self.group = -1
        self.cpu: dict[Any, float] = defaultdict(float)
        self.handlers: list[list[tuple[float, float]]] = [[] for _ in range(work.nodes)]  # sends: from, to
        self.left: dict[int, float] = {}  # bytes of those that stream
        self.rate: dict[int, float] = {}
        self.now, self.until = 0.0, -1.0
        self.events, self.end = list[tuple[float, int, int, str]](), [inf] * work.messages

    def way(self, m: int, machine: Machine) -> list[Any]:
        """Channels: injection, (link, datelines crossed) of each hop, ejection."""
        at, pool, way = machine.topology.coordinates, 0, list[Any]([("out", self.sender[m])])
        source, target = machine.topology.ends
        for link in self.links[m]:
            pool += int(abs(at[source[link]].astype(int) - at[target[link]]).max() > 1)
            way.append((link, pool))
        return [*way, ("in", self.receiver[m])]

    def at(self, time: float, kind: int, which: int, what: str = "") -> None:
        heapq.heappush(self.events, (self.now if time <= self.until else time, kind, which, what))

    # --- lists

    def own(self, r: int, phase: int) -> list[int]:
        return [m for m in self.all if self.phase[m] == phase and r in (self.sender[m], self.receiver[m])]

    def enter(self, r: int) -> None:
        """The next phase in which a rank has anything."""
        later = [self.phase[m] for m in self.all if r in (self.sender[m], self.receiver[m])]
        later = [phase for phase in later if phase > self.entered[r]]
        if self.sync.kind != "local" or not later:
            return
        self.entered[r] = min(later)
        if all(self.state[m] == "delivered" for m in self.own(r, self.entered[r])):
            self.at(self.now, GATE, r)

    def is_open(self, m: int) -> bool:
        if self.sync.kind == "local":
            return self.entered[self.sender[m]] >= self.phase[m]
        return self.sync.kind == "none" or self.phase[m] // self.sync.every <= self.group

    def advance(self, r: int) -> None:
        for m in self.sends[r]:
            flying = sum(self.state[k] == "posted" for k in self.sends[r])
            if self.state[m] != "waits":
                continue
            if not self.is_open(m) or flying >= (self.settings.in_flight or inf):
                return
            self.state[m] = "posted"
            if self.costs.eager_B is not None and self.links[m] and self.size[m] > self.costs.eager_B:
                self.signal(m, r, "request")
            else:
                self.overhead(m)

    def delivered(self, m: int) -> None:
        self.state[m], self.end[m] = "delivered", self.now
        for r in {self.sender[m], self.receiver[m]} if self.sync.kind == "local" else ():
            phase = self.entered[r]
            if phase == self.phase[m] and all(self.state[k] == "delivered" for k in self.own(r, phase)):
                self.at(self.now, GATE, r)
        group = [k for k in self.all if self.phase[k] // self.sync.every == self.group]
        if self.sync.kind == "barrier" and all(self.state[k] == "delivered" for k in group):
            self.at(self.now + self.costs.synchronization.base_s * 1e6, GATE, -1)

    # --- processors

    def sending(self, r: int) -> bool:
        return self.costs.preempts and self.cpu["send", r] > self.until

    def send_on(self, r: int, cost: float) -> float:
        start = max(self.cpu["send", r], self.now)
        self.cpu["send", r] = start + cost
        self.handlers[r].append((start, start + cost))
        self.at(start + cost, IDLE, r)  # rates change
        return start + cost

    def receive_on(self, r: int, cost: float) -> float:
        one = self.costs.one_processor and not self.costs.preempts
        key = ("send" if one else "receive", r)
        start = max(self.cpu[key], self.now)
        if self.costs.preempts:  # behind the handler that runs now, not behind those that follow
            start = max([start, *(to for begin, to in self.handlers[r] if begin <= self.until < to)])
        self.cpu[key] = start + cost
        return start + cost

    def signal(self, m: int, rank: int, what: str) -> None:
        half, hop = self.costs.signal_s * 1e6 / 2, self.costs.hop_s * 1e6
        self.at(self.send_on(rank, half) + hop * len(self.links[m]), SIGNAL, m, what)

    def overhead(self, m: int) -> None:
        self.at(self.send_on(self.sender[m], self.costs.inject.at(self.size[m]) * 1e6), SENT, m)

    def receive(self, m: int, what: str) -> None:
        if self.costs.preempts:
            self.at(self.now, ARRIVED, m, what)
        else:
            self.receive_now(m, what)

    def receive_now(self, m: int, what: str) -> None:
        cost = self.costs.eject.at(self.size[m]) * 1e6
        if m in self.buffering:
            cost += self.size[m] / self.costs.copy_Bps * 1e6
        self.at(self.receive_on(self.receiver[m], cost), STREAM if what == "stream" else RECEIVED, m)
