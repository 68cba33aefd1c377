"""Sums of bounds in plain NumPy, a message's times first and every resource after.

What the core's one pass must equal.

Many temporary arrays and unbuffered minima: about ten times the core's time.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.bounds.problem import BoundProblem, WorkSums, costs_of_parts
from conset.machine.costs import Costs
from conset.machine.times import Times, message_times

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


def slow_sums(problem: BoundProblem, part: int) -> WorkSums:
    """The sums of a problem, `part` messages after `part`."""
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
    ends = [problem.nodes_of(each) for each in (problem.pattern.source, problem.pattern.target)]
    sums.out += costs.startup_s * np.bincount(ends[0][ends[0] != ends[1]], minlength=nodes)
    for begin in range(0, problem.pattern.messages, part):
        _add(sums, problem, paid, slice(begin, begin + part))
    return sums


def _add(sums: WorkSums, problem: BoundProblem, costs: Costs, chunk: slice) -> None:
    pattern, topology = problem.pattern, problem.topology
    size, packed = pattern.size[chunk], None if pattern.packed is None else pattern.packed[chunk]
    ranks = pattern.source[chunk], pattern.target[chunk]
    ends = tuple(problem.nodes_of(each) for each in ranks)
    leaves = ends[0] != ends[1]
    hops, per_byte = problem.ways(*ends)
    slowest = np.maximum(per_byte, problem.port_work(*ends))
    times = message_times(
        costs,
        size,
        leaves,
        hops,
        np.zeros_like(slowest) if problem.split else slowest,
        packed=None if problem.split else packed,
        requests=problem.sync.kind != "ready" and not problem.split,
    )
    ready = problem.sync.kind == "ready"
    signal = (
        np.where(leaves, costs.signal_s + hops * costs.hop.at(0), 0.0)
        if ready
        else np.zeros(size.shape)
    )
    wait = np.maximum(costs.setup_s, signal)
    flow = (
        np.where(leaves, size * slowest, size / problem.costs.copy_Bps) if problem.split else None
    )
    copied = costs_of_copies(problem, size, packed) if problem.split else np.zeros(size.shape)
    _add_ranks(sums, ranks, times, wait, leaves, flow, copied)
    if ready:
        half, (senders, receivers) = costs.signal_s / 2, (each[leaves] for each in ranks)
        for work, lead, at in (
            (sums.send, sums.sending, receivers),
            (sums.receive, sums.receiving, senders),
        ):
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
    to_port = (wait + times.send)[leaves] if costs.startup_s else head
    for work, lead, at, rate, first in (
        (sums.out, sums.leaving, source, costs.port_out_Bps, to_port),
        (sums.into, sums.entering, target, costs.port_in_Bps, head),
    ):
        work += np.bincount(at, carried, topology.nodes) / rate
        lead.least(at, first, tail)
    if costs.node_Bps < inf:
        weight = problem.exchange_weights(*ends)
        for at in (source, target):
            sums.both += np.bincount(at, carried * weight[leaves], topology.nodes) / costs.node_Bps
            sums.passing.least(at, head, tail)
    if sums.links is not None:
        arguments = problem.network, np.ascontiguousarray(source), np.ascontiguousarray(target)
        np.minimum(sums.links.into, _core.least_on_links(*arguments, head), out=sums.links.into)
        np.minimum(
            sums.links.out,
            _core.least_on_links(*arguments, np.ascontiguousarray(tail)),
            out=sums.links.out,
        )


def costs_of_copies(
    problem: BoundProblem, size: NDArray[np.int64], packed: NDArray[np.bool_] | None
) -> Seconds:
    """shape=(messages): what all parts of each packed message together take to copy, at either
    end [s]."""
    return (
        np.zeros(size.shape)
        if packed is None
        else np.where(packed, size / problem.costs.copy_Bps, 0.0)
    )


def _add_ranks(
    sums: WorkSums,
    ranks: tuple[NDArray[np.int32], NDArray[np.int32]],
    times: Times,
    wait: Seconds,
    leaves: NDArray[np.bool_],
    flow: Seconds | None,
    copied: Seconds,
) -> None:
    """Processors and slots.

    `flow`, `copied`: seconds of bytes and of copies that the times leave out.
    """
    sender, receiver = ranks
    count = sums.send.size
    sums.sends += np.bincount(sender[leaves], minlength=count)
    sums.receives += np.bincount(receiver[leaves], minlength=count)
    sums.send += np.bincount(sender, times.send + copied, count)
    sums.sending.least(sender, 0.0, times.alone - times.send)
    sums.receive += np.bincount(receiver, times.receive + copied, count)
    sums.receiving.least(receiver, wait + times.to_receive, times.left)
    sums.held += np.bincount(
        sender, times.held if flow is None else times.held + flow + copied, count
    )
    sums.holding.least(sender, wait, times.alone - times.held)
