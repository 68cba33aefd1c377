"""Schedules whose messages have an order that phases keep inside.

At random, the same for a seed.
"""

from __future__ import annotations

import numpy as np

from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routing import Routing
from conset.machine.network.topology import Topology
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule


def ordered_schedule(seed: int, phases: int, *, ranks: int = 7, messages: int = 25) -> Schedule:
    """Messages listed at random, cut into phases anywhere.

    Some follow others of their ranks that are listed earlier.

    Some messages are in two parts, all of which keep the order.
    """
    rng = np.random.default_rng(seed)
    source = rng.integers(0, ranks, messages)
    target = (source + rng.integers(1, ranks, messages)) % ranks
    apart = {
        (s, t): k for k, (s, t) in enumerate(zip(source.tolist(), target.tolist(), strict=True))
    }
    source, target = np.array(sorted(apart)).T
    listed = rng.permutation(source.size)
    ends = np.stack([source, target], axis=1)
    before = [
        (i, j)
        for k, j in enumerate(listed.tolist())
        for i in listed[:k].tolist()
        if rng.random() < 0.25 and set(ends[i].tolist()) & set(ends[j].tolist())
    ]
    pattern = Pattern.from_messages(
        source, target, rng.integers(2, 40, source.size), ranks, before=before
    )
    twice = rng.random(source.size) < 0.2
    message = np.repeat(listed, 1 + twice[listed])
    second = np.append(False, message[1:] == message[:-1])
    parts = np.where(
        twice[message], np.where(second, pattern.size[message] - 1, 1), pattern.size[message]
    )
    cuts = np.sort(rng.integers(0, message.size + 1, phases - 1))
    topology = Topology.crossbar(ranks)
    machine = Machine(f"crossbar:{ranks}", topology, Routing.default(topology))
    offsets = np.concatenate([[0], cuts, [message.size]])
    return Schedule(pattern, machine, "by hand", Limits(), offsets, message.astype(np.int32), parts)
