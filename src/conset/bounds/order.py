"""Bounds of order: where there is a message there is a phase.

Kept by phases, an order needs one for each of a chain.

Presence: a pattern of at least one message needs at least 1 phase.
    Proof: every message, also one inside a node, is in some phase. Class: any. Witness: that
    there are messages.

Order: messages that must follow one another need a phase each, where phases alone keep them apart.
    Statement: phases ≥ messages on the longest chain of `before`. Proof: each ends in an earlier
    phase than the next one. Class: an order kept by phases, of no two messages in one phase, as in
    permutations; any routes, whole or split messages. Where a phase keeps an order inside (by its
    list or timetable, as all schedules may) there is no such bound: a chain of any length fits into
    one phase. Witness: the chain. Time and memory O(pairs).
"""

from __future__ import annotations

from graphlib import TopologicalSorter

import numpy as np

from conset.base import Floats, Indices, Ints32
from conset.bounds.problem import BoundProblem, BoundValue

ROUNDS = 64
"""Messages of a chain up to which all chains are followed together."""
SHOWN = 6
"""Messages of a chain that are named."""


def bound_nonempty(problem: BoundProblem) -> BoundValue:
    """1 phase for any message."""
    return BoundValue(1, "any exchange needs at least 1 phase")


def bound_order(problem: BoundProblem) -> BoundValue | None:
    """The longest chain; None without an order, or where phases may keep it inside."""
    before = problem.pattern.before
    if before is None or not len(before) or problem.inside:
        return None
    chain, _ = longest_chain(before, np.ones(problem.pattern.messages))
    return BoundValue(
        len(chain), f"messages {name_chain(chain)}: {len(chain)} that must follow one another"
    )


def longest_chain(before: Ints32, weight: Floats) -> tuple[list[int], float]:
    """(messages of the heaviest chain, first to last; their weights added up).

    Args:
        before: shape=(pairs, 2): messages that must follow one another; without cycles.
        weight: shape=(messages).
    """
    first, second = before[np.argsort(before[:, 1], kind="stable")].T
    starts = np.flatnonzero(np.diff(second, prepend=-1))
    later = second[starts]
    length = _lengths(first, later, starts, np.asarray(weight, np.float64))
    ordered = np.zeros(length.size, bool)
    ordered[before] = True
    chain = [int(np.argmax(np.where(ordered, length, -1.0)))]
    ends = np.append(starts, second.size)
    while later[k := min(int(np.searchsorted(later, chain[-1])), later.size - 1)] == chain[-1]:
        behind = first[ends[k] : ends[k + 1]]
        chain.append(int(behind[np.lexsort((behind, -length[behind]))[0]]))
    return chain[::-1], float(length[chain[0]])


def _lengths(
    first: Ints32,
    later: Ints32,
    starts: Indices,
    weight: Floats,
) -> Floats:
    """shape=(messages): the heaviest chain up to each message, its own weight included.

    All messages at once, as often as the longest chain has messages; beyond `ROUNDS`, one message
    after the other.

    Args:
        first: shape=(pairs): messages that others wait for.
        later: shape=(waiting), rising: message `later[k]` waits for
            `first[starts[k] : starts[k + 1]]`.
        starts: shape=(waiting).
        weight: shape=(messages).
    """
    length = weight.copy()
    for _ in range(ROUNDS):
        reached = weight[later] + np.maximum.reduceat(length[first], starts)
        if (reached == length[later]).all():
            return length
        length[later] = reached
    rows = np.split(first, starts[1:])
    behind = {m: row.tolist() for m, row in zip(later.tolist(), rows, strict=True)}
    each = weight.tolist()
    for m in TopologicalSorter(behind).static_order():
        if m in behind:
            each[m] += max(each[i] for i in behind[m])
    return np.array(each)


def name_chain(chain: list[int]) -> str:
    """`0 before 2 before 3`, the middle left out where it is long."""
    names = [str(m) for m in chain]
    return " before ".join(names if len(names) <= SHOWN else [*names[: SHOWN - 1], "…", names[-1]])
