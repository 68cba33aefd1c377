"""Connections: what a phase holds open, and whether the connections of several phases may be open together.

Two transfers of different phases are one connection where they take the same route between the same nodes: it is open
once, whoever uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from conset.machine.limits import Limits
from conset.network.routes import route_links
from conset.schedule.loads import chosen_links
from conset.schedule.schedule import Schedule

Ids = frozenset[int]


class Connections:
    """The connections of several schedules on one machine, numbered as they are met.

    A resource is a send port, a receive port, the channels of a node or a link, numbered in this order.
    """

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = schedules
        self._topology = schedules[0].machine.topology
        self._limits = reduce(Limits.tightened, (schedule.limits for schedule in schedules))
        self._capacity = self._capacities()
        self._number: dict[tuple[int, int, bytes], int] = {}
        self._ends: list[tuple[int, int]] = []
        self._resources: list[NDArray[np.int64]] = []
        self._links: dict[int, tuple[NDArray[np.int64], NDArray[np.int32]]] = {}
        self._phases: dict[tuple[int, int], Ids] = {}

    def of(self, schedule: int, phase: int) -> Ids:
        """The connections of a phase; messages inside a node need none."""
        if (schedule, phase) not in self._phases:
            self._phases[schedule, phase] = frozenset(self._read(schedule, phase))
        return self._phases[schedule, phase]

    def fit(self, ids: Ids) -> bool:
        """Whether they may all be open together, under the strictest limits of all schedules."""
        if not ids:
            return True
        taken = np.bincount(np.concatenate([self._resources[k] for k in ids]), minlength=self._capacity.size)
        return bool((taken <= self._capacity).all()) and (self._limits.duplex == "full" or self._exchange(ids))

    def _capacities(self) -> NDArray[np.float64]:
        limits, nodes = self._limits, self._topology.nodes
        per_node = [np.full(nodes, np.inf if limit is None else limit) for limit in
                    (limits.send, limits.receive, limits.channels)]  # fmt: skip
        widths = self._topology.widths() * (np.inf if limits.link is None else limits.link)
        return np.concatenate([*per_node, widths])

    def _read(self, schedule: int, phase: int) -> Iterable[int]:
        plan = self._schedules[schedule]
        offsets, links = self._routes(schedule)
        at = plan.phase(phase)
        for k in range(at.start, at.stop):
            source, target = int(plan.source_node[k]), int(plan.target_node[k])
            if source != target:
                yield self._numbered(source, target, links[offsets[k] : offsets[k + 1]])

    def _routes(self, schedule: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        if schedule not in self._links:
            plan = self._schedules[schedule]
            chosen = chosen_links(plan)
            machine = plan.machine
            walked = (machine.topology, machine.routing, plan.source_node, plan.target_node)
            self._links[schedule] = chosen if chosen[0].size else route_links(*walked)
        return self._links[schedule]

    def _numbered(self, source: int, target: int, links: NDArray[np.int32]) -> int:
        key = (source, target, links.tobytes())
        known = self._number.get(key)
        if known is not None:
            return known
        nodes = self._topology.nodes
        visits = self._topology.ends[1][links] if links.size else np.array([target])
        resources = np.concatenate(
            [[source, nodes + target, 2 * nodes + source], 2 * nodes + visits, 3 * nodes + links]
        )
        self._number[key] = len(self._ends)
        self._ends.append((source, target))
        self._resources.append(resources.astype(np.int64))
        return self._number[key]

    def _exchange(self, ids: Ids) -> bool:
        """Whether every node that sends and receives does so with one partner."""
        sends, receives = defaultdict(set), defaultdict(set)
        for source, target in (self._ends[k] for k in ids):
            sends[source].add(target)
            receives[target].add(source)
        return all(len(sends[node] | receives[node]) == 1 for node in sends.keys() & receives.keys())
