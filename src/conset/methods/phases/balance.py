"""Words spread over phases until every phase loads the busiest processor as little as it can.

Problem: phases of connections are given, several to a node; each lasts as long as its busiest port
or link. Which connection is in which phase is mostly free: move them so that the sum over
phases of the largest load is least, under the limits that the phases keep, with as many phases at
most.
Idea: annealing by moves of one transfer to another phase and swaps of two, half of them at the
busiest line of a phase. What is annealed is the sum over phases of the 24-norm of the loads: the
largest alone would not see that the runner-up shrinks. A transfer keeps its route where that has
room in the other phase, else it takes a shortest path over nodes and links with room (only where
routes may be chosen); if there is none the move is dropped.
Invariant: limits are kept after every move; what is given is the best seen, never worse than what
came in.
Bound: the work of the busiest port in all phases together (2 · w_max of the text's serial
processors); it stops there.
Effort: 1,000,000 steps each, temperature from 0.02 to 0.0002 of the mean length of a phase,
geometric.
Complexity: O(steps · hops), with new routes O(steps · links) at worst; O(phases · (nodes + links) +
hops) in memory.
Order: messages that `before` names stay where they are.
Split messages: where whole ones cannot reach the bound see `split`.
Measured: all 5 finite-element patterns of the text's sizes end at the bound, 28 to 37 % below
unbalanced phases; the event list then needs 1.00 to 1.04 times 2 · w_max
(benchmarks/bench_unequal.py).
Reference: none; norms as in multiprocessor scheduling (Awerbuch et al.,
doi:10.1109/SFCS.1995.492494).

Splitting messages over several phases, where whole ones cannot balance them.

Problem: balanced phases of whole messages may still be longer than the busiest processor, as in a
packing: one phase is a word too long, another a word too short. Parts of messages fit in between.
Idea: a linear program over which bytes of a message travel in which of the phases where it may
stand: least is the sum over phases of the busiest line. It starts from one place for each message.
Its prices say which further places (message, phase) would help; the most wanted for which the
limits have room are added, those that carry nothing leave, and it is solved again, while that helps
(column generation). A basic solution of a program with L lines and P phases splits at most P · L
messages, in practice a few.
Invariant: limits hold with every place taken; parts add up to messages, byte for byte.
Guarantee: never longer than what came in, the overheads of the parts included.
Complexity: some ten linear programs of (messages + places) columns and phases · lines rows: seconds
at thousands of messages. Routes stay as they are.
Order: messages that `before` names stay whole.
Reference: column generation, Dantzig, Wolfe, doi:10.1287/opre.8.1.101; programs by HiGHS, through
SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conset import _core
from conset.base import Floats, Indices, Ints, Ints32, take_rows
from conset.machine import (
    Work,
    core_network,
    links_of_nodes,
    route_links,
    route_nodes,
    stops_of_links,
    usable_ends,
    work_of,
)
from conset.methods.phases.core import core_arguments
from conset.methods.phases.problem import Phases, Problem, Routes, refuse_limits, require
from conset.schedule import as_routes, number_channels, routes_of

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
    work: Floats
    size: Floats
    link_work: Floats
    route_offsets: Ints
    route_links: Ints32


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
            machine.topology,
            machine.routing,
            phases.route_offsets,
            phases.route_nodes,
            phases.route_links,
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
        stops = stops_of_links(topology, balanced.offsets, balanced.links, source[phases.message])
        result = replace(result, **as_routes(*stops))
    return regroup(result, balanced.phase)


def regroup(phases: Phases, phase: Ints32, start: Floats | None = None) -> Phases:
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
    result = replace(result, **routes_of(replace(phases, channels=None), order))
    if phases.channels is None or result.route_offsets is None or result.route_nodes is None:
        return result
    numbers = number_channels(offsets, result.route_offsets, result.route_nodes)
    return replace(result, channels=numbers)


def phase_lengths(problem: Problem, phases: Phases, cost: TransferWork) -> Floats:
    """shape=(phases), float64 [s]: the work of the busiest port, node or link in each."""
    uses = resource_uses(problem, phases, cost)
    load = np.zeros((phases.offsets.size - 1, uses.count))
    np.add.at(load, (_phase_of(phases)[uses.transfer], uses.resource), uses.work)
    return load.max(axis=1, initial=0.0)


@dataclass(frozen=True, eq=False)
class ResourceUses:
    """Transfer `transfer[n]`, rising, works `work[n]` seconds on `resource[n]`.

    Ports out, ports in, then links.
    """

    count: int
    transfer: Indices
    resource: Indices
    work: Floats


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


def _phase_of(phases: Phases) -> Ints32:
    return np.repeat(np.arange(phases.offsets.size - 1, dtype=np.int32), np.diff(phases.offsets))


ROUNDS = 20
PATIENCE = 3
"""Rounds without gain: several new places may be needed at once."""
SHARE = 0.1
"""New places in a round, in parts of the messages."""


def split_messages(
    problem: Problem,
    phases: Phases,
    *,
    serial: bool | None = None,
    links: bool = True,
    method: str = "",
) -> Phases:
    """`phases` with some messages cut over several of them; no longer than before.

    Args:
        problem: the pattern, its machine and limits.
        phases: whole messages, with the routes that were chosen for them if any.
        serial: whether a node sends or receives, one at a time; None: where the machine is
            half-duplex.
        links: whether links make a phase long, too.
        method: whose costs, where a machine runs methods in several ways.

    Raises:
        InputError: the duplex rule is to be kept.
    """
    require(refuse_limits(problem, "split", "send", "receive", "link", "channels"))
    if phases.offsets.size <= 2 or phases.parts is not None:
        return phases
    cost = transfer_work_of(problem, phases, serial=serial, links=links, method=method)
    places = _SplitPlaces(problem, phases, cost)
    value, stuck = places.solve(), 0
    for _ in range(ROUNDS):
        if _core.should_stop(True) or not places.add_wanted(
            max(8, int(SHARE * phases.message.size))
        ):
            break
        before, value = value, places.solve()
        stuck = stuck + 1 if value > before * (1 - 1e-6) else 0
        if stuck == PATIENCE:
            break
    cut = places.cut()
    after = phase_lengths(
        problem, cut, transfer_work_of(problem, cut, serial=serial, links=links, method=method)
    )
    return cut if after.sum() < phase_lengths(problem, phases, cost).sum() * (1 - 1e-9) else phases


class _SplitPlaces:
    """Places (transfer, phase) that a program may use, and the limits' room for more.

    Attributes:
        transfer: shape=(places), the transfer of each place.
        phase: shape=(places).
    """

    def __init__(self, problem: Problem, phases: Phases, cost: TransferWork) -> None:
        self._phases, self._uses = phases, resource_uses(problem, phases, cost)
        self._size = cost.size
        self.transfer: Indices = np.arange(phases.message.size)
        self.phase = np.repeat(np.arange(phases.offsets.size - 1), np.diff(phases.offsets))
        before = problem.pattern.before
        self._whole = np.isin(phases.message, [] if before is None else before) | (cost.work <= 0)
        self._limited, capacity = _limited_uses(problem, phases, cost)
        self._room = np.tile(capacity, (phases.offsets.size - 1, 1))
        for transfer, phase in zip(self.transfer.tolist(), self.phase.tolist(), strict=True):
            self._take(transfer, phase, 1)
        self._price = np.zeros((phases.offsets.size - 1, self._uses.count))
        self._worth = np.zeros(phases.message.size)

    def _take(self, transfer: int, phase: int, sign: int) -> None:
        self._room[phase, self._limited[transfer]] -= sign

    def solve(self) -> float:
        """The sum of phases' lengths when shares are best.

        Places that get none leave, prices are remembered.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_matrix, csr_matrix, hstack

        uses, phases, count = self._uses, self._price.shape[0], self.transfer.size
        place, at = self._places_at_lines()
        rows, row = np.unique(
            self.phase[place] * uses.count + uses.resource[at], return_inverse=True
        )
        scale = float(uses.work.max(initial=1e-300))
        load = coo_matrix((uses.work[at] / scale, (row, place)), shape=(rows.size, count))
        longest = coo_matrix(
            (-np.ones(rows.size), (np.arange(rows.size), rows // uses.count)), (rows.size, phases)
        )
        parts = csr_matrix(
            (np.ones(count), (self.transfer, np.arange(count))), (self._size.size, count)
        )
        result: Any = linprog(  # type: ignore[call-overload]  # sparse matrices are accepted
            np.concatenate([np.zeros(count), np.ones(phases)]),
            A_ub=hstack([load, longest]).tocsr(),
            b_ub=np.zeros(rows.size),
            A_eq=hstack([parts, csr_matrix((self._size.size, phases))]).tocsr(),
            b_eq=np.ones(self._size.size),
            method="highs-ds",
        )
        self._price[:] = 0
        self._price.reshape(-1)[rows] = -result.ineqlin.marginals / scale
        self._worth = result.eqlin.marginals
        self._keep(result.x[:count])
        return float(result.fun) * scale

    def _places_at_lines(self) -> tuple[Indices, Indices]:
        """(place, position in the uses of lines) for every line that a place loads."""
        starts = np.searchsorted(self._uses.transfer, np.arange(self._size.size + 1))
        offsets, at = take_rows(starts, self.transfer)
        return np.repeat(np.arange(self.transfer.size), np.diff(offsets)), at

    def _keep(self, share: Floats) -> None:
        used = share > 1e-9
        for n in np.flatnonzero(~used).tolist():
            self._take(int(self.transfer[n]), int(self.phase[n]), -1)
        self.transfer, self.phase, self.share = self.transfer[used], self.phase[used], share[used]

    def add_wanted(self, most: int) -> int:
        """Adds up to `most` places that would shorten the phases and for which there is room.

        How many.
        """
        uses = self._uses
        cost = np.zeros((self._price.shape[0], self._size.size))
        for phase, price in enumerate(self._price):
            np.add.at(cost[phase], uses.transfer, price[uses.resource] * uses.work)
        gain = self._worth[None, :] - cost
        gain[self.phase, self.transfer] = 0
        gain[:, self._whole] = 0
        added = 0
        for flat in np.argsort(-gain, axis=None, kind="stable").tolist():
            phase, transfer = divmod(flat, self._size.size)
            if added == most or gain[phase, transfer] <= 1e-9:
                break
            if self._room[phase, self._limited[transfer]].min(initial=1) < 1:
                continue
            self._take(transfer, phase, 1)
            self.transfer = np.append(self.transfer, transfer)
            self.phase = np.append(self.phase, phase)
            added += 1
        return added

    def cut(self) -> Phases:
        """The transfers with their shares as whole bytes; the largest takes the remainder."""
        size = self._size.astype(np.int64)
        order = np.lexsort((self.phase, self.transfer))
        transfer, phase = self.transfer[order], self.phase[order].astype(np.int32)
        part = np.rint(self.share[order] * size[transfer]).astype(np.int64)
        rest = size - np.bincount(transfer, part, minlength=size.size).astype(np.int64)
        by_part = np.lexsort((-part, transfer))
        largest = by_part[np.searchsorted(transfer, np.arange(size.size))]
        part[largest] += rest
        kept = part > 0
        transfer = transfer[kept]
        result = replace(
            self._phases, message=self._phases.message[transfer], parts=part[kept], timetable=None
        )
        return regroup(replace(result, **routes_of(self._phases, transfer)), phase[kept])


def _limited_uses(
    problem: Problem, phases: Phases, cost: TransferWork
) -> tuple[list[Indices], Ints]:
    """(what each transfer takes of the limits, how much of each there is in a phase)."""
    limits, topology, routing = problem.limits, problem.machine.topology, problem.machine.routing
    source, target = (
        np.ascontiguousarray(node[phases.message])
        for node in (problem.source_node, problem.target_node)
    )
    nodes = topology.nodes
    taken: list[tuple[Indices, Indices]] = []
    every = np.arange(source.size)
    if limits.send is not None:
        taken.append((every, source.astype(np.intp)))
    if limits.receive is not None:
        taken.append((every, nodes + target.astype(np.intp)))
    if limits.channels is not None:
        offsets, visited = phases.route_offsets, phases.route_nodes
        if offsets is None or visited is None:
            offsets, visited = route_nodes(topology, routing, source, target)
        taken.append((np.repeat(every, np.diff(offsets)), 2 * nodes + visited.astype(np.intp)))
    if limits.link is not None and topology.link_slots:
        offsets, links = cost.route_offsets, cost.route_links
        if not offsets.size:
            offsets, links = route_links(topology, routing, source, target)
        taken.append((np.repeat(every, np.diff(offsets)), 3 * nodes + links.astype(np.intp)))
    transfer = np.concatenate([np.zeros(0, np.intp), *(pair[0] for pair in taken)])
    resource = np.concatenate([np.zeros(0, np.intp), *(pair[1] for pair in taken)])
    leaves = (source != target)[transfer]
    transfer, resource = transfer[leaves], resource[leaves]
    order = np.argsort(transfer, kind="stable")
    capacity = np.concatenate(
        [np.full(nodes, limit or 0) for limit in (limits.send, limits.receive, limits.channels)]
        + [(limits.link or 0) * topology.widths().astype(np.int64)]
    )
    cuts = np.searchsorted(transfer[order], np.arange(1, source.size))
    return np.split(resource[order], cuts), capacity
