"""Prediction: the time that a schedule takes by formula; one formula for each policy.

In a formula every resource is busy for its work and nothing waits for anything else. A message pays
`send_overhead` on a processor of its sender; then latency passes (`per_transfer` + `inject` +
`eject` + hops · `hop`); then its bytes flow at the least rate r of its route; `receive_overhead` is
work of the receiver's processor, before (`receive=before`) or after the bytes. Of a packed message
both overheads are b / `copy` longer. Alone a message takes a = send_overhead + latency + b/r +
receive_overhead. The resources are

    port out, port in   b / rate for every message of the node; `node`: for both together,
                        `exchange_weight` for bytes that meet as many of the other direction while
                        both nodes do nothing else
    link                b / (rate · width) for every message over it; where it carries more than
                        `tolerance` per unit of width, times (load / (tolerance · width))^blocking:
                        an estimate of what blocking costs, which no bound and no simulation has
    processors          send overheads of a rank, receive overheads, or both on one processor (not
                        where it `preempts`); `setup` for every phase the rank has transfers in, on
                        both; under `ready` half a signal for every message on the sending processor
                        of its target, half on the receiving one of its source
    shared processor    all that of the ranks of a node, set-ups of each rank, where they have one
                        processor together
    slots               a rank with `in_flight` slots sends in posting order, each message once a
                        slot is free; a slot is held until the last byte has left, so without other
                        waits they take Σ (send_overhead + latency + [receive_overhead with
                        `before`] + b/r) / in_flight
    message             set-up + a

and each takes W = least lead-in of its messages + work + least lead-out: what reaches it first has
come a way, and what leaves it last has a way to go. A phase without transfers of a rank costs it
nothing.

| policy | adds up over | together | synchronizations |
| --- | --- | --- | --- |
| none | all phases | all phases | 0 |
| local | all phases | one phase | 0 |
| ready | all phases, a signal per message | one phase | 0 |
| barrier:k | k phases, the groups one after the other | k phases | 1 per group |

So barriers wait for the busiest resource of every group (sum of maxima), `none` for the one that is
busiest in all (maximum of sums). Under `local` and `ready` ranks wait for their partners, which the
recurrence follows:

    E(r, p)   when rank r enters phase p: all its own messages of earlier phases are delivered
    S(m)      when message m: s → t of phase p starts: E(s, p), with a set-up not before E(t, p),
              under `ready` not before the signal of t, sent at E(t, p), has arrived; plus the
              set-up
    D(m)      when it is delivered: every resource on its way begins when the first of its messages
              of the phase can reach it, is busy for its work of the phase, and D(m) is the latest
              of them; at least S(m) + a. A shared processor begins when the first of its ranks
              enters the phase: work of other phases is not in its way
    E(r, p+1) the latest D(m) of its messages of phase p

The time is the latest D, or the busiest resource over all phases where that is more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conset.base import Bools, Floats, Ints, ValueObject
from conset.schedule import Kind, Sync


@dataclass(frozen=True, eq=False)
class Prediction(ValueObject):
    """What a formula says; no events, no measurements.

    Attributes:
        time_s: `synchronization` + `setup` + `transfer` [s].
        sync: the policy predicted for.
        phase_s: shape=(phases), float64 [s]: how much later the end comes because of each phase,
            given those before it. They add up to `time_s`; with a barrier after every phase it is
            simply how long each one takes.
        terms: `synchronization`, `setup` and `transfer` [s].
        warnings: a line each: what the machine's numbers were not made for.
        formula: the policy's formula as text.
        witness: the busiest resource where it takes longest: `phase 3: port out of node 5`.
        witness_kind: `port out`, `port in`, `node`, `link` or `message`; `nothing` where nothing
            leaves its node.
        machine: the machine predicted for.
        computation: of a machine that is to compute meanwhile, `computation_s`, `hidden_s` and
            `with_computation_s`.
    """

    time_s: float
    sync: str
    phase_s: Floats
    terms: dict[str, float]
    warnings: tuple[str, ...]
    formula: str
    witness: str
    witness_kind: str
    machine: str
    computation: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._freeze()

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it."""
        return {
            "time_s": self.time_s,
            "sync": self.sync,
            "phase_s": self.phase_s.tolist(),
            "terms": dict(self.terms),
            "machine": self.machine,
            "formula": self.formula,
            "witness": self.witness,
            "warnings": list(self.warnings),
            **self.computation,
        }

    def __repr__(self) -> str:
        return (
            f"Prediction({self.time_s:.6g} s on {self.machine}, sync={self.sync}, {self.witness})"
        )


@dataclass(frozen=True)
class Policy:
    """One row: how a policy groups phases, and its formula as text.

    Attributes:
        waits_for_partners: whether ranks keep phases apart by themselves.
        adds_up: `all`: work adds up over all phases; `group`: over the phases between two barriers.
        phase_by_phase: whether loads and exchanges are those of one phase, not of all that adds up.
        formula: for people.
    """

    adds_up: str
    phase_by_phase: bool
    waits_for_partners: bool
    formula: str


NONE = Policy(
    "all",
    False,
    False,
    "the most work of one processor, port, node or link, all messages in flight together",
)
"""S2 of the Wang-Ranka text: everything is posted in schedule order.

T = max over resources of W(all messages).
"""

LOCAL = Policy(
    "all",
    True,
    True,
    "every rank enters a phase when its own messages of the one before are delivered",
)
"""A rank ends its own transfers of a phase before its next.

Ranks drift apart, a link sees about one phase at once.

T = max(latest D, max over resources of W, work added up phase by phase).
"""

READY = Policy(
    "all",
    True,
    True,
    "as local, and a message waits for a zero-byte signal from its target",
)
"""S1 of the Wang-Ranka text: `local`, and a source waits for its target's signal."""

BARRIER = Policy(
    "group",
    False,
    False,
    "for every phase: synchronization + set-up + the most work of one processor, port, node "
    "or link in it",
)
"""All transfers of k phases end everywhere before the next starts anywhere.

S is not charged at the first group unless `first_barrier` says so. T = G · S + Σ over groups of max
over resources of W(messages of the group), G = ⌈P / k⌉.
"""

POLICIES: dict[Kind, Policy] = {"none": NONE, "local": LOCAL, "ready": READY, "barrier": BARRIER}


def batch_offsets(sync: Sync, phases: int) -> Ints:
    """shape=(batches + 1), int64.

    Batch b is phases `offsets[b] … offsets[b + 1] - 1`, whose work adds up.
    """
    step = sync.every if POLICIES[sync.kind].adds_up == "group" else max(phases, 1)
    return np.append(np.arange(0, phases, step, dtype=np.int64), np.int64(phases))


def formula_of(sync: Sync) -> str:
    """The formula of a policy as text."""
    if sync.every == 1:
        return POLICIES[sync.kind].formula
    return (
        f"for every {sync.every} phases: synchronization + the most work of one processor, port, "
        "node or link in them"
    )


def synchronizations(sync: Sync, phase_offsets: Ints, batches: Ints, first_barrier: bool) -> Bools:
    """shape=(batches): whether a batch of phases starts with a barrier that is charged.

    A batch without messages has none, nor has the first one with messages unless the machine
    charges it.
    """
    charged: Bools = np.diff(phase_offsets[batches]) > 0
    if sync.kind != "barrier":
        charged[:] = False
    elif not first_barrier:
        charged &= np.cumsum(charged) > 1
    return charged
