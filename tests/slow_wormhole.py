"""The wormhole model as an obvious slow program: the specification that the fast one is compared with.

Everything is looked at again at every time; rates are filled up from nothing. Left out: exchanges, ready signals,
set-ups, widths. Times in microseconds.
"""

from __future__ import annotations

import heapq
from math import inf
from typing import Any

from conset.machine.machine import Machine
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload
from slow_wormhole_ranks import (
    ARRIVED,
    ENDED,
    GATE,
    HEADER,
    RECEIVED,
    SENT,
    SIGNAL,
    STREAM,
    Ranks,
)  # fmt: skip

TOGETHER = 1e-9
"""Times nearer than this (relative) are one."""


def slow_wormhole(work: Workload, machine: Machine, settings: Settings) -> list[float] | None:
    """Delivery of every message [us]; None where messages wait for each other for ever."""
    return _Run(work, machine, settings).run()


class _Run(Ranks):
    # --- time

    def begin(self) -> None:
        for r in range(self.work.nodes):
            self.enter(r)
        if self.sync.kind == "barrier":
            self.at(0.0, GATE, -1)
        for r in range(self.work.nodes):
            self.post_receives(r)
            self.advance(r)

    def run(self) -> list[float] | None:
        self.begin()
        while True:
            ends = {m: self.now + left / self.rate[m] for m, left in self.left.items() if self.rate[m] > 0}
            time = min([*(event[0] for event in self.events[:1]), *ends.values()], default=inf)
            if time == inf:
                break
            for m in self.left:
                self.left[m] -= self.rate[m] * (time - self.now)
            self.now, self.until = time, time + TOGETHER * max(1.0, time)
            batch = [(ENDED, m, "") for m, end in ends.items() if end <= self.until]
            for m in [entry[1] for entry in batch]:
                del self.left[m]
            while batch or (self.events and self.events[0][0] <= self.until):
                while self.events and self.events[0][0] <= self.until:
                    batch.append(heapq.heappop(self.events)[1:])
                batch.sort()
                self.happen(*batch.pop(0))
                for r in range(self.work.nodes):
                    self.advance(r)
            self.fill()
        return self.end if all(state == "delivered" for state in self.state) else None

    def fill(self) -> None:
        """Max-min: raise all rates together; freeze those on a full resource."""
        held = {m for m in self.left if self.sending(self.receiver[m])}
        self.rate = dict.fromkeys(self.left, 0.0)
        rising = set(self.left) - held
        uses = {m: [("o", self.work.source[m]), ("i", self.work.target[m]), *self.links[m]] for m in rising}
        room: dict[Any, float] = {}
        for m in rising:
            room |= dict.fromkeys(self.links[m], self.costs.link_Bps / 1e6)
            room |= {("o", self.work.source[m]): self.costs.port_out_Bps / 1e6}
            room |= {("i", self.work.target[m]): self.costs.port_in_Bps / 1e6}
        while rising:
            count = {r: sum(r in uses[m] for m in rising) for r in room}
            step = min(room[r] / count[r] for r in room if count[r])
            for m in rising:
                self.rate[m] += step
            full = {r for r in room if count[r] and room[r] / count[r] <= step * (1 + 1e-12)}
            room = {r: room[r] - step * count[r] for r in room}
            rising = {m for m in rising if not full & set(uses[m])}

    # --- what happens

    def happen(self, kind: int, which: int, what: str) -> None:
        if kind == ENDED:
            self.ended(which)
        elif kind == GATE:
            self.gate(which)
        elif kind == SIGNAL:
            self.signalled(which, what)
        elif kind == RECEIVED:
            self.received(which)
        elif kind == SENT and not self.links[which]:
            self.receive(which, "received")
        elif kind in (SENT, HEADER):
            self.ask(which)
        elif kind == ARRIVED:
            self.receive_now(which, what)
        elif kind == STREAM:
            self.left[which], self.rate[which] = float(self.size[which]), 0.0
            if not self.size[which]:
                del self.left[which]
                self.at(self.now, ENDED, which)

    def gate(self, r: int) -> None:
        if r >= 0:
            self.enter(r)
            self.post_receives(r)
            for m in [m for m in self.early if self.receiver[m] == r and self.there(m)]:
                self.early.remove(m)
                if self.take_receive(m):
                    self.has_one(m)
            return
        self.group += 1
        groups = {phase // self.sync.every for phase in self.phase}
        while self.group not in groups and self.group <= max(groups, default=-1):
            self.group += 1

    def signalled(self, m: int, what: str) -> None:
        half = self.costs.signal_s * 1e6 / 2
        if what == "request":
            self.at(self.receive_on(self.receiver[m], half), SIGNAL, m, "requested")
        elif what == "grant":
            self.at(self.receive_on(self.sender[m], half), SIGNAL, m, "granted")
        elif what == "granted":
            self.overhead(m)
        else:
            self.asks.add(m)
            if self.take_receive(m):
                self.has_one(m)

    def ask(self, m: int) -> None:
        channel = self.ways[m][self.taken[m]]
        special = self.costs.eager_B is not None or self.in_list
        if self.taken[m] + 1 == len(self.ways[m]) and special:
            self.arrive(m)
        elif self.take(channel, m):
            self.go_on(m)

    def take(self, channel: Any, m: int) -> bool:
        if self.queue[channel] or self.free[channel] < 1:
            self.queue[channel].append(m)
            return False
        self.free[channel] -= 1
        return True

    def go_on(self, m: int) -> None:
        self.taken[m] += 1
        if self.taken[m] < len(self.ways[m]):
            hop = 0.0 if self.taken[m] == 1 else self.costs.hop_s * 1e6
            self.at(self.now + hop, HEADER, m)
        elif self.(costs.receive == "after"):
            self.at(self.now, STREAM, m)
        else:
            self.receive(m, "stream")

    def ended(self, m: int) -> None:
        self.left.pop(m, None)
        taken = self.ways[m][: self.taken[m]]
        for channel in taken:
            self.release(channel)
        if m in self.buffering:
            self.buffered.add(m)
            self.state[m] = "sent"
            if m in self.has_receive:
                self.receive(m, "received")
        elif self.(costs.receive == "after"):
            self.receive(m, "received")
        else:
            self.received(m)

    def release(self, channel: Any) -> None:
        if self.in_list and channel[0] == "in":
            return
        if not self.queue[channel]:
            self.free[channel] += 1
        elif channel[0] == "in" and self.costs.eager_B is not None:
            self.has_one(self.queue[channel].pop(0))
        else:
            self.go_on(self.queue[channel].pop(0))

    # --- receives

    @property
    def in_list(self) -> bool:
        return self.settings.receive_order == "list" and self.settings.receives is not None

    def there(self, m: int) -> bool:
        """Whether the receiver of m is in its phase, where that counts."""
        return self.sync.kind != "local" or self.entered[self.receiver[m]] >= self.phase[m]

    def take_receive(self, m: int) -> bool:
        if m in self.has_receive:
            return True
        if self.in_list:
            return False
        if self.costs.eager_B is not None and not self.there(m):
            self.early.append(m)
            return False
        if not self.take(("in", self.receiver[m]), m):
            return False
        self.has_receive.add(m)
        return True

    def post_receives(self, r: int) -> None:
        """In list order: the first ones that are not delivered have theirs."""
        if not self.in_list:
            return
        for m in self.receives[r]:
            if not self.links[m] or m in self.has_receive:
                continue
            if self.costs.eager_B is not None and not self.there(m):
                return
            open_now = sum(k in self.has_receive and self.state[k] != "delivered" for k in self.receives[r])
            if open_now >= (self.settings.receives or inf):
                return
            self.has_one(m)

    def has_one(self, m: int) -> None:
        self.has_receive.add(m)
        r = self.receiver[m]
        if m in self.asks:
            self.asks.remove(m)
            self.signal(m, r, "grant")
        elif m in self.at_end:
            self.at_end.remove(m)
            if m in self.room_queue[r]:
                self.room_queue[r].remove(m)
            self.go_on(m)
            self.fill_room(r)
        elif m in self.buffered:
            self.receive(m, "received")

    def arrive(self, m: int) -> None:
        if self.take_receive(m):
            self.go_on(m)
            return
        self.at_end.add(m)
        if self.costs.eager_B is not None and self.size[m] <= self.costs.eager_B:
            self.room_queue[self.receiver[m]].append(m)
            self.fill_room(self.receiver[m])

    def fill_room(self, r: int) -> None:
        while self.room_queue[r] and self.size[self.room_queue[r][0]] <= self.room[r]:
            m = self.room_queue[r].pop(0)
            self.at_end.remove(m)
            self.buffering.add(m)
            self.room[r] -= self.size[m]
            self.at(self.now, STREAM, m)

    def received(self, m: int) -> None:
        r = self.receiver[m]
        self.state[m] = "delivered"
        if m in self.buffering:
            self.room[r] += self.size[m]
            self.release(("in", r))
            self.fill_room(r)
        self.post_receives(r)
        self.delivered(m)
