"""Bounds: what no execution of a workload under given settings can beat, in each class, without simulating it.

These are bounds on *this* order and these settings, for checking timelines; what no schedule of a pattern can beat is
the business of `conset.bounds`.
"""

from __future__ import annotations

import numpy as np

from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.machine.work import synchronization_s
from conset.schedule.sync import parse_sync
from conset.simulation.resources import Resources
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload


def lower_bound(
    workload: Workload, resources: Resources, costs: Costs, machine: Machine, settings: Settings
) -> tuple[float, str]:
    """(time [s], what it counts): the largest of all bounds that hold here.

    - bytes of a link, port or node over its rate; between two barriers, the sum of these over the groups, with the
      barriers and one set-up each;
    - one in flight: everything a rank sends, one after the other, each as if alone.
    """
    if not workload.messages:
        return 0.0, "nothing to send"
    sync = parse_sync(settings.sync if workload.phases else "none")
    bounds = [(float(resources.loads().max(initial=0.0)), "bytes over rate of the busiest resource")]
    if sync.kind == "barrier":
        group = workload.phase_of // sync.every
        present = np.unique(group)
        work = sum(float(resources.loads(group == g).max(initial=0.0)) for g in present.tolist())
        barriers = present.size - (0 if costs.first_barrier else 1)
        fixed = barriers * synchronization_s(machine, costs) + present.size * costs.setup_s
        bounds.append((work + fixed, "barriers, set-ups and the busiest resource of every group"))
    if settings.in_flight == 1:
        alone = np.where(workload.crosses, workload.bytes / resources.slowest, 0.0)
        total = np.zeros(int(workload.sending_rank.max()) + 1)
        np.add.at(total, workload.sending_rank, alone)
        bounds.append((float(total.max()), "all a rank sends, one after the other"))
    return max(bounds)
