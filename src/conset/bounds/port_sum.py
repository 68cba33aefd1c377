"""Port sum: the largest loads of all phases add up to at least what one port sends or receives.

Statement: ΣL ≥ messages out of v and ≥ messages into v for every node v, where L is the largest load of any port or
link of a phase. Proof: a port's loads add up to its messages, and L is at least its load in every phase. Class: any
routes, any limits, whole or split messages. Witness: the node. O(messages).
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_port_sum(problem: BoundProblem) -> BoundValue:
    """The busiest port by messages."""
    found = []
    for verb, count in (("sends", problem.sends), ("receives", problem.receives)):
        node = int(count.argmax())
        found.append(
            BoundValue(
                int(count[node]), f"{problem.topology.node_name(node)} {verb} {count_of(int(count[node]), 'message')}"
            )
        )
    return max(found, key=lambda f: f.value)
