"""Rank plan: one rank's part of a plan, as it travels to that rank and as the core takes it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.base.arrays import ValueObject
from conset.base.errors import InputError
from conset.execution.plan import MAX_BYTES, Copies, Needs, Operations, Plan
from conset.schedule.policy import KINDS, Sync


@dataclass(frozen=True, eq=False)
class RankPlan(ValueObject):
    """What one rank executes; its receives are numbered from 0.

    Attributes:
        rank: which.
        ranks: of the whole plan.
        phases: of the whole plan.
        sync: the policy.
        in_flight: sends open at once; None: all.
        sends: of this rank alone.
        receives: of this rank alone.
        send_bytes: size of its send buffer [B].
        receive_bytes: size of its receive buffer [B].
        work_bytes: size of its work area [B].
        packs: of its sends; None: none.
        unpacks: of its receives; None: none.
        needs: of its sends, operations of this rank: receives, then sends; None: none.
        signals: likewise, of its receives.
        signalled: shape=(sends), bool: whose target has needs for it; None: none.
    """

    rank: int
    ranks: int
    phases: int
    sync: Sync
    in_flight: int | None
    sends: Operations
    receives: Operations
    send_bytes: int
    receive_bytes: int
    work_bytes: int
    packs: Copies | None
    unpacks: Copies | None
    needs: Needs | None
    signals: Needs | None
    signalled: NDArray[np.bool_] | None

    @staticmethod
    def of(plan: Plan, rank: int) -> RankPlan:
        """The part of `rank`."""
        sends, receives = plan.sends.of(rank), plan.receives.of(rank)
        return RankPlan(
            rank,
            plan.ranks,
            plan.phases,
            plan.sync,
            plan.in_flight,
            _operations_of(plan.sends, sends),
            _operations_of(plan.receives, receives),
            int(plan.send_bytes[rank]),
            int(plan.receive_bytes[rank]),
            0 if plan.work_bytes is None else int(plan.work_bytes[rank]),
            _copies_of(plan.packs, sends),
            _copies_of(plan.unpacks, receives),
            _needs_of(plan, plan.needs, rank, sends),
            _needs_of(plan, plan.signals, rank, receives),
            None if plan.signals is None else plan.signalled[sends],
        )

    @property
    def forwards(self) -> bool:
        """Whether the rank copies what passes its work area."""
        return self.packs is not None or self.unpacks is not None

    def to_core(self) -> _core.RankPlan:
        """For the executor.

        Raises:
            InputError: a transfer is larger than MPI carries.
        """
        return _core.RankPlan(
            phases=self.phases,
            sync=KINDS.index(self.sync.kind),
            every=self.sync.every,
            in_flight=self.in_flight or 0,
            sends=_core_operations(self.sends, self.rank),
            receives=_core_operations(self.receives, self.rank),
            work_bytes=self.work_bytes,
            packs=_core_copies(self.packs),
            unpacks=_core_copies(self.unpacks),
            needs=_core_needs(self.needs),
            signals=_core_needs(self.signals),
            signalled=np.zeros(0, np.uint8)
            if self.signalled is None
            else self.signalled.view(np.uint8),
        )


def plan_digest(plan: Plan) -> str:
    """Equal where plans are, whoever made them: sixteen digits of a hash."""
    digest = sha256(f"{plan.ranks} {plan.phases} {plan.sync} {plan.in_flight}".encode())
    for part in (
        plan,
        plan.sends,
        plan.receives,
        plan.packs,
        plan.unpacks,
        plan.needs,
        plan.signals,
    ):
        for name in () if part is None else sorted(each.name for each in fields(part)):
            value = getattr(part, name)
            if isinstance(value, np.ndarray):
                digest.update(f"{name} {value.size} ".encode())
                digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()[:16]


def _operations_of(operations: Operations, rows: slice) -> Operations:
    def own(array: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(array[rows])

    return Operations(
        np.array([0, rows.stop - rows.start]),
        own(operations.phase),
        own(operations.peer),
        own(operations.offset),
        own(operations.bytes),
        own(operations.transfer),
        None if operations.work is None else own(operations.work),
    )


def _needs_of(plan: Plan, needs: Needs | None, rank: int, own: slice) -> Needs | None:
    """Those of the operations `own` of a rank, in its own numbers."""
    if needs is None:
        return None
    offsets = needs.offsets[own.start : own.stop + 1]
    operation = needs.operation[offsets[0] : offsets[-1]]
    receives, sends = plan.receives.of(rank), plan.sends.of(rank)
    first_send = plan.receives.count + sends.start - (receives.stop - receives.start)
    return Needs(
        offsets - offsets[0],
        operation - np.where(operation < plan.receives.count, receives.start, first_send),
    )


def _copies_of(copies: Copies | None, operations: slice) -> Copies | None:
    if copies is None:
        return None
    offsets = copies.offsets[operations.start : operations.stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    return Copies(
        offsets - offsets[0],
        copies.work[rows],
        copies.source[rows],
        copies.target[rows],
        copies.bytes[rows],
    )


def _core_operations(operations: Operations, rank: int) -> _core.RankOperations:
    largest = int(operations.bytes.max(initial=0))
    if largest > MAX_BYTES:
        raise InputError(f"rank {rank}: a transfer has {largest} bytes, MPI carries {MAX_BYTES}")
    return _core.RankOperations(
        phase=operations.phase,
        peer=operations.peer,
        offset=operations.offset,
        bytes=operations.bytes,
        work=np.zeros(0, np.uint8) if operations.work is None else operations.work.view(np.uint8),
    )


def _core_needs(needs: Needs | None) -> _core.RankNeeds | None:
    if needs is None:
        return None
    return _core.RankNeeds(offsets=needs.offsets, operations=needs.operation.astype(np.int32))


def _core_copies(copies: Copies | None) -> _core.RankCopies | None:
    if copies is None:
        return None
    return _core.RankCopies(
        offsets=copies.offsets,
        work=copies.work.view(np.uint8),
        source=np.ascontiguousarray(copies.source),
        target=np.ascontiguousarray(copies.target),
        bytes=np.ascontiguousarray(copies.bytes),
    )
