"""Plan: what each rank executes, as arrays per rank; a rank plan is the part of one rank.

Where bytes lie: the send buffer of a rank holds its messages one after the other in the order of
their targets, the receive buffer in the order of their sources; several messages of one pair follow
each other in the order of their indices. So the bytes from one rank to another are one range in
both buffers, as `MPI_Alltoallv` has them. A split message is cut into consecutive byte ranges in
phase order, then list order. Bytes of a rank to itself (`Pattern.local_bytes`) are no message: the
application copies them beside the exchange.

Where messages are put together and forwarded on their way (programs of stages), a rank also has a
*work area*: `packs` copy into it what a send carries, receives of what travels on, or ends here
scattered, arrive in it, and `unpacks` copy the latter into the receive buffer. `needs` lists what
must have ended before a send is packed and started. A byte of the work area is written at most once
in an exchange. The users' buffers are those of the messages that are delivered, as if each were
sent directly.

Of building blocks, stages with messages of their own, every repetition has bytes of its own in both
buffers: the plan is that of one schedule of all that is sent, and what a pair of ranks exchanges
lies in the order of the repetitions. So no policy, not even `none`, lets one repetition overwrite
another, and each is seen to arrive.

Plan files have it for programs without Python: `conset/plan@1` of `docs/flat-files.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conset import _core
from conset.base import (
    PLAN_FILE,
    Array,
    Bools,
    Bytes,
    FlatValue,
    InputError,
    Integers,
    Ints,
    Ints32,
    UsageError,
    ValueObject,
    check_offsets,
    check_range,
    frozen,
    frozen_ints,
    read_flat,
    require_suffix,
    unknown_name,
    write_flat,
)
from conset.schedule import KINDS, Sync, parse_sync

if TYPE_CHECKING:
    from conset.execution.connection_entries import ConnectionEntries
    from conset.pattern import Layout, Pattern

PLAN = ("a plan file", ".plan")
"""Kind of file and suffix."""
MAX_BYTES = 2**31 - 1
"""Largest transfer [B]: a count of MPI is an `int`.

The large-count calls are not in every library.
"""

_OPERATION_ARRAYS: dict[str, type[np.int32] | type[np.int64]] = {
    "phase": np.int32,
    "peer": np.int32,
    "offset": np.int64,
    "bytes": np.int64,
    "transfer": np.int32,
}


@dataclass(frozen=True, eq=False)
class Operations(ValueObject):
    """Sends or receives of all ranks.

    Those of rank `r` are `offsets[r] … offsets[r + 1] - 1`, in posting order.

    Attributes:
        offsets: shape=(ranks + 1), int64.
        phase: shape=(operations), int32: the phase each belongs to.
        peer: shape=(operations), int32: the rank at the other end.
        offset: shape=(operations), int64 [B]: where it starts in the rank's buffer, or in its work
            area.
        bytes: shape=(operations), int64 [B].
        transfer: shape=(operations), int32: index of the schedule's transfer; the same number at
            both ends.
        work: shape=(operations), bool: `offset` counts in the work area; None: nowhere.
    """

    offsets: Ints
    phase: Ints32
    peer: Ints32
    offset: Ints
    bytes: Ints
    transfer: Ints32
    work: Bools | None = None

    def __post_init__(self) -> None:
        self._cast(np.int64, "offsets")
        if (
            self.offsets.ndim != 1
            or self.offsets.size < 2
            or self.offsets[0] != 0
            or np.any(np.diff(self.offsets) < 0)
        ):
            raise InputError("offsets: must rise from 0, one more than ranks")
        for name, dtype in _OPERATION_ARRAYS.items():
            array = frozen_ints(getattr(self, name), dtype, name)
            if array.shape != (self.offsets[-1],):
                raise InputError(
                    f"{name} has shape {array.shape}: offsets end at {self.offsets[-1]}"
                )
            object.__setattr__(self, name, array)
        if self.work is not None:
            object.__setattr__(self, "work", _flags(self.work, "work", self.count))

    @property
    def count(self) -> int:
        """Number of operations of all ranks."""
        return int(self.offsets[-1])

    @property
    def rank(self) -> Ints32:
        """shape=(operations), int32: the rank that executes each."""
        return np.repeat(np.arange(self.offsets.size - 1, dtype=np.int32), np.diff(self.offsets))

    def of(self, rank: int) -> slice:
        """The operations of one rank, as a slice of the arrays."""
        return slice(int(self.offsets[rank]), int(self.offsets[rank + 1]))

    @property
    def in_work(self) -> Bools:
        """shape=(operations), bool: `work`, also where it is None."""
        return np.zeros(self.count, bool) if self.work is None else self.work


@dataclass(frozen=True, eq=False)
class Copies(ValueObject):
    """Copies inside a rank that belong to its sends (packs) or receives (unpacks).

    In the order in which they are made.

    A pack goes from the send buffer or the work area to the work area, before its send starts; an
    unpack from the work area to the receive buffer, after its receive has ended.

    Attributes:
        offsets: shape=(operations + 1), int64: those of operation `k` are
            `offsets[k] … offsets[k + 1] - 1`.
        work: shape=(copies), bool: `source` counts in the work area; always so where they are
            unpacks.
        source: shape=(copies), int64 [B]: where the bytes are.
        target: shape=(copies), int64 [B]: where they go: in the work area (packs), in the receive
            buffer (unpacks).
        bytes: shape=(copies), int64 [B].
    """

    offsets: Ints
    work: Bools
    source: Ints
    target: Ints
    bytes: Ints

    def __post_init__(self) -> None:
        self._cast(np.int64, "offsets", "source", "target", "bytes")
        check_offsets("offsets", self.offsets, None, self.bytes.size, "copies")
        for name in ("source", "target", "bytes"):
            if getattr(self, name).shape != (self.count,):
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape}: offsets end at {self.count}"
                )
        object.__setattr__(self, "work", _flags(self.work, "work", self.count))

    @property
    def count(self) -> int:
        """Number of copies of all ranks."""
        return int(self.offsets[-1])

    @property
    def operation(self) -> Ints:
        """shape=(copies), int64: the send or receive each belongs to."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))


@dataclass(frozen=True, eq=False)
class Needs(ValueObject):
    """What must have ended before a send is packed and started.

    Or before a receive is signalled to its source.

    Attributes:
        offsets: shape=(sends + 1) or (receives + 1), int64: those of send or receive `k` are
            `offsets[k] …             offsets[k + 1] - 1`.
        operation: shape=(needs), int64: indices in the plan's receives, and, from their number on,
            in its sends; of the rank that has the need.
    """

    offsets: Ints
    operation: Ints

    def __post_init__(self) -> None:
        self._cast(np.int64, "offsets", "operation")
        if self.operation.ndim != 1:
            raise InputError(f"operation has shape {self.operation.shape}: one dimension required")
        check_offsets("offsets", self.offsets, None, self.operation.size, "needs")

    @property
    def count(self) -> int:
        """Number of needs of all operations."""
        return int(self.offsets[-1])

    @property
    def owner(self) -> Ints:
        """shape=(needs), int64: the send, or receive, that has each."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))


def _flags(values: Any, what: str, count: int) -> Bools:
    array = np.asarray(values)
    if array.dtype != np.bool_ and array.size:
        raise InputError(f"{what}: true or false required, given {array.dtype}")
    if array.shape != (count,):
        raise InputError(f"{what} has shape {array.shape}: {count} entries required")
    return frozen(array.astype(np.bool_, copy=False))


@dataclass(frozen=True, eq=False)
class Plan(ValueObject):
    """What each rank executes.

    Its sends and receives in posting order, and the policy that keeps phases apart.

    Attributes:
        phases: number of phases; with `sync` it fixes the number of barriers for every rank alike.
        sync: the policy.
        sends: of all ranks.
        receives: of all ranks.
        send_bytes: shape=(ranks), int64 [B]: size of each rank's send buffer.
        receive_bytes: shape=(ranks), int64 [B]: size of each rank's receive buffer.
        in_flight: sends a rank keeps open at once, in posting order; None: all.
        work_bytes: shape=(ranks), int64 [B]: size of each rank's work area; None: no rank has one.
        packs: of the sends; None: none.
        unpacks: of the receives; None: none.
        needs: of the sends; None: none.
        signals: what receives need; the source of one that has needs is notified, by a message of
            no bytes, when they have ended, and sends then, under every policy. None: none.
    """

    phases: int
    sync: Sync
    sends: Operations
    receives: Operations
    send_bytes: Ints
    receive_bytes: Ints
    in_flight: int | None = None
    work_bytes: Ints | None = None
    packs: Copies | None = None
    unpacks: Copies | None = None
    needs: Needs | None = None
    signals: Needs | None = None

    def __post_init__(self) -> None:
        if self.in_flight is not None and self.in_flight < 1:
            raise UsageError(f"in flight {self.in_flight}: must be at least 1, or all")
        if self.sends.offsets.size != self.receives.offsets.size:
            raise InputError(
                f"sends are of {self.ranks} ranks, receives of "
                f"{self.receives.offsets.size - 1}: must agree"
            )
        for name in ("send_bytes", "receive_bytes", "work_bytes"):
            if getattr(self, name) is None:
                continue
            array = frozen_ints(getattr(self, name), np.int64, name)
            if array.shape != (self.ranks,):
                raise InputError(f"{name} has shape {array.shape}: one per rank required")
            object.__setattr__(self, name, array)
        self._check_rows()

    def _check_rows(self) -> None:
        for name, rows, operations, of in (
            ("packs", self.packs, self.sends, "send"),
            ("unpacks", self.unpacks, self.receives, "receive"),
            ("needs", self.needs, self.sends, "send"),
            ("signals", self.signals, self.receives, "receive"),
        ):
            if rows is not None and rows.offsets.size != operations.count + 1:
                raise InputError(
                    f"{name} are of {rows.offsets.size - 1} {of}s, there are "
                    f"{operations.count}: must agree"
                )
            if not isinstance(rows, Needs):
                continue
            check_range(name, rows.operation, self.receives.count + self.sends.count)
            has = operations.rank[rows.owner]
            needed = np.concatenate([self.receives.rank, self.sends.rank])[rows.operation]
            if (wrong := np.flatnonzero(has != needed)).size:
                k = int(wrong[0])
                what = "receive" if rows.operation[k] < self.receives.count else "send"
                raise InputError(
                    f"{name}[{k}]: a {of} of rank {has[k]} needs a {what} of rank {needed[k]}: "
                    "its own"
                )

    @cached_property
    def signalled(self) -> Bools:
        """shape=(sends), bool: sends that wait for a signal, as their receive has needs."""
        if self.signals is None:
            return np.zeros(self.sends.count, bool)
        return np.isin(
            self.sends.transfer, self.receives.transfer[np.diff(self.signals.offsets) > 0]
        )

    @property
    def work_sizes(self) -> Ints:
        """shape=(ranks), int64 [B]: `work_bytes`, also where it is None."""
        return np.zeros(self.ranks, np.int64) if self.work_bytes is None else self.work_bytes

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.sends.offsets.size - 1)

    @property
    def transfers(self) -> int:
        """Number of transfers between ranks."""
        return self.sends.count

    @property
    def bytes(self) -> int:
        """Bytes that one exchange brings into the receive buffers [B]."""
        direct = int(self.receives.bytes[~self.receives.in_work].sum())
        return direct + (0 if self.unpacks is None else int(self.unpacks.bytes.sum()))

    @property
    def forwards(self) -> bool:
        """Whether bytes pass a work area: then operations are not ranges of the users' buffers."""
        return self.work_bytes is not None

    def pair_ranges(self, rank: int) -> tuple[PairRanges, PairRanges]:
        """What `rank` sends to and receives from each peer, as one range per peer in rank order.

        Raises:
            UsageError: the plan forwards: what a rank sends to a peer is not what it has for it.
        """
        if self.forwards:
            raise UsageError(
                "pair_ranges: the plan forwards messages, its operations do not say who has "
                "what and for which rank"
            )
        return PairRanges.of(self.sends, rank), PairRanges.of(self.receives, rank)

    def __repr__(self) -> str:
        return (
            f"Plan(ranks={self.ranks}, phases={self.phases}, transfers={self.transfers}, "
            f"sync={self.sync})"
        )


@dataclass(frozen=True, eq=False)
class PairRanges(ValueObject):
    """The bytes a rank exchanges with each peer, parts put together.

    Only peers that there are, in rank order.

    Attributes:
        peer: shape=(peers), int32.
        offset: shape=(peers), int64 [B]: start in the rank's buffer.
        bytes: shape=(peers), int64 [B].
    """

    peer: Ints32
    offset: Ints
    bytes: Ints

    def __post_init__(self) -> None:
        self._freeze()

    @staticmethod
    def of(operations: Operations, rank: int, phase: int | None = None) -> PairRanges:
        """The ranges of one rank's sends or receives.

        Those of one phase, where it has one range for each peer.
        """
        rows = operations.of(rank)
        if phase is not None:
            low, high = np.searchsorted(operations.phase[rows], [phase, phase + 1]) + rows.start
            rows = slice(int(low), int(high))
        order = np.argsort(operations.peer[rows], kind="stable")
        peer, first = np.unique(operations.peer[rows][order], return_index=True)
        if not peer.size:
            return PairRanges(peer, np.zeros(0, np.int64), np.zeros(0, np.int64))
        offset = np.minimum.reduceat(operations.offset[rows][order], first)
        return PairRanges(peer, offset, np.add.reduceat(operations.bytes[rows][order], first))

    def views(self, buffer: Bytes) -> list[tuple[int, Bytes]]:
        """Each peer and its bytes in the rank's buffer."""
        columns = zip(self.peer.tolist(), self.offset.tolist(), self.bytes.tolist(), strict=True)
        return [(peer, buffer[offset : offset + size]) for peer, offset, size in columns]

    def dense(self, peers: Integers) -> tuple[list[int], list[int]]:
        """Counts and displacements for `peers`, in rank order and among them all that have any."""
        counts, displacements = np.zeros((2, peers.size), np.int64)
        at = np.searchsorted(peers, self.peer)
        counts[at], displacements[at] = self.bytes, self.offset
        return counts.tolist(), displacements.tolist()


class RankPlan:
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

    def __init__(self, plan: Plan, rank: int) -> None:
        sends, receives = plan.sends.of(rank), plan.receives.of(rank)
        self.rank, self.ranks, self.phases = rank, plan.ranks, plan.phases
        self.sync, self.in_flight = plan.sync, plan.in_flight
        self.sends = _operations_of(plan.sends, sends)
        self.receives = _operations_of(plan.receives, receives)
        self.send_bytes = int(plan.send_bytes[rank])
        self.receive_bytes = int(plan.receive_bytes[rank])
        self.work_bytes = int(plan.work_sizes[rank])
        self.packs = _copies_of(plan.packs, sends)
        self.unpacks = _copies_of(plan.unpacks, receives)
        self.needs = _needs_of(plan, plan.needs, rank, sends)
        self.signals = _needs_of(plan, plan.signals, rank, receives)
        self.signalled = None if plan.signals is None else plan.signalled[sends]

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
            if isinstance(value := getattr(part, name), np.ndarray):
                digest.update(f"{name} {value.size} ".encode())
                digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()[:16]


def _operations_of(operations: Operations, rows: slice) -> Operations:
    def own(array: Array) -> Array:
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
    if (largest := int(operations.bytes.max(initial=0))) > MAX_BYTES:
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


ELEMENTS = {name: 1 if name == "bytes" else np.dtype(name).itemsize for name in _core.item_types()}
"""Type of an element of an application's array → its size [B]."""
_DEFAULT_ELEMENTS = {8: "float64", 4: "float32"}
"""Bytes of a word → what it is where it is not specified."""
_PARTS: dict[str, type[Operations] | type[Copies] | type[Needs]] = {
    "sends": Operations,
    "receives": Operations,
    "packs": Copies,
    "unpacks": Copies,
    "needs": Needs,
    "signals": Needs,
}
"""Fields of a plan that are objects of their own, as a file keeps them."""


def write_plan_file(
    plan: Plan | None,
    path: str | Path,
    items: dict[str, FlatValue] | None = None,
    connections: ConnectionEntries | None = None,
) -> None:
    """Writes what every rank executes, and the connections that it opens.

    Args:
        plan: what is executed as one exchange; None: only connections.
        path: where to.
        items: of `plan_items`: where the bytes lie in arrays of the application.
        connections: of `connection_entries`; None: of a program that forwards.

    Raises:
        UsageError: another suffix than `.plan`.
        InputError: the file cannot be written.
        ValueError: neither a plan nor connections: a bug of the caller.
    """
    require_suffix(path, *PLAN)
    if plan is not None:
        entries = _plan_entries(plan)
    elif connections is not None:
        entries = {"ranks": connections.ranks}
    else:
        raise ValueError("a plan or connections required")
    opened = {} if connections is None else connections.to_flat()
    write_flat(path, PLAN_FILE, {**entries, **(items or {}), **opened})


def _plan_entries(plan: Plan) -> dict[str, FlatValue]:
    """What every rank executes."""
    entries: dict[str, FlatValue] = {
        "ranks": plan.ranks,
        "phases": plan.phases,
        "sync": str(plan.sync),
        "in_flight": plan.in_flight or 0,
        "phase_transfers": np.bincount(plan.sends.phase, minlength=plan.phases).astype(np.int32),
        "send_bytes": plan.send_bytes,
        "receive_bytes": plan.receive_bytes,
    }
    if plan.work_bytes is not None:
        entries["work_bytes"] = plan.work_bytes
    if plan.signals is not None:
        entries["signalled"] = plan.signalled.astype(np.uint8)
    for name in _PARTS:
        part = getattr(plan, name)
        for each in () if part is None else fields(part):
            values = getattr(part, each.name)
            if (
                values is not None and each.name != "transfer"
            ):  # a number of the schedule's, no part of the execution
                entries[f"{name}_{each.name}"] = values
    return entries


def read_plan_file(path: str | Path) -> Plan:
    """The plan of all ranks; its transfers are numbered as their sends are in the file.

    Raises:
        InputError: no such file, none of a plan, or one that is broken.
    """
    found: dict[str, Any] = dict(read_flat(path, PLAN_FILE))
    columns = {
        name: {
            each.name: found[key].astype(bool) if each.name == "work" else found[key]
            for each in fields(kind)
            if (key := f"{name}_{each.name}") in found
        }
        for name, kind in _PARTS.items()
    }
    try:
        sends, receives = columns["sends"], columns["receives"]
        by_rank = [
            np.repeat(np.arange(each["offsets"].size - 1), np.diff(each["offsets"]))
            for each in (sends, receives)
        ]
        # messages of a pair of ranks do not overtake: the first send meets the first receive
        send = np.lexsort((sends["peer"], by_rank[0]))
        receive = np.lexsort((by_rank[1], receives["peer"]))
        sends["transfer"], receives["transfer"] = np.arange(send.size), np.empty(receive.size, int)
        receives["transfer"][receive] = send
        parts: dict[str, Any] = {
            name: kind(**columns[name]) for name, kind in _PARTS.items() if columns[name]
        }
        return Plan(
            int(found["phases"][0]),
            parse_sync(found["sync"]),
            send_bytes=found["send_bytes"],
            receive_bytes=found["receive_bytes"],
            in_flight=int(found["in_flight"][0]) or None,
            work_bytes=found.get("work_bytes"),
            **parts,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: no plan, or a broken one: {error}") from None


def plan_items(
    pattern: Pattern, layout: Layout, element: str | None = None
) -> dict[str, FlatValue]:
    """Where the bytes of a plan of `pattern` lie in the arrays of such an application.

    Args:
        pattern: what the plan delivers.
        layout: whose messages it is.
        element: a key of `ELEMENTS`, what the array is made of; None: float64 where a word has 8
            bytes, float32 where it has 4.

    Raises:
        InputError: the layout is of other messages.
        UsageError: no such element, one that a word is no whole number of, or a word without a
            default.
    """
    layout.require_pattern(pattern)
    name = _element(layout, element)
    lists = [layout.local(rank) for rank in range(layout.ranks)]
    entries: dict[str, FlatValue] = {
        "item_bytes": layout.word,
        "item_type": name,
        "add": int(layout.add),
    }
    for side, key in enumerate(("send_items", "receive_items")):
        rows = [pair[side] for pair in lists]
        entries[f"{key}_offsets"] = np.cumsum([0, *(row.size for row in rows)], dtype=np.int64)
        entries[key] = np.concatenate(rows)
    return entries


def _element(layout: Layout, element: str | None) -> str:
    """The element's name, checked."""
    if element is None:
        if layout.word not in _DEFAULT_ELEMENTS:
            raise UsageError(
                f"element: required where a word has {layout.word} B: one of {', '.join(ELEMENTS)}",
                options=["element"],
            )
        return _DEFAULT_ELEMENTS[layout.word]
    if element not in ELEMENTS:
        raise unknown_name("element", element, ELEMENTS)
    if layout.word % ELEMENTS[element]:
        raise UsageError(
            f"element {element}: has {ELEMENTS[element]} B, a word of the layout {layout.word}: "
            "must be whole elements",
            options=["element"],
        )
    if layout.add and element == "bytes":
        raise UsageError(
            "element bytes: cannot be added, as the layout's shared nodes are", options=["element"]
        )
    return element
