"""Timeline: what happened, message by message and link by link; the result of every model.

Timeline files: `.json` for people, `.npz` for size.

What `conset simulate -o` writes and `conset show` draws.

A file holds what happened, what was played, on which machine and how it was executed, so that it
can be drawn and checked alone. The `.npz` form is a JSON header beside one array per column, the
same bytes every time. Times of the machine that simulated and paths stay out of it. Of every
message its times are kept, as far as the model says them: slot, send overhead paid, first byte,
last byte, delivery; and every change of a rate up to `MAX_CHANGES`. Reading checks that a file is
of one piece: what goes together, lengths and ranges of columns. `packed` lists the messages that
are put together from several pieces; it is missing where there are none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from conset.base import (
    Array,
    Bools,
    ConsetError,
    Floats,
    InputError,
    Ints,
    Ints32,
    ValueObject,
    check_range,
    header_entry,
    parse_header,
    parse_json,
    read_archive,
    replacing,
    require_file,
    require_suffix,
    write_archive,
)
from conset.machine import Machine, Topology, machine_of_record, with_settings
from conset.models.settings import Settings
from conset.models.workload import MAX_RANKS, Workload
from conset.schedule import TIMELINE, Manifest, check_length, check_within, named, require_form

_SECONDS = (
    "start_s",
    "end_s",
    "phase_end_s",
    "link_busy_s",
    "out_busy_s",
    "in_busy_s",
    "sent_s",
    "first_byte_s",
    "left_s",
)
_OPTIONAL = ("held_by", "sent_s", "first_byte_s", "left_s")
"""Of a message; (0) where it is not recorded."""
_LIKE = {
    "end_s": ("start_s", *_OPTIONAL),
    "link_bytes": ("link_busy_s",),
    "out_bytes": ("out_busy_s", "in_bytes", "in_busy_s"),
}
"""Arrays that have the shape of another one."""


@dataclass(frozen=True, eq=False)
class Rates(ValueObject):
    """Every change of a rate.

    From `time_s[k]` on message `message[k]` flows at `rate_Bps[k]`, 0 when it has ended.

    Attributes:
        time_s: shape=(changes), float64 [s], not falling.
        message: shape=(changes), int32.
        rate_Bps: shape=(changes), float64 [B/s].
    """

    time_s: Floats
    message: Ints32
    rate_Bps: Floats  # noqa: N815

    def __post_init__(self) -> None:
        self._cast(np.float64, "time_s", "rate_Bps")
        self._cast(np.int32, "message")
        for name in ("message", "rate_Bps"):
            if getattr(self, name).shape != (self.time_s.size,):
                raise InputError(
                    f"{name} has shape {getattr(self, name).shape}: must be "
                    f"({self.time_s.size},) as time_s"
                )


@dataclass(frozen=True, eq=False)
class Timeline(ValueObject):
    """What a model says a workload takes.

    Attributes:
        model: `flow`, `wormhole`, `circuit`, `flit`, `connections`.
        sync: the policy it ran under.
        in_flight: sends a rank kept open at once; None: all.
        machine: the machine's name.
        workload: what was played; None where the timeline was read from a file.
        start_s: shape=(messages), float64 [s]: when a message took its slot.
        end_s: shape=(messages), float64 [s]: when it was delivered, with its receive overhead;
            infinite where the simulation ended before.
        phase_end_s: shape=(phases), float64 [s]: the last delivery of each phase and of those
            before; one entry for a trace.
        link_bytes: shape=(link_slots), int64 [B] that crossed each link.
        link_busy_s: shape=(link_slots), float64 [s]: how long bytes flowed on it.
        out_bytes: shape=(nodes), int64 [B] that left each node.
        out_busy_s: shape=(nodes), float64 [s].
        in_bytes: shape=(nodes), int64 [B] that entered each node.
        in_busy_s: shape=(nodes), float64 [s].
        mean_latency_s: delivery minus release, over messages that cross the network (`flow`,
            `wormhole`, `circuit`) or over all (`flit`) [s].
        held_by: shape=(messages), int32: what held a message when its last byte flowed: a link
            slot, `link_slots + node` for the port out of a node, `link_slots + nodes + node` for
            the port into it, `link_slots + 2 nodes + node` for both together, -1 where nothing did;
            (0) for models that do not say. `wormhole`, `circuit`: where its header waited longest,
            -1 where it never did.
        events: changes the model handled.
        elapsed_s: what the simulation alone took [s]; never in a file.
        rates: every change of a rate where `Settings.record` asked for it.
        sent_s: shape=(messages), float64 [s]: when the sending processor had paid its overhead; (0)
            where it is not recorded.
        first_byte_s: shape=(messages), float64 [s]: from when on bytes of each message flowed, its
            delivery where none did; (0) where only `rates` say, or nothing.
        left_s: shape=(messages), float64 [s]: when its last byte had left and its slot was free;
            (0) likewise.
        figures: further numbers of one model (`flit_hops`, …); `work` counts what the simulation
            did.
    """

    model: str
    sync: str
    in_flight: int | None
    machine: str
    start_s: Floats
    end_s: Floats
    phase_end_s: Floats
    link_bytes: Ints
    link_busy_s: Floats
    out_bytes: Ints
    out_busy_s: Floats
    in_bytes: Ints
    in_busy_s: Floats
    mean_latency_s: float
    held_by: Ints32 = field(default_factory=lambda: np.zeros(0, np.int32))
    events: int = 0
    elapsed_s: float = field(default=0.0, compare=False)
    workload: Workload | None = None
    rates: Rates | None = None
    sent_s: Floats = field(default_factory=lambda: np.zeros(0))
    first_byte_s: Floats = field(default_factory=lambda: np.zeros(0))
    left_s: Floats = field(default_factory=lambda: np.zeros(0))
    figures: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        self._cast(np.float64, *_SECONDS)
        self._cast(np.int64, "link_bytes", "out_bytes", "in_bytes")
        self._cast(np.int32, "held_by")
        for like, names in _LIKE.items():
            self._check_like(like, names)
        if self.workload is not None and self.workload.messages != self.messages:
            raise InputError(
                f"end_s has {self.messages} entries: the workload has "
                f"{self.workload.messages} messages"
            )
        if self.rates is not None:
            check_range("rates: message", self.rates.message, self.messages)

    def _check_like(self, like: str, names: tuple[str, ...]) -> None:
        shape = (getattr(self, like).size,)
        for name in names:
            own = getattr(self, name).shape
            if own != shape and not (name in _OPTIONAL and own == (0,)):
                raise InputError(f"{name} has shape {own}: must be {shape} as {like}")

    @property
    def time_s(self) -> float:
        """The last delivery [s]; 0 without messages."""
        return float(self.end_s.max(initial=0.0))

    @property
    def messages(self) -> int:
        """Number of messages."""
        return int(self.end_s.size)

    def first_bytes(self) -> Floats:
        """shape=(messages), float64 [s]: as `first_byte_s`, from the rates where these are kept.

        (0) where unknown.
        """
        if self.first_byte_s.size or self.rates is None:
            return self.first_byte_s
        first = self.end_s.copy()
        np.minimum.at(first, self.rates.message, self.rates.time_s)
        return first

    def to_object(self) -> dict[str, Any]:
        """As `simulate --json` prints it."""
        return {
            "time_s": self.time_s,
            "mean_latency_s": self.mean_latency_s,
            "model": self.model,
            "sync": self.sync,
            "in_flight": "all" if self.in_flight is None else self.in_flight,
            "machine": self.machine,
            "phase_end_s": self.phase_end_s.tolist(),
            "link_bytes_max": int(self.link_bytes.max(initial=0)),
            "messages": self.messages,
            "events": self.events,
            "elapsed_s": self.elapsed_s,
            **self.figures,
        }

    def __repr__(self) -> str:
        return (
            f"Timeline({self.time_s:.6g} s by {self.model}, sync={self.sync}, "
            f"messages={self.messages})"
        )


def phase_ends(workload: Workload, end_s: Floats) -> Floats:
    """shape=(phases): the last delivery of each phase and of those before it.

    Of everything for a trace.
    """
    if not workload.phases:
        return np.array([end_s.max(initial=0.0)])
    ends = np.zeros(workload.phases)
    full = np.flatnonzero(np.diff(workload.phase_offsets))
    if full.size:
        ends[full] = np.maximum.reduceat(end_s, workload.phase_offsets[full])
    return np.maximum.accumulate(ends)


def mean_latency(workload: Workload, end_s: Floats, which: Bools | None = None) -> float:
    """Mean of delivery minus release [s] over `which` messages (all where None); 0 without any."""
    latency = end_s - workload.time_s
    chosen = latency if which is None else latency[which]
    return float(chosen.mean()) if chosen.size else 0.0


def resource_name(topology: Topology, resource: int) -> str:
    """A resource of `Timeline.held_by` as text: `link 3 → 4`, `port out of node 5`."""
    port = resource - topology.link_slots
    if port < 0:
        return topology.link_name(resource)
    of = ("port out of", "port into", "both ports of")[min(port // topology.nodes, 2)]
    return f"{of} {topology.node_name(port % topology.nodes)}"


if TYPE_CHECKING:
    from conset.schedule import TimelineFile


SUFFIXES = (".json", ".npz")
MAX_CHANGES = 50_000
"""Changes of rates that a file keeps: 1 MB, 3 MB as text."""
MAX_RECORDED = {"flow": 5_000, "wormhole": 100_000, "circuit": 100_000}
"""Messages up to which a model's rates are worth recording.

Every event of `flow` may change all of them.
"""
STOPS = ("record", "until_s", "max_work")
"""Settings that say what is kept and when a simulation gives up, not how it is executed."""
HEADER = ("model", "sync", "in_flight", "machine", "mean_latency_s", "events", "figures")
MESSAGES = ("source", "target", "bytes", "time_s", "phase_offsets")
"""Columns that say what was played."""
EXTRAS = ("sender", "receiver", "order", "dep_offsets", "deps", "link_offsets", "links", "channels")
"""Columns of a workload that are left out where they say nothing."""
RESULTS = (
    "start_s",
    "end_s",
    "phase_end_s",
    "link_bytes",
    "link_busy_s",
    "out_bytes",
    "out_busy_s",
    "in_bytes",
    "in_busy_s",
    "held_by",
)
TIMES = ("sent_s", "first_byte_s", "left_s")
"""Times of messages that models may leave out."""
RATES = ("rate_time_s", "rate_message", "rate_Bps")
_TOGETHER = {
    "source": ("target", "bytes", "nodes", "name"),
    "machine_spec": ("changed",),
    "rate_time_s": ("rate_message", "rate_Bps"),
}
"""Entries that the first of each requires."""


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


def worth_recording(model: str, messages: int) -> bool:
    """Whether a model's rates fit into memory and are worth it for a file or a picture."""
    return messages <= MAX_RECORDED.get(model, 0)


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
        changed: settings of `--set` that `machine` was given; it has them already.
        settings: how.

    Raises:
        UsageError: another suffix.
        InputError: the path cannot be written.
    """
    path = Path(path)
    require_suffix(path, "a timeline", *SUFFIXES)
    head = {
        "schema": TIMELINE,
        **{name: getattr(timeline, name) for name in HEADER},
        "figures": dict(timeline.figures),
        "nodes": timeline.out_bytes.size,
    }
    if timeline.workload is not None:
        head |= {"name": timeline.workload.name, "method": timeline.workload.method}
    if machine is not None:
        head |= {"machine_spec": machine.to_spec(), "changed": changed}
    if settings is not None:
        head["settings"] = {
            name: value for name, value in asdict(settings).items() if name not in STOPS
        }
    head["manifest"] = (manifest or Manifest()).to_object()
    columns = _columns(timeline)
    with replacing(path) as temporary:
        if path.suffix == ".json":
            body = {**head, **{name: values.tolist() for name, values in columns.items()}}
            temporary.write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")
        else:
            write_archive(temporary, [("header", header_entry(head)), *columns.items()])


def _columns(timeline: Timeline) -> dict[str, Array]:
    columns = {
        **{name: getattr(timeline, name) for name in RESULTS},
        **{name: getattr(timeline, name) for name in TIMES if getattr(timeline, name).size},
    }
    work, rates = timeline.workload, timeline.rates
    if work is not None:
        columns |= {name: getattr(work, name) for name in MESSAGES}
        extras = {
            name: getattr(work, name) for name in EXTRAS if name != "dep_offsets" or work.deps.size
        }
        columns |= {name: values for name, values in extras.items() if values.size}
        if work.packed.any():
            columns["packed"] = np.flatnonzero(work.packed).astype(np.int32)
    if rates is not None and rates.time_s.size <= MAX_CHANGES:
        columns |= dict(zip(RATES, (rates.time_s, rates.message, rates.rate_Bps), strict=True))
    elif not timeline.first_byte_s.size and timeline.first_bytes().size:
        columns["first_byte_s"] = timeline.first_bytes()
    return columns


def read_record(path: str | Path) -> Record:
    """All that a timeline file holds.

    Raises:
        InputError: missing, cut short, or of another structure; names the entry.
    """
    path = require_file(path)
    require_form(path, "timeline")
    try:
        return _record(
            parse_json(path, constants=True) if path.suffix == ".json" else _read_npz(path)
        )
    except ConsetError as error:
        raise named(error, path) from None


def _read_npz(path: Path) -> dict[str, Any]:
    """Header and columns as one object, as the JSON form has them."""
    columns: dict[str, Any] = dict(read_archive(path))
    head = parse_header(columns, constants=True)
    del columns["header"]
    if not isinstance(head, dict):
        raise InputError("entry 'header': an object required")
    twice = head.keys() & columns.keys()
    if twice:
        raise InputError(f"entry '{min(twice)}' is there twice: in the header and beside it")
    return head | columns


def _record(found: Any) -> Record:
    from conset.schedule import TimelineFile, checked

    file = checked(TimelineFile, found)
    timeline = _timeline(file, found)
    machine = None
    if file.machine_spec is not None:
        machine = machine_of_record(file.machine_spec)
        machine = machine if file.changed is None else with_settings(machine, file.changed)
        _check_fits(timeline, machine)
    settings = Settings(**found["settings"]) if "settings" in found else None
    return Record(timeline, machine, settings, Manifest(**found.get("manifest", {})))


def _timeline(file: TimelineFile, found: Mapping[str, Any]) -> Timeline:
    _check_columns(file)
    work = None
    if file.source is not None:
        chosen = {name: getattr(file, name) for name in (*MESSAGES, *EXTRAS) if name in found}
        if file.packed is not None:
            chosen["packed"] = np.isin(np.arange(file.source.size), file.packed)
        work = Workload(**chosen, nodes=found["nodes"], name=found["name"], method=file.method)
    rates = (
        Rates(*(getattr(file, name) for name in RATES)) if file.rate_time_s is not None else None
    )
    fields: dict[str, Any] = {
        **{name: found[name] for name in HEADER},
        **{name: getattr(file, name) for name in (*RESULTS, *TIMES) if name in found},
    }
    return Timeline(**fields, rates=rates, workload=work)


def _check_columns(file: TimelineFile) -> None:
    """What goes together is there, columns of one length have one, rates are of messages.

    Raises:
        InputError: names the first entry that is wrong.
    """
    given = file.model_fields_set
    for first, others in _TOGETHER.items():
        missing = [name for name in others if name not in given]
        if first in given and missing:
            raise InputError(f"entry '{missing[0]}' is missing, '{first}' is there")
    messages, nodes = file.end_s.size, file.out_bytes.size
    for name in ("start_s", "sent_s", "first_byte_s", "left_s", "source"):
        check_length(name, getattr(file, name), messages)
    phases = (
        file.phase_end_s.size if file.phase_offsets is None else max(file.phase_offsets.size - 1, 1)
    )
    check_length("phase_end_s", file.phase_end_s, phases)
    check_length("link_busy_s", file.link_busy_s, file.link_bytes.size)
    for name in ("out_busy_s", "in_bytes", "in_busy_s"):
        check_length(name, getattr(file, name), nodes)
    for name in ("rate_message", "rate_Bps"):
        check_length(
            name,
            getattr(file, name),
            messages if file.rate_time_s is None else file.rate_time_s.size,
        )
    for name in ("rate_message", "packed"):
        if getattr(file, name) is not None:
            check_within(name, getattr(file, name), 0, messages)


def _check_fits(timeline: Timeline, machine: Machine) -> None:
    """Links, nodes and ranks are those of the machine.

    Raises:
        InputError: names the first that is not.
    """
    topology = machine.topology
    for name, required in (("link_bytes", topology.link_slots), ("out_bytes", topology.nodes)):
        given = getattr(timeline, name).size
        if given != required:
            raise InputError(
                f"entry '{name}': {required} values required on {machine.name}, given {given}"
            )
    limits = {"held_by": (timeline.held_by, -1, topology.link_slots + 4 * topology.nodes)}
    if timeline.workload is not None:
        work = timeline.workload
        limits["links"] = (work.links, 0, topology.link_slots)
        limits |= {name: (getattr(work, name), 0, MAX_RANKS) for name in ("sender", "receiver")}
    for name, (values, low, below) in limits.items():
        check_within(name, values, low, below, f" on {machine.name}")
