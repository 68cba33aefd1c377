"""Connections: what a phase holds open, and whether the connections of several phases may be open together.

Two transfers of different phases are one connection where they take the same route between the same nodes: it is open
once, whoever uses it. Several transfers of one phase that go the same way are several connections: the first of each
phase are one, the second of each another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from conset.machine.limits import Limits
from conset.network.routes import route_links
from conset.schedule.loads import chosen_links
from conset.schedule.schedule import Schedule

Ids = frozenset[int]
ROUNDING = 1 + 1e-9


class Connections:
    """The connections of several schedules on one machine, numbered as they are met.

    A resource is a send port, a receive port, the channels of a node or a link, numbered in this order.
    """

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = schedules
        self._topology = schedules[0].machine.topology
        self._limits = reduce(Limits.tightened, (schedule.limits for schedule in schedules))
        self._capacity = self._capacities()
        self._rates = self._resource_rates()
        self._number: dict[tuple[int, int, bytes, int], int] = {}
        self._demand: list[float] = []
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
        """Whether they may all be open together: under the strictest limits of all, each with its bandwidth."""
        if not ids:
            return True
        taken = np.bincount(np.concatenate([self._resources[k] for k in ids]), minlength=self._capacity.size)
        if not (taken <= self._capacity).all() or not all(self._keeps(k, taken) for k in ids):
            return False
        return self._limits.duplex == "full" or self._exchange(ids)

    def _keeps(self, connection: int, taken: NDArray[np.intp]) -> bool:
        """Whether a connection has the bandwidth that is asked for it."""
        if not self._demand[connection]:
            return True
        at = self._resources[connection]
        return float((self._rates[at] / taken[at]).min()) * ROUNDING >= self._demand[connection]

    def _resource_rates(self) -> NDArray[np.float64]:
        """What all users of a resource have together [B/s]; channels have no rate of their own."""
        first, topology = self._schedules[0], self._topology
        costs = first.machine.costs_for(first.method)
        link = topology.widths() * (costs.link_Bps if topology.link_rate_Bps is None else topology.link_rate_Bps)
        ends = [np.full(topology.nodes, rate) for rate in (costs.port_out_Bps, costs.port_in_Bps, np.inf)]
        return np.concatenate([*ends, link])

    def _capacities(self) -> NDArray[np.float64]:
        limits, nodes = self._limits, self._topology.nodes
        per_node = [np.full(nodes, np.inf if limit is None else limit) for limit in
                    (limits.send, limits.receive, limits.channels)]  # fmt: skip
        widths = self._topology.widths() * (np.inf if limits.link is None else limits.link)
        return np.concatenate([*per_node, widths])

    def _read(self, schedule: int, phase: int) -> Iterable[int]:
        plan = self._schedules[schedule]
        offsets, links = self._routes(schedule)
        at, demand = plan.phase(phase), plan.min_bandwidth_Bps
        same: Counter[tuple[int, int, bytes]] = Counter()
        for k in range(at.start, at.stop):
            source, target = int(plan.source_node[k]), int(plan.target_node[k])
            if source == target:
                continue
            own = links[offsets[k] : offsets[k + 1]]
            way = source, target, own.tobytes()
            number = self._numbered((*way, same[way]), own)
            same[way] += 1
            if demand is not None:
                self._demand[number] = max(self._demand[number], float(demand[plan.message[k]]))
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
        self._demand.append(0.0)
        self._resources.append(resources.astype(np.int64))
        return self._number[key]

    def _exchange(self, ids: Ids) -> bool:
        """Whether every node that sends and receives does so with one partner."""
        sends, receives = defaultdict(set), defaultdict(set)
        for source, target in (self._ends[k] for k in ids):
            sends[source].add(target)
            receives[target].add(source)
        return all(len(sends[node] | receives[node]) == 1 for node in sends.keys() & receives.keys())
