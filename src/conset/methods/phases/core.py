"""The border to the C++ core, seen from the methods.

What its functions take, made of a problem or of timed phases.

In a timetable a transfer holds the port out of its source, the port into its target and one unit of
width of every link of its route from its start to its end, and no other message has them. It stands
there for its overhead and for its bytes at the slowest rate of these. On a half-duplex machine a
node has one line for both ports: what it sends and what it receives would share one rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conset import _core
from conset.base import Floats, Ints, Ints32
from conset.machine import core_network, core_widths, links_of_nodes, transfer_s, work_of
from conset.methods.phases.problem import Phases, Problem
from conset.schedule import order_of_transfers

NO_OFFSETS, NO_LINKS = np.zeros(0, np.int64), np.zeros(0, np.int32)
"""Routes that no method chose."""


def core_arguments(
    problem: Problem,
) -> tuple[_core.Network, Ints32, Ints32, Ints32, _core.Limits]:
    """(network, source node, target node, link widths, limits).

    Routes walked by the formula, 0 for no limit.
    """
    machine, limits = problem.machine, problem.limits
    topology = machine.topology
    width = core_widths(topology)
    core_limits = _core.Limits(
        limits.send or 0,
        limits.receive or 0,
        limits.link or 0,
        limits.channels or 0,
        limits.duplex == "exchange",
        problem.planes,
    )
    network = core_network(topology, machine.routing)
    source = np.ascontiguousarray(problem.source_node, np.int32)
    target = np.ascontiguousarray(problem.target_node, np.int32)
    return network, source, target, width, core_limits


def core_resources(problem: Problem) -> _core.Resources:
    """The messages with what they take of the limits, over routes walked by the formula."""
    return _core.Resources(*core_arguments(problem), NO_OFFSETS, NO_LINKS)


def core_order(problem: Problem) -> tuple[Ints32, Ints32]:
    """(first, second): message `first[k]` ends before message `second[k]` starts.

    Both empty without an order.
    """
    before = problem.pattern.before
    if before is None:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    return np.ascontiguousarray(before[:, 0]), np.ascontiguousarray(before[:, 1])


def schedule_random(problem: Problem, *, exchanges: bool) -> Phases:
    """What rs-n and rs-nl share: permutations filled row by row from a random start."""
    first, second = core_order(problem)
    phase = _core.schedule_random(
        core_resources(problem), exchanges, first, second, problem.search.seed % 2**64
    )
    return Phases.of(phase)


@dataclass(frozen=True, eq=False)
class Timing:
    """Transfers of phases with their durations.

    Attributes:
        lines: what each transfer holds and for how long, and who goes first, as the core takes
            them.
        source: shape=(transfers), int32: node.
        target: likewise.
        offsets: shape=(phases + 1), int64.
        duration: shape=(transfers), float64 [s].
    """

    lines: _core.TimeLines
    source: Ints32
    target: Ints32
    offsets: Ints
    duration: Floats


def time_lines(
    problem: Problem, phases: Phases, *, serial: bool | None = None, method: str = ""
) -> Timing:
    """What a scheduler of timetables needs to know of `phases`.

    Args:
        problem: the pattern and its machine.
        phases: transfers, with the routes that were chosen for them if any.
        serial: whether a node sends or receives, one at a time; None: where the machine is
            half-duplex.
        method: whose costs, where a machine runs methods in several ways.
    """
    machine, message = problem.machine, phases.message
    topology = machine.topology
    costs = machine.costs_for(method)
    source, target = (
        np.ascontiguousarray(node[message]) for node in (problem.source_node, problem.target_node)
    )
    links = (np.zeros(0, np.int64), np.zeros(0, np.int32))
    if phases.route_offsets is not None and phases.route_nodes is not None:
        links = links_of_nodes(
            topology,
            machine.routing,
            phases.route_offsets,
            phases.route_nodes,
            phases.route_links,
        )
    size = problem.pattern.size[message] if phases.parts is None else phases.parts
    duration = transfer_s(machine, work_of(machine, costs, "none"), source, target, size, links)
    first, second = order_of_transfers(problem.pattern.before, message)
    phase = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
    together = phase[first] == phase[second]
    width = core_widths(topology)
    lines = _core.TimeLines(
        network=core_network(topology, machine.routing),
        source=source,
        target=target,
        route_offsets=links[0],
        route_links=links[1],
        width=width,
        serial=costs.half_duplex if serial is None else serial,
        duration=duration,
        first=first[together],
        second=second[together],
    )
    return Timing(lines, source, target, phases.offsets, duration)
