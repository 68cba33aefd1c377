"""Evaluate: a schedule, a policy and a machine's costs to a time, by the formulas of `policies`.

The core walks every route at most three times: O(transfers + sum of hops) time, with limited slots
· log(slots); O(nodes + ranks + links + phases + transfers of a phase) memory.

How long a program takes, by formula.

    T = Σ over blocks of repeat · (work of the phases under barriers) + (switches + 1) · set-up +
    switches · S

where S is a synchronization of all ranks: a switch swaps what is open everywhere at once (Principle
2.3 of the ConSet text). Entering the first context is charged a set-up, and S where the machine
charges the first barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from conset import _core
from conset.base import (
    Bools,
    Floats,
    Indices,
    InputError,
    Ints,
    Ints32,
    count_of,
    format_size,
    format_time,
)
from conset.machine import (
    Costs,
    Machine,
    Steps,
    Topology,
    core_network,
    plain_sizes,
    synchronization_s,
    with_computation,
    work_of,
)
from conset.models.formula.policies import POLICIES, batch_offsets, formula_of, synchronizations
from conset.models.formula.prediction import Prediction
from conset.models.formula.terms import (
    chain_busy,
    message_costs,
    order_busy,
    slots_of,
    timetable_busy,
)
from conset.schedule import Program, Schedule, Sync, chained, chosen_links, most_posted, parse_sync

ROUNDING = 1e-12
"""Relative: a timetable and a port's work add the same terms in different orders."""

KINDS = (
    "port out",
    "port in",
    "node",
    "link",
    "message",
    "sending processor",
    "receiving processor",
    "processor",
    "shared processor",
    "slots",
    "partners",
    "chain",
    "timetable",
)
"""Resources, those of the core by the number it gives them."""

NODE_RESOURCES = {
    "port out": "port out of",
    "port in": "port into",
    "node": "both ports of",
    "shared processor": "processor of all ranks on",
}
RANK_RESOURCES = {
    "sending processor": "sending processor of",
    "receiving processor": "receiving processor of",
    "processor": "processor of",
    "slots": "messages in flight from",
    "partners": "waiting for partners up to",
}


def predict(
    schedule: Schedule, *, sync: str | None = None, machine: Machine | None = None
) -> Prediction:
    """The time a schedule takes by formula.

    Args:
        schedule: phases of transfers.
        sync: policy, or None: the schedule's own.
        machine: another machine: its costs and its routing. Routes the compiler chose are kept
            where the network is the same one.

    Raises:
        UsageError: an unknown policy.
        InputError: a rank lives on a node that the other machine does not have.
    """
    policy = parse_sync(schedule.sync if sync is None else sync)
    own = machine is None
    if machine is not None:
        schedule = retarget(schedule, machine)
    machine = schedule.machine
    costs = machine.costs_for(schedule.method)
    batches = batch_offsets(policy, schedule.phases)
    busy = _busy(schedule, costs, policy, batches, latest_ends=own)
    charged = synchronizations(policy, schedule.phase_offsets, batches, costs.first_barrier)
    phase_s, terms = _add_up(
        busy, batches, charged, synchronization_s(machine, costs), costs.setup_s
    )
    witness_kind, witness = _witness(schedule, busy, batches)
    time_s = sum(terms.values())
    return Prediction(
        time_s,
        str(policy),
        phase_s,
        terms,
        _warnings(schedule, costs, int(charged.sum()), policy),
        _formula(schedule, policy),
        witness,
        witness_kind,
        machine.name,
        _computation(schedule, costs, batches, time_s),
    )


class Busy(NamedTuple):
    """What keeps every batch of phases busy; all shape=(phases).

    Attributes:
        time: float64 [s]: since the batch of a phase began, until the end of that phase.
        kind: int32: which resource, as `KINDS` counts them; -1: none.
        at: int64: the index of a node, link, transfer or rank.
        setups: int64: set-ups in `time`.
    """

    time: Floats
    kind: Ints32
    at: Ints
    setups: Ints

    def or_later(
        self,
        time: Floats,
        kind: str,
        index: Ints | int = 0,
        setups: Ints | int = 0,
    ) -> Busy:
        """`time` of resources of another kind, wherever it is later."""
        later = time > self.time * (1 + ROUNDING)
        return Busy(
            np.maximum(self.time, time),
            np.where(later, np.int32(KINDS.index(kind)), self.kind),
            np.where(later, index, self.at),
            np.where(later, setups, self.setups),
        )


def _busy(
    schedule: Schedule, costs: Costs, policy: Sync, batches: Ints, *, latest_ends: bool
) -> Busy:
    """The busiest resource, the ranks that wait for each other, and the orders.

    Those of messages and of the timetable.
    """
    machine = schedule.machine
    given = message_costs(
        machine,
        costs,
        policy.kind,
        in_flight=slots_of(schedule, costs),
        blocking=schedule.timetable is None,
    )
    found = _batches(schedule, given, batches, phase_by_phase=POLICIES[policy.kind].phase_by_phase)
    busy = Busy(found.busy, found.kind, found.index, found.setups)
    if POLICIES[policy.kind].waits_for_partners:
        ends = _core.time_ranks(*_transfers(schedule), schedule.phase_offsets, given)
        busy = busy.or_later(ends.end, "partners", ends.rank, ends.setups)
    if schedule.pattern.before is not None:
        time, last = chain_busy(schedule, costs, batches)
        busy = busy.or_later(time, "chain", last, 1)
        if schedule.timetable is None:
            waves = order_busy(
                schedule, costs, policy, batches, lambda rows: _transfers(schedule, rows)
            )
            busy = busy.or_later(waves[0], "partners", *waves[1:])
    if schedule.timetable is not None:
        table = timetable_busy(
            schedule,
            work_of(machine, costs, policy.kind),
            costs.half_duplex,
            batches,
            latest_ends=latest_ends,
        )
        opened = (
            _opened(schedule, batches) if costs.setup_s else np.zeros(schedule.phases, np.int64)
        )
        busy = busy.or_later(table + opened * costs.setup_s, "timetable", 0, opened)
    return busy


def _opened(schedule: Schedule, batches: Ints) -> Ints:
    """shape=(phases), int64: phases with transfers from the start of a phase's batch on."""
    full = np.append(0, np.cumsum(np.diff(schedule.phase_offsets) > 0))
    return np.asarray(full[1:] - np.repeat(full[batches[:-1]], np.diff(batches)))


def _transfers(
    schedule: Schedule, rows: Indices | None = None, *, copies: bool = True
) -> tuple[_core.Transfers, _core.Ranks]:
    """The transfers of a schedule, and the ranks at their ends.

    Args:
        schedule: whose.
        rows: which transfers, in this order; None: all.
        copies: whether ranks pay for what is packed.
    """
    if rows is not None:
        schedule = schedule.rearranged(rows, np.array([0, rows.size]))
    machine, pattern, message = schedule.machine, schedule.pattern, schedule.message
    source, target = (
        np.ascontiguousarray(schedule.source_node),
        np.ascontiguousarray(schedule.target_node),
    )
    sender, receiver = source, target
    if schedule.placement is not None:
        sender, receiver = (
            np.ascontiguousarray(each[message]) for each in (pattern.source, pattern.target)
        )
    network = core_network(machine.topology, machine.routing)
    transfers = _core.Transfers(
        network, source, target, *chosen_links(schedule), plain_sizes(schedule.size)
    )
    packed = schedule.packed if copies else None
    flags = np.zeros(0, np.uint8) if packed is None else packed.astype(np.uint8)
    return transfers, _core.Ranks(sender, receiver, pattern.ranks, flags)


def _batches(
    schedule: Schedule,
    given: _core.MessageCosts,
    batches: Ints,
    *,
    phase_by_phase: bool,
    copies: bool = True,
) -> _core.Formula:
    transfers = _transfers(schedule, copies=copies)
    return _core.time_batches(*transfers, schedule.phase_offsets, batches, phase_by_phase, given)


def _computation(
    schedule: Schedule, costs: Costs, batches: Ints, time_s: float
) -> dict[str, float]:
    """What a computation beside the schedule adds.

    It hides behind bytes that flow, not behind overheads.
    """
    if not costs.computation_s:
        return {}
    bytes_only = replace(
        costs,
        send_overhead=Steps(),
        receive_overhead=Steps(),
        inject=Steps(),
        eject=Steps(),
        per_transfer_s=0.0,
        hop_s=0.0,
        hop_by_size=None,
        setup_s=0.0,
        signal_s=0.0,
    )
    given = message_costs(schedule.machine, bytes_only, "none", in_flight=None)
    flowing = _batches(schedule, given, batches, phase_by_phase=False, copies=False).busy
    return with_computation(costs, time_s, float(flowing[batches[1:] - 1].sum()))


def _add_up(
    busy: Busy,
    batches: Ints,
    charged: Bools,
    synchronization: float,
    setup: float,
) -> tuple[Floats, dict[str, float]]:
    """(phase_s, terms) from the time of each batch.

    `charged` batches start with a synchronization.
    """
    first, last = batches[:-1], batches[1:] - 1
    phase_s = np.diff(busy.time, prepend=0.0)
    phase_s[first] = busy.time[first]
    phase_s[first[charged]] += synchronization
    opened = float(np.minimum(busy.setups[last] * setup, busy.time[last]).sum())
    terms = {
        "synchronization": int(charged.sum()) * synchronization,
        "setup": opened,
        "transfer": max(0.0, float(busy.time[last].sum()) - opened),
    }
    return phase_s, terms


def _formula(schedule: Schedule, policy: Sync) -> str:
    """The formula as text."""
    formula = formula_of(policy)
    knowledge = schedule.machine.routing.knowledge
    if knowledge == "hashed" and schedule.route_offsets is None:
        formula += (
            "; links carry what is expected over the hash, which takes less than is "
            "expected of the time"
        )
    elif knowledge == "adaptive" and schedule.route_offsets is None:
        formula += "; messages are spread evenly over equal links"
    return (
        formula
        if schedule.timetable is None
        else f"{formula}; a phase with a timetable lasts until its last end"
    )


def _witness(schedule: Schedule, busy: Busy, batches: Ints) -> tuple[str, str]:
    """(kind, description) of the resource that keeps the longest batch busy."""
    if schedule.phases == 0:
        return "nothing", "no messages"
    last = batches[1:] - 1
    b = int(np.argmax(busy.time[last]))
    kind, index = int(busy.kind[last[b]]), int(busy.at[last[b]])
    if kind < 0:
        return "nothing", "no messages"
    first = int(batches[b])
    if last.size == 1 and schedule.phases > 1:
        where = "all phases"
    else:
        where = f"phase {first}" if first == last[b] else f"phases {first} to {last[b]}"
    return KINDS[kind], f"{where}: {_describe(schedule, KINDS[kind], index, busy.time[last[b]])}"


def _describe(schedule: Schedule, kind: str, index: int, time_s: float) -> str:
    """A resource for people."""
    topology = schedule.machine.topology
    if kind == "timetable":
        return f"the timetable, {format_time(time_s)} from start to end"
    if kind == "link":
        return topology.link_name(index)
    if kind in ("message", "chain"):
        ends = int(schedule.source_node[index]), int(schedule.target_node[index])
        message = f"message {schedule.message[index]} (node {ends[0]} → {ends[1]})"
        return (
            message
            if kind == "message"
            else f"messages that must follow one another, up to {message}"
        )
    if kind in NODE_RESOURCES:
        return f"{NODE_RESOURCES[kind]} {topology.node_name(index)}"
    name = topology.node_name(
        index if schedule.placement is None else int(schedule.placement[index])
    )
    return (
        f"{RANK_RESOURCES[kind]} "
        f"{name if schedule.placement is None else f'rank {index} on {name}'}"
    )


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
            known = f"from {format_size(low)}" + (
                f" to {format_size(high)}" if high < float("inf") else ""
            )
            lines.append(f"{name}: its numbers are for messages {known}, given {given}")
    if costs.outstanding_receives is not None:
        posted, node = most_posted(
            schedule.source_node, schedule.target_node, schedule.phase_of, policy
        )
        if posted > costs.outstanding_receives:
            where = schedule.machine.topology.node_name(node)
            lines.append(
                f"infeasible: {where} would have {posted} receives posted under sync {policy}, "
                f"{name} allows "
                f"{costs.outstanding_receives}"
            )
    tagged = costs.provenance.get("synchronization")
    barrier = synchronization_s(schedule.machine, costs)
    if charged and tagged is not None and tagged.tag == "unknown":
        lines.append(
            f"{name}: the cost of a barrier is unknown, charged as {format_time(barrier)}, "
            f"{charged} in all"
        )
    if schedule.route_offsets is None:
        lines += schedule.machine.warnings
    return tuple(lines)


def retarget(schedule: Schedule, machine: Machine) -> Schedule:
    """The same phases on another machine.

    Raises:
        InputError: a rank lives on a node that is no endpoint of `machine`; names both.
    """
    endpoints = machine.topology.endpoints
    nodes = np.arange(schedule.pattern.ranks) if schedule.placement is None else schedule.placement
    if nodes.size and nodes.max() >= endpoints:
        rank = int(np.argmax(nodes))
        raise InputError(
            f"rank {rank} is on node {nodes[rank]} of {schedule.machine.name}: "
            f"{machine.name} has {count_of(endpoints, 'endpoint')}"
        )
    if _same_network(schedule.machine.topology, machine.topology):
        return replace(schedule, machine=machine)
    return replace(
        schedule,
        machine=machine,
        route_offsets=None,
        route_nodes=None,
        channels=None,
        timetable=None,
    )


def _same_network(one: Topology, other: Topology) -> bool:
    """Whether a route of one network is a route of the other."""
    plain = (one.kind, one.sides, one.nodes, one.endpoints) == (
        other.kind,
        other.sides,
        other.nodes,
        other.endpoints,
    )
    same_links = np.array_equal(one.link_source, other.link_source) and np.array_equal(
        one.link_target, other.link_target
    )
    return plain and same_links


@dataclass(frozen=True)
class ProgramPrediction:
    """What the formula says.

    Attributes:
        time_s: the sum of the terms [s].
        terms: `synchronization`, `setup` and `transfer` [s].
        block_s: what the phases of each block take, switches apart [s]; of a stage that forwards,
            what it takes alone.
        switches: communication context switches.
        machine: the machine predicted for.
        sync: the policy.
    """

    time_s: float
    terms: dict[str, float]
    block_s: tuple[float, ...]
    switches: int
    machine: str
    sync: str = "barrier"

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it."""
        return {
            "time_s": self.time_s,
            "sync": self.sync,
            "terms": dict(self.terms),
            "block_s": list(self.block_s),
            "switches": self.switches,
            "machine": self.machine,
        }


def predict_program(program: Program, *, machine: Machine | None = None) -> ProgramPrediction:
    """The time of a program; of one that forwards, of its stages chained under its own policy.

    Raises:
        InputError: a rank lives on a node that another `machine` does not have.
    """
    if program.paths is not None:
        whole = predict(chained(program), sync=program.sync, machine=machine)
        alone = [
            predict(program.schedules[s.schedule], sync=program.sync, machine=machine)
            for s in program.stages
        ]
        return ProgramPrediction(
            whole.time_s,
            dict(whole.terms),
            tuple(each.time_s for each in alone),
            program.switches,
            whole.machine,
            program.sync,
        )
    once = [
        predict(schedule, sync="barrier", machine=machine).terms["transfer"]
        if schedule.phases
        else 0.0
        for schedule in program.schedules
    ]
    block_s = tuple(block.repeat * once[block.schedule] for block in program.stages)
    target, switches = machine or program.machine, program.switches
    costs = target.costs_for(program.schedules[0].method)
    entered = 1 if program.phases else 0
    terms = {
        "synchronization": (switches + entered * costs.first_barrier)
        * synchronization_s(target, costs),
        "setup": (switches + entered) * costs.setup_s,
        "transfer": sum(block_s),
    }
    return ProgramPrediction(sum(terms.values()), terms, block_s, switches, target.name)
