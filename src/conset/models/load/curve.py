"""Latency over load, what a network does under random traffic, from nearly empty to saturated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conset.base.errors import UsageError


@dataclass(frozen=True)
class Window:
    """How long a load is looked at [cycles].

    Attributes:
        warm_up: before anything is measured.
        measured: packets released in these cycles count.
        drain: how long to wait for the last of them.
    """

    warm_up: int = 5_000
    measured: int = 10_000
    drain: int = 5_000

    def __post_init__(self) -> None:
        if min(self.warm_up, self.drain) < 0 or self.measured < 1:
            raise UsageError(
                f"cycles {self.measured}: must be at least 1, after a warm-up of at least 0"
            )

    @staticmethod
    def of(measured: int | None) -> Window:
        """The usual window, or one of so many measured cycles with half before and after."""
        return Window() if measured is None else Window(measured // 2, measured, measured // 2)

    @property
    def longer(self) -> Window:
        """For the bisection."""
        return Window(5 * self.warm_up // 2, 5 * self.measured // 2, self.drain)

    @property
    def cycles(self) -> int:
        """All of it."""
        return self.warm_up + self.measured + self.drain


@dataclass(frozen=True)
class LoadPoint:
    """What a network does under one load.

    Attributes:
        load: flits per cycle that a sending node offers, as asked for.
        offered: as drawn in the measured cycles.
        accepted: flits per cycle and sending node delivered in the measured cycles.
        mean_latency: of measured packets [cycles]; those not delivered count until the end.
        p99_latency: the 99th percentile [cycles].
        packets: measured.
        undelivered: of them.
        saturated: whether the mean latency is above the threshold, the load above the bound, or a
            tenth not carried.
    """

    load: float
    offered: float
    accepted: float
    mean_latency: float
    p99_latency: float
    packets: int
    undelivered: int
    saturated: bool


@dataclass(frozen=True)
class LoadCurve:
    """Latency over load.

    Attributes:
        traffic: who sends to whom, for people.
        machine: the machine's name.
        points: in order of load, those of the bisection among them.
        saturation: the load at which the network saturates; None: above all loads looked at.
        bound: the load at which the busiest link, or a node, would be full.
        zero_load: mean latency in an empty network [cycles].
        threshold: mean latency that counts as saturated [cycles].
        cycle_s: a cycle [s].
        flits: mean of a packet.
        lanes: virtual channels of a port.
        window: cycles looked at.
        events: flits that crossed a switch, over all points.
        elapsed_s: what the simulations took [s].
    """

    traffic: str
    machine: str
    points: tuple[LoadPoint, ...]
    saturation: float | None
    bound: float
    zero_load: float
    threshold: float
    cycle_s: float
    flits: float
    lanes: int
    window: Window
    events: int
    elapsed_s: float

    def to_object(self) -> dict[str, Any]:
        """As `simulate --load --json` prints it."""
        return {
            "model": "flit",
            "sync": "none",
            "in_flight": "all",
            "machine": self.machine,
            "traffic": self.traffic,
            "saturation": self.saturation,
            "load_bound": self.bound,
            "zero_load_latency_s": self.zero_load * self.cycle_s,
            "zero_load_latency_cycles": self.zero_load,
            "threshold_cycles": self.threshold,
            "cycle_s": self.cycle_s,
            "packet_flits": self.flits,
            "lanes": self.lanes,
            "warm_up_cycles": self.window.warm_up,
            "measured_cycles": self.window.measured,
            "points": [self._point(point) for point in self.points],
            "messages": sum(point.packets for point in self.points),
            "events": self.events,
            "elapsed_s": self.elapsed_s,
        }

    def _point(self, point: LoadPoint) -> dict[str, Any]:
        return {
            "load": point.load,
            "offered": point.offered,
            "accepted": point.accepted,
            "mean_latency_s": point.mean_latency * self.cycle_s,
            "mean_latency_cycles": point.mean_latency,
            "p99_latency_cycles": point.p99_latency,
            "packets": point.packets,
            "undelivered": point.undelivered,
            "saturated": point.saturated,
        }
