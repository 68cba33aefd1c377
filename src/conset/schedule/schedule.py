"""Schedule: ordered phases that partition a pattern; its manifest and the report of its compile.

Every file carries the manifest, so that it can be made again; the report is in no file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from conset.base import (
    MAX_SIZE_B,
    VERSION,
    Bools,
    Floats,
    InputError,
    Integers,
    Ints,
    Ints32,
    ValueObject,
    check_offsets,
    check_range,
    frozen,
    frozen_ints,
    take_rows,
)
from conset.machine.costs import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths
from conset.schedule.policy import (
    POSTINGS,
    InFlight,
    check_in_flight,
    check_posting,
    order_of_transfers,
)


@dataclass(frozen=True)
class Manifest:
    """What went in.

    No times and no output paths, so that the same input and seed give the same bytes.

    Attributes:
        command: the command in canonical words, outputs left out.
        seed: the seed of every random choice.
        input_sha256: of the input file's bytes, or of the spec's text.
        version: of conset.
    """

    command: str = ""
    seed: int = 0
    input_sha256: str = ""
    version: str = VERSION

    def to_object(self) -> dict[str, Any]:
        """`{"version": …, "seed": …, "command": …, "input_sha256": …}`."""
        fields = asdict(self)
        return {key: fields[key] for key in ("version", "seed", "command", "input_sha256")}


def sha256_of(source: str | Path) -> str:
    """SHA-256 of a file's bytes, of all files of a record, or of a spec's text."""
    if isinstance(source, Path):
        files = sorted(source.glob("*.record")) if source.is_dir() else [source]
        data = b"".join(file.read_bytes() for file in files)
    else:
        data = source.encode()
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class CompileReport:
    """What a compile says of itself beside the schedule; never in a file.

    Attributes:
        compile_s: what the scheduling alone took [s].
        stopped_early: the search was interrupted and this is its best so far.
        placement_name: what the placement is called, where it has a name.
        note: what a user should know of how the schedule was found.
        reason: why this method and policy, in one sentence, where they were chosen by `auto`.
        rank_by: by what method or policy were chosen by `auto`: `formula` or a model.
        simulated_s: what that model said it takes [s].
        verdict: what was chosen against and what each model says of it, as in `compile --json`.
        choice: what that was made from, for who compares the schedule with others.
    """

    compile_s: float = 0.0
    stopped_early: bool = False
    placement_name: str = ""
    note: str = ""
    reason: str = ""
    rank_by: str = ""
    simulated_s: float | None = None
    verdict: Mapping[str, Any] | None = None
    choice: Any = field(default=None, repr=False, compare=False)


class Compiled(Protocol):
    """What a compile makes: a schedule, or a program of several schedules."""

    @property
    def machine(self) -> Machine:
        """What it was compiled for."""

    @property
    def sync(self) -> str:
        """The policy that it is meant to run under."""

    @property
    def manifest(self) -> Manifest:
        """How it was made."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def phases(self) -> int:
        """Number of phases that are executed."""

    @property
    def paths(self) -> Paths | None:
        """Where the messages are before and after every stage, of a program that forwards."""

    @property
    def stopped_early(self) -> bool:
        """Whether the search was interrupted and this is its best so far."""

    @property
    def whole(self) -> Schedule:
        """All that is sent, as one schedule; raises InputError where that is too large."""


ROUTES = ("route_offsets", "route_nodes", "route_links", "channels")
"""What a schedule or a method's phases have of routes that a compiler chose."""


def as_routes(
    offsets: Ints | None, nodes: Ints32 | None, links: Ints32 | None = None
) -> dict[str, Any]:
    """`ROUTES` but for channels, as arguments."""
    return {"route_offsets": offsets, "route_nodes": nodes, "route_links": links}


def routes_of(found: Any, transfers: Integers) -> dict[str, Any]:
    """`ROUTES` of some transfers of a schedule, or of what a method found, in this order."""
    if found.route_offsets is None or found.route_nodes is None:
        return {}
    offsets, stops = take_rows(found.route_offsets, transfers)
    each = {name: getattr(found, name) for name in ROUTES[1:]}
    return {"route_offsets": offsets} | {
        name: None if values is None else values[stops] for name, values in each.items()
    }


@dataclass(frozen=True, eq=False)
class Schedule(ValueObject):
    """Phases of transfers, in compressed sparse rows.

    A transfer is one message of the pattern or a part of one.

    Phase `p` holds transfers `phase_offsets[p] … phase_offsets[p + 1] - 1`, in the order in which
    they are posted; transfer `k` carries `size[k]` bytes of message `message[k]`.

    Attributes:
        pattern: what is sent.
        machine: what it was compiled for.
        method: the name in the table of methods.
        limits: what every phase keeps.
        phase_offsets: shape=(phases + 1), int64.
        message: shape=(transfers), int32.
        parts: shape=(transfers), int64 [B], the bytes each transfer carries; None where every
            message is whole.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        route_offsets: shape=(transfers + 1), int64, or None where the machine's routing is used.
        route_nodes: int32: nodes of the route of transfer k are
            `route_nodes[route_offsets[k] : route_offsets[k + 1]]`, ends included.
        route_links: int32, shape as `route_nodes`: the link by which each stop of a route is
            entered, -1 at the first; None where the nodes say it.
        channels: int32, shape as `route_nodes`: the channel of each stop of a route, where
            connections are opened; -1 for a message inside its node.
        timetable: shape=(transfers, 2), float64 [s]: start and end counted from the start of the
            phase; or None.
        sync: the policy it is meant to run under.
        limits_asked: whether options changed the limits.
        manifest: how it was made.
        in_flight: sends a rank keeps open at once, in posting order, or `all`; None: not said, the
            machine's number.
        posting: what the messages of each rank are ordered by inside a phase
            (`conset.schedule.policy`); `schedule`: as the method lists them.
        min_bandwidth_Bps: shape=(messages), float64 [B/s]: what every message is guaranteed while
            its phase is open; or None: nothing was asked for.
        max_latency_s: shape=(messages), float64 [s]: what an element of every message takes at most
            while its phase is open, infinite: any time; or None: nothing was asked for.
        modelled: the time of this schedule and of its baselines, as a file has them
            (`conset.studies.with_modelled`); None: not computed.
        report: how a compile found it; None for one made by hand or read from a file.
    """

    pattern: Pattern
    machine: Machine
    method: str
    limits: Limits
    phase_offsets: Ints
    message: Ints32
    parts: Ints | None = None
    placement: Ints32 | None = None
    route_offsets: Ints | None = None
    route_nodes: Ints32 | None = None
    channels: Ints32 | None = None
    timetable: Floats | None = None
    sync: str = "barrier"
    limits_asked: bool = False
    manifest: Manifest = field(default_factory=Manifest, compare=False)
    in_flight: InFlight | None = None
    posting: str = "schedule"
    min_bandwidth_Bps: Floats | None = None  # noqa: N815
    max_latency_s: Floats | None = None
    route_links: Ints32 | None = None
    modelled: Mapping[str, Any] | None = field(default=None, compare=False)
    report: CompileReport | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "phase_offsets", frozen_ints(self.phase_offsets, np.int64, "phase_offsets"))
        set_(self, "message", frozen_ints(self.message, np.int32, "message"))
        check_offsets("phase_offsets", self.phase_offsets, None, self.message.size, "transfers")
        check_range("message", self.message, self.pattern.messages)
        self._check_parts()
        self._check_placement()
        none = self.route_offsets is None and self.route_nodes is None
        if not (none and self.route_links is None and self.channels is None):
            self._check_routes()
        if self.in_flight is not None:
            check_in_flight(self.in_flight)
        if self.posting not in POSTINGS:
            check_posting(self.posting)
        if self.timetable is not None:
            self._check_timetable(np.asarray(self.timetable, np.float64))
        if self.min_bandwidth_Bps is not None:
            self._check_bandwidths(np.asarray(self.min_bandwidth_Bps, np.float64))
        if self.max_latency_s is not None:
            self._check_latencies(np.asarray(self.max_latency_s, np.float64))

    def _check_parts(self) -> None:
        if self.parts is not None:
            self._cast(np.int64, "parts")
            if self.parts.shape != self.message.shape:
                raise InputError(f"parts has shape {self.parts.shape}: one per transfer required")
            wrong = np.flatnonzero(self.parts < 0)
            if wrong.size:
                raise InputError(
                    f"parts[{wrong[0]}] = {self.parts[wrong[0]]}: must be at least 0 B"
                )
        if self.parts is None and self.message.size <= self.pattern.messages:
            distinct = (
                self.pattern.size if self.pattern.size.strides != (0,) else self.pattern.size[:1]
            )
            if float(distinct.max(initial=0)) * self.message.size <= MAX_SIZE_B:
                return
        total = float(self.size.sum(dtype=np.float64))
        if total > MAX_SIZE_B:
            raise InputError(f"all transfers together carry {total:.3g} B, at most 2^62 B")

    def _check_placement(self) -> None:
        endpoints, ranks = self.machine.topology.endpoints, self.pattern.ranks
        if self.placement is None:
            if ranks > endpoints:
                text = (
                    f"{ranks} ranks without a placement on the {endpoints} nodes of "
                    f"{self.machine.name}"
                )
                raise InputError(text)
            return
        self._cast(np.int32, "placement")
        if self.placement.shape != (ranks,):
            raise InputError(
                f"placement has shape {self.placement.shape}: one node for each of {ranks} "
                "ranks required"
            )
        check_range("placement", self.placement, endpoints)

    def _check_routes(self) -> None:
        if (self.route_offsets is None) != (self.route_nodes is None):
            raise InputError("route_offsets and route_nodes go together")
        for name in ("route_links", "channels"):
            if (of_stops := getattr(self, name)) is not None:
                self._cast(np.int32, name)
                if self.route_nodes is None or of_stops.shape != self.route_nodes.shape:
                    raise InputError(f"{name}: one for each node of the routes required")
        if self.route_offsets is None or self.route_nodes is None:
            return
        object.__setattr__(
            self, "route_offsets", frozen_ints(self.route_offsets, np.int64, "route_offsets")
        )
        object.__setattr__(
            self, "route_nodes", frozen_ints(self.route_nodes, np.int32, "route_nodes")
        )
        check_offsets(
            "route_offsets",
            self.route_offsets,
            self.transfers,
            self.route_nodes.size,
            "nodes of routes",
        )
        empty = np.flatnonzero(np.diff(self.route_offsets) == 0)
        if empty.size:
            raise InputError(
                f"route_offsets: the route of transfer {empty[0]} is empty, at least 1 "
                "node is required"
            )
        check_range("route_nodes", self.route_nodes, self.machine.topology.nodes)
        if self.route_links is not None:
            self._check_links(self.route_offsets, self.route_nodes, self.route_links)
            if not self.machine.topology.parallel:
                object.__setattr__(self, "route_links", None)

    def _check_links(self, offsets: Ints, nodes: Ints32, entered: Ints32) -> None:
        inner = np.ones(nodes.size, bool)
        inner[offsets[:-1]] = False
        at = np.flatnonzero(inner)
        check_range("route_links", entered[at], self.machine.topology.link_slots)
        source, target = (end[entered[at]] for end in self.machine.topology.ends)
        gaps = np.flatnonzero((source != nodes[at - 1]) | (target != nodes[at]))
        if gaps.size:
            k = at[gaps[0]]
            raise InputError(
                f"route_links: {self.machine.topology.link_name(int(entered[k]))} does not lead "
                f"from node {nodes[k - 1]} to node {nodes[k]}"
            )

    def _check_timetable(self, table: Floats) -> None:
        if table.shape != (self.transfers, 2):
            raise InputError(f"timetable has shape {table.shape}: must be ({self.transfers}, 2)")
        with np.errstate(invalid="ignore"):
            sound = (
                np.isfinite(table).all(axis=1) & (table[:, 0] >= 0) & (table[:, 0] <= table[:, 1])
            )
        if not sound.all():
            k = int(np.argmin(sound))
            rule = "must be finite, from 0 on, the end not before the start"
            raise InputError(f"timetable[{k}]: from {table[k, 0]:g} s to {table[k, 1]:g} s: {rule}")
        object.__setattr__(self, "timetable", frozen(table))

    def _check_bandwidths(self, rates: Floats) -> None:
        if rates.shape != (self.pattern.messages,) or not np.all((rates >= 0) & np.isfinite(rates)):
            rule = (
                f"one finite rate of at least 0 B/s for each of {self.pattern.messages} "
                "messages required"
            )
            raise InputError(f"min_bandwidth_Bps: {rule}")
        object.__setattr__(self, "min_bandwidth_Bps", frozen(rates))

    def _check_latencies(self, times: Floats) -> None:
        if times.shape != (self.pattern.messages,) or not np.all(times >= 0):
            rule = f"one time of at least 0 s for each of {self.pattern.messages} messages required"
            raise InputError(f"max_latency_s: {rule}")
        object.__setattr__(self, "max_latency_s", frozen(times))

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.pattern.ranks

    @property
    def paths(self) -> None:
        """A schedule forwards no messages."""
        return

    @property
    def whole(self) -> Schedule:
        """The schedule itself; of a program, all that it sends."""
        return self

    @property
    def stopped_early(self) -> bool:
        """Whether the search was interrupted and this is its best so far."""
        return self.report is not None and self.report.stopped_early

    @property
    def phases(self) -> int:
        """Number of phases."""
        return int(self.phase_offsets.size - 1)

    @property
    def transfers(self) -> int:
        """Number of transfers; more than messages only where messages are split."""
        return int(self.message.size)

    @cached_property
    def size(self) -> Ints:
        """shape=(transfers), int64 [B]: the bytes of each transfer."""
        if self.parts is not None:
            return self.parts
        if self.pattern.size.strides == (0,) and self.pattern.messages:
            return frozen(np.broadcast_to(self.pattern.size[0], self.transfers))
        return frozen(self.pattern.size[self.message])

    @cached_property
    def packed(self) -> Bools | None:
        """shape=(transfers), bool: which are put together and taken apart, parts as their messages.

        None: none.
        """
        return None if self.pattern.packed is None else frozen(self.pattern.packed[self.message])

    def nodes_of(self, ranks: Ints32) -> Ints32:
        """The node of each of `ranks`."""
        return ranks if self.placement is None else self.placement[ranks]

    @cached_property
    def source_node(self) -> Ints32:
        """shape=(transfers), int32: the node each transfer leaves."""
        return frozen(self.nodes_of(self.pattern.source[self.message]))

    @cached_property
    def target_node(self) -> Ints32:
        """shape=(transfers), int32: the node each transfer enters."""
        return frozen(self.nodes_of(self.pattern.target[self.message]))

    def phase(self, p: int) -> slice:
        """The transfers of phase `p`, as a slice of the arrays over transfers."""
        return slice(int(self.phase_offsets[p]), int(self.phase_offsets[p + 1]))

    @cached_property
    def posted(self) -> Ints32:
        """shape=(transfers), int32.

        The transfers in the order in which ranks post them, phase after phase.

        In a phase as listed, or where there is a timetable by start, then end, then as listed.
        """
        if self.timetable is None:
            return frozen(np.arange(self.transfers, dtype=np.int32))
        start, end = self.timetable.T
        return frozen(np.lexsort((end, start, self.phase_of)).astype(np.int32))

    @cached_property
    def phase_of(self) -> Ints32:
        """shape=(transfers), int32: the phase of each transfer."""
        return frozen(
            np.repeat(np.arange(self.phases, dtype=np.int32), np.diff(self.phase_offsets))
        )

    def ordered(self) -> tuple[Ints32, Ints32]:
        """(first, second), shape=(pairs): transfers that follow one another, as posted."""
        first, second = order_of_transfers(self.pattern.before, self.message)
        place = np.empty(self.transfers, np.int32)
        place[self.posted] = np.arange(self.transfers, dtype=np.int32)
        kept = place[first] < place[second]
        return (first, second) if kept.all() else (first[kept], second[kept])

    def rearranged(self, transfers: Integers, phase_offsets: Integers) -> Schedule:
        """Some of the transfers, or all, in this order and in these phases.

        Args:
            transfers: shape=(chosen): their indices.
            phase_offsets: shape=(phases + 1), up to the number of those chosen.
        """
        changed = self.without_routes(
            phase_offsets=frozen_ints(phase_offsets, np.int64, "phase_offsets"),
            message=self.message[transfers],
            parts=None if self.parts is None else self.parts[transfers],
            timetable=None if self.timetable is None else self.timetable[transfers],
        )
        return replace(changed, **routes_of(self, transfers))

    def without_routes(self, **changes: Any) -> Schedule:
        """The same transfers over the machine's own routes, with other fields changed."""
        none: dict[str, Any] = dict.fromkeys(ROUTES)
        return replace(self, **none, **changes)

    def with_report(self, **changes: Any) -> Schedule:
        """The same schedule with fields of its report changed."""
        return replace(self, report=replace(self.report or CompileReport(), **changes))

    def __repr__(self) -> str:
        return (
            f"Schedule({self.method}, phases={self.phases}, messages={self.pattern.messages}, on "
            f"{self.machine.name})"
        )
