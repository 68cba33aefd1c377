"""Does a plan deliver?

Every copy, send and arrival replayed with the names of bytes instead of bytes.

Idea: the bytes of all messages are numbered, (message, position) in one line. What lies in an area
is a table of ranges (place, bytes, number of the first byte, who wrote it). At first the send
buffers hold their messages. Operations are replayed by level: a send is one above the deepest
receive that it needs, a receive is where its send is. On a level packs read and write, sends read,
receives write, unpacks read and write. Rules:

- what is read is there in full: in the send buffer; or in the work area, where a pack reads what
  the receives that its send *needs* have brought, a send that or what its own packs have written,
  an unpack what its own receive has brought;
- no byte of a work area or receive buffer is written twice, so nothing is overwritten that is still
  to be read;
- sends and receives of a pair match in posting order, one to one, with equal bytes;
- at the end every receive buffer holds byte after byte of its messages, by source, then by index,
  and nothing else.

Complexity: O(levels · ranges log) time; as many ranges as pieces into which plan and messages cut
the bytes.
Independence: nothing of what made the plan is used; buffers are laid out here again, from their
description in `plan`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import take_rows
from conset.base.errors import VerificationError
from conset.execution.check import matched, name_operation, refuse_operation
from conset.execution.plan import Copies, Operations, Plan
from conset.pattern.pattern import Pattern

_Ints = NDArray[np.int64]
_Flags = NDArray[np.bool_]
_Ranks = NDArray[np.int32] | NDArray[np.int64]


class _Ranges(NamedTuple):
    """Ranges of one line of bytes: a kind of area of all ranks, one rank behind the other."""

    place: _Ints
    bytes: _Ints
    number: _Ints  # of the first byte
    writer: _Ints  # a receive; of packs: minus one minus the send

    def sorted(self) -> _Ranges:
        order = np.argsort(self.place, kind="stable")
        return _Ranges(*(column[order] for column in self))


_NOTHING = _Ranges(*(np.zeros(0, np.int64) for _ in range(4)))


class _Found(NamedTuple):
    """What reads have found: pieces of ranges, read after read, in the order of their places."""

    read: _Ints
    shift: _Ints  # from where the read begins [B]
    bytes: _Ints
    number: _Ints
    writer: _Ints


def check_delivery(plan: Plan, pattern: Pattern) -> None:
    """Checks that `plan` brings every byte of `pattern` to its place.

    And reads nothing before it is there.

    Raises:
        VerificationError: the first rule broken, or a cycle of needs.
    """
    if plan.ranks != pattern.ranks:
        raise VerificationError(
            f"plan: of {plan.ranks} ranks, the pattern has {pattern.ranks}: must agree"
        )
    first = np.cumsum(pattern.size) - pattern.size
    send_place, send_base = _laid_out(
        pattern.source, pattern.target, pattern, plan.send_bytes, "send"
    )
    receive_place, _ = _laid_out(
        pattern.target, pattern.source, pattern, plan.receive_bytes, "receive"
    )
    held = _Ranges(send_place, pattern.size, first, np.full(first.size, -1)).sorted()
    received = _Replay(plan, held, send_base).run()
    _check_received(received, _Ranges(receive_place, pattern.size, first, first).sorted(), plan)


def _laid_out(
    own: NDArray[np.int32], peer: NDArray[np.int32], pattern: Pattern, area: _Ints, what: str
) -> tuple[_Ints, _Ints]:
    """(place of each message in one line of all ranks' buffers, where each rank's begins).

    By rank, peer, index.
    """
    order = np.lexsort((np.arange(own.size), peer, own))
    place = np.empty(own.size, np.int64)
    place[order] = np.cumsum(pattern.size[order]) - pattern.size[order]
    due = np.zeros(pattern.ranks, np.int64)
    np.add.at(due, own, pattern.size)
    if (wrong := np.flatnonzero(due != area)).size:
        r = wrong[0]
        raise VerificationError(
            f"plan: rank {r}'s {what} buffer has {area[r]} B, its messages {due[r]}: must agree"
        )
    return place, np.cumsum(due) - due


class _Replay:
    """The areas of all ranks while a plan is replayed."""

    def __init__(self, plan: Plan, held: _Ranges, send_base: _Ints) -> None:
        self._plan = plan
        self._send, self._receive = matched(plan)
        self._work_bytes = work = plan.work_sizes
        self._work_base = np.cumsum(work) - work
        self._send_base = send_base
        self._receive_base = np.cumsum(plan.receive_bytes) - plan.receive_bytes
        self._held = held
        self._work = _NOTHING
        self._received = _NOTHING
        # pairs (send, receive) as numbers, rising
        self._needed = np.zeros(0, np.int64)
        if plan.needs is not None:
            received = plan.needs.operation < plan.receives.count
            self._needed = np.unique(
                (plan.needs.owner * plan.receives.count + plan.needs.operation)[received]
            )

    def run(self) -> _Ranges:
        """What the receive buffers hold at the end."""
        level = _levels(self._plan, self._send, self._receive)[self._send]
        order = np.argsort(level, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
            self._pack(self._send[own])
            self._carry(self._send[own], self._receive[own])
            self._unpack(self._receive[own])
        return self._received

    def _pack(self, sends: _Ints) -> None:
        packs = self._plan.packs
        if packs is None:
            return
        copies, rank = _copies_of(packs, sends, self._plan.sends)
        self._check_inside(
            packs.target[copies], packs.bytes[copies], rank, self._work_bytes, "a pack writes"
        )
        found = self._read(
            packs.work[copies],
            packs.source[copies],
            packs.bytes[copies],
            rank,
            packs.operation[copies],
            False,
        )
        place = self._work_base[rank] + packs.target[copies]
        self._work = _written(self._work, found, place, -1 - packs.operation[copies], "work area")

    def _carry(self, sends: _Ints, receives: _Ints) -> None:
        from_, to = self._plan.sends, self._plan.receives
        found = self._read(
            from_.in_work[sends],
            from_.offset[sends],
            from_.bytes[sends],
            from_.rank[sends],
            sends,
            True,
        )
        rank, offset, size, in_work = (
            to.rank[receives],
            to.offset[receives],
            to.bytes[receives],
            to.in_work[receives],
        )
        room = np.where(in_work, self._work_bytes[rank], self._plan.receive_bytes[rank])
        self._check_inside(offset, size, np.arange(rank.size), room, "a receive writes")
        for work in (True, False):
            kept = in_work[found.read] == work
            part = _Found(*(column[kept] for column in found))
            place = (self._work_base if work else self._receive_base)[rank] + offset
            if work:
                self._work = _written(self._work, part, place, receives, "work area")
            else:
                self._received = _written(self._received, part, place, receives, "receive buffer")

    def _unpack(self, receives: _Ints) -> None:
        unpacks = self._plan.unpacks
        if unpacks is None:
            return
        copies, rank = _copies_of(unpacks, receives, self._plan.receives)
        if not unpacks.work[copies].all():
            raise VerificationError(
                "plan: an unpack reads the send buffer, must read the work area"
            )
        self._check_inside(
            unpacks.target[copies],
            unpacks.bytes[copies],
            rank,
            self._plan.receive_bytes,
            "an unpack writes",
        )
        own = unpacks.operation[copies]
        self._check_inside(
            unpacks.source[copies], unpacks.bytes[copies], rank, self._work_bytes, "an unpack reads"
        )
        found = _look(
            self._work, self._work_base[rank] + unpacks.source[copies], unpacks.bytes[copies]
        )
        _require_all(found, unpacks.bytes[copies], self._plan.receives, own, "receive")
        wrong = own[found.read][found.writer != own[found.read]]
        refuse_operation(wrong, self._plan.receives, "receive", "unpacks what another has brought")
        place = self._receive_base[rank] + unpacks.target[copies]
        self._received = _written(self._received, found, place, own, "receive buffer")

    def _read(
        self, work: _Flags, offset: _Ints, size: _Ints, rank: _Ranks, sends: _Ints, packed: bool
    ) -> _Found:
        """What sends, or their packs, read; `packed`: what they have packed is there too."""
        room = np.where(work, self._work_bytes[rank], self._plan.send_bytes[rank])
        self._check_inside(offset, size, np.arange(rank.size), room, "a send reads")
        pieces = []
        for area, base, own in (
            (self._work, self._work_base, work),
            (self._held, self._send_base, ~work),
        ):
            rows = np.flatnonzero(own)
            found = _look(area, (base[rank] + offset)[rows], size[rows])
            _require_all(found, size[rows], self._plan.sends, sends[rows], "send")
            if own is work:
                self._require_there(found, sends[rows], packed)
            pieces.append(found._replace(read=rows[found.read]))
        return _Found(*(np.concatenate(column) for column in zip(*pieces, strict=True)))

    def _require_there(self, found: _Found, sends: _Ints, packed: bool) -> None:
        own = sends[found.read]
        key = own * self._plan.receives.count + found.writer
        at = np.minimum(np.searchsorted(self._needed, key), max(self._needed.size - 1, 0))
        brought = (found.writer >= 0) & (self._needed.size > 0)
        if self._needed.size:
            brought &= self._needed[at] == key
        wrong = own[~(brought | (packed & (found.writer == -1 - own)))]
        rule = "reads bytes of the work area that nothing it needs has brought"
        refuse_operation(wrong, self._plan.sends, "send", rule)

    @staticmethod
    def _check_inside(offset: _Ints, size: _Ints, rank: _Ranks, room: _Ints, what: str) -> None:
        if (wrong := np.flatnonzero((size < 1) | (offset < 0) | (offset > room[rank] - size))).size:
            k = wrong[0]
            raise VerificationError(
                f"plan: {what} {size[k]} B at byte {offset[k]} of an area of {room[rank][k]} B: "
                "must lie inside"
            )


def _levels(plan: Plan, send: _Ints, receive: _Ints) -> _Ints:
    """shape=(sends): how many arrivals each has before it, at most one after the other."""
    level = np.zeros(plan.sends.count, np.int64)
    if plan.needs is None:
        return level
    sender = np.empty(plan.receives.count, np.int64)
    sender[receive] = send
    received = plan.needs.operation < plan.receives.count
    before, after = sender[plan.needs.operation[received]], plan.needs.owner[received]
    for _ in range(plan.sends.count + 1):
        raised = level.copy()
        np.maximum.at(raised, after, level[before] + 1)
        if np.array_equal(raised, level):
            return level
        level = raised
    raise VerificationError("plan: sends need each other's arrivals in a cycle")


def _copies_of(copies: Copies, operations: _Ints, of: Operations) -> tuple[_Ints, _Ranks]:
    """(copies, the rank of each)."""
    offsets, index = take_rows(copies.offsets, operations)
    return index, np.repeat(of.rank[operations], np.diff(offsets))


def _look(area: _Ranges, place: _Ints, size: _Ints) -> _Found:
    """The pieces of `area`, sorted and without overlap, in each range that is read."""
    low = np.searchsorted(area.place + area.bytes, place, side="right")
    count = np.maximum(np.searchsorted(area.place, place + size, side="left") - low, 0)
    read = np.repeat(np.arange(place.size), count)
    k = np.arange(count.sum()) + np.repeat(low - (np.cumsum(count) - count), count)
    begin = np.maximum(area.place[k], place[read])
    return _Found(
        read,
        begin - place[read],
        np.minimum(area.place[k] + area.bytes[k], place[read] + size[read]) - begin,
        area.number[k] + begin - area.place[k],
        area.writer[k],
    )


def _require_all(found: _Found, size: _Ints, operations: Operations, own: _Ints, what: str) -> None:
    there = np.zeros(size.size, np.int64)
    np.add.at(there, found.read, found.bytes)
    if (wrong := np.flatnonzero(there != size)).size:
        name = name_operation(operations, int(own[wrong[0]]), what)
        raise VerificationError(
            f"plan: {name} reads {size[wrong[0]]} B of which {there[wrong[0]]} are there"
        )


def _written(area: _Ranges, found: _Found, place: _Ints, writer: _Ints, what: str) -> _Ranges:
    """`area` with what was found, written where the reads say."""
    new = _Ranges(place[found.read] + found.shift, found.bytes, found.number, writer[found.read])
    together = _Ranges(*(np.concatenate(both) for both in zip(area, new, strict=True))).sorted()
    if (together.place[1:] < (together.place + together.bytes)[:-1]).any():
        raise VerificationError(f"plan: a byte of a {what} is written twice")
    return together


def _check_received(received: _Ranges, due: _Ranges, plan: Plan) -> None:
    """Every range lies in its message's place, and together they are all bytes."""
    base = np.cumsum(plan.receive_bytes) - plan.receive_bytes
    at = np.searchsorted(due.place, received.place, side="right") - 1
    right = (at >= 0) & (received.place + received.bytes <= (due.place + due.bytes)[at])
    right &= received.number - received.place == (due.number - due.place)[at]
    if not right.all():
        k = int(np.flatnonzero(~right)[0])
        rank = int(np.searchsorted(base, received.place[k], side="right") - 1)
        raise VerificationError(
            f"plan: byte {received.place[k] - base[rank]} of rank {rank}'s receive buffer is one "
            "of another message "
            "or another position"
        )
    if missing := int(due.bytes.sum() - received.bytes.sum()):
        raise VerificationError(f"plan: {missing} B never arrive")
