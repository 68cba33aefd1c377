"""Link supply: a phase has only so many links, whatever the routes.

Statement: phases ≥ ⌈Σ shortest hops of messages / Σ link · width over the links⌉. Proof: a message takes at least its
shortest hops, and all links together take `link` per unit of width in a phase. Class: free routes, whole or split
messages. Witness: both sums. Time O(sum of hops), memory O(messages). A linear program over cuts would be stronger
where links are scarce in one place (a mesh's middle).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_link_supply(problem: BoundProblem) -> BoundValue | None:
    """All hops over all links; None without a limit or with the machine's routes."""
    limit = problem.limits.link
    topology = problem.topology
    if limit is None or not problem.free or topology.links == 0:
        return None
    hops = int(problem.least_hops.sum(dtype=np.int64))
    supply = limit * int(topology.widths()[topology.link_exists].sum(dtype=np.int64))
    witness = f"{count_of(hops, 'hop')} at least, all {topology.links} links take {supply} a phase"
    return BoundValue(-(-hops // supply), witness)
