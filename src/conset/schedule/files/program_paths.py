"""Bundles in program files, and the paths that they amount to.

A file says which bytes travel together; a program knows where each part is before every stage.
Bytes that no bundle parts from one another are one part, so the files of programs whose paths have
such parts say the same again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.pattern.pattern import Pattern
from conset.schedule.document import BundlesDocument, MessagesDocument
from conset.schedule.files.schedule import pattern_of
from conset.schedule.paths import Paths

Ints = NDArray[np.int64]


def bundles_of(paths: Paths, stage: int) -> BundlesDocument:
    """What a file says of the bundles of a stage."""
    bundles = paths.bundles(stage)
    pattern, parts = bundles.pattern, bundles.parts
    first = paths.first_of[parts]
    return BundlesDocument(
        pattern.source,
        pattern.target,
        pattern.size,
        bundles.offsets,
        paths.message_of[parts],
        first,
        first + paths.size_of[parts] - 1,
    )


def paths_of(messages: MessagesDocument, stages: Sequence[BundlesDocument]) -> Paths:
    """The paths that the bundles of all stages amount to.

    Raises:
        InputError: they are none: a part is no range of bytes of a message, travels twice in a
            stage, or leaves a rank that does not hold it, or a message does not arrive; names stage
            and bundle.
    """
    pattern, index = pattern_of(messages)
    rows = [_rows(stage, bundles, pattern, index) for stage, bundles in enumerate(stages)]
    message, first, size, spans = _parts(pattern, rows)
    at = pattern.source[message]
    columns = [at]
    for stage, (bundles, (begin, end)) in enumerate(zip(stages, spans, strict=True)):
        at = _moved(at, stage, bundles, begin, end)
        columns.append(at)
    lost = np.flatnonzero(at != pattern.target[message])
    if lost.size:
        m = int(message[lost[0]])
        rule = f"its target is rank {pattern.target[m]}"
        raise InputError(f"message {m}: after the last stage at rank {at[lost[0]]}, {rule}")
    positions = np.stack(columns, axis=1)
    if message.size == pattern.messages:
        return Paths(pattern, positions)
    return Paths(pattern, positions, message.astype(np.int32), first, size)


def _rows(
    stage: int, bundles: BundlesDocument, pattern: Pattern, index: NDArray[np.int32] | None
) -> tuple[Ints, Ints, Ints]:
    """(message, first byte, byte after the last) of every part of a stage.

    Messages of the pattern, in the order of the file.
    """
    message, first, last = bundles.message, bundles.first, bundles.last
    outside = (message < 0) | (message >= pattern.messages)
    if outside.any():
        k = int(np.argmax(outside))
        rule = f"must be from 0 to {pattern.messages - 1}"
        raise InputError(f"{_place(stage, bundles, k)}: message {message[k]}, {rule}")
    own = (message if index is None else index[message]).astype(np.int64)
    wrong = (first < 0) | (last < first) | (last >= pattern.size[own])
    if wrong.any():
        k = int(np.argmax(wrong))
        rule = f"{_bytes(bundles, k)}, which has {pattern.size[own[k]]} B"
        raise InputError(f"{_place(stage, bundles, k)}: {rule}")
    ends: Ints = np.concatenate((bundles.source, bundles.target)).astype(np.int64)
    if ends.size and (ends.min() < 0 or ends.max() >= pattern.ranks):
        b = int(np.argmax((ends < 0) | (ends >= pattern.ranks)))
        rule = f"rank {ends[b]}, must be from 0 to {pattern.ranks - 1}"
        raise InputError(f"stages[{stage}].bundles[{b % bundles.source.size}]: {rule}")
    order = np.lexsort((first, own))
    twice = (own[order[1:]] == own[order[:-1]]) & (first[order[1:]] <= last[order[:-1]])
    if twice.any():
        k = int(order[1:][np.argmax(twice)])
        raise InputError(
            f"{_place(stage, bundles, k)}: {_bytes(bundles, k)}, of which the stage "
            "sends some twice"
        )
    return own, first.astype(np.int64), last.astype(np.int64) + 1


def _parts(
    pattern: Pattern, rows: Sequence[tuple[Ints, Ints, Ints]]
) -> tuple[Ints, Ints, Ints, list[tuple[Ints, Ints]]]:
    """(message, first byte, bytes) of every part.

    And for each stage (first part, part after the last) of its rows.
    """
    numbers = np.arange(pattern.messages)
    if all(
        not first.any() and (end == pattern.size[message]).all() for message, first, end in rows
    ):
        return numbers, np.zeros_like(numbers), pattern.size, [(m, m + 1) for m, _, _ in rows]
    message = np.concatenate([numbers, numbers, *(m for m, _, _ in rows for _ in range(2))])
    byte = np.concatenate(
        [np.zeros_like(numbers), pattern.size, *(at for _, *ends in rows for at in ends)]
    )
    order = np.lexsort((byte, message))
    of, at = message[order], byte[order]
    new = np.concatenate([[True], (of[1:] != of[:-1]) | (at[1:] != at[:-1])])
    of, at = of[new], at[new]
    # where messages are cut, ends included: a part begins at every cut of a message but the last
    cut = np.empty(order.size, np.int64)
    cut[order] = np.cumsum(new) - 1
    part = cut - message
    same = np.flatnonzero(of[1:] == of[:-1])
    begins = np.cumsum([2 * numbers.size, *(m.size for m, _, _ in rows for _ in range(2))])
    pieces = np.split(part, begins[:-1])[1:]
    spans = list(zip(pieces[::2], pieces[1::2], strict=True))
    return of[same], at[same], at[same + 1] - at[same], spans


def _moved(
    at: NDArray[np.int32], stage: int, bundles: BundlesDocument, begin: Ints, end: Ints
) -> NDArray[np.int32]:
    """Where the parts are after a stage."""
    length = end - begin
    row = np.repeat(np.arange(begin.size), length)
    parts = np.arange(row.size) + np.repeat(begin - np.cumsum(length) + length, length)
    bundle = np.repeat(np.arange(bundles.source.size), np.diff(bundles.offsets))[row]
    wrong = at[parts] != bundles.source[bundle]
    if wrong.any():
        k = int(np.argmax(wrong))
        rule = f"at rank {at[parts[k]]}, not at rank {bundles.source[bundle[k]]}"
        raise InputError(
            f"{_place(stage, bundles, int(row[k]))}: {_bytes(bundles, int(row[k]))} are {rule}"
        )
    after = at.copy()
    after[parts] = bundles.target[bundle]
    return after


def _place(stage: int, bundles: BundlesDocument, row: int) -> str:
    """`stages[0].bundles[3]`, which holds a part."""
    return (
        f"stages[{stage}].bundles[{int(np.searchsorted(bundles.offsets, row, side='right')) - 1}]"
    )


def _bytes(bundles: BundlesDocument, row: int) -> str:
    return f"bytes {bundles.first[row]} to {bundles.last[row]} of message {bundles.message[row]}"
