"""Timeline files: `.json` for people, `.npz` for size; what `conset simulate -o` writes and `conset show` draws.

The `.npz` form is a JSON header beside one array per column, the same bytes every time. Times of the machine that
simulated and paths stay out of it.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.errors import InputError, UsageError
from conset.files import replacing, require_file
from conset.schedule.manifest import Manifest
from conset.simulation.timeline import Rates, Timeline
from conset.simulation.workload import Workload

SCHEMA = "conset/timeline@1"
SUFFIXES = (".json", ".npz")
HEADER = ("model", "sync", "in_flight", "machine", "mean_latency_s", "events", "figures")
MESSAGES = ("source", "target", "bytes", "time_s", "phase_offsets")
"""Columns that say what was played."""
FLOATS = (
    "start_s", "end_s", "phase_end_s", "link_busy_s", "out_busy_s", "in_busy_s", "time_s", "rate_time_s", "rate_Bps",
)  # fmt: skip
RESULTS = (
    "start_s", "end_s", "phase_end_s", "link_bytes", "link_busy_s", "out_bytes", "out_busy_s", "in_bytes", "in_busy_s",
    "held_by",
)  # fmt: skip
RATES = ("rate_time_s", "rate_message", "rate_Bps")


def check_timeline_path(path: Path) -> None:
    """Whether the suffix is one of a timeline file.

    Raises:
        UsageError: it is not.
    """
    if path.suffix not in SUFFIXES:
        raise UsageError(f"-o {path}: a timeline's suffix must be {' or '.join(SUFFIXES)}, is '{path.suffix}'")


def write_timeline(timeline: Timeline, path: str | Path, manifest: Manifest | None = None) -> None:
    """Writes a timeline by its suffix, whole or not at all.

    Raises:
        UsageError: another suffix.
        InputError: the path cannot be written.
    """
    path = Path(path)
    check_timeline_path(path)
    head = {"schema": SCHEMA, **{name: getattr(timeline, name) for name in HEADER}}
    head["figures"] = dict(timeline.figures)
    head["nodes"] = timeline.out_bytes.size
    head["name"] = timeline.workload.name if timeline.workload is not None else ""
    head["manifest"] = (manifest or Manifest()).to_object()
    columns = _columns(timeline)
    with replacing(path) as temporary:
        if path.suffix == ".json":
            body = {**head, **{name: values.tolist() for name, values in columns.items()}}
            temporary.write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")
        else:
            _write_npz(temporary, head, columns)


def _columns(timeline: Timeline) -> dict[str, NDArray[Any]]:
    columns = {name: getattr(timeline, name) for name in RESULTS}
    if timeline.workload is not None:
        columns |= {name: getattr(timeline.workload, name) for name in MESSAGES}
    if timeline.rates is not None:
        rates = timeline.rates
        columns |= dict(zip(RATES, (rates.time_s, rates.message, rates.rate_Bps), strict=True))
    return columns


def _write_npz(path: Path, head: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        entries = {"header": np.array(json.dumps(head, ensure_ascii=False)), **columns}
        for name, values in entries.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as target:
                np.lib.format.write_array(target, np.asarray(values), version=(1, 0), allow_pickle=False)


def read_timeline(path: str | Path) -> Timeline:
    """The timeline in a file, with the workload's columns where it has them.

    Raises:
        InputError: missing, cut short, or of another structure; names the entry.
    """
    path = require_file(path)
    try:
        head, columns = _read_json(path) if path.suffix == ".json" else _read_npz(path)
        return _timeline(head, columns)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: no readable timeline: {type(error).__name__}: {error}") from None


def _read_json(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}: no JSON: {error.msg}") from None
    if not isinstance(body, dict):
        raise InputError("an object required")
    names = [name for name in (*RESULTS, *MESSAGES, *RATES) if name in body]
    return body, {name: np.asarray(body[name], np.float64 if name in FLOATS else np.int64) for name in names}


def _read_npz(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        columns = {name: archive[name] for name in archive.files}
    if "header" not in columns:
        raise InputError("entry 'header' is missing")
    head = json.loads(str(columns.pop("header")))
    if not isinstance(head, dict):
        raise InputError("entry 'header': an object required")
    return head, columns


def _timeline(head: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> Timeline:
    if head.get("schema") != SCHEMA:
        raise InputError(f"schema must be {SCHEMA}, is {head.get('schema')!r}")
    for name in (*HEADER, *RESULTS):
        if name not in head and name not in columns:
            raise InputError(f"entry '{name}' is missing")
    end = columns["end_s"]
    if columns["start_s"].shape != end.shape:
        raise InputError(f"entry 'start_s': {end.size} values required, given {columns['start_s'].size}")
    rates = Rates(*(columns[name] for name in RATES)) if RATES[0] in columns else None
    fields: dict[str, Any] = {name: head[name] for name in HEADER} | {name: columns[name] for name in RESULTS}
    return Timeline(**fields, rates=rates, workload=_workload(head, columns) if "source" in columns else None)


def _workload(head: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> Workload:
    fields: dict[str, Any] = {name: columns[name] for name in MESSAGES}
    return Workload(**fields, nodes=int(head["nodes"]), name=str(head["name"]))
