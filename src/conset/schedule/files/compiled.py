"""Schedules and programs as files and back: the nouns of documents, and the documents of nouns.

A file says which bytes travel together; a program knows where each part is before every stage.
Bytes that no bundle parts from one another are one part, so the files of programs whose paths have
such parts say the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import (
    Array,
    Bools,
    Floats,
    InputError,
    Ints,
    Ints32,
    UsageError,
    frozen_ints,
    require_replaceable,
)
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.machine.network.routes import stops_of_links
from conset.pattern.pattern import Pattern
from conset.schedule.document import (
    AnyDocument,
    BundlesDocument,
    Document,
    IntArray,
    MessagesDocument,
    ProgramDocument,
    StageDocument,
    document_from,
    final_name,
    machine_of,
)
from conset.schedule.files.arrays import check_within
from conset.schedule.files.documents import check_suffix, named, read_document, write_document
from conset.schedule.loads import chosen_links, figures
from conset.schedule.paths import MAX_STAGES, Bundles, Paths
from conset.schedule.policy import check_in_flight
from conset.schedule.program import Program, Stage
from conset.schedule.schedule import Manifest, Schedule, as_routes


def to_schedule(document: Document) -> Schedule:
    """The schedule a sound document describes.

    Messages are renumbered where the file lists them in another order.

    Raises:
        InputError: the machine cannot be built, or the document is no schedule of its pattern.
    """
    machine = machine_of(document)
    try:
        limits = Limits(**document.limits)
    except UsageError as error:
        raise InputError(f"limits: {error}") from None
    _check_placement(document, machine)
    _check_rows(document)
    pattern, index = pattern_of(document, document.before)
    message = document.transfer_message if index is None else index[document.transfer_message]
    whole = bool((document.transfer_size == document.size[document.transfer_message]).all())
    return Schedule(
        pattern,
        machine,
        document.method,
        limits,
        frozen_ints(document.phase_offsets, np.int64, "phase_offsets"),
        frozen_ints(message, np.int32, "message"),
        parts=None if whole else frozen_ints(document.transfer_size, np.int64, "transfer_size"),
        placement=_whole(document.placement, np.int32, "placement"),
        **_routes(document, machine),
        channels=_whole(document.channels, np.int32, "channels"),
        timetable=document.timetable,
        sync=document.sync,
        limits_asked=document.limits_asked,
        manifest=Manifest(**document.manifest),
        in_flight=None if document.in_flight is None else check_in_flight(document.in_flight),
        posting=document.posting,
        min_bandwidth_Bps=_demands(document, "min_bandwidth_Bps", "rates", index),
        max_latency_s=_demands(document, "max_latency_s", "times", index),
        modelled=document.modelled,
    )


def _routes(document: Document, machine: Machine) -> dict[str, Any]:
    """What a schedule has of the routes in a file, which gives their nodes or their links."""
    offsets = _whole(document.route_offsets, np.int64, "route_offsets")
    links = _whole(document.route_links, np.int32, "route_links")
    if offsets is None or links is None:
        return as_routes(offsets, _whole(document.route_nodes, np.int32, "route_nodes"))
    source = frozen_ints(document.transfer_source, np.int32, "transfer_source")
    if document.placement is not None:
        source = frozen_ints(document.placement[source], np.int32, "placement")
    return as_routes(*stops_of_links(machine.topology, offsets, links, source))


def _demands(document: Document, name: str, what: str, index: Ints32 | None) -> Floats | None:
    """What the messages of the pattern are guaranteed, None in a list being infinite.

    `index` as of `_pattern_of`.
    """
    stated, messages = getattr(document, name), document.source.size
    if stated is None:
        return None
    if not isinstance(stated, list):
        return np.full(messages, float(stated))
    if len(stated) != messages:
        raise InputError(f"{name}: {messages} {what} required, given {len(stated)}")
    given = np.array([np.inf if value is None else value for value in stated], np.float64)
    result = given.copy()
    result[slice(None) if index is None else index] = given
    return result


def _whole(values: IntArray | None, dtype: type[np.signedinteger[Any]], name: str) -> Array | None:
    """A column that may be missing, in the type of its noun."""
    return None if values is None else frozen_ints(values, dtype, name)


def _check_rows(document: Document) -> None:
    """Every row is of a message and joins its ranks.

    All the rest is for the nouns and for `verify`.
    """
    message, messages = document.transfer_message, document.source.size
    if message.size and (message.min() < 0 or message.max() >= messages):
        raise InputError(
            f"a transfer's message must be from 0 to {messages - 1}, one is {message.min()} or "
            f"{message.max()}"
        )
    wrong = document.source[message] != document.transfer_source
    wrong |= document.target[message] != document.transfer_target
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        phase = int(np.searchsorted(document.phase_offsets, k, side="right")) - 1
        own = f"{document.transfer_source[k]} → {document.transfer_target[k]}"
        m = int(message[k])
        raise InputError(
            f"phase {phase} transfer {k - document.phase_offsets[phase]}: goes {own}, "
            f"its message {m} is {document.source[m]} → {document.target[m]}"
        )


def _check_placement(document: Document, machine: Machine) -> None:
    endpoints, place = machine.topology.endpoints, document.placement
    if place is None and document.ranks > endpoints:
        raise InputError(
            f"{document.ranks} ranks without a placement on the {endpoints} nodes of {machine.name}"
        )
    if place is not None and (
        place.size != document.ranks or place.min() < 0 or place.max() >= endpoints
    ):
        raise InputError(f"placement: {document.ranks} nodes from 0 to {endpoints - 1} required")


def pattern_of(
    document: Document | MessagesDocument, before: IntArray | None = None
) -> tuple[Pattern, Ints32 | None]:
    """The pattern, and the index in it of each message of the file where the two differ.

    Raises:
        InputError: it is none.
    """
    source = frozen_ints(document.source, np.int32, "source")
    wrong = np.flatnonzero((source < 0) | (source >= document.ranks))
    if wrong.size:
        raise InputError(
            f"source[{wrong[0]}] = {source[wrong[0]]}: must be a rank from 0 to "
            f"{document.ranks - 1}"
        )
    target, size, index = document.target, document.size, None
    ids = getattr(document, "ids", None)
    if np.any(np.diff(source) < 0):
        order = np.argsort(source, kind="stable")
        index = np.empty(order.size, np.int32)
        index[order] = np.arange(order.size, dtype=np.int32)
        target, size = target[order], size[order]
        before = None if before is None else index[before]
        ids = ids if ids is None or ids.size != order.size else ids[order]
    if size.size and (size == size[0]).all():
        size = np.broadcast_to(size[0], size.shape)
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(source, minlength=document.ranks))]
    ).astype(np.int64)
    checked = frozen_ints(target, np.int32, "target"), frozen_ints(size, np.int64, "size")
    pairs = _whole(before, np.int32, "before")
    packed = _packed_of(document, index)
    name = document.pattern_name if isinstance(document, Document) else document.name
    pattern = Pattern(
        document.ranks, offsets, *checked, before=pairs, name=name, packed=packed, ids=ids
    )
    return pattern, index


def _packed_of(document: Document | MessagesDocument, index: Ints32 | None) -> Bools | None:
    """shape=(messages): whether each message of the pattern is packed.

    `index` as of `_pattern_of`.
    """
    if not isinstance(document, Document) or document.packed is None:
        return None
    check_within("packed", document.packed, 0, document.source.size, ": a message")
    flags = np.zeros(document.source.size, np.bool_)
    flags[document.packed if index is None else index[document.packed]] = True
    return flags


MAX_PARTS = 2**24
"""Parts of messages, times stages, that a document writes out: some 20 bytes each."""


def document_of(what: Schedule | Program, *, in_blocks: bool = False) -> AnyDocument:
    """The contents of the file of a schedule or a program; arrays are shared where possible.

    Args:
        what: the schedule or program.
        in_blocks: whether it has `blocks` instead of all parts, which can be verified, not written;
            of a program whose paths follow from a box, of others it has the parts all the same.

    Raises:
        InputError: more than `MAX_PARTS` parts to write out.
    """
    if isinstance(what, Schedule):
        return document_from(what, figures(what))
    paths = what.paths
    blocks = paths.blocks if in_blocks and paths is not None and paths.box is not None else None
    if paths is not None and blocks is None and paths.parts * paths.stages > MAX_PARTS:
        raise InputError(
            f"a program of {paths.stages} stages for {paths.parts:,} messages is not written: "
            f"messages times stages are at most {MAX_PARTS:,}"
        )
    stages = tuple(
        StageDocument(
            stage.name,
            stage.repeat,
            stage.schedule,
            stage.turns,
            None if paths is None or blocks is not None else _bundles_of(paths, k),
        )
        for k, stage in enumerate(what.stages)
    )
    messages = None
    if paths is not None and blocks is None:
        own = paths.pattern
        messages = MessagesDocument(
            own.ranks, own.source, own.target, own.size, final_name(own.name)
        )
    return ProgramDocument(
        what.machine.to_spec(),
        stages,
        what.contexts,
        tuple(document_from(each, figures(each)) for each in what.schedules),
        what.figures(),
        what.manifest.to_object(),
        what.sync,
        messages,
        what.staging_limit_B,
        blocks,
    )


def from_document(document: AnyDocument) -> Schedule | Program:
    """The schedule or program of a sound document; `conset verify` names the faults of others.

    Raises:
        InputError: it is none, or its machine cannot be built.
    """
    return to_schedule(document) if isinstance(document, Document) else to_program(document)


def require_writable(path: str | Path, *, program: bool = False) -> None:
    """Checks before a long compile that the result can be written to `path` after it.

    Raises:
        UsageError: the suffix is not one of a schedule's file, or of a program's.
        InputError: the folder is missing, or `path` is a directory.
    """
    path = Path(path)
    check_suffix(path, program)
    require_replaceable(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")


def write_compiled(what: Schedule | Program | AnyDocument, path: str | Path) -> None:
    """Writes a schedule (`.json` or `.npz`) or a program (`.json`), whole or not at all.

    A document is written as it is, true or not.

    Raises:
        UsageError: another suffix.
        InputError: the folder is missing or not writable.
    """
    path = Path(path)
    check_suffix(path, isinstance(what, Program | ProgramDocument))
    write_document(document_of(what) if isinstance(what, Schedule | Program) else what, path)


def read_compiled(path: str | Path) -> Schedule | Program:
    """The schedule or program in a file.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: no such file, or its contents are neither; names the file.
    """
    document = read_document(path)
    try:
        found = from_document(document)
        if isinstance(found, Schedule):
            chosen_links(found)  # else what follows the routes fails, without the name of the file
        return found
    except InputError as error:
        raise named(error, path) from None


def to_program(document: ProgramDocument) -> Program:
    """The program of a sound document; `conset verify` reports what is wrong with another.

    Raises:
        InputError: it has no schedule, an index is out of range, a schedule is none, or bundles are
            no paths.
    """
    schedules = [to_schedule(schedule) for schedule in document.schedules]
    if not schedules:
        raise InputError("a program needs a schedule, given none")
    stages = tuple(Stage(b.name, b.repeat, b.schedule, b.turns) for b in document.stages)
    paths = _paths(document)
    for k, stage in enumerate(stages if paths is not None else ()):
        if paths is not None and 0 <= stage.schedule < len(schedules):
            schedules[stage.schedule] = _of_bundles(schedules[stage.schedule], paths.bundles(k))
    return Program(
        schedules[0].machine,
        stages,
        tuple(schedules),
        document.contexts,
        paths,
        document.sync,
        Manifest(**document.manifest),
        staging_limit_B=document.staging_limit_B,
    )


def _paths(document: ProgramDocument) -> Paths | None:
    bundles = [stage.bundles for stage in document.stages if stage.bundles is not None]
    if document.messages is None:
        if bundles:
            raise InputError(
                "stages have bundles, the messages that they carry are missing: key 'messages'"
            )
        return None
    for k, stage in enumerate(document.stages):
        if stage.bundles is None:
            raise InputError(f"stages[{k}]: key 'bundles' is missing, the program has 'messages'")
    ranks = document.schedules[0].ranks
    if document.messages.ranks != ranks:
        raise InputError(f"messages.ranks = {document.messages.ranks}: the schedules have {ranks}")
    if len(bundles) > MAX_STAGES:
        raise InputError(f"stages: {len(bundles)} that forward, at most {MAX_STAGES}")
    return _paths_of(document.messages, bundles)


def _of_bundles(schedule: Schedule, bundles: Bundles) -> Schedule:
    """The schedule with its messages in the order of bundles.

    Packed are those of several parts, where it says none.
    """
    pattern = schedule.pattern
    order = np.lexsort((pattern.target, pattern.source))
    message, rates, times = schedule.message, schedule.min_bandwidth_Bps, schedule.max_latency_s
    if (np.diff(order) < 0).any() and pattern.before is None:
        index = np.empty(order.size, np.int32)
        index[order] = np.arange(order.size, dtype=np.int32)
        message = index[message]
        rates, times = (None if demands is None else demands[order] for demands in (rates, times))
        packed = None if pattern.packed is None else pattern.packed[order]
        pattern = replace(
            pattern, target=pattern.target[order], size=pattern.size[order], packed=packed, ids=None
        )
    if pattern.packed is None and pattern.messages == bundles.bundles:
        pattern = replace(pattern, packed=bundles.pattern.packed)
    return replace(
        schedule, pattern=pattern, message=message, min_bandwidth_Bps=rates, max_latency_s=times
    )


def _bundles_of(paths: Paths, stage: int) -> BundlesDocument:
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


def _paths_of(messages: MessagesDocument, stages: Sequence[BundlesDocument]) -> Paths:
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
    stage: int, bundles: BundlesDocument, pattern: Pattern, index: Ints32 | None
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


def _moved(at: Ints32, stage: int, bundles: BundlesDocument, begin: Ints, end: Ints) -> Ints32:
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
