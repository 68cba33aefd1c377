"""The life of a message as an obvious slow program.

The specification that the core is compared with.

`docs/cost-model.md` says what happens; here it is done, step by step, with everything looked at
again after every event. How bytes cross the network is `slow_networks.py`. Nothing is shared with
the core. Times in seconds.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from itertools import pairwise
from math import inf, log
from typing import Any

from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.workload import Workload
from conset.schedule.policy import parse_sync
from support.hand_made import route
from support.slow_max_min import max_min, most_alone
from support.splitmix import MASK

ENDED, GATE, SIGNAL, RECEIVED, COPIED, PORT, HEADER, ARRIVED, STREAM, IDLE = range(10)
"""What happens, in the order in which it does at one time."""

TOGETHER = 1e-10
"""Times nearer than this (relative) are one.

Wider than the core's 1e-12, as sums are less careful here.
"""


class Release:
    """One run; `end` holds the deliveries. A network says what `delay`, `header` and `leave` do.

    `backwards` turns the order of messages, and of ranks, round at one time: whether that matters
    is asked of it.
    """

    backwards = False

    def __init__(self, work: Workload, machine: Machine, settings: Settings) -> None:
        self.work, self.machine, self.settings = work, machine, settings
        self.costs = machine.costs_for(work.method)
        self.phased = work.phases > 0
        self.sync = parse_sync(settings.sync if self.phased else "none")
        self.steps = self.sync.kind in ("local", "ready")
        self.all = range(work.messages)
        self.sender, self.receiver = work.sending_rank.tolist(), work.receiving_rank.tolist()
        self.ranks = range(max([-1, *self.sender, *self.receiver]) + 1)
        self.size, self.phase = work.bytes.tolist(), work.phase_of.tolist()
        self.packed = work.packed.tolist() if work.packed.size else [False] * work.messages
        self.leaves = [
            s != t for s, t in zip(work.source.tolist(), work.target.tolist(), strict=True)
        ]
        self.deps = [
            set(work.deps[work.dep_offsets[m] : work.dep_offsets[m + 1]].tolist()) for m in self.all
        ]
        self.links = [self.route(m) for m in self.all]
        listed = work.order.tolist() if work.order.size else list(self.all)
        self.sends = [[m for m in listed if self.sender[m] == r] for r in self.ranks]
        self.receives = [[m for m in listed if self.receiver[m] == r] for r in self.ranks]
        self.partner = self.exchanges()
        self.state = ["waits"] * work.messages  # waits, posted, left, delivered
        self.released = {m for m in self.all if work.time_s[m] == 0}
        self.signalled = {m for m in self.all if not self.leaves[m]}
        self.entered = [-1] * len(self.ranks)  # the phase a rank is in
        self.group = -1  # the last group that is open
        self.setting_up: dict[int, int] = {}  # by rank
        self.is_set_up = [set[int]() for _ in self.ranks]  # phases of each rank
        self.busy_until: dict[Any, float] = defaultdict(float)  # of processors
        self.handlers: list[list[tuple[float, float]]] = [[] for _ in self.ranks]  # sends: from, to
        self.shared = self.costs.processors == "shared"
        places = (
            *zip(self.sender, work.source.tolist(), strict=True),
            *zip(self.receiver, work.target.tolist(), strict=True),
        )
        self.node_of: dict[int, int] = dict(places)
        self.prepare_receives()
        self.chance = [self.by_chance(m) for m in self.all]
        self.bytes_left: dict[int, float] = {}  # of those that flow; ~m: m starts up
        self.ports: dict[int, list[int]] = defaultdict(list)  # by node: who starts up, who waits
        self.rate: dict[int, float] = {}
        self.now, self.until = 0.0, -1.0
        self.events, self.end = list[tuple[float, int, int, str]](), [inf] * work.messages

    def prepare_receives(self) -> None:
        listed = self.settings.receive_order == "list" and self.sync.kind != "detect"
        self.in_list = listed and self.settings.receives is not None
        self.free_receives = [self.settings.receives or inf for _ in self.ranks]
        self.receive_queue: list[list[int]] = [[] for _ in self.ranks]
        self.has_receive, self.at_end, self.buffering, self.buffered, self.asks = (
            set[int]() for _ in range(5)
        )
        self.early = list[int]()  # came before their receiver entered the phase
        self.room = [self.costs.buffers_B for _ in self.ranks]
        self.room_queue: list[list[int]] = [[] for _ in self.ranks]

    # --- what never changes

    @property
    def in_turn(self) -> range:
        return self.ranks[::-1] if self.backwards else self.ranks

    def route(self, m: int) -> list[tuple[int, int]]:
        """Links as pairs of nodes; the chosen ones where a schedule has them."""
        work = self.work
        if not self.leaves[m] or self.machine.topology.kind == "crossbar":
            return []
        if work.link_offsets.size:
            source, target = self.machine.topology.ends
            chosen = work.links[work.link_offsets[m] : work.link_offsets[m + 1]]
            return [(int(source[k]), int(target[k])) for k in chosen]
        nodes = route(self.machine, int(work.source[m]), int(work.target[m]))
        return list(pairwise(nodes))

    def exchanges(self) -> dict[int, int]:
        """The k-th from node u to node v of a phase and the k-th from v to u."""
        costs, partner = self.costs, dict[int, int]()
        if not self.phased or self.sync.kind not in costs.exchange_syncs or costs.node_Bps == inf:
            return partner
        waiting: dict[Any, list[int]] = defaultdict(list)
        for m in self.all:
            s, t, p = int(self.work.source[m]), int(self.work.target[m]), self.phase[m]
            if self.leaves[m] and waiting[p, t, s]:
                other = waiting[p, t, s].pop(0)
                partner |= {m: other, other: m}
            elif self.leaves[m]:
                waiting[p, s, t].append(m)
        return partner

    def own(self, r: int, phase: int) -> list[int]:
        return [
            m
            for m in self.all
            if self.phase[m] == phase and r in (self.sender[m], self.receiver[m])
        ]

    def own_phases(self, r: int) -> list[int]:
        return sorted({self.phase[m] for m in self.all if r in (self.sender[m], self.receiver[m])})

    def latency(self, m: int) -> float:
        costs, size = self.costs, self.size[m]
        return costs.per_transfer_s + costs.inject.at(size) + costs.eject.at(size)

    def hop(self, size: int) -> float:
        return (
            self.costs.hop_s if self.costs.hop_by_size is None else self.costs.hop_by_size.at(size)
        )

    def by_chance(self, m: int) -> float:
        """What chance adds to a delivery: splitmix64 of sender and receiver, exponentially."""
        z = ((self.sender[m] << 32 | self.receiver[m]) + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return -log(1 - ((z ^ (z >> 31)) >> 11) / 2**53) * self.costs.jitter_s

    # --- time

    def at(self, time: float, kind: int, which: int, what: str = "") -> None:
        heapq.heappush(self.events, (self.now if time <= self.until else time, kind, which, what))

    def run(self) -> list[float] | None:
        """Deliveries [s]; None where messages wait for each other for ever."""
        self.begin()
        while True:
            ends = {
                m: self.now + left / self.rate[m]
                for m, left in self.bytes_left.items()
                if self.rate[m] > 0
            }
            time = min([*(event[0] for event in self.events[:1]), *ends.values()], default=inf)
            if time == inf:
                return self.end if all(state == "delivered" for state in self.state) else None
            for m in self.bytes_left:
                self.bytes_left[m] -= self.rate[m] * (time - self.now)
            self.now, self.until = time, time * (1 + TOGETHER)
            for m in [m for m, end in ends.items() if end <= self.until]:
                del self.bytes_left[m]
                if m < 0:
                    self.at(self.now, PORT, ~m, "started")
                else:
                    self.at(self.now, ENDED, m)
            self.dispatch_batch()
            self.rate = max_min(self)

    def begin(self) -> None:
        for m in self.all:
            if m not in self.released:
                self.at(self.work.time_s[m], GATE, m, "release")
        if self.sync.kind == "barrier":
            self.at(self.synchronization() if self.costs.first_barrier else 0.0, GATE, -1, "group")
        for r in self.in_turn:
            self.enter(r)
            self.post_receives(r)
            self.advance(r)

    def dispatch_batch(self) -> None:
        batch = list[tuple[int, int, str]]()
        while batch or (self.events and self.events[0][0] <= self.until):
            while self.events and self.events[0][0] <= self.until:
                batch.append(heapq.heappop(self.events)[1:])
            batch.sort(
                key=lambda event: (event[0], -event[1] if self.backwards else event[1], event[2])
            )
            self.dispatch(*batch.pop(0))
            for r in self.in_turn:
                self.advance(r)

    def dispatch(self, kind: int, which: int, what: str) -> None:
        if kind in (ENDED, COPIED):
            self.bytes_have_left(which)
        elif kind == GATE:
            self.gate(which, what)
        elif kind == SIGNAL:
            self.signal_goes_on(which, what)
        elif kind == RECEIVED:
            self.deliver(which)
        elif kind == PORT:
            self.at_port(which, what)
        elif kind == HEADER:
            self.header(which)
        elif kind == ARRIVED:
            self.receive_now(which, what)
        elif kind == STREAM:
            self.bytes_flow(which)

    def gate(self, which: int, what: str) -> None:
        if what == "release":
            self.released.add(which)
        elif what == "group":
            groups = [phase // self.sync.every for phase in self.phase]
            self.group = min((group for group in groups if group > self.group), default=self.group)
        elif what == "set up":
            self.is_set_up[which].add(self.setting_up.pop(which))
            self.signal_sources(which)
        else:
            self.enter(which)
            self.post_receives(which)
            for m in [m for m in self.early if self.receiver[m] == which and self.there(m)]:
                self.early.remove(m)
                if self.take_receive(m):
                    self.has_one(m)

    # --- steps 1 and 2: released, a slot

    def may_go(self, m: int) -> bool:
        ends = (self.sender[m], self.receiver[m])
        return (
            m in self.released
            and all(self.state[d] == "delivered" for d in self.deps[m])
            and self.is_open(self.sender[m], self.phase[m])
            and (self.sync.kind != "ready" or {m, self.partner.get(m, m)} <= self.signalled)
            and (not self.pays_setup() or all(self.phase[m] in self.is_set_up[r] for r in ends))
        )

    def is_open(self, r: int, phase: int) -> bool:
        """Whether a policy lets a rank into a phase."""
        if self.steps:
            return self.entered[r] >= phase
        return self.sync.kind in ("none", "detect") or phase // self.sync.every <= self.group

    def has_slot(self, r: int) -> bool:
        return sum(self.state[m] == "posted" for m in self.sends[r]) < (
            self.settings.in_flight or inf
        )

    def advance(self, r: int) -> None:
        """Set-ups and sends of a rank in posting order, until one may not go."""
        strict = self.phased or self.settings.in_flight is not None
        self.set_up(r)
        for m in self.sends[r] if strict else sorted(self.sends[r]):
            if self.state[m] != "waits":
                continue
            if self.may_go(m) and self.has_slot(r):
                self.state[m] = "posted"
                self.post(m)
                self.set_up(r)
            elif strict:
                return

    def post(self, m: int) -> None:
        eager = self.costs.eager_B
        asks = eager is not None and self.leaves[m] and self.size[m] > eager
        if asks and self.sync.kind != "ready":
            self.signal(m, self.sender[m], "request")
        else:
            self.overhead(m)

    # --- phases

    def pays_setup(self) -> bool:
        return self.phased and self.costs.setup_s > 0

    def set_up(self, r: int) -> None:
        """Work of both processors at once, for the next phase of a rank when its turn has come."""
        to_do = [p for p in self.own_phases(r) if p not in self.is_set_up[r]]
        if (
            not self.pays_setup()
            or r in self.setting_up
            or not to_do
            or not self.may_set_up(r, to_do[0])
        ):
            return
        self.setting_up[r] = to_do[0]
        start = max(self.now, self.busy_until[self.sending(r)], self.busy_until[self.receiving(r)])
        end = start + self.costs.setup_s
        self.busy_until[self.sending(r)] = self.busy_until[self.receiving(r)] = end
        self.handlers[r].append((start, end))
        self.at(end, IDLE, r)
        self.at(end, GATE, r, "set up")

    def may_set_up(self, r: int, phase: int) -> bool:
        if not self.is_open(r, phase):
            return False
        head = next((m for m in self.sends[r] if self.state[m] == "waits"), None)
        if self.steps or head is None or phase < self.phase[head]:
            return True
        return phase == self.phase[head] and self.has_slot(r)

    def enter(self, r: int) -> None:
        """The next phase in which a rank has anything."""
        later = [phase for phase in self.own_phases(r) if phase > self.entered[r]]
        if not self.steps or not later:
            return
        phase = self.entered[r] = later[0]
        self.set_up(r)
        if not self.pays_setup():
            self.signal_sources(r)
        if all(self.state[m] == "delivered" for m in self.own(r, phase)):
            self.at(self.now, GATE, r, "enter")

    def signal_sources(self, r: int) -> None:
        """Under `ready`, in list order, as soon as a phase is set up.

        What stays inside a node needs no signal.
        """
        for m in self.receives[r] if self.sync.kind == "ready" else []:
            if self.phase[m] == self.entered[r] and self.leaves[m]:
                self.signal(m, r, "ready")

    def synchronization(self) -> float:
        return self.costs.synchronization.at(self.machine.topology.endpoints)

    def phase_is_over(self, m: int) -> None:
        if self.steps:
            for r in sorted({self.sender[m], self.receiver[m]}):
                own = self.own(r, self.phase[m])
                if self.entered[r] == self.phase[m] and all(
                    self.state[k] == "delivered" for k in own
                ):
                    self.at(self.now, GATE, r, "enter")
        if self.sync.kind == "barrier":
            groups = [
                self.phase[k] // self.sync.every for k in self.all if self.state[k] != "delivered"
            ]
            if groups and min(groups) > self.group:
                self.at(self.now + self.synchronization(), GATE, -1, "group")

    # --- processors

    def sending(self, r: int) -> tuple[str, int]:
        return ("node", self.node_of[r]) if self.shared else ("send", r)

    def receiving(self, r: int) -> tuple[str, int]:
        one = self.costs.one_processor and not self.costs.preempts
        return self.sending(r) if one else ("receive", r)

    def is_sending(self, r: int) -> bool:
        """Whether bytes into a rank stand still."""
        return self.costs.preempts and self.busy_until["send", r] > self.until

    def send_on(self, r: int, cost: float) -> float:
        start = max(self.busy_until[self.sending(r)], self.now)
        self.busy_until[self.sending(r)] = start + cost
        self.handlers[r].append((start, start + cost))
        self.at(start + cost, IDLE, r)  # rates change
        return start + cost

    def receive_on(self, r: int, cost: float) -> float:
        start = max(self.busy_until[self.receiving(r)], self.now)
        if self.costs.preempts:  # behind the handler that runs now, not behind those that follow
            start = max(
                [start, *(to for begin, to in self.handlers[r] if begin <= self.until < to)]
            )
        self.busy_until[self.receiving(r)] = start + cost
        return start + cost

    def signal(self, m: int, rank: int, what: str) -> None:
        half = self.costs.signal_s / 2
        self.at(self.send_on(rank, half) + len(self.links[m]) * self.hop(0), SIGNAL, m, what)

    def signal_goes_on(self, m: int, what: str) -> None:
        half = self.costs.signal_s / 2
        if what == "request":
            self.at(self.receive_on(self.receiver[m], half), SIGNAL, m, "requested")
        elif what in ("grant", "ready"):
            self.at(self.receive_on(self.sender[m], half), SIGNAL, m, what + " taken")
        elif what == "ready taken":
            self.signalled.add(m)
        elif what == "grant taken":
            self.overhead(m)
        else:
            self.asks.add(m)
            if self.take_receive(m):
                self.has_one(m)

    # --- steps 3 to 7

    def packing(self, m: int) -> float:
        """What putting together, and taking apart, takes."""
        return self.size[m] / self.costs.copy_Bps if self.packed[m] else 0.0

    def overhead(self, m: int) -> None:
        sent = self.send_on(
            self.sender[m], self.costs.send_overhead.at(self.size[m]) + self.packing(m)
        )
        if self.leaves[m] and self.costs.startup_s:
            self.at(sent, PORT, m, "asks")
        elif self.leaves[m]:
            self.at(sent + self.delay(m), HEADER, m)
        else:
            self.at(sent + self.size[m] / self.costs.copy_Bps, COPIED, m)

    def at_port(self, m: int, what: str) -> None:
        """One after the other, each as if bytes flowed out of the node that go nowhere."""
        port = self.ports[int(self.work.source[m])]
        if what == "asks":
            port.append(m)
        else:
            port.pop(0)
            self.at(self.now + self.delay(m), HEADER, m)
        if port and (what == "started" or len(port) == 1):
            rate = self.costs.port_out_Bps
            self.bytes_left[~port[0]] = self.costs.startup_s * (1.0 if rate == inf else rate)
            self.rate[~port[0]] = 0.0

    def path_is_there(self, m: int) -> None:
        """The end of step 4: a receive is asked for."""
        eager = self.costs.eager_B is not None and self.size[m] <= self.costs.eager_B
        if not (eager and self.finds_nothing(m)) and self.take_receive(m):
            self.go_on(m)
            return
        self.at_end.add(m)
        if eager:
            self.room_queue[self.receiver[m]].append(m)
            self.fill_room(self.receiver[m])

    def go_on(self, m: int) -> None:
        if self.costs.receive == "after":
            self.at(self.now, STREAM, m)
        else:
            self.receive(m, "stream")

    def bytes_flow(self, m: int) -> None:
        self.bytes_left[m], self.rate[m] = float(self.size[m]), 0.0
        if not self.size[m] or most_alone(self, m) == inf:
            del self.bytes_left[m]
            self.at(self.now, ENDED, m)

    def bytes_have_left(self, m: int) -> None:
        if self.leaves[m]:
            self.leave(m)
            if m not in self.buffering:
                self.end_receive(self.receiver[m])
        self.state[m] = "left"
        self.advance(self.sender[m])  # its slot is free: before its receiver works
        if m in self.buffering:
            self.buffered.add(m)
            if m in self.has_receive or (self.finds_nothing(m) and self.take_receive(m)):
                self.receive(m, "received")
        elif self.costs.receive == "after" or not self.leaves[m]:
            self.receive(m, "received")
        elif self.costs.jitter_s:
            self.at(self.now + self.chance[m], RECEIVED, m)
        else:
            self.deliver(m)

    def receive(self, m: int, what: str) -> None:
        if self.costs.preempts:
            self.at(self.now, ARRIVED, m, what)
        else:
            self.receive_now(m, what)

    def receive_now(self, m: int, what: str) -> None:
        cost = self.costs.receive_overhead.at(self.size[m]) + self.packing(m)
        if m in self.buffering or (self.costs.eager_B is None and self.finds_nothing(m)):
            cost += self.size[m] / self.costs.copy_Bps
        end = self.receive_on(self.receiver[m], cost)
        if what == "stream":
            self.at(end, STREAM, m)
        else:
            self.at(end + self.chance[m], RECEIVED, m)

    def finds_nothing(self, m: int) -> bool:
        """Under `detect` no receive is posted, and what may go without one is taken in."""
        eager = self.costs.eager_B
        free = self.leaves[m] and (eager is None or self.size[m] <= eager)
        return self.sync.kind == "detect" and free

    def deliver(self, m: int) -> None:
        r = self.receiver[m]
        self.state[m], self.end[m] = "delivered", self.now
        if m in self.buffering:
            self.room[r] += self.size[m]
            self.end_receive(r)
            self.fill_room(r)
        self.post_receives(r)
        self.phase_is_over(m)

    # --- receives

    def there(self, m: int) -> bool:
        """Whether the receiver of m is in its phase, where that counts."""
        return not self.steps or self.entered[self.receiver[m]] >= self.phase[m]

    def take_receive(self, m: int) -> bool:
        r = self.receiver[m]
        if m in self.has_receive:
            return True
        if self.in_list:
            return False
        if self.costs.eager_B is not None and not self.there(m):
            self.early.append(m)
            return False
        if self.receive_queue[r] or self.free_receives[r] < 1:
            self.receive_queue[r].append(m)
            return False
        self.free_receives[r] -= 1
        self.has_receive.add(m)
        return True

    def end_receive(self, r: int) -> None:
        if self.in_list:
            return
        if self.receive_queue[r]:
            self.has_one(self.receive_queue[r].pop(0))
        else:
            self.free_receives[r] += 1

    def post_receives(self, r: int) -> None:
        """In list order: the first ones that are not delivered have theirs."""
        for m in self.receives[r] if self.in_list else []:
            if not self.leaves[m] or m in self.has_receive:
                continue
            if self.costs.eager_B is not None and not self.there(m):
                return
            open_now = sum(
                k in self.has_receive and self.state[k] != "delivered" for k in self.receives[r]
            )
            if open_now >= (self.settings.receives or inf):
                return
            self.has_one(m)

    def has_one(self, m: int) -> None:
        r = self.receiver[m]
        self.has_receive.add(m)
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

    def fill_room(self, r: int) -> None:
        while self.room_queue[r] and self.size[self.room_queue[r][0]] <= self.room[r]:
            m = self.room_queue[r].pop(0)
            self.at_end.remove(m)
            self.buffering.add(m)
            self.room[r] -= self.size[m]
            self.at(self.now, STREAM, m)

    # --- a network's

    def delay(self, m: int) -> float:
        raise NotImplementedError

    def header(self, m: int) -> None:
        raise NotImplementedError

    def leave(self, m: int) -> None:
        raise NotImplementedError
