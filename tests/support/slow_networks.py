"""How bytes cross the network, slowly.

As fluid, behind a header that takes channels, or as packets that queue.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from conset.machine.machine import Machine
from conset.models.settings import Settings
from conset.models.workload import Workload
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
    """Part of a message: where it is on its way, from when it may go on, and when its last byte
    is there."""

    message: int
    size: float
    at: int
    eligible: float
    tail: float
    leaving: float | None = None


class Packets(Release):
    """Packets in queues of bounded size.

    The first of each goes when its link is free and the buffer behind has room.

    Places of a way: ("out", node), its links, ("in", node). A queue is known by the place before
    it, the datelines crossed and a unit of its width; that of a source by ("source", node).
    """

    def __init__(self, work: Workload, machine: Machine, settings: Settings) -> None:
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

    def way(self, m: int) -> list[Any]:
        source, target = int(self.work.source[m]), int(self.work.target[m])
        return [("out", source), *self.links[m], ("in", target)]

    def behind(self, m: int, place: int) -> Any:
        """The queue behind a place of a way; of its units' the emptiest, the first of equals."""
        at, crossed = self.machine.topology.coordinates, 0
        for u, v in self.links[m][:place]:
            crossed += int(self.machine.topology.wraps and abs(at[u].astype(int) - at[v]).max() > 1)
        before = self.way(m)[place]
        names = [(before, crossed, unit) for unit in range(self.units(before))]
        return min(names, key=lambda name: sum(packet.size for packet in self.queues[name]))

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
                Packet(m, size, 0, self.now, self.now)
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
            place = self.way(packet.message)[packet.at]
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
        for packet in sorted(
            asking, key=lambda p: (self.number(self.way(p.message)[p.at]), self.asked[p])
        ):
            m, place = packet.message, self.way(packet.message)[packet.at]
            if self.busy[place] >= self.units(place) or not self.has_room(packet):
                continue
            gone = True
            self.busy[place] += 1
            end = max(self.now + packet.size / self.rate_of(place), packet.tail)
            packet.leaving = end
            self.at(end, IDLE, m, "packets")
            if place[0] != "in":
                hop = 0.0 if place[0] == "out" else self.hop(self.size[m])
                self.queues[self.behind(m, packet.at)].append(
                    Packet(m, packet.size, packet.at + 1, self.now + hop, end + hop)
                )
                self.at(self.now + hop, IDLE, m, "packets")
        return gone

    def has_room(self, packet: Packet) -> bool:
        if packet.at == len(self.links[packet.message]) + 1:
            return True
        filled = sum(p.size for p in self.queues[self.behind(packet.message, packet.at)])
        return filled == 0 or filled + packet.size <= self.costs.link_buffers_B
