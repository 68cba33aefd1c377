"""Curve: what a complete exchange takes as contention is traded for synchronization (003, sections 5 to 7).

A point is a number of steps between two barriers. Up to contention ⌈n/4⌉ on a side of n nodes the steps merge into one
phase, a node still sends and receives once: points (1, c). Beyond, k phases share a barrier: points (k, k·⌈n/4⌉), in
which a node has up to k messages to send and as many to receive. The last point is one group of everything.

Two bounds, as the text draws them in its Figures 12 to 15, from S steps without contention, a barrier B for each of G
groups, and the time M of a message alone:
    upper = G·B + S·M            merging saves barriers only: messages on one link go one after the other
    lower = G·B + max(L, G)·M    contention on links costs nothing, a node sends its messages one after the other
L is how many steps a node needs for its own messages: the text counts n², the one to itself included; here it is one
less. The prediction lies near the lower bound while links have bandwidth to spare, and may leave both where a machine
loses throughput under contention (`blocking`).
Reference: Bokhari, Nicol: Balancing contention and synchronization on the Intel Paragon (1997), section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from conset.compiler import Request, compile_pattern
from conset.machine.machine import Machine
from conset.machine.work import synchronization_s
from conset.pattern.pattern import Pattern
from conset.prediction import predict
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule

EVERY = 16
"""Contentions up to this are all on the curve; of larger ones the powers of two and the last."""
Watch = Callable[[str], AbstractContextManager[None]]
"""Called with what is done next; the command line shows it."""


@dataclass(frozen=True)
class CurvePoint:
    """One way to group the steps.

    Attributes:
        contention: limit of a link in a phase.
        every: phases from one barrier to the next.
        phases: of the schedule.
        groups: phases that a barrier separates.
        node: most messages that leave or enter a node between two barriers, counted.
        link: most messages on a link between two barriers, counted.
        synchronization_s: of the predicted time.
        setup_s: of the predicted time.
        transfer_s: of the predicted time.
        lower_s: contention on links costs nothing.
        upper_s: merging saves barriers only.
        fits: whether a node has room for the receives it posts at once.
    """

    contention: int
    every: int
    phases: int
    groups: int
    node: int
    link: int
    synchronization_s: float
    setup_s: float
    transfer_s: float
    lower_s: float
    upper_s: float
    fits: bool

    @property
    def predicted_s(self) -> float:
        """All terms together."""
        return self.synchronization_s + self.setup_s + self.transfer_s

    @property
    def sync(self) -> str:
        """The policy in words."""
        return "barrier" if self.every == 1 else f"barrier:{self.every}"

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return {**asdict(self), "sync": self.sync, "predicted_s": self.predicted_s}


@dataclass(frozen=True)
class Curve:
    """The curve and what it is made of.

    Attributes:
        points: by growing number of steps between barriers.
        steps: S, phases at contention 1.
        barrier_s: B.
        message_s: M.
        naive_s: everything posted at once, without a barrier.
    """

    points: tuple[CurvePoint, ...]
    steps: int
    barrier_s: float
    message_s: float
    naive_s: float

    @property
    def best(self) -> CurvePoint:
        """The least predicted time among those that fit; the first of equals."""
        usable = [point for point in self.points if point.fits] or list(self.points)
        return min(usable, key=lambda point: point.predicted_s)

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return {
            "steps": self.steps, "barrier_s": self.barrier_s, "message_s": self.message_s, "naive_s": self.naive_s,
            "points": [point.to_object() for point in self.points],
        }  # fmt: skip


def curve_bounds(
    steps: int, groups: int, least_steps: int, barrier_s: float, message_s: float, *, first_barrier: bool = True
) -> tuple[float, float]:
    """(lower, upper) [s] of `steps` contention-free steps merged into `groups`; see the head."""
    barriers = (groups if first_barrier else groups - 1) * barrier_s
    return barriers + max(least_steps, groups) * message_s, barriers + steps * message_s


def trace_curve(pattern: Pattern, machine: Machine, request: Request, watch: Watch | None = None) -> Curve:
    """The curve of a complete exchange on a mesh or torus, by `bounded`.

    Raises:
        InputError: `bounded` does not apply; says what it requires.
    """
    watching = watch or (lambda what: nullcontext())
    request = replace(request, method="bounded", sync=None, contention=None, channels=None, limits=None)
    with watching("scheduling at contention 1"):
        schedule = compile_pattern(pattern, machine, replace(request, contention=1))
    naive = compile_pattern(pattern, machine, replace(request, method="naive"))
    costs = machine.costs_for("bounded")
    largest = int(pattern.size.max(initial=0))
    base = Curve((), schedule.phases, synchronization_s(machine, costs), _message_s(machine, largest), 0.0)
    points = [_point(schedule, 1, base)]
    for contention in _contentions(max(machine.topology.sides)):
        with watching(f"scheduling at contention {contention}"):
            merged = compile_pattern(pattern, machine, replace(request, contention=contention))
        if merged.phases < schedule.phases:
            schedule = merged
            points.append(_point(schedule, 1, base))
    every = 2
    while schedule.phases > 1 and every // 2 < schedule.phases:
        with watching(f"counting groups of {every} phases"):
            points.append(_point(schedule, min(every, schedule.phases), base))
        every *= 2
    return replace(base, points=tuple(points), naive_s=predict(naive, sync="none").time_s)


def _contentions(side: int) -> list[int]:
    """What is worth a point: from 2 to a quarter of the longest side, where ports begin to limit."""
    most = max(-(-side // 4), 1)
    return [c for c in range(2, most + 1) if c <= EVERY or c == most or c & (c - 1) == 0]


def _message_s(machine: Machine, size: int) -> float:
    """The time of one message alone: overhead and its bytes at the slower port [s]."""
    costs = machine.costs_for("bounded")
    return float(costs.overhead.at(size)) + size / min(costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps)


def _point(schedule: Schedule, every: int, base: Curve) -> CurvePoint:
    """Loads are counted over whole groups: what may be in flight together."""
    costs = schedule.machine.costs_for(schedule.method)
    offsets = schedule.phase_offsets
    loads = phase_loads(replace(schedule, phase_offsets=np.append(offsets[:-1:every], offsets[-1])))
    terms = predict(schedule, sync=f"barrier:{every}").terms
    groups = -(-schedule.phases // every)
    opened = terms["setup"]  # neither bound saves it
    lower, upper = curve_bounds(
        base.steps, groups, schedule.pattern.ranks - 1, base.barrier_s, base.message_s,
        first_barrier=costs.first_barrier,
    )  # fmt: skip
    receives = int(loads.receive.max(initial=0))
    return CurvePoint(
        schedule.limits.link or 1, every, schedule.phases, groups,
        max(int(loads.send.max(initial=0)), receives), int(loads.link.max(initial=0)),
        terms["synchronization"], opened, terms["transfer"], lower + opened, upper + opened,
        costs.outstanding_receives is None or receives <= costs.outstanding_receives,
    )  # fmt: skip
