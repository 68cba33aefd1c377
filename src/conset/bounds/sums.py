"""Sums that bounds on time share: what messages ask of processors, slots, ports, nodes and links, in one pass.

Lead-ins and lead-outs are the least over the messages of a resource. Where messages may be split, a part is only known
to pay the least overhead of any size up to the whole, and its bytes may be few: they lead nothing in or out.
Time O(messages + sum of hops), memory O(ranks + nodes + links) beside a part of the messages at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.bounds.question import Question
from conset.machine.costs import Costs, Steps
from conset.machine.times import Times, message_times

CHUNK = 1 << 20
"""Messages looked at at once."""

Seconds = NDArray[np.float64]


class Lead:
    """Least lead-in and lead-out of every resource of a kind; infinite where it has no message."""

    def __init__(self, count: int) -> None:
        self.into, self.out = np.full(count, inf), np.full(count, inf)

    def least(self, at: NDArray[np.int32], into: Seconds | float, out: Seconds) -> None:
        """Takes messages `k` in, whose resources are `at[k]`."""
        np.minimum.at(self.into, at, np.broadcast_to(into, at.shape))
        np.minimum.at(self.out, at, out)

    @property
    def both(self) -> Seconds:
        """Lead-in and lead-out added."""
        both: Seconds = self.into + self.out
        return both


@dataclass
class Sums:
    """What a pattern asks of a machine.

    Attributes:
        send, receive, held: shape=(ranks), float64 [s]: work of the processors; time in slots.
        sending, receiving, holding: lead-ins and lead-outs of these.
        sends, receives: shape=(ranks), int64: messages that leave their node.
        out, into: shape=(nodes), float64 [s]: bytes over the rate of the port; `both` weighed, at the rate of the node.
        leaving, entering, passing: lead-ins and lead-outs of these.
        links: lead-ins and lead-outs of links, where they cost anything and routes are the machine's; else None.
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
    """The least a part of a message may pay: each overhead and latency of the cheapest size up to the whole."""

    def least(steps: Steps) -> Steps:
        return Steps(tuple(np.minimum.accumulate(steps.seconds).tolist()), steps.up_to_B)

    return replace(
        costs, send_overhead=least(costs.send_overhead), receive_overhead=least(costs.receive_overhead),
        inject=least(costs.inject), eject=least(costs.eject), hop_by_size=least(costs.hop),
        eager_B=None if costs.eager_B is None else inf, copy_Bps=inf,
    )  # fmt: skip


def sum_up(question: Question) -> Sums:
    """The sums of a question."""
    ranks, nodes, costs = question.pattern.ranks, question.topology.nodes, question.costs
    with_links = not question.free and question.link_work.size > 0
    sums = Sums(
        np.zeros(ranks), np.zeros(ranks), np.zeros(ranks), Lead(ranks), Lead(ranks), Lead(ranks),
        np.zeros(ranks, np.int64), np.zeros(ranks, np.int64), np.zeros(nodes), np.zeros(nodes), np.zeros(nodes),
        Lead(nodes), Lead(nodes), Lead(nodes), Lead(question.topology.link_slots) if with_links else None,
    )  # fmt: skip
    paid = costs_of_parts(costs) if question.split else costs
    for begin in range(0, question.pattern.messages, CHUNK):
        _add(sums, question, paid, slice(begin, begin + CHUNK))
    return sums


def _add(sums: Sums, question: Question, costs: Costs, chunk: slice) -> None:
    pattern, topology = question.pattern, question.topology
    size = pattern.size[chunk]
    ranks = pattern.source[chunk], pattern.target[chunk]
    ends = tuple(question.nodes_of(each) for each in ranks)
    leaves = ends[0] != ends[1]
    hops, per_byte = question.ways(*ends)
    slowest = np.maximum(per_byte, question.port_work(*ends))
    times = message_times(
        costs, size, leaves, hops, np.zeros_like(slowest) if question.split else slowest,
        requests=question.sync.kind != "ready" and not question.split,
    )  # fmt: skip
    ready = question.sync.kind == "ready"
    signal = np.where(leaves, costs.signal_s + hops * costs.hop.at(0), 0.0) if ready else np.zeros(size.shape)
    wait = np.maximum(costs.setup_s, signal)
    flow = np.where(leaves, size * slowest, size / question.costs.copy_Bps) if question.split else None
    _add_ranks(sums, ranks, times, wait, leaves, flow)
    if ready:
        half, (senders, receivers) = costs.signal_s / 2, (each[leaves] for each in ranks)
        for work, lead, at in ((sums.send, sums.sending, receivers), (sums.receive, sums.receiving, senders)):
            work += half * np.bincount(at, minlength=work.size)
            lead.least(at, 0.0, times.alone[leaves])
    alone = wait + times.alone
    k = int(np.argmax(alone))
    if alone[k] > sums.longest[0] or sums.longest[1] < 0:
        sums.longest = float(alone[k]), chunk.start + k
    sums.least = min(sums.least, float(alone.min()))
    if not leaves.any():
        return
    head, tail = (wait + times.to_bytes)[leaves], times.after[leaves]
    sums.first, sums.last = min(sums.first, float(head.min())), min(sums.last, float(tail.min()))
    source, target, carried = ends[0][leaves], ends[1][leaves], size[leaves].astype(np.float64)
    for work, lead, at, rate in (
        (sums.out, sums.leaving, source, costs.port_out_Bps), (sums.into, sums.entering, target, costs.port_in_Bps),
    ):  # fmt: skip
        work += np.bincount(at, carried, topology.nodes) / rate
        lead.least(at, head, tail)
    if costs.node_Bps < inf:
        weight = question.exchange_weights(*ends)
        for at in (source, target):
            sums.both += np.bincount(at, carried * weight[leaves], topology.nodes) / costs.node_Bps
            sums.passing.least(at, head, tail)
    if sums.links is not None:
        arguments = question.network, np.ascontiguousarray(source), np.ascontiguousarray(target)
        np.minimum(sums.links.into, _core.least_on_links(*arguments, head), out=sums.links.into)
        np.minimum(sums.links.out, _core.least_on_links(*arguments, np.ascontiguousarray(tail)), out=sums.links.out)


def _add_ranks(
    sums: Sums,
    ranks: tuple[NDArray[np.int32], NDArray[np.int32]],
    times: Times,
    wait: Seconds,
    leaves: NDArray[np.bool_],
    flow: Seconds | None,
) -> None:
    """Processors and slots; `flow`: seconds of bytes that the times leave out."""
    sender, receiver = ranks
    count = sums.send.size
    sums.sends += np.bincount(sender[leaves], minlength=count)
    sums.receives += np.bincount(receiver[leaves], minlength=count)
    sums.send += np.bincount(sender, times.send, count)
    sums.sending.least(sender, 0.0, times.alone - times.send)
    sums.receive += np.bincount(receiver, times.receive, count)
    sums.receiving.least(receiver, wait + times.to_receive, times.left)
    sums.held += np.bincount(sender, times.held if flow is None else times.held + flow, count)
    sums.holding.least(sender, wait, times.alone - times.held)
