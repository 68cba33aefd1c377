"""Port sum: the largest loads of all phases add up to at least what one port sends or receives.

Statement: ΣL ≥ messages out of v and ≥ messages into v for every node v, where L is the largest load of any port or
link of a phase. Proof: a port's loads add up to its messages, and L is at least its load in every phase. Class: any
routes, any limits, whole or split messages. Witness: the node. O(messages).
"""

from __future__ import annotations

from conset.bounds.question import Found, Question
from conset.units import count_of


def bound_port_sum(question: Question) -> Found:
    """The busiest port by messages."""
    found = []
    for verb, count in (("sends", question.sends), ("receives", question.receives)):
        node = int(count.argmax())
        found.append(
            Found(
                int(count[node]), f"{question.topology.node_name(node)} {verb} {count_of(int(count[node]), 'message')}"
            )
        )
    return max(found, key=lambda f: f.value)
