"""How bytes cross the network, slowly: as fluid, or behind a header that takes channels."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from conset.machine.machine import Machine
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload
from slow_max_min import link_width
from slow_release import HEADER, Release


def slow(
    model: str, work: Workload, machine: Machine, settings: Settings, *, backwards: bool = False
) -> list[float] | None:
    """Delivery of every message [s] by `flow`, `wormhole` or `circuit`; None for a deadlock."""
    run: Release
    if model == "flow":
        run = Fluid(work, machine, settings)
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

    def __init__(self, work: Workload, machine: Machine, settings: Settings, *, circuit: bool) -> None:
        super().__init__(work, machine, settings)
        self.circuit = circuit
        self.lanes = 1 if circuit else settings.lanes or self.costs.lanes
        self.ways = [self.way(m) for m in self.all]
        self.taken = [0] * work.messages
        self.held: dict[Any, int] = defaultdict(int)
        self.queue: dict[Any, list[int]] = defaultdict(list)  # who waits for a channel

    def way(self, m: int) -> list[Any]:
        """(link, datelines crossed, this link included) of each hop; of a circuit the links alone."""
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
        if self.queue[channel] or self.held[channel] >= self.lanes * link_width(self.machine, channel[0]):
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
