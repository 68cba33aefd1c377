"""Link load: a link takes a limited number of messages at once.

Statement: phases ≥ ⌈messages over l / (link · width of l)⌉ for every link l of the machine's routes. Proof: a phase
holds at most `link` per unit of width of them. Class: the machine's routes, whole or split messages. Witness: the
link. Time O(sum of hops), memory O(links).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import Found, Question
from conset.units import count_of


def bound_link_load(question: Question) -> Found | None:
    """The busiest link by messages per unit of width; None without a limit, with free routes, or without links."""
    limit = question.limits.link
    if limit is None or question.free or question.topology.link_slots == 0:
        return None
    at_once = limit * question.topology.widths().astype(np.int64)
    phases = -(-question.link_messages // at_once)
    link = int(phases.argmax())
    name, count = question.topology.link_name(link), question.link_messages[link]
    words = f"{name} carries {count_of(int(count), 'message')} at {at_once[link]} a phase"
    return Found(int(phases[link]), words)
