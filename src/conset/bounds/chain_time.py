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
from conset.bounds.question import Found, Question
from conset.machine.times import message_times


def bound_chain_time(question: Question, phases: int) -> Found | None:
    """The longest chain [s]; None without an order, or where messages may be split."""
    before = question.pattern.before
    if before is None or not len(before) or question.split:
        return None
    costs, pattern = question.costs, question.pattern
    ends = question.nodes_of(pattern.source), question.nodes_of(pattern.target)
    hops, per_byte = question.ways(*ends)
    slowest = np.maximum(per_byte, question.port_work(*ends))
    ready = question.sync.kind == "ready"
    alone = message_times(costs, pattern.size, ends[0] != ends[1], hops, slowest, requests=not ready).alone
    apart = question.sync.kind == "barrier" and question.sync.every == 1 and not question.timetabled
    chain, time = longest_chain(before, alone + costs.setup_s * apart)
    time += question.more_groups(len(chain), phases) if apart else costs.setup_s
    return Found(time, f"messages {name_chain(chain)}: {len(chain)} that must follow one another")
