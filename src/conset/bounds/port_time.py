"""Port time: a port works on its messages one byte after the other.

Statement: time ≥ the work of every port: Σ (overhead + bytes / rate) over the messages out of v, and over those into v;
where in and out share a rate, ≥ Σ (overhead / 2 + w · bytes / rate) over both, w < 1 for as many bytes as can meet
in exchanges. Proof: whatever the phases, the predicted time of each is at least the port's work in it, and the sum
over phases is at least the work of all. Class: any limits, any routes, every policy (`ready` adds its signals; split
messages pay the least overhead a part may have). Witness: the node. O(messages).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from conset.bounds.question import Found, Question
from conset.machine.work import profile_phases

SIDES = (("sends", True, False), ("receives", False, True), ("sends and receives", True, True))
"""By the number the core gives the resource: verb, whether messages out of the node count, whether those into it do."""


def bound_port_time(question: Question) -> Found:
    """The busiest port or half-duplex node [s]."""
    count = question.source.size
    profile = profile_phases(
        question.machine, replace(question.work, link=np.zeros(0), blocking=0.0),
        question.source, question.target, question.size,
        phase_offsets=np.array([0, count], np.int64), batch_offsets=np.array([0, 1], np.int64), phase_by_phase=False,
        crowds=True,
    )  # fmt: skip
    side = int(np.argmax(profile.most[:3]))
    node = int(profile.where[side])
    if node < 0:
        return Found(0.0, "no message leaves its node")
    verb, out, into = SIDES[side]
    mine = np.zeros(count, bool)
    mine |= out & (question.source == node)
    mine |= into & (question.target == node)
    words = f"{question.topology.node_name(node)} {verb} {mine.sum()} messages, {question.size[mine].sum():,} B"
    return Found(float(profile.most[side]), words)
