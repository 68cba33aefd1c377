"""Slots: a rank has only so many messages in flight.

Statement: time ≥ least set-up or signal before a message of rank r + Σ (send overhead + latency + [receive overhead,
where it goes before bytes that find their receive] + bytes / the slowest of its way) / in_flight + the least rest of a
message of r. Proof: in every model a message keeps its slot that long at least, until its last byte has left, and at
most `in_flight` slots are kept at one time. Class: a rank may have at most `in_flight` messages in flight, which is the
machine's number unless a schedule asks for more; every policy, any limits, any routes. Witness: the rank. O(messages).
"""

from __future__ import annotations

from conset.bounds.question import Found, Question


def bound_slots_time(question: Question, phases: int) -> Found | None:
    """The rank whose slots are busiest [s]; None where it may have any number of messages in flight."""
    if question.in_flight is None:
        return None
    sums = question.sums
    needed = question.phases_of((sums.sends, question.limits.send))
    time = question.in_groups(sums.held / question.in_flight, sums.holding.both, needed, phases)
    rank = int(time.argmax())
    count = int((question.pattern.source == rank).sum())
    words = f"rank {rank} sends {count} message{'' if count == 1 else 's'}, {question.in_flight} in flight"
    return Found(float(time[rank]), words)
