"""Pattern: messages between ranks, each with source, target and bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from conset.base import (
    MAX_SIZE_B,
    Array,
    Bools,
    InputError,
    Integers,
    Ints,
    Ints32,
    ValueObject,
    distinct_ints,
    frozen,
    frozen_ints,
)


@dataclass(frozen=True, eq=False)
class Pattern(ValueObject):
    """Messages between ranks in compressed sparse rows; a message is known by its index.

    Message `m` of rank `r` has `offsets[r] <= m < offsets[r + 1]`; `target[m]` receives `size[m]`
    bytes. Messages of a rank to itself never touch the network: only their sum `local_bytes` is
    kept. Two messages of one pair are two connections. Build one with `from_messages`, which drops
    zeros and adds up duplicates without ids; the constructor takes finished arrays and refuses
    anything else.

    Attributes:
        ranks: number of ranks, at least 1.
        offsets: shape=(ranks + 1), int64.
        target: shape=(messages), int32.
        size: shape=(messages), int64 [B], all above 0; equal sizes may be one broadcast element (no
            memory).
        before: shape=(pairs, 2), int32, sorted and distinct, or None: message `before[k, 0]` ends
            before message `before[k, 1]` starts.
        local_bytes: what ranks send to themselves [B].
        name: what it was made from, for people.
        packed: shape=(messages), bool, or None where no message is: put together from several
            pieces at the sender and taken apart at the receiver, which are work for both where
            copying takes time (`docs/cost-model.md`).
        sent: of what a program was seen to send, how many messages had 0, 1, 2–3, 4–7 … bytes
            before they were added up; () elsewhere.
        ids: shape=(messages), int32: distinct numbers from 0 on that their user calls the
            connections by; None: their indices.
    """

    ranks: int
    offsets: Ints
    target: Ints32
    size: Ints
    before: Ints32 | None = None
    local_bytes: int = 0
    name: str = field(default="pattern", compare=False)
    packed: Bools | None = None
    sent: tuple[int, ...] = field(default=(), compare=False)
    ids: Ints32 | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.ranks < 2**31:
            rule = "at least 1" if self.ranks < 1 else "below 2^31"
            raise InputError(f"ranks = {self.ranks}: must be {rule}")
        if not 0 <= self.local_bytes <= MAX_SIZE_B:
            raise InputError(f"local_bytes = {self.local_bytes}: must be from 0 to 2^62 B")
        set_ = object.__setattr__
        set_(self, "offsets", frozen_ints(self.offsets, np.int64, "offsets"))
        set_(self, "target", frozen_ints(self.target, np.int32, "target"))
        set_(self, "size", frozen_ints(self.size, np.int64, "size"))
        if (
            self.offsets.shape != (self.ranks + 1,)
            or self.offsets[0] != 0
            or np.any(np.diff(self.offsets) < 0)
        ):
            raise InputError(
                f"offsets: must rise from 0 in {self.ranks + 1} steps, shape is "
                f"{self.offsets.shape}"
            )
        if self.target.shape != (self.offsets[-1],) or self.size.shape != self.target.shape:
            shapes = f"target has shape {self.target.shape}, size {self.size.shape}"
            raise InputError(f"{shapes}: offsets end at {self.offsets[-1]}")
        self._check_messages()
        if self.before is not None:
            set_(self, "before", self._checked_order())
        if self.packed is not None:
            packed = _flags(self.packed, self.messages)
            set_(self, "packed", packed if packed.any() else None)
        if self.ids is not None:
            set_(self, "ids", frozen_ints(self.ids, np.int32, "ids"))
            found = set(self.ids.tolist())
            if not len(found) == self.ids.size == self.messages or min(found, default=0) < 0:
                raise InputError(f"ids: {self.messages} distinct numbers of at least 0 required")

    def _check_messages(self) -> None:
        if self.messages == 0:
            return
        if self.target.min() < 0 or self.target.max() >= self.ranks:
            m = int(np.flatnonzero((self.target < 0) | (self.target >= self.ranks))[0])
            raise InputError(
                f"target[{m}] = {self.target[m]}: must be a rank from 0 to {self.ranks - 1}"
            )
        own = self._own_message()
        if own is not None:
            raise InputError(
                f"target[{own}] = {self.target[own]}: a message to its own rank is local_bytes"
            )
        distinct = self.size[:1] if self.size.strides == (0,) else self.size
        if distinct.min() <= 0:
            m = int(np.flatnonzero(self.size <= 0)[0])
            raise InputError(f"size[{m}] = {self.size[m]}: must be above 0 B")
        if float(distinct.sum(dtype=np.float64)) * (self.messages / distinct.size) > MAX_SIZE_B:
            raise InputError(
                f"size: all messages together are {self.size.sum(dtype=np.float64):.3g} B, "
                "at most 2^62 B"
            )

    def _own_message(self) -> int | None:
        """The first message to the own rank.

        By blocks of ranks, as `source` in full would double the memory.
        """
        block = max(1, 2**20 * self.ranks // self.messages)
        for rank in range(0, self.ranks, block):
            ends = self.offsets[rank : rank + block + 1]
            source = np.repeat(np.arange(rank, rank + ends.size - 1, dtype=np.int32), np.diff(ends))
            own = np.flatnonzero(self.target[ends[0] : ends[-1]] == source)
            if own.size:
                return int(ends[0] + own[0])
        return None

    def _checked_order(self) -> Ints32 | None:
        before: Ints32 = frozen_ints(_pairs(np.asarray(self.before)), np.int32, "before")
        if before.size == 0:
            return None
        wrong = np.flatnonzero(((before < 0) | (before >= self.messages)).any(axis=1))
        if wrong.size:
            raise InputError(
                f"before[{wrong[0]}] = {before[wrong[0]].tolist()}: messages are 0 to "
                f"{self.messages - 1}"
            )
        source, target = self.source, self.target
        first, second = before.T
        share = (
            (source[first] == source[second])
            | (source[first] == target[second])
            | (target[first] == source[second])
            | (target[first] == target[second])
        )
        if not share.all():
            k = int(np.flatnonzero(~share)[0])
            raise InputError(
                f"before[{k}] = {before[k].tolist()}: ordered messages must share a rank"
            )
        key = before[:, 0].astype(np.int64) * self.messages + before[:, 1]
        if not (key[1:] > key[:-1]).all():
            before = np.stack(np.divmod(distinct_ints(key), self.messages), axis=1).astype(np.int32)
        waits = np.bincount(before[:, 1], minlength=self.messages)
        if (waits[before[:, 0]] < waits[before[:, 1]]).all():
            return frozen(before)  # what waits for more comes later: there is no cycle
        if cycle := find_cycle(before, self.messages):
            raise InputError(
                f"before: the order is cyclic: message {' before '.join(map(str, cycle))}"
            )
        return frozen(before)

    @staticmethod
    def from_messages(
        source: ArrayLike,
        target: ArrayLike,
        size: ArrayLike,
        ranks: int | None = None,
        *,
        before: ArrayLike | None = None,
        packed: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        name: str = "pattern",
    ) -> Pattern:
        """A pattern from a list of messages in any order.

        Message k goes from `source[k]` to `target[k]`.

        Sorted by source, then target. Zero sizes are no messages; messages to the own rank are
        added to `local_bytes`; duplicates add up, except those that `before` mentions, which stay
        apart; what is added up is packed where one of its messages is.

        >>> Pattern.from_messages([0, 1, 1], [1, 2, 0], [8, 16, 24])
        Pattern('pattern', ranks=3, messages=3, bytes=48)

        Args:
            source: shape=(k), whole numbers: the rank that sends each.
            target: shape=(k): the rank that receives it.
            size: shape=(k) [B], whole and at least 0.
            ranks: number of ranks; None: one more than the largest that is named.
            before: shape=(pairs, 2), positions in the list: `before[p, 0]` ends before
                `before[p, 1]` starts.
            packed: shape=(k), bool: which messages are put together from several pieces; None:
                none.
            ids: shape=(k): of each, which then is a message of its own, after the duplicates before
                it in the list; None: duplicates add up.
            name: for people.

        Raises:
            InputError: lists of different lengths, a rank out of range, a negative size, an order
                over a message that is none, a cyclic order, or nothing that says how many ranks
                there are.
        """
        src = frozen_ints(np.asarray(source).ravel(), np.int32, "source")
        dst = frozen_ints(np.asarray(target).ravel(), np.int32, "target")
        num = frozen_ints(np.asarray(size).ravel(), np.int64, "size")
        ranks = _ranks_of(src, dst, num, ranks)
        flags = None if packed is None else _flags(packed, src.size)
        own = src == dst
        local = int(num[own].sum())
        pairs = None if before is None else _pairs(frozen_ints(before, np.int64, "before"))
        kept = np.flatnonzero(~own & (num > 0))
        order = kept[np.lexsort((dst[kept], src[kept]))]
        src, dst, num = src[order], dst[order], num[order]
        first = np.ones(order.size, bool)
        first[1:] = (ids is not None) | (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
        if pairs is not None and pairs.size:
            position = np.full(own.size, -1, np.int64)
            position[order] = np.arange(order.size)
            outside = (pairs < 0) | (pairs >= own.size)
            gone = outside | (position[np.where(outside, 0, pairs)] < 0)
            if gone.any():
                k = int(np.flatnonzero(gone.any(axis=1))[0])
                raise InputError(
                    f"before[{k}] = {pairs[k].tolist()}: names no message (zero, local or "
                    "out of range)"
                )
            first[np.unique(position[pairs])] = True
            # what follows an ordered message must not be added to it
            first[1:] |= np.isin(np.arange(order.size - 1), position[pairs])
            row = np.cumsum(first) - 1
            pairs = row[position[pairs]]
        starts = np.flatnonzero(first)
        merged = np.add.reduceat(num, starts) if starts.size else num
        offsets = np.searchsorted(src[starts], np.arange(ranks + 1)).astype(np.int64)
        if flags is not None:
            flags = np.logical_or.reduceat(flags[order], starts) if starts.size else None
        numbers = None if ids is None else frozen_ints(ids, np.int32, "ids")[order]
        return Pattern(ranks, offsets, dst[starts], merged, pairs, local, name, flags, (), numbers)

    @staticmethod
    def from_matrix(matrix: Any, *, name: str = "pattern") -> Pattern:
        """A pattern from a matrix of bytes.

        What is not zero in row r and column c is a message from rank r to rank c.

        The diagonal is what ranks send to themselves, `local_bytes`.

        >>> Pattern.from_matrix([[0, 8], [16, 0]])
        Pattern('pattern', ranks=2, messages=2, bytes=24)

        Args:
            matrix: shape=(ranks, ranks), whole numbers [B] of at least 0: an array, or a sparse
                matrix of SciPy, of which entries that are stored twice add up.
            name: for people.

        Raises:
            InputError: not square, empty, or an entry that is no whole number of bytes from 0 to
                2^62.
        """
        entries = matrix.tocoo() if hasattr(matrix, "tocoo") else np.asarray(matrix)
        if len(entries.shape) != 2 or entries.shape[0] != entries.shape[1] or entries.shape[0] < 1:
            raise InputError(
                f"matrix has shape {entries.shape}: one row and one column for each rank required"
            )
        if isinstance(entries, np.ndarray):
            row, column = np.nonzero(entries)
            size = entries[row, column]
        else:
            row, column, size = entries.row, entries.col, entries.data
        size = whole_bytes(size, lambda k: f"matrix[{row[k]}, {column[k]}]")
        return Pattern.from_messages(row, column, size, entries.shape[0], name=name)

    @property
    def messages(self) -> int:
        """Number of messages."""
        return int(self.target.size)

    @cached_property
    def source(self) -> Ints32:
        """shape=(messages), int32: `source[m]` sends message `m`."""
        return frozen(np.repeat(np.arange(self.ranks, dtype=np.int32), np.diff(self.offsets)))

    @cached_property
    def bytes(self) -> int:
        """Sum of all sizes [B], local bytes apart."""
        return int(self.size.sum())

    @property
    def equal_sizes(self) -> bool:
        """Whether all messages have one size."""
        return (
            self.messages == 0
            or self.size.strides == (0,)
            or bool((self.size == self.size[0]).all())
        )

    @cached_property
    def is_complete(self) -> bool:
        """Whether every rank sends one message of one size to every other rank, in rank order."""
        others = self.ranks - 1
        if not others or self.before is not None or self.packed is not None:
            return False
        if np.any(np.diff(self.offsets) != others) or not self.equal_sizes:
            return False
        rows = self.target.reshape(self.ranks, others)
        return bool((rows[:, 1:] > rows[:, :-1]).all())

    def repeated_pair(self) -> tuple[int, int] | None:
        """Return the first pair of ranks with two messages; None where there is none."""
        pair = self.source.astype(np.int64) * self.ranks + self.target
        if not (pair[1:] > pair[:-1]).all():  # as nearly never
            pair.sort()
            twice = np.flatnonzero(pair[1:] == pair[:-1])
            if twice.size:
                source, target = divmod(int(pair[twice[0]]), self.ranks)
                return source, target
        return None

    def matrix(self) -> Ints:
        """shape=(ranks, ranks): bytes from row to column [B]; for pictures and small patterns."""
        dense = np.zeros((self.ranks, self.ranks), np.int64)
        np.add.at(dense, (self.source, self.target), self.size)
        return dense

    def __repr__(self) -> str:
        return (
            f"Pattern({self.name!r}, ranks={self.ranks}, messages={self.messages}, "
            f"bytes={self.bytes})"
        )


def whole_bytes(values: Array, place: Callable[[int], str]) -> Ints:
    """Return values as whole bytes, shape and order kept.

    Args:
        values: shape=(entries) of any number type.
        place: position of entry k, for errors: `x.mtx: entry (3, 5)`.

    Raises:
        InputError: no real number, NaN, infinite, negative, a fraction, or above 2⁶² bytes.
    """
    if not values.size:
        return np.zeros(values.shape, np.int64)
    if values.dtype.kind not in "iubf":
        raise InputError(f"{place(0)}: whole numbers of bytes required, given {values.dtype}")
    if values.dtype.kind == "f":
        values = values.astype(np.float64)  # a half float does not reach the limit
    with np.errstate(invalid="ignore"):
        wrong = ~((values >= 0) & (values <= MAX_SIZE_B))
        if values.dtype.kind == "f":
            wrong |= values != np.floor(values)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{place(k)} = {values[k]}: must be whole bytes from 0 to 2^62")
    return values.astype(np.int64)


def _pairs(pairs: Array) -> Array:
    """shape=(pairs, 2): pairs of messages, given in this shape or as nothing."""
    if pairs.size == 0:
        return pairs.reshape(0, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"before has shape {pairs.shape}: pairs of messages required")
    return pairs


def _ranks_of(src: Ints32, dst: Ints32, num: Ints, ranks: int | None) -> int:
    """Checks lists of messages and returns the number of ranks.

    Raises:
        InputError: lists of different lengths, a rank out of range, or a negative size.
    """
    if not src.shape == dst.shape == num.shape:
        raise InputError(
            f"source, target and size have {src.size}, {dst.size} and {num.size} "
            "entries: must agree"
        )
    if ranks is None and not src.size:
        raise InputError("ranks: required where there are no messages")
    if ranks is None:
        ranks = max(int(src.max()), int(dst.max()), 0) + 1
    for what, rank in (("source", src), ("target", dst)):
        wrong = np.flatnonzero((rank < 0) | (rank >= ranks))
        if wrong.size:
            raise InputError(
                f"{what}[{wrong[0]}] = {rank[wrong[0]]}: must be a rank from 0 to {ranks - 1}"
            )
    if num.size and num.min() < 0:
        k = int(np.flatnonzero(num < 0)[0])
        raise InputError(f"size[{k}] = {num[k]}: must be at least 0 B")
    if num.sum(dtype=np.float64) > MAX_SIZE_B:
        raise InputError(
            f"size: all messages together are {num.sum(dtype=np.float64):.3g} B, at most 2^62 B"
        )
    return ranks


def _flags(packed: ArrayLike, messages: int) -> Bools:
    """shape=(messages), bool: `packed`, checked."""
    flags = np.asarray(packed)
    if flags.shape != (messages,):
        raise InputError(
            f"packed has shape {flags.shape}: must be ({messages},), one for each message"
        )
    if flags.size and flags.dtype != np.bool_:
        raise InputError(f"packed: true or false required, given {flags.dtype}")
    return frozen(flags.astype(np.bool_, copy=False))


def find_cycle(before: Integers, messages: int) -> list[int]:
    """A cycle of an order, each message before the next and the first again at the end.

    [] where there is none.

    Linear in the pairs; only pairs in cycles are visited one by one.

    Args:
        before: shape=(pairs, 2), indices below `messages`; pairs may repeat.
        messages: how many there are.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first, second = before.T
    graph = coo_matrix(
        (np.ones(len(before), np.bool_), (first, second)), shape=(messages, messages)
    ).tocsr()
    count, part = connected_components(graph, connection="strong")
    if count == messages and (first != second).all():
        return []
    sorter = TopologicalSorter[int]()
    for i, j in before[
        part[first] == part[second]
    ].tolist():  # cycles stay in a strongly connected part
        sorter.add(j, i)
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
