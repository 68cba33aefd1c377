"""Receives: whether a node may have as many receives posted as a policy asks for, before anything is simulated."""

from __future__ import annotations

from conset.errors import InputError
from conset.machine.costs import Costs
from conset.machine.machine import Machine
from conset.schedule.receives import most_posted
from conset.schedule.sync import parse_sync
from conset.simulation.settings import Settings
from conset.simulation.workload import Workload


def check_receives(workload: Workload, machine: Machine, costs: Costs, settings: Settings) -> None:
    """Receives are posted first: all of a node under `none`, those of a phase or group under the other policies.

    What a rank takes at once (`--receives`) makes no difference: the others are posted too.

    Raises:
        InputError: more than the machine's `outstanding_receives` at a node; names it and both numbers.
    """
    limit = costs.outstanding_receives
    if limit is None:
        return
    sync = parse_sync(settings.sync)
    posted, node = most_posted(workload.source, workload.target, workload.phase_of, sync)
    if posted > limit:
        raise InputError(
            f"infeasible: {machine.topology.node_name(node)} would have {posted} receives posted under sync "
            f"{settings.sync}, {machine.name} allows {limit}"
        )
