"""Words spread over phases until every phase loads the busiest processor as little as it can.

Problem: phases of connections are given, several to a node; each lasts as long as its busiest port
or link. Which connection stands in which phase is mostly free: move them so that the sum over
phases of the largest load is least, under the limits that the phases keep, with as many phases at
most. Idea: annealing by moves of one transfer to another phase and swaps of two, half of them at
the busiest line of a phase. What is annealed is the sum over phases of the 24-norm of the loads:
the largest alone would not see that the runner-up shrinks. A transfer keeps its route where that
has room in the other phase, else it takes a shortest path over nodes and links with room (only
where routes may be chosen); if there is none the move is dropped. Invariant: limits are kept after
every move; what is given is the best seen, never worse than what came in. Bound: the work of the
busiest port in all phases together (2 · w_max of the text's serial processors); it stops there.
Effort: 1,000,000 steps each, temperature from 0.02 to 0.0002 of the mean length of a phase,
geometric. Complexity: O(steps · hops), with new routes O(steps · links) at worst; O(phases ·
(nodes + links) + hops) in memory. Order: messages that `before` names stay where they are. Split
messages: where whole ones cannot reach the bound see `split`. Measured: all 5 finite-element
patterns of the text's sizes end at the bound, 28 to 37 % below unbalanced phases; the event list
then needs 1.00 to 1.04 times 2 · w_max (benchmarks/bench_unequal.py). Reference: none; norms as in
multiprocessor scheduling (Awerbuch et al., doi:10.1109/SFCS.1995.492494).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import take_rows
from conset.machine.network.routes import core_network, links_of_nodes
from conset.machine.network.routing import usable_ends
from conset.machine.times import Work, work_of
from conset.methods.phases.core import core_arguments
from conset.methods.phases.method import refuse_limits, require
from conset.methods.phases.problem import Phases, Problem, Routes
from conset.schedule.linkage import number_channels

STEPS = 1_000_000
"""Of annealing, in a sweep of effort."""
HOT, COLD = 0.02, 0.0002


@dataclass(frozen=True, eq=False)
class TransferWork:
    """What the transfers of some phases cost the ports of their nodes and their links.

    Attributes:
        serial: a node has one port for what it sends and receives.
        work: shape=(transfers), float64 [s]: at each of its two ports.
        size: shape=(transfers), float64 [B].
        link_work: shape=(link_slots), (1) or (0) [s/B].
        route_offsets: shape=(transfers + 1), int64; empty where the machine's routes are used.
        route_links: int32.
    """

    serial: bool
    work: NDArray[np.float64]
    size: NDArray[np.float64]
    link_work: NDArray[np.float64]
    route_offsets: NDArray[np.int64]
    route_links: NDArray[np.int32]


def transfer_work_of(
    problem: Problem,
    phases: Phases,
    *,
    serial: bool | None = None,
    links: bool = True,
    method: str = "",
) -> TransferWork:
    """The work of every transfer of `phases`.

    Args:
        problem: the pattern and its machine.
        phases: transfers, with the routes that were chosen for them if any.
        serial: whether a node sends or receives, one at a time; None: where the machine is
            half-duplex.
        links: whether links make a phase long, too.
        method: whose costs, where a machine runs methods in several ways.
    """
    machine = problem.machine
    costs = machine.costs_for(method)
    work: Work = work_of(machine, costs, "barrier")
    size = problem.pattern.size[phases.message] if phases.parts is None else phases.parts
    per_byte = max(work.out, work.into, work.node)
    routes = (np.zeros(0, np.int64), np.zeros(0, np.int32))
    if phases.route_offsets is not None and phases.route_nodes is not None:
        routes = links_of_nodes(
            machine.topology, machine.routing, phases.route_offsets, phases.route_nodes
        )
    return TransferWork(
        costs.half_duplex if serial is None else serial,
        np.ascontiguousarray(work.overhead.of(size) + size * per_byte),
        size.astype(np.float64),
        work.link if links else np.zeros(0),
        *routes,
    )


def balance_loads(
    problem: Problem,
    phases: Phases,
    *,
    serial: bool | None = None,
    links: bool = True,
    routes: Routes | None = None,
    method: str = "",
) -> Phases:
    """`phases` with transfers moved between them, under `problem.limits`; no longer than before.

    Args:
        problem: the pattern, its machine, limits, seed and effort.
        phases: transfers, with the routes that were chosen for them if any.
        serial: whether a node sends or receives, one at a time; None: where the machine is
            half-duplex.
        links: whether links make a phase long, too.
        routes: `free`: a transfer may take another route; None: where routes were chosen already.
        method: whose costs, where a machine runs methods in several ways.

    Raises:
        InputError: the duplex rule is to be kept.
    """
    require(refuse_limits(problem, "balance", "send", "receive", "link", "channels"))
    if phases.offsets.size <= 2:
        return phases
    cost = transfer_work_of(problem, phases, serial=serial, links=links, method=method)
    topology, before = problem.machine.topology, problem.pattern.before
    network, source, target, width, limits = core_arguments(problem)
    pinned = np.isin(phases.message, [] if before is None else before)
    free = (phases.route_offsets is not None) if routes is None else routes == "free"
    ends = (
        usable_ends(topology, problem.machine.routing)
        if free
        else (np.zeros(0, np.int32), np.zeros(0, np.int32))
    )
    balanced = _core.balance_loads(
        _core.Resources(
            network,
            source[phases.message],
            target[phases.message],
            width,
            limits,
            cost.route_offsets,
            cost.route_links,
        ),
        _core.TransferWork(
            serial=cost.serial,
            work=cost.work,
            size=cost.size,
            link_work=cost.link_work,
            link_source=ends[0],
            link_target=ends[1],
        ),
        _phase_of(phases),
        pinned.astype(np.uint8),
        steps=STEPS * problem.search.effort,
        hot=HOT,
        cold=COLD,
        seed=problem.search.seed % 2**64,
    )
    result = replace(
        phases, timetable=None, stopped_early=phases.stopped_early or _core.should_stop(True)
    )
    if free and topology.link_slots:
        nodes = _nodes_of_links(
            source[phases.message], topology.ends[1], balanced.offsets, balanced.links
        )
        offsets = balanced.offsets + np.arange(balanced.offsets.size)
        result = replace(result, route_offsets=offsets, route_nodes=nodes)
    return regroup(result, balanced.phase)


def regroup(
    phases: Phases, phase: NDArray[np.int32], start: NDArray[np.float64] | None = None
) -> Phases:
    """The transfers of `phases` in other phases: `phase[k]` is that of transfer k.

    Empty ones vanish.

    In each they stand as before, or, where it is given, by rising `start`: shape=(transfers).
    """
    order = np.argsort(phase, kind="stable") if start is None else np.lexsort((start, phase))
    count = np.bincount(phase)
    offsets = np.concatenate([[0], np.cumsum(count[count > 0])]).astype(np.int64)
    result = replace(
        phases,
        offsets=offsets,
        message=phases.message[order],
        parts=None if phases.parts is None else phases.parts[order],
        timetable=None if phases.timetable is None else phases.timetable[order],
    )
    if phases.route_offsets is None or phases.route_nodes is None:
        return result
    route_offsets, stops = take_rows(phases.route_offsets, order)
    nodes = phases.route_nodes[stops]
    channels = None if phases.channels is None else number_channels(offsets, route_offsets, nodes)
    return replace(result, route_offsets=route_offsets, route_nodes=nodes, channels=channels)


def phase_lengths(problem: Problem, phases: Phases, cost: TransferWork) -> NDArray[np.float64]:
    """shape=(phases), float64 [s]: the work of the busiest port, node or link in each."""
    uses = resource_uses(problem, phases, cost)
    load = np.zeros((phases.offsets.size - 1, uses.count))
    np.add.at(load, (_phase_of(phases)[uses.transfer], uses.resource), uses.work)
    longest: NDArray[np.float64] = load.max(axis=1, initial=0.0)
    return longest


@dataclass(frozen=True, eq=False)
class ResourceUses:
    """Transfer `transfer[n]`, rising, works `work[n]` seconds on `resource[n]`.

    Ports out, ports in, then links.
    """

    count: int
    transfer: NDArray[np.intp]
    resource: NDArray[np.intp]
    work: NDArray[np.float64]


def resource_uses(problem: Problem, phases: Phases, cost: TransferWork) -> ResourceUses:
    """All ports and links that transfers load; nothing for those inside a node."""
    source, target = problem.source_node[phases.message], problem.target_node[phases.message]
    topology = problem.machine.topology
    leaves = np.flatnonzero(source != target)
    into = target + (0 if cost.serial else topology.nodes)
    transfer, resource, work = (
        [leaves, leaves],
        [source[leaves], into[leaves]],
        [cost.work[leaves]] * 2,
    )
    if cost.link_work.size:
        offsets, links = cost.route_offsets, cost.route_links
        if not offsets.size:
            network = core_network(topology, problem.machine.routing)
            ends = (np.ascontiguousarray(end, np.int32) for end in (source, target))
            offsets, links = network.route_links(*ends)
        hop = np.repeat(np.arange(phases.message.size), np.diff(offsets))
        transfer.append(hop)
        resource.append(links + 2 * topology.nodes)
        work.append(cost.size[hop] * np.broadcast_to(cost.link_work, topology.link_slots)[links])
    users = np.concatenate(transfer)
    order = np.argsort(users, kind="stable")
    return ResourceUses(
        2 * topology.nodes + topology.link_slots,
        users[order],
        np.concatenate(resource).astype(np.intp)[order],
        np.concatenate(work)[order],
    )


def _phase_of(phases: Phases) -> NDArray[np.int32]:
    return np.repeat(np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets))


def _nodes_of_links(
    source: NDArray[np.int32],
    link_target: NDArray[np.int32],
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Routes as nodes, ends included, from routes as links."""
    nodes = np.empty(links.size + source.size, np.int32)
    starts = offsets[:-1] + np.arange(source.size)
    inner = np.ones(nodes.size, bool)
    inner[starts] = False
    nodes[starts] = source
    nodes[inner] = link_target[links]
    return nodes
