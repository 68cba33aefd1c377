"""Channel supply: a phase has only so many channels, whatever the routes.

Statement: phases ≥ ⌈Σ (shortest hops + 1) / (nodes · channels)⌉. Proof: a route takes a channel in each node it
visits, one more than its hops. Class: free routes, whole or split messages. Witness: both sums. O(sum of hops).
The complete exchange on an 8×8 torus with 12 channels: 20416 / 768, 27 phases, which is reached.
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import Found, Question


def bound_channel_supply(question: Question) -> Found | None:
    """All visits over all channels; None without a limit or with the machine's routes."""
    limit = question.limits.channels
    if limit is None or not question.free:
        return None
    messages = question.source.size
    hops = int(question.least_hops.sum(dtype=np.int64)) if question.topology.link_slots else messages
    supply = limit * question.topology.nodes
    words = (
        f"routes take {hops + messages} channels at least, all {question.topology.nodes} nodes have {supply} a phase"
    )
    return Found(-(-(hops + messages) // supply), words)
