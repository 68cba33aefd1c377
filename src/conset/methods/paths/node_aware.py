"""Node-aware: what one node sends another travels in one message.

In three steps, or in one message per sending rank (two steps).

Problem: with several ranks on a node every rank sends to ranks of the same other nodes, and each
message costs overheads, injection and its share of the node's port. Idea: gather on the sending
node what goes to one node at one rank, send it, scatter it on the receiving node. Who carries is
spread: nodes that a node sends to, the most bytes first, are dealt to its ranks forwards and
backwards in turns; nodes that it receives from likewise, beginning at the last rank. In two steps a
rank itself sends what it has for a node to one rank there, and nothing is gathered. Messages inside
a node go directly in the first stage, together with what is gathered there. Complexity: O(messages
log messages) time, O(messages) memory. When: many ranks on a node, patterns in which pairs of nodes
have many messages. When not: one rank on a node. Source: A. Bienz, W. D. Gropp and L. N. Olson,
"Reducing communication in algebraic multigrid with multi-step node aware communication", Int. J.
High Perform. Comput. Appl. 34 (2020).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.methods.paths.multiphase import ranks_on_nodes
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths


def node_aware(
    pattern: Pattern, placement: NDArray[np.int32] | None, *, steps: Literal[2, 3] = 3
) -> Paths:
    """Paths by way of the nodes of a placement.

    Args:
        pattern: what is sent.
        placement: shape=(ranks): the node of each rank; None: rank r on node r, one rank each.
        steps: 3: gather, exchange, scatter; 2: exchange, scatter.

    Raises:
        InputError: no node holds several ranks, or a placement of another number of ranks.
    """
    node = np.arange(pattern.ranks) if placement is None else placement.astype(np.int64)
    if node.shape != (pattern.ranks,):
        raise InputError(
            f"placement has shape {node.shape}: one node for each of {pattern.ranks} ranks required"
        )
    local, crowd = ranks_on_nodes(node)
    if crowd < 2:
        raise InputError("node-aware: nodes with 2 or more ranks required, every node has 1")
    source, target = pattern.source.astype(np.int64), pattern.target.astype(np.int64)
    inside = node[source] == node[target]
    members = np.lexsort((local, node))
    held = np.bincount(node)
    begin = np.cumsum(held) - held

    def rank_of(at: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(members[begin[at] + number])

    if steps == 2:
        carrier = rank_of(node[target], local[source] % held[node[target]])
        middle = [np.where(inside, target, carrier)]
    else:
        out, into = _carriers(node[source], node[target], pattern.size, held)
        middle = [
            np.where(inside, target, rank_of(node[source], out)),
            np.where(inside, target, rank_of(node[target], into)),
        ]
    positions = np.column_stack([source, *middle, target]).astype(np.int32)
    return Paths(pattern, positions, name="node-aware" if steps == 3 else "node-aware:2")


def _carriers(
    out: NDArray[np.int64],
    into: NDArray[np.int64],
    size: NDArray[np.int64],
    held: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each message the numbers of the ranks that carry it.

    On the node it leaves and on the one it enters.
    """
    nodes = held.size
    pairs, pair = np.unique(out * nodes + into, return_inverse=True)
    total = np.zeros(pairs.size, np.int64)
    np.add.at(total, pair, size)
    left, entered = pairs // nodes, pairs % nodes
    total[left == entered] = -1  # stays inside: dealt last, to nobody's harm
    sends = _dealt(left, total, entered, held)
    takes = held[entered] - 1 - _dealt(entered, total, left, held)
    return sends[pair], takes[pair]


def _dealt(
    node: NDArray[np.int64],
    total: NDArray[np.int64],
    other: NDArray[np.int64],
    held: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The rank of its node that each pair of nodes falls to.

    0 … n - 1, n - 1 … 0, and so on, the most bytes first.
    """
    order = np.lexsort((other, -total, node))
    place = ranks_on_nodes(node[order])[0]
    ranks = held[node[order]]
    turn, number = place // ranks, place % ranks
    dealt = np.empty(node.size, np.int64)
    dealt[order] = np.where(turn % 2 == 0, number, ranks - 1 - number)
    return dealt
