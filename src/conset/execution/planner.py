"""Planner: from a schedule, or a program, to what each rank executes.

Forwarding: where the bytes of a program lie at every rank that they pass, and what ranks copy on
the way.

Problem: the messages of a pattern travel in bundles, stage after stage; a bundle is one range of
bytes at both its ends, while its parts lie in the user's buffers in another order, or came in
several bundles.
Idea: walk the stages and keep for every part its place, an area and an offset, at the rank that
holds it. What a transfer carries is cut into pieces, each of one part. Where its pieces follow each
other in one area, the transfer is sent from there, out of the send buffer or the work area; else
neighbours are merged and copied (*packed*) into a range of the work area. Where all its pieces end
at the receiver and follow each other in the receive buffer, it is received there; else into the
work area, in a range for the whole bundle, and what ends here is copied (*unpacked*), neighbours
merged. A part ends with the last stage in which it moves: it may pass its target before.
Invariant: every arrival and every pack has a range of the work area of its own, so nothing is
overwritten that may still be read, however far ranks run ahead; the work area is as large as all
that a rank packs and holds for others.
Complexity: O(stages · (parts + transfers) log) time, no loop over parts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from conset.base import Bools, InputError, Integers, Ints, Ints32, frozen
from conset.execution.check import check_delivery, check_order, check_plan, not_kept
from conset.execution.plan import MAX_BYTES, Copies, Needs, Operations, Plan
from conset.pattern import Pattern
from conset.schedule import (
    Bundles,
    Compiled,
    InFlight,
    Paths,
    Program,
    Schedule,
    Sync,
    order_of_transfers,
    parse_sync,
)


class Side(NamedTuple):
    """Where transfers lie at one of their ends.

    Attributes:
        work: shape=(transfers), bool: in the work area.
        offset: shape=(transfers), int64 [B].
    """

    work: Bools
    offset: Ints


class Moves(NamedTuple):
    """Copies beside transfers, those of a transfer in the order of its bytes.

    Attributes:
        transfer: shape=(copies), int64.
        work: shape=(copies), bool: `source` counts in the work area.
        source: shape=(copies), int64 [B].
        target: shape=(copies), int64 [B].
        bytes: shape=(copies), int64 [B].
    """

    transfer: Ints
    work: Bools
    source: Ints
    target: Ints
    bytes: Ints

    def of_operations(self, transfer: Ints32) -> Copies | None:
        """As the copies of operations, of which number k carries transfer `transfer[k]`.

        None where there are none.
        """
        if not self.transfer.size:
            return None
        number = np.empty(transfer.size, np.int64)
        number[transfer] = np.arange(transfer.size)
        own = number[self.transfer]
        order = np.argsort(own, kind="stable")
        offsets = np.searchsorted(own[order], np.arange(transfer.size + 1)).astype(np.int64)
        return Copies(
            offsets, self.work[order], self.source[order], self.target[order], self.bytes[order]
        )


class Forwarding(NamedTuple):
    """Where every transfer of a program lies at its source and target.

    And what is copied before and after.

    Attributes:
        source: of all transfers.
        target: of all transfers.
        packs: into the work area, before a transfer is sent.
        unpacks: into the receive buffer, after it has been received.
        work_bytes: shape=(ranks), int64 [B]: size of every rank's work area.
    """

    source: Side
    target: Side
    packs: Moves
    unpacks: Moves
    work_bytes: Ints


class Transfers(NamedTuple):
    """The transfers of one stage, by bundle and within it by byte.

    So that their bytes follow each other.

    Attributes:
        transfer: shape=(transfers), int64: its index in the program.
        bundle: shape=(transfers), int64: in the stage.
        first: shape=(transfers), int64 [B]: the byte of its bundle that each begins with.
        bytes: shape=(transfers), int64 [B].
    """

    transfer: Ints
    bundle: Ints
    first: Ints
    bytes: Ints


def forward(
    paths: Paths, transfers: list[Transfers], send_start: Ints, receive_start: Ints
) -> Forwarding:
    """Walks the stages.

    Args:
        paths: of the messages.
        transfers: of every stage; those of a bundle carry it exactly.
        send_start: shape=(messages), int64 [B]: where each message begins in its source's send
            buffer.
        receive_start: shape=(messages), int64 [B]: and in its target's receive buffer.
    """
    return _Walk(
        paths, sum(each.transfer.size for each in transfers), send_start, receive_start
    ).through(transfers)


class _Pieces(NamedTuple):
    """Bytes of one part in one transfer, in the order in which they travel."""

    entry: Ints  # in Bundles.parts
    transfer: Ints  # in Transfers
    into: Ints  # byte of the part
    within: Ints  # byte of the transfer
    bytes: Ints


class _Walk:
    """The places of all parts, at the stage that is looked at."""

    def __init__(self, paths: Paths, transfers: int, send_start: Ints, receive_start: Ints) -> None:
        self._paths = paths
        self._in_work = np.zeros(paths.parts, bool)
        self._at = send_start[paths.message_of] + paths.first_of
        self._end = receive_start[paths.message_of] + paths.first_of
        moves = paths.positions[:, 1:] != paths.positions[:, :-1]
        self._last = paths.stages - 1 - np.argmax(moves[:, ::-1], axis=1)
        self._used = np.zeros(paths.pattern.ranks, np.int64)
        self._source, self._target = (
            Side(np.zeros(transfers, bool), np.zeros(transfers, np.int64)) for _ in range(2)
        )
        self._packs: list[Moves] = []
        self._unpacks: list[Moves] = []

    def through(self, transfers: list[Transfers]) -> Forwarding:
        for stage, carried in enumerate(transfers):
            bundles = self._paths.bundles(stage)
            pieces = _cut(bundles, self._paths.size_of, carried)
            self._leave(bundles, carried, pieces)
            self._arrive(stage, bundles, carried, pieces)
        return Forwarding(
            self._source, self._target, _joined(self._packs), _joined(self._unpacks), self._used
        )

    def _leave(self, bundles: Bundles, carried: Transfers, pieces: _Pieces) -> None:
        """Says where the transfers of a stage are sent from, and what is packed for them."""
        part = bundles.parts[pieces.entry]
        work, at = self._in_work[part], self._at[part] + pieces.into
        begins = _begins(pieces, at, np.diff(work.astype(np.int8)) == 0)
        first = np.searchsorted(pieces.transfer, np.arange(carried.transfer.size))
        packed = np.bincount(pieces.transfer[begins], minlength=carried.transfer.size) > 1
        own = np.flatnonzero(packed)
        room = np.zeros(packed.size, np.int64)
        room[own] = self._allocate(bundles.pattern.source[carried.bundle[own]], carried.bytes[own])
        self._source.work[carried.transfer] = packed | work[first]
        self._source.offset[carried.transfer] = np.where(packed, room, at[first])
        segment, size = _segments(pieces, begins, packed[pieces.transfer])
        of = pieces.transfer[segment]
        target = room[of] + pieces.within[segment]
        self._packs.append(Moves(carried.transfer[of], work[segment], at[segment], target, size))

    def _arrive(self, stage: int, bundles: Bundles, carried: Transfers, pieces: _Pieces) -> None:
        """Says where the transfers of a stage are received, and what is unpacked of them."""
        part = bundles.parts[pieces.entry]
        ends, end = self._last[part] == stage, self._end[part] + pieces.into
        begins = _begins(pieces, end, ends[1:] & ends[:-1])
        first = np.searchsorted(pieces.transfer, np.arange(carried.transfer.size))
        straight = (
            np.bincount(pieces.transfer[begins], minlength=carried.transfer.size) == 1
        ) & ends[first]
        held = np.unique(carried.bundle[~straight])
        room = np.zeros(bundles.bundles, np.int64)
        room[held] = self._allocate(bundles.pattern.target[held], bundles.pattern.size[held])
        start = room[carried.bundle] + carried.first
        self._target.work[carried.transfer] = ~straight
        self._target.offset[carried.transfer] = np.where(straight, end[first], start)
        segment, size = _segments(pieces, begins, ends & ~straight[pieces.transfer])
        of = pieces.transfer[segment]
        source = start[of] + pieces.within[segment]
        self._unpacks.append(
            Moves(carried.transfer[of], np.ones(of.size, bool), source, end[segment], size)
        )
        self._in_work[bundles.parts] = True
        # where each part begins in its bundle
        size = self._paths.size_of[bundles.parts]
        before = np.cumsum(size) - size
        before -= np.repeat(before[bundles.offsets[:-1]], np.diff(bundles.offsets))
        self._at[bundles.parts] = room[bundles.bundle_of] + before

    def _allocate(self, rank: Ints32, size: Ints) -> Ints:
        """Ranges of the work areas, one after the other at every rank."""
        order = np.argsort(rank, kind="stable")
        before = np.cumsum(size[order]) - size[order]
        found, first = np.unique(rank[order], return_index=True)
        start = np.empty(size.size, np.int64)
        start[order] = before + np.repeat(
            self._used[found] - before[first], np.diff(np.append(first, size.size))
        )
        np.add.at(self._used, rank, size)
        return start


def _cut(bundles: Bundles, size_of: Ints, carried: Transfers) -> _Pieces:
    """The pieces of a stage, where the bytes of all its bundles follow each other in one line."""
    size = size_of[bundles.parts]
    parts, transfers = np.cumsum(size) - size, np.cumsum(carried.bytes) - carried.bytes
    start = parts if carried.transfer.size == bundles.bundles else np.union1d(parts, transfers)
    entry = np.searchsorted(parts, start, side="right") - 1
    transfer = np.searchsorted(transfers, start, side="right") - 1
    length = np.diff(np.append(start, size.sum()))
    return _Pieces(entry, transfer, start - parts[entry], start - transfers[transfer], length)


def _begins(pieces: _Pieces, place: Ints, alike: Bools) -> Bools:
    """shape=(pieces), bool.

    Whether each begins a segment: the one before lies elsewhere, or is in another transfer.

    `alike`: shape=(pieces - 1): whether a piece and the next may be in one segment.
    """
    begins = np.ones(place.size, bool)
    same = np.diff(pieces.transfer) == 0
    begins[1:] = ~(same & alike & (place[:-1] + pieces.bytes[:-1] == place[1:]))
    return begins


def _segments(pieces: _Pieces, begins: Bools, kept: Bools) -> tuple[Ints, Ints]:
    """(first piece, bytes) of the segments that are kept, all pieces of a segment alike."""
    first = np.flatnonzero(begins)
    if not first.size:
        return first, first
    return first[kept[first]], np.add.reduceat(pieces.bytes, first)[kept[first]]


def _joined(moves: list[Moves]) -> Moves:
    return Moves(*(np.concatenate(column) for column in zip(*moves, strict=True)))


PART = 2**30
"""Bytes of a part of a transfer that one call of MPI does not carry."""
REPLAYED = 2**18
"""Operations and copies up to which every plan of a program is replayed before it is handed out."""
_Where = tuple[Bools | None, Ints]
"""Whether it lies in the work area (None: none does), and its first byte there."""


def make_plan(
    what: Compiled, sync: Sync | str | None = None, *, in_flight: InFlight | None = None
) -> Plan:
    """The plan that executes a schedule or a program under `sync` (default: its own).

    It is checked to end. A rank keeps `in_flight` sends open at once; None: as many as the schedule
    says, else its machine, else all.

    Transfers of more than 2³¹ - 1 bytes, which no call of MPI carries, are planned in parts of
    1 GiB.

    Transfers of a phase are posted in the order of the phase's list, or of their start where there
    is a timetable (the times themselves are a model's and are not kept). What of an order between
    messages the policy does not see to, operations wait for (`_waits`).

    Of a program that forwards, a rank has in its buffers what a direct exchange of the messages has
    there; a bundle waits for what brings its parts, whatever the policy. Up to 2^18 operations and
    copies the plan is also replayed byte by byte. Building blocks are planned as one schedule of
    all that they send.

    Raises:
        UsageError: `sync` is no policy, `in_flight` below 1.
        InputError: parts do not add up to the messages, or the pattern's order between messages is
            broken by the order of the transfers; a program executes more than 2^26 messages.
        VerificationError: the plan would not end, or not deliver: a bug.
    """
    policy = sync if isinstance(sync, Sync) else parse_sync(sync or what.sync)
    schedule, paths = _in_calls(what.whole), what.paths
    message, before = schedule.message, schedule.pattern.before
    pattern = schedule.pattern if paths is None else paths.pattern
    (send_start, send_bytes), (receive_start, receive_bytes) = _layouts(pattern)
    if paths is None:
        within = _offset_in_message(schedule)
        check_order(schedule)
        source: _Where = (None, send_start[message] + within)
        target: _Where = (None, receive_start[message] + within)
        if before is not None:
            before = before[not_kept(schedule, policy)]
    else:
        moved = forward(paths, _stages(paths, schedule), send_start, receive_start)
        source, target = moved.source, moved.target
    ends = schedule.pattern.source[message], schedule.pattern.target[message]
    sends, receives = (
        _operations(schedule, *ends, *source),
        _operations(schedule, *ends[::-1], *target),
    )
    needs, signals = _waits(before, message, sends, receives)
    if in_flight is None:
        costs = schedule.machine.costs_for(schedule.method)
        in_flight = schedule.in_flight or costs.in_flight or "all"
    plan = Plan(
        schedule.phases,
        policy,
        sends,
        receives,
        send_bytes,
        receive_bytes,
        None if in_flight == "all" else in_flight,
        None if paths is None else moved.work_bytes,
        None if paths is None else moved.packs.of_operations(sends.transfer),
        None if paths is None else moved.unpacks.of_operations(receives.transfer),
        needs,
        signals,
    )
    check_plan(plan)
    if paths is not None and steps_of(plan) <= REPLAYED:
        check_delivery(plan, pattern)
    return plan


def plan_direct(pattern: Pattern, run: Ints32 | None = None) -> Plan:
    """Every message sent directly and whole, in as many calls of MPI as it takes.

    All at once, or run after run where `run` says in which one each is.

    The buffers are those of a program that delivers `pattern`; messages of a rank are in the order
    of their indices.

    Args:
        pattern: what is sent.
        run: shape=(messages), int32, or None.
    """
    message, begin, size = _parts(pattern.size)
    phase = np.zeros(message.size, np.int32) if run is None else run[message]
    (send_start, send_bytes), (receive_start, receive_bytes) = _layouts(pattern)
    source, target = pattern.source[message], pattern.target[message]
    ends = (
        (source, target, send_start[message] + begin),
        (target, source, receive_start[message] + begin),
    )
    sends, receives = (
        _posted(pattern.ranks, np.lexsort((phase, own)), own, phase, peer, start, size)
        for own, peer, start in ends
    )
    phases = int(phase.max(initial=-1)) + 1
    return Plan(
        phases, Sync("none" if run is None else "local"), sends, receives, send_bytes, receive_bytes
    )


def plan_baseline(program: Program) -> Plan:
    """What an application would send itself, on the buffers of `make_plan`.

    The messages, each directly and whole.

    Of building blocks one repetition after the other, a rank ending its own part of each first.
    """
    if program.paths is not None:
        return plan_direct(program.paths.pattern)
    sent = [
        program.schedules[stage.schedule].pattern
        for stage in program.stages
        for _ in range(stage.repeat)
    ]
    run = np.repeat(np.arange(len(sent), dtype=np.int32), [pattern.messages for pattern in sent])
    # chained messages are by source, then by repetition
    order = np.argsort(np.concatenate([pattern.source for pattern in sent]), kind="stable")
    return plan_direct(program.whole.pattern, run[order])


def steps_of(plan: Plan) -> int:
    """Operations and copies of all ranks."""
    copies = sum(each.count for each in (plan.packs, plan.unpacks) if each is not None)
    return plan.sends.count + plan.receives.count + copies


def _stages(paths: Paths, schedule: Schedule) -> list[Transfers]:
    """The transfers of a chained program by stage, each with its first byte in the bundle."""
    within = _offset_in_message(schedule)
    bundles = [paths.stage_pattern(stage) for stage in range(paths.stages)]
    edges = np.cumsum([0, *(each.messages for each in bundles)])
    # chained messages are bundles by source, then by stage
    number = np.argsort(np.concatenate([each.source for each in bundles]), kind="stable")[
        schedule.message
    ]
    order = np.lexsort((within, number))
    cuts = np.searchsorted(number[order], edges)
    rows = [order[low:high] for low, high in pairwise(cuts.tolist())]
    return [
        Transfers(row, number[row] - edge, within[row], schedule.size[row])
        for row, edge in zip(rows, edges.tolist(), strict=False)
    ]


def _waits(
    before: Ints32 | None,
    message: Ints32,
    sends: Operations,
    receives: Operations,
) -> tuple[Needs | None, Needs | None]:
    """What sends and receives need to keep the messages of a pair in order.

    The first ends before the second one starts.

    It ends where the two share a rank: its send there when the bytes may be changed again, its
    receive when they are there. The second one starts where it is sent, so if that is the shared
    rank the send needs the operation of the first (a receive rather than a send, where both are
    there). If the shared rank receives it, that receive has the need, and its source is signalled.
    """
    first, second = order_of_transfers(before, message)
    if not first.size:
        return None, None
    send, receive = (np.empty(message.size, np.int64) for _ in range(2))
    send[sends.transfer], receive[receives.transfer] = (
        np.arange(message.size),
        np.arange(message.size),
    )
    a, b = (
        np.stack([sends.rank[send[each]], receives.rank[receive[each]]]) for each in (first, second)
    )
    at_source = (b[0] == a).any(axis=0)
    arrives = a[1] == np.where(at_source, b[0], b[1])
    needed = np.where(arrives, receive[first], receives.count + send[first])
    return (
        _rows(send[second][at_source], needed[at_source], sends.count),
        _rows(receive[second][~at_source], needed[~at_source], receives.count),
    )


def _rows(owner: Ints, needed: Ints, operations: int) -> Needs | None:
    if not owner.size:
        return None
    order = np.lexsort((needed, owner))
    return Needs(
        np.searchsorted(owner[order], np.arange(operations + 1)).astype(np.int64), needed[order]
    )


def _parts(size: Ints) -> tuple[Ints, Ints, Ints]:
    """(transfer, first byte in it, bytes) of what single calls of MPI carry of transfers."""
    count = np.where(size > MAX_BYTES, -(-size // PART), 1)
    transfer = np.repeat(np.arange(size.size), count)
    begin = PART * (np.arange(transfer.size) - np.repeat(np.cumsum(count) - count, count))
    most = np.where(count[transfer] > 1, PART, MAX_BYTES)
    return transfer, begin, np.minimum(size[transfer] - begin, most)


def _in_calls(schedule: Schedule) -> Schedule:
    """The schedule with its large transfers in parts, in the same phase; routes are left out."""
    if schedule.size.max(initial=0) <= MAX_BYTES:
        return schedule
    transfer, _, size = _parts(schedule.size)
    return schedule.without_routes(
        phase_offsets=np.searchsorted(transfer, schedule.phase_offsets),
        message=schedule.message[transfer],
        parts=size,
        timetable=None if schedule.timetable is None else schedule.timetable[transfer],
    )


def _offset_in_message(schedule: Schedule) -> Ints:
    """shape=(transfers) [B]: where each part starts in its message.

    Parts follow each other in transfer order.
    """
    message, size = schedule.message, schedule.size
    order = np.argsort(message, kind="stable")
    ends = np.cumsum(size[order])
    found, first = np.unique(message[order], return_index=True)
    start = ends - size[order]
    within = np.empty(message.size, np.int64)
    within[order] = start - np.repeat(start[first], np.diff(np.append(first, message.size)))
    total = np.zeros(schedule.pattern.messages, np.int64)
    if found.size:
        total[found] = np.add.reduceat(size[order], first)
    if (wrong := np.flatnonzero(total != schedule.pattern.size)).size:
        m = int(wrong[0])
        raise InputError(
            f"message {m} has {schedule.pattern.size[m]} bytes, its transfers carry "
            f"{total[m]}: must agree"
        )
    return within


def _layouts(pattern: Pattern) -> list[tuple[Ints, Ints]]:
    """Of the send buffers and of the receive buffers."""
    ends = (pattern.source, pattern.target)
    return [_layout(*each, pattern.size, pattern.ranks) for each in (ends, ends[::-1])]


def _layout(own: Ints32, peer: Ints32, size: Ints, ranks: int) -> tuple[Ints, Ints]:
    """Start of each message in its rank's buffer, and the size of each rank's buffer [B]."""
    order = np.lexsort((peer, own))  # stable: messages of one pair stay in index order
    ends = np.cumsum(size[order])
    edges = np.concatenate([[0], ends])[np.searchsorted(own[order], np.arange(ranks + 1))].astype(
        np.int64
    )
    start = np.empty(size.size, np.int64)
    start[order] = ends - size[order] - edges[own[order]]
    return start, np.diff(edges)


def _operations(
    schedule: Schedule,
    own: Ints32,
    peer: Ints32,
    work: Bools | None,
    offset: Ints,
) -> Operations:
    return _posted(
        schedule.pattern.ranks,
        schedule.posted[np.argsort(own[schedule.posted], kind="stable")],
        own,
        schedule.phase_of,
        peer,
        offset,
        schedule.size,
        work,
    )


def _posted(
    ranks: int,
    order: Integers,
    own: Ints32,
    phase: Ints32,
    peer: Ints32,
    offset: Ints,
    size: Ints,
    work: Bools | None = None,
) -> Operations:
    """Operations in the order in which they are posted, by the rank that has them."""
    return Operations(
        np.searchsorted(own[order], np.arange(ranks + 1)).astype(np.int64),
        frozen(phase[order]),
        frozen(peer[order]),
        frozen(offset[order]),
        frozen(size[order]),
        frozen(order.astype(np.int32)),
        None if work is None else work[order],
    )
