"""What a complete exchange takes as contention is traded for synchronization.

003, sections 5 to 7.

A point is a pair: a limit of contention on links, and a number of phases between two barriers. Up
to contention ⌈n/4⌉ on a side of n nodes steps merge into one phase, in which a node still sends and
receives once; phases that share a barrier let a node have several messages in flight. The text goes
along one line, first to contention ⌈n/4⌉, then to more phases a barrier. Here all pairs are
searched together, at several message sizes: fewer messages on a link in flight at once may be worth
a barrier, and more phases a barrier may be worth contention.

Times are those of the machine's model, which sees messages block each other; the formula is given
beside each, and is used above a counted size. The lower bound is `conset.bounds`' for schedules
of that contention under those barriers.

The text draws two lines into its Figures 12 to 15 that it calls bounds, from S steps without
contention, a barrier B for each of G groups, and the time M of a message alone: most = G·B + S·M
merging saves barriers only: messages on one link go one after the other least = G·B + max(L, G)·M
contention on links costs nothing, a node sends its messages one after the other L is how many steps
a node needs for its own messages: the text counts n², the one to itself included; here it is one
less. They are estimates of steps that follow one another, and no bounds: where a node has several
messages in flight, whose overheads and bytes overlap, a simulated or predicted time lies below the
least of them; where messages block each other, or links lose throughput under contention
(`blocking`), it may lie above the most.
Reference: Bokhari, Nicol: Balancing contention and synchronization on the Intel Paragon (1997),
section 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from conset.base import counted, workers
from conset.bounds import bound_schedule
from conset.compilation import (
    FORMULA,
    THREADS,
    CompileOptions,
    allowed_work,
    compile_pattern,
    ranking_of,
)
from conset.machine import Machine, synchronization_s
from conset.models import Workload, predict
from conset.pattern import Pattern
from conset.schedule import Schedule, phase_loads
from conset.studies.compare.comparison import Watch, quiet
from conset.studies.contender import under
from conset.studies.times import check_by, deciding, time_by

EVERY = 16
"""Contentions up to this are all on the curve; of larger ones the powers of two and the last."""


@dataclass(frozen=True)
class CurvePoint:
    """One pair.

    Attributes:
        contention: limit of a link in a phase.
        every: phases from one barrier to the next.
        phases: of the schedule.
        groups: phases that a barrier separates.
        node: most messages that leave or enter a node between two barriers, counted.
        link: most messages on a link between two barriers, counted.
        time_s: by what decides [s]; None where it cannot run so, or was cut.
        untimed: why, or "".
        synchronization_s: of the predicted time [s].
        setup_s: of the predicted time [s].
        transfer_s: of the predicted time [s].
        lower_s: what no schedule of that contention under those barriers takes less than, by any
            model [s].
        serial_least_s: an estimate of serial steps: contention on links costs nothing [s].
        serial_most_s: an estimate of serial steps: merging saves barriers only [s].
        fits: whether a node has room for the receives it posts at once.
    """

    contention: int
    every: int
    phases: int
    groups: int
    node: int
    link: int
    time_s: float | None
    untimed: str
    synchronization_s: float
    setup_s: float
    transfer_s: float
    lower_s: float
    serial_least_s: float
    serial_most_s: float
    fits: bool

    @property
    def predicted_s(self) -> float:
        """All terms of the formula together [s]."""
        return self.synchronization_s + self.setup_s + self.transfer_s

    @property
    def sync(self) -> str:
        """The policy as text."""
        return "barrier" if self.every == 1 else f"barrier:{self.every}"

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return {
            **asdict(self),
            "untimed": self.untimed or None,
            "sync": self.sync,
            "predicted_s": self.predicted_s,
        }


@dataclass(frozen=True)
class Curve:
    """The pairs at one message size, and what they are made of.

    Attributes:
        size: of the largest message [B].
        by: what says their times: a model or `formula`.
        points: by growing contention, then by growing number of phases between barriers.
        steps: S, phases at contention 1.
        barrier_s: B.
        message_s: M.
        naive_s: everything posted at once, without a barrier, by `by`; None where that cannot run,
            or was cut.
        stands_in: why the formula decides in place of the machine's model, if so.
    """

    size: int
    by: str
    points: tuple[CurvePoint, ...]
    steps: int
    barrier_s: float
    message_s: float
    naive_s: float | None
    stands_in: str = ""

    @property
    def best(self) -> CurvePoint:
        """The least time among those that have one and fit, by the formula where none has.

        The first of equals.
        """
        usable = [point for point in self.points if point.fits] or list(self.points)
        return min(
            [point for point in usable if point.time_s is not None] or usable,
            key=lambda point: point.predicted_s if point.time_s is None else point.time_s,
        )

    @property
    def serial(self) -> tuple[CurvePoint, ...]:
        """The text's line: growing contention, then more phases a barrier.

        Contention grows with a barrier after every phase.
        """
        most = max(point.contention for point in self.points)
        return tuple(point for point in self.points if point.every == 1 or point.contention == most)

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return {
            "size": self.size,
            "by": self.by,
            "stands_in": self.stands_in or None,
            "steps": self.steps,
            "barrier_s": self.barrier_s,
            "message_s": self.message_s,
            "naive_s": self.naive_s,
            "best": self.best.to_object(),
            "points": [point.to_object() for point in self.points],
        }


@dataclass(frozen=True, eq=False)
class Pair:
    """A schedule and a number of phases between barriers; what does not depend on the size."""

    schedule: Schedule
    contention: int
    every: int
    node: int
    link: int
    receives: int

    @property
    def sync(self) -> str:
        """The policy as text."""
        return "barrier" if self.every == 1 else f"barrier:{self.every}"


def serial_steps(
    steps: int,
    groups: int,
    least_steps: int,
    barrier_s: float,
    message_s: float,
    *,
    first_barrier: bool = True,
) -> tuple[float, float]:
    """(least, most) [s] of `steps` contention-free steps merged into `groups`.

    One after the other; see the head of the module.
    """
    barriers = (groups if first_barrier else groups - 1) * barrier_s
    return barriers + max(least_steps, groups) * message_s, barriers + steps * message_s


def trace_curve(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    watch: Watch = quiet,
    *,
    by: str | None = None,
) -> Curve:
    """Return the curve of a complete exchange on a mesh or torus at the pattern's own size.

    See `trace_curves`.

    Raises:
        InputError: `bounded` does not apply; names what it requires.
    """
    return trace_curves(pattern, machine, options, watch, by=by)[0]


def trace_curves(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions,
    watch: Watch = quiet,
    *,
    sizes: Sequence[int] = (),
    by: str | None = None,
) -> tuple[Curve, ...]:
    """Return the curves of a complete exchange on a mesh or torus, by `bounded`, at several sizes.

    Args:
        pattern: the exchange.
        machine: what it costs.
        options: options of every compile.
        watch: progress callback.
        sizes: of every message [B]; none: as in the pattern.
        by: what gives the times: a model or `formula`; None: the machine's model, or the formula
            where the pattern is too large for it.

    Raises:
        UsageError: an unknown model.
        InputError: `bounded` does not apply; names what it requires.
    """
    check_by(by)
    unlimited = replace(options, sync=None, contention=None, channels=None, limits=None)
    options = replace(unlimited, method="bounded", rank_by=None)
    pairs = list(_pairs(pattern, machine, options, watch))
    naive = compile_pattern(pattern, machine, replace(options, method="naive"))
    model, stands_in = deciding(machine, by, pattern.messages, options.effort)
    posted_by = model if model == FORMULA else ranking_of(machine, by, "naive")
    most = 0 if model == FORMULA else allowed_work(pattern, model, options.effort)
    costs = machine.costs_for("bounded")
    slowest_Bps = min(costs.port_out_Bps, costs.port_in_Bps, costs.node_Bps)  # noqa: N806
    curves = []
    for size in counted(sizes or (None,)):
        sent = pattern
        if size is not None:
            sent = replace(pattern, size=np.broadcast_to(np.int64(size), pattern.messages))
        largest = int(sent.size.max(initial=0))
        posted = under(replace(naive, pattern=sent), "none")
        base = Curve(
            largest,
            model,
            (),
            pairs[0].schedule.phases,
            synchronization_s(machine, costs),
            float(costs.overhead.at(largest)) + largest / slowest_Bps,
            None,
            stands_in,
        )
        points = _points(base, pairs, sent, most, watch)
        naive_s, _ = time_by(posted, posted_by, most)
        curves.append(replace(base, points=tuple(points), naive_s=naive_s))
    return tuple(curves)


def _pairs(
    pattern: Pattern, machine: Machine, options: CompileOptions, watch: Watch
) -> Iterator[Pair]:
    """Yield every contention that makes fewer phases.

    Each with several numbers of phases a barrier.

    Contentions go up to a quarter of the longest side, where ports begin to limit; phases between
    barriers are the powers of two, up to all phases.
    """
    most = max(-(-max(machine.topology.sides, default=1) // 4), 1)
    tried = [c for c in range(1, most + 1) if c <= EVERY or c == most or c & (c - 1) == 0]
    fewest = None
    for contention in counted(tried):
        with watch(f"scheduling at contention {contention}"):
            schedule = compile_pattern(pattern, machine, replace(options, contention=contention))
        if fewest is not None and schedule.phases >= fewest:
            continue
        fewest = schedule.phases
        powers = (1 << k for k in range(fewest.bit_length()) if 1 << k < fewest)
        for every in (*powers, max(fewest, 1)):
            with watch(f"counting groups of {every} phases at contention {contention}"):
                # whole groups: what may be in flight together
                offsets = np.append(schedule.phase_offsets[:-1:every], schedule.phase_offsets[-1])
                loads = phase_loads(replace(schedule, phase_offsets=offsets))
                receives = int(loads.receive.max(initial=0))
                node = max(int(loads.send.max(initial=0)), receives)
                link = int(loads.link.max(initial=0))
                yield Pair(schedule, schedule.limits.link or 1, every, node, link, receives)


def _points(
    base: Curve, pairs: Sequence[Pair], pattern: Pattern, most: int, watch: Watch
) -> list[CurvePoint]:
    """Return the points of one size; two at a time, as a simulation keeps one core busy."""
    schedules = {id(pair.schedule): replace(pair.schedule, pattern=pattern) for pair in pairs}
    works: dict[int, Workload] = {}
    if base.by != FORMULA:
        works = {key: Workload.of_schedule(schedule) for key, schedule in schedules.items()}

    def point(pair: Pair) -> CurvePoint:
        key = id(pair.schedule)
        schedule = under(schedules[key], pair.sync)
        terms = predict(schedule).terms
        time_s, untimed = time_by(schedule, base.by, most, works.get(key))
        groups = -(-schedule.phases // pair.every)
        opened = terms["setup"]  # merging does not save it
        costs = schedule.machine.costs_for(schedule.method)
        least, upper = serial_steps(
            base.steps,
            groups,
            schedule.pattern.ranks - 1,
            base.barrier_s,
            base.message_s,
            first_barrier=costs.first_barrier,
        )
        return CurvePoint(
            pair.contention,
            pair.every,
            schedule.phases,
            groups,
            pair.node,
            pair.link,
            time_s,
            untimed,
            terms["synchronization"],
            opened,
            terms["transfer"],
            bound_schedule(schedule).time_s,
            least + opened,
            upper + opened,
            costs.outstanding_receives is None or pair.receives <= costs.outstanding_receives,
        )

    points: list[CurvePoint] = []
    with workers(THREADS) as executor:
        for first in counted(range(0, len(pairs), THREADS)):
            with watch(f"{base.size:,} B: pair {first + 1} of {len(pairs)} by {base.by}"):
                points += executor.map(point, pairs[first : first + THREADS])
    return points
