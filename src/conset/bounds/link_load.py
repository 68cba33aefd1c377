"""Link load: a link takes a limited number of messages at once.

Statement: phases ≥ ⌈messages over l / (link · width of l)⌉ for every link l of the machine's routes. Proof: a phase
holds at most `link` per unit of width of them. Class: the machine's routes, whole or split messages. Witness: the
link. Time O(sum of hops), memory O(links).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_link_load(problem: BoundProblem) -> BoundValue | None:
    """The busiest link by messages per unit of width; None without a limit, with free routes, or without links."""
    limit = problem.limits.link
    if limit is None or problem.free or problem.topology.link_slots == 0:
        return None
    at_once = limit * problem.topology.widths().astype(np.int64)
    phases = -(-problem.link_messages // at_once)
    link = int(phases.argmax())
    name, count = problem.topology.link_name(link), problem.link_messages[link]
    witness = f"{name} carries {count_of(int(count), 'message')} at {at_once[link]} a phase"
    return BoundValue(int(phases[link]), witness)
