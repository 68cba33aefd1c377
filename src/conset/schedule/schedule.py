"""Schedule: ordered phases that partition a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conset.arrays import frozen, frozen_ints
from conset.errors import InputError
from conset.machine.limits import Limits
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.manifest import Manifest
from conset.schedule.posting import InFlight, check_in_flight, check_posting


@dataclass(frozen=True, eq=False)
class Schedule:
    """Phases of transfers, in compressed sparse rows; a transfer is one message of the pattern or a part of one.

    Phase `p` holds transfers `phase_offsets[p] … phase_offsets[p + 1] - 1`, in the order in which they are posted;
    transfer `k` carries `size[k]` bytes of message `message[k]`.

    Attributes:
        pattern: what is sent.
        machine: what it was compiled for.
        method: the name in the table of methods.
        limits: what every phase keeps.
        phase_offsets: shape=(phases + 1), int64.
        message: shape=(transfers), int32.
        parts: shape=(transfers), int64 [B], the bytes each transfer carries; None where every message is whole.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        route_offsets: shape=(transfers + 1), int64, or None where the machine's routing is used.
        route_nodes: int32: nodes of the route of transfer k are `route_nodes[route_offsets[k] : route_offsets[k + 1]]`,
            ends included.
        channels: int32, shape as `route_nodes`: the channel of each stop of a route, where connections are opened; -1
            for a message inside its node.
        timetable: shape=(transfers, 2), float64 [s]: start and end counted from the start of the phase; or None.
        sync: the policy it is meant to run under.
        limits_asked: whether options changed the limits.
        manifest: how it was made.
        in_flight: sends a rank keeps open at once, in posting order, or `all`; None: not said, the machine's number.
        posting: what the messages of each rank are ordered by inside a phase (`conset.schedule.posting`); `schedule`:
            as the method lists them.
        compile_s: what the scheduling alone took [s]; never in a file.
        stopped_early: the search was interrupted and this is its best so far; never in a file.
        placement_name: what the placement is called, where it has a name; never in a file.
        note: what a user should know of how it was found; never in a file.
        reason: why this method and policy, in one sentence, where they were chosen by `auto`; never in a file.
        rank_by: by what method or policy were chosen by `auto`: `formula` or a model; never in a file.
        simulated_s: what that model said it takes [s]; never in a file.
        verdict: what was chosen against and what each model says of it, as in `compile --json`; never in a file.
    """

    pattern: Pattern
    machine: Machine
    method: str
    limits: Limits
    phase_offsets: NDArray[np.int64]
    message: NDArray[np.int32]
    parts: NDArray[np.int64] | None = None
    placement: NDArray[np.int32] | None = None
    route_offsets: NDArray[np.int64] | None = None
    route_nodes: NDArray[np.int32] | None = None
    channels: NDArray[np.int32] | None = None
    timetable: NDArray[np.float64] | None = None
    sync: str = "barrier"
    limits_asked: bool = False
    manifest: Manifest = field(default_factory=Manifest)
    in_flight: InFlight | None = None
    posting: str = "schedule"
    compile_s: float = 0.0
    stopped_early: bool = False
    placement_name: str = ""
    note: str = ""
    reason: str = ""
    rank_by: str = ""
    simulated_s: float | None = None
    verdict: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "phase_offsets", frozen_ints(self.phase_offsets, np.int64, "phase_offsets"))
        set_(self, "message", frozen_ints(self.message, np.int32, "message"))
        if self.phase_offsets.ndim != 1 or not self.phase_offsets.size or self.phase_offsets[0] != 0:
            raise InputError("phase_offsets: must rise from 0")
        if np.any(np.diff(self.phase_offsets) < 0) or self.phase_offsets[-1] != self.message.size:
            raise InputError(f"phase_offsets: must rise to the {self.message.size} transfers")
        if self.message.size and (self.message.min() < 0 or self.message.max() >= self.pattern.messages):
            raise InputError(f"message: must be from 0 to {self.pattern.messages - 1}")
        if self.parts is not None:
            set_(self, "parts", frozen_ints(self.parts, np.int64, "parts"))
            if self.parts.shape != self.message.shape:
                raise InputError(f"parts has shape {self.parts.shape}: one per transfer required")
        if self.placement is not None:
            set_(self, "placement", frozen_ints(self.placement, np.int32, "placement"))
        if (self.route_offsets is None) != (self.route_nodes is None):
            raise InputError("route_offsets and route_nodes go together")
        if self.route_offsets is not None:
            set_(self, "route_offsets", frozen_ints(self.route_offsets, np.int64, "route_offsets"))
            set_(self, "route_nodes", frozen_ints(self.route_nodes, np.int32, "route_nodes"))  # type: ignore[arg-type]
        if self.channels is not None:
            set_(self, "channels", frozen_ints(self.channels, np.int32, "channels"))
            if self.route_nodes is None or self.channels.shape != self.route_nodes.shape:
                raise InputError("channels: one for each node of the routes required")
        if self.in_flight is not None:
            check_in_flight(self.in_flight)
        check_posting(self.posting)
        if self.timetable is not None:
            set_(self, "timetable", frozen(np.asarray(self.timetable, np.float64)))

    @property
    def phases(self) -> int:
        """Number of phases."""
        return int(self.phase_offsets.size - 1)

    @property
    def transfers(self) -> int:
        """Number of transfers; more than messages only where messages are split."""
        return int(self.message.size)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """shape=(transfers), int64 [B]: the bytes of each transfer."""
        if self.parts is not None:
            return self.parts
        if self.pattern.size.strides == (0,):
            return self.pattern.size[: self.transfers]
        return frozen(self.pattern.size[self.message])

    def nodes_of(self, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        """The node of each of `ranks`."""
        return ranks if self.placement is None else self.placement[ranks]

    @cached_property
    def source_node(self) -> NDArray[np.int32]:
        """shape=(transfers), int32: the node each transfer leaves."""
        return frozen(self.nodes_of(self.pattern.source[self.message]))

    @cached_property
    def target_node(self) -> NDArray[np.int32]:
        """shape=(transfers), int32: the node each transfer enters."""
        return frozen(self.nodes_of(self.pattern.target[self.message]))

    def phase(self, p: int) -> slice:
        """The transfers of phase `p`, as a slice of the arrays over transfers."""
        return slice(int(self.phase_offsets[p]), int(self.phase_offsets[p + 1]))

    @cached_property
    def phase_of(self) -> NDArray[np.int32]:
        """shape=(transfers), int32: the phase of each transfer."""
        return frozen(np.repeat(np.arange(self.phases, dtype=np.int32), np.diff(self.phase_offsets)))

    def __repr__(self) -> str:
        return (
            f"Schedule({self.method}, phases={self.phases}, messages={self.pattern.messages}, on {self.machine.name})"
        )

    def _repr_html_(self) -> str:
        from conset.report.notebook import schedule_html

        return schedule_html(self)
