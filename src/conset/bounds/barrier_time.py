"""Barrier time: with barriers, long messages of one port cannot all hide behind one another.

Statement: time ≥ Σ over i of the largest (L·(i - 1) + 1)-th longest message of any port or link, where L is how many of
its messages fit between two barriers (`limit` · k under barrier:k, times the width of a link), and a message counts
with its set-up and what it takes alone; further groups take the shortest message. Proof: take the groups of phases
between barriers by falling duration. The first i - 1 hold at most L·(i - 1) messages of a port, so one of its
L·(i - 1) + 1 longest is in the i-th or a later one: the i-th lasts at least as long as the shortest of these. Class:
barrier or barrier:k, whole messages; links only with the machine's routes. Witness: the sum. Time
O(messages · log messages + sum of hops), memory O(messages); O(nodes + links) where all messages are of one size: each
counts as the shortest then. Source: the bound for sums of largest sizes of the permutation schedules (preemptive open
shop is the case L = 1 of one port).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of, format_time

NO_LIMIT = np.iinfo(np.int64).max


def bound_barrier_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The longest message of every round, added up [s]; None without barriers or with split messages."""
    if problem.sync.kind != "barrier" or problem.split or problem.source.size == 0:
        return None
    if problem.pattern.size.strides == (0,):
        rounds, busiest = _count_rounds(problem)
        each = problem.sums.least
        return BoundValue(rounds * each + problem.more_groups(rounds, phases), f"{busiest}, {format_time(each)} each")
    terms = _rank_rounds(problem)
    spread = f"{format_time(terms[0])} down to {format_time(terms[-1])}"
    witness = f"the i-th longest message of any port or link, i = 1 … {terms.size}, {spread}, added up"
    return BoundValue(float(terms.sum()) + problem.more_groups(terms.size, phases), witness)


def _at_once(problem: BoundProblem) -> tuple[int, int, NDArray[np.int64]]:
    """Messages out of a port, into one, and on links (empty: no limit) between two barriers."""
    limits, every = problem.limits, problem.sync.every
    send, receive = (NO_LIMIT if limit is None else limit * every for limit in (limits.send, limits.receive))
    link = np.zeros(0, np.int64)
    if limits.link is not None and not problem.free and problem.topology.link_slots:
        link = np.ascontiguousarray(problem.topology.widths(), np.int64) * (limits.link * every)
    return send, receive, link


def _count_rounds(problem: BoundProblem) -> tuple[int, str]:
    """(groups that some port or link needs, which one in words), where all messages take the same."""
    send, receive, link = _at_once(problem)
    found = []
    for verb, count, limit in (("sends", problem.sends, send), ("receives", problem.receives, receive)):
        node = int(count.argmax())
        found.append(
            (
                -(-int(count[node]) // limit),
                f"{problem.topology.node_name(node)} {verb} {count_of(int(count[node]), 'message')}",
                limit,
            )
        )
    if link.size:
        groups = -(-problem.link_messages // link)
        at = int(groups.argmax())
        witness = f"{problem.topology.link_name(at)} carries {count_of(int(problem.link_messages[at]), 'message')}"
        found.append((int(groups[at]), witness, int(link[at] if link.size > 1 else link[0])))
    rounds, witness, limit = max(found, key=lambda f: f[0])
    return rounds, f"{witness}, {limit if limit < NO_LIMIT else 'all'} between barriers"


def _rank_rounds(problem: BoundProblem) -> NDArray[np.float64]:
    alone = np.ascontiguousarray(problem.alone)  # with the set-up of its phase
    order = np.argsort(-alone, kind="stable").astype(np.int32)
    send, receive, link = _at_once(problem)
    rounds: NDArray[np.float64] = _core.rank_rounds(
        problem.network, problem.source, problem.target, order, alone, send, receive, link
    )
    return rounds
