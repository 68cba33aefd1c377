"""How bytes cross the network, slowly.

As fluid, behind a header that takes channels, or as packets that queue.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.models.settings import Settings
from conset.models.workload import Workload
from support import slow_spread
from support.slow_max_min import link_width
from support.slow_release import ENDED, HEADER, IDLE, Release


def slow(
    model: str, work: Workload, machine: Machine, settings: Settings, *, backwards: bool = False
) -> list[float] | None:
    """Delivery of every message [s] by `flow`, `wormhole`, `circuit` or `packet`.

    None for a deadlock.
    """
    run: Release
    if model == "flow":
        run = Fluid(work, machine, settings)
    elif model == "packet":
        run = Packets(work, machine, settings)
    else:
        run = Channels(work, machine, settings, circuit=model == "circuit")
    run.backwards = backwards
    return run.run()


class Fluid(Release):
    """A latency for all hops, then bytes: nothing is held."""

    def delay(self, m: int) -> float:
        return self.latency(m) + len(self.links[m]) * self.hop(self.size[m])

    def header(self, m: int) -> None:
        self.path_is_there(m)

    def leave(self, m: int) -> None:
        pass


class Channels(Release):
    """A header takes a lane of each link in order, first come, first served, and keeps it."""

    def __init__(
        self, work: Workload, machine: Machine, settings: Settings, *, circuit: bool
    ) -> None:
        super().__init__(work, machine, settings)
        self.circuit = circuit
        self.lanes = 1 if circuit else settings.lanes or self.costs.lanes
        self.ways = [self.way(m) for m in self.all]
        self.taken = [0] * work.messages
        self.held: dict[Any, int] = defaultdict(int)
        self.queue: dict[Any, list[int]] = defaultdict(list)  # who waits for a channel

    def way(self, m: int) -> list[Any]:
        """(link, datelines crossed, this link included) of each hop.

        Of a circuit the links alone.
        """
        at, crossed, way = self.machine.topology.coordinates, 0, list[Any]()
        for u, v in self.links[m]:
            far = self.machine.topology.wraps and abs(at[u].astype(int) - at[v]).max() > 1
            crossed += int(far and not self.circuit)
            way.append(((u, v), crossed))
        return way

    def delay(self, m: int) -> float:
        return self.latency(m)

    def header(self, m: int) -> None:
        if self.taken[m] == len(self.ways[m]):
            self.path_is_there(m)
            return
        channel = self.ways[m][self.taken[m]]
        if self.queue[channel] or self.held[channel] >= self.lanes * link_width(
            self.machine, channel[0]
        ):
            self.queue[channel].append(m)
        else:
            self.held[channel] += 1
            self.a_link_further(m)

    def a_link_further(self, m: int) -> None:
        self.taken[m] += 1
        self.at(self.now + self.hop(self.size[m]), HEADER, m)

    def leave(self, m: int) -> None:
        """Channels pass to those who wait, in path order."""
        for channel in self.ways[m]:
            if self.queue[channel]:
                self.a_link_further(self.queue[channel].pop(0))
            else:
                self.held[channel] -= 1


@dataclass(eq=False)
class Packet:
    """Part of a message: the places of its way so far, from when it may go on, and when its last
    byte is there."""

    message: int
    size: float
    taken: list[Any]
    eligible: float
    tail: float
    leaving: float | None = None
    goes: Any = None


class Packets(Release):
    """Packets in queues of bounded size.

    The first of each goes when its link is free and the buffer behind has room.

    Places of a way: ("out", node), its links, ("in", node). A queue is known by the place before
    it, the datelines crossed and a unit of its width; that of a source by ("source", node).

    Under adaptive routing any link that begins a least way may come next, and a packet goes on to
    a further buffer wherever its way turns up.
    """

    def __init__(self, work: Workload, machine: Machine, settings: Settings) -> None:
        self.chooses = machine.routing.rule == "adaptive" and not work.link_offsets.size
        super().__init__(work, machine, settings)
        self.queues: dict[Any, list[Packet]] = defaultdict(list)
        self.busy: dict[Any, int] = defaultdict(int)
        self.unsent, self.flying, self.left_to_come = ([0.0] * work.messages for _ in range(3))
        self.asked: dict[Packet, int] = {}  # who asks for a link, in the order in which they asked

    def delay(self, m: int) -> float:
        """Hops are passed by packets; by a message of no bytes, which has none, here."""
        return self.latency(m) + (0.0 if self.size[m] else len(self.links[m]) * self.hop(0))

    def header(self, m: int) -> None:
        self.path_is_there(m)

    def leave(self, m: int) -> None:
        pass

    def route(self, m: int) -> list[tuple[int, int]]:
        if not self.chooses:
            return super().route(m)
        at, target, links = int(self.work.source[m]), int(self.work.target[m]), []
        while at != target:
            links.append(self.links_on(at, target)[0])
            at = links[-1][1]
        return links

    def links_on(self, at: int, target: int) -> list[tuple[int, int]]:
        topology = self.machine.topology
        near = slow_spread.costs_to(topology, target)
        return [(at, v) for _, v, _ in slow_spread.next_links(topology, at, near)]

    def nexts(self, packet: Packet) -> list[Any]:
        """The places that a packet may come to next, the one to prefer first."""
        m, taken = packet.message, packet.taken
        source, target = int(self.work.source[m]), int(self.work.target[m])
        if not self.chooses or not taken:
            return [[("out", source), *self.links[m], ("in", target)][len(taken)]]
        at = source if len(taken) == 1 else taken[-1][1]
        if at == target:
            return [("in", target)]
        links = self.links_on(at, target)
        return links[target % len(links) :] + links[: target % len(links)]

    def crossed(self, links: list[Any]) -> int:
        """The datelines of a way, or how often it turns up where any way may be taken."""
        if self.chooses:
            return turns_up(self.machine.topology, links)
        at, wraps = self.machine.topology.coordinates, self.machine.topology.wraps
        return sum(int(wraps and abs(at[u].astype(int) - at[v]).max() > 1) for u, v in links)

    def behind(self, packet: Packet, place: Any) -> Any:
        """The queue behind the next place; of its units' the emptiest, the first of equals."""
        crossed = self.crossed([*packet.taken, place][1:])
        names = [(place, crossed, unit) for unit in range(self.units(place))]
        return min(names, key=self.filled)

    def filled(self, name: Any) -> float:
        return sum(packet.size for packet in self.queues[name])

    def rate_of(self, place: Any) -> float:
        if place[0] in ("out", "in"):
            return self.costs.port_out_Bps if place[0] == "out" else self.costs.port_in_Bps
        rates = self.machine.topology.link_rate_Bps
        if rates is None:
            return self.costs.link_Bps
        source, target = self.machine.topology.ends
        return float(rates[next(k for k in range(rates.size) if (source[k], target[k]) == place)])

    def units(self, place: Any) -> int:
        return 1 if place[0] in ("out", "in") else link_width(self.machine, place)

    def bytes_flow(self, m: int) -> None:
        if not self.size[m]:
            self.at(self.now, ENDED, m)
            return
        self.unsent[m] = self.left_to_come[m] = float(self.size[m])
        self.fill(m)
        self.at(self.now, IDLE, m, "packets")

    def fill(self, m: int) -> None:
        while self.unsent[m] > 0:
            size = min(self.unsent[m], self.costs.packet_B)
            if self.flying[m] and self.flying[m] + size > self.costs.window_B:
                return
            self.unsent[m] -= size
            self.flying[m] += size
            self.queues["source", int(self.work.source[m])].append(
                Packet(m, size, [], self.now, self.now)
            )

    def dispatch(self, kind: int, which: int, what: str) -> None:
        if what == "packets":
            self.move()
        else:
            super().dispatch(kind, which, what)

    def move(self) -> None:
        """All that may happen now, one thing after another."""
        while self.some_arrive() + self.some_ask() + self.some_go():
            pass

    def number(self, place: Any) -> tuple[int, int]:
        """Links come first, then ports out and in; sources last."""
        if place[0] in ("out", "in", "source"):
            return ("", "out", "in", "source").index(place[0]), place[1]
        source, target = self.machine.topology.ends
        return 0, next(k for k in range(source.size) if (source[k], target[k]) == place)

    def queue_number(self, name: Any) -> tuple[Any, ...]:
        return (self.number(name),) if name[0] == "source" else (self.number(name[0]), *name[1:])

    def in_order(self) -> list[list[Packet]]:
        """Queues that hold anything, by number."""
        return [
            self.queues[name]
            for name in sorted((n for n in self.queues if self.queues[n]), key=self.queue_number)
        ]

    def some_arrive(self) -> bool:
        """Packets whose last byte has passed a link."""
        done = [
            q for q in self.in_order() if q[0].leaving is not None and q[0].leaving <= self.until
        ]
        for queue in done:
            packet = queue.pop(0)
            place = packet.goes
            self.busy[place] -= 1
            if place[0] == "in":
                m = packet.message
                self.flying[m] -= packet.size
                self.left_to_come[m] -= packet.size
                if self.left_to_come[m] <= 0:
                    self.at(self.now, ENDED, m)
                self.fill(m)
        return bool(done)

    def some_ask(self) -> bool:
        """First packets ask for what they need next."""
        asking = [
            q[0] for q in self.in_order() if q[0].eligible <= self.until and q[0] not in self.asked
        ]
        for packet in asking:
            self.asked[packet] = len(self.asked)
        return bool(asking)

    def some_go(self) -> bool:
        gone = False
        asking = [q[0] for q in self.in_order() if q[0] in self.asked and q[0].leaving is None]
        for packet in sorted(asking, key=self.asked.__getitem__):
            m = packet.message
            places = [
                place
                for place in self.nexts(packet)
                if self.busy[place] < self.units(place) and self.has_room(packet, place)
            ]
            if not places:
                continue
            gone = True
            place = packet.goes = min(places, key=lambda p: self.room_taken(packet, p))
            self.busy[place] += 1
            end = max(self.now + packet.size / self.rate_of(place), packet.tail)
            packet.leaving = end
            self.at(end, IDLE, m, "packets")
            if place[0] != "in":
                hop = 0.0 if place[0] == "out" else self.hop(self.size[m])
                self.queues[self.behind(packet, place)].append(
                    Packet(m, packet.size, [*packet.taken, place], self.now + hop, end + hop)
                )
                self.at(self.now + hop, IDLE, m, "packets")
        return gone

    def room_taken(self, packet: Packet, place: Any) -> float:
        return 0.0 if place[0] == "in" else self.filled(self.behind(packet, place))

    def has_room(self, packet: Packet, place: Any) -> bool:
        filled = self.room_taken(packet, place)
        return filled == 0 or filled + packet.size <= self.costs.link_buffers_B


def turns_up(topology: Topology, links: list[Any]) -> int:
    """How often a way goes up after it went down or across, or takes a link that is always such.

    Up is by level, or by number where there are none. Always: links between nodes of a level but
    those inside a group where all are joined, and links out of hosts with several neighbours.
    """
    level, group = topology.level, topology.group
    pairs = set(zip(topology.link_source.tolist(), topology.link_target.tolist(), strict=True))
    turns, low = 0, False
    for u, v in links:
        if level is None or group is None:
            rise, always = v > u, False
        else:
            peers = [
                w for w in range(topology.nodes) if (level[w], group[w]) == (level[u], group[u])
            ]
            across = level[u] == level[v] and not (
                v in peers
                and group[u] >= 0
                and all((u, w) in pairs and (w, u) in pairs for w in peers if w != u)
            )
            passed = u < topology.endpoints and sum(a == u for a, _ in pairs) > 1
            rise, always = level[v] > level[u], across or passed
        turns += int(always or (rise and low))
        low = not (always or rise)
    return turns
