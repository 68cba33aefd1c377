"""Contexts: the guarantees of connections that are open together.

From the linkage tables of all their phases.

The tables of a context hold the rows of every phase in it, a row that several phases have once.
Connections are followed through them, and every port and link is shared by all that come by,
whichever phase runs (`schedule/guarantees.py`). Where no channels are stated, they are taken along
their routes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from conset.machine.machine import Machine
from conset.verification.schedule.guarantees import resource_rates

ROUNDING = 1 + 1e-9
Place = tuple[int, int]
"""(node, channel)."""


@dataclass
class Opened:
    """A connection of a context.

    Attributes:
        stops: the nodes of its route.
        links: those of its route, in any order.
        channels: its channel at each stop; empty where none are stated.
        bandwidth: the most that any phase asks for it [B/s].
        latency: the least that any phase asks for it [s].
    """

    stops: tuple[int, ...]
    links: tuple[int, ...]
    channels: tuple[int, ...]
    bandwidth: float = 0.0
    latency: float = inf

    def demand(self, bandwidth: float, latency: float) -> None:
        """Adds what one phase asks for."""
        self.bandwidth, self.latency = max(self.bandwidth, bandwidth), min(self.latency, latency)

    @property
    def demands(self) -> bool:
        """Whether any phase asks for something."""
        return self.bandwidth > 0 or isfinite(self.latency)


def context_guarantees(
    connections: Sequence[Opened], machine: Machine, method: str
) -> Iterator[tuple[float, float]]:
    """(least bandwidth [B/s], longest time of an element [s]) of each of `connections`.

    Which are open together.
    """
    if all(len(own.channels) == len(own.stops) for own in connections):
        ways = list(_through_tables(connections, machine))
    else:
        ways = [(own.stops[0], own.stops[-1], own.links) for own in connections]
    out, into, rates = resource_rates(machine, method)
    costs = machine.costs_for(method)
    sends, receives = Counter(way[0] for way in ways), Counter(way[1] for way in ways)
    users = Counter(link for way in ways for link in way[2])
    for source, target, links in ways:
        shares = [out / sends[source], into / receives[target]]
        shared = (costs.node_Bps / (sends[node] + receives[node]) for node in (source, target))
        shares = [*map(min, shares, shared), *(float(rates[k]) / users[k] for k in links)]
        yield (
            min(shares),
            len(links) * float(costs.hop.at(costs.flit_B))
            + sum(costs.flit_B / share for share in shares),
        )


def _through_tables(
    connections: Sequence[Opened], machine: Machine
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(node of the gate in, node of the gate out, links) of each, through the rows of all."""
    rows: dict[Place, Place | None] = {}
    for own in connections:
        places = list(zip(own.stops, own.channels, strict=True))
        rows.update(zip(places, [*places[1:], None], strict=True))
    slots = link_slots(machine)
    for own in connections:
        at: Place = own.stops[0], own.channels[0]
        links: list[int] = []
        for _ in rows:  # tables that lead round in a circle reach no gate
            then = rows[at]
            if then is None:
                break
            link = slots.get((at[0], then[0]))  # ports of a crossbar have none between them
            links += [] if link is None else [link]
            at = then
        yield own.stops[0], at[0], tuple(links)


def link_slots(machine: Machine) -> dict[tuple[int, int], int]:
    """The link between each two nodes that have one."""
    source, target = (end.tolist() for end in machine.topology.ends)
    exists = machine.topology.link_exists.tolist()
    return {(s, t): k for k, (s, t) in enumerate(zip(source, target, strict=True)) if exists[k]}
