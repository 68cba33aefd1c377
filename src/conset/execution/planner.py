"""Planner: from a schedule to what each rank executes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.arrays import frozen
from conset.errors import InputError
from conset.execution.check import check_order, check_plan
from conset.execution.plan import MAX_BYTES, Operations, Plan
from conset.schedule.posting import InFlight
from conset.schedule.schedule import Schedule
from conset.schedule.sync import Sync, parse_sync


def plan_schedule(schedule: Schedule, sync: Sync | str | None = None, *, in_flight: InFlight | None = None) -> Plan:
    """The plan that executes `schedule` under `sync` (default: the schedule's own); checked to end.

    A rank keeps `in_flight` sends open at once; None: as many as the schedule says, else its machine, else all.

    Transfers of a phase are posted in the order of the phase's list, or of their start where there is a timetable
    (the times themselves are a model's and are not kept).

    Raises:
        UsageError: `sync` is no policy, `in_flight` below 1.
        InputError: parts do not add up to the messages, a transfer is larger than 2³¹ - 1 bytes, or the pattern's
            order between messages is not kept under `sync`.
    """
    if sync is None:
        sync = schedule.sync
    if in_flight is None:
        in_flight = schedule.in_flight or schedule.machine.costs_for(schedule.method).in_flight or "all"
    policy = sync if isinstance(sync, Sync) else parse_sync(sync)
    _check_sizes(schedule)
    within = _offset_in_message(schedule)
    check_order(schedule, policy)
    pattern, message = schedule.pattern, schedule.message
    source, target = pattern.source[message], pattern.target[message]
    send_start, send_bytes = _layout(pattern.source, pattern.target, pattern.size, pattern.ranks)
    receive_start, receive_bytes = _layout(pattern.target, pattern.source, pattern.size, pattern.ranks)
    sends = _operations(schedule, source, target, send_start[message] + within)
    receives = _operations(schedule, target, source, receive_start[message] + within)
    plan = Plan(
        schedule.phases, policy, sends, receives, send_bytes, receive_bytes, None if in_flight == "all" else in_flight
    )
    check_plan(plan)
    return plan


def _check_sizes(schedule: Schedule) -> None:
    large = np.flatnonzero(schedule.size > MAX_BYTES)
    if large.size:
        k = int(large[0])
        raise InputError(
            f"transfer {k} (message {schedule.message[k]}) has {schedule.size[k]} bytes: MPI carries at most "
            f"{MAX_BYTES} in one message, split it"
        )


def _offset_in_message(schedule: Schedule) -> NDArray[np.int64]:
    """shape=(transfers) [B]: where each part starts in its message; parts follow each other in transfer order."""
    message, size = schedule.message, schedule.size
    order = np.argsort(message, kind="stable")
    ends = np.cumsum(size[order])
    found, first = np.unique(message[order], return_index=True)
    start = ends - size[order]
    within = np.empty(message.size, np.int64)
    within[order] = start - np.repeat(start[first], np.diff(np.append(first, message.size)))
    total = np.zeros(schedule.pattern.messages, np.int64)
    if found.size:
        total[found] = np.add.reduceat(size[order], first)
    wrong = np.flatnonzero(total != schedule.pattern.size)
    if wrong.size:
        m = int(wrong[0])
        raise InputError(
            f"message {m} has {schedule.pattern.size[m]} bytes, its transfers carry {total[m]}: must agree"
        )
    return within


def _layout(
    own: NDArray[np.int32], peer: NDArray[np.int32], size: NDArray[np.int64], ranks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start of each message in its rank's buffer, and the size of each rank's buffer [B]."""
    order = np.lexsort((peer, own))  # stable: messages of one pair stay in index order
    ends = np.cumsum(size[order])
    edges = np.concatenate([[0], ends])[np.searchsorted(own[order], np.arange(ranks + 1))].astype(np.int64)
    start = np.empty(size.size, np.int64)
    start[order] = ends - size[order] - edges[own[order]]
    return start, np.diff(edges)


def _operations(
    schedule: Schedule, own: NDArray[np.int32], peer: NDArray[np.int32], offset: NDArray[np.int64]
) -> Operations:
    keys = (
        (schedule.phase_of, own) if schedule.timetable is None else (schedule.timetable[:, 0], schedule.phase_of, own)
    )
    order = np.lexsort(keys)
    offsets = np.searchsorted(own[order], np.arange(schedule.pattern.ranks + 1)).astype(np.int64)
    return Operations(
        offsets,
        frozen(schedule.phase_of[order]),
        frozen(peer[order]),
        frozen(offset[order]),
        frozen(schedule.size[order]),
        frozen(order.astype(np.int32)),
    )
