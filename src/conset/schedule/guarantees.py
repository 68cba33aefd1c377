"""Guarantees of programs: what every connection gets at least while its context is open.

A context holds the connections of all its phases open at once, and all of them count, whichever
phase runs: those of several phases that take the same route between the same nodes are one.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from conset.schedule.linkage import Guarantees
from conset.schedule.program import Program
from conset.schedule.program_connections import INSIDE, Connections


def program_guarantees(program: Program) -> tuple[Guarantees, ...]:
    """Least bandwidth and worst latency of every transfer of each schedule.

    O(hops of all transfers).
    """
    connections = Connections(program.schedules)
    members: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for s, contexts in enumerate(program.contexts):
        for phase, context in enumerate(contexts):
            members[context].append((s, phase))
    found = tuple(
        Guarantees(np.full(s.transfers, np.inf), np.zeros(s.transfers)) for s in program.schedules
    )
    for phases in members.values():
        numbers = {place: np.array(connections.numbers(*place), np.int64) for place in phases}
        ids = np.unique(np.concatenate(list(numbers.values())))
        ids = ids[ids != INSIDE]
        for (s, phase), own in numbers.items():
            bandwidth, latency = connections.guarantees(ids.tolist(), program.schedules[s].method)
            leaves = np.flatnonzero(own != INSIDE)
            at = leaves + int(program.schedules[s].phase_offsets[phase])
            row = np.searchsorted(ids, own[leaves])
            found[s].bandwidth_Bps[at], found[s].latency_s[at] = bandwidth[row], latency[row]
    return found
