"""Programs that forward, checked from their file alone.

Bundles against schedules, and every byte replayed.

Messages are cut at the ends of all parts that any stage sends, into pieces that always travel as a
whole. A piece begins at the source of its message; a stage may take it from the rank that holds it
and from no other, once; after the last stage it has to be at its target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from conset.base import Ints, Ints32, count_of
from conset.schedule.document import (
    BundlesDocument,
    Document,
    IntArray,
    MessagesDocument,
    ProgramDocument,
)
from conset.verification.schedule.messages import MAX_BYTES, exact_sum
from conset.verification.verification import Violation

FORWARDING_RULES: dict[str, str] = {
    "program-message": "the messages of a program that forwards join two "
    "different ranks of its schedules and have "
    "bytes, 2^62 together at most",
    "program-bundle": "a stage has one bundle for each pair of ranks, its "
    "bytes are the sum of its parts, and its "
    "schedule sends it, packed where it holds several",
    "program-part": "a part is a range of bytes of a message, and a stage sends no byte twice",
    "program-path": "a stage sends on only what its sender holds",
    "program-delivery": "after the last stage every byte is at its target",
    "program-staging": (
        "no rank holds more bytes for others between two stages than the stated limit"
    ),
}
"""Rules of programs that forward, beside those of all programs."""

MAX_STAGES = 64
"""Stages of a program that forwards: positions of parts between all of them are kept in memory."""


@dataclass(frozen=True)
class _Pieces:
    """What always travels as a whole.

    Attributes:
        message: shape=(pieces): rising.
        size: shape=(pieces) [B].
        spans: for each stage (shape=(parts), shape=(parts)): a part is the pieces from the first to
            before the second.
    """

    message: Ints
    size: Ints
    spans: tuple[tuple[Ints, Ints], ...]


def check_forwarding(document: ProgramDocument) -> list[Violation]:
    """All rules of programs that forward.

    Of one whose stages send messages of their own, that it has nothing else.
    """
    found = list(_check_presence(document))
    messages = document.messages
    if messages is None or found:
        return found
    found += _check_messages(messages, document)
    if found:
        return found
    found += [*_check_bundles(document), *_check_parts(document)]
    return found or _check_replay(document)


def replay_blocks(
    document: ProgramDocument,
) -> tuple[list[Violation], dict[str, int | float]]:
    """(violations, figures) of a program whose messages are given block by block.

    The same rules, of whole messages: every message is followed from its source over the bundles in
    which the block has it, whose ends and bytes are those of the schedules. Memory: what a
    block takes, some 60 bytes a message and stage, and three numbers for each bundle and rank.
    """
    assert document.blocks is not None  # the caller looked
    ranks = document.schedules[0].ranks
    stages = [document.schedules[stage.schedule] for stage in document.stages]
    held_B = [np.zeros(stage.source.size, np.int64) for stage in stages]  # noqa: N806
    counts = [np.zeros(stage.source.size, np.int64) for stage in stages]
    staged_B = np.zeros((len(stages), ranks), np.int64)  # noqa: N806
    found = [*_check_presence(document)]
    messages = total = 0
    before = -1
    for block in document.blocks():
        own = MessagesDocument(ranks, block.source, block.target, block.size)
        found += _check_messages(own, document)
        pair = block.source.astype(np.int64) * ranks + block.target
        if found or (np.diff(pair, prepend=before) <= 0).any():
            text = f"messages from {messages} on: must rise by source and target"
            found += [] if found else [Violation(None, None, "program-message", text)]
            return found, {}
        before, messages, total = int(pair[-1]), messages + pair.size, total + exact_sum(own.size)
        at = block.source.copy()
        for k, (stage, (message, bundle)) in enumerate(zip(stages, block.moves, strict=True)):
            found += _check_moves(k, stage, at, message, bundle)
            if found:
                return found, {}
            at[message] = stage.target[bundle]
            counts[k] += (times := np.bincount(bundle, minlength=counts[k].size))
            held_B[k] += _bytes_of(bundle, block.size, message, times)
            relayed = np.flatnonzero((at != block.source) & (at != block.target))
            holds = np.bincount(at[relayed], minlength=ranks)
            staged_B[k] += _bytes_of(at[relayed], block.size, relayed, holds)
        every = np.arange(at.size, dtype=np.int64)
        found += _check_delivery(own, _Pieces(every, block.size, ()), at.astype(np.int64))
    none = np.zeros(0, np.int64)
    for k, (stage, held, count) in enumerate(zip(stages, held_B, counts, strict=True)):
        offsets = np.concatenate([[0], np.cumsum(count)])
        bundles = BundlesDocument(stage.source, stage.target, held, offsets, none, none, none)
        texts = [f"stage {k}{text}" for text in _bundle_texts(bundles, stage)]
        found += [Violation(None, None, "program-bundle", text) for text in texts]
    found = found or _check_staging(document, staged_B[:-1])
    sent = sum(exact_sum(stage.size) for stage in stages)
    return found, {
        "messages": messages,
        "bytes": total,
        "stages": len(stages),
        "bundles": sum(count.size for count in counts),
        "volume": sent / total if total else 1.0,
        "staging_bytes": int(staged_B[:-1].max(initial=0)),
    }


def _check_moves(
    k: int, stage: Document, at: IntArray, message: IntArray, bundle: IntArray
) -> Iterator[Violation]:
    """Rules `program-part` and `program-path` of the moves of a block in a stage."""
    sound = (message >= 0) & (message < at.size) & (bundle >= 0) & (bundle < stage.source.size)
    if not sound.all() or np.bincount(message, minlength=1).max() > 1:
        text = f"stage {k}: a message or bundle does not exist, or a message travels twice"
        yield Violation(None, None, "program-part", text)
        return
    for i in np.flatnonzero(at[message] != stage.source[bundle]).tolist():
        text = (
            f"stage {k} bundle {bundle[i]} ({stage.source[bundle[i]]} → "
            f"{stage.target[bundle[i]]}): rank {at[message[i]]} holds a message of it"
        )
        yield Violation(None, None, "program-path", text)


def _bytes_of(place: IntArray, size: IntArray, message: IntArray, counts: Ints) -> Ints:
    """Shape as `counts`: bytes of messages at places, where `counts` of them are."""
    if size.strides == (0,):
        return counts * int(size[0])
    total = np.zeros(counts.size, np.int64)
    np.add.at(total, place, size[message])
    return total


def forwarding_figures(document: ProgramDocument) -> dict[str, int | float]:
    """The figures that programs which forward have beside or instead of the others.

    Of a sound document.
    """
    messages, stages = (
        document.messages,
        [stage.bundles for stage in document.stages if stage.bundles is not None],
    )
    if messages is None:
        return {}
    own, sent = exact_sum(messages.size), sum(exact_sum(bundles.size) for bundles in stages)
    return {
        "messages": messages.source.size,
        "bytes": own,
        "stages": len(stages),
        "bundles": sum(bundles.source.size for bundles in stages),
        "volume": sent / own if own else 1.0,
        "staging_bytes": max(
            (int(held.max()) for held in _held(document, _cut(document))), default=0
        ),
    }


def _check_presence(document: ProgramDocument) -> Iterator[Violation]:
    """Rule `program-stage`: all stages forward, once each, or none does."""
    in_blocks = document.blocks is not None
    forwards = in_blocks or document.messages is not None
    if forwards and len(document.stages) > MAX_STAGES:
        yield Violation(
            None,
            None,
            "program-stage",
            f"{len(document.stages)} stages forward, at most {MAX_STAGES}",
        )
    for k, stage in enumerate(document.stages):
        where = f"stage {k} '{stage.name}'"
        if forwards != (in_blocks or stage.bundles is not None):
            text = (
                "has no bundles, the program has messages"
                if forwards
                else "has bundles, the program no messages"
            )
            yield Violation(None, None, "program-stage", f"{where}: {text}")
        if not forwards:
            continue
        if stage.repeat != 1 or stage.turns:
            yield Violation(
                None,
                None,
                "program-stage",
                f"{where}: forwards, must run once and not turn, repeat = {stage.repeat}",
            )
        if document.schedules[stage.schedule].before is not None:
            yield Violation(
                None, None, "program-stage", f"{where}: forwards, its schedule orders messages"
            )
    if document.staging_limit_B is not None and not forwards:
        yield Violation(
            None,
            None,
            "program-staging",
            f"staging_limit = {document.staging_limit_B}: the program has no messages "
            "that it forwards",
        )


def _check_messages(messages: MessagesDocument, document: ProgramDocument) -> Iterator[Violation]:
    """Rule `program-message`."""
    ranks = document.schedules[0].ranks
    if messages.ranks != ranks:
        yield Violation(
            None,
            None,
            "program-message",
            f"the messages are of {count_of(messages.ranks, 'rank')}, the schedules of {ranks}",
        )
    source, target, size = messages.source, messages.target, messages.size
    outside = (source < 0) | (source >= ranks) | (target < 0) | (target >= ranks)
    for wrong, rule in (
        (outside, f"ranks are 0 to {ranks - 1}"),
        (source == target, "joins a rank to itself"),
        (size <= 0, "must have more than 0 B"),
    ):
        for m in np.flatnonzero(wrong).tolist():
            yield Violation(
                None,
                None,
                "program-message",
                f"message {m} ({source[m]} → {target[m]}, {size[m]} B): {rule}",
            )
    total = exact_sum(size)
    if total > MAX_BYTES:
        yield Violation(
            None,
            None,
            "program-message",
            f"all messages together have {total} B, at most {MAX_BYTES} B",
        )


def _check_bundles(document: ProgramDocument) -> list[Violation]:
    """Rule `program-bundle`, as far as it is about ends and schedules."""
    texts: list[str] = []
    for k, stage in enumerate(document.stages):
        if stage.bundles is not None:
            texts += [
                f"stage {k}{text}"
                for text in _bundle_texts(stage.bundles, document.schedules[stage.schedule])
            ]
    return [Violation(None, None, "program-bundle", text) for text in texts]


def _bundle_texts(bundles: BundlesDocument, schedule: Document) -> Iterator[str]:
    source, target, size = bundles.source, bundles.target, bundles.size
    if source.size != schedule.source.size:
        yield (
            f": {count_of(source.size, 'bundle')}, its schedule sends "
            f"{count_of(schedule.source.size, 'message')}"
        )
        return
    other = (source != schedule.source) | (target != schedule.target) | (size != schedule.size)
    for b in np.flatnonzero(other).tolist():
        sent = f"{schedule.source[b]} → {schedule.target[b]} with {schedule.size[b]} B"
        yield f"{_named(bundles, b)}: has {size[b]} B, message {b} of its schedule goes {sent}"
    order = np.lexsort((target, source))
    twice = (np.diff(source[order]) == 0) & (np.diff(target[order]) == 0)
    for b in order[1:][twice].tolist():
        yield f"{_named(bundles, b)}: is not the only one of the stage between these ranks"
    held = np.diff(bundles.offsets)
    for b in np.flatnonzero(held == 0).tolist():
        yield f"{_named(bundles, b)}: holds no part"
    if schedule.packed is None:  # said by the bundles alone
        return
    packed = np.isin(np.arange(source.size), schedule.packed)
    for b in np.flatnonzero(packed != (held > 1)).tolist():
        said = "packed" if packed[b] else "not packed"
        yield (
            f"{_named(bundles, b)}: holds {count_of(int(held[b]), 'part')}, its schedule "
            f"says it is {said}"
        )


def _named(bundles: BundlesDocument, b: int) -> str:
    """` bundle 3 (0 → 5)`."""
    return f" bundle {b} ({bundles.source[b]} → {bundles.target[b]})"


def _check_parts(document: ProgramDocument) -> Iterator[Violation]:
    """Rule `program-part`, and of `program-bundle` that parts add up."""
    for k, stage in enumerate(document.stages):
        if document.messages is None or stage.bundles is None:
            continue
        found = [*_check_ranges(k, stage.bundles, document.messages)]
        found = found or [*_check_twice(k, stage.bundles)] or [*_check_sums(k, stage.bundles)]
        yield from found


def _check_ranges(
    k: int, bundles: BundlesDocument, messages: MessagesDocument
) -> Iterator[Violation]:
    count, own = messages.size.size, bundles.message
    exists = (own >= 0) & (own < count)
    sizes = np.append(messages.size, 0)[np.where(exists, own, -1)]
    sound = exists & (bundles.first >= 0) & (bundles.first <= bundles.last) & (bundles.last < sizes)
    for i in np.flatnonzero(~sound).tolist():
        has = f"which has {sizes[i]} B" if exists[i] else f"messages are 0 to {count - 1}"
        yield Violation(None, None, "program-part", f"stage {k}{_part(bundles, i)}, {has}")


def _check_sums(k: int, bundles: BundlesDocument) -> Iterator[Violation]:
    """Check the sizes of bundles in which no byte occurs twice: sums stay within 64 bits."""
    held = _sums(bundles)
    for b in np.flatnonzero(held != bundles.size).tolist():
        text = f"stage {k}{_named(bundles, b)}: has {bundles.size[b]} B, its parts {held[b]} B"
        yield Violation(None, None, "program-bundle", text)


def _check_twice(k: int, bundles: BundlesDocument) -> Iterator[Violation]:
    order = np.lexsort((bundles.first, bundles.message))
    message, first, last = (
        column[order] for column in (bundles.message, bundles.first, bundles.last)
    )
    overlap = (message[1:] == message[:-1]) & (first[1:] <= last[:-1])
    for i in order[1:][overlap].tolist():
        yield Violation(
            None,
            None,
            "program-part",
            f"stage {k}{_part(bundles, i)}, of which the stage sends some in another part too",
        )


def _sums(bundles: BundlesDocument) -> Ints:
    """shape=(bundles): the bytes of the parts of each."""
    upto = np.concatenate([[0], np.cumsum(bundles.last.astype(np.int64) - bundles.first + 1)])
    return np.diff(upto[bundles.offsets])


def _part(bundles: BundlesDocument, i: int) -> str:
    """` bundle 3 (0 → 5): bytes 0 to 63 of message 7`."""
    b = int(np.searchsorted(bundles.offsets, i, side="right")) - 1
    return (
        f"{_named(bundles, b)}: bytes {bundles.first[i]} to {bundles.last[i]} of message "
        f"{bundles.message[i]}"
    )


def _cut(document: ProgramDocument) -> _Pieces:
    """The messages in pieces."""
    messages, stages = (
        document.messages,
        [stage.bundles for stage in document.stages if stage.bundles is not None],
    )
    assert messages is not None  # the caller looked
    every = np.arange(messages.size.size)
    if not any(b.first.any() or (b.last + 1 != messages.size[b.message]).any() for b in stages):
        whole = tuple((b.message.astype(np.int64), b.message.astype(np.int64) + 1) for b in stages)
        return _Pieces(every, messages.size.astype(np.int64), whole)
    owner = [every, every, *(column for b in stages for column in (b.message, b.message))]
    where = [
        np.zeros_like(every),
        messages.size,
        *(column for b in stages for column in (b.first, b.last + 1)),
    ]
    message, byte = np.concatenate(owner).astype(np.int64), np.concatenate(where).astype(np.int64)
    order = np.lexsort((byte, message))
    ordered = np.stack((message[order], byte[order]))
    fresh = np.ones(order.size, bool)
    fresh[1:] = (np.diff(ordered, axis=1) != 0).any(axis=0)
    cuts = ordered[:, fresh]
    # the last cut of a message begins no piece; a cut's piece is its number less those last ones
    # before it
    begins = np.append(cuts[0, 1:] == cuts[0, :-1], False)[: cuts.shape[1]]
    piece_of_cut = np.cumsum(begins) - begins
    piece = np.empty(order.size, np.int64)
    piece[order] = piece_of_cut[np.cumsum(fresh) - 1]
    size = (np.append(cuts[1, 1:], 0)[: cuts.shape[1]] - cuts[1])[begins]
    spans, at = [], 2 * every.size
    for bundles in stages:
        count = bundles.message.size
        spans.append((piece[at : at + count], piece[at + count : at + 2 * count]))
        at += 2 * count
    return _Pieces(cuts[0, begins], size, tuple(spans))


def _steps(
    document: ProgramDocument, pieces: _Pieces
) -> Iterator[tuple[BundlesDocument, Ints, Ints]]:
    """For each stage (bundles, pieces that it sends, the part that each belongs to)."""
    stages = [stage.bundles for stage in document.stages if stage.bundles is not None]
    for bundles, (low, high) in zip(stages, pieces.spans, strict=True):
        part = np.repeat(np.arange(low.size), high - low)
        inside = np.arange(part.size) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        yield bundles, low[part] + inside, part


def _check_replay(document: ProgramDocument) -> list[Violation]:
    """Rules `program-path`, `program-delivery` and `program-staging`."""
    messages, pieces = document.messages, _cut(document)
    assert messages is not None  # the caller looked
    found: list[Violation] = []
    at = messages.source[pieces.message].astype(np.int64)
    for k, (bundles, sent, part) in enumerate(_steps(document, pieces)):
        bundle = np.repeat(np.arange(bundles.source.size), np.diff(bundles.offsets))[part]
        found += _check_path(k, bundles, part, at[sent], bundles.source[bundle])
        at[sent] = bundles.target[bundle]
    found += _check_delivery(messages, pieces, at)
    return found or _check_staging(document, _held(document, pieces))


def _check_path(
    k: int, bundles: BundlesDocument, part: Ints, at: Ints, sender: Ints32 | Ints
) -> list[Violation]:
    """Rule `program-path` in a stage, for pieces of these parts that are at these ranks."""
    wrong = at != sender
    parts, places = np.unique(part[wrong], return_index=True)
    return [
        Violation(
            None,
            None,
            "program-path",
            f"stage {k}{_part(bundles, i)}, which rank {holder} holds before it",
        )
        for i, holder in zip(parts.tolist(), at[wrong][places].tolist(), strict=True)
    ]


def _check_delivery(messages: MessagesDocument, pieces: _Pieces, at: Ints) -> list[Violation]:
    """Rule `program-delivery`, for pieces that are at these ranks in the end."""
    lost = at != messages.target[pieces.message]
    ids, places = np.unique(pieces.message[lost], return_index=True)
    return [
        Violation(
            None,
            None,
            "program-delivery",
            f"message {m}: ends at rank {rank}, its target is rank {messages.target[m]}",
        )
        for m, rank in zip(ids.tolist(), at[lost][places].tolist(), strict=True)
    ]


def _check_staging(document: ProgramDocument, stages: Iterable[Ints]) -> list[Violation]:
    limit = document.staging_limit_B
    if limit is None:
        return []
    texts = [f"staging_limit = {limit}: must be at least 0 B"] if limit < 0 else []
    texts += [
        f"between stages {k} and {k + 1}: rank {r} holds {held[r]} B for others, at most {limit} B"
        for k, held in enumerate(stages)
        for r in np.flatnonzero(held > limit).tolist()
    ]
    return [Violation(None, None, "program-staging", text) for text in texts]


def _held(document: ProgramDocument, pieces: _Pieces) -> Iterator[Ints]:
    """shape=(ranks) [B], between each two stages.

    What ranks hold that they neither sent first nor are to get.
    """
    messages = document.messages
    assert messages is not None  # the caller looked
    source, target = messages.source[pieces.message], messages.target[pieces.message]
    at = source.astype(np.int64)
    for bundles, sent, part in list(_steps(document, pieces))[:-1]:
        at[sent] = bundles.target[
            np.repeat(np.arange(bundles.source.size), np.diff(bundles.offsets))[part]
        ]
        relayed = (at != source) & (at != target)
        order = np.argsort(at[relayed], kind="stable")
        ranks, size = at[relayed][order], pieces.size[relayed][order]
        sums = np.concatenate([[0], np.cumsum(size)])
        yield np.diff(sums[np.searchsorted(ranks, np.arange(messages.ranks + 1))])
