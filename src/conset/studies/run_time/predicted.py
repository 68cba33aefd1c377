"""Predicted: what run-time scheduling would cost on more ranks than can be started.

The scheduling is really computed, by the code that every rank runs, and timed on this processor.
What crosses the network is timed by the machine's model (`conset.studies.times`):
executions under every policy; the exchange of rows, as a concatenation in log2(ranks) steps, each
twice as long as the one before (Wang and Ranka, Section 4.2), or, where one rank computes, as a
gather of the rows and a scatter of each rank's part. Planning is left out: a rank makes its
requests whatever the method, and they cancel out against posting everything.

Measured set-ups hold what this leaves out: the agreement of all ranks, the planning, and calls of
the MPI library.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.errors import InputError
from conset.execution.run_time import check_methods, machine_word, temporary_folders
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.methods.phases.table import find_method
from conset.pattern.pattern import Pattern
from conset.schedule.schedule import Schedule
from conset.studies.run_time.costs import POSTING, SYNCS, RunTimeCosts, RunTimeRow
from conset.studies.times import time_schedule

HEAD_B, ENTRY_B = 8, 12
"""Of a row: how many entries it has; target and bytes of each [B]."""
PART_B, SEND_B, RECEIVE_B = 64, 12, 20
"""Of a rank's part of a schedule: the lengths of its lists.

What stands there of a send and of a receive [B].
"""
Column = NDArray[np.int64]
REPEATS = 3
"""Times each schedule is computed.

The least processor time counts, in which other work on the machine does not.
"""


@dataclass(frozen=True)
class Scheduled:
    """A schedule with the time that one processor took to find it [s]."""

    schedule: Schedule
    compute_s: float


def predict_costs(
    pattern: Pattern, machine: Machine, methods: Sequence[str], *, seed: int = 0
) -> RunTimeCosts:
    """Costs of scheduling a pattern at run time on a machine, predicted.

    Args:
        pattern: what is sent; rank r lives on node r.
        machine: what it runs on, and whose model says what executions take.
        methods: as `alltoallv_init` knows them.
        seed: of every random choice.

    Raises:
        UsageError: an unknown method. InputError: the pattern does not fit the machine.
    """
    check_methods(methods)
    timed = _Timed()
    ways = {
        "all": timed.of(concatenation(pattern, machine)),
        "one": timed.of(collection(pattern, machine)) + timed.of(distribution(pattern, machine)),
    }
    core = CoreScheduler(pattern, machine, seed)
    posting = core.schedule(POSTING, "none")
    rows, skipped = [_row(POSTING, "none", posting, timed.of(posting.schedule))], []
    for method in dict.fromkeys(methods):
        if method == POSTING:
            continue
        try:
            found = [(sync, core.schedule(method, sync)) for sync in SYNCS]
        except InputError as reason:
            skipped.append((method, str(reason)))
            continue
        for sync, each in found:
            execution_s = timed.of(each.schedule)
            rows += [
                _row(method, sync, each, execution_s, way, rows_s) for way, rows_s in ways.items()
            ]
    return RunTimeCosts(
        ranks=pattern.ranks,
        pattern=pattern.name,
        machine=machine.name,
        messages=pattern.messages,
        bytes=pattern.bytes,
        by=timed.by,
        is_measured=False,
        rows=tuple(rows),
        skipped=tuple(skipped),
    )


class _Timed:
    """Times by the machine's model, and which one that was for the schedule that was timed last."""

    def __init__(self) -> None:
        self.by = ""

    def of(self, schedule: Schedule) -> float:
        timing = time_schedule(schedule)
        self.by = timing.by
        return timing.time_s


def _row(
    method: str,
    sync: str,
    found: Scheduled,
    execution_s: float,
    compute: str = "",
    rows_s: float = 0.0,
) -> RunTimeRow:
    compute_s = found.compute_s if compute else 0.0
    return RunTimeRow(
        method=found.schedule.method,
        sync=found.schedule.sync,
        compute=compute,
        sources_known=True,
        asked_method=method,
        asked_sync=sync,
        phases=found.schedule.phases,
        rows_s=(rows_s,),
        schedule_s=(compute_s,),
        plan_s=(),
        setup_s=(rows_s + compute_s,),
        first_s=(),
        execution_s=(execution_s,),
    )


class CoreScheduler:
    """Schedules of a pattern on a machine, as every rank would compute them."""

    def __init__(self, pattern: Pattern, machine: Machine, seed: int) -> None:
        self.pattern, self.machine, self.seed = pattern, machine, seed
        with temporary_folders() as folder:
            self.core = _core.MachineData.in_words(machine_word(machine, folder), pattern.ranks)

    def schedule(self, method: str, sync: str) -> Scheduled:
        """The schedule, timed: the least of `REPEATS` times.

        Raises:
            InputError: the method does not apply, or found none.
        """
        pattern, size = self.pattern, np.ascontiguousarray(self.pattern.size)
        best_s = inf
        for _ in range(REPEATS):
            began = time.thread_time()
            try:
                found = _core.schedule_messages(
                    self.core,
                    pattern.ranks,
                    pattern.source,
                    pattern.target,
                    size,
                    method=method,
                    sync=sync,
                    seed=self.seed,
                )
            except RuntimeError as reason:
                raise InputError(str(reason)) from None
            best_s = min(best_s, time.thread_time() - began)
        limits = find_method(found.method).limits(self.machine.topology)
        made = Schedule(
            pattern,
            self.machine,
            found.method,
            limits,
            found.phase_offsets,
            found.message,
            sync=found.sync,
            in_flight=found.in_flight or None,
        )
        return Scheduled(made, best_s)


def row_bytes(pattern: Pattern) -> Column:
    """shape=(ranks), int64.

    A compressed row [B]: its number of entries, and target and size of each.
    """
    return HEAD_B + ENTRY_B * np.bincount(pattern.source, minlength=pattern.ranks)


def concatenation(pattern: Pattern, machine: Machine) -> Schedule:
    """Rows of all ranks to all.

    In step k a rank has those of 2^k neighbours and sends them 2^k ranks back.

    Any number of ranks; of the last step only what is missing is sent.
    """
    ranks = pattern.ranks
    total = np.concatenate([[0], np.cumsum(np.tile(row_bytes(pattern), 2))])
    rank = np.arange(ranks)
    steps = []
    reach = 1
    while reach < ranks:
        count = min(reach, ranks - reach)
        steps.append((rank, (rank - reach) % ranks, total[rank + count] - total[rank]))
        reach *= 2
    return _in_steps(steps, pattern, machine, "local")


def collection(pattern: Pattern, machine: Machine) -> Schedule:
    """The rows of all ranks to rank 0, each by itself.

    As libraries gather parts of unequal length.
    """
    others = np.arange(1, pattern.ranks)
    return _in_steps([(others, 0 * others, row_bytes(pattern)[1:])], pattern, machine, "none")


def distribution(pattern: Pattern, machine: Machine) -> Schedule:
    """From rank 0 to each its part of the schedule: what it sends and what it receives."""
    sends, receives = (
        np.bincount(ends, minlength=pattern.ranks) for ends in (pattern.source, pattern.target)
    )
    size = PART_B + SEND_B * sends + RECEIVE_B * receives
    others = np.arange(1, pattern.ranks)
    return _in_steps([(0 * others, others, size[1:])], pattern, machine, "none")


def _in_steps(
    steps: Sequence[tuple[Column, Column, Column]], pattern: Pattern, machine: Machine, sync: str
) -> Schedule:
    """Messages in phases, one for each step; a pair of ranks has one message at most."""
    empty = np.zeros(0, np.int64)
    source, target, size = (np.concatenate([empty, *(step[k] for step in steps)]) for k in range(3))
    traffic = Pattern.from_messages(source, target, size, pattern.ranks, name="rows")
    # messages of a pattern are sorted by source, then target
    pairs = traffic.source.astype(np.int64) * pattern.ranks + traffic.target
    message = np.searchsorted(pairs, source * pattern.ranks + target).astype(np.int32)
    offsets = np.cumsum([0, *(len(step[0]) for step in steps)])
    return Schedule(traffic, machine, "steps", Limits(), offsets, message, sync=sync)
