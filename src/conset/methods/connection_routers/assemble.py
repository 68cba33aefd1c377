"""Assemble: what a router found as phases of transfers, and how good it is by the objective."""

from __future__ import annotations

import numpy as np

from conset.machine.work import profile_phases, work_of
from conset.methods.connection_routers.task import Routed, Task
from conset.methods.problem import Phases
from conset.schedule.linkage import number_channels
from conset.schedule.loads import chosen_links, phase_loads
from conset.schedule.schedule import Schedule

Score = tuple[float, ...]
"""Smaller is better, place by place."""


def assemble(routed: Routed) -> Phases:
    """Phases of whole messages with their routes and channels; empty phases vanish."""
    phases = Phases.of(routed.phase, routed.order)
    length = np.diff(routed.offsets)[phases.message]
    offsets = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    index = np.arange(offsets[-1]) + np.repeat(routed.offsets[phases.message] - offsets[:-1], length)
    nodes = routed.nodes[index]
    return Phases(
        phases.offsets, phases.message, route_offsets=offsets, route_nodes=nodes,
        channels=number_channels(phases.offsets, offsets, nodes), stopped_early=routed.stopped_early,
    )  # fmt: skip


def schedule_of(task: Task, phases: Phases) -> Schedule:
    """The noun, for what is counted on schedules."""
    problem = task.problem
    return Schedule(
        problem.pattern, problem.machine, "connections", problem.limits, phases.offsets, phases.message,
        parts=phases.parts, placement=problem.placement, route_offsets=phases.route_offsets,
        route_nodes=phases.route_nodes,
    )  # fmt: skip


def time_of(task: Task, phases: Phases) -> float:
    """Set-up and barrier of every phase, and in each the work of the busiest port or link [s]."""
    schedule = schedule_of(task, phases)
    machine = task.problem.machine
    count = schedule.phases
    work = work_of(machine, machine.costs_for("connections"), "barrier")
    profile = profile_phases(
        machine, work, schedule.source_node, schedule.target_node, schedule.size,
        phase_offsets=schedule.phase_offsets, batch_offsets=np.arange(count + 1, dtype=np.int64), phase_by_phase=False,
        links=chosen_links(schedule),
    )  # fmt: skip
    return count * task.setup_s + float(profile.busy.sum())


def score(task: Task, phases: Phases) -> Score:
    """The time, then phases and ΣL; or with the objective `phases` these two first."""
    loads = phase_loads(schedule_of(task, phases))
    count, total = phases.offsets.size - 1, int(loads.largest.sum(dtype=np.int64))
    time = round(time_of(task, phases), 15)
    return (count, total, time) if task.problem.search.objective == "phases" else (time, count, total)


def best_score(task: Task) -> Score:
    """No schedule has a better first two places; of the time of unequal sizes nothing is said."""
    least = max(task.least_phases, 1)
    if task.problem.search.objective == "phases":
        return (task.least_phases, task.least_sum(least))
    if not task.equal_sizes:
        return (0.0,)
    return (min(task.least_time(p) for p in range(least, 3 * least + 1)),)
