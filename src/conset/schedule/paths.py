"""Paths: the ranks that every message of a pattern visits.

Stage by stage, with the bundles that follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from conset.base import (
    Bools,
    InputError,
    Ints,
    Ints32,
    ValueObject,
    check_range,
    frozen,
    frozen_ints,
)
from conset.pattern.pattern import Pattern

MAX_STAGES = 64
"""Stages of a program that forwards: a message is worth more hops nowhere."""


@dataclass(frozen=True, eq=False)
class Bundles(ValueObject):
    """What one stage sends: for each pair of ranks the parts that travel between them together.

    Attributes:
        pattern: one message for each bundle, by source, then target; `packed` where it holds
            several parts.
        offsets: shape=(bundles + 1), int64.
        parts: int32: those of bundle b are `parts[offsets[b] : offsets[b + 1]]`, in the order in
            which their bytes travel: by the rank where they are after the next stage, then by
            target and source, so that what travels on together lies together.
    """

    pattern: Pattern
    offsets: Ints
    parts: Ints32

    def __post_init__(self) -> None:
        self._freeze()

    @property
    def bundles(self) -> int:
        """Number of bundles."""
        return self.pattern.messages

    @cached_property
    def bundle_of(self) -> Ints32:
        """shape=(parts that travel), int32: the bundle of each entry of `parts`."""
        return frozen(np.repeat(np.arange(self.bundles, dtype=np.int32), np.diff(self.offsets)))


class MessagesBlock(NamedTuple):
    """Some messages of a program, with the bundles that they travel in.

    Attributes:
        source: shape=(messages): source rank.
        target: shape=(messages): target rank.
        size: shape=(messages): bytes [B].
        moves: for each stage (messages of the block that it sends, the bundle of each).
    """

    source: Ints32
    target: Ints32
    size: Ints
    moves: tuple[tuple[Ints32, Ints32], ...]


@dataclass(frozen=True, eq=False)
class Box:
    """A box of ranks, one of its dimensions corrected in each stage.

    Where a complete exchange of equal sizes fills the box, bundles follow from it: in the stage of
    a dimension of side k every rank sends the ranks / k messages that go on by way of each other
    rank of its line there.

    Attributes:
        sides: of the box, cells numbered row by row.
        order: the dimension that each stage corrects.
        cell: shape=(ranks), int64: the cell of each rank, all distinct.
    """

    sides: tuple[int, ...]
    order: tuple[int, ...]
    cell: Ints

    @cached_property
    def rank_in(self) -> Ints32:
        """shape=(cells), int32: the rank in each cell; -1: none."""
        found = np.full(prod(self.sides), -1, np.int32)
        found[self.cell] = np.arange(self.cell.size, dtype=np.int32)
        return frozen(found)

    def side_and_weight(self, stage: int) -> tuple[int, int]:
        """(side of the dimension of a stage, cells from one of its coordinates to the next)."""
        d = self.order[stage]
        return self.sides[d], prod(self.sides[d + 1 :])

    def positions(self, source: Ints32, target: Ints32) -> Ints32:
        """shape=(messages, stages + 1), int32: as of `Paths`, of messages between these ranks."""
        wish, end = self.cell[source], self.cell[target]
        positions = np.empty((source.size, len(self.order) + 1), np.int32, order="F")
        positions[:, 0] = source
        for stage in range(len(self.order)):
            side, weight = self.side_and_weight(stage)
            wish = wish + (end // weight % side - wish // weight % side) * weight
            there = self.rank_in[wish]
            positions[:, stage + 1] = np.where(there < 0, positions[:, stage], there)
        return positions

    def lines(self, stage: int) -> Ints32:
        """shape=(ranks, side), int32: the ranks of the line of each rank, by coordinate."""
        side, weight = self.side_and_weight(stage)
        first = self.cell - self.cell // weight % side * weight
        return self.rank_in[first[:, None] + np.arange(side) * weight]


NO_POSITIONS = frozen(np.empty((0, 0), np.int32))
"""Of paths that follow from a box."""
BLOCK = 2**20
"""Messages whose positions are written out at a time: 24 MiB and 4 MiB a stage."""


@dataclass(frozen=True, eq=False)
class Paths(ValueObject):
    """Where every message of a pattern is before each stage, and after the last.

    A part is a whole message, or some of its bytes. Bundles follow from positions and are never
    stored, so that the two cannot disagree: in stage j everything that is at rank p before it and
    at q != p after it travels together.

    Attributes:
        pattern: the messages as the application has them.
        positions: shape=(parts, stages + 1), int32: the rank that holds each part before stage j;
            column 0 its source, the last its target; equal neighbours: it stays.
        message: shape=(parts), int32, or None: part m is the whole message m.
        first: shape=(parts), int64 [B]: the byte of its message that a part begins with; None with
            `message`.
        size: shape=(parts), int64 [B], above 0; None with `message`. The parts of a message cover
            it without overlap.
        name: how they were found, for people.
        box: which a complete exchange of equal sizes fills: `positions` are `NO_POSITIONS`, and
            written out only where they are asked for. None: they do not follow from a box.
    """

    pattern: Pattern
    positions: Ints32
    message: Ints32 | None = None
    first: Ints | None = None
    size: Ints | None = None
    name: str = field(default="paths", compare=False)
    box: Box | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.box is not None and self.positions is NO_POSITIONS:
            object.__delattr__(self, "positions")
            return
        set_(self, "box", None)
        set_(self, "positions", frozen_ints(self.positions, np.int32, "positions"))
        if self.pattern.before is not None:
            raise InputError("paths: of a pattern whose messages have an order there are none")
        given = (self.message, self.first, self.size)
        if self.message is not None and self.first is not None and self.size is not None:
            set_(self, "message", frozen_ints(self.message, np.int32, "message"))
            set_(self, "first", frozen_ints(self.first, np.int64, "first"))
            set_(self, "size", frozen_ints(self.size, np.int64, "size"))
            self._check_parts(self.message, self.first, self.size)
        elif any(array is not None for array in given):
            raise InputError("message, first and size go together")
        shape, parts = self.positions.shape, self.message_of.size
        if self.positions.ndim != 2 or shape[0] != parts or not 2 <= shape[1] <= MAX_STAGES + 1:
            rule = f"one row for each of {parts} parts and 2 to {MAX_STAGES + 1} columns required"
            raise InputError(f"positions has shape {shape}: {rule}")
        self._check_positions()

    def __getattr__(self, name: str) -> Ints32:
        if name != "positions" or self.__dict__.get("box") is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        found = frozen(self.__dict__["box"].positions(self.pattern.source, self.pattern.target))
        object.__setattr__(self, "positions", found)
        return found

    def _check_parts(self, message: Ints32, first: Ints, size: Ints) -> None:
        if not message.shape == first.shape == size.shape or message.ndim != 1:
            raise InputError(
                f"message, first and size have shapes {message.shape}, {first.shape} and "
                f"{size.shape}"
            )
        check_range("message", message, self.pattern.messages)
        if message.size and size.min() <= 0:
            k = int(np.argmin(size))
            raise InputError(f"size[{k}] = {size[k]}: must be above 0 B")
        order = np.lexsort((first, message))
        held, begin, end = message[order], first[order], (first + size)[order]
        due = np.where(
            np.r_[True, held[1:] != held[:-1]][: held.size], 0, np.r_[0, end[:-1]][: held.size]
        )
        wrong = np.flatnonzero(begin != due)
        if wrong.size:
            k = wrong[0]
            raise InputError(
                f"first[{order[k]}] = {begin[k]}: byte {due[k]} of message {held[k]} comes next"
            )
        total = np.zeros(self.pattern.messages, np.int64)
        np.add.at(total, message, size)
        wrong = np.flatnonzero(total != self.pattern.size)
        if wrong.size:
            m = wrong[0]
            raise InputError(
                f"message {m} has {self.pattern.size[m]} bytes, its parts {total[m]}: must agree"
            )

    def _check_positions(self) -> None:
        at, ranks = self.positions, self.pattern.ranks
        if at.size and (at.min() < 0 or at.max() >= ranks):
            m, j = np.argwhere((at < 0) | (at >= ranks))[0]
            raise InputError(
                f"positions[{m}, {j}] = {at[m, j]}: must be a rank from 0 to {ranks - 1}"
            )
        for column, ends, what in (
            (0, self.pattern.source, "source"),
            (-1, self.pattern.target, "target"),
        ):
            own = ends if self.message is None else ends[self.message]
            wrong = np.flatnonzero(at[:, column] != own)
            if wrong.size:
                m = wrong[0]
                raise InputError(
                    f"positions[{m}, {column}] = {at[m, column]}: its {what} is rank {own[m]}"
                )

    @property
    def stages(self) -> int:
        """Number of stages."""
        if self.box is not None:
            return len(self.box.order)
        return int(self.positions.shape[1] - 1)

    @property
    def parts(self) -> int:
        """Number of parts."""
        return self.pattern.messages if self.box is not None else int(self.positions.shape[0])

    @cached_property
    def message_of(self) -> Ints32:
        """shape=(parts), int32: the message of each part."""
        return (
            frozen(np.arange(self.pattern.messages, dtype=np.int32))
            if self.message is None
            else self.message
        )

    @property
    def size_of(self) -> Ints:
        """shape=(parts), int64 [B]: the bytes of each part."""
        return self.pattern.size if self.size is None else self.size

    @cached_property
    def first_of(self) -> Ints:
        """shape=(parts), int64 [B]: the byte of its message that each begins with."""
        return (
            frozen(np.broadcast_to(np.int64(0), self.parts)) if self.first is None else self.first
        )

    def bundles(self, stage: int) -> Bundles:
        """What stage `stage` sends."""
        return self._all_bundles[stage]

    def stage_pattern(self, stage: int) -> Pattern:
        """The pattern of the bundles of a stage."""
        if self.box is not None:
            return self._patterns_of_box[stage]
        return self.bundles(stage).pattern

    def held(self, stage: int) -> tuple[Ints, Bools]:
        """(parts in each bundle of a stage, which bundles have a part that moves again later)."""
        if self.box is not None:
            count = self.stage_pattern(stage).messages
            parts = self.pattern.ranks // self.box.side_and_weight(stage)[0]
            return np.full(count, parts), np.full(count, stage + 1 < self.stages)
        bundles = self.bundles(stage)
        if not bundles.bundles:
            return np.zeros(0, np.int64), np.zeros(0, np.bool_)
        moves_on = (self._last > stage)[bundles.parts]
        return np.diff(bundles.offsets), np.bitwise_or.reduceat(moves_on, bundles.offsets[:-1])

    @cached_property
    def _last(self) -> Ints32:
        """shape=(parts), int32: the last stage that each part moves in; -1: none."""
        last = np.full(self.parts, -1, np.int32)
        for stage in range(self.stages):
            last[self.positions[:, stage] != self.positions[:, stage + 1]] = stage
        return last

    @cached_property
    def _patterns_of_box(self) -> tuple[Pattern, ...]:
        assert self.box is not None  # the caller looked
        return tuple(self._pattern_of_box(self.box, stage) for stage in range(self.stages))

    def _pattern_of_box(self, box: Box, stage: int) -> Pattern:
        if len(box.sides) == 1:
            name = f"stage {stage} of {self.pattern.name}"
            return replace(self.pattern, name=name, local_bytes=0, sent=())
        ranks, lines = self.pattern.ranks, np.sort(box.lines(stage), axis=1)
        target = lines[lines != np.arange(ranks)[:, None]]
        side = lines.shape[1]
        return Pattern(
            ranks,
            np.arange(ranks + 1) * (side - 1),
            target,
            np.full(target.size, int(self.pattern.size[0]) * (ranks // side)),
            packed=np.ones(target.size, np.bool_),
            name=f"stage {stage} of {self.pattern.name}",
        )

    def blocks(self) -> Iterator[MessagesBlock]:
        """All messages of paths through a box, with the bundles that they travel in.

        By blocks of source ranks, of about `BLOCK` messages each.
        """
        assert self.box is not None  # nothing else has so many messages
        pattern, box, places = self.pattern, self.box, []
        own = np.arange(pattern.ranks, dtype=np.int32)
        for stage in range(self.stages):
            lines = box.lines(stage)
            place = np.argsort(np.argsort(lines, axis=1), axis=1) - (lines > own[:, None])
            begin = own.astype(np.int64)[:, None] * (lines.shape[1] - 1)
            places.append((begin + place).astype(np.int32))
        step = max(1, BLOCK // pattern.ranks)
        for first in range(0, pattern.ranks, step):
            sender = own[first : first + step]
            rows = slice(*pattern.offsets[[first, first + sender.size]].tolist())
            source, target = np.repeat(sender, pattern.ranks - 1), pattern.target[rows]
            positions, moves = box.positions(source, target), []
            for stage, place in enumerate(places):
                here, there = positions[:, stage], positions[:, stage + 1]
                message = np.flatnonzero(here != there).astype(np.int32)
                side, weight = box.side_and_weight(stage)
                at = (box.cell // weight % side)[there[message]]
                moves.append((message, place[here[message], at]))
            yield MessagesBlock(source, target, pattern.size[rows], tuple(moves))

    @cached_property
    def _all_bundles(self) -> tuple[Bundles, ...]:
        return tuple(self._bundles(stage) for stage in range(self.stages))

    def _bundles(self, stage: int) -> Bundles:
        here, there = self.positions[:, stage], self.positions[:, stage + 1]
        moves = np.flatnonzero(here != there).astype(np.int32)
        target = self.positions[moves, -1]
        p, q = here[moves], there[moves]
        after = self.positions[moves, min(stage + 2, self.stages)]
        # parts are in the order of their messages, by source and target; ranks below 2^16 sort in
        # linear time
        kind = np.uint16 if self.pattern.ranks < 2**16 else np.int32
        order = np.lexsort([key.astype(kind) for key in (target, after, q, p)])
        p, q, parts = p[order], q[order], moves[order]
        first = np.flatnonzero(np.r_[True, (p[1:] != p[:-1]) | (q[1:] != q[:-1])][: p.size])
        offsets = np.append(first, p.size).astype(np.int64)
        size = np.add.reduceat(self.size_of[parts], first) if first.size else np.zeros(0, np.int64)
        rows = np.searchsorted(p[first], np.arange(self.pattern.ranks + 1)).astype(np.int64)
        name = f"stage {stage} of {self.pattern.name}"
        packed = np.diff(offsets) > 1
        return Bundles(
            Pattern(
                self.pattern.ranks,
                rows,
                q[first],
                size,
                packed=packed if packed.any() else None,
                name=name,
            ),
            offsets,
            parts,
        )

    def __repr__(self) -> str:
        return (
            f"Paths({self.name!r}, stages={self.stages}, parts={self.parts}, "
            f"ranks={self.pattern.ranks})"
        )


def direct(pattern: Pattern) -> Paths:
    """Every message from its source to its target in one stage."""
    if pattern.is_complete:
        box = Box((pattern.ranks,), (0,), np.arange(pattern.ranks))
        return Paths(pattern, NO_POSITIONS, name="direct", box=box)
    return Paths(pattern, np.column_stack((pattern.source, pattern.target)), name="direct")
