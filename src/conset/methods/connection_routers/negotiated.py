"""negotiated: phases and routes found together by negotiation, with room for L messages a port and link in each phase.

Problem: connections into phases over free routes; few phases P, and a small ΣL, L_p being the largest load of a port
or link in phase p: the time of equal messages is P · set-up + ΣL · transfer.
Idea: the engine of `methods/negotiated.py` with all limits of a phase at once: channels, and L_p for ports and links.
For each L the bounds tell the least P; the pairs (P, L) are tried from the one with the shortest time (or fewest
phases) upwards. What is found is tightened: one phase after the other is given L - 1, as long as that succeeds.
Invariant: what is returned keeps all limits.
Guarantee: none; complete exchange on the 8 × 8 torus with 12 channels: 27 phases (the bound) with ΣL = 81 (bound 79).
Complexity: that of the engine, a few tries of it.
When to use it: any network and pattern of up to some ten thousand connections; symmetric ones are better off with
orbits or the closed form. Unequal sizes: only channels (and the limits that were asked for) count, bytes are balanced
later.
Reference: McMurchie, Ebeling: PathFinder, doi:10.1145/201310.201328.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import InputError
from conset.methods.connection_routers.task import Routed, Task
from conset.methods.core import core_order
from conset.methods.negotiated import CHANNELS, LINKS, Assignment, Pressure, fewest_slots, negotiate
from conset.network.routes import core_network, route_nodes

MOST_STATES = 30_000_000
"""Connections times phases beyond which a sweep takes minutes."""
MORE = 1.25
"""A number of phases above this many times its bound is no better than another L."""
TIGHTENING = 2
"""Attempts at a smaller ΣL for each unit of effort beyond the first."""


def route_negotiated(task: Task) -> Routed:
    """The shortest time, or the fewest phases with a small ΣL, that negotiation finds.

    Raises:
        InputError: the pattern is too large, or nothing was found within the sweeps that `--effort` allows.
    """
    cells = task.source.size * task.least_phases
    if cells > MOST_STATES * task.problem.effort:
        raise InputError(
            f"router negotiated requires at most {MOST_STATES:,} connections times phases for each unit of effort, "
            f"given {cells:,}"
        )
    if not task.leaves.any():
        return _routed(task, np.zeros(task.source.size, np.int32), None)
    items = _items(task)
    for level in _levels(task):
        found = _fewest(task, items, level)
        if found is not None:
            best = _tightened(task, items, found, level)
            return _routed(task, best.slot, best)
    raise InputError("router negotiated: no assignment within the limits was found; --effort would search longer")


def _items(task: Task) -> _core.NegotiatedItems:
    topology, order = task.topology, core_order(task.problem)
    width = topology.link_width if topology.link_width is not None else np.array([topology.width], np.int32)
    if topology.kind == "crossbar":
        network = core_network(topology, task.problem.machine.routing)
        return _core.NegotiatedItems(network, task.source, task.target, *order, width, False)
    return _core.NegotiatedItems.free(topology.nodes, *task.links, task.source, task.target, *order, width)


def _routed(task: Task, slot: NDArray[np.int32], found: Assignment | None) -> Routed:
    if found is not None and found.route_offsets is not None and found.route_nodes is not None:
        return Routed("negotiated", slot, found.route_offsets, found.route_nodes)
    routes = route_nodes(task.topology, task.problem.machine.routing, task.source, task.target)
    return Routed("negotiated", slot, *routes)


def _least_phases(task: Task, level: int | None) -> int:
    """The fewest phases in which ports and links could carry `level` messages each."""
    phases = task.least_phases
    if level is None:
        return phases
    low, high = phases, phases
    while task.least_sum(high) > high * level:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if task.least_sum(middle) <= middle * level else (middle + 1, high)
    return low


def _levels(task: Task) -> Iterator[int | None]:
    """L to try, the most wanted first; None: no limit on ports and links."""
    if task.equal_sizes:
        most = -(-task.least_sum(task.least_phases) // task.least_phases)
        if task.problem.objective == "phases":
            yield from (most, most + 1)
        else:
            levels = range(1, most + 2)
            time = {level: _least_phases(task, level) * (task.setup_s + level * task.share_s) for level in levels}
            yield from sorted(time, key=lambda level: time[level])[:2]
    yield None


def _limits(task: Task, level: int | NDArray[np.int32] | None) -> dict[str, int | NDArray[np.int32] | None]:
    """The arguments of `negotiate`: `level` for ports and links, or less where the task's limits say so."""
    limits = task.problem.limits
    kept: dict[str, int | NDArray[np.int32] | None] = {"channels": limits.channels}
    for name in ("send", "receive", "link"):
        own = getattr(limits, name)
        kept[name] = own if level is None else level if own is None else np.minimum(level, own).astype(np.int32)
    return kept


def _pressure(task: Task, level: int | None) -> Pressure:
    limits, effort = task.problem.limits, task.problem.effort
    free = level is None and limits.link is None
    pressure = CHANNELS if free else LINKS
    return replace(pressure, sweeps=pressure.sweeps * effort, work=pressure.work * effort)


def _fewest(task: Task, items: _core.NegotiatedItems, level: int | None) -> Assignment | None:
    pressure, least = _pressure(task, level), _least_phases(task, level)
    kept = _limits(task, level)

    def attempt(phases: int) -> Assignment:
        return negotiate(items, phases, **kept, pressure=pressure, seed=task.problem.seed)

    return fewest_slots(least, int(least * MORE) + 3, attempt, pressure.sweeps)


def _tightened(task: Task, items: _core.NegotiatedItems, found: Assignment, level: int | None) -> Assignment:
    """The same number of phases with a smaller ΣL, as far as effort beyond 1 goes."""
    phases = int(found.slot.max()) + 1
    if level is None or level == 1 or task.problem.pattern.before is not None:
        return found
    pressure = _pressure(task, level)
    least = task.least_sum(phases)
    for less in range(1, TIGHTENING * (task.problem.effort - 1) + 1):
        if phases * level - less < least:
            break
        levels = np.full(phases, level, np.int32)
        levels[:less] -= 1
        attempt = negotiate(items, phases, **_limits(task, levels), pressure=pressure, seed=task.problem.seed)
        if not attempt.complete:
            break
        found = attempt
    return found
