"""naive: everything at once, in one phase.

Problem: send a pattern with no scheduling at all, as a loop of non-blocking sends does.
Idea: one phase; every rank posts its messages by index, or in the order asked for: by rising
target, by rising distance so that no two ranks begin with one target, drawn, the longest first,
pair by pair, or dimension by dimension.
Invariant: none but that every message is in the phase once. No limit is kept: ports and links
are shared.
Order: a message comes after all that must end before it, and waits for them: first the messages
without any before them, then those that follow one of these, and so on, by index or drawn. An order
by targets or sizes that would put a message before one that it must follow is refused.
Complexity: O(messages) in time and memory, O(messages · log(messages)) time where an order is asked
for.
When to use it: as the baseline, and where messages are so few or so short that no contention
arises. Not on machines whose links or ports lose throughput under contention.
Departures: the text's AC posts receives first, which is the executor's work here.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Section 3
(AC).
"""

from __future__ import annotations

import numpy as np

from conset.base import Ints32
from conset.methods.phases.problem import Phases, Problem
from conset.pattern import find_cycle
from conset.schedule import depths, order_messages

FREE = ("schedule", "random")
"""Orders of a rank's messages that say nothing of targets and sizes."""


def refuse_posting(problem: Problem) -> str | None:
    """The lists of ranks cannot have the order asked for and that of the messages."""
    before, posting = problem.pattern.before, problem.search.posting
    if before is None or posting in FREE:
        return None
    cycle = find_cycle(_pairs(problem), problem.pattern.messages)
    if not cycle:
        return None
    words = " before ".join(map(str, cycle))
    return (
        f"method naive requires posting {posting} and the order of messages to agree, given "
        f"message {words}"
    )


def _pairs(problem: Problem) -> Ints32:
    """shape=(pairs, 2): which message comes before which.

    In lists that are given, neighbours too.
    """
    before, search = problem.pattern.before, problem.search
    pairs = np.zeros((0, 2), np.int32) if before is None else before
    if search.posting in FREE:
        return pairs
    listed = _listed(problem)
    listed = listed[np.argsort(problem.pattern.source[listed], kind="stable")]
    one, other = listed[:-1], listed[1:]
    same = problem.pattern.source[one] == problem.pattern.source[other]
    return np.concatenate([pairs, np.stack([one[same], other[same]], axis=1)])


def _listed(problem: Problem) -> Ints32:
    """shape=(messages), int32: the messages as they are posted, whatever their order.

    Raises:
        UsageError: `posting` is no order. InputError: the network does not have the order asked
            for.
    """
    pattern, search = problem.pattern, problem.search
    return order_messages(
        pattern,
        search.posting,
        search.seed,
        topology=problem.machine.topology,
        placement=problem.placement,
    )


def schedule_naive(problem: Problem) -> Phases:
    """One phase of all messages by source, then `problem.search.posting`.

    No phase where there are none.

    Raises:
        UsageError: `posting` is no order.
        InputError: the network does not have the order asked for.
    """
    messages = problem.pattern.messages
    offsets = np.array([0, messages] if messages else [0], np.int64)
    listed = _listed(problem)
    if problem.pattern.before is not None:
        listed = listed[np.argsort(depths(_pairs(problem), messages)[listed], kind="stable")]
    return Phases(offsets, listed)
