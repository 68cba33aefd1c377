"""Port time: bytes pass a port, or a half-duplex node, at its rate.

Statement: time ≥ the least lead-in + Σ bytes / rate + the least lead-out over the messages out of v, and over those
into v; where in and out share a rate, over both, a byte of messages that may meet in an exchange under the policy
counting `exchange_weight`. Proof: in step 5 of a message's life no model exceeds a rate, and no byte flows before the
steps ahead of it; which bytes meet is for the schedule to choose, so all of a pair with messages both ways may. With
barriers leads are paid in every group that v has messages in. Class: any limits, any routes, every policy; split
messages lead in and out with the least a part may. Witness: the node. O(messages).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_port_time(problem: BoundProblem, phases: int) -> BoundValue:
    """The busiest port or half-duplex node [s]."""
    sums, limits = problem.sums, problem.limits
    needed = {
        "sends": problem.phases_of((problem.sends, limits.send)),
        "receives": problem.phases_of((problem.receives, limits.receive)),
    }
    needed["sends and receives"] = np.maximum(needed["sends"], needed["receives"])
    time = {
        verb: problem.in_groups(work, lead.both, needed[verb], phases)
        for verb, work, lead in (
            ("sends", sums.out, sums.leaving),
            ("receives", sums.into, sums.entering),
            ("sends and receives", sums.both, sums.passing),
        )
    }
    verb = max(time, key=lambda each: float(time[each].max(initial=0.0)))
    if not time[verb].any():
        return BoundValue(0.0, "no message leaves its node" if problem.source.size == 0 else "ports cost nothing")
    node = int(time[verb].argmax())
    mine = np.zeros(problem.source.size, bool)
    if "sends" in verb:
        mine |= problem.source == node
    if "receives" in verb:
        mine |= problem.target == node
    sent = f"{count_of(int(mine.sum()), 'message')}, {problem.size[mine].sum():,} B"
    witness = f"{problem.topology.node_name(node)} {verb} {sent}"
    return BoundValue(float(time[verb][node]), witness)
