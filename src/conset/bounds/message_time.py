"""Message time: no message is faster than alone.

Statement: time ≥ overhead + bytes / the slowest of its ports, node and links, for every message. Proof: that is its
share of the work of its phase. Class: whole messages, any limits, every policy; free routes count the fastest link
there is. Witness: the message. O(messages), and O(sum of hops) where links differ.
"""

from __future__ import annotations

from conset.bounds.question import Found, Question


def bound_message_time(question: Question) -> Found | None:
    """The longest message [s]; None where messages may be split, or none leaves its node."""
    alone = question.alone
    if question.split or alone.size == 0:
        return None
    k = 0 if alone.strides == (0,) else int(alone.argmax())
    name = question.topology.node_name
    ends = f"from {name(int(question.source[k]))} to {name(int(question.target[k]))}"
    words = f"message {question.index(k)}, {question.size[k]:,} B {ends}"
    return Found(float(alone[k]), words)
