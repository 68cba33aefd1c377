"""Timetables in predictions: a phase lasts until its last transfer has ended.

A timetable is kept as an order: every port and every unit of a link takes its transfers in the order of their starts,
each as soon as it is free and what must come before has ended. On the schedule's own machine that gives its times back,
and a phase is never said to be shorter than its table; elsewhere, or with other costs, the same order is timed anew.
Where phases are not kept apart by barriers the order runs through all of them. Messages that a timetable keeps apart on
a link do not block each other. O(transfers · hops).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.machine.work import Work, transfer_s
from conset.network.routes import core_network
from conset.schedule.loads import chosen_links
from conset.schedule.order import order_of_transfers
from conset.schedule.schedule import Schedule


def timetable_busy(
    schedule: Schedule, work: Work, half_duplex: bool, batches: NDArray[np.int64], *, latest_ends: bool
) -> NDArray[np.float64]:
    """shape=(phases), float64 [s]: when all transfers up to each phase have ended, since its batch began.

    Args:
        schedule: with a timetable.
        work: what messages cost.
        half_duplex: whether a node has one line for what it sends and receives.
        batches: shape=(batches + 1), int64, over phases; nothing separates phases of a batch.
        latest_ends: whether the table's own times count, too.
    """
    table, machine = schedule.timetable, schedule.machine
    if table is None or schedule.phases == 0:
        return np.zeros(schedule.phases)
    topology, links = machine.topology, chosen_links(schedule)
    source, target = (np.ascontiguousarray(node, np.int32) for node in (schedule.source_node, schedule.target_node))
    duration = transfer_s(machine, work, source, target, schedule.size, links)
    order = np.lexsort((table[:, 1], table[:, 0], schedule.phase_of)).astype(np.int32)
    width = topology.link_width if topology.link_width is not None else np.array([topology.width], np.int32)
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    lines = _core.TimeLines(
        network=core_network(topology, machine.routing), source=source, target=target, route_offsets=links[0],
        route_links=links[1], width=width, serial=half_duplex, duration=duration, first=first, second=second,
    )  # fmt: skip
    _, end = _core.time_in_order(lines, order, schedule.phase_offsets[batches])
    busy = np.zeros(schedule.phases)
    full = np.flatnonzero(np.diff(schedule.phase_offsets))
    busy[full] = np.maximum.reduceat(end, schedule.phase_offsets[full])
    if latest_ends:
        busy[full] = np.maximum(busy[full], np.maximum.reduceat(table[:, 1], schedule.phase_offsets[full]))
    for begin, end in pairwise(batches.tolist()):
        np.maximum.accumulate(busy[begin:end], out=busy[begin:end])
    return busy
