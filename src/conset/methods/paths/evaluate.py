"""Evaluate: what paths cost on a machine, by its words, without an event in time.

Problem: compare many ways to combine one pattern; the models of events are too slow for hundreds of
candidates.
Idea: processors and ports are served in order, stage by stage, all ranks at once. A rank sends the
bundles of a stage one after the other, first those that are forwarded; then it takes, in the order
in which they arrive, the bundles it has to forward, and goes on to the next stage. Bundles that end
at it are taken after the last stage. send send_overhead + bytes / copy where it is packed, then its
bytes leave at the rate of the port on its way inject + eject + per_transfer + hop × links of the
route (and signals above the eager threshold) port ranks of a node share it, out and in: bundles
pass in order link bundles pass in order the one link of their route that carries most in the stage
receive receive_overhead + bytes / copy where it is packed set-up once for each rank and stage in
which it sends or receives With `processors = one` a rank receives when it has sent, with `two` both
go on at once; with `shared` nothing is over before each node has done the work of all its ranks. A
bundle inside a node uses no port and has no latency; its bytes are copied at `copy`.
Left out: the other links of a route, `in_flight`, and phases within a stage; the models of events
know them.
Complexity: O(bundles log bundles + hops of all bundles) time and memory for each stage.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from conset import _core
from conset.base import Bools, Floats, InputError, Integers, Ints, Ints32
from conset.machine import Costs, Machine, core_network, link_work, route_hops, route_links
from conset.schedule import Bundles, Paths

ROUTES = 2**16
"""Routes written out at a time."""
INSTANT = 15
"""Decimals of seconds that tell two instants apart."""

Seconds = Floats


@dataclass(frozen=True)
class Estimate:
    """What paths cost.

    Attributes:
        time_s: until the last rank has all that is sent to it [s].
        work_s: of all processors together: overheads, packing, set-ups [s].
        busiest_s: the same of the rank that has most [s].
        stage_s: how much later the last rank is done after each stage; together `time_s` [s].
        bundles: messages sent in all stages.
        bytes: sent in all stages [B].
    """

    time_s: float
    work_s: float
    busiest_s: float
    stage_s: tuple[float, ...]
    bundles: int
    bytes: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to combine.

    Attributes:
        name: as `--combine` takes it; what others hand in as they name it.
        paths: where the messages go.
        estimate: what it costs.
    """

    name: str
    paths: Paths
    estimate: Estimate


def evaluate(
    paths: Paths,
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    part_s: float = 0.0,
) -> Estimate:
    """The estimate of paths on a machine.

    Args:
        paths: where the messages go.
        machine: whose costs and routes hold.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        part_s: work for each part that is packed or taken apart, beside its bytes [s]; no word of
            machines says it.

    Raises:
        InputError: more ranks than nodes, or a placement of another number of ranks.
    """
    ranks, nodes = paths.pattern.ranks, machine.topology.endpoints
    node = np.arange(ranks, dtype=np.int32) if placement is None else placement
    if placement is None and ranks > nodes:
        raise InputError(f"{ranks} ranks on {nodes} nodes: a placement is required")
    if node.shape != (ranks,):
        raise InputError(
            f"placement has shape {node.shape}: one node for each of {ranks} ranks required"
        )
    clock = _Clock(machine, node, part_s)
    last = np.full(paths.positions.shape[0], -1, np.int64)  # the last stage each part moves in
    for stage in range(paths.stages):
        last[paths.positions[:, stage] != paths.positions[:, stage + 1]] = stage
    ends = []
    for stage in range(paths.stages):
        clock.run(paths.bundles(stage), last > stage)
        ends.append(clock.now)
    clock.finish()
    ends[-1] = clock.now
    return Estimate(
        clock.now,
        float(clock.work.sum()),
        float(clock.work.max(initial=0.0)),
        tuple(np.diff([0.0, *ends]).tolist()),
        clock.bundles,
        clock.bytes,
    )


@dataclass(eq=False)
class _Clock:
    """When processors and ports are free, while stages go by.

    Attributes:
        machine: whose costs and routes hold.
        node: shape=(ranks): where each rank lives.
        part_s: work for each part of a packed bundle at both ends [s].
    """

    machine: Machine
    node: Ints32
    part_s: float
    costs: Costs = field(init=False)
    bundles: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        ranks, nodes = self.node.size, self.machine.topology.endpoints
        self.costs = self.machine.costs
        self.sender, self.receiver, self.work = np.zeros(ranks), np.zeros(ranks), np.zeros(ranks)
        self.out_free, self.in_free = np.zeros(nodes), np.zeros(nodes)
        self.link_s = link_work(self.machine.topology, self.costs, self.machine.topology.widths())
        self.link_free = np.zeros(self.machine.topology.link_slots)
        self.shared = bool(ranks and np.bincount(self.node).max() > 1)
        self.kept: list[tuple[Ints32, Seconds, Seconds]] = []

    @property
    def now(self) -> float:
        """When the last rank is done with all it has begun [s]."""
        own = float(max(self.sender.max(initial=0.0), self.receiver.max(initial=0.0)))
        if self.costs.processors != "shared" or not self.node.size:
            return own
        return max(own, float(np.bincount(self.node, weights=self.work).max()))

    def run(self, bundles: Bundles, goes_on: Bools) -> None:
        """One stage; `goes_on` says which parts move again after it."""
        pattern = bundles.pattern
        if not pattern.messages:
            return
        self.bundles, self.bytes = self.bundles + pattern.messages, self.bytes + pattern.bytes
        source, target, size = pattern.source, pattern.target, pattern.size
        forwarded = np.bitwise_or.reduceat(goes_on[bundles.parts], bundles.offsets[:-1])
        copies = np.zeros(size.size)
        if pattern.packed is not None:
            copies = pattern.packed * (
                size / self.costs.copy_Bps + np.diff(bundles.offsets) * self.part_s
            )
        self._set_up(source, target)
        arrival = self._send(source, target, size, copies, forwarded)
        cost = self.costs.receive_overhead.of(size) + copies
        self.kept.append((target[~forwarded], arrival[~forwarded], cost[~forwarded]))
        self._receive(target[forwarded], arrival[forwarded], cost[forwarded])

    def finish(self) -> None:
        """Takes what ends at each rank."""
        if self.kept:
            self._receive(*(np.concatenate(arrays) for arrays in zip(*self.kept, strict=True)))
        self.kept = []

    def _set_up(self, source: Ints32, target: Ints32) -> None:
        if not self.costs.setup_s:
            return
        active = np.zeros(self.node.size, bool)
        active[source] = active[target] = True
        begin = np.maximum(self.sender, self.receiver)[active] + self.costs.setup_s
        self.sender[active] = self.receiver[active] = begin
        self.work[active] += self.costs.setup_s

    def _send(
        self,
        source: Ints32,
        target: Ints32,
        size: Ints,
        copies: Seconds,
        forwarded: Bools,
    ) -> Seconds:
        """shape=(bundles): when each has arrived [s].

        Sent in turns from the sender's successor on.
        """
        costs, ranks = self.costs, self.node.size
        work = costs.send_overhead.of(size) + copies
        out, into = self.node[source], self.node[target]
        leaves = out != into
        flow = np.where(leaves, size * max(1 / costs.port_out_Bps, 1 / costs.node_Bps), 0.0)
        turn = (target.astype(np.int64) - source) % ranks + np.where(forwarded, 0, ranks)
        order = np.argsort(source * (2 * np.int64(ranks)) + turn, kind="stable")
        begin, group = _groups(source[order])
        done = np.empty(size.size)
        total = np.cumsum((work + flow)[order])
        done[order] = total - np.r_[0.0, total][begin][group] + self.sender[source[order]]
        np.maximum.at(self.sender, source, done)
        np.add.at(self.work, source, work)
        if costs.one_processor:
            self.receiver = np.maximum(self.receiver, self.sender)
        if self.shared:
            done[leaves] = _serve(self.out_free, out[leaves], (done - flow)[leaves], flow[leaves])
        return self._travel(source, target, size, done)

    def _travel(self, source: Ints32, target: Ints32, size: Ints, left: Seconds) -> Seconds:
        """shape=(bundles): when the last byte of each is there, which left at `left` [s]."""
        costs = self.costs
        out, into = self.node[source], self.node[target]
        leaves = out != into
        arrival = left + np.where(leaves, 0.0, size / costs.copy_Bps)
        out, into, size = out[leaves], into[leaves], size[leaves]
        there = (
            left[leaves]
            + (costs.inject + costs.eject + costs.requests).of(size)
            + costs.per_transfer_s
        )
        sent: Seconds = np.asarray(
            size * max(1 / costs.port_out_Bps, 1 / costs.node_Bps), np.float64
        )
        if self.machine.topology.link_slots:
            there = there + route_hops(
                self.machine.topology, self.machine.routing, out, into
            ) * costs.hop.of(size)
            there = self._cross(out, into, size, there, sent)
        per_byte = max(1 / costs.port_in_Bps, 1 / costs.node_Bps)
        if per_byte:
            there = np.maximum(
                there,
                _serve(self.in_free, into, there - sent, np.asarray(size * per_byte, np.float64)),
            )
        arrival[leaves] = there
        return arrival

    def _cross(
        self,
        out: Ints32,
        into: Ints32,
        size: Ints,
        there: Seconds,
        sent: Seconds,
    ) -> Seconds:
        """When bundles are through the link of their route with the most work, served in order."""
        topology, routing = self.machine.topology, self.machine.routing
        if not self.link_s.size or not size.size:
            return there
        carried = np.zeros(topology.link_slots)
        for begin in range(0, size.size, ROUTES):
            block = slice(begin, begin + ROUTES)
            offsets, links = route_links(topology, routing, out[block], into[block])
            carried += np.bincount(links, np.repeat(size[block], np.diff(offsets)), carried.size)
        per_byte = np.broadcast_to(self.link_s, carried.size)
        by_work = np.argsort(carried * per_byte, kind="stable")
        place = np.empty(by_work.size)
        place[by_work] = np.arange(by_work.size)
        busiest = _core.slowest_links(
            core_network(topology, routing),
            np.ascontiguousarray(out),
            np.ascontiguousarray(into),
            place,
        )
        link = by_work[busiest.astype(np.int64)]
        return np.maximum(there, _serve(self.link_free, link, there - sent, size * per_byte[link]))

    def _receive(self, target: Ints32, arrival: Seconds, cost: Seconds) -> None:
        """Takes bundles in the order in which they arrive; what a rank sends next waits for it."""
        if not target.size:
            return
        order = np.lexsort((arrival, target))
        begin, group = _groups(target[order])
        rank = target[order][begin]
        total = np.cumsum(cost[order])
        end = np.r_[begin[1:], total.size] - 1
        left = total[end][group] - total + cost[order]
        waited = np.maximum.reduceat(arrival[order] + left, begin)
        work = np.add.reduceat(cost[order], begin)
        self.receiver[rank] = np.maximum(self.receiver[rank] + work, waited)
        self.sender[rank] = np.maximum(self.sender[rank], self.receiver[rank])
        self.work[rank] += work


def _groups(keys: Integers) -> tuple[Ints, Ints]:
    """(where each run of equal keys begins, the run of each entry) of sorted keys."""
    first = np.ones(keys.size, bool)
    first[1:] = keys[1:] != keys[:-1]
    return np.flatnonzero(first), np.cumsum(first) - 1


def _serve(free: Seconds, server: Integers, ready: Seconds, service: Seconds) -> Seconds:
    """When each is served [s]: servers take one after the other, the first that is ready first.

    `free` moves on.

    What is ready at one instant is served in its order: rounding does not decide.

    The end of number k is the largest of ready[i] + service[i] + … + service[k] over all i up to k
    of the server.
    """
    if not ready.size:
        return ready
    order = np.lexsort((np.round(ready, INSTANT), server))
    begin, group = _groups(server[order])
    at = server[order][begin]
    total = np.cumsum(service[order])
    before = total - service[order]
    slack = np.maximum(ready[order], free[at][group]) - before
    ended = total + _running_max(slack, group)
    served = np.empty(ready.size)
    served[order] = ended
    free[at] = ended[np.r_[begin[1:], ready.size] - 1]
    return served


def _running_max(values: Seconds, group: Ints) -> Seconds:
    """The largest value so far in each group; by ranks of values, so that it is exact."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(values.size, np.int64)
    rank[order] = np.arange(values.size)
    highest = np.maximum.accumulate(group * values.size + rank) - group * values.size
    return values[order][highest]
