"""Chains of the pattern's order: messages that must follow one another take at least their times alone, added up.

Every message starts when those before it are delivered. Between two barriers chains begin anew. O(transfers + pairs).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.machine.costs import Costs
from conset.machine.times import transfer_times
from conset.schedule.loads import chosen_links
from conset.schedule.order import order_of_transfers
from conset.schedule.schedule import Schedule


def chain_busy(
    schedule: Schedule, costs: Costs, batches: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(time, last), shape=(phases): the longest chain up to each phase since its batch began [s], its last transfer.

    Args:
        schedule: of a pattern with an order.
        costs: of the method.
        batches: shape=(batches + 1), int64, over phases.
    """
    alone = transfer_times(
        schedule.machine, costs, schedule.source_node, schedule.target_node, schedule.size, chosen_links(schedule)
    ).alone
    batch = np.repeat(np.arange(batches.size - 1), np.diff(batches))[schedule.phase_of]
    end = np.array(alone, np.float64)
    phase = schedule.phase_of
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    begins_s = np.zeros(schedule.transfers) if schedule.timetable is None else schedule.timetable[:, 0]
    # inside a phase the timetable keeps the order
    kept = (batch[first] == batch[second]) & ((phase[first] < phase[second]) | (schedule.timetable is not None))
    order = np.lexsort((begins_s[second[kept]], phase[second[kept]]))
    for i, j in zip(first[kept][order].tolist(), second[kept][order].tolist(), strict=True):
        end[j] = max(end[j], end[i] + alone[j])
    time, last = np.zeros(schedule.phases), np.zeros(schedule.phases, np.int64)
    latest, begins = (0.0, 0), set(batches.tolist())
    for p in range(schedule.phases):
        if p in begins:
            latest = (0.0, 0)
        inside = schedule.phase(p)
        if inside.stop > inside.start:
            k = inside.start + int(np.argmax(end[inside]))
            latest = max(latest, (float(end[k]), k))
        time[p], last[p] = latest
    return time, last
