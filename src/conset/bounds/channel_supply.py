"""Channel supply: a phase has only so many channels, whatever the routes.

Statement: phases ≥ ⌈Σ (shortest hops + 1) / (nodes · channels)⌉. Proof: a route takes a channel in each node it
visits, one more than its hops. Class: free routes, whole or split messages. Witness: both sums. O(sum of hops).
The complete exchange on an 8×8 torus with 12 channels: 20416 / 768, 27 phases, which is reached.
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_channel_supply(problem: BoundProblem) -> BoundValue | None:
    """All visits over all channels; None without a limit or with the machine's routes."""
    limit = problem.limits.channels
    if limit is None or not problem.free:
        return None
    messages = problem.source.size
    hops = int(problem.least_hops.sum(dtype=np.int64)) if problem.topology.link_slots else messages
    supply = limit * problem.topology.nodes
    witness = (
        f"routes take {count_of(hops + messages, 'channel')} at least, "
        f"all {problem.topology.nodes} nodes have {supply} a phase"
    )
    return BoundValue(-(-(hops + messages) // supply), witness)
