"""Sums that bounds on time share.

What messages ask of processors, slots, ports, nodes and links, in one pass.

Lead-ins and lead-outs are the least over the messages of a resource. Where messages may be split, a
part is only known to pay the least overhead of any size up to the whole, and its bytes may be few:
they lead nothing in or out. Its parts are packed as it is: together they are copied as long as the
whole. The core counts parts of the messages, several at once; time and memory as in
`cpp/include/conset/bounds/sums.hpp`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.stopping import workers
from conset.bounds.problem import BoundProblem
from conset.machine.costs import Costs, Steps
from conset.machine.times import NO_LINKS, plain_sizes

CHUNK = 1 << 20
"""Messages of a part: sums are added up part by part, whatever the number of threads."""

NOT_PACKED = np.zeros(0, np.uint8)
"""As the core takes it where no message is packed."""

Seconds = NDArray[np.float64]


class Lead:
    """Least lead-in and lead-out of every resource of a kind; infinite where it has no message."""

    def __init__(self, count: int) -> None:
        self.into, self.out = np.full(count, inf), np.full(count, inf)

    def least(self, leads: _core.Leads) -> None:
        """Takes in the leads of more messages, for every resource."""
        np.minimum(self.into, leads.into, out=self.into)
        np.minimum(self.out, leads.out, out=self.out)

    @property
    def both(self) -> Seconds:
        """Lead-in and lead-out added."""
        both: Seconds = self.into + self.out
        return both


@dataclass
class WorkSums:
    """What a pattern asks of a machine.

    Attributes:
        send, receive, held: shape=(ranks), float64 [s]: work of the processors; time in slots.
        sending, receiving, holding: lead-ins and lead-outs of these.
        sends, receives: shape=(ranks), int64: messages that leave their node.
        out, into: shape=(nodes), float64 [s]: bytes over the rate of the port; `both` weighed, at
            the rate of the node.
        leaving, entering, passing: lead-ins and lead-outs of these.
        links: lead-ins and lead-outs of links, where they cost anything and routes are the
            machine's; else None.
        first, last: least lead-in and lead-out of bytes of any message that leaves its node [s].
        longest: (time alone with its wait, message) of the longest message.
        least: the shortest message alone with its wait [s].
    """

    send: Seconds
    receive: Seconds
    held: Seconds
    sending: Lead
    receiving: Lead
    holding: Lead
    sends: NDArray[np.int64]
    receives: NDArray[np.int64]
    out: Seconds
    into: Seconds
    both: Seconds
    leaving: Lead
    entering: Lead
    passing: Lead
    links: Lead | None
    first: float = inf
    last: float = inf
    longest: tuple[float, int] = (0.0, -1)
    least: float = inf


def costs_of_parts(costs: Costs) -> Costs:
    """The least a part of a message may pay.

    Each overhead and latency of the cheapest size up to the whole.
    """

    def least(steps: Steps) -> Steps:
        return Steps(tuple(np.minimum.accumulate(steps.seconds).tolist()), steps.up_to_B)

    return replace(
        costs,
        send_overhead=least(costs.send_overhead),
        receive_overhead=least(costs.receive_overhead),
        inject=least(costs.inject),
        eject=least(costs.eject),
        hop_by_size=least(costs.hop),
        eager_B=None if costs.eager_B is None else inf,
        copy_Bps=inf,
    )


def sum_up(problem: BoundProblem) -> WorkSums:
    """The sums of a question."""
    ranks, nodes, costs = problem.pattern.ranks, problem.topology.nodes, problem.costs
    with_links = not problem.free and problem.link_work.size > 0
    sums = WorkSums(
        np.zeros(ranks),
        np.zeros(ranks),
        np.zeros(ranks),
        Lead(ranks),
        Lead(ranks),
        Lead(ranks),
        np.zeros(ranks, np.int64),
        np.zeros(ranks, np.int64),
        np.zeros(nodes),
        np.zeros(nodes),
        np.zeros(nodes),
        Lead(nodes),
        Lead(nodes),
        Lead(nodes),
        Lead(problem.topology.link_slots) if with_links else None,
    )
    paid = costs_of_parts(costs) if problem.split else costs
    prices = _prices(problem, paid, with_links)
    problem.walked, problem.exchanges  # noqa: B018  found once, before threads ask for them

    def count(begin: int) -> _core.MessageSums:
        return _count(problem, prices, slice(begin, begin + CHUNK))

    begins = range(0, problem.pattern.messages, CHUNK)
    if len(begins) <= 1:
        _merge_all(sums, problem, paid, map(count, begins))
        return sums
    with workers(min(len(begins), os.cpu_count() or 1)) as pool:
        _merge_all(sums, problem, paid, pool.map(count, begins))
    return sums


def _prices(problem: BoundProblem, costs: Costs, with_links: bool) -> _core.BoundPrices:
    """What messages cost, as the core takes it.

    `costs`: what they pay, which parts may pay less of.
    """
    ready = problem.sync.kind == "ready"
    once = costs.inject + costs.eject + Steps((costs.per_transfer_s,))
    once = once if ready or problem.split else once + costs.requests
    steps = (costs.send_overhead, costs.receive_overhead, once, costs.hop)
    limits = sorted({limit for each in steps for limit in each.up_to_B})
    per_byte = problem.link_work
    if problem.free and per_byte.size:
        per_byte = np.array([problem.least_link_work])
    send, receive, latency, hop = (np.array([each.at(limit) for limit in limits]) for each in steps)
    return _core.BoundPrices(
        up_to=np.array(limits),
        send=send,
        receive=receive,
        once=latency,
        link=hop,
        per_byte=per_byte,
        port=max(1 / costs.port_out_Bps, 1 / costs.port_in_Bps),
        node_Bps=costs.node_Bps,
        copy_Bps=problem.costs.copy_Bps,
        setup=costs.setup_s,
        signal=costs.signal_s if ready else 0.0,
        signal_link=costs.hop.at(0) if ready else 0.0,
        eager=-1.0 if costs.eager_B is None else costs.eager_B,
        before=costs.receive == "before",
        ready=ready,
        split=problem.split,
        leads_of_links=with_links,
    )


def _count(problem: BoundProblem, prices: _core.BoundPrices, chunk: slice) -> _core.MessageSums:
    """The sums of a part of the messages."""
    pattern = problem.pattern
    sender, receiver = pattern.source[chunk], pattern.target[chunk]
    source, target = (np.ascontiguousarray(problem.nodes_of(each)) for each in (sender, receiver))
    weight = np.zeros(0) if problem.exchanges is None else problem.exchange_weights(source, target)
    transfers = _core.Transfers(
        problem.walked, source, target, *NO_LINKS, plain_sizes(pattern.size[chunk])
    )
    packed = NOT_PACKED if pattern.packed is None else pattern.packed[chunk].astype(np.uint8)
    return _core.sum_messages(
        transfers, _core.Ranks(sender, receiver, pattern.ranks, packed), weight, prices
    )


def _merge_all(
    sums: WorkSums, problem: BoundProblem, costs: Costs, parts: Iterable[_core.MessageSums]
) -> None:
    """Adds up the parts in their order, so that sums do not depend on threads."""
    for number, part in enumerate(parts):
        _merge_ranks(sums, problem, costs, part)
        _merge_nodes(sums, costs, part)
        if sums.links is not None:
            sums.links.least(part.links)
        if part.longest > sums.longest[0] or sums.longest[1] < 0:
            sums.longest = part.longest, number * CHUNK + part.longest_at
        sums.least = min(sums.least, part.least)
        sums.first, sums.last = min(sums.first, part.first), min(sums.last, part.last)


def _merge_ranks(
    sums: WorkSums, problem: BoundProblem, costs: Costs, part: _core.MessageSums
) -> None:
    sums.sends += part.sends
    sums.receives += part.receives
    sums.send += part.send
    sums.receive += part.receive
    sums.held += part.held
    if problem.sync.kind == "ready":
        sums.send += costs.signal_s / 2 * part.receives
        sums.receive += costs.signal_s / 2 * part.sends
    sums.sending.least(part.sending)
    sums.receiving.least(part.receiving)
    sums.holding.least(part.holding)


def _merge_nodes(sums: WorkSums, costs: Costs, part: _core.MessageSums) -> None:
    sums.out += part.out / costs.port_out_Bps
    sums.into += part.into / costs.port_in_Bps
    sums.leaving.least(part.leaving)
    sums.entering.least(part.entering)
    if costs.node_Bps < inf:
        sums.both += part.weighed_out / costs.node_Bps
        sums.both += part.weighed_in / costs.node_Bps
        sums.passing.least(part.passing)
