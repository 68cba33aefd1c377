"""The `.npz` form of a schedule: a JSON header beside flat arrays, the same bytes every time.

`header` is a text of the object without its long lists; `source`, `target` and `size` are the messages' columns,
`transfer_…` the transfers', `phase_offsets[p] … phase_offsets[p + 1] - 1` the transfers of phase p. `before`,
`placement`, `route_offsets` with `route_nodes` (and `channels`), and `timetable` are there only where the JSON form
is not null.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from conset.archives import read_archive, write_archive
from conset.errors import InputError
from conset.formats.columns import check_length, check_rising
from conset.formats.json_text import header_entry, parse_header
from conset.formats.schedule_json import optional_keys
from conset.formats.sniff import SCHEDULE
from conset.schedule.document import Document

if TYPE_CHECKING:
    from conset.formats.models import ScheduleEntries

_HEADER = ("schema", "machine", "method", "sync", "limits", "limits_asked", "ranks", "figures", "manifest")
_ALWAYS = (
    "source", "target", "size", "phase_offsets",
    "transfer_source", "transfer_target", "transfer_size", "transfer_message",
)  # fmt: skip
_SOMETIMES = ("before", "placement", "route_offsets", "route_nodes", "channels", "timetable")


def write_npz(document: Document, file: IO[bytes]) -> None:
    """Writes the archive; see `conset.archives.write_archive`."""
    write_archive(file, _entries(document))


def _entries(document: Document) -> Iterator[tuple[str, NDArray[Any]]]:
    head = {key: SCHEDULE if key == "schema" else getattr(document, key) for key in _HEADER}
    head |= {"pattern_name": document.pattern_name, **optional_keys(document)}
    yield "header", header_entry(head)
    for name in (*_ALWAYS, *_SOMETIMES):
        values = getattr(document, name)
        if values is not None:
            yield name, values if name == "timetable" else _narrow(values)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """int32 where all values fit, so that a file does not depend on how the arrays were held."""
    if values.dtype == np.int32:
        return values
    info = np.iinfo(np.int32)
    if values.size and (values.min() < info.min or values.max() > info.max):
        return values
    if values.strides == (0,) and values.size:
        return np.broadcast_to(values[:1].astype(np.int32)[0], values.shape)
    return values.astype(np.int32)


def read_npz(path: Path) -> Document:
    """What the file says.

    Raises:
        InputError: no archive, a truncated one, or not of this structure; names the entry.
    """
    from conset.formats.models import ScheduleEntries, ScheduleHeader
    from conset.formats.validate import checked

    entries = checked(ScheduleEntries, read_archive(path))
    found = parse_header({"header": entries.header})
    head = checked(ScheduleHeader, found)
    _check_sizes(entries)
    fields: dict[str, Any] = {key: found[key] for key in _HEADER if key != "schema"}
    fields |= {name: getattr(entries, name) for name in (*_ALWAYS, *_SOMETIMES)}
    return Document(**fields, pattern_name=head.pattern_name, **head.optional())


def _check_sizes(entries: ScheduleEntries) -> None:
    """Columns agree in length, offsets rise to what they cut."""
    messages, transfers = entries.source.size, entries.transfer_source.size
    for name in ("target", "size"):
        check_length(name, getattr(entries, name), messages)
    for name in ("transfer_target", "transfer_size", "transfer_message", "timetable"):
        check_length(name, getattr(entries, name), transfers)
    check_rising("phase_offsets", entries.phase_offsets, transfers)
    if (entries.route_offsets is None) != (entries.route_nodes is None):
        raise InputError("entries 'route_offsets' and 'route_nodes' go together")
    if entries.route_offsets is not None:
        check_length("route_offsets", entries.route_offsets, transfers + 1)
        check_rising("route_offsets", entries.route_offsets, entries.route_nodes.size)
    if entries.channels is not None and entries.route_nodes is None:
        raise InputError("entry 'channels': one value for each of 'route_nodes' required, which is missing")
    if entries.channels is not None:
        check_length("channels", entries.channels, entries.route_nodes.size)
