"""Phase visits: when ranks may enter their phases under a policy.

Given when messages are delivered; for checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from conset.machine.machine import Machine
from conset.models.needs import rounded_up
from conset.models.workload import Workload
from conset.schedule.policy import Sync

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PhaseVisits:
    """The visits of ranks to phases: a rank visits a phase in which it sends or receives.

    Attributes:
        rank: shape=(visits), int64, rising.
        phase: shape=(visits), int64, rising inside a rank.
        sending: shape=(messages), int64: the visit of each message's sender.
        receiving: shape=(messages), int64: of its receiver.
        entered_s: shape=(visits), float64 [s]: not entered earlier.
        paid_s: shape=(visits), float64 [s]: its set-up, and those of the visits before, are not
            paid earlier.
    """

    rank: NDArray[np.int64]
    phase: NDArray[np.int64]
    sending: NDArray[np.int64]
    receiving: NDArray[np.int64]
    entered_s: Floats
    paid_s: Floats

    @staticmethod
    def of(
        workload: Workload, machine: Machine, sync: Sync, end_s: Floats, cycle_s: float = 0.0
    ) -> PhaseVisits:
        """The visits of a workload whose messages are delivered at `end_s`; none for a trace.

        Args:
            workload: what was played.
            machine: on what.
            sync: under which policy.
            end_s: shape=(messages) [s].
            cycle_s: to whose multiples barriers and set-ups are rounded up; 0: not at all.
        """
        if not workload.phases:
            none = np.zeros(0, np.int64)
            nowhere = np.zeros(workload.messages, np.int64)
            return PhaseVisits(none, none, nowhere, nowhere, np.zeros(0), np.zeros(0))
        costs = machine.costs_for(workload.method)
        key = [
            rank.astype(np.int64) * workload.phases + workload.phase_of
            for rank in (workload.sending_rank, workload.receiving_rank)
        ]
        visits, place = np.unique(np.concatenate(key), return_inverse=True)
        sending, receiving = np.split(place.astype(np.int64).ravel(), 2)
        rank, phase = visits // workload.phases, visits % workload.phases
        if sync.kind == "barrier":
            barrier_s = rounded_up(costs.synchronization.at(machine.topology.endpoints), cycle_s)
            entered = _after_barriers(workload, sync, end_s, barrier_s, costs.first_barrier)[phase]
        elif sync.kind == "none":
            entered = np.zeros(visits.size)
        else:
            last = np.zeros(visits.size)
            for place in (sending, receiving):
                np.maximum.at(last, place, end_s)
            entered = _before_each(last, rank)
        return PhaseVisits(
            rank,
            phase,
            sending,
            receiving,
            entered,
            _paid(entered, rank, rounded_up(costs.setup_s, cycle_s)),
        )


def _after_barriers(
    workload: Workload, sync: Sync, end_s: Floats, barrier_s: float, first: bool
) -> Floats:
    """shape=(phases) [s]: when the barrier before each phase's group has ended.

    Groups without messages have none.
    """
    group = workload.phase_of // sync.every
    groups = (workload.phases - 1) // sync.every + 1
    last = np.zeros(groups + 1)
    np.maximum.at(last, group + 1, end_s)
    begins = np.maximum.accumulate(last)[:groups]
    present = np.flatnonzero(np.bincount(group, minlength=groups))
    charged = np.full(groups, barrier_s)
    charged[: present[0] + 1 if present.size else groups] = barrier_s if first else 0.0
    return np.asarray((begins + charged)[np.arange(workload.phases) // sync.every])


def _before_each(last: Floats, rank: NDArray[np.int64]) -> Floats:
    """shape=(visits): the largest of `last` over the visits of the same rank before each.

    0 before the first.
    """
    before = np.zeros(last.size)
    for low, high in _ranges(rank):
        before[low + 1 : high] = np.maximum.accumulate(last[low : high - 1])
    return before


def _paid(entered: Floats, rank: NDArray[np.int64], setup_s: float) -> Floats:
    """One set-up after the other, none before its phase is entered."""
    paid = np.empty(entered.size)
    for low, high in _ranges(rank):
        count = np.arange(high - low)
        paid[low:high] = (
            np.maximum.accumulate(entered[low:high] - count * setup_s) + (count + 1) * setup_s
        )
    return paid


def _ranges(rank: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(first, after the last) visit of every rank."""
    return pairwise([*np.flatnonzero(np.diff(rank, prepend=-1)).tolist(), rank.size])
