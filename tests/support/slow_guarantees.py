"""Guarantees as an obvious slow program: who stands in which line, counted one by one.

To hold fast code against.

A connection is a list of nodes. Every port out, link and port in on its way serves those that wait
in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

from conset.machine.machine import Machine

Way = Sequence[int]


def lines_of(machine: Machine, way: Way) -> list[tuple[object, float]]:
    """(name, rate [B/s]) of every line that a connection stands in."""
    if len(way) < 2:
        return []
    costs, topology = machine.costs_for("connections"), machine.topology
    found: list[tuple[object, float]] = [(("out", way[0]), costs.port_out_Bps)]
    ends = list(zip(*(end.tolist() for end in topology.ends), strict=True))
    for pair in pairwise(way) if topology.kind != "crossbar" else ():
        link = ends.index(pair)
        rate = (
            costs.link_Bps
            if topology.link_rate_Bps is None
            else float(topology.link_rate_Bps[link])
        )
        found.append((pair, rate * int(topology.widths()[link])))
    return [*found, (("in", way[-1]), costs.port_in_Bps)]


def slow_guarantees(machine: Machine, ways: Sequence[Way]) -> list[tuple[float, float]]:
    """(least bandwidth [B/s], longest time of an element [s]) of connections that are open
    together."""
    costs = machine.costs_for("connections")
    lines = [lines_of(machine, way) for way in ways]
    found = []
    for own in lines:
        bandwidth, latency = inf, 0.0
        for name, rate in own:
            users = sum(name == other for line in lines for other, _ in line)
            if isinstance(name[0], str):  # type: ignore[index]
                ends = sum(name[1] in (other[0], other[-1]) for other in ways if len(other) > 1)  # type: ignore[index]
                share = min(rate / users, costs.node_Bps / ends)
            else:
                share = rate / users
                latency += float(costs.hop.at(costs.flit_B))
            bandwidth, latency = min(bandwidth, share), latency + costs.flit_B / share
        found.append((bandwidth, latency))
    return found
