"""Entries: what readers share.

Options, numbers of a file as whole bytes, and arrays of them as a pattern.

Errors name the place in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from conset.base import MAX_SIZE_B, Array, InputError, Ints, UsageError, count_of
from conset.pattern.pattern import Pattern, find_cycle, whole_bytes

T = TypeVar("T")

MAX_RANKS = 2**24
"""Most ranks of a pattern; a file that names more is broken, and would take all memory."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a file as a pattern.

    Attributes:
        ranks: number of ranks of a message list that does not say; None: 1 + the largest it names.
        parts: parts of a mesh or graph; None: not asked for.
        rows_to: ranks to distribute a sparse matrix over, by rows; None: not asked for.
        word: bytes of an entry or node, where a file counts words [B].
        seed: of METIS.
        unit: what a size without a unit counts [B]; None: bytes.
    """

    ranks: int | None = None
    parts: int | None = None
    rows_to: int | None = None
    word: int = 8
    seed: int = 0
    unit: int | None = None

    def __post_init__(self) -> None:
        for name, options in (
            ("ranks", []),
            ("parts", ["parts"]),
            ("rows_to", ["rows_to"]),
            ("word", ["word"]),
        ):
            value: int | None = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} = {value}: must be at least 1", options=options)
        if self.seed < 0:
            raise UsageError(f"seed = {self.seed}: must be at least 0")


def in_bytes(values: Array, place: Callable[[int], str], unit: int | None) -> tuple[Ints, int]:
    """Return values as bytes, and how many of them were rounded.

    Args:
        values: shape=(entries) of any number type.
        place: position of entry k in the file: `x.mtx: entry (3, 5)`.
        unit: what they count [B], parts of a byte are rounded; None: bytes, which must be whole.

    Raises:
        InputError: as `whole_bytes`.
    """
    if unit is None or values.dtype.kind not in "iuf":
        return whole_bytes(values, place), 0
    exact = values.astype(np.float64) * unit
    if values.dtype.kind != "f" and (abs(exact) <= MAX_SIZE_B).all():
        return whole_bytes(values.astype(np.int64) * unit, place), 0
    sizes = np.rint(exact)
    return whole_bytes(sizes, place), int((sizes != exact).sum())


def _name(path: Path, rounded: int, notes: Sequence[str] = ()) -> str:
    """Return the name of the pattern in a file, with what was rounded or left out."""
    sizes = [f"{count_of(rounded, 'size')} rounded to whole bytes"] if rounded else []
    noted = ", ".join([*sizes, *notes])
    return f"{path.name} ({noted})" if noted else path.name


def require_square(shape: tuple[int, ...], where: str) -> int:
    """The number of rows of a square matrix.

    Raises:
        InputError: another shape, or no rows.
    """
    if len(shape) != 2 or shape[0] != shape[1]:
        size = " x ".join(str(side) for side in shape)
        raise InputError(
            f"{where}: a square matrix required (a row and a column per rank), given {size}"
        )
    if shape[0] == 0:
        raise InputError(f"{where}: the matrix has no rows, at least 1 required")
    return shape[0]


def require_ranks(ranks: int, where: str, *, options: Iterable[str] = ()) -> int:
    """`ranks`, if arrays of that length make sense; `options`: those that `where` names.

    Raises:
        InputError: more than 2²⁴.
    """
    if ranks > MAX_RANKS:
        raise InputError(f"{where}: {ranks} ranks: must be at most {MAX_RANKS}", options=options)
    return ranks


def pattern_from_matrix(
    matrix: Array,
    place: Callable[[int, int], str],
    path: Path,
    unit: int | None = None,
    *,
    rounded: int = 0,
) -> Pattern:
    """Return the pattern of a dense matrix: row r, column c is what rank r sends to rank c.

    Args:
        matrix: shape=(ranks, ranks).
        place: position of a row and column in the file.
        path: the file.
        unit: as in `in_bytes`.
        rounded: how many sizes were rounded before.

    Raises:
        InputError: not square, or an entry that is no size; `place` names it.
    """
    ranks = require_square(matrix.shape, str(path))
    size, more = in_bytes(matrix.ravel(), lambda k: place(k // ranks, k % ranks), unit)
    sent = np.flatnonzero(size)
    name = _name(path, rounded + more)
    return located(
        str(path),
        lambda: Pattern.from_messages(sent // ranks, sent % ranks, size[sent], ranks, name=name),
    )


def located(where: str, build: Callable[[], T]) -> T:
    """The result of `build`, with `where` in front of whatever it refuses."""
    try:
        return build()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def pattern_from_list(
    source: Ints,
    target: Ints,
    size: Ints,
    before: list[tuple[int, int]],
    place: Callable[[int], str],
    path: Path,
    ranks: int | None,
    *,
    rounded: int = 0,
    notes: Sequence[str] = (),
    ids: Ints | None = None,
) -> Pattern:
    """Return the pattern of a list of messages: entry k goes from `source[k]` to `target[k]`.

    Its name says how many entries were left out, or added to others of their pair.

    Args:
        source: shape=(entries).
        target: shape=(entries).
        size: shape=(entries), whole bytes [B].
        before: pairs of entries: the first ends before the second starts.
        place: position of entry k in the file.
        path: the file.
        ranks: number of ranks; None: 1 + the largest named.
        rounded: how many sizes were rounded.
        notes: what of the file is left out, for the name.
        ids: shape=(entries): a number for each entry, which then is a message of its own; None:
            entries of a pair are added up, except those in `before`.

    Raises:
        InputError: a rank out of range, an id below 0 or that is there twice, or an order that
            names no message, joins messages without a common rank, or is cyclic.
    """
    named = int(max(source.max(), target.max())) + 1 if source.size else 1
    where = str(path)
    known = require_ranks(max(named, 1) if ranks is None else ranks, where)
    for what, rank in (("source", source), ("target", target)):
        wrong = np.flatnonzero((rank < 0) | (rank >= known))
        if wrong.size:
            k = int(wrong[0])
            raise InputError(
                f"{place(k)}: {what} = {rank[k]}: must be a rank from 0 to {known - 1}"
            )
    _check_order(before, source, target, size, place, where)
    known_ids: dict[int, int] = {}
    for k, id in enumerate([] if ids is None else ids.tolist()):
        if not 0 <= id < 2**31 or known_ids.setdefault(id, k) != k:
            twice = id in known_ids and f"{place(known_ids[id])} has it too"
            raise InputError(f"{place(k)}: id = {id}: {twice or 'must be from 0 to 2^31 - 1'}")
    pairs = np.array(before, np.int64).reshape(-1, 2) if before else None
    pattern = located(
        where,
        lambda: Pattern.from_messages(source, target, size, known, before=pairs, ids=ids),
    )
    sent = source != target
    empty = int((sent & (size == 0)).sum())
    added = int(sent.sum()) - empty - pattern.messages
    left = [f"{count_of(empty, 'message')} of 0 B left out"] if empty else []
    if added:
        left.append(f"{count_of(added, 'message')} added to others of the same pair")
    return replace(pattern, name=_name(path, rounded, [*notes, *left]))


def _check_order(
    before: list[tuple[int, int]],
    source: Ints,
    target: Ints,
    size: Ints,
    place: Callable[[int], str],
    where: str,
) -> None:
    for first, second in before:
        if not 0 <= first < source.size:
            raise InputError(
                f"{place(second)}: after = {first}: must be an entry from 0 to {source.size - 1}"
            )
        for k in (first, second):
            if size[k] == 0 or source[k] == target[k]:
                reason = "has 0 bytes" if size[k] == 0 else f"stays on rank {source[k]}"
                raise InputError(
                    f"{place(second)}: after = {first}: entry {k} {reason}, no message to order"
                )
        if not {int(source[first]), int(target[first])} & {
            int(source[second]),
            int(target[second]),
        }:
            raise InputError(
                f"{place(second)}: after = {first}: entries {first} and {second} must share a "
                "rank to be ordered"
            )
    if before and (cycle := find_cycle(np.array(before), source.size)):
        raise InputError(f"{where}: the order is cyclic: entry {' before '.join(map(str, cycle))}")
