"""Circuit switches: when connections are set, and when messages pass over them.

A machine with `reconfigure` has one switch, or one in each of its planes. A switch connects every
port out to at most one port in, and the other way round. Before a connection carries its first
byte the switch is reconfigured, which takes `reconfigure` seconds, also before the first one; in
that time no port of the switch carries anything, with `partial` no port of the connection. A phase
of a schedule is what a plane carries at one time; planes run side by side, each takes its phases
in the order of the schedule.

Idea: a phase whose connections fit those that are set, as no port has another partner, needs no
reconfiguration: its messages pass as soon as their two ports are free. Any other phase waits until
the plane carries nothing, then for the switch; with `partial` each new connection waits for its
own two ports, then for the switch. A message holds its connection for what it takes alone.

Complexity: O(transfers + phases · nodes) time, O(planes · nodes) memory.
Source: the cost model of Eclipse (doi:10.1145/2896377.2901479) and Spectra (arXiv:2603.07373);
`partial`: the not-all-stop model (Sunflow, doi:10.1145/2999572.2999592).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from conset.base import Bools, Floats, Integers, Ints, Ints32
from conset.machine.machine import Machine
from conset.machine.network.topology import Topology
from conset.machine.times import Links


class CircuitTimes(NamedTuple):
    """When what passes.

    Attributes:
        begin: shape=(transfers), float64 [s].
        end: shape=(transfers), float64 [s].
        changes: shape=(planes), int64: reconfigurations of each plane; with `partial` those of its
            busiest port.
        is_set: shape=(transfers), bool: whether its connection was set by the phase before, so
            that nothing is reconfigured for it.
    """

    begin: Floats
    end: Floats
    changes: Ints
    is_set: Bools

    @property
    def time_s(self) -> float:
        """When all has passed [s]."""
        return float(self.end.max(initial=0.0))


def planes_of_links(topology: Topology, links: Links) -> Ints:
    """shape=(transfers): the plane of each; 0 inside a node, and where there is one."""
    offsets, entered = links
    plane = np.zeros(max(offsets.size - 1, 0), np.int64)
    some = np.flatnonzero(np.diff(offsets) > 0)
    plane[some] = entered[offsets[some]] % topology.planes
    return plane


@dataclass(eq=False)
class CircuitState:
    """What circuit switches hold, and since when.

    Attributes:
        partner: shape=(2, planes, nodes): the other end of every port out and in; -1: none.
        free: shape=(2, planes, nodes) [s]: when each port has carried all before, and what was
            changed of it then.
        last: shape=(planes) [s]: when each plane has carried all before.
        is_used: shape=(planes): whether each has connected anything yet.
    """

    partner: Ints
    free: Floats
    last: Floats
    is_used: Bools

    @staticmethod
    def of(planes: int, nodes: int) -> CircuitState:
        """Switches that have connected nothing yet."""
        shape = (2, planes, nodes)
        none = np.full(shape, -1, np.int64), np.zeros(shape)
        return CircuitState(*none, np.zeros(planes), np.zeros(planes, bool))

    def later(self, time_s: float) -> None:
        """So much time passes [s]."""
        self.free += time_s
        self.last += time_s


def circuit_times(
    machine: Machine,
    phase_offsets: Ints,
    plane: Integers,
    source: Ints32,
    target: Ints32,
    duration: Floats,
    *,
    state: CircuitState | None = None,
    not_before: float = 0.0,
) -> CircuitTimes:
    """When every transfer of phases passes its switch.

    Args:
        machine: with `reconfigure`.
        phase_offsets: shape=(phases + 1), int64, over transfers; each plane takes them in order.
        plane: shape=(transfers), whole numbers.
        source: shape=(transfers), int32: nodes.
        target: shape=(transfers), int32: nodes.
        duration: shape=(transfers), float64 [s]: how long each holds its connection.
        state: what the switches hold before, changed to what they hold afterwards.
        not_before: when the first transfer may begin [s]; switches may change before.
    """
    costs, count = machine.costs, max(machine.topology.planes, int(plane.max(initial=0)) + 1)
    delta, nodes = costs.reconfigure_s or 0.0, machine.topology.endpoints
    now = state or CircuitState.of(count, nodes)
    begin, end = np.full(source.size, not_before), np.full(source.size, not_before)
    is_set = source == target
    changes = np.zeros((2, count, nodes), np.int64)
    for low, high in zip(phase_offsets[:-1].tolist(), phase_offsets[1:].tolist(), strict=True):
        for k in np.unique(plane[low:high]).tolist():
            rows = low + np.flatnonzero((plane[low:high] == k) & ~is_set[low:high])
            if not rows.size:
                continue
            out, into = source[rows], target[rows]
            (to, come), (sends, receives) = now.partner[:, k], now.free[:, k]
            kept = (to[out] == into) & (come[into] == out)
            fits = kept | ((to[out] < 0) & (come[into] < 0))
            if costs.partial:
                changes[0, k, out[~kept]] += 1
                changes[1, k, into[~kept]] += 1
            elif not (now.is_used[k] and fits.all()):
                to[:], come[:] = -1, -1
                now.free[:, k] = now.last[k] + delta
                changes[0, k] += 1
            is_set[rows] = kept
            to[out], come[into] = into, out
            ready = np.maximum(sends[out], receives[into])
            begin[rows] = np.maximum(ready + delta * (costs.partial & ~kept), not_before)
            end[rows] = begin[rows] + duration[rows]
            sends[out] = receives[into] = end[rows]
            now.last[k], now.is_used[k] = max(now.last[k], float(end[rows].max())), True
    return CircuitTimes(begin, end, changes.max(axis=(0, 2)), is_set)
