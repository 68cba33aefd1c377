"""Policies: one formula per way of keeping phases apart.

All say time = synchronization + set-up + transfer. Set-up is `setup_s` for every phase, whatever the policy: a node
pays it when it first touches a phase. Transfer is the work (`conset.machine.work`) of the busiest resource, and the
policies differ in which phases add up at a resource before the busiest is taken, and in which messages are in flight
together and so load a link or meet as an exchange:

| policy | adds up over | together | synchronizations |
| --- | --- | --- | --- |
| none | all phases | all phases | 0 |
| local | all phases | one phase | 0 |
| ready | all phases, a signal per message | one phase | 0 |
| barrier:k | k phases, the groups one after the other | k phases | 1 per group |

So barriers wait for the busiest resource of every phase (sum of maxima), the others for the one that is busiest in all
(maximum of sums): posting everything wins where barriers or uneven phases cost, and loses where messages in flight
together block each other on links (`blocking` > 0) or miss the synchronized exchange of a half-duplex node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conset.schedule.sync import Kind, Sync


@dataclass(frozen=True)
class Policy:
    """One row: how a policy groups phases, and its formula in words.

    Attributes:
        adds_up: `all`: work adds up over all phases; `group`: over the phases between two barriers.
        phase_by_phase: whether loads and exchanges are those of one phase, not of all that adds up.
        formula: for people.
    """

    adds_up: str
    phase_by_phase: bool
    formula: str


NONE = Policy(
    "all",
    False,
    "set-up of every phase + the most work of one port, node or link, all messages in flight together",
)
"""S2 of the Wang-Ranka text: everything is posted in schedule order.

    T = P · setup + max over r of W_r(all messages),   where the work of a link is
    W_l = B_l / (rate · width) · max(1, load_l / (tolerance · width))^blocking
"""

LOCAL = Policy(
    "all",
    True,
    "set-up of every phase + the most work of one port, node or link, added up phase by phase",
)
"""A rank ends its own transfers of a phase before its next: ranks drift apart, a link sees about one phase at once.

    T = P · setup + max over r of Σ over p of W_r(messages of phase p)
"""

READY = Policy(
    "all",
    True,
    "as local, with a zero-byte signal for every message at both its ports",
)
"""S1 of the Wang-Ranka text: `local`, and a source waits for its target's signal.

    T as `local`, every overhead greater by `signal_s`
"""

BARRIER = Policy(
    "group",
    False,
    "for every phase: synchronization + set-up + the most work of one port, node or link in it",
)
"""All transfers of k phases end everywhere before the next starts anywhere; S is not charged at the first group unless
`first_barrier` says so.

    T = G · S + P · setup + Σ over groups g of max over r of W_r(messages of group g),   G = ⌈P / k⌉
"""

POLICIES: dict[Kind, Policy] = {"none": NONE, "local": LOCAL, "ready": READY, "barrier": BARRIER}


def batch_offsets(sync: Sync, phases: int) -> NDArray[np.int64]:
    """shape=(batches + 1), int64: batch b is phases `offsets[b] … offsets[b + 1] - 1`, whose work adds up."""
    step = sync.every if POLICIES[sync.kind].adds_up == "group" else max(phases, 1)
    return np.append(np.arange(0, phases, step, dtype=np.int64), np.int64(phases))


def formula_of(sync: Sync) -> str:
    """The formula of a policy in words."""
    if sync.every == 1:
        return POLICIES[sync.kind].formula
    return f"for every {sync.every} phases: synchronization + their set-ups + the most work of one port, node or link"


def synchronizations(sync: Sync, phases: int, first_barrier: bool) -> int:
    """Barriers that are charged: one between groups, and one before the first where the machine charges it."""
    entered = 1 if first_barrier and sync.kind == "barrier" and phases > 0 else 0
    return sync.barriers(phases) + entered
