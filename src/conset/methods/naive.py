"""naive: everything at once, in one phase.

Problem: send a pattern with no scheduling at all, as a loop of non-blocking sends does.
Idea: one phase; every rank posts its messages by index, or in the order asked for: by rising target, by rising distance
so that no two ranks begin with one target, drawn, the longest first, pair by pair, or dimension by dimension.
Invariant: none but that every message stands in the phase once. No limit is kept: ports and links are shared.
Complexity: O(messages) in time and memory, O(messages · log(messages)) time where an order is asked for.
When to use it: as the baseline, and where messages are so few or so short that no contention arises. Not on machines
whose links or ports lose throughput under contention.
Departures: the text's AC posts receives first, which is the executor's work here.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Section 3 (AC).
"""

from __future__ import annotations

import numpy as np

from conset.methods.method import refuse_limits, refuse_order, require
from conset.methods.problem import Phases, Problem
from conset.schedule.posting import order_messages


def applies_naive(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return refuse_order(problem, "naive") or refuse_limits(problem, "naive")


def schedule_naive(problem: Problem) -> Phases:
    """One phase of all messages by source, then `problem.search.posting`; no phase where there are none.

    Raises:
        UsageError: `posting` is no order. InputError: the pattern has an order, a limit is to be kept, or the network
            does not have the order asked for.
    """
    require(applies_naive(problem))
    messages = problem.pattern.messages
    offsets = np.array([0, messages] if messages else [0], np.int64)
    order = order_messages(
        problem.pattern, problem.search.posting, problem.search.seed, topology=problem.machine.topology,
        placement=problem.placement,
    )  # fmt: skip
    return Phases(offsets, order)
