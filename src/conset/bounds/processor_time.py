"""Processor time: a processor works on one message after the other.

Statement: time ≥ setup · (phases of the rank) + Σ send overheads of rank r + the least of what a message it sends has
to go after its overhead; ≥ the larger of these set-ups and the least way of a message to r, + Σ receive overheads of r
+ the least rest of a message; where one processor pays for both and handlers do not overlap (`preempts`), ≥ set-ups +
all overheads of r + the least rest of any. Under `ready`, half a signal for each message is work at either end. Proof:
in every model steps 3 and 7 of a message's life and set-ups take turns on the processor, a set-up goes before all
messages of its phase, and a message is not delivered before its remaining steps. With barriers the rests are paid in
every group that r has messages in. Class: every policy, any limits, any routes; split messages pay the least overhead a
part may have. Witness: the rank. O(messages).
"""

from __future__ import annotations

import numpy as np

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_processor_time(problem: BoundProblem, phases: int) -> BoundValue | None:
    """The busiest processor [s]; None where messages are no work for processors."""
    costs, sums = problem.costs, problem.sums
    if not (costs.has_overheads or costs.setup_s or (problem.sync.kind == "ready" and costs.signal_s)):
        return None
    sending = problem.phases_of((sums.sends, problem.limits.send))
    receiving = problem.phases_of((sums.receives, problem.limits.receive))
    either = np.maximum(sending, receiving)
    barriers = problem.sync.kind == "barrier"  # groups in which a rank only receives are no groups of what it sends
    opened = {"sends": sending if barriers else either, "receives": receiving if barriers else either}
    opening = {verb: count * costs.setup_s for verb, count in opened.items()}
    kinds = {
        "sends": problem.in_groups(opening["sends"] + sums.send, sums.sending.out, sending, phases),
        "receives": np.maximum(
            problem.in_groups(opening["receives"] + sums.receive, sums.receiving.out, receiving, phases),
            problem.in_groups(sums.receive, sums.receiving.both, receiving, phases),
        ),
    }
    if costs.one_processor and not costs.preempts:
        rest = np.minimum(sums.sending.out, sums.receiving.out)
        work = either * costs.setup_s + sums.send + sums.receive
        kinds["sends and receives"] = problem.in_groups(work, rest, either, phases)
    verb = max(kinds, key=lambda kind: float(kinds[kind].max(initial=0.0)))
    time = kinds[verb]
    rank = int(time.argmax())
    return BoundValue(float(time[rank]), f"a processor of rank {rank}, which {verb} {_count(problem, verb, rank)}")


def _count(problem: BoundProblem, verb: str, rank: int) -> str:
    pattern = problem.pattern
    count = int((pattern.source == rank).sum()) if "sends" in verb else 0
    count += int((pattern.target == rank).sum()) if "receives" in verb else 0
    return count_of(count, "message")
