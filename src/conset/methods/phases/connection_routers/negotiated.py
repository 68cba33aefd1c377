"""negotiated: phases and routes found together by negotiation.

With room for L messages a port and link in each phase.

Problem: connections into phases over free routes; few phases P, and a small ΣL, L_p being the
largest load of a port or link in phase p: the time of equal messages is P · set-up + ΣL · transfer.
Idea: the engine of `methods/negotiated.py` with all limits of a phase at once: channels, and L_p
for ports and links. First the fewest phases with channels alone, then in them the lowest L for all
phases; for the time also the fewest phases under each of the two L that promise most. With effort
above 1 single phases are given L - 1, one after the other, as long as that succeeds.
Invariant: what is returned keeps all limits.
Guarantee: none; complete exchange on the 8 × 8 torus with 12 channels: 27 phases (the bound) with
ΣL = 81 (bound 79).
Complexity: that of the engine, a few tries of it.
Order: no message is in an earlier phase than those before it; inside one the list keeps it.
When to use it: any network and pattern of up to some ten thousand connections; symmetric ones are
better off with orbits or the closed form. Unequal sizes: only channels (and the limits that were
asked for) count, bytes are balanced later.
Reference: McMurchie, Ebeling: PathFinder, doi:10.1145/201310.201328.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from conset import _core
from conset.base import InputError, Ints32
from conset.machine import core_network, core_widths, route_stops
from conset.methods.phases.connection_routers.task import Routed, Task
from conset.methods.phases.negotiated import CHANNELS, LINKS, Assignment, fewest_slots, negotiate

MAX_STATES = 5_000_000
"""Connections times phases beyond which a try takes minutes."""
MORE = 1.5
"""A number of phases above this many times its bound (and some) is not tried."""
BUDGET = 60_000_000
"""States searched in all tries for each unit of effort, some seconds."""
TRIES = 5
"""How often L is raised before the one without a limit is kept."""
TIGHTENING = 2
"""Attempts at a smaller ΣL for each unit of effort, of large patterns beyond the first."""
SMALL = 20_000
"""Connections times phases up to which a try takes a moment."""


def route_negotiated(task: Task) -> Routed:
    """The shortest time, or the fewest phases with a small ΣL, that negotiation finds.

    Raises:
        InputError: the pattern is too large, or nothing was found within the sweeps that `effort`
            allows.
    """
    cells = task.source.size * task.least_phases
    if cells > MAX_STATES * task.problem.search.effort:
        raise InputError(
            f"router negotiated requires at most {MAX_STATES:,} connections times phases for each "
            "unit of effort, "
            f"given {cells:,}"
        )
    if not task.leaves.any():
        return _routed(task, np.zeros(task.source.size, np.int32), None)
    search = _Search(task, _items(task), _Budget(BUDGET * task.problem.search.effort))
    best = search.best()
    if best is None:
        raise InputError(
            "router negotiated: no assignment within the limits was found; effort would "
            "search longer",
            options=["effort"],
        )
    return _routed(task, best.slot, best)


def _items(task: Task) -> _core.NegotiatedItems:
    topology, width = task.topology, core_widths(task.topology)
    messages = task.connections
    if topology.kind == "crossbar":
        network = core_network(topology, task.problem.machine.routing)
        return _core.NegotiatedItems(network, messages, width, False)
    return _core.NegotiatedItems.free(_core.Wiring(topology.nodes, *task.links), messages, width)


def _routed(task: Task, slot: Ints32, found: Assignment | None) -> Routed:
    if found is not None and found.route_offsets is not None:
        offsets, nodes, entered = found.routes
    else:
        network = task.topology, task.problem.machine.routing
        offsets, nodes, entered = route_stops(*network, task.source, task.target)
    return Routed("negotiated", slot, offsets, nodes, links=entered)


@dataclass(frozen=True, eq=False)
class _Found:
    """An assignment with what it kept.

    `level` messages on ports and links, in `lower` phases one less.
    """

    assignment: Assignment
    phases: int
    level: int | None
    lower: int = 0

    @property
    def total(self) -> float:
        """ΣL at most."""
        return math.inf if self.level is None else self.phases * self.level - self.lower


@dataclass
class _Budget:
    """States that may still be searched, over all tries."""

    left: int


@dataclass(frozen=True, eq=False)
class _Search:
    """Tries at one task."""

    task: Task
    items: _core.NegotiatedItems
    spent: _Budget

    @property
    def over(self) -> bool:
        """Whether to be content with what there is."""
        return self.spent.left <= 0 or _core.stop_asked()

    def best(self) -> Assignment | None:
        """The best by the objective.

        The fewest phases with a low L, and for the time those of the best two L.
        """
        task, least = self.task, self.task.least_phases
        found = [] if _core.stop_asked() else [self._lowered(self._fewest(None))]
        if task.equal_sizes and task.problem.search.objective == "time":
            found += [self._fewest(level) for level in self._levels() if not self.over]
        known = [f for f in found if f is not None]
        if not known:
            return None
        if task.problem.search.objective == "phases" or not task.equal_sizes:
            best = min(known, key=lambda f: (f.phases, f.total))
        else:
            best = min(
                known, key=lambda f: (f.phases * task.setup_s + f.total * task.share_s, f.phases)
            )
        _core.publish(best.phases, least)
        return self._tightened(best).assignment

    def _levels(self) -> list[int]:
        """The two L with which the time could be shortest."""
        task = self.task
        most = -(-task.least_levels(task.least_phases) // task.least_phases)
        levels = range(1, most + 2)
        time = {
            level: self._least_phases(level) * (task.setup_s + level * task.share_s)
            for level in levels
        }
        return sorted(time, key=lambda level: time[level])[:2]

    def _least_phases(self, level: int | None) -> int:
        """The fewest phases in which ports and links could carry `level` messages each."""
        task, phases = self.task, self.task.least_phases
        if level is None:
            return phases
        low, high = phases, phases
        while task.least_levels(high) > high * level:
            low, high = high + 1, 2 * high
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if task.least_levels(middle) <= middle * level else (middle + 1, high)
            )
        return low

    def _attempt(
        self, phases: int, level: int | None, lower: int = 0, share: int = 1
    ) -> Assignment:
        """One try: `lower` of the phases have one level less.

        At most 1 / `share` of the budget is spent.
        """
        task, limits = self.task, self.task.problem.limits
        pressure = CHANNELS if level is None and limits.link is None else LINKS
        kept: dict[str, int | Ints32 | None] = {"channels": limits.channels}
        allowed = [] if level is None else [task.users(level - (p < lower)) for p in range(phases)]
        for name, which in (("send", 0), ("receive", 0), ("link", 1)):
            own = getattr(limits, name)
            users = [each for each in (users[which] for users in allowed) if each is not None]
            kept[name] = np.minimum(users, own or max(users)).astype(np.int32) if users else own
        effort = task.problem.search.effort
        left = max(min(self.spent.left, BUDGET * effort // share), 1)
        pressure = replace(
            pressure, sweeps=pressure.sweeps * effort, work=min(pressure.work * effort, left)
        )
        found = negotiate(
            self.items, phases, 1, **kept, pressure=pressure, seed=task.problem.search.seed
        )
        self.spent.left -= found.work
        return found

    def _fewest(self, level: int | None) -> _Found | None:
        least = self._least_phases(level)
        sweeps = (CHANNELS if level is None else LINKS).sweeps * self.task.problem.search.effort
        found = fewest_slots(
            least, int(least * MORE) + 8, lambda phases: self._attempt(phases, level), sweeps
        )
        return None if found is None else _Found(found, int(found.slot.max()) + 1, level)

    def _lowered(self, found: _Found | None) -> _Found | None:
        """The same number of phases with the lowest L found.

        Steps double from the bound, then halve.
        """
        if found is None or not self.task.equal_sizes:
            return found
        phases, best = found.phases, found
        low = at = -(-self.task.least_levels(phases) // phases)
        step = 1
        for _ in range(TRIES):
            if self.over:
                return best
            attempt = self._attempt(phases, at, share=12)
            if attempt.complete:
                best = _Found(attempt, phases, at)
                break
            low, at, step = at + 1, at + step, 2 * step
        while best.level is not None and low < best.level and not self.over:
            middle = (low + best.level) // 2
            attempt = self._attempt(phases, middle, share=12)
            if attempt.complete:
                best = _Found(attempt, phases, middle)
            else:
                low = middle + 1
        return best

    def _tightened(self, found: _Found) -> _Found:
        """The same phases and L, one message less in as many phases as effort beyond 1 finds."""
        if found.level in (None, 1) or self.task.problem.pattern.before is not None:
            return found
        most = int(found.total) - self.task.least_levels(found.phases)
        effort = self.task.problem.search.effort - (self.task.source.size * found.phases > SMALL)
        for lower in range(1, min(most, TIGHTENING * effort) + 1):
            attempt = self._attempt(found.phases, found.level, lower)
            if not attempt.complete or self.over:
                break
            found = replace(found, assignment=attempt, lower=lower)
        return found
