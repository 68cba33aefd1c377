"""Do the operations and copies of a plan fit the areas of their rank.

Send buffer, receive buffer, work area?

Inside its area everywhere; no byte of a receive buffer or work area written twice; and what is read
in a work area is there: a pack reads what needed receives have brought, a send carries that or what
its own packs have put together, an unpack reads what its own receive has brought.

Complexity: O((operations + copies + needs) log) time, O(operations + copies + needs) memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import VerificationError
from conset.execution.plan import Copies, Operations, Plan

_Bytes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Ranges of bytes in a work area: the send each belongs to, start, size."""


def check_areas(plan: Plan) -> None:
    """Checks where operations and copies read and write.

    Raises:
        VerificationError: the first that is wrong.
    """
    _check_operations(plan, plan.sends, plan.send_bytes, "send")
    _check_operations(plan, plan.receives, plan.receive_bytes, "receive")
    for copies, operations, what in (
        (plan.packs, plan.sends, "send"),
        (plan.unpacks, plan.receives, "receive"),
    ):
        if copies is not None:
            _check_copies(plan, copies, operations, what)
    _check_overlap(plan)
    _check_read(plan)


def _check_operations(
    plan: Plan, operations: Operations, buffer: NDArray[np.int64], what: str
) -> None:
    rank = operations.rank
    size = np.where(operations.in_work, _work_bytes(plan)[rank], buffer[rank])
    rules = (
        (
            (operations.peer < 0) | (operations.peer >= plan.ranks) | (operations.peer == rank),
            "names no other rank",
        ),
        (
            (operations.phase < 0) | (operations.phase >= plan.phases),
            f"is in no phase from 0 to {plan.phases - 1}",
        ),
        (_outside(operations.offset, operations.bytes, size), "leaves its buffer"),
    )
    for broken, rule in rules:
        if broken.any():
            raise VerificationError(
                f"plan: {name_operation(operations, int(np.flatnonzero(broken)[0]), what)} {rule}"
            )
    falls = np.flatnonzero((np.diff(operations.phase) < 0) & (np.diff(rank) == 0))
    if falls.size:
        raise VerificationError(
            f"plan: {name_operation(operations, int(falls[0]) + 1, what)} stands after one of "
            "a later phase"
        )


def _check_copies(plan: Plan, copies: Copies, operations: Operations, what: str) -> None:
    rank, work = operations.rank[copies.operation], _work_bytes(plan)
    target = work[rank] if what == "send" else plan.receive_bytes[rank]
    rules = (
        (
            _outside(
                copies.source,
                copies.bytes,
                np.where(copies.work, work[rank], plan.send_bytes[rank]),
            ),
            "reads",
        ),
        (_outside(copies.target, copies.bytes, target), "writes"),
        (np.zeros(rank.size, bool) if what == "send" else ~copies.work, "reads the send buffer,"),
    )
    for broken, does in rules:
        if broken.any():
            k = int(np.flatnonzero(broken)[0])
            name = name_operation(operations, int(copies.operation[k]), what)
            raise VerificationError(f"plan: copy {k}, of {name}, {does} outside its area")


def _work_bytes(plan: Plan) -> NDArray[np.int64]:
    return np.zeros(plan.ranks, np.int64) if plan.work_bytes is None else plan.work_bytes


def _outside(
    offset: NDArray[np.int64], size: NDArray[np.int64], area: NDArray[np.int64]
) -> NDArray[np.bool_]:
    return (size < 1) | (offset < 0) | (size > area) | (offset > area - size)


def _check_overlap(plan: Plan) -> None:
    """No byte of a receive buffer or work area is written twice.

    By two receives, a pack or an unpack.
    """
    receives, work = plan.receives, plan.receives.in_work
    written = [(receives.rank, work, receives.offset, receives.bytes, np.arange(receives.count))]
    for copies, operations, to_work in (
        (plan.packs, plan.sends, True),
        (plan.unpacks, receives, False),
    ):
        if copies is not None:
            area, none = np.full(copies.count, to_work), np.full(copies.count, -1)
            rank = operations.rank[copies.operation]
            written.append(
                (rank, area, copies.target, copies.bytes, none if to_work else copies.operation)
            )
    rank, work, offset, size, receive = (
        np.concatenate(column) for column in zip(*written, strict=True)
    )
    order = np.lexsort((offset, work, rank))
    same = (np.diff(rank[order]) == 0) & (np.diff(work[order].astype(np.int8)) == 0)
    wrong = np.flatnonzero(same & (offset[order][1:] < (offset + size)[order][:-1]))
    if wrong.size:
        k = int(order[wrong[0] + 1])
        if receive[k] < 0:
            raise VerificationError(
                f"plan: byte {offset[k]} of rank {rank[k]}'s work area is written twice"
            )
        name, where = (
            name_operation(receives, int(receive[k]), "receive"),
            "work area" if work[k] else "buffer",
        )
        raise VerificationError(f"plan: {name} overlaps another receive in the {where}")


def _check_read(plan: Plan) -> None:
    """What is read in a work area has arrived there, or was packed."""
    sends, receives, packs, unpacks = plan.sends, plan.receives, plan.packs, plan.unpacks
    arrived: _Bytes = (np.zeros(0, np.int64),) * 3
    if plan.needs is not None:
        received = plan.needs.operation < receives.count
        there = received.copy()
        there[received] = receives.in_work[plan.needs.operation[received]]
        send, needed = np.unique(
            np.stack([plan.needs.owner[there], plan.needs.operation[there]]), axis=1
        )
        arrived = (send, receives.offset[needed], receives.bytes[needed])
    ready = arrived
    if packs is not None:
        read = (packs.operation[packs.work], packs.source[packs.work], packs.bytes[packs.work])
        lacking = read[0][~_covered(read, arrived)]
        if lacking.size:
            name = name_operation(sends, int(lacking[0]), "send")
            raise VerificationError(
                f"plan: {name} packs bytes of the work area that no needed receive brings"
            )
        send, target, size = (
            np.concatenate(both)
            for both in zip(arrived, (packs.operation, packs.target, packs.bytes), strict=True)
        )
        ready = (send, target, size)
    work = np.flatnonzero(sends.in_work)
    lacking = work[~_covered((work, sends.offset[work], sends.bytes[work]), ready)]
    if lacking.size:
        name = name_operation(sends, int(lacking[0]), "send")
        raise VerificationError(
            f"plan: {name} carries bytes of the work area that are neither packed nor needed"
        )
    if unpacks is not None:
        own = unpacks.operation
        start, end = receives.offset[own], receives.offset[own] + receives.bytes[own]
        wrong = (
            ~receives.in_work[own]
            | (unpacks.source < start)
            | (unpacks.source + unpacks.bytes > end)
        )
        if wrong.any():
            name = name_operation(receives, int(own[np.flatnonzero(wrong)[0]]), "receive")
            raise VerificationError(f"plan: {name} unpacks bytes that it does not bring")


def _covered(read: _Bytes, there: _Bytes) -> NDArray[np.bool_]:
    """shape=(read): whether each range lies in those of the same send, which do not overlap."""
    if not there[0].size:
        return np.zeros(read[0].size, bool)
    # one axis for all sends, each with room for its work area
    room = max(int((array[1] + array[2]).max(initial=0)) for array in (read, there)) + 1
    start = there[0] * room + there[1]
    order = np.argsort(start)
    start, size = start[order], there[2][order]
    below = np.concatenate([[0], np.cumsum(size)])

    def covered_up_to(place: NDArray[np.int64]) -> NDArray[np.int64]:
        k = np.searchsorted(start, place, side="right") - 1
        return np.where(k < 0, 0, below[k] + np.minimum(place - start[k], size[k]))

    place = read[0] * room + read[1]
    found: NDArray[np.bool_] = covered_up_to(place + read[2]) - covered_up_to(place) == read[2]
    return found


def name_operation(operations: Operations, k: int, what: str) -> str:
    """Operation `k`, a `send` or a `receive`, in words."""
    end = "to" if what == "send" else "from"
    where = (
        f"phase {operations.phase[k]}, transfer {operations.transfer[k]}, {operations.bytes[k]} B"
    )
    return f"rank {operations.rank[k]}'s {what} {end} rank {operations.peer[k]} ({where})"
