"""Presence: where there is a message there is a phase.

Statement: a pattern of at least one message needs at least 1 phase. Proof: every message, also one inside a node,
stands in some phase. Class: any. Witness: the number of messages.
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue


def bound_nonempty(problem: BoundProblem) -> BoundValue:
    """1 phase for any message."""
    return BoundValue(1, "any exchange needs at least 1 phase")
