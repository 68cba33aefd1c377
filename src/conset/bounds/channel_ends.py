"""Channel ends: a node's own messages take its channels, whatever the routes.

Statement: phases ≥ ⌈(messages out of v + into v) / channels⌉ for every node v. Proof: every route has a channel in
both its ends. Class: any routes, whole or split messages. Witness: the node. O(messages).
Source: Feldmann, Stricker, Warfel, ConSet: the reading in which a route takes one channel in every node it visits.
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_channel_ends(problem: BoundProblem) -> BoundValue | None:
    """The node with most messages of its own; None without a limit, or where routes through it are counted too."""
    limit = problem.limits.channels
    if limit is None or not problem.free:
        return None
    own = problem.sends + problem.receives
    node = int(own.argmax())
    witness = f"{problem.topology.node_name(node)} is an end of {count_of(int(own[node]), 'message')}, {limit} at once"
    return BoundValue(-(-int(own[node]) // limit), witness)
