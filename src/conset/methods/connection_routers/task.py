"""Task and Routed: what every router of connections is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from conset.machine.work import synchronization_s, work_of
from conset.methods.problem import Problem
from conset.network.routes import route_hops
from conset.network.routing import Routing
from conset.network.topology import Topology


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
    def source(self) -> NDArray[np.int32]:
        """shape=(messages), int32: the node each connection leaves."""
        return np.ascontiguousarray(self.problem.source_node, np.int32)

    @property
    def target(self) -> NDArray[np.int32]:
        """shape=(messages), int32: the node each connection enters."""
        return np.ascontiguousarray(self.problem.target_node, np.int32)

    @cached_property
    def leaves(self) -> NDArray[np.bool_]:
        """shape=(messages): which connections leave their node; the others use nothing."""
        inside: NDArray[np.bool_] = self.problem.source_node == self.problem.target_node
        return ~inside

    @property
    def channels(self) -> int:
        """Channels of a node."""
        return self.problem.limits.channels or 2**30

    @cached_property
    def links(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(from, to) of every link a route may take; what is none joins a node to itself.

        Links that close cycles are none where the machine never wraps (the text's surface router). A crossbar has the
        direct connections of the pattern.
        """
        topology = self.topology
        if topology.kind == "crossbar":
            pairs = np.unique(np.stack([self.source, self.target])[:, self.leaves], axis=1)
            return np.ascontiguousarray(pairs[0]), np.ascontiguousarray(pairs[1])
        source, target = topology.ends
        if self.problem.machine.routing.rule == "no-wrap":
            far = np.abs(topology.coordinates[source] - topology.coordinates[target]).max(axis=1, initial=0) > 1
            target = np.where(far, source, target).astype(np.int32)
        return np.ascontiguousarray(source), np.ascontiguousarray(target)

    @cached_property
    def hops(self) -> NDArray[np.int32]:
        """shape=(messages), int32: links on a shortest path; 1 between two ports of a crossbar."""
        topology, routing = self.topology, self.problem.machine.routing
        if topology.kind == "crossbar":
            return self.leaves.astype(np.int32)
        if routing.rule != "no-wrap":
            routing = Routing.default(topology)
        return route_hops(topology, routing, self.source, self.target)

    @cached_property
    def least_phases(self) -> int:
        """No schedule needs fewer phases, whatever its routes: all channels, those of one node's ends, ports, links."""
        if not self.leaves.any():
            return min(1, self.problem.pattern.messages)
        limits, nodes = self.problem.limits, self.topology.nodes
        sends = int(np.bincount(self.source[self.leaves], minlength=nodes).max())
        receives = int(np.bincount(self.target[self.leaves], minlength=nodes).max())
        ends = np.bincount(self.source[self.leaves], minlength=nodes)
        ends += np.bincount(self.target[self.leaves], minlength=nodes)
        counts = [(int((self.hops + 1)[self.leaves].sum(dtype=np.int64)), nodes * self.channels)]
        counts += [(int(ends.max()), self.channels)]
        counts += [(sends, limits.send)] if limits.send else []
        counts += [(receives, limits.receive)] if limits.receive else []
        if limits.link and self.topology.kind != "crossbar":
            usable = self.links[0] != self.links[1]
            width = int(self.topology.widths()[usable].sum(dtype=np.int64))
            counts += [(int(self.hops.sum(dtype=np.int64)), limits.link * width)]
        return max(-(-need // supply) for need, supply in counts)

    @cached_property
    def equal_sizes(self) -> bool:
        """Whether all connections that leave their node carry the same number of bytes."""
        size = self.problem.pattern.size[self.leaves]
        return bool((size == size[:1]).all())

    @cached_property
    def _sums(self) -> tuple[int, int, int]:
        """(channels of all shortest routes; least ΣL by ports and links; channels of a phase for each unit of L)."""
        nodes, hops = self.topology.nodes, int(self.hops.sum(dtype=np.int64))
        sends, receives = (np.bincount(end[self.leaves], minlength=nodes) for end in (self.source, self.target))
        ends = min(int((sends > 0).sum()), int((receives > 0).sum()))
        channels = hops + int(self.leaves.sum())
        if self.topology.kind == "crossbar":
            return channels, max(int(sends.max()), int(receives.max())), 2 * ends
        usable = self.links[0] != self.links[1]
        width = int(self.topology.widths()[usable].sum(dtype=np.int64))
        return channels, max(int(sends.max()), int(receives.max()), -(-hops // max(width, 1))), width + ends

    def least_sum(self, phases: int) -> int:
        """No schedule of `phases` phases has a smaller ΣL, L_p being the largest load of a port or link in phase p.

        A phase with L holds at most min(all channels, L · (links + senders)) channels, concave in L: ΣL spread evenly
        holds the most.
        """
        channels, least, per_load = self._sums
        most = self.channels * self.topology.nodes
        total = max(least, phases)
        while True:
            level, more = divmod(total, phases)
            low, high = (min(most, per_load * x) for x in (level, level + 1))
            if low >= most or low * (phases - more) + high * more >= channels:
                return total
            total += max(1, (channels - low * (phases - more) - high * more) // max(per_load, 1))

    @cached_property
    def setup_s(self) -> float:
        """What a phase costs before anything flows: set-up and a barrier [s]."""
        costs = self.problem.machine.costs_for("connections")
        return costs.setup_s + synchronization_s(self.problem.machine, costs)

    @cached_property
    def share_s(self) -> float:
        """What one message more on the busiest resource costs a phase, sizes being equal [s]."""
        machine, size = self.problem.machine, self.problem.pattern.size[self.leaves]
        work = work_of(machine, machine.costs_for("connections"), "barrier")
        bytes_ = int(size.max(initial=0))
        slowest = max(work.out, work.into, float(work.link.max(initial=0)))
        return bytes_ * slowest + work.overhead.at(bytes_)


@dataclass(frozen=True, eq=False)
class Routed:
    """Every connection in a phase, over a route.

    Attributes:
        router: which one made it.
        phase: shape=(messages), int32, from 0.
        offsets: shape=(messages + 1), int64: nodes of message m are `nodes[offsets[m] : offsets[m + 1]]`.
        nodes: int32, ends included; one node for a message inside a node.
        order: shape=(messages), int32: rank inside a phase, lower is posted first; None: by index.
        stopped_early: the search was interrupted.
    """

    router: str
    phase: NDArray[np.int32]
    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    order: NDArray[np.int32] | None = None
    stopped_early: bool = False

    @property
    def phases(self) -> int:
        """Number of phases, empty ones not counted."""
        return int(np.unique(self.phase).size)
