"""Evaluate: a schedule, a policy and a machine's costs to a time, by the formulas of `policies`.

The core walks every route at most three times: O(transfers + sum of hops) time, with limited slots
· log(slots); O(nodes + ranks + links + phases + transfers of a phase) memory.

How long a program takes, by formula.

    T = Σ over blocks of repeat · (work of the phases under barriers) + (switches + 1) · set-up +
    switches · S

where S is a synchronization of all ranks: a switch swaps what is open everywhere at once (Principle
2.3 of the ConSet text). Entering the first context is charged a set-up, and S where the machine
charges the first barrier.

What messages cost as the core's formulas take it, timetables. Chains and waves of messages that
wait for others are the core's (`cpp/src/prediction/formula_order.cpp`).

Circuit switches (`conset.machine.circuits`): the planes run side by side, and each takes as long as
its phases and the reconfigurations between them.

Timetables: a phase lasts until its last transfer has ended. A timetable is kept as an order: every
port and every unit of a link takes its transfers in the order of their starts, each as soon as it
is free and what must come before has ended. On the schedule's own machine that gives its times
back, and a phase is never said to be shorter than its table; elsewhere, or with other costs, the
same order is timed anew. Where phases are not kept apart by barriers the order runs through all of
them. Messages that a timetable keeps apart on a link do not block each other. O(transfers · hops).

Prediction: the time that a schedule takes by formula; one formula for each policy.

In a formula every resource is busy for its work and nothing waits for anything else. A message pays
`send_overhead` on a processor of its sender and `startup` at the port of its node; then latency
passes (`per_transfer` + `inject` + `eject` + hops · `hop`); then its bytes flow at the least rate r
of its route; `receive_overhead` is work of the receiver's processor, before (`receive=before`) or
after the bytes. Of a packed message both overheads are b / `copy` longer. Alone a message takes a =
send_overhead + startup + latency + b/r + receive_overhead. The resources are

    port out, port in   b / rate for every message of the node, out with its `startup`; `node`: for
                        both together, `exchange_weight` for bytes that meet as many of the other
                        direction while both nodes do nothing else
    link                b / (rate · width) for every message over it; where it carries more than
                        `tolerance` per unit of width, times (load / (tolerance · width))^blocking:
                        an estimate of what blocking costs, which no bound and no simulation has
    processors          send overheads of a rank, receive overheads, or both on one processor (not
                        where it `preempts`); `setup` for every phase the rank has transfers in, on
                        both; under `ready` half a signal for every message on the sending processor
                        of its target, half on the receiving one of its source
    shared processor    all that of the ranks of a node, set-ups of each rank, where they have one
                        processor together
    slots               a rank with `in_flight` slots sends in posting order, each message once a
                        slot is free; a slot is held until the last byte has left, so without other
                        waits they take Σ (send_overhead + latency + [receive_overhead with
                        `before`] + b/r) / in_flight
    message             set-up + a

and each takes W = least lead-in of its messages + work + least lead-out: what reaches it first has
come a way, and what leaves it last has a way to go. A phase without transfers of a rank costs it
nothing.

| policy | adds up over | together | synchronizations |
| --- | --- | --- | --- |
| none | all phases | all phases | 0 |
| local | all phases | one phase | 0 |
| ready | all phases, a signal per message | one phase | 0 |
| barrier:k | k phases, the groups one after the other | k phases | 1 per group |

So barriers wait for the busiest resource of every group (sum of maxima), `none` for the one that is
busiest in all (maximum of sums). Under `local` and `ready` ranks wait for their partners, which the
recurrence follows:

    E(r, p)   when rank r enters phase p: all its own messages of earlier phases are delivered
    S(m)      when message m: s → t of phase p starts: E(s, p), with a set-up not before E(t, p),
              under `ready` not before the signal of t, sent at E(t, p), has arrived; plus the
              set-up
    D(m)      when it is delivered: every resource on its way begins when the first of its messages
              of the phase can reach it, is busy for its work of the phase, and D(m) is the latest
              of them; at least S(m) + a. A shared processor begins when the first of its ranks
              enters the phase: work of other phases is not in its way
    E(r, p+1) the latest D(m) of its messages of phase p

The time is the latest D, or the busiest resource over all phases where that is more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from conset import _core
from conset.base import (
    Bools,
    Floats,
    InputError,
    Ints,
    ValueObject,
    count_of,
    format_size,
    format_time,
)
from conset.machine import (
    Costs,
    Machine,
    Steps,
    Topology,
    Work,
    core_network,
    core_widths,
    message_costs,
    plain_sizes,
    synchronization_s,
    transfer_s,
    with_computation,
    work_of,
)
from conset.models.needs import unbuffered
from conset.models.settings import refuse_policy
from conset.schedule import (
    Kind,
    Program,
    Schedule,
    Sync,
    block_ends,
    chained,
    chosen_links,
    circuits_of,
    most_posted,
    order_of_transfers,
    parse_sync,
)


@dataclass(frozen=True, eq=False)
class Prediction(ValueObject):
    """What a formula says; no events, no measurements.

    Attributes:
        time_s: `synchronization` + `setup` + `transfer` [s].
        sync: the policy predicted for.
        phase_s: shape=(phases), float64 [s]: how much later the end comes because of each phase,
            given those before it. They add up to `time_s`; with a barrier after every phase it is
            simply how long each one takes.
        terms: `synchronization`, `setup` and `transfer` [s].
        warnings: a line each: what the machine's numbers were not made for.
        formula: the policy's formula as text.
        witness: the busiest resource where it takes longest: `phase 3: port out of node 5`.
        witness_kind: `port out`, `port in`, `node`, `link` or `message`; `nothing` where nothing
            leaves its node.
        machine: the machine predicted for.
        computation: of a machine that is to compute meanwhile, `computation_s`, `hidden_s` and
            `with_computation_s`.
    """

    time_s: float
    sync: str
    phase_s: Floats
    terms: dict[str, float]
    warnings: tuple[str, ...]
    formula: str
    witness: str
    witness_kind: str
    machine: str
    computation: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._freeze()

    def to_object(self) -> dict[str, Any]:
        """As `predict --json` prints it."""
        return {
            "time_s": self.time_s,
            "sync": self.sync,
            "phase_s": self.phase_s.tolist(),
            "terms": dict(self.terms),
            "machine": self.machine,
            "formula": self.formula,
            "witness": self.witness,
            "warnings": list(self.warnings),
            **self.computation,
        }

    def __repr__(self) -> str:
        return (
            f"Prediction({self.time_s:.6g} s on {self.machine}, sync={self.sync}, {self.witness})"
        )


@dataclass(frozen=True)
class Policy:
    """One row: how a policy groups phases, and its formula as text.

    Attributes:
        waits_for_partners: whether ranks keep phases apart by themselves; then loads and exchanges
            are those of one phase, not of all that adds up.
        adds_up: `all`: work adds up over all phases; `group`: over the phases between two barriers.
        formula: for people.
    """

    adds_up: str
    waits_for_partners: bool
    formula: str


NONE = Policy(
    "all",
    False,
    "the most work of one processor, port, node or link, all messages in flight together",
)
"""S2 of the Wang-Ranka text: everything is posted in schedule order.

T = max over resources of W(all messages).
"""

LOCAL = Policy(
    "all",
    True,
    "every rank enters a phase when its own messages of the one before are delivered",
)
"""A rank ends its own transfers of a phase before its next.

Ranks drift apart, a link sees about one phase at once.

T = max(latest D, max over resources of W, work added up phase by phase).
"""

READY = Policy(
    "all",
    True,
    "as local, and a message waits for a zero-byte signal from its target",
)
"""S1 of the Wang-Ranka text: `local`, and a source waits for its target's signal."""

DETECT = Policy(
    "all",
    False,
    "as none, and a receiver copies each message out of a system buffer",
)
"""Send-detect-receive of the Wang-Ranka text, section 3: no receive before its message."""

BARRIER = Policy(
    "group",
    False,
    "for every phase: synchronization + set-up + the most work of one processor, port, node "
    "or link in it",
)
"""All transfers of k phases end everywhere before the next starts anywhere.

S is not charged at the first group unless `first_barrier` says so. T = G · S + Σ over groups of max
over resources of W(messages of the group), G = ⌈P / k⌉.
"""

POLICIES: dict[Kind, Policy] = {
    "none": NONE,
    "local": LOCAL,
    "ready": READY,
    "barrier": BARRIER,
    "detect": DETECT,
}


def batch_offsets(sync: Sync, phases: int) -> Ints:
    """shape=(batches + 1), int64.

    Batch b is phases `offsets[b] … offsets[b + 1] - 1`, whose work adds up.
    """
    step = sync.every if POLICIES[sync.kind].adds_up == "group" else max(phases, 1)
    return np.append(np.arange(0, phases, step, dtype=np.int64), np.int64(phases))


def formula_of(sync: Sync) -> str:
    """The formula of a policy as text."""
    if sync.every == 1:
        return POLICIES[sync.kind].formula
    return (
        f"for every {sync.every} phases: synchronization + the most work of one processor, port, "
        "node or link in them"
    )


def synchronizations(sync: Sync, phase_offsets: Ints, batches: Ints, first_barrier: bool) -> Bools:
    """shape=(batches): whether a batch of phases starts with a barrier that is charged.

    A batch without messages has none, nor has the first one with messages unless the machine
    charges it.
    """
    charged: Bools = np.diff(phase_offsets[batches]) > 0
    if sync.kind != "barrier":
        charged[:] = False
    elif not first_barrier:
        charged &= np.cumsum(charged) > 1
    return charged


GivenTransfers = tuple[_core.Transfers, _core.Ranks, _core.Waits]
"""Transfers as the core takes them, the ranks at their ends, and what they wait for."""


def slots_of(schedule: Schedule, costs: Costs) -> int | None:
    """Messages a rank may have in flight: what the schedule says, else the machine's.

    None: any number.
    """
    stated: int | str | None = getattr(schedule, "in_flight", None)
    if stated is None:
        return costs.in_flight
    return None if stated == "all" else int(stated)


def timetable_busy(
    schedule: Schedule,
    work: Work,
    half_duplex: bool,
    batches: Ints,
    *,
    latest_ends: bool,
) -> Floats:
    """shape=(phases), float64 [s].

    When all transfers up to each phase have ended, since its batch began.

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
    source, target = (
        np.ascontiguousarray(node, np.int32)
        for node in (schedule.source_node, schedule.target_node)
    )
    duration = transfer_s(machine, work, source, target, schedule.size, links)
    width = core_widths(topology)
    first, second = order_of_transfers(schedule.pattern.before, schedule.message)
    lines = _core.TimeLines(
        network=core_network(topology, machine.routing),
        source=source,
        target=target,
        route_offsets=links[0],
        route_links=links[1],
        width=width,
        serial=half_duplex,
        duration=duration,
        first=first,
        second=second,
    )
    _, end = _core.time_in_order(lines, schedule.posted, schedule.phase_offsets[batches])
    busy = np.zeros(schedule.phases)
    full = np.flatnonzero(np.diff(schedule.phase_offsets))
    busy[full] = np.maximum.reduceat(end, schedule.phase_offsets[full])
    if latest_ends:
        busy[full] = np.maximum(
            busy[full], np.maximum.reduceat(table[:, 1], schedule.phase_offsets[full])
        )
    for begin, end in pairwise(batches.tolist()):
        np.maximum.accumulate(busy[begin:end], out=busy[begin:end])
    return busy


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
NOTHING = np.zeros(0, np.int32)

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
    if machine.is_circuit:
        return _predict_circuits(schedule, costs, policy, own)
    batches = batch_offsets(policy, schedule.phases)
    given = _given_costs(schedule, costs, policy)
    busy, charged, (*terms, time_s) = _timed(
        schedule, costs, policy, _transfers(schedule), given, latest_ends=own
    )
    phase_s = np.diff(busy.busy, prepend=0.0)
    phase_s[batches[:-1]] = busy.busy[batches[:-1]]
    phase_s[batches[:-1][charged]] += synchronization_s(machine, costs)
    witness_kind, witness = _witness(schedule, busy, batches)
    return Prediction(
        time_s,
        str(policy),
        phase_s,
        dict(zip(("synchronization", "setup", "transfer"), terms, strict=True)),
        _warnings(schedule, costs, int(charged.sum()), policy),
        _formula(schedule, policy),
        witness,
        witness_kind,
        machine.name,
        _computation(schedule, costs, batches, time_s),
    )


def times_with(
    schedule: Schedule, cases: Iterable[tuple[str, Costs]], *, latest_ends: bool = False
) -> list[float]:
    """What `predict` says under other policies, with other costs of the method [s].

    Its transfers are looked up once for all.

    Args:
        schedule: whose transfers.
        cases: policies and costs; circuit switches have their own costs.
        latest_ends: whether the own times of a timetable count, too.
    """
    if schedule.machine.is_circuit:
        return [predict(schedule, sync=sync).time_s for sync, _ in cases]
    transfers, cases = _transfers(schedule), [*cases]
    given: dict[tuple[Kind, int], _core.MessageCosts] = {}
    found = []
    for sync, costs in cases:
        policy = parse_sync(sync)
        key = policy.kind, id(costs)
        if key not in given:
            given[key] = _given_costs(schedule, costs, policy)
        timed = _timed(schedule, costs, policy, transfers, given[key], latest_ends=latest_ends)
        found.append(timed[2][3])
    return found


def _given_costs(schedule: Schedule, costs: Costs, policy: Sync) -> _core.MessageCosts:
    """What its messages cost."""
    return message_costs(
        schedule.machine,
        costs,
        policy.kind,
        in_flight=slots_of(schedule, costs),
        blocking=schedule.timetable is None,
    )


def _timed(
    schedule: Schedule,
    costs: Costs,
    policy: Sync,
    transfers: GivenTransfers,
    given: _core.MessageCosts,
    *,
    latest_ends: bool,
) -> tuple[_core.Formula, Bools, tuple[float, float, float, float]]:
    """(what keeps batches busy, which begin with a barrier, terms and their sum).

    Batches are busy until the end of each phase: the busiest resource, the ranks that wait for each
    other, the orders of messages and of the timetable.
    """
    machine, batches = schedule.machine, batch_offsets(policy, schedule.phases)
    partners = POLICIES[policy.kind].waits_for_partners
    busy = _core.time_phases(*transfers, schedule.phase_offsets, batches, partners, given)
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
        busy.take_timetable(table + opened * costs.setup_s, opened)
    charged = synchronizations(policy, schedule.phase_offsets, batches, costs.first_barrier)
    return (
        busy,
        charged,
        _core.add_up(
            busy.busy,
            busy.setups,
            batches,
            barriers=int(charged.sum()),
            barrier=synchronization_s(machine, costs),
            setup=costs.setup_s,
        ),
    )


def _predict_circuits(schedule: Schedule, costs: Costs, policy: Sync, own: bool) -> Prediction:
    """When the last plane of circuit switches is done; a table's own times count, too."""
    refuse_policy(costs, str(policy))
    times, plane = circuits_of(schedule)
    end = times.end
    if own and schedule.timetable is not None:
        end = np.maximum(end, schedule.timetable[:, 1])
    time_s = float(end.max(initial=0.0))
    last = int(plane[end.argmax()]) if end.size else 0
    setup_s = min(int(times.changes[last]) * (costs.reconfigure_s or 0.0), time_s)
    phase_s = np.zeros(schedule.phases)
    full = np.flatnonzero(np.diff(schedule.phase_offsets))
    if full.size:
        first = schedule.phase_offsets[full]
        phase_s[full] = np.maximum.reduceat(end, first) - np.minimum.reduceat(times.begin, first)
    where = f"plane {last}: " if schedule.machine.topology.planes > 1 else ""
    changes = count_of(int(times.changes[last]), "reconfiguration")
    return Prediction(
        time_s,
        str(policy),
        phase_s,
        {"synchronization": 0.0, "setup": setup_s, "transfer": time_s - setup_s},
        _warnings(schedule, costs, 0, policy),
        "planes side by side: the phases of each and the reconfigurations between them, added up",
        f"{where}{changes}, bytes {format_time(time_s - setup_s)}",
        "circuit switch",
        schedule.machine.name,
        {},
    )


def _opened(schedule: Schedule, batches: Ints) -> Ints:
    """shape=(phases), int64: phases with transfers from the start of a phase's batch on."""
    full = np.append(0, np.cumsum(np.diff(schedule.phase_offsets) > 0))
    return np.asarray(full[1:] - np.repeat(full[batches[:-1]], np.diff(batches)))


def _transfers(schedule: Schedule, *, copies: bool = True, waits: bool = True) -> GivenTransfers:
    """The transfers of a schedule.

    Args:
        schedule: whose.
        copies: whether ranks pay for what is packed.
        waits: whether messages wait for others.
    """
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
    first, second = schedule.ordered() if waits else (NOTHING, NOTHING)
    posted = NOTHING if schedule.timetable is None else schedule.posted
    return (
        transfers,
        _core.Ranks(sender, receiver, pattern.ranks, flags),
        _core.Waits(schedule.transfers, first, second, posted),
    )


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
        startup_s=0.0,
        inject=Steps(),
        eject=Steps(),
        per_transfer_s=0.0,
        hop_s=0.0,
        hop_by_size=None,
        setup_s=0.0,
        signal_s=0.0,
    )
    given = message_costs(schedule.machine, bytes_only, "none", in_flight=None)
    transfers = _transfers(schedule, copies=False, waits=False)
    flowing = _core.time_phases(*transfers, schedule.phase_offsets, batches, False, given).busy
    return with_computation(costs, time_s, float(flowing[batches[1:] - 1].sum()))


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


def _witness(schedule: Schedule, busy: _core.Formula, batches: Ints) -> tuple[str, str]:
    """(kind, description) of the resource that keeps the longest batch busy."""
    if schedule.phases == 0:
        return "nothing", "no messages"
    last = batches[1:] - 1
    b = int(np.argmax(busy.busy[last]))
    kind, index = int(busy.kind[last[b]]), int(busy.index[last[b]])
    if kind < 0:
        return "nothing", "no messages"
    first = int(batches[b])
    if last.size == 1 and schedule.phases > 1:
        where = "all phases"
    else:
        where = f"phase {first}" if first == last[b] else f"phases {first} to {last[b]}"
    return KINDS[kind], f"{where}: {_describe(schedule, KINDS[kind], index, busy.busy[last[b]])}"


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
    if policy.kind == "detect":
        crossing = schedule.size[schedule.source_node != schedule.target_node]
        if largest := costs.unbuffered_B(crossing):
            lines.append(f"infeasible: {unbuffered(schedule.machine, costs, largest)}")
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
        table = None if machine.is_circuit else schedule.timetable
        return replace(schedule, machine=machine, timetable=table)
    return schedule.without_routes(machine=machine, timetable=None)


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
    if (machine or program.machine).is_circuit:
        return _predict_circuit_program(program, machine or program.machine)
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


def _predict_circuit_program(program: Program, machine: Machine) -> ProgramPrediction:
    """Blocks one after the other, over switches that keep what they hold."""

    def ends(target: Machine) -> list[float]:
        schedules = [retarget(schedule, target) for schedule in program.schedules]
        return block_ends(replace(program, machine=target, schedules=tuple(schedules)))

    instant = machine.with_costs(lambda costs: replace(costs, reconfigure_s=0.0))
    done, at_once = [0.0, *ends(machine)], [0.0, *ends(instant)]
    terms = {"synchronization": 0.0, "setup": done[-1] - at_once[-1], "transfer": at_once[-1]}
    block_s = tuple(np.diff(done).tolist())
    return ProgramPrediction(done[-1], terms, block_s, program.switches, machine.name, program.sync)
