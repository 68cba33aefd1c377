"""Message time: no message is faster than alone.

Statement: time ≥ set-up (or signal) + send overhead + latency + bytes / the slowest of its ports, node and links +
receive overhead, for every message. Proof: these are steps 3 to 7 of its life, one after the other in every model, and
no rate is exceeded. With barriers every further group of phases takes the shortest message. Class: whole messages, any
limits, every policy; free routes count the fewest hops and the fastest link there is. Witness: the message.
O(messages), and O(sum of hops) where links differ.
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue


def bound_message_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The longest message [s]; None where messages may be split."""
    if problem.split:
        return None
    time, m = problem.sums.longest
    pattern, name = problem.pattern, problem.topology.node_name
    source, target = (int(problem.nodes_of(ranks[m : m + 1])[0]) for ranks in (pattern.source, pattern.target))
    witness = f"message {m}, {pattern.size[m]:,} B from {name(source)} to {name(target)}"
    return BoundValue(time + problem.more_groups(1, phases), witness)
