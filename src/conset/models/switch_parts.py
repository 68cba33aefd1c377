"""Switches in their parts.

What is under way arrives (drain), all nodes meet (synchronization), connections are opened.

Measured, simulated and predicted times have one form. Simulated: a context is switched where a
phase of the chained program ends. Its drain is the time from when the last byte of the phase has
left its sender to the last delivery: 0 in models whose bytes arrive as they leave (`flow`,
`wormhole`, `circuit`); synchronization and set-up are the machine's, and follow it. Source:
Feldmann, Stricker, Warfel, ConSet, Section 2 (t_sync, t_phase) and Section 4.2.1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.times import synchronization_s
from conset.models.timeline import Timeline


@dataclass(frozen=True)
class SwitchParts:
    """What the communication context switches of one run of a program take together.

    Attributes:
        count: switches; entering the first context is none.
        drain_s: until what is under way has arrived [s].
        synchronization_s: of all nodes [s].
        setup_s: closing and opening connections [s].
    """

    count: int
    drain_s: float
    synchronization_s: float
    setup_s: float

    def to_object(self) -> dict[str, float]:
        """`{"count": …, "drain_s": …, "synchronization_s": …, "setup_s": …}`."""
        return asdict(self)

    @staticmethod
    def median(parts: NDArray[np.float64]) -> SwitchParts:
        """The median of repetitions, part by part.

        Shape=(repetitions, 4), in the order of the attributes.
        """
        count, *seconds = np.median(parts, axis=0).tolist()
        return SwitchParts(round(count), *seconds)


def simulated_switches(timeline: Timeline, machine: Machine, costs: Costs) -> SwitchParts | None:
    """The switches of a chained program of blocks as a model has played it.

    Args:
        timeline: of the chained program, with its workload.
        machine: whose nodes meet.
        costs: what was played with.

    Returns:
        None where nothing is switched as a whole: another policy than barriers between all phases.
    """
    work = timeline.workload
    if work is None or timeline.sync != "barrier":
        return None
    last = np.full(work.phases, np.inf)  # where nothing is sent, nothing drains
    last[work.phase_of] = 0.0
    np.maximum.at(last, work.phase_of, timeline.left_s if timeline.left_s.size else timeline.end_s)
    drain = np.maximum(timeline.phase_end_s - last, 0.0)[:-1]
    count = drain.size
    return SwitchParts(
        count, float(drain.sum()), count * synchronization_s(machine, costs), count * costs.setup_s
    )
