"""Documents: schedule and program files as they stand, before anything in them is believed.

A `Schedule` refuses to be wrong; a file may have been edited. So reading gives a `Document`: flat
arrays that say what the file says, whose *structure* alone is checked. `verify` checks documents;
`from_document` turns a sound one into the noun. The written forms: JSON for people
(`"conset/schedule@1"`), `.npz` with the same as flat arrays for size.

A `ProgramDocument` is the same of a program, which runs stages one after the other, each a number
of times; a stage runs a schedule of the list. Every phase of every schedule belongs to one
*context*: the connections that are open together. What a phase needs is in its context, so a switch
is due only between phases of different contexts. A program that forwards says the messages it
delivers, and of every stage its bundles: which bytes of which messages travel together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from conset.base import Floats, Ints, Ints32
from conset.machine.machine import Machine
from conset.machine.spec import machine_of_record
from conset.schedule.paths import MessagesBlock
from conset.schedule.schedule import Schedule

MAX_NAME = 300
"""Letters of the name of a pattern in a file."""

IntArray = Ints | Ints32
MAX_REPEAT = 2**31 - 1
"""How often a stage may run in a row."""


@dataclass(frozen=True, eq=False)
class Document:
    """What a schedule file says; arrays of int32 or int64, nothing checked beyond shapes.

    Attributes:
        machine: spec or object of the machine, as in the file; `conset.machine.machine` says which.
        method: name of the method.
        sync: the policy.
        limits: `send`, `receive`, `link`, `channels` (None: none), `duplex`.
        limits_asked: whether options changed the limits.
        ranks: of the pattern.
        source: shape=(messages), any integers: source rank of each message of the pattern.
        target: shape=(messages): target rank.
        size: shape=(messages): bytes [B].
        before: shape=(pairs, 2), or None.
        placement: shape=(ranks), or None.
        phase_offsets: shape=(phases + 1).
        transfer_source: shape=(transfers): source rank as the transfer's row says.
        transfer_target: shape=(transfers): target rank.
        transfer_size: shape=(transfers): bytes [B].
        transfer_message: shape=(transfers): index of the message.
        route_offsets: shape=(transfers + 1), or None where the machine's routing is used.
        route_nodes: node ids of the routes one after the other, ends included; or None.
        timetable: shape=(transfers, 2), float64 [s], or None.
        figures: `phases`, `load` {send, receive, link, channels, sum}, `phase_bytes`.
        manifest: version, seed, command, input_sha256.
        channels: shape as `route_nodes`: the channel of each stop, or None.
        route_links: in place of `route_nodes` the links of the routes, one after the other; or
            None.
        in_flight: sends a rank keeps open at once, or `all`; None: not said.
        posting: what the messages of each rank are ordered by inside a phase.
        min_bandwidth_Bps: what every message is to be guaranteed [B/s], or one number for each;
            None: nothing.
        max_latency_s: what an element of every message may take at most [s], or one number for each
            (None among them: any time); None: nothing.
        pattern_name: what the pattern was made from, for people.
        packed: the messages that are put together from several pieces and taken apart, rising; or
            None.
        ids: shape=(messages): what connections are called by, or None: by their indices.
        modelled: `model`, and by it the times of the schedule and of its baselines [s]; or None.
    """

    machine: str | Mapping[str, Any]
    method: str
    sync: str
    limits: Mapping[str, Any]
    limits_asked: bool
    ranks: int
    source: IntArray
    target: IntArray
    size: IntArray
    before: IntArray | None
    placement: IntArray | None
    phase_offsets: IntArray
    transfer_source: IntArray
    transfer_target: IntArray
    transfer_size: IntArray
    transfer_message: IntArray
    route_offsets: IntArray | None
    route_nodes: IntArray | None
    timetable: Floats | None
    figures: Mapping[str, Any]
    manifest: Mapping[str, Any]
    channels: IntArray | None = None
    route_links: IntArray | None = None
    in_flight: int | str | None = None
    posting: str = "schedule"
    min_bandwidth_Bps: float | list[float] | None = None  # noqa: N815
    max_latency_s: float | list[float | None] | None = None
    pattern_name: str = "pattern"
    packed: IntArray | None = None
    ids: IntArray | None = None
    modelled: Mapping[str, Any] | None = None

    @property
    def phases(self) -> int:
        """Number of phases."""
        return int(self.phase_offsets.size - 1)


def machine_of(document: Document) -> Machine:
    """The machine a document names.

    Raises:
        InputError: it cannot be built, or names what is neither a preset nor a bare network: no
            file is opened.
    """
    return machine_of_record(document.machine)


@dataclass(frozen=True, eq=False)
class MessagesDocument:
    """The messages that a program delivers, as its file says them; nothing checked beyond shapes.

    Attributes:
        ranks: number of ranks.
        source: shape=(messages), any integers: source rank.
        target: shape=(messages): target rank.
        size: shape=(messages): bytes [B].
        name: what the pattern was made from, for people.
    """

    ranks: int
    source: IntArray
    target: IntArray
    size: IntArray
    name: str = "pattern"


@dataclass(frozen=True, eq=False)
class BundlesDocument:
    """The bundles of a stage as a file says them; nothing checked beyond shapes.

    Attributes:
        source: shape=(bundles), any integers: the rank that sends each.
        target: shape=(bundles): the rank that receives it.
        size: shape=(bundles): bytes [B].
        offsets: shape=(bundles + 1), rising: the parts of bundle b are
            `offsets[b] … offsets[b + 1] - 1`.
        message: shape=(parts): the message that each part is of.
        first: shape=(parts): its first byte.
        last: shape=(parts): its last byte, which belongs to it.
    """

    source: IntArray
    target: IntArray
    size: IntArray
    offsets: IntArray
    message: IntArray
    first: IntArray
    last: IntArray


@dataclass(frozen=True, eq=False)
class StageDocument:
    """One stage as a file says it.

    Attributes:
        name: for people.
        repeat: how often it runs before the next stage.
        schedule: index in the list of schedules.
        turns: every second repetition runs the phases backwards.
        bundles: what it sends, message by message of its schedule; None: messages of its own.
    """

    name: str
    repeat: int
    schedule: int
    turns: bool
    bundles: BundlesDocument | None = None


@dataclass(frozen=True, eq=False)
class ProgramDocument:
    """What a program file says; types are checked, nothing else.

    Attributes:
        machine: spec or object of the machine.
        stages: in the order in which they run.
        contexts: for each schedule, the context of each of its phases.
        schedules: as in schedule files.
        figures: `phases` (executed), `contexts`, `switches`, `switches_apart` (if every phase had
            its own context and none ran backwards), `messages` and `bytes` (executed). Of a program
            that forwards, `messages` and `bytes` are those it delivers, and there are `stages`,
            `bundles`, `volume` (bytes sent by all stages over bytes delivered) and `staging_bytes`
            (the most that any rank holds for others between two stages).
        manifest: version, seed, command, input_sha256.
        sync: the policy of the whole.
        messages: what a program that forwards delivers; None: its stages send messages of their
            own.
        staging_limit_B: bytes that a rank may hold for others between two stages; None: any number.
        blocks: in memory only, instead of `messages` and the bundles of stages: gives all messages
            block by block, in the order of their sources.
    """

    machine: str | Mapping[str, Any]
    stages: tuple[StageDocument, ...]
    contexts: tuple[tuple[int, ...], ...]
    schedules: tuple[Document, ...]
    figures: Mapping[str, Any]
    manifest: Mapping[str, Any]
    sync: str = "barrier"
    messages: MessagesDocument | None = None
    staging_limit_B: int | None = None  # noqa: N815
    blocks: Callable[[], Iterator[MessagesBlock]] | None = None


AnyDocument = Document | ProgramDocument


def document_from(schedule: Schedule, figures: Mapping[str, Any]) -> Document:
    """What a file of `schedule` says, with `figures` as its stated ones.

    Arrays are shared where they can be.
    """
    pattern = schedule.pattern
    ranks = schedule.source_node, schedule.target_node
    if schedule.placement is not None:
        ranks = pattern.source[schedule.message], pattern.target[schedule.message]
    offsets, nodes, links = schedule.route_offsets, schedule.route_nodes, None
    if offsets is not None and schedule.route_links is not None:
        links = np.delete(schedule.route_links, offsets[:-1])
        offsets, nodes = offsets - np.arange(offsets.size), None
    return Document(
        machine=schedule.machine.to_spec(),
        method=schedule.method,
        sync=schedule.sync,
        limits=schedule.limits.to_object(),
        limits_asked=schedule.limits_asked,
        ranks=pattern.ranks,
        source=pattern.source,
        target=pattern.target,
        size=pattern.size,
        before=pattern.before,
        placement=schedule.placement,
        phase_offsets=schedule.phase_offsets,
        transfer_source=ranks[0],
        transfer_target=ranks[1],
        transfer_size=schedule.size,
        transfer_message=schedule.message,
        route_offsets=offsets,
        route_nodes=nodes,
        route_links=links,
        timetable=schedule.timetable,
        figures=figures,
        manifest=schedule.manifest.to_object(),
        channels=schedule.channels,
        in_flight=schedule.in_flight,
        posting=schedule.posting,
        min_bandwidth_Bps=_demanded(schedule.min_bandwidth_Bps),
        max_latency_s=_demanded(schedule.max_latency_s),
        pattern_name=final_name(pattern.name),
        packed=None if pattern.packed is None else np.flatnonzero(pattern.packed),
        ids=pattern.ids,
        modelled=schedule.modelled,
    )


def final_name(name: str) -> str:
    """A name for a file: no folders, one line, at most `MAX_NAME` letters."""
    final = name.rpartition("/")[2]
    return "".join(letter if letter.isprintable() else "?" for letter in final)[:MAX_NAME]


def _demanded(values: Floats | None) -> Any:
    """One number where all messages have the same, else a list; infinite is None, as in JSON."""
    if values is None or not np.isfinite(values).any():
        return None
    if (values == values[0]).all():
        return float(values[0])
    return [value if isfinite(value) else None for value in values.tolist()]
