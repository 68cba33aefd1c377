"""Timeline: what happened, message by message and link by link; the result of every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from conset.base import (
    Bools,
    Floats,
    InputError,
    Ints,
    Ints32,
    ValueObject,
    check_range,
    frozen_floats,
    frozen_ints,
)
from conset.machine import Topology
from conset.models.workload import Workload

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
        for name in ("time_s", "rate_Bps"):
            object.__setattr__(self, name, frozen_floats(getattr(self, name), name))
        object.__setattr__(self, "message", frozen_ints(self.message, np.int32, "message"))
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
        for name in _SECONDS:
            object.__setattr__(self, name, frozen_floats(getattr(self, name), name))
        for name in ("link_bytes", "out_bytes", "in_bytes"):
            object.__setattr__(self, name, frozen_ints(getattr(self, name), np.int64, name))
        object.__setattr__(self, "held_by", frozen_ints(self.held_by, np.int32, "held_by"))
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
