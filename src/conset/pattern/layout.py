"""Layout: who owns what of a distributed mesh, graph or matrix.

And what each message of its pattern carries.

*Ghost* (sparse rows, graphs): every row has one owner; a rank has its own rows and copies of those
of others that its rows refer to, its ghosts; a receive stores. *Shared* (meshes): every element has
one owner; a node that elements of several ranks have exists on each of them, and a receive adds, in
the order of the sources.

Layout files (`.npz`): who owns what of a partition, for applications.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from conset.base import (
    Array,
    InputError,
    Ints,
    Ints32,
    UsageError,
    ValueObject,
    check_offsets,
    check_range,
    count_of,
    frozen_ints,
    read_archive,
    replacing,
    require_file,
    require_suffix,
    write_archive,
)
from conset.pattern.pattern import Pattern

LAYOUT_SUFFIX = ".npz"
Kind = Literal["ghost", "shared"]


@dataclass(frozen=True, eq=False)
class Layout(ValueObject):
    """Who owns what, by global numbers of the file, from 0.

    Attributes:
        kind: `ghost` or `shared`.
        part: shape=(rows or elements), int32: the rank of each.
        word: of an item of an application's arrays [B].
        own_offsets: shape=(ranks + 1), int64.
        own_numbers: int64: rank r has `own_numbers[own_offsets[r]:own_offsets[r + 1]]`, ascending:
            rows, or the nodes of its elements.
        ghost_offsets: shape=(ranks + 1), int64.
        ghost_numbers: int64: rows of others that a rank has copies of, by owner, then number; kind
            `shared`: none.
        source: shape=(messages), int32: messages as in the pattern, by source, then target.
        target: shape=(messages), int32.
        item_offsets: shape=(messages + 1), int64.
        item_numbers: int64: message m carries the values of
            `item_numbers[item_offsets[m]:item_offsets[m + 1]]`, in that order.
    """

    kind: Kind
    part: Ints32
    word: int
    own_offsets: Ints
    own_numbers: Ints
    ghost_offsets: Ints
    ghost_numbers: Ints
    source: Ints32
    target: Ints32
    item_offsets: Ints
    item_numbers: Ints

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"kind must be ghost or shared, is '{self.kind}'")
        if self.word < 1:
            raise InputError(f"word = {self.word}: must be at least 1 B")
        self._cast(np.int32, "part", "source", "target")
        self._cast(
            np.int64,
            "own_offsets",
            "own_numbers",
            "ghost_offsets",
            "ghost_numbers",
            "item_offsets",
            "item_numbers",
        )
        check_offsets("own_offsets", self.own_offsets, None, self.own_numbers.size, "rows or nodes")
        check_offsets(
            "ghost_offsets", self.ghost_offsets, self.ranks, self.ghost_numbers.size, "ghosts"
        )
        check_offsets(
            "item_offsets", self.item_offsets, self.source.size, self.item_numbers.size, "items"
        )
        check_range("part", self.part, self.ranks)
        check_range("source", self.source, self.ranks)
        check_range("target", self.target, self.ranks)
        most = self.part.size if self.kind == "ghost" else 2**62 // self.ranks
        for name in ("own_numbers", "ghost_numbers", "item_numbers"):
            check_range(name, getattr(self, name), most)
        self._check_messages()
        self._check_places()

    def _check_messages(self) -> None:
        if self.target.shape != self.source.shape:
            raise InputError(
                f"target has {count_of(self.target.size, 'entry', 'entries')}, source "
                f"{self.source.size}: must agree"
            )
        if (self.source == self.target).any():
            m = int(np.argmax(self.source == self.target))
            raise InputError(f"message {m}: from rank {self.source[m]} to itself")
        if (np.diff(self.source.astype(np.int64) * self.ranks + self.target) <= 0).any():
            raise InputError("messages: must be sorted by source, then target, one for each pair")

    def _check_places(self) -> None:
        """Every item is where it is sent from and where it is received."""
        if not _rise(self.own_offsets, self.own_numbers):
            own = "owned" if self.kind == "ghost" else "nodes"
            raise InputError(f"{own}_r: numbers must rise")
        if self.kind == "ghost":
            self._check_ghosts()
        elif self.ghost_numbers.size:
            raise InputError("ghost_r: there are none where nodes are shared")
        item_of = np.repeat(np.arange(self.messages), np.diff(self.item_offsets))
        self._check_held("source", self.source, self.own_offsets, self.own_numbers, item_of)
        self._check_held("target", self.target, *self._received_in, item_of)
        if self.kind == "ghost" and self.item_numbers.size != self.ghost_numbers.size:
            raise InputError(
                f"items: {self.item_numbers.size} are sent, there are {self.ghost_numbers.size} "
                "ghosts: must agree"
            )

    def _check_ghosts(self) -> None:
        own_counts = np.bincount(self.part, minlength=self.ranks)
        if (
            not np.array_equal(own_counts, np.diff(self.own_offsets))
            or (self.part[self.own_numbers] != _rank_of(self.own_offsets)).any()
        ):
            raise InputError("owned_r: must be the rows that part gives to rank r")
        owner = self.part[self.ghost_numbers]
        if (
            not _rise(self.ghost_offsets, owner * np.int64(self._most) + self.ghost_numbers)
            or (owner == _rank_of(self.ghost_offsets)).any()
        ):
            raise InputError(
                "ghost_r: must be rows of other ranks, by owner, then number, each once"
            )

    def _check_held(
        self,
        end: str,
        rank: Ints32,
        offsets: Ints,
        numbers: Ints,
        item_of: Ints,
    ) -> None:
        """Every item is among the numbers of the rank at one end of its message."""
        held = np.sort(_rank_of(offsets) * self._most + numbers)
        key = rank[item_of] * np.int64(self._most) + self.item_numbers
        found = np.searchsorted(held, key, side="right") > np.searchsorted(held, key)
        wrong = np.flatnonzero(~found)
        if wrong.size:
            k = int(wrong[0])
            m = int(item_of[k])
            raise InputError(
                f"items_{m}: {self.item_numbers[k]} is not with its {end}, rank {rank[m]}"
            )

    @property
    def _most(self) -> int:
        """Numbers are below it."""
        return (
            max(
                int(array.max(initial=0))
                for array in (self.own_numbers, self.ghost_numbers, self.item_numbers)
            )
            + 1
        )

    @property
    def _received_in(self) -> tuple[Ints, Ints]:
        """(offsets, numbers) of the arrays that receives go to."""
        return (
            (self.ghost_offsets, self.ghost_numbers)
            if self.kind == "ghost"
            else (self.own_offsets, self.own_numbers)
        )

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.own_offsets.size - 1)

    @property
    def messages(self) -> int:
        """Number of messages."""
        return int(self.source.size)

    @property
    def add(self) -> bool:
        """Whether a receive adds to what is there."""
        return self.kind == "shared"

    def owned(self, rank: int) -> Ints:
        """The rows of a rank, ascending; raises UsageError where nodes are shared."""
        return self._own(rank, "ghost", "owned")

    def nodes(self, rank: int) -> Ints:
        """The nodes of a rank's elements, ascending; raises UsageError where rows are owned."""
        return self._own(rank, "shared", "nodes")

    def _own(self, rank: int, kind: Kind, name: str) -> Ints:
        self._require_rank(rank)
        if self.kind != kind:
            raise UsageError(f"{name}: is of kind {kind}, the layout is of kind {self.kind}")
        return self.own_numbers[self.own_offsets[rank] : self.own_offsets[rank + 1]]

    def ghost(self, rank: int) -> Ints:
        """The ghosts of a rank, by owner, then number; none where nodes are shared."""
        self._require_rank(rank)
        return self.ghost_numbers[self.ghost_offsets[rank] : self.ghost_offsets[rank + 1]]

    def items(self, message: int) -> Ints:
        """What a message carries, in the order in which it travels."""
        if not 0 <= message < self.messages:
            raise UsageError(f"message {message}: must be from 0 to {self.messages - 1}")
        return self.item_numbers[self.item_offsets[message] : self.item_offsets[message + 1]]

    def local(self, rank: int) -> tuple[Ints, Ints]:
        """Where the items of a rank's messages are in its own arrays.

        What it sends, what it receives.

        Positions of sends count in `owned(rank)` or `nodes(rank)`, those of receives in the ghosts
        or in `nodes(rank)`; both lists are in the order of a plan's buffers: sends by target,
        receives by source, then as the items travel.
        """
        self._require_rank(rank)
        first, last = np.searchsorted(self.source, [rank, rank + 1])
        sent = self.item_numbers[self.item_offsets[first] : self.item_offsets[last]]
        own = self.own_numbers[self.own_offsets[rank] : self.own_offsets[rank + 1]]
        order, ends = self._by_target
        arrived = [self.items(m) for m in order[ends[rank] : ends[rank + 1]].tolist()]
        received = np.concatenate([np.zeros(0, np.int64), *arrived])
        offsets, numbers = self._received_in
        held = numbers[offsets[rank] : offsets[rank + 1]]
        sorter = np.argsort(held, kind="stable")
        return np.searchsorted(own, sent), sorter[np.searchsorted(held, received, sorter=sorter)]

    @cached_property
    def _by_target(self) -> tuple[Ints, Ints]:
        """(messages by target, then source; where those of each target begin)."""
        order = np.argsort(self.target, kind="stable")
        return order, np.searchsorted(self.target[order], np.arange(self.ranks + 1))

    def _require_rank(self, rank: int) -> None:
        if not 0 <= rank < self.ranks:
            raise UsageError(f"rank {rank}: must be from 0 to {self.ranks - 1}")

    def pattern(self, name: str = "pattern") -> Pattern:
        """The messages, a word for every item."""
        return Pattern.from_messages(
            self.source, self.target, np.diff(self.item_offsets) * self.word, self.ranks, name=name
        )

    def require_pattern(self, pattern: Pattern) -> None:
        """Checks that a pattern's messages are those of the layout.

        Raises:
            InputError: they are not; names the first that differs.
        """
        if (pattern.ranks, pattern.messages) != (self.ranks, self.messages):
            raise InputError(
                f"layout of {count_of(self.ranks, 'rank')} and "
                f"{count_of(self.messages, 'message')}, "
                f"the pattern has {pattern.ranks} and {pattern.messages}: must agree"
            )
        size = np.diff(self.item_offsets) * self.word
        wrong = np.flatnonzero(
            (pattern.source != self.source)
            | (pattern.target != self.target)
            | (pattern.size != size)
        )
        if wrong.size:
            m = int(wrong[0])
            raise InputError(
                f"layout: message {m} is {self.source[m]} → {self.target[m]} with {size[m]} B, "
                "the pattern's "
                f"{pattern.source[m]} → {pattern.target[m]} with {pattern.size[m]} B: must agree"
            )

    def write(self, path: str | Path) -> None:
        """Writes an `.npz` with the layout.

        `kind`, `part`, per rank `owned_r` and `ghost_r` or `nodes_r`, per message `items_m`.

        Also `word`, and `source` and `target` of the messages. The same layout gives the same
        bytes.

        Raises:
            UsageError: another suffix.
            InputError: the file cannot be written.
        """
        path = require_suffix(path, "a layout file", LAYOUT_SUFFIX)
        own = ("owned", "ghost") if self.kind == "ghost" else ("nodes",)
        entries: list[tuple[str, Array]] = [
            ("kind", np.array(self.kind)),
            ("word", np.array(self.word)),
            ("part", self.part),
            ("source", self.source),
            ("target", self.target),
            *((f"{name}_{r}", getattr(self, name)(r)) for r in range(self.ranks) for name in own),
            *((f"items_{m}", self.items(m)) for m in range(self.messages)),
        ]
        with replacing(path) as temporary:
            write_archive(temporary, entries)

    def __repr__(self) -> str:
        return (
            f"Layout({self.kind}, ranks={self.ranks}, messages={self.messages}, "
            f"items={self.item_numbers.size})"
        )


@dataclass(frozen=True, eq=False)
class Partition(ValueObject):
    """A mesh, graph or matrix distributed: what is sent, and who owns what.

    Attributes:
        pattern: the messages.
        layout: of the same messages.
    """

    pattern: Pattern
    layout: Layout


def _rank_of(offsets: Ints) -> Ints:
    """The rank of every entry of arrays that stand one after the other."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def _rise(offsets: Ints, numbers: Ints) -> bool:
    """Whether the numbers of every rank rise."""
    follows = np.diff(_rank_of(offsets)) == 0
    return not (follows & (np.diff(numbers) <= 0)).any()


def read_layout(path: str | Path) -> Layout:
    """The layout in a file that `Layout.write` or `compile --layout` wrote.

    Raises:
        UsageError: another suffix.
        InputError: no such archive, an entry that is missing, or entries that contradict each
            other; names it.
    """
    path = require_file(require_suffix(path, "a layout file", LAYOUT_SUFFIX))
    arrays = read_archive(path)
    try:
        kind: Any = str(_entry(arrays, "kind", 0))
        own = "nodes" if kind == "shared" else "owned"
        ranks = sum(1 for name in arrays if name.startswith(f"{own}_"))
        if not ranks:
            raise InputError(f"{own}_0 is missing: no layout")
        source = _ints(arrays, "source", np.int32)
        none = np.zeros(ranks + 1, np.int64), _NOTHING
        ghost_offsets, ghosts = _rows(arrays, "ghost", ranks) if kind == "ghost" else none
        word = _entry(arrays, "word", 0)
        return Layout(
            kind,
            _ints(arrays, "part", np.int32),
            int(frozen_ints(word, np.int64, "word")),
            *_rows(arrays, own, ranks),
            ghost_offsets,
            ghosts,
            source,
            _ints(arrays, "target", np.int32),
            *_rows(arrays, "items", source.size),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


_NOTHING = np.zeros(0, np.int64)


def _entry(arrays: dict[str, Array], name: str, dimensions: int) -> Array:
    if name not in arrays:
        raise InputError(f"{name} is missing: no layout")
    if arrays[name].ndim != dimensions:
        raise InputError(
            f"{name} has shape {arrays[name].shape}: {count_of(dimensions, 'dimension')} required"
        )
    return arrays[name]


def _ints(arrays: dict[str, Array], name: str, dtype: type[np.signedinteger[Any]]) -> Array:
    return frozen_ints(_entry(arrays, name, 1), dtype, name)


def _rows(arrays: dict[str, Array], name: str, count: int) -> tuple[Ints, Ints]:
    """(offsets, numbers) of the entries `name_0`, `name_1` and so on."""
    rows = [_ints(arrays, f"{name}_{k}", np.int64) for k in range(count)]
    return np.cumsum([0, *(row.size for row in rows)], dtype=np.int64), np.concatenate(
        [_NOTHING, *rows]
    )
