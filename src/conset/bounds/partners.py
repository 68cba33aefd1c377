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

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


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
            2, f"{name(int(torn[0]))} sends and receives and has {count_of(int(partners[torn[0]]), 'partner')}"
        )
    return BoundValue(min(1, int(partners[most])), f"{name(most)} has {count_of(int(partners[most]), 'partner')}")


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
    return np.bincount(pairs // nodes, minlength=nodes) + np.bincount(pairs % nodes, minlength=nodes)
