"""Link time: a link carries its bytes at its rate.

Statement: time ≥ the least lead-in + bytes over l / (rate · width of l) + the least lead-out, for every link l of the
machine's routes, where a message leads in with its set-up (or signal), send overhead and latency, and out with its
receive overhead, the other way round where this goes before. Proof: in step 5 of a message's life no model exceeds the
rate of a link, and no byte flows before the steps ahead of it. With barriers leads are paid in every group the link has
messages in. Class: the machine's routes, any limits, every policy. Witness: the link. O(sum of hops).
"""

from __future__ import annotations

from conset.bounds.question import Found, Question
from conset.units import count_of


def bound_link_time(question: Question, phases: int) -> Found | None:
    """The busiest link by bytes [s]; None with free routes or where links cost nothing."""
    links = question.sums.links
    if links is None:
        return None
    limit, width = question.limits.link, question.topology.widths()
    # messages per unit of width, as the limit counts them
    needed = question.phases_of((-(-question.link_messages // width), limit))
    time = question.in_groups(question.totals.bytes * question.link_work, links.both, needed, phases)
    if not time.any():
        return None
    link = int(time.argmax())
    count, size = question.link_messages[link], question.totals.bytes[link]
    return Found(
        float(time[link]), f"{question.topology.link_name(link)} carries {count_of(int(count), 'message')}, {size:,} B"
    )
