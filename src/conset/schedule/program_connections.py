"""What a phase holds open, and whether the connections of several phases may be open together.

Two transfers of different phases are one connection where they take the same route between the same
nodes: it is open once, whoever uses it. Several transfers of one phase that go the same way are
several connections: the first of each phase are one, the second of each another.

Guarantees are those of a phase (`conset.schedule.linkage`), where all connections of a context are
open together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from conset.machine.limits import Limits
from conset.machine.network.routes import route_links
from conset.schedule.linkage import shared
from conset.schedule.loads import chosen_links
from conset.schedule.schedule import Schedule

Ids = frozenset[int]
ROUNDING = 1 + 1e-9
INSIDE = -1
"""In place of a connection: of a message inside a node."""


def _method_of(schedules: Sequence[Schedule]) -> str:
    """The method whose rates connections share.

    Of the first schedule that demands some, of the first if none does.
    """
    asked = (s for s in schedules if s.min_bandwidth_Bps is not None or s.max_latency_s is not None)
    return next(asked, schedules[0]).method


class Connections:
    """The connections of several schedules on one machine, numbered as they are met.

    A resource is a send port, a receive port, the channels of a node or a link, numbered in this
    order.
    """

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = schedules
        self._topology = schedules[0].machine.topology
        self._limits = reduce(Limits.tightened, (schedule.limits for schedule in schedules))
        self._capacity = self._capacities()
        self._method = _method_of(schedules)
        self._number: dict[tuple[int, int, bytes, int], int] = {}
        self._asked: list[tuple[float, float]] = []
        self._ends: list[tuple[int, int]] = []
        self._own_links: list[NDArray[np.int32]] = []
        self._resources: list[NDArray[np.int64]] = []
        self._links: dict[int, tuple[NDArray[np.int64], NDArray[np.int32]]] = {}
        self._phases: dict[tuple[int, int], list[int]] = {}

    def of(self, schedule: int, phase: int) -> Ids:
        """The connections of a phase; messages inside a node need none."""
        return frozenset(self.numbers(schedule, phase)) - {INSIDE}

    def numbers(self, schedule: int, phase: int) -> list[int]:
        """The connection of every transfer of a phase; `INSIDE` of those inside a node."""
        if (schedule, phase) not in self._phases:
            self._phases[schedule, phase] = list(self._read(schedule, phase))
        return self._phases[schedule, phase]

    def fit(self, ids: Ids) -> bool:
        """Whether they may all be open together.

        Under the strictest limits of all, each with what is asked for it.
        """
        if not ids:
            return True
        order = sorted(ids)
        if not (self._taken(order) <= self._capacity).all() or not self._keep(order):
            return False
        return self._limits.duplex == "full" or self._exchange(ids)

    def guarantees(
        self, ids: Sequence[int], method: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(least bandwidth [B/s], longest time of an element [s]) of each of `ids`.

        Which are open together.

        Under what the machine charges `method`.
        """
        return self._shares(ids, method)

    def _taken(self, ids: Sequence[int]) -> NDArray[np.intp]:
        """shape=(resources): how many of `ids` use each."""
        used = np.concatenate([np.zeros(0, np.int64), *(self._resources[k] for k in ids)])
        return np.bincount(used, minlength=self._capacity.size)

    def _keep(self, ids: Sequence[int]) -> bool:
        """Whether all have what is asked for them."""
        if not self._demanding:
            return True
        asked = np.array([self._asked[k] for k in ids])
        bandwidth, latency = self._shares(ids, self._method)
        return bool(
            (bandwidth * ROUNDING >= asked[:, 0]).all()
            and (latency <= asked[:, 1] * ROUNDING).all()
        )

    @cached_property
    def _demanding(self) -> bool:
        return any(
            s.min_bandwidth_Bps is not None or s.max_latency_s is not None for s in self._schedules
        )

    def _shares(
        self, ids: Sequence[int], method: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        source, target = np.array([self._ends[k] for k in ids], np.int32).reshape(-1, 2).T
        offsets = np.cumsum([0, *(self._own_links[k].size for k in ids)], dtype=np.int64)
        routes = (
            offsets,
            np.concatenate([np.zeros(0, np.int32), *(self._own_links[k] for k in ids)]),
        )
        costs, together = self._schedules[0].machine.costs_for(method), np.zeros(len(ids), np.int32)
        found = shared(self._topology, costs, together, source, target, routes)
        return found.bandwidth_Bps, found.latency_s

    def _capacities(self) -> NDArray[np.float64]:
        limits, nodes = self._limits, self._topology.nodes
        per_node = [
            np.full(nodes, np.inf if limit is None else limit)
            for limit in (limits.send, limits.receive, limits.channels)
        ]
        widths = self._topology.widths() * (np.inf if limits.link is None else limits.link)
        return np.concatenate([*per_node, widths])

    def _read(self, schedule: int, phase: int) -> Iterable[int]:
        plan = self._schedules[schedule]
        offsets, links = self._routes(schedule)
        at, rates, times = plan.phase(phase), plan.min_bandwidth_Bps, plan.max_latency_s
        same: Counter[tuple[int, int, bytes]] = Counter()
        for k in range(at.start, at.stop):
            source, target = int(plan.source_node[k]), int(plan.target_node[k])
            if source == target:
                yield INSIDE
                continue
            own = links[offsets[k] : offsets[k + 1]]
            way = source, target, own.tobytes()
            number = self._numbered((*way, same[way]), own)
            same[way] += 1
            least, most = self._asked[number]
            if rates is not None:
                least = max(least, float(rates[plan.message[k]]))
            if times is not None:
                most = min(most, float(times[plan.message[k]]))
            self._asked[number] = least, most
            yield number

    def _routes(self, schedule: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        if schedule not in self._links:
            plan = self._schedules[schedule]
            chosen = chosen_links(plan)
            machine = plan.machine
            walked = (machine.topology, machine.routing, plan.source_node, plan.target_node)
            self._links[schedule] = chosen if chosen[0].size else route_links(*walked)
        return self._links[schedule]

    def _numbered(self, key: tuple[int, int, bytes, int], links: NDArray[np.int32]) -> int:
        source, target = key[:2]
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
        self._asked.append((0.0, np.inf))
        self._own_links.append(links)
        self._resources.append(resources.astype(np.int64))
        return self._number[key]

    def _exchange(self, ids: Ids) -> bool:
        """Whether every node that sends and receives does so with one partner."""
        sends, receives = defaultdict(set), defaultdict(set)
        for source, target in (self._ends[k] for k in ids):
            sends[source].add(target)
            receives[target].add(source)
        return all(
            len(sends[node] | receives[node]) == 1 for node in sends.keys() & receives.keys()
        )
