"""Is every message there, exactly once, whole or in parts that add up? Is the pattern one?"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import numpy as np

from conset.base import Array, Bools, Ints, Ints32, count_of
from conset.schedule.document import Document, IntArray
from conset.verification.schedule.traffic import Traffic, in_order
from conset.verification.verification import Violation

_BLOCK = 1 << 17
MAX_BYTES = 1 << 62
"""What all messages of a pattern, or of a program, may carry together [B].

Sums of sizes stay within 64 bits.
"""
_SHOWN = 8
_ROUNDS = 64
"""Messages of a chain up to which what ends without a cycle is put aside at once."""


def exact_sum(values: Array) -> int:
    """The sum of 64-bit integers, which may need more bits than they have."""
    if not values.size:
        return 0
    if max(abs(int(values.min())), abs(int(values.max()))) * values.size < 1 << 62:
        return int(values.sum(dtype=np.int64))
    wide = values.astype(np.int64, copy=False)
    return (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())


def check_pattern(document: Document) -> list[Violation]:
    """Rule `pattern`: what `Pattern` itself would refuse."""
    source, target, size, ranks = document.source, document.target, document.size, document.ranks
    outside = (source < 0) | (source >= ranks) | (target < 0) | (target >= ranks)
    own, empty = source == target, size <= 0
    found = [
        *[
            f"{_ends(document, m)}: ranks are 0 to {ranks - 1}"
            for m in np.flatnonzero(outside).tolist()
        ],
        *[f"{_ends(document, m)}: joins a rank to itself" for m in np.flatnonzero(own).tolist()],
        *[
            f"{_ends(document, m)}: has {size[m]} B, must be above 0 B"
            for m in np.flatnonzero(empty).tolist()
        ],
    ]
    total = exact_sum(size)
    found += (
        [f"all messages together have {total} B, at most {MAX_BYTES} B"]
        if total > MAX_BYTES
        else []
    )
    found += [*_check_order_pairs(document), *_check_cycle(document), *_check_packed(document)]
    found += _check_ids(document)
    return [Violation(None, None, "pattern", text) for text in found]


def _ends(document: Document, m: int, size: str = "") -> str:
    ids = document.ids
    called = f", connection {ids[m]}" if ids is not None and m < ids.size else ""
    return f"message {m}{called} ({document.source[m]} → {document.target[m]}{size})"


def sound_pairs(document: Document) -> Bools:
    """shape=(pairs): the ordered pairs whose messages exist and share a rank."""
    if document.before is None:
        return np.zeros(0, bool)
    exists: Bools = np.all(
        (document.before >= 0) & (document.before < document.source.size), axis=1
    )
    first, second = np.where(exists[:, None], document.before, 0).T
    if document.source.size == 0:
        return exists
    source, target = document.source, document.target
    share = (source[first] == source[second]) | (source[first] == target[second])
    share |= (target[first] == source[second]) | (target[first] == target[second])
    return np.asarray(exists & share)


def _check_order_pairs(document: Document) -> Iterator[str]:
    if document.before is None:
        return
    for k in np.flatnonzero(~sound_pairs(document)).tolist():
        i, j = document.before[k].tolist()
        if min(i, j) < 0 or max(i, j) >= document.source.size:
            yield f"before[{k}] = [{i}, {j}]: messages are 0 to {document.source.size - 1}"
        else:
            yield f"before[{k}] = [{i}, {j}]: ordered messages must share a rank"


def _check_cycle(document: Document) -> Iterator[str]:
    """Whether messages come before themselves, wherever they are scheduled; one cycle is named."""
    if document.before is None:
        return
    graph = TopologicalSorter[int]()
    for i, j in _entangled(document.before[sound_pairs(document)], document.source.size).tolist():
        graph.add(j, i)
    try:
        graph.prepare()
    except CycleError as error:
        cycle = error.args[1]
        shown = [str(m) for m in cycle[:_SHOWN]] + (
            ["…", str(cycle[-1])] if len(cycle) > _SHOWN else []
        )
        yield f"before: the order is cyclic: message {' before '.join(shown)}"


def _check_packed(document: Document) -> Iterator[str]:
    """Whether what is packed are messages; that they are changes no phase."""
    if document.packed is None:
        return
    outside = (document.packed < 0) | (document.packed >= document.source.size)
    for k in np.flatnonzero(outside).tolist():
        yield f"packed[{k}] = {document.packed[k]}: messages are 0 to {document.source.size - 1}"


def _check_ids(document: Document) -> Iterator[str]:
    """Whether every connection has a number of its own."""
    ids, messages = document.ids, document.source.size
    if ids is None:
        return
    if ids.size != messages:
        yield f"ids: one for each of {messages} messages required, given {ids.size}"
    _, place, count = np.unique(ids, return_inverse=True, return_counts=True)
    for k in np.flatnonzero((ids < 0) | (ids >= 2**31) | (count[place] > 1)).tolist():
        yield f"ids[{k}] = {ids[k]}: distinct numbers from 0 to 2^31 - 1 required"


def _entangled(pairs: IntArray, messages: int) -> IntArray:
    """`pairs` without those whose first message waits for none of the others, again and again.

    Cycles are left.
    """
    for _ in range(_ROUNDS):
        waits = np.zeros(messages, bool)
        waits[pairs[:, 1]] = True
        kept = waits[pairs[:, 0]]
        if kept.all():
            break
        pairs = pairs[kept]
    return pairs


def check_messages(traffic: Traffic) -> Iterator[Violation]:
    """Rules `message-index`, `message-ends`, `part-size`, `message-missing` and `message-bytes`."""
    document = traffic.document
    message, messages = document.transfer_message, document.source.size
    known: Bools | None = None
    if message.size and (message.min() < 0 or message.max() >= messages):
        known = np.asarray((message >= 0) & (message < messages))
    for k in np.flatnonzero(~known).tolist() if known is not None else ():
        yield traffic.violation(
            k,
            "message-index",
            f"message {document.transfer_message[k]}, must be from 0 to {messages - 1}",
        )
    seen = (
        None
        if known is None and _each_once(message, messages)
        else _counts(message, known, messages)
    )

    def check(low: int) -> list[Violation]:
        ids = np.arange(low, min(low + _BLOCK, message.size))
        return list(_check_rows(traffic, ids if known is None else ids[known[ids]], seen))

    for rows in in_order(check, range(0, message.size, _BLOCK)):
        yield from rows
    if seen is not None:
        yield from _check_parts(traffic, known, seen)


def _each_once(message: Ints | Ints32, messages: int) -> bool:
    """Whether known messages occur once each.

    Without a count of each, which takes eight times the memory.
    """
    if message.size != messages:
        return False
    there = np.zeros(messages, bool)
    for low in range(0, message.size, _BLOCK):
        there[message[low : low + _BLOCK]] = True
    return bool(there.all())


def _counts(message: Ints | Ints32, known: Bools | None, messages: int) -> Ints:
    """shape=(messages): how often each of the known messages occurs."""
    return np.bincount(message if known is None else message[known], minlength=messages)


def _message(document: Document, m: int) -> str:
    return _ends(document, m, f", {document.size[m]} B")


def _check_rows(traffic: Traffic, ids: Ints, seen: Ints | None) -> Iterator[Violation]:
    """Each row against its message; `seen` counts how often messages occur, None: once each."""
    d = traffic.document
    message, size = d.transfer_message[ids], d.transfer_size[ids]
    wrong = (d.transfer_source[ids] != d.source[message]) | (
        d.transfer_target[ids] != d.target[message]
    )
    for k in ids[wrong].tolist():
        own = f"{d.transfer_source[k]} → {d.transfer_target[k]}"
        yield traffic.violation(
            k,
            "message-ends",
            f"goes {own}, is of {_message(d, d.transfer_message[k])}",
        )
    for k in ids[size <= 0].tolist():
        yield traffic.violation(
            k,
            "part-size",
            f"carries {d.transfer_size[k]} B, must be above 0 B",
        )
    differs = size != d.size[message]
    if seen is not None:
        differs &= seen[message] == 1
    for k in ids[differs].tolist():
        whole = _message(d, d.transfer_message[k])
        yield traffic.violation(
            k,
            "message-bytes",
            f"carries {d.transfer_size[k]} B of {whole}, and nothing else does",
        )


def _check_parts(traffic: Traffic, known: Bools | None, seen: Ints) -> Iterator[Violation]:
    """Messages that are missing, and those in several transfers whose parts do not add up."""
    d = traffic.document
    for m in np.flatnonzero(seen == 0).tolist():
        yield Violation(None, None, "message-missing", f"{_message(d, m)} is not scheduled")
    ids = np.arange(d.transfer_message.size) if known is None else np.flatnonzero(known)
    ids = ids[seen[d.transfer_message[ids]] > 1]
    if not ids.size:
        return
    ids = ids[np.argsort(d.transfer_message[ids], kind="stable")]
    message, size = d.transfer_message[ids], d.transfer_size[ids]
    start = np.flatnonzero(np.diff(message, prepend=-1))
    wide = size.astype(np.int64, copy=False)
    # sums of an edited file may need more than 64 bits: halves are added up apart and the carry
    # moved over
    high, low = (np.add.reduceat(half, start) for half in (wide >> 32, wide & 0xFFFFFFFF))
    whole = d.size[message[start]].astype(np.int64)
    wrong = (high + (low >> 32) != whole >> 32) | (low & 0xFFFFFFFF != whole & 0xFFFFFFFF)
    last = np.append(start[1:], ids.size) - 1
    for g in np.flatnonzero(wrong).tolist():
        m, k = int(message[start[g]]), int(ids[last[g]])
        carried = sum(size[start[g] : last[g] + 1].tolist())
        verb = "carries" if seen[m] == 1 else "carry"
        parts = f"the {count_of(int(seen[m]), 'transfer')} of {_message(d, m)}"
        yield traffic.violation(k, "message-bytes", f"{parts} {verb} {carried} B together")
