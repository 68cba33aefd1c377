"""Evaluate: a schedule, a policy and a machine's costs to a time, by the formulas of `policies`.

The core walks every route once: O(transfers + sum of hops) time, O(nodes + links + phases) memory.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.errors import InputError
from conset.machine.costs import Costs, Steps
from conset.machine.machine import Machine
from conset.machine.modes import with_computation
from conset.machine.work import KINDS, profile_phases, synchronization_s, work_of
from conset.network.topology import Topology
from conset.prediction.policies import POLICIES, batch_offsets, formula_of, synchronizations
from conset.prediction.prediction import Prediction
from conset.prediction.timetable import timetable_busy
from conset.schedule.loads import chosen_links
from conset.schedule.receives import most_posted
from conset.schedule.schedule import Schedule
from conset.schedule.sync import Sync, parse_sync
from conset.units import format_size, format_time

ROUNDING = 1e-12
"""Relative: a timetable and a port's work add the same terms in different orders."""


def predict(schedule: Schedule, *, sync: str | None = None, machine: Machine | None = None) -> Prediction:
    """The time a schedule takes by formula.

    Args:
        schedule: phases of transfers.
        sync: policy, or None: the schedule's own.
        machine: another machine: its costs and its routing. Routes the compiler chose are kept where the network is
            the same one.

    Raises:
        UsageError: an unknown policy.
        InputError: a rank lives on a node that the other machine does not have.
    """
    policy = parse_sync(schedule.sync if sync is None else sync)
    own = machine is None
    if machine is not None:
        schedule = moved(schedule, machine)
    machine = schedule.machine
    costs = machine.costs_for(schedule.method)
    batches = batch_offsets(policy, schedule.phases)
    work = work_of(machine, costs, policy.kind)
    if schedule.timetable is not None:
        work = replace(work, blocking=0.0)
    profile = profile_phases(
        machine, work, schedule.source_node, schedule.target_node, schedule.size,
        phase_offsets=schedule.phase_offsets, batch_offsets=batches,
        phase_by_phase=POLICIES[policy.kind].phase_by_phase, links=chosen_links(schedule),
    )  # fmt: skip
    charged = synchronizations(policy, schedule.phases, costs.first_barrier)
    busy = profile.busy
    if schedule.timetable is not None:
        busy = np.maximum(busy, timetable_busy(schedule, work, costs.half_duplex, batches, latest_ends=own))
    phase_s, terms = _add_up(busy, batches, charged, synchronization_s(machine, costs), costs.setup_s)
    witness_kind, witness = _witness(schedule, profile, busy, batches)
    time_s = sum(terms.values())
    return Prediction(
        time_s, str(policy), phase_s, terms, _warnings(schedule, costs, charged, policy),
        _formula(schedule, policy), witness, witness_kind, machine.name, _computation(schedule, costs, batches, time_s),
    )  # fmt: skip


def _computation(schedule: Schedule, costs: Costs, batches: NDArray[np.int64], time_s: float) -> dict[str, float]:
    """What a computation beside the schedule adds; it hides behind bytes that flow, not behind overheads."""
    if not costs.computation_s:
        return {}
    machine = schedule.machine
    work = replace(work_of(machine, costs, "none"), overhead=Steps())
    flowing = profile_phases(
        machine, work, schedule.source_node, schedule.target_node, schedule.size,
        phase_offsets=schedule.phase_offsets, batch_offsets=batches, phase_by_phase=False,
        links=chosen_links(schedule),
    )  # fmt: skip
    return with_computation(costs, time_s, float(flowing.busy[batches[1:] - 1].sum()))


def _add_up(
    busy: NDArray[np.float64], batches: NDArray[np.int64], charged: int, synchronization: float, setup: float
) -> tuple[NDArray[np.float64], dict[str, float]]:
    """(phase_s, terms) from the running work of each batch; the last `charged` batches start with a synchronization."""
    first, last = batches[:-1], batches[1:] - 1
    phase_s = np.diff(busy, prepend=0.0)
    phase_s[first] = busy[first]
    phase_s += setup
    if charged:
        phase_s[first[-charged:]] += synchronization
    terms = {
        "synchronization": charged * synchronization,
        "setup": busy.size * setup,
        "transfer": float(busy[last].sum()),
    }
    return phase_s, terms


def _formula(schedule: Schedule, policy: Sync) -> str:
    """The formula in words."""
    formula = formula_of(policy)
    return formula if schedule.timetable is None else f"{formula}; a phase with a timetable lasts until its last end"


def _witness(
    schedule: Schedule, profile: _core.Profile, busy: NDArray[np.float64], batches: NDArray[np.int64]
) -> tuple[str, str]:
    """(kind, words) of the resource that keeps the longest batch busy."""
    if schedule.phases == 0:
        return "nothing", "no messages"
    last = batches[1:] - 1
    b = int(np.argmax(busy[last]))
    kind, index = int(profile.kind[last[b]]), int(profile.index[last[b]])
    if kind < 0:
        return "nothing", "no message leaves its node"
    first = int(batches[b])
    if last.size == 1 and schedule.phases > 1:
        where = "all phases"
    else:
        where = f"phase {first}" if first == last[b] else f"phases {first} to {last[b]}"
    if busy[last[b]] > profile.busy[last[b]] * (1 + ROUNDING):
        return "timetable", f"{where}: the timetable, {format_time(busy[last[b]])} from start to end"
    topology = schedule.machine.topology
    if kind == 3:
        return KINDS[kind], f"{where}: {topology.link_name(index)}"
    if kind == 4:
        ends = int(schedule.source_node[index]), int(schedule.target_node[index])
        return KINDS[kind], f"{where}: message {schedule.message[index]} (node {ends[0]} → {ends[1]})"
    of = "both ports of" if kind == 2 else ("port out of" if kind == 0 else "port into")
    return KINDS[kind], f"{where}: {of} {topology.node_name(index)}"


def _warnings(schedule: Schedule, costs: Costs, charged: int, policy: Sync) -> tuple[str, ...]:
    """Where the machine's numbers are used for what they were not made for."""
    lines = []
    name = schedule.machine.name
    if schedule.transfers:
        low, high = costs.size_range_B
        size = schedule.size[:1] if schedule.size.strides == (0,) else schedule.size
        smallest, largest = int(size.min()), int(size.max())
        if smallest < low or largest > high:
            given = " to ".join(dict.fromkeys((format_size(smallest), format_size(largest))))
            known = f"from {format_size(low)}" + (f" to {format_size(high)}" if high < float("inf") else "")
            lines.append(f"{name}: its numbers are for messages {known}, given {given}")
    if costs.outstanding_receives is not None:
        posted, node = most_posted(schedule.source_node, schedule.target_node, schedule.phase_of, policy)
        if posted > costs.outstanding_receives:
            where = schedule.machine.topology.node_name(node)
            lines.append(
                f"infeasible: {where} would have {posted} receives posted under sync {policy}, {name} allows "
                f"{costs.outstanding_receives}"
            )
    tagged = costs.provenance.get("synchronization")
    barrier = synchronization_s(schedule.machine, costs)
    if charged and tagged is not None and tagged.tag == "unknown":
        lines.append(f"{name}: the cost of a barrier is unknown, charged as {format_time(barrier)}, {charged} in all")
    return tuple(lines)


def moved(schedule: Schedule, machine: Machine) -> Schedule:
    """The same phases on another machine.

    Raises:
        InputError: a rank lives on a node that is no endpoint of `machine`; names both.
    """
    endpoints = machine.topology.endpoints
    nodes = np.arange(schedule.pattern.ranks) if schedule.placement is None else schedule.placement
    if nodes.size and nodes.max() >= endpoints:
        rank = int(np.argmax(nodes))
        raise InputError(
            f"rank {rank} is on node {nodes[rank]} of {schedule.machine.name}: {machine.name} has {endpoints} endpoints"
        )
    if _same_network(schedule.machine.topology, machine.topology):
        return replace(schedule, machine=machine)
    return replace(schedule, machine=machine, route_offsets=None, route_nodes=None, channels=None, timetable=None)


def _same_network(one: Topology, other: Topology) -> bool:
    """Whether a route of one network is a route of the other."""
    plain = (one.kind, one.sides, one.nodes, one.endpoints) == (other.kind, other.sides, other.nodes, other.endpoints)
    same_links = np.array_equal(one.link_source, other.link_source) and np.array_equal(
        one.link_target, other.link_target
    )
    return plain and same_links
