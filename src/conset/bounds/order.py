"""Bounds of order: where there is a message there is a phase, and messages that follow one another need one each.

Presence: a pattern of at least one message needs at least 1 phase.
    Proof: every message, also one inside a node, stands in some phase. Class: any. Witness: that there are messages.

Order: messages that must follow one another need a phase each.
    Statement: phases ≥ messages on the longest chain of `before`. Proof: each ends in an earlier phase than the next
    one. Class: no timetables (inside a phase a timetable may keep the order), any routes, whole or split messages.
    Witness: the chain. Time and memory O(pairs).
"""

from __future__ import annotations

from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from conset.bounds.problem import BoundProblem, BoundValue

SHOWN = 6
"""Messages of a chain that are named."""


def bound_nonempty(problem: BoundProblem) -> BoundValue:
    """1 phase for any message."""
    return BoundValue(1, "any exchange needs at least 1 phase")


def bound_order(problem: BoundProblem) -> BoundValue | None:
    """The longest chain; None without an order or with timetables."""
    before = problem.pattern.before
    if before is None or not len(before) or problem.timetabled:
        return None
    chain, _ = longest_chain(before, np.ones(problem.pattern.messages))
    return BoundValue(len(chain), f"messages {name_chain(chain)}: {len(chain)} that must follow one another")


def longest_chain(before: NDArray[np.int32], weight: NDArray[np.float64]) -> tuple[list[int], float]:
    """(messages of the heaviest chain, first to last; their weights added up).

    Args:
        before: shape=(pairs, 2): messages that must follow one another; without cycles.
        weight: shape=(messages).
    """
    graph = TopologicalSorter[int]()
    behind: dict[int, list[int]] = {}
    for i, j in before.tolist():
        graph.add(j, i)
        behind.setdefault(j, []).append(i)
    length: dict[int, float] = {}
    previous: dict[int, int] = {}
    for m in graph.static_order():
        last = max(behind.get(m, ()), key=lambda i: (length[i], -i), default=-1)
        previous[m] = last
        length[m] = float(weight[m]) + length.get(last, 0.0)
    end = max(length, key=lambda m: (length[m], -m))
    chain = [end]
    while previous[chain[-1]] >= 0:
        chain.append(previous[chain[-1]])
    return chain[::-1], length[end]


def name_chain(chain: list[int]) -> str:
    """`0 before 2 before 3`, the middle left out where it is long."""
    names = [str(m) for m in chain]
    shown = names if len(names) <= SHOWN else [*names[: SHOWN - 1], "…", names[-1]]
    return " before ".join(shown)
