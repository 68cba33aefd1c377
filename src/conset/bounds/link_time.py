"""Link time: a link carries its bytes at its rate.

Statement: time ≥ the least lead-in + bytes over l / (rate · width of l) + the least lead-out, for every link l of the
machine's routes, where a message leads in with its set-up (or signal), send overhead and latency, and out with its
receive overhead, the other way round where this goes before. Proof: in step 5 of a message's life no model exceeds the
rate of a link, and no byte flows before the steps ahead of it. With barriers leads are paid in every group the link has
messages in. Class: the machine's routes, any limits, every policy. Witness: the link. O(sum of hops).
"""

from __future__ import annotations

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_link_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest link by bytes [s]; None with free routes or where links cost nothing."""
    links = problem.sums.links
    if links is None:
        return None
    limit, width = problem.limits.link, problem.topology.widths()
    # messages per unit of width, as the limit counts them
    needed = problem.phases_of((-(-problem.link_messages // width), limit))
    time = problem.in_groups(problem.totals.bytes * problem.link_work, links.both, needed, phases)
    if not time.any():
        return None
    link = int(time.argmax())
    count, size = problem.link_messages[link], problem.totals.bytes[link]
    return BoundValue(
        float(time[link]), f"{problem.topology.link_name(link)} carries {count_of(int(count), 'message')}, {size:,} B"
    )
