"""Link sum: the largest loads of all phases add up to at least what one link carries.

Statement: ΣL ≥ ⌈messages over l / width of l⌉ for every link l of the machine's routes; with free routes
ΣL ≥ ⌈Σ shortest hops / Σ width⌉, the mean instead of the largest. Proof: as for ports; the load of a link counts per
unit of its width. Class: any limits, whole or split messages; the machine's routes, or any. Witness: the link, or both
sums. O(sum of hops). On an 8×8 torus the complete exchange takes 16384 hops on 256 links: 64, which is reached.
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_link_sum(problem: BoundProblem) -> BoundValue | None:
    """The busiest link, or all hops over all links where routes are free; None without links."""
    topology = problem.topology
    if topology.links == 0:
        return None
    widths = topology.widths().astype(np.int64)
    if problem.free:
        hops, supply = int(problem.least_hops.sum(dtype=np.int64)), int(widths[topology.link_exists].sum())
        return BoundValue(
            -(-hops // supply), f"{count_of(hops, 'hop')} at least on {count_of(supply, 'link')}, counted by width"
        )
    load = -(-problem.link_messages // widths)
    link = int(load.argmax())
    return BoundValue(
        int(load[link]), f"{topology.link_name(link)} carries {count_of(int(problem.link_messages[link]), 'message')}"
    )
