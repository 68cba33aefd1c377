"""Link time: a link carries its bytes at its rate.

Statement: time ≥ bytes over l / (rate · width of l) for every link l of the machine's routes; under `none`, where all
messages are in flight together, times max(1, load / (tolerance · width))^blocking. Proof: as for ports; elsewhere the
loss is at least 1. Class: the machine's routes, any limits, every policy. Witness: the link. O(sum of hops).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import Found, Question


def bound_link_time(question: Question) -> Found | None:
    """The busiest link by bytes [s]; None with free routes or where links cost nothing."""
    work = question.work
    if question.free or work.link.size == 0:
        return None
    time = question.totals.bytes * work.link
    if question.sync.kind == "none" and work.blocking > 0:
        over = question.link_messages / (work.tolerance * work.width)
        time *= np.maximum(1.0, over) ** work.blocking
    link = int(time.argmax())
    count, size = question.link_messages[link], question.totals.bytes[link]
    return Found(float(time[link]), f"{question.topology.link_name(link)} carries {count} messages, {size:,} B")
