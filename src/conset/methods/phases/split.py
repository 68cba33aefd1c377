"""Splitting messages over several phases, where whole ones cannot balance them.

Problem: balanced phases of whole messages may still be longer than the busiest processor, as in a
packing: one phase is a word too long, another a word too short. Parts of messages fit in between.
Idea: a linear program over which bytes of a message travel in which of the phases where it may
stand: least is the sum over phases of the busiest line. It starts from one place for each message.
Its prices say which further places (message, phase) would help; the most wanted for which the
limits have room are added, those that carry nothing leave, and it is solved again, while that helps
(column generation). A basic solution of a program with L lines and P phases splits at most P · L
messages, in practice a few. Invariant: limits hold with every place taken; parts add up to
messages, byte for byte. Guarantee: never longer than what came in, the overheads of the parts
included. Complexity: some ten linear programs of (messages + places) columns and phases · lines
rows: seconds at thousands of messages. Routes stay as they are. Order: messages that `before` names
stay whole. Reference: column generation, Dantzig, Wolfe, doi:10.1287/opre.8.1.101; programs by
HiGHS, through SciPy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import take_rows
from conset.machine.network.routes import route_links, route_nodes
from conset.methods.phases.balance import (
    TransferWork,
    phase_lengths,
    regroup,
    resource_uses,
    transfer_work_of,
)
from conset.methods.phases.method import refuse_limits, require
from conset.methods.phases.problem import Phases, Problem

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
        self.transfer: NDArray[np.intp] = np.arange(phases.message.size)
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

    def _places_at_lines(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(place, position in the uses of lines) for every line that a place loads."""
        starts = np.searchsorted(self._uses.transfer, np.arange(self._size.size + 1))
        offsets, at = take_rows(starts, self.transfer)
        return np.repeat(np.arange(self.transfer.size), np.diff(offsets)), at

    def _keep(self, share: NDArray[np.float64]) -> None:
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
        return regroup(_repeat(self._phases, transfer[kept], part[kept]), phase[kept])


def _repeat(phases: Phases, transfer: NDArray[np.intp], part: NDArray[np.int64]) -> Phases:
    """Transfers `transfer[k]` of `phases`, with `part[k]` bytes and their routes.

    In which phase is still open.
    """
    result = replace(phases, message=phases.message[transfer], parts=part, timetable=None)
    if phases.route_offsets is None or phases.route_nodes is None:
        return result
    offsets, stops = take_rows(phases.route_offsets, transfer)
    return replace(result, route_offsets=offsets, route_nodes=phases.route_nodes[stops])


def _limited_uses(
    problem: Problem, phases: Phases, cost: TransferWork
) -> tuple[list[NDArray[np.intp]], NDArray[np.int64]]:
    """(what each transfer takes of the limits, how much of each there is in a phase)."""
    limits, topology, routing = problem.limits, problem.machine.topology, problem.machine.routing
    source, target = (
        np.ascontiguousarray(node[phases.message])
        for node in (problem.source_node, problem.target_node)
    )
    nodes = topology.nodes
    taken: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
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
