"""Channel numbers of contexts: a connection has the same channel at a node in every phase that shares it.

Schedules number channels phase by phase; phases that are open together need numbers that differ between connections and
agree on the ones they share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from conset.schedule.schedule import Schedule


def number_contexts(
    schedules: Sequence[Schedule], contexts: Sequence[Sequence[int]]
) -> tuple[Schedule, ...]:  # fmt: skip
    """The schedules with channels numbered anew in every context that several phases share."""
    members = Counter(context for phases in contexts for context in phases)
    known: dict[tuple[int, bytes, int], list[int]] = {}
    used: dict[tuple[int, int], int] = defaultdict(int)
    return tuple(
        _numbered(schedule, phases, members, known, used) for schedule, phases in zip(schedules, contexts, strict=True)
    )


def _numbered(
    schedule: Schedule, contexts: Sequence[int], members: Counter[int], known: dict[tuple[int, bytes, int], list[int]],
    used: dict[tuple[int, int], int],
) -> Schedule:  # fmt: skip
    offsets, nodes = schedule.route_offsets, schedule.route_nodes
    if schedule.channels is None or offsets is None or nodes is None:
        return schedule
    channels = np.array(schedule.channels)
    for p, context in enumerate(contexts):
        if members[context] == 1:
            continue
        at = schedule.phase(p)
        same: Counter[bytes] = Counter()
        for k in range(at.start, at.stop):
            route = nodes[offsets[k] : offsets[k + 1]]
            if route.size < 2:
                continue
            way = route.tobytes()
            key = (context, way, same[way])
            same[way] += 1
            if key not in known:
                known[key] = [used[context, node] for node in route.tolist()]
                for node in route.tolist():
                    used[context, node] += 1
            channels[offsets[k] : offsets[k + 1]] = known[key]
    return replace(schedule, channels=channels)
