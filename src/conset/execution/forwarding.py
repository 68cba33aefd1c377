"""Where the bytes of a program lie at every rank that they pass, and what ranks copy on the way.

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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conset.execution.plan import Copies
from conset.schedule.paths import Bundles, Paths

_Ints = NDArray[np.int64]
_Flags = NDArray[np.bool_]


class Side(NamedTuple):
    """Where transfers lie at one of their ends.

    Attributes:
        work: shape=(transfers), bool: in the work area.
        offset: shape=(transfers), int64 [B].
    """

    work: _Flags
    offset: _Ints


class Moves(NamedTuple):
    """Copies beside transfers, those of a transfer in the order of its bytes.

    Attributes:
        transfer: shape=(copies), int64.
        work: shape=(copies), bool: `source` counts in the work area.
        source: shape=(copies), int64 [B].
        target: shape=(copies), int64 [B].
        bytes: shape=(copies), int64 [B].
    """

    transfer: _Ints
    work: _Flags
    source: _Ints
    target: _Ints
    bytes: _Ints

    def of_operations(self, transfer: NDArray[np.int32]) -> Copies | None:
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
    work_bytes: _Ints


class Transfers(NamedTuple):
    """The transfers of one stage, by bundle and within it by byte.

    So that their bytes follow each other.

    Attributes:
        transfer: shape=(transfers), int64: its index in the program.
        bundle: shape=(transfers), int64: in the stage.
        first: shape=(transfers), int64 [B]: the byte of its bundle that each begins with.
        bytes: shape=(transfers), int64 [B].
    """

    transfer: _Ints
    bundle: _Ints
    first: _Ints
    bytes: _Ints


def forward(
    paths: Paths, transfers: list[Transfers], send_start: _Ints, receive_start: _Ints
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

    entry: _Ints  # in Bundles.parts
    transfer: _Ints  # in Transfers
    into: _Ints  # byte of the part
    within: _Ints  # byte of the transfer
    bytes: _Ints


class _Walk:
    """The places of all parts, at the stage that is looked at."""

    def __init__(
        self, paths: Paths, transfers: int, send_start: _Ints, receive_start: _Ints
    ) -> None:
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

    def _allocate(self, rank: NDArray[np.int32], size: _Ints) -> _Ints:
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


def _cut(bundles: Bundles, size_of: _Ints, carried: Transfers) -> _Pieces:
    """The pieces of a stage, where the bytes of all its bundles follow each other in one line."""
    size = size_of[bundles.parts]
    parts, transfers = np.cumsum(size) - size, np.cumsum(carried.bytes) - carried.bytes
    start = parts if carried.transfer.size == bundles.bundles else np.union1d(parts, transfers)
    entry = np.searchsorted(parts, start, side="right") - 1
    transfer = np.searchsorted(transfers, start, side="right") - 1
    length = np.diff(np.append(start, size.sum()))
    return _Pieces(entry, transfer, start - parts[entry], start - transfers[transfer], length)


def _begins(pieces: _Pieces, place: _Ints, alike: _Flags) -> _Flags:
    """shape=(pieces), bool.

    Whether each begins a segment: the one before lies elsewhere, or is in another transfer.

    `alike`: shape=(pieces - 1): whether a piece and the next may be in one segment.
    """
    begins = np.ones(place.size, bool)
    same = np.diff(pieces.transfer) == 0
    begins[1:] = ~(same & alike & (place[:-1] + pieces.bytes[:-1] == place[1:]))
    return begins


def _segments(pieces: _Pieces, begins: _Flags, kept: _Flags) -> tuple[_Ints, _Ints]:
    """(first piece, bytes) of the segments that are kept, all pieces of a segment alike."""
    first = np.flatnonzero(begins)
    if not first.size:
        return first, first
    return first[kept[first]], np.add.reduceat(pieces.bytes, first)[kept[first]]


def _joined(moves: list[Moves]) -> Moves:
    return Moves(*(np.concatenate(column) for column in zip(*moves, strict=True)))
