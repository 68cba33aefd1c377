"""Timeline files: `.json` for people, `.npz` for size; what `conset simulate -o` writes and `conset show` draws.

A file holds what happened, what was played, on which machine and how it was executed, so that it can be drawn and
checked alone. The `.npz` form is a JSON header beside one array per column, the same bytes every time. Times of the
machine that simulated and paths stay out of it. Of every message its times are kept, as far as the model says them:
slot, send overhead paid, first byte, last byte, delivery; and every change of a rate up to `MOST_CHANGES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.archives import read_archive, read_member
from conset.arrays import frozen_ints, write_archive
from conset.errors import ConsetError, InputError, UsageError
from conset.files import is_file, replacing, require_file
from conset.machine.machine import Machine
from conset.machine.record import machine_of_record
from conset.machine.settings import with_settings
from conset.schedule.json_form import parse_text
from conset.schedule.manifest import Manifest
from conset.schedule.sync import parse_sync
from conset.simulation.file_check import FLOATS, RATES, TIMES, check_fits, check_head, check_sizes
from conset.simulation.settings import Settings
from conset.simulation.timeline import Rates, Timeline
from conset.simulation.workload import Workload

SCHEMA = "conset/timeline@1"
SUFFIXES = (".json", ".npz")
MOST_CHANGES = 50_000
"""Changes of rates that a file keeps: 1 MB, 3 MB as text."""
MOST_RECORDED = {"flow": 5_000, "wormhole": 100_000, "circuit": 100_000}
"""Messages up to which a model's rates are worth recording: every event of `flow` may change all of them."""
STOPS = ("record", "until_s", "max_work")
"""Settings that say what is kept and when a simulation gives up, not how it is executed."""
HEADER = ("model", "sync", "in_flight", "machine", "mean_latency_s", "events", "figures")
MESSAGES = ("source", "target", "bytes", "time_s", "phase_offsets")
"""Columns that say what was played."""
EXTRAS = ("sender", "receiver", "order", "dep_offsets", "deps", "link_offsets", "links")
"""Columns of a workload that are left out where they say nothing."""
RESULTS = (
    "start_s", "end_s", "phase_end_s", "link_bytes", "link_busy_s", "out_bytes", "out_busy_s", "in_bytes", "in_busy_s",
    "held_by",
)  # fmt: skip
_UNREADABLE = (
    AttributeError, IndexError, InputError, KeyError, OSError, OverflowError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What reading a file that somebody cut or edited may raise."""
_NEAR = 4096
"""Characters in which a file must have said what it is."""
INT32 = ("source", "target", "sender", "receiver", "order", "deps", "links", "held_by", "rate_message")


@dataclass(frozen=True)
class Record:
    """What a timeline file holds.

    Attributes:
        timeline: what happened; its workload is what was played.
        machine: on what; None in files that only name it.
        settings: how; None likewise.
        manifest: how the file was made.
    """

    timeline: Timeline
    machine: Machine | None = None
    settings: Settings | None = None
    manifest: Manifest = field(default_factory=Manifest)


def check_timeline_path(path: Path) -> None:
    """Whether the suffix is one of a timeline file.

    Raises:
        UsageError: it is not.
    """
    if path.suffix not in SUFFIXES:
        raise UsageError(f"-o {path}: a timeline's suffix must be {' or '.join(SUFFIXES)}, is '{path.suffix}'")


def worth_recording(model: str, messages: int) -> bool:
    """Whether a model's rates fit into memory and are worth it for a file or a picture."""
    return messages <= MOST_RECORDED.get(model, 0)


def write_timeline(
    timeline: Timeline,
    path: str | Path,
    manifest: Manifest | None = None,
    *,
    machine: Machine | None = None,
    changed: str | None = None,
    settings: Settings | None = None,
) -> None:
    """Writes a timeline by its suffix, whole or not at all.

    Args:
        timeline: what happened.
        path: `.json` or `.npz`.
        manifest: how it was made.
        machine: on what; makes the file complete.
        changed: words of `--set` that `machine` was given; it has them already.
        settings: how.

    Raises:
        UsageError: another suffix.
        InputError: the path cannot be written.
    """
    path = Path(path)
    check_timeline_path(path)
    head = {"schema": SCHEMA, **{name: getattr(timeline, name) for name in HEADER}}
    head["figures"] = dict(timeline.figures)
    head["nodes"] = timeline.out_bytes.size
    if timeline.workload is not None:
        head |= {"name": timeline.workload.name, "method": timeline.workload.method}
    if machine is not None:
        head |= {"machine_spec": machine.to_spec(), "changed": changed}
    if settings is not None:
        head["settings"] = {name: value for name, value in asdict(settings).items() if name not in STOPS}
    head["manifest"] = (manifest or Manifest()).to_object()
    columns = _columns(timeline)
    with replacing(path) as temporary:
        if path.suffix == ".json":
            body = {**head, **{name: values.tolist() for name, values in columns.items()}}
            temporary.write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")
        else:
            header = np.array(json.dumps(head, ensure_ascii=False))
            write_archive(temporary, [("header", header), *columns.items()])


def _columns(timeline: Timeline) -> dict[str, NDArray[Any]]:
    columns = {name: getattr(timeline, name) for name in RESULTS}
    columns |= {name: getattr(timeline, name) for name in TIMES if getattr(timeline, name).size}
    work, rates = timeline.workload, timeline.rates
    if work is not None:
        columns |= {name: getattr(work, name) for name in MESSAGES}
        extras = {name: getattr(work, name) for name in EXTRAS if name != "dep_offsets" or work.deps.size}
        columns |= {name: values for name, values in extras.items() if values.size}
    if rates is not None and rates.time_s.size <= MOST_CHANGES:
        columns |= dict(zip(RATES, (rates.time_s, rates.message, rates.rate_Bps), strict=True))
    elif not timeline.first_byte_s.size and timeline.first_bytes().size:
        columns["first_byte_s"] = timeline.first_bytes()
    return columns


def read_timeline(path: str | Path) -> Timeline:
    """The timeline in a file, with the workload's columns where it has them; raises as `read_record`."""
    return read_record(path).timeline


def read_record(path: str | Path) -> Record:
    """All that a timeline file holds.

    Raises:
        InputError: missing, cut short, or of another structure; names the entry.
    """
    path = require_file(path)
    try:
        head, columns = _read_json(path) if path.suffix == ".json" else _read_npz(path)
        return _record(head, columns)
    except ConsetError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except _UNREADABLE as error:
        raise InputError(f"{path}: no readable timeline: {type(error).__name__}: {error}") from None


def is_timeline(path: str | Path) -> bool:
    """Whether a file says that it holds a timeline."""
    return schema_of(path) == SCHEMA


def schema_of(path: str | Path) -> str:
    """The schema that a file names near its beginning, or in its header; empty where it names none."""
    path = Path(path)
    try:
        if path.suffix == ".npz":
            header = read_member(path, "header")
            return "" if header is None else str(parse_text(str(header), constants=True).get("schema", ""))
        if path.suffix == ".json" and is_file(path):
            with path.open(encoding="utf-8") as text:
                found = re.search(r'"schema"\s*:\s*"([^"]*)"', text.read(_NEAR))
                return found[1] if found else ""
    except _UNREADABLE:
        pass
    return ""


def _read_json(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    body = parse_text(path.read_bytes(), constants=True)
    if not isinstance(body, dict):
        raise InputError("an object required")
    names = [name for name in (*RESULTS, *MESSAGES, *EXTRAS, *RATES, *TIMES) if name in body]
    return body, {name: np.asarray(body[name]) for name in names}


def _read_npz(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    columns = read_archive(path)
    if "header" not in columns:
        raise InputError("entry 'header' is missing")
    head = parse_text(str(columns.pop("header")), constants=True)
    if not isinstance(head, dict):
        raise InputError("entry 'header': an object required")
    return head, columns


def _record(head: Mapping[str, Any], columns: dict[str, NDArray[Any]]) -> Record:
    if head.get("schema") != SCHEMA:
        raise InputError(f"schema must be {SCHEMA}, is {head.get('schema')!r}")
    for name in (*HEADER, *RESULTS):
        if name not in head and name not in columns:
            raise InputError(f"entry '{name}' is missing")
    columns = {name: _column(name, values) for name, values in columns.items()}
    timeline = _timeline(head, columns)
    machine = None
    if "machine_spec" in head:
        machine = machine_of_record(head["machine_spec"])
        machine = machine if head["changed"] is None else with_settings(machine, head["changed"])
        check_fits(timeline, machine)
    settings = _settings(head["settings"]) if "settings" in head else None
    return Record(timeline, machine, settings, Manifest(**head["manifest"]) if "manifest" in head else Manifest())


def _column(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """A column as its numbers; what is no list of numbers, or no whole ones where those are due, is refused."""
    if values.ndim != 1:
        raise InputError(f"entry '{name}': a list of numbers required, given the shape {values.shape}")
    if name not in FLOATS:
        return frozen_ints(values, np.int32 if name in INT32 else np.int64, name)
    if values.size and values.dtype.kind not in "iuf":
        raise InputError(f"entry '{name}': numbers required, given {values.dtype}")
    return np.ascontiguousarray(values, np.float64) if values.size else np.zeros(0)


def _settings(words: Any) -> Settings:
    """How it was executed, every word of its kind and a policy that exists."""
    whole, text = (int, type(None)), (str, type(None))
    kinds: dict[str, tuple[type, ...]] = {
        "sync": (str,), "fairness": (str,), "receive_order": text, "in_flight": whole, "receives": whole,
        "lanes": whole,
    }  # fmt: skip
    for name, kind in kinds.items():
        if name in words and (not isinstance(words[name], kind) or isinstance(words[name], bool)):
            raise InputError(f"entry 'settings': {name} = {words[name]!r}")
    settings = Settings(**words)
    parse_sync(settings.sync)
    return settings


def _timeline(head: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> Timeline:
    end = columns["end_s"]
    check_head(head)
    check_sizes(columns)
    work = None
    if "source" in columns:
        chosen = {name: columns[name] for name in (*MESSAGES, *EXTRAS) if name in columns}
        method = str(head.get("method", ""))
        work = Workload(**chosen, nodes=int(head["nodes"]), name=str(head["name"]), method=method)
        if work.messages != end.size:
            raise InputError(f"entry 'source': {end.size} values required, given {work.messages}")
    rates = Rates(*(columns[name] for name in RATES)) if RATES[0] in columns else None
    if rates is not None and rates.message.size and not 0 <= rates.message.min() <= rates.message.max() < end.size:
        raise InputError(f"entry '{RATES[1]}': messages from 0 to {end.size - 1} required")
    fields: dict[str, Any] = {name: head[name] for name in HEADER} | {name: columns[name] for name in RESULTS}
    fields |= {name: columns[name] for name in TIMES if name in columns}
    return Timeline(**fields, rates=rates, workload=work)
