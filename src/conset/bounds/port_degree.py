"""Port degree: a port takes a limited number of messages at once.

Statement: phases ≥ ⌈messages out of v / send⌉ and ≥ ⌈messages into v / receive⌉ for every node v. Proof: a phase holds
at most `send` (`receive`) of them, and each, or some part of it, stands in a phase. Class: any routes, whole or split.
Witness: the node. With one side of the pattern's graph for sources and one for targets this is the largest degree, and
at send 1, receive 1 without other limits it is reached (König 1916). Time O(messages), memory O(nodes).
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_port_degree(problem: BoundProblem) -> BoundValue | None:
    """The busiest port by messages; None where ports have no limit."""
    found: list[BoundValue] = []
    ports = (("sends", problem.sends, problem.limits.send), ("receives", problem.receives, problem.limits.receive))
    for verb, count, limit in ports:
        if limit is not None:
            node = int(count.argmax())
            witness = (
                f"{problem.topology.node_name(node)} {verb} {count_of(int(count[node]), 'message')}, {limit} at once"
            )
            found.append(BoundValue(-(-int(count[node]) // limit), witness))
    return max(found, key=lambda f: f.value, default=None)
