"""Bounds of ports: messages, partners and bytes that one node can send and receive.

The witness of each is a node. They hold for any routes, and for split messages as for whole ones.

Port degree: a port takes a limited number of messages at once.
    Statement: phases ≥ ⌈messages out of v / send⌉ and ≥ ⌈messages into v / receive⌉ for every node
    v. Proof: a phase holds at most `send` (`receive`) of them, and each, or some part of it, stands
    in a phase. With one side of the pattern's graph for sources and one for targets this is the
    largest degree, and at send 1, receive 1 without other limits it is reached (König 1916). Time
    O(messages), memory O(nodes).

Port sum: the largest loads of all phases add up to at least what one port sends or receives.
    Statement: ΣL ≥ messages out of v and ≥ messages into v for every node v, where L is the largest
    load of any port or link of a phase. Proof: a port's loads add up to its messages, and L is at
    least its load in every phase. Class: any limits. O(messages).

Partners: a node that sends and receives in one phase does so with one partner (duplex exchange).
    Statement: phases ≥ ⌈distinct partners of v / k⌉, k the larger of `send` and `receive`; and ≥ 2
    where v both sends and receives and has more than one partner. Proof: in a phase v either
    exchanges with one partner, or only sends to at most `send`, or only receives from at most
    `receive`; with two partners and both directions one phase would break the rule. Time
    O(messages), after which a table of nodes² bits or a sort of the pairs. Source: the half-duplex
    rule of the iPSC/860 (Wang, Ranka, section 2.2).

Port time: bytes pass a port, or a half-duplex node, at its rate.
    Statement: time ≥ the least lead-in + Σ bytes / rate + the least lead-out over the messages out
    of v, and over those into v; where in and out share a rate, over both, a byte of messages that
    may meet in an exchange under the policy counting `exchange_weight`. Proof: in step 5 of a
    message's life no model exceeds a rate, and no byte flows before the steps ahead of it; which
    bytes meet is for the schedule to choose, so all of a pair with messages both ways may. With
    barriers leads are paid in every group that v has messages in. Class: any limits, every policy;
    split messages lead in and out with the least a part may. O(messages).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of
from conset.bounds.problem import BoundProblem, BoundValue


def bound_port_degree(problem: BoundProblem) -> BoundValue | None:
    """The busiest port by messages; None where ports have no limit."""
    found: list[BoundValue] = []
    ports = (
        ("sends", problem.sends, problem.limits.send),
        ("receives", problem.receives, problem.limits.receive),
    )
    for verb, count, limit in ports:
        if limit is not None:
            node = int(count.argmax())
            witness = (
                f"{problem.topology.node_name(node)} {verb} "
                f"{count_of(int(count[node]), 'message')}, {limit} at once"
            )
            found.append(BoundValue(-(-int(count[node]) // limit), witness))
    return max(found, key=lambda f: f.value, default=None)


def bound_port_sum(problem: BoundProblem) -> BoundValue:
    """The busiest port by messages."""
    found = []
    for verb, count in (("sends", problem.sends), ("receives", problem.receives)):
        node = int(count.argmax())
        found.append(
            BoundValue(
                int(count[node]),
                f"{problem.topology.node_name(node)} {verb} "
                f"{count_of(int(count[node]), 'message')}",
            )
        )
    return max(found, key=lambda f: f.value)


def bound_partners(problem: BoundProblem) -> BoundValue | None:
    """The node with most partners; None with full duplex."""
    if problem.limits.duplex != "exchange":
        return None
    partners = count_partners(problem)
    name = problem.topology.node_name
    limits = problem.limits.send, problem.limits.receive
    most = int(partners.argmax())
    at_once = None if None in limits else max(limit for limit in limits if limit is not None)
    if at_once is not None and -(-int(partners[most]) // at_once) >= 2:
        witness = f"{name(most)} has {partners[most]} partners, {at_once} a phase"
        return BoundValue(-(-int(partners[most]) // at_once), witness)
    torn = np.flatnonzero((problem.sends > 0) & (problem.receives > 0) & (partners > 1))
    if torn.size:
        return BoundValue(
            2,
            f"{name(int(torn[0]))} sends and receives and has "
            f"{count_of(int(partners[torn[0]]), 'partner')}",
        )
    return BoundValue(
        min(1, int(partners[most])), f"{name(most)} has {count_of(int(partners[most]), 'partner')}"
    )


def count_partners(problem: BoundProblem) -> NDArray[np.int64]:
    """shape=(nodes): distinct nodes that each node sends to or receives from."""
    nodes = problem.topology.nodes
    source, target = problem.source, problem.target
    if nodes * nodes <= max(2**24, 8 * source.size):
        meets = np.zeros((nodes, nodes), bool)
        meets[source, target] = True
        meets[target, source] = True
        partners: NDArray[np.int64] = meets.sum(axis=1, dtype=np.int64)
        return partners
    low, high = np.minimum(source, target).astype(np.int64), np.maximum(source, target)
    pairs = np.unique(low * nodes + high)
    return np.bincount(pairs // nodes, minlength=nodes) + np.bincount(
        pairs % nodes, minlength=nodes
    )


def bound_port_time(problem: BoundProblem, phases: int) -> BoundValue:
    """The busiest port or half-duplex node [s]."""
    sums, limits = problem.sums, problem.limits
    needed = {
        "sends": problem.phases_of((problem.sends, limits.send)),
        "receives": problem.phases_of((problem.receives, limits.receive)),
    }
    needed["sends and receives"] = np.maximum(needed["sends"], needed["receives"])
    time = {
        verb: problem.in_groups(work, lead.both, needed[verb], phases)
        for verb, work, lead in (
            ("sends", sums.out, sums.leaving),
            ("receives", sums.into, sums.entering),
            ("sends and receives", sums.both, sums.passing),
        )
    }
    verb = max(time, key=lambda each: float(time[each].max(initial=0.0)))
    if not time[verb].any():
        return BoundValue(
            0.0, "no message leaves its node" if problem.source.size == 0 else "ports cost nothing"
        )
    node = int(time[verb].argmax())
    mine = np.zeros(problem.source.size, bool)
    if "sends" in verb:
        mine |= problem.source == node
    if "receives" in verb:
        mine |= problem.target == node
    sent = f"{count_of(int(mine.sum()), 'message')}, {problem.size[mine].sum():,} B"
    witness = f"{problem.topology.node_name(node)} {verb} {sent}"
    return BoundValue(float(time[verb][node]), witness)
