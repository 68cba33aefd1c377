"""Link supply in time: all links together carry only so much, whatever the routes.

Statement: time ≥ Σ bytes · shortest hops / Σ rate · width over the links. Proof: in time T link l carries at most
T · rate · width bytes; a message is carried over at least its shortest hops. Class: free routes, any limits, every
policy. All bytes flow between the least lead-in and the least lead-out of any message, with barriers in every group.
Witness: both sums. O(sum of hops).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import format_rate


def bound_link_supply_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """All bytes times hops over all rates [s]; None with the machine's routes or where links cost nothing."""
    work, topology = problem.link_work, problem.topology
    if not problem.free or work.size == 0 or not work.all():
        return None
    carried = float((problem.size * problem.least_hops.astype(np.float64)).sum())
    rate = float(np.broadcast_to(1 / work, topology.link_slots)[topology.link_exists].sum())
    witness = f"{carried:,.0f} B · hops at least, all {topology.links} links carry {format_rate(rate)}"
    return BoundValue(problem.all_bytes(carried / rate, phases), witness)
