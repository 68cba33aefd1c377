"""Bounds of programs that forward.

Messages travel in bundles over other ranks, in a number of stages or in any.

A rank sends at most m_j bundles in stage j, and receives at most so many: the *stage maxima*.
Bounds on time stand in `conset.bounds.stages`; here is what holds without a machine.

Reach: what a rank sends is in few places after few bundles.
    Statement: Π (1 + m_j) ≥ 1 + targets of a rank, and ≥ 1 + its sources, so Σ m_j ≥ the least sum
    of k whole numbers with that product, which equal ones attain; about k · ((d + 1)^(1/k) - 1).
    Proof: in stage j each rank that has some of the bytes sends at most m_j bundles, so the ranks
    that have some grow at most (1 + m_j)-fold; backwards in time for sources. Class: k stages, or
    any number: then ⌈log2 (d + 1)⌉, of one bundle each. Witness: the rank.

Volume: with few bundles a stage, many messages need several ways.
    Statement: bytes · ways ≥ the sum over ranks of its messages' bytes, the largest times 1, …
    where at most e_h(m_1, …, m_k) are h ways from their source: elementary symmetric polynomials.
    By targets likewise, the larger counts. Proof: a path uses h of the stages, and in each one of
    m_j bundles. Class: programs of these stage maxima. The complete exchange of equal sizes attains
    it with the box of sides 1 + m_j where Π (1 + m_j) is the number of ranks: 1.677 times the bytes
    for 4 × 8, 2.065 for 2 × 4 × 4, 2.581 for 2^5.

All hold whether messages are cut or not: a part has at least the ways of the part that has fewest.
Reference: Bruck and others 1997, "Efficient algorithms for all-to-all communications in multiport
message-passing systems", for complete exchanges; here for any pattern.

Bounds on time where ranks may forward.

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

Time O(messages · (log messages + cuts)), memory O(messages); of a complete exchange of equal sizes
cuts, ports and partners follow from the numbers of ranks on nodes, and where it fills a torus the
messages of rank 0 stand for those of every rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import comb, floor, inf, prod
from typing import Any, NamedTuple

import numpy as np

from conset.base import (
    Bools,
    Floats,
    Ints,
    Ints32,
    NoScheduleError,
    UsageError,
    ValueObject,
    count_of,
    format_rate,
    format_size,
    format_time,
)
from conset.bounds.bounds import Candidate
from conset.bounds.problem import BoundValue, require_nodes
from conset.machine import Costs, Machine, Routing, link_work, route_hops
from conset.pattern import Pattern

WINDOWS = 64
"""Most halves of a network that are tried along a dimension."""
STEPS = 64
"""Of a bisection."""
MANY = 2**62
SENDS, RECEIVES = "sends to", "receives from"


class Ways(NamedTuple):
    """Messages, each with its shortest way.

    Attributes:
        source, target: shape=(messages), int32: nodes.
        size: shape=(messages) [B].
        hops: shape=(messages), int32: links on a shortest path.
        times: how many messages of the pattern are like each.
    """

    source: Ints32
    target: Ints32
    size: Ints
    hops: Ints32
    times: int


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
    def ranks_on(self) -> Ints | None:
        """shape=(nodes): ranks on each node, of a complete exchange of equal sizes; None: others.

        What leaves a set of nodes is then known without a look at every message.
        """
        if not self.pattern.is_complete:
            return None
        everybody = np.arange(self.pattern.ranks, dtype=np.int32)
        return np.bincount(self.nodes_of(everybody), minlength=self.machine.topology.nodes)

    def bytes_from(self, inside: Bools) -> float:
        """Bytes from nodes of a set to the others [B]."""
        if self.ranks_on is not None:
            own = int(self.ranks_on[inside].sum())
            return float(own * (self.pattern.ranks - own) * int(self.pattern.size[0]))
        source, target = self.ends
        crossing = self.pattern.size[inside[source] & ~inside[target]]
        return float(crossing.sum(dtype=np.float64))

    @cached_property
    def bytes_of_nodes(self) -> tuple[Floats, Floats]:
        """(out, in), shape=(nodes) each: bytes from each node to others, and from others [B]."""
        nodes = self.machine.topology.nodes
        if self.ranks_on is not None:
            pairs = self.ranks_on * (self.pattern.ranks - self.ranks_on)
            both = (pairs * int(self.pattern.size[0])).astype(np.float64)
            return both, both
        source, target = self.ends
        leaves = source != target
        size = self.pattern.size[leaves].astype(np.float64)
        out, into = (
            np.asarray(np.bincount(ends[leaves], size, nodes), np.float64)
            for ends in (source, target)
        )
        return out, into

    @cached_property
    def farthest(self) -> Ways:
        """The messages whose way is looked at, and how many there are like each of them.

        Of a complete exchange between all nodes of a torus those of rank 0 stand for all.
        """
        topology, pattern = self.machine.topology, self.pattern
        alike = self.ranks_on is not None and self.placement is None and topology.wraps
        alike = alike and topology.is_box and pattern.ranks == topology.nodes
        seen = slice(0, pattern.ranks - 1) if alike else slice(None)
        source = np.zeros(seen.stop, np.int32) if alike else pattern.source
        source, target = self.nodes_of(source), self.nodes_of(pattern.target[seen])
        hops = np.zeros(source.size, np.int32)
        if topology.link_slots:
            ends = np.ascontiguousarray(source), np.ascontiguousarray(target)
            hops = route_hops(topology, Routing.default(topology), *ends)
        return Ways(source, target, pattern.size[seen], hops, pattern.ranks if alike else 1)

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
        ends = min((self.costs.inject + self.costs.eject).seconds)
        return ends + self.costs.per_transfer_s + self.costs.startup_s

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
        port_s = self.costs.startup_s + self.least_B * out
        return max(self.send_s, port_s), max(self.receive_s, self.least_B * into)

    @cached_property
    def fans(self) -> tuple[Fan, Fan]:
        """(of what each rank sends, of what each receives)."""
        pattern, way_s, stages = self.pattern, self.way_s, self.stages
        return (
            Fan(*rank_partners(pattern, SENDS), way_s, self.spacing_s[0], stages, SENDS),
            Fan(*rank_partners(pattern, RECEIVES), way_s, self.spacing_s[1], stages, RECEIVES),
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


def rank_partners(pattern: Pattern, verb: str) -> tuple[Ints, int]:
    """(bytes of ranks' i-th largest partners, added up; the rank with most partners).

    Partners are those that a rank `SENDS` to or `RECEIVES` from.
    """
    ranks, size = pattern.ranks, pattern.size
    if pattern.is_complete:
        return np.full(ranks - 1, ranks * int(size[0])), 0
    ends = (pattern.source, pattern.target)
    own, other = ends if verb == SENDS else ends[::-1]
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
    source, target, own, hops, _ = problem.farthest
    size = np.zeros(1, np.int64) if problem.split else own
    outside = problem.latency_s + hops * problem.hop_s + size * problem.slowest_s
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
    out, into = problem.bytes_of_nodes
    if not out.any():
        return None
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
    if not problem.link_s.size or not topology.links:
        return None
    rates = np.where(
        topology.link_exists, 1 / np.broadcast_to(problem.link_s, topology.link_slots), 0.0
    )
    begin, end = topology.ends
    best = BoundValue(0.0, "")
    for inside, name in halves(problem):
        crossing = problem.bytes_from(inside)
        rate = float(rates[inside[begin] & ~inside[end]].sum())
        if crossing and rate and crossing / rate > best.value:
            text = f"{format_size(crossing)} leave {name}, whose links carry {format_rate(rate)}"
            best = BoundValue(crossing / rate, text)
    sides = zip(problem.bytes_of_nodes, (begin, end), ("leave", "enter"), strict=True)
    for own, links, verb in sides:
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
    ways = problem.farthest
    carried = float((ways.size * ways.hops.astype(np.float64)).sum()) * ways.times
    rate = float(
        np.broadcast_to(1 / problem.link_s, topology.link_slots)[topology.link_exists].sum()
    )
    if not carried:
        return None
    text = f"{carried:,.0f} B · hops at least, all {topology.links} links carry {format_rate(rate)}"
    return BoundValue(problem.leads_s + carried / rate, f"{text}: {format_time(carried / rate)}")


ROUNDING = 1e-12
"""Relative: bounds and models add the same terms in different orders."""
MAX_STAGES = 64
RELAY_BOUNDS = {
    "message": bound_forwarded_message,
    "fan-out": bound_fan_out,
    "ports": bound_forwarded_ports,
    "cuts": bound_cuts,
    "links": bound_links,
}


@dataclass(frozen=True, eq=False)
class StageBounds(ValueObject):
    """What no program of a class beats.

    Attributes:
        stages: the most stages of the class; None: any number.
        sends: least sum over stages of the most bundles that a rank sends, or receives, in each.
        sends_witness: what proves it, as text.
        time_s: least time [s] by any model but `flit`; rounded down by 10⁻¹².
        time_witness: what proves it.
        stages_class: which programs these speak of.
        volume_B: least sum over messages of bytes times ways [B]; the pattern's bytes where no
            maxima are given.
        volume: the same over the pattern's bytes, at least 1.
        volume_witness: what proves it.
        volume_class: which programs it speaks of.
        candidates: every bound that was tried.
    """

    stages: int | None
    sends: int
    sends_witness: str
    time_s: float
    time_witness: str
    stages_class: str
    volume_B: int  # noqa: N815
    volume: float
    volume_witness: str
    volume_class: str
    candidates: tuple[Candidate, ...] = ()

    def to_object(self) -> dict[str, Any]:
        """The bounds with witness and class, as in `bound --stages --json`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "candidates"}


def bound_stages(
    pattern: Pattern,
    machine: Machine,
    *,
    stages: int | None = None,
    maxima: Sequence[int] | None = None,
    placement: Ints32 | None = None,
    split: bool = False,
    method: str = "",
) -> StageBounds:
    """The bound on programs that deliver `pattern` in stages.

    Over whichever ranks, routes and policy.

    Args:
        pattern: the messages as the application has them.
        machine: network and costs.
        stages: the most stages; None: any number, or that of `maxima`.
        maxima: the most bundles that a rank sends in each stage, and receives; None: any numbers.
        placement: shape=(ranks), int32: node of each rank; None: rank r on node r.
        split: whether messages may be cut.
        method: whose costs, where a machine runs methods in several ways.

    Raises:
        UsageError: fewer than 1 stage or more than 64, or another number of maxima.
        InputError: a rank has no node on the machine.
        NoScheduleError: with these maxima a rank does not reach all its targets.
    """
    stages = _check_stages(stages, maxima)
    require_nodes(pattern, machine, placement)
    most = "" if maxima is None else f" and {' + '.join(map(str, maxima))} bundles a rank"
    what = "any number of stages" if stages is None else f"at most {count_of(stages, 'stage')}"
    whole = "cut or whole" if split else "whole"
    stages_class = (
        f"programs of {what}{most}, messages {whole}, over any ranks, any routes, any policy"
    )
    if maxima is not None:
        volume = bound_volume(pattern, maxima)
    else:
        text = "every message goes at least one way" if pattern.messages else "no messages"
        volume = pattern.bytes, 1.0 if pattern.messages else 0.0, text, "all programs"
    if pattern.messages == 0:
        return StageBounds(stages, 0, "no messages", 0.0, "no messages", stages_class, *volume)
    reach = bound_reach(pattern, stages)
    problem = RelayProblem(pattern, machine, machine.costs_for(method), placement, stages, split)
    found = {
        name: value
        for name, function in RELAY_BOUNDS.items()
        if (value := function(problem)) is not None
    }
    least_s = max(value.value for value in found.values())
    if (value := bound_trade_off(problem, least_s)) is not None:
        found["trade-off"] = value
    if maxima is not None and (value := bound_volume_time(problem, volume[0])) is not None:
        found["volume"] = value
    times = tuple(
        Candidate(
            name,
            "time",
            value.value * (1 - ROUNDING),
            f"{value.witness}: {format_time(value.value)}",
        )
        for name, value in found.items()
    )
    longest = max(times, key=lambda c: c.value)
    counted = (reach, Candidate("volume", "volume", volume[1], volume[2]))
    return StageBounds(
        stages,
        int(reach.value),
        reach.witness,
        longest.value,
        longest.witness,
        stages_class,
        *volume,
        (*counted, *times),
    )


def _check_stages(stages: int | None, maxima: Sequence[int] | None) -> int | None:
    if maxima is not None:
        if stages is not None and stages != len(maxima):
            raise UsageError(
                f"stages = {stages}: {len(maxima)} maxima are given", options=["stages", "maxima"]
            )
        if not all(m >= 0 for m in maxima):
            raise UsageError(
                f"maxima = {list(maxima)}: each must be at least 0", options=["maxima"]
            )
        stages = len(maxima)
    if stages is not None and not 1 <= stages <= MAX_STAGES:
        raise UsageError(f"stages = {stages}: must be from 1 to {MAX_STAGES}", options=["stages"])
    return stages


def least_maxima(reached: int, stages: int | None) -> tuple[int, ...]:
    """Whole numbers m_1 ≥ m_2 ≥ … of the least sum with Π (1 + m_j) ≥ `reached`.

    At most `stages` of them.

    >>> least_maxima(32, 2), least_maxima(32, None)
    ((5, 5), (1, 1, 1, 1, 1))
    """
    if reached <= 1:
        return ()
    if stages is None:
        return (1,) * (reached - 1).bit_length()
    high = reached - 1
    low = 0
    while low + 1 < high:  # the product of equal shares rises with their sum
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if prod(1 + m for m in _shares(middle, stages)) >= reached
            else (middle, high)
        )
    return tuple(m for m in _shares(high, stages) if m)


def _shares(total: int, parts: int) -> list[int]:
    share, rest = divmod(total, parts)
    return [share + 1] * rest + [share] * (parts - rest)


def bound_reach(pattern: Pattern, stages: int | None) -> Candidate:
    """The least sum of stage maxima."""
    found = []
    for verb in (SENDS, RECEIVES):
        ranked, rank = rank_partners(pattern, verb)
        found.append((int(ranked.size), f"rank {rank} {verb} {count_of(int(ranked.size), 'rank')}"))
    partners, text = max(found, key=lambda each: each[0])
    least = least_maxima(partners + 1, stages)
    growth = " · ".join(str(1 + m) for m in least) if len(least) <= 8 else f"2^{len(least)}"
    return Candidate("reach", "sends", sum(least), f"{text}: {growth} ≥ {partners + 1}")


def bound_volume(
    pattern: Pattern, maxima: Sequence[int], receives: Sequence[int] | None = None
) -> tuple[int, float, str, str]:
    """(bytes · ways [B], the same over the bytes, witness, class) for these stage maxima.

    Of programs with them.

    Args:
        pattern: the messages as the application has them.
        maxima: the most bundles that a rank sends in each stage.
        receives: the most that it receives; None: as many.

    Raises:
        NoScheduleError: with these maxima a rank does not reach all its targets, or is not reached
            by its sources.
    """
    sides = ((SENDS, maxima), (RECEIVES, maxima if receives is None else receives))
    found = []
    for verb, most in sides:
        ranked, rank = rank_partners(pattern, verb)
        counts = symmetric_sums(most)
        if sum(counts) < ranked.size:
            text = f"rank {rank} {verb} {count_of(int(ranked.size), 'rank')}"
            raise NoScheduleError(
                f"stages of at most {list(most)} bundles a rank reach {sum(counts)} ranks: {text}"
            )
        ways = (
            np.searchsorted(
                np.cumsum(np.minimum(counts, ranked.size)), np.arange(ranked.size), side="right"
            )
            + 1
        )
        total = int((ranked * ways).sum())
        shares = ", ".join(
            f"{count:,} over {count_of(h, 'way')}" for h, count in enumerate(counts[:4], 1)
        )
        more = ", …" if counts[4:] else ""
        text = (
            f"of {count_of(int(ranked.size), 'rank')} that rank {rank} {verb} at most "
            f"{shares}{more}"
        )
        found.append((total, total / max(pattern.bytes, 1), text))
    name = " + ".join(str(m) for m in maxima)
    back = (
        ""
        if receives is None or list(receives) == list(maxima)
        else f", receives {' + '.join(map(str, receives))}"
    )
    total, ratio, text = max(found, key=lambda each: each[0])
    return total, ratio, text, f"programs in which a rank sends at most {name} bundles{back}"


def symmetric_sums(maxima: Sequence[int]) -> list[int]:
    """Elementary symmetric polynomials e_1, …, e_k of the maxima.

    >>> symmetric_sums([3, 7])
    [10, 21]
    """
    sums = [1]
    for m in maxima:
        sums = [a + m * b for a, b in zip([*sums, 0], [0, *sums], strict=True)]
    return sums[1:]
