"""Bounds on time where ranks may forward.

Whatever is combined, over whichever ranks, in however many stages.

They hold in `flow`, `wormhole` and `circuit`, for every policy and any routes. Every number of the
machine counts with the least it is at any size, as what travels together may have any; a set-up
comes before the first message. Let D = send overhead + latency + b / slowest rate + receive
overhead be what a message of the least size b takes over one link, and g = max(send overhead, b /
rate of the port out) what one rank's messages are apart. Where messages may be cut, b = 0; where
ranks share a node, messages between them have no latency and use no port.

Message: no message is faster for being forwarded.
    Statement: time ≥ send overhead + latency + shortest hops · hop + b / slowest rate + receive
    overhead for every message. Proof: on its last way at least its bytes flow, and hops of several
    ways add up to its own or more.

Fan-out: what one rank sends must reach all who want it.
    Statement: time ≥ the least T with Σ over h of C(⌊(T - h·D) / g⌋ + h, h) ≥ targets of a rank, h
    at most the stages; likewise for the sources of a rank, with the receive overhead and the port
    in. Proof: the i-th that a rank delivers after it has the bytes takes D + (i - 1)·g at least, as
    its processor and its port do one after the other; so who is reached over h ways, the i_1-th, …,
    the i_h-th of each rank, is reached at h·D + g·Σ(i - 1), and so many choices end by T. For
    receivers time runs backwards. The broadcast tree of LogP (Karp and others 1993), counted.

Ports: bytes leave and enter nodes, however they travel.
    Statement: time ≥ lead-in + Σ bytes / rate + lead-out, over the messages from ranks of a node to
    other nodes, and to its ranks from others. Proof: each byte passes this port once at least; none
    flows before some send overhead and latency, and with `receive=after` a receive overhead
    follows.

Trade-off: in little time few are near, and who is far costs bytes at every way.
    Statement: T is too little while lead-in + Σ bytes · ways / (rate · nodes) + lead-out > T, where
    of each rank's messages the largest C(⌊(T - D) / g⌋ + 1, 1) take one way, the next two, … as
    under fan-out. Proof: fan-out says how many can be h ways away; all ports together carry a
    message once for each. Ranks on nodes of their own only. The larger of the sums by senders and
    by receivers counts; bisected in T.

Links and cuts: bytes from one side of a network to the other pass the links between, over whichever
ranks.
    Statement: time ≥ lead-in + bytes / rate of all links from one side to the other + lead-out, for
    halves along each dimension and for single nodes; and ≥ Σ bytes · shortest hops / Σ rate over
    all links.

Time O(messages · (log messages + cuts)), memory O(messages).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import comb, floor, inf

import numpy as np

from conset.base import Bools, Floats, Ints, Ints32, count_of, format_rate, format_size, format_time
from conset.bounds.problem import BoundValue
from conset.machine import Costs, Machine, Routing, link_work, route_hops
from conset.pattern import Pattern

WINDOWS = 64
"""Most halves of a network that are tried along a dimension."""
STEPS = 64
"""Of a bisection."""
MANY = 2**62


@dataclass(frozen=True, eq=False)
class RelayProblem:
    """A pattern on a machine whose ranks may forward.

    Attributes:
        pattern: the messages as the application has them.
        machine: network.
        costs: of the method that is asked about.
        placement: shape=(ranks), int32, or None: rank r on node r.
        stages: the most that a message may be forwarded in; None: any number.
        split: whether a message may be cut.
    """

    pattern: Pattern
    machine: Machine
    costs: Costs
    placement: Ints32 | None
    stages: int | None
    split: bool

    def nodes_of(self, ranks: Ints32) -> Ints32:
        """The node of each of `ranks`."""
        return ranks if self.placement is None else self.placement[ranks]

    @cached_property
    def ends(self) -> tuple[Ints32, Ints32]:
        """(source, target), shape=(messages) each: nodes."""
        return self.nodes_of(self.pattern.source), self.nodes_of(self.pattern.target)

    @cached_property
    def used(self) -> int:
        """Nodes that hold ranks."""
        return self.pattern.ranks if self.placement is None else int(np.unique(self.placement).size)

    @property
    def shared(self) -> bool:
        """Whether several ranks live on one node."""
        return self.used < self.pattern.ranks

    @cached_property
    def send_s(self) -> float:
        """Least send overhead [s]."""
        return min(self.costs.send_overhead.seconds)

    @cached_property
    def receive_s(self) -> float:
        """Least receive overhead [s]."""
        return min(self.costs.receive_overhead.seconds)

    @cached_property
    def latency_s(self) -> float:
        """Least latency between two nodes, links apart [s]."""
        return min((self.costs.inject + self.costs.eject).seconds) + self.costs.per_transfer_s

    @cached_property
    def hop_s(self) -> float:
        """Least latency of a link [s]; 0 where there are none."""
        return min(self.costs.hop.seconds) if self.machine.topology.link_slots else 0.0

    @cached_property
    def least_B(self) -> int:  # noqa: N802
        """The least that any message of a program carries [B]."""
        return 0 if self.split else int(self.pattern.size.min(initial=MANY)) % MANY

    @cached_property
    def link_s(self) -> Floats:
        """Cost of a byte on each link over its whole width [s/B].

        shape=(link_slots), or (1) where all cost the same, or (0) where none costs anything.
        """
        return link_work(self.machine.topology, self.costs, self.machine.topology.widths())

    @cached_property
    def node_weight(self) -> float:
        """What a byte counts at `node`, at least."""
        return min(1.0, self.costs.exchange_weight) if self.costs.exchange_syncs else 1.0

    @cached_property
    def port_s(self) -> tuple[float, float]:
        """(out of a node, into it), each with what the two share [s/B]."""
        shared = self.node_weight / self.costs.node_Bps
        return max(1 / self.costs.port_out_Bps, shared), max(1 / self.costs.port_in_Bps, shared)

    @cached_property
    def all_ports_s(self) -> float:
        """What a byte between two nodes takes of a node's port out, port in, or of both [s/B]."""
        costs = self.costs
        return max(
            1 / costs.port_out_Bps, 1 / costs.port_in_Bps, 2 * self.node_weight / costs.node_Bps
        )

    @cached_property
    def slowest_s(self) -> float:
        """The slowest that bytes between two nodes pass, at least [s/B]."""
        return max(*self.port_s, float(self.link_s.min(initial=inf)) if self.link_s.size else 0.0)

    @property
    def loose(self) -> bool:
        """Whether a system buffer may take bytes before the receiver has worked."""
        return self.costs.receive == "before" and self.costs.eager_B is not None

    @cached_property
    def leads_s(self) -> float:
        """Least lead-in and lead-out of bytes [s]."""
        return (
            self.costs.setup_s
            + self.send_s
            + self.latency_s
            + self.hop_s
            + (0 if self.loose else self.receive_s)
        )

    @cached_property
    def way_s(self) -> float:
        """D: what a message takes from one rank to another, at least, set-up apart [s]."""
        received = 0.0 if self.loose else self.receive_s
        apart = self.send_s + self.latency_s + self.hop_s + self.least_B * self.slowest_s + received
        inside = self.send_s + received + self.least_B / self.costs.copy_Bps
        return min(apart, inside) if self.shared else apart

    @cached_property
    def spacing_s(self) -> tuple[float, float]:
        """(g of a sender, g of a receiver) [s]."""
        if self.shared:
            return self.send_s, self.receive_s
        out, into = self.port_s
        return max(self.send_s, self.least_B * out), max(self.receive_s, self.least_B * into)

    @cached_property
    def fans(self) -> tuple[Fan, Fan]:
        """(of what each rank sends, of what each receives)."""
        pattern, (out, into) = self.pattern, self.spacing_s
        return (
            Fan.of(
                pattern.source, pattern.target, pattern, self.way_s, out, self.stages, "sends to"
            ),
            Fan.of(
                pattern.target,
                pattern.source,
                pattern,
                self.way_s,
                into,
                self.stages,
                "receives from",
            ),
        )


@dataclass(frozen=True, eq=False)
class Fan:
    """The partners of each rank in one direction and how fast they can be reached.

    The one with most bytes is first.

    Attributes:
        ranked_B: shape=(most partners of a rank), int64: the bytes of the i-th partner, added up
            over ranks.
        rank: the one with most partners.
        way_s: D [s].
        spacing_s: g [s].
        stages: most ways of a message; None: any.
        verb: `sends to` or `receives from`.
    """

    ranked_B: Ints  # noqa: N815
    rank: int
    way_s: float
    spacing_s: float
    stages: int | None
    verb: str

    @staticmethod
    def of(
        own: Ints32,
        other: Ints32,
        pattern: Pattern,
        way_s: float,
        spacing_s: float,
        stages: int | None,
        verb: str,
    ) -> Fan:
        """The partners `other` of the ranks `own`."""
        ranked, rank = rank_partners(own, other, pattern.size, pattern.ranks)
        return Fan(ranked, rank, way_s, spacing_s, stages, verb)

    @property
    def partners(self) -> int:
        """Most partners of a rank."""
        return int(self.ranked_B.size)

    def reached(self, time_s: float) -> list[int]:
        """How many can be 1, 2, … ways away within a time.

        Until all partners are reached or none is.
        """
        found: list[int] = []
        total, ways = 0, 1
        while total < self.partners and (self.stages is None or ways <= self.stages):
            left = time_s * (1 + 1e-12) - ways * self.way_s
            if left < 0:
                break
            idle = self.spacing_s <= left / MANY
            found.append(MANY if idle else comb(floor(left / self.spacing_s + 1e-9) + ways, ways))
            total += found[-1]
            ways += 1
        return found

    def carried(self, time_s: float) -> int | None:
        """Bytes · ways of all messages, at least, if they are to be reached within a time [B].

        None: not all can be.
        """
        begin, total = 0, 0
        for ways, count in enumerate(self.reached(time_s), 1):
            end = min(begin + count, self.partners)
            total += ways * int(self.ranked_B[begin:end].sum())
            begin = end
        return total if begin == self.partners else None

    def least_s(self) -> float:
        """The least time in which the partners of every rank can be reached [s]."""
        low, high = 0.0, self.way_s + (self.partners - 1) * self.spacing_s
        for _ in range(STEPS):
            middle = (low + high) / 2
            if self.carried(middle) is None:
                low = middle
            else:
                high = middle
        return low


def rank_partners(own: Ints32, other: Ints32, size: Ints, ranks: int) -> tuple[Ints, int]:
    """(bytes of ranks' i-th largest partners, added up; the rank with most partners)."""
    pairs, at = np.unique(own.astype(np.int64) * ranks + other, return_inverse=True)
    total = np.zeros(pairs.size, np.int64)
    np.add.at(total, at, size)
    rank = pairs // ranks
    order = np.lexsort((-total, rank))
    count = np.bincount(rank, minlength=ranks)
    place = np.arange(pairs.size) - np.repeat(np.cumsum(count) - count, count)
    ranked = np.zeros(int(count.max(initial=0)), np.int64)
    np.add.at(ranked, place, total[order])
    return ranked, int(count.argmax())


def bound_forwarded_message(problem: RelayProblem) -> BoundValue:
    """The message that takes longest alone [s]."""
    source, target = problem.ends
    size = np.zeros(1, np.int64) if problem.split else problem.pattern.size
    outside = problem.latency_s + least_hops(problem) * problem.hop_s + size * problem.slowest_s
    inside = np.minimum(
        size / problem.costs.copy_Bps, outside
    )  # it may take the way over another node
    ways = np.where(source != target, outside, inside)
    m = int(ways.argmax())
    time_s = problem.costs.setup_s + problem.send_s + float(ways[m]) + problem.receive_s
    name = problem.machine.topology.node_name
    return BoundValue(
        time_s,
        f"message {m}, {problem.pattern.size[m]:,} B from {name(int(source[m]))} to "
        f"{name(int(target[m]))}, over whichever ranks",
    )


def least_hops(problem: RelayProblem) -> Ints32:
    """shape=(messages), int32: links on a shortest path."""
    topology = problem.machine.topology
    source, target = (np.ascontiguousarray(nodes) for nodes in problem.ends)
    if not topology.link_slots:
        return np.zeros(source.size, np.int32)
    return route_hops(topology, Routing.default(topology), source, target)


def bound_fan_out(problem: RelayProblem) -> BoundValue:
    """The rank that has most to reach, or to be reached by [s]."""
    found = []
    for fan in problem.fans:
        time_s = fan.least_s()
        counts = fan.reached(time_s * (1 + 1e-9) + 1e-15)
        near = ", ".join(
            f"{min(c, fan.partners):,} over {count_of(h, 'way')}"
            for h, c in enumerate(counts[:4], 1)
        )
        found.append(
            BoundValue(
                problem.costs.setup_s + time_s,
                f"rank {fan.rank} {fan.verb} {count_of(fan.partners, 'rank')}: by then at most "
                f"{near}{', …' if len(counts) > 4 else ''}",
            )
        )
    return max(found, key=lambda f: f.value)


def bound_forwarded_ports(problem: RelayProblem) -> BoundValue | None:
    """The node with most bytes out, in, or both [s]; None where no message leaves its node."""
    source, target = problem.ends
    leaves = source != target
    if not leaves.any():
        return None
    nodes, size = problem.machine.topology.nodes, problem.pattern.size[leaves].astype(np.float64)
    out, into = (np.bincount(ends[leaves], size, nodes) for ends in (source, target))
    costs = problem.costs
    kinds = {
        "sends": (out, 1 / costs.port_out_Bps),
        "receives": (into, 1 / costs.port_in_Bps),
        "sends and receives": (out + into, problem.node_weight / costs.node_Bps),
    }
    verb = max(kinds, key=lambda each: float(kinds[each][0].max()) * kinds[each][1])
    carried, per_byte = kinds[verb]
    node = int(carried.argmax())
    return BoundValue(
        problem.leads_s + float(carried[node]) * per_byte,
        f"{problem.machine.topology.node_name(node)} {verb} {carried[node]:,.0f} B of its own",
    )


def bound_trade_off(problem: RelayProblem, least_s: float) -> BoundValue | None:
    """The time in which all ports carry what must be forwarded in it [s].

    None where ranks share nodes.

    Args:
        problem: what is asked.
        least_s: a bound that holds, from which the search begins [s].
    """
    ports, setup = problem.all_ports_s, problem.costs.setup_s
    if problem.shared or not ports:
        return None

    def needed(time_s: float) -> tuple[float, int] | None:
        carried = [fan.carried(time_s - setup) for fan in problem.fans]
        if None in carried:
            return None
        most = max(c for c in carried if c is not None)
        return problem.leads_s + most * ports / problem.used, most

    low, high = 0.0, max(least_s, problem.leads_s + problem.pattern.bytes * ports / problem.used)
    high = max(high, *(setup + fan.way_s + fan.partners * fan.spacing_s for fan in problem.fans))
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = needed(middle)
        low, high = (middle, high) if found is None or found[0] > middle else (low, middle)
    most = (needed(high) or (0.0, 0))[1]
    return BoundValue(
        low,
        f"{most / problem.pattern.bytes:.3f} times the bytes pass {problem.used} ports of "
        f"{format_rate(1 / ports)}, in less time even more, or a rank is not reached",
    )


def bound_volume_time(problem: RelayProblem, volume_B: int) -> BoundValue | None:  # noqa: N803
    """The time in which all ports carry bytes · ways [s]; None where ranks share nodes."""
    if problem.shared or not problem.all_ports_s:
        return None
    return BoundValue(
        problem.leads_s + volume_B * problem.all_ports_s / problem.used,
        f"{format_size(volume_B)} pass {problem.used} ports of "
        f"{format_rate(1 / problem.all_ports_s)}",
    )


def bound_cuts(problem: RelayProblem) -> BoundValue | None:
    """The cut with most bytes over what its links carry [s]; None where links cost nothing."""
    topology = problem.machine.topology
    source, target = problem.ends
    if not problem.link_s.size or not topology.links:
        return None
    rates = np.where(
        topology.link_exists, 1 / np.broadcast_to(problem.link_s, topology.link_slots), 0.0
    )
    begin, end = topology.ends
    best = BoundValue(0.0, "")
    for inside, name in halves(problem):
        crossing = problem.pattern.size[inside[source] & ~inside[target]].sum(dtype=np.float64)
        rate = float(rates[inside[begin] & ~inside[end]].sum())
        if crossing and rate and crossing / rate > best.value:
            text = f"{format_size(crossing)} leave {name}, whose links carry {format_rate(rate)}"
            best = BoundValue(float(crossing) / rate, text)
    leaves = source != target
    size = problem.pattern.size[leaves].astype(np.float64)
    for ends, links, verb in ((source, begin, "leave"), (target, end, "enter")):
        own = np.bincount(ends[leaves], size, topology.nodes)
        rate_of = np.bincount(links, np.where(begin != end, rates, 0.0), topology.nodes)
        times = np.where(own > 0, own / np.where(rate_of > 0, rate_of, inf), 0.0)
        node = int(times.argmax())
        if times[node] > best.value:
            text = (
                f"{format_size(own[node])} {verb} {topology.node_name(node)}, at "
                f"{format_rate(rate_of[node])}"
            )
            best = BoundValue(float(times[node]), text)
    return BoundValue(best.value + problem.leads_s, best.witness) if best.value else None


def halves(problem: RelayProblem) -> Iterator[tuple[Bools, str]]:
    """(shape=(nodes): which nodes are on one side, its name).

    Both sides of each half along each dimension.
    """
    topology = problem.machine.topology
    if topology.kind == "graph":
        return
    for k, side in enumerate(topology.sides):
        at = topology.coordinates[:, k]
        if topology.wraps and side > 2:
            begins = np.unique(np.linspace(0, side - 1, min(side, WINDOWS)).astype(np.int64))
            for begin in begins.tolist():
                yield (
                    (at - begin) % side < side // 2,
                    f"{side // 2} of {side} from {begin} along dimension {k}",
                )
            continue
        for end in np.unique(
            np.linspace(1, side - 1, min(side - 1, WINDOWS)).astype(np.int64)
        ).tolist():
            yield at < end, f"the first {end} of {side} along dimension {k}"
            yield at >= end, f"the last {side - end} of {side} along dimension {k}"


def bound_links(problem: RelayProblem) -> BoundValue | None:
    """All bytes times shortest hops over all rates [s]; None where links cost nothing."""
    topology = problem.machine.topology
    if not problem.link_s.size or not problem.link_s.all():
        return None
    carried = float((problem.pattern.size * least_hops(problem).astype(np.float64)).sum())
    rate = float(
        np.broadcast_to(1 / problem.link_s, topology.link_slots)[topology.link_exists].sum()
    )
    if not carried:
        return None
    text = f"{carried:,.0f} B · hops at least, all {topology.links} links carry {format_rate(rate)}"
    return BoundValue(problem.leads_s + carried / rate, f"{text}: {format_time(carried / rate)}")
