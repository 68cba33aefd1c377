"""Partners: a node that sends and receives in one phase does so with one partner (duplex = exchange).

Statement: phases ≥ ⌈distinct partners of v / k⌉, k the larger of `send` and `receive`; and ≥ 2 where v both sends and
receives and has more than one partner. Proof: in a phase v either exchanges with one partner, or only sends to at most
`send`, or only receives from at most `receive`; with two partners and both directions one phase would break the rule.
Class: duplex exchange, any routes, whole or split messages. Witness: the node. Time O(messages), after which a table of
nodes² bits or a sort of the pairs. Source: the half-duplex rule of the iPSC/860 (Wang, Ranka, section 2.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.bounds.question import Found, Question


def bound_partners(question: Question) -> Found | None:
    """The node with most partners; None with full duplex."""
    if question.limits.duplex != "exchange":
        return None
    partners = count_partners(question)
    name = question.topology.node_name
    limits = question.limits.send, question.limits.receive
    most = int(partners.argmax())
    at_once = None if None in limits else max(limit for limit in limits if limit is not None)
    if at_once is not None and -(-int(partners[most]) // at_once) >= 2:
        words = f"{name(most)} has {partners[most]} partners, {at_once} a phase"
        return Found(-(-int(partners[most]) // at_once), words)
    torn = np.flatnonzero((question.sends > 0) & (question.receives > 0) & (partners > 1))
    if torn.size:
        return Found(2, f"{name(int(torn[0]))} sends and receives and has {partners[torn[0]]} partners")
    return Found(min(1, int(partners[most])), f"{name(most)} has {partners[most]} partners")


def count_partners(question: Question) -> NDArray[np.int64]:
    """shape=(nodes): distinct nodes that each node sends to or receives from."""
    nodes = question.topology.nodes
    source, target = question.source, question.target
    if nodes * nodes <= max(2**24, 8 * source.size):
        meets = np.zeros((nodes, nodes), bool)
        meets[source, target] = True
        meets[target, source] = True
        partners: NDArray[np.int64] = meets.sum(axis=1, dtype=np.int64)
        return partners
    low, high = np.minimum(source, target).astype(np.int64), np.maximum(source, target)
    pairs = np.unique(low * nodes + high)
    return np.bincount(pairs // nodes, minlength=nodes) + np.bincount(pairs % nodes, minlength=nodes)
