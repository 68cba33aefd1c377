"""Message time: no message is faster than alone.

Statement: time ≥ set-up (or signal) + send overhead + latency + bytes / the slowest of its ports, node and links +
receive overhead, for every message. Proof: these are steps 3 to 7 of its life, one after the other in every model, and
no rate is exceeded. With barriers every further group of phases takes the shortest message. Class: whole messages, any
limits, every policy; free routes count the fewest hops and the fastest link there is. Witness: the message.
O(messages), and O(sum of hops) where links differ.
"""

from __future__ import annotations

from conset.bounds.question import Found, Question


def bound_message_time(question: Question, phases: int) -> Found | None:
    """The longest message [s]; None where messages may be split."""
    if question.split:
        return None
    time, m = question.sums.longest
    pattern, name = question.pattern, question.topology.node_name
    source, target = (int(question.nodes_of(ranks[m : m + 1])[0]) for ranks in (pattern.source, pattern.target))
    words = f"message {m}, {pattern.size[m]:,} B from {name(source)} to {name(target)}"
    return Found(time + question.more_groups(1, phases), words)
