"""Task and Routed: what every router of connections is given and gives back.

The phases made of it, and their score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from conset import _core
from conset.base import Bools, Floats, Ints, Ints32, take_rows
from conset.machine import (
    MAX_LIMIT,
    Routing,
    Topology,
    Work,
    profile_phases,
    route_hops,
    synchronization_s,
    usable_ends,
    work_of,
)
from conset.methods.phases.core import core_order
from conset.methods.phases.problem import Phases, Problem
from conset.schedule import Schedule, chosen_links, depths, number_channels, phase_loads

Score = tuple[float, ...]
"""Smaller is better, place by place."""


@dataclass(frozen=True, eq=False)
class Task:
    """Connections to be put into phases and routed, with the sums that several routers share.

    Attributes:
        problem: pattern, machine, limits (of which `channels` is set), seed and effort.
    """

    problem: Problem

    @property
    def topology(self) -> Topology:
        """The network."""
        return self.problem.machine.topology

    @property
    def source(self) -> Ints32:
        """shape=(messages), int32: the node each connection leaves."""
        return np.ascontiguousarray(self.problem.source_node, np.int32)

    @property
    def target(self) -> Ints32:
        """shape=(messages), int32: the node each connection enters."""
        return np.ascontiguousarray(self.problem.target_node, np.int32)

    @cached_property
    def leaves(self) -> Bools:
        """shape=(messages): which connections leave their node; the others use nothing."""
        inside: Bools = self.problem.source_node == self.problem.target_node
        return ~inside

    @property
    def channels(self) -> int:
        """Channels of a node."""
        return self.problem.limits.channels or 2**30

    @cached_property
    def connections(self) -> _core.Connections:
        """For the core: an order is kept inside phases, too."""
        return _core.Connections(self.source, self.target, *core_order(self.problem), apart=0)

    @cached_property
    def links(self) -> tuple[Ints32, Ints32]:
        """(from, to) of every link a route may take; what is none joins a node to itself.

        Links that close cycles are none where the machine never wraps (the text's surface router).
        A crossbar has the direct connections of the pattern.
        """
        topology = self.topology
        if topology.kind == "crossbar":
            pairs = np.unique(np.stack([self.source, self.target])[:, self.leaves], axis=1)
            return np.ascontiguousarray(pairs[0]), np.ascontiguousarray(pairs[1])
        return usable_ends(topology, self.problem.machine.routing)

    @cached_property
    def hops(self) -> Ints32:
        """shape=(messages), int32: links on a shortest path; 1 between two ports of a crossbar."""
        topology, routing = self.topology, self.problem.machine.routing
        if topology.kind == "crossbar":
            return self.leaves.astype(np.int32)
        if routing.rule != "no-wrap":
            routing = Routing.default(topology)
        return route_hops(topology, routing, self.source, self.target)

    @cached_property
    def least_phases(self) -> int:
        """No schedule needs fewer phases, whatever its routes.

        Channels in all, a node's own, ports, links.

        An order needs none: a phase keeps it inside.
        """
        if not self.leaves.any():
            return min(self.source.size, 1)
        limits, nodes = self.problem.limits, self.topology.nodes
        sends = int(np.bincount(self.source[self.leaves], minlength=nodes).max())
        receives = int(np.bincount(self.target[self.leaves], minlength=nodes).max())
        ends = np.bincount(self.source[self.leaves], minlength=nodes)
        ends += np.bincount(self.target[self.leaves], minlength=nodes)
        counts = [
            (int((self.hops + 1)[self.leaves].sum(dtype=np.int64)), nodes * self.channels),
            (int(ends.max()), self.channels),
            *([(sends, limits.send)] if limits.send else []),
            *([(receives, limits.receive)] if limits.receive else []),
        ]
        if limits.link and self.topology.kind != "crossbar":
            usable = self.links[0] != self.links[1]
            width = int(self.topology.widths()[usable].sum(dtype=np.int64))
            counts += [(int(self.hops.sum(dtype=np.int64)), limits.link * width)]
        return max(1, *(-(-need // supply) for need, supply in counts))

    @cached_property
    def equal_sizes(self) -> bool:
        """Whether all connections that leave their node carry the same number of bytes."""
        size = self.problem.pattern.size[self.leaves]
        return bool((size == size[:1]).all())

    @cached_property
    def _counts(self) -> _Counts:
        nodes, hops = self.topology.nodes, int(self.hops.sum(dtype=np.int64))
        sends, receives = (
            np.bincount(end[self.leaves], minlength=nodes) for end in (self.source, self.target)
        )
        ends = min(int((sends > 0).sum()), int((receives > 0).sum()))
        messages = int(self.leaves.sum())
        if self.topology.kind == "crossbar":
            return _Counts(2 * messages, 0, max(int(sends.max()), int(receives.max())), 2 * ends, 0)
        usable = self.links[0] != self.links[1]
        width = int(self.topology.widths()[usable].sum(dtype=np.int64))
        return _Counts(
            hops + messages, hops, max(int(sends.max()), int(receives.max())), ends, width
        )

    def least_sum(self, phases: int, ratio: tuple[float, float] = (1.0, 1.0)) -> int:
        """Lower bound on ΣL of schedules of `phases` phases.

        L_p is the largest load of a port or link in phase p.

        A phase with L holds at most min(all channels, L · (links + senders)) channels, concave in
        L: ΣL spread evenly holds the most. With a `ratio` (port, link) a level L allows L · ratio
        messages there.
        """
        count, most = self._counts, self.channels * self.topology.nodes
        per_load = (
            count.width * ratio[1] + count.ends * ratio[0] if count.width else count.ends * ratio[0]
        )
        total = max(
            phases, ceil(count.port / ratio[0]), ceil(count.hops / (max(count.width, 1) * ratio[1]))
        )
        while True:
            level, more = divmod(total, phases)
            low, high = (min(most, per_load * x) for x in (level, level + 1))
            if low >= most or low * (phases - more) + high * more >= count.channels:
                return total
            total += max(1, int((count.channels - low * (phases - more) - high * more) // per_load))

    def least_levels(self, phases: int) -> int:
        """`least_sum` in the levels of the objective."""
        return self.least_sum(phases, self.ratio)

    @cached_property
    def setup_s(self) -> float:
        """What a phase costs before anything flows: set-up and a barrier [s]."""
        costs = self.problem.machine.costs_for("connections")
        return costs.setup_s + synchronization_s(self.problem.machine, costs)

    @cached_property
    def _work(self) -> tuple[float, float]:
        """What one message keeps a port and the slowest link busy.

        Per unit of width, sizes being equal [s].
        """
        machine, size = self.problem.machine, self.problem.pattern.size[self.leaves]
        work = work_of(machine, machine.costs_for("connections"), "barrier")
        largest = int(size.max(initial=0))
        link = self._link_work(work).max(initial=0) * largest
        return max(work.out, work.into) * largest + work.overhead.at(largest), float(link)

    @staticmethod
    def _link_work(work: Work) -> Floats:
        """Seconds per byte of links per unit of width; empty where links cost nothing."""
        return work.link * work.width if work.link.size else work.link

    @cached_property
    def share_s(self) -> float:
        """What a level more costs a phase: one message on the slower of ports and links [s]."""
        return max(self._work)

    @cached_property
    def ratio(self) -> tuple[float, float]:
        """Messages that a level allows on (a port, a link).

        For the time as many as the slower one takes meanwhile.
        """
        port, link = self._work
        if self.problem.search.objective == "phases" or port == link:
            return 1.0, 1.0
        return tuple(self.share_s / work if work else inf for work in (port, link))  # type: ignore[return-value]

    def users(self, level: int) -> tuple[int | None, int | None]:
        """(messages on a port, on a link per unit of width) that a level allows.

        None: any number.
        """
        allowed = (
            min(level * ratio * (1 + 1e-9), MAX_LIMIT) if ratio < inf else None
            for ratio in self.ratio
        )
        port, link = (None if most is None else int(most) for most in allowed)
        return port, link

    def least_time(self, phases: int) -> float:
        """No schedule of `phases` phases is shorter, sizes being equal and links alike [s]."""
        port, link = self._work
        if port == link:
            return phases * self.setup_s + self.least_sum(phases) * port
        count, machine = self._counts, self.problem.machine
        work = work_of(machine, machine.costs_for("connections"), "barrier")
        largest = int(self.problem.pattern.size[self.leaves].max(initial=0))
        fastest = float(self._link_work(work).min(initial=inf)) * largest
        busy = count.port * port
        if 0 < fastest < inf and port:
            per_s = count.width / fastest + count.ends / port
            busy = max(busy, count.hops * fastest / max(count.width, 1), count.channels / per_s)
        return phases * self.setup_s + busy


class _Counts(NamedTuple):
    """Sums over connections that leave their node.

    `channels` of all shortest routes, their `hops`, messages of the busiest `port`, the fewer of
    senders and receivers (`ends`; of a crossbar twice that, a message takes two channels and no
    link), `width` of all links.
    """

    channels: int
    hops: int
    port: int
    ends: int
    width: int


@dataclass(frozen=True, eq=False)
class Routed:
    """Every connection in a phase, over a route.

    Attributes:
        router: which one made it.
        phase: shape=(messages), int32, from 0.
        offsets: shape=(messages + 1), int64: nodes of message m are
            `nodes[offsets[m] : offsets[m + 1]]`.
        nodes: int32, ends included; one node for a message inside a node.
        order: shape=(messages), int32: rank inside a phase, lower is posted first; None: by index.
        stopped_early: the search was interrupted.
        links: shape as `nodes`: the link by which each stop is entered, -1 at the first; None where
            the nodes say it.
    """

    router: str
    phase: Ints32
    offsets: Ints
    nodes: Ints32
    order: Ints32 | None = None
    stopped_early: bool = False
    links: Ints32 | None = None

    @property
    def phases(self) -> int:
        """Number of phases, empty ones not counted."""
        return int(np.unique(self.phase).size)


def assemble(routed: Routed, before: Ints32 | None = None) -> Phases:
    """Phases of whole messages with their routes and channels; empty phases vanish.

    Args:
        routed: what a router found.
        before: the pattern's order: in the list of a phase messages follow those before them.
    """
    order = routed.order
    if before is not None:
        depth = depths(before, routed.phase.size)
        order = np.argsort(
            np.lexsort((np.arange(depth.size) if order is None else order, depth))
        ).astype(np.int32)
    phases = Phases.of(routed.phase, order)
    offsets, stops = take_rows(routed.offsets, phases.message)
    nodes = routed.nodes[stops]
    return Phases(
        phases.offsets,
        phases.message,
        route_offsets=offsets,
        route_nodes=nodes,
        route_links=None if routed.links is None else routed.links[stops],
        channels=number_channels(phases.offsets, offsets, nodes),
        stopped_early=routed.stopped_early,
    )


def schedule_of(task: Task, phases: Phases) -> Schedule:
    """The noun, for what is counted on schedules."""
    problem = task.problem
    return Schedule(
        problem.pattern,
        problem.machine,
        "connections",
        problem.limits,
        phases.offsets,
        phases.message,
        parts=phases.parts,
        placement=problem.placement,
        route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
        route_links=phases.route_links,
    )


def time_of(task: Task, phases: Phases) -> float:
    """Set-up and barrier of every phase, and in each the work of the busiest port or link [s].

    Of a pattern with an order what is predicted, with the waits of that order.
    """
    schedule = schedule_of(task, phases)
    if task.problem.pattern.before is not None and task.problem.predicted is not None:
        return task.problem.predicted(schedule)
    machine = task.problem.machine
    count = schedule.phases
    work = work_of(machine, machine.costs_for("connections"), "barrier")
    profile = profile_phases(
        machine,
        work,
        schedule.source_node,
        schedule.target_node,
        schedule.size,
        phase_offsets=schedule.phase_offsets,
        batch_offsets=np.arange(count + 1, dtype=np.int64),
        phase_by_phase=False,
        links=chosen_links(schedule),
    )
    return count * task.setup_s + float(profile.busy.sum())


def score(task: Task, phases: Phases) -> Score:
    """The time, then phases and ΣL; or with the objective `phases` these two first."""
    loads = phase_loads(schedule_of(task, phases))
    count, total = phases.offsets.size - 1, int(loads.largest.sum(dtype=np.int64))
    time = round(time_of(task, phases), 15)
    return (
        (count, total, time) if task.problem.search.objective == "phases" else (time, count, total)
    )


def best_score(task: Task) -> Score:
    """No schedule has a better first two places; the time of unequal sizes may be improved."""
    least, asked = max(task.least_phases, 1), task.problem.search.phases
    if task.problem.search.objective == "phases":
        return (asked or task.least_phases, task.least_sum(asked or least))
    if not task.equal_sizes or task.problem.pattern.before is not None:
        return (0.0,)
    return (
        min(
            task.least_time(p) for p in (range(least, 3 * least + 1) if asked is None else (asked,))
        ),
    )
