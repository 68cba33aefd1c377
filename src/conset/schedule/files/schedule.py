"""Schedule files: `.json` for people, `.npz` for size.

Both say the same and are the same bytes for the same input.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from conset.base.arrays import frozen_ints
from conset.base.errors import ConsetError, InputError, UsageError
from conset.base.files import replacing, require_file, require_replaceable
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.document import Document, IntArray, MessagesDocument, document_from, machine_of
from conset.schedule.files.arrays import check_within
from conset.schedule.files.schedule_forms import read_json, read_npz, write_json, write_npz
from conset.schedule.files.sniff import require_form
from conset.schedule.manifest import Manifest
from conset.schedule.posting import check_in_flight
from conset.schedule.schedule import Schedule

_WRITERS: dict[str, Callable[[Document, IO[bytes]], None]] = {
    ".json": write_json,
    ".npz": write_npz,
}
_READERS: dict[str, Callable[[Path], Document]] = {".json": read_json, ".npz": read_npz}


def document_of(schedule: Schedule) -> Document:
    """What the file of `schedule` says, its figures counted.

    Arrays are shared, not copied, where they can.
    """
    from conset.schedule.loads import figures

    return document_from(schedule, figures(schedule))


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Writes `path` (`.json` or `.npz`), whole or not at all.

    Raises:
        UsageError: another suffix.
        InputError: the folder is missing or not writable.
    """
    path = Path(path)
    _form(path, _WRITERS)
    write_document(document_of(schedule), path)


def require_writable(path: str | Path) -> None:
    """Checks before a long compile that `path` can be written after it.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: the folder is missing, or `path` is a directory.
    """
    path = Path(path)
    _form(path, _WRITERS)
    require_replaceable(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist")


def write_document(document: Document, path: str | Path) -> None:
    """Writes what `document` says, true or not, to `path` (`.json` or `.npz`).

    Raises as `write_schedule`.
    """
    path = Path(path)
    write = _form(path, _WRITERS)
    with replacing(path) as temporary, temporary.open("wb") as file:
        write(document, file)


def read_document(path: str | Path) -> Document:
    """What a schedule file says; its structure alone is checked.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: no file, or none of this form; names the file and the place.
    """
    path = require_file(path)
    require_form(path, "schedule")
    read = _form(path, _READERS)
    try:
        document: Document = read(path)
    except InputError as error:
        raise named(error, path) from None
    return document


def read_schedule(path: str | Path) -> Schedule:
    """The schedule in a file.

    Raises:
        UsageError: the suffix is neither `.json` nor `.npz`.
        InputError: not a schedule file, or what it says is no schedule (`conset verify` reports all
            that is wrong).
    """
    from conset.schedule.loads import chosen_links

    try:
        schedule = to_schedule(read_document(path))
        chosen_links(
            schedule
        )  # else whoever follows its routes trips over them, and does not know the file
        return schedule
    except InputError as error:
        raise named(error, path) from None


def named(error: ConsetError, path: str | Path) -> InputError:
    """An error of a file's contents, that begins with the file."""
    text = str(error)
    return InputError(text if text.startswith(str(path)) else f"{path}: {text}")


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
        _int64(document.phase_offsets, "phase_offsets"),
        _int32(message, "message"),
        parts=None if whole else _int64(document.transfer_size, "transfer_size"),
        placement=None if document.placement is None else _int32(document.placement, "placement"),
        route_offsets=None
        if document.route_offsets is None
        else _int64(document.route_offsets, "route_offsets"),
        route_nodes=None
        if document.route_nodes is None
        else _int32(document.route_nodes, "route_nodes"),
        channels=None if document.channels is None else _int32(document.channels, "channels"),
        timetable=document.timetable,
        sync=document.sync,
        limits_asked=document.limits_asked,
        manifest=Manifest(**document.manifest),
        in_flight=None if document.in_flight is None else check_in_flight(document.in_flight),
        posting=document.posting,
        min_bandwidth_Bps=_demands(document, "min_bandwidth_Bps", "rates", index),
        max_latency_s=_demands(document, "max_latency_s", "times", index),
    )


def _demands(
    document: Document, name: str, what: str, index: NDArray[np.int32] | None
) -> NDArray[np.float64] | None:
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


def _int32(values: IntArray, what: str) -> NDArray[np.int32]:
    return frozen_ints(values, np.int32, what)


def _int64(values: IntArray, what: str) -> NDArray[np.int64]:
    return frozen_ints(values, np.int64, what)


def _form(path: Path, forms: dict[str, Any]) -> Any:
    if path.suffix not in forms:
        raise UsageError(f"{path}: a schedule file ends in .json or .npz, not in '{path.suffix}'")
    return forms[path.suffix]


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
) -> tuple[Pattern, NDArray[np.int32] | None]:
    """The pattern, and the index in it of each message of the file where the two differ.

    Raises:
        InputError: it is none.
    """
    source = _int32(document.source, "source")
    wrong = np.flatnonzero((source < 0) | (source >= document.ranks))
    if wrong.size:
        raise InputError(
            f"source[{wrong[0]}] = {source[wrong[0]]}: must be a rank from 0 to "
            f"{document.ranks - 1}"
        )
    target, size, index = document.target, document.size, None
    if np.any(np.diff(source) < 0):
        order = np.argsort(source, kind="stable")
        index = np.empty(order.size, np.int32)
        index[order] = np.arange(order.size, dtype=np.int32)
        target, size = target[order], size[order]
        before = None if before is None else index[before]
    if size.size and (size == size[0]).all():
        size = np.broadcast_to(size[0], size.shape)
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(source, minlength=document.ranks))]
    ).astype(np.int64)
    checked = _int32(target, "target"), _int64(size, "size")
    pairs = None if before is None else _int32(before, "before")
    packed = _packed_of(document, index)
    name = document.pattern_name if isinstance(document, Document) else document.name
    return Pattern(document.ranks, offsets, *checked, before=pairs, name=name, packed=packed), index


def _packed_of(
    document: Document | MessagesDocument, index: NDArray[np.int32] | None
) -> NDArray[np.bool_] | None:
    """shape=(messages): whether each message of the pattern is packed.

    `index` as of `_pattern_of`.
    """
    if not isinstance(document, Document) or document.packed is None:
        return None
    check_within("packed", document.packed, 0, document.source.size, ": a message")
    flags = np.zeros(document.source.size, np.bool_)
    flags[document.packed if index is None else index[document.packed]] = True
    return flags
