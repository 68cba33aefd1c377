"""Chain time: messages that must follow one another take their times alone, added up.

Statement: time ≥ the largest sum, over chains of the pattern's order, of send overhead + latency + bytes / slowest
rate + receive overhead; with a barrier after every phase, which each message of the chain then has for itself, their
set-ups too. Proof: in every model a message is released when those before it are delivered, and takes at least its time
alone from then on. Class: whole messages, any limits, any routes, every policy. Witness: the chain.
Time and memory O(messages + pairs).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.order import longest_chain, name_chain
from conset.bounds.question import BoundProblem, BoundValue
from conset.machine.times import message_times


def bound_chain_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The longest chain [s]; None without an order, or where messages may be split."""
    before = problem.pattern.before
    if before is None or not len(before) or problem.split:
        return None
    costs, pattern = problem.costs, problem.pattern
    ends = problem.nodes_of(pattern.source), problem.nodes_of(pattern.target)
    hops, per_byte = problem.ways(*ends)
    slowest = np.maximum(per_byte, problem.port_work(*ends))
    ready = problem.sync.kind == "ready"
    alone = message_times(costs, pattern.size, ends[0] != ends[1], hops, slowest, requests=not ready).alone
    apart = problem.sync.kind == "barrier" and problem.sync.every == 1 and not problem.timetabled
    chain, time = longest_chain(before, alone + costs.setup_s * apart)
    time += problem.more_groups(len(chain), phases) if apart else costs.setup_s
    return BoundValue(time, f"messages {name_chain(chain)}: {len(chain)} that must follow one another")
