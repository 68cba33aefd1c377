"""Slots: a rank has only so many messages in flight.

Statement: time ≥ least set-up or signal before a message of rank r + Σ (send overhead + latency + [receive overhead,
where it goes before bytes that find their receive] + bytes / the slowest of its way) / in_flight + the least rest of a
message of r. Proof: in every model a message keeps its slot that long at least, until its last byte has left, and at
most `in_flight` slots are kept at one time. Class: a rank may have at most `in_flight` messages in flight, which is the
machine's number unless a schedule asks for more; every policy, any limits, any routes. Witness: the rank. O(messages).
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_slots_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The rank whose slots are busiest [s]; None where it may have any number of messages in flight."""
    if problem.in_flight is None:
        return None
    sums = problem.sums
    needed = problem.phases_of((sums.sends, problem.limits.send))
    time = problem.in_groups(sums.held / problem.in_flight, sums.holding.both, needed, phases)
    rank = int(time.argmax())
    count = int((problem.pattern.source == rank).sum())
    witness = f"rank {rank} sends {count_of(int(count), 'message')}, {problem.in_flight} in flight"
    return BoundValue(float(time[rank]), witness)
