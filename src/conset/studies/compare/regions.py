"""Regions: which method is best over density and message size, or over machine and message size.

As the Wang-Ranka text's Figure 5: for every degree d the pattern is drawn a few times, each drawing
compiled once by each method; phases do not depend on size where all sizes are equal, so each
schedule takes its time at every size under the policies that can be its best
(`conset.compilation`). As Figure 11 of Bokhari and Nicol: for complete exchanges on machines of
several sizes; a method that keeps a limit of contention is compiled at all that are worth a try.
Times are those of the machine's model, of another, or of the formula, which is also used above a
counted size. A cell takes the least mean time; among equals the least predicted with a barrier
after every phase, as `auto` does; its margin is how much longer the next method takes. A schedule
that is used R times before the next compile carries the R-th part of the time its compile took here
and now; R = ∞ is the text's figure.
References: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Figure 5;
Bokhari, Nicol: Balancing contention and synchronization on the Intel Paragon (1997), Figure 11.

What a complete exchange takes as contention is traded for synchronization.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from conset.base import InputError, NoScheduleError, counted, workers
from conset.bounds import bound_schedule
from conset.compilation import (
    AUTO,
    FORMULA,
    REL_TOL,
    THREADS,
    CompileOptions,
    allowed_work,
    best_trial,
    check_ranking,
    compile_pattern,
    contentions,
    ranking_of,
    require_affordable,
    sweeps_link_limit,
)
from conset.machine import Machine, synchronization_s
from conset.models import Workload, predict
from conset.pattern import Pattern, parse_pattern
from conset.schedule import Schedule, phase_loads
from conset.studies.compare.comparison import Watch, quiet
from conset.studies.contender import Entry, under
from conset.studies.times import check_by, deciding, time_by

SIZES = tuple(1 << k for k in range(4, 18))
"""Message sizes [B]: 16 B to 128 KiB, the axes of the text's figures."""
SAMPLES = 3
"""Drawings of each degree; the text took 50."""
PolicyChoice = Sequence[str] | Mapping[str, Sequence[str]]
"""The policies that may be taken, by all methods or by each one named.

Of a method without any, or `auto`, its best.
"""


@dataclass(frozen=True)
class Cell:
    """The best method at one degree and size.

    Attributes:
        degree: messages every rank sends and receives.
        size: of each [B].
        method: with the least time.
        sync: the policy of its first drawing.
        time_s: mean over drawings, predicted or simulated, with its share of the compile [s].
        second: the next method, or "" where only one applies.
        margin: how much longer `second` takes, as a share of `time_s`; 0 for equals.
        times: method → time [s].
        contention: the limit of a link that the method's first drawing keeps; None without one.
        machine: its name.
    """

    degree: int
    size: int
    method: str
    sync: str
    time_s: float
    second: str
    margin: float
    times: dict[str, float]
    contention: int | None = None
    machine: str = ""


@dataclass(frozen=True)
class Regions:
    """A chart of the best methods.

    Attributes:
        degrees: of each row.
        sizes: columns [B].
        methods: those that apply everywhere, in the order given.
        reuse: how often a schedule is used before the next compile; infinite for the text's figure.
        cells: row by row.
        skipped: `method` and `reason` of each that does not apply.
        rank_by: `formula`, or the model that predicts the methods.
        policies: method → the only policies it was to take; a method without any took its best.
        stands_in: why that is the formula and not the machine's model, if so.
        machines: of each row, where that is what rows differ in; else ().
    """

    degrees: tuple[int, ...]
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    reuse: float
    cells: tuple[Cell, ...]
    skipped: tuple[dict[str, str], ...] = ()
    rank_by: str = FORMULA
    policies: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    stands_in: str = ""
    machines: tuple[str, ...] = ()

    def cell(self, row: int, column: int) -> Cell:
        """The cell of `degrees[row]` and `sizes[column]`."""
        return self.cells[row * len(self.sizes) + column]

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return {
            "degrees": list(self.degrees),
            "sizes": list(self.sizes),
            "methods": list(self.methods),
            "reuse": "inf" if self.reuse == inf else self.reuse,
            "samples": SAMPLES,
            "rank_by": self.rank_by,
            "stands_in": self.stands_in or None,
            "machines": list(self.machines) or None,
            "policies": {method: list(names) for method, names in self.policies.items() if names},
            "cells": [self._cell_object(cell) for cell in self.cells],
        }

    def _cell_object(self, cell: Cell) -> dict[str, Any]:
        """The cell with its time under the name of what it is."""
        name = "predicted_s" if self.rank_by == FORMULA else "simulated_s"
        return {name if key == "time_s" else key: value for key, value in asdict(cell).items()}


class Timed(NamedTuple):
    """Time of a method at one size.

    Attributes:
        time_s: mean over drawings, with its share of the compile [s].
        waiting_s: predicted with a barrier after every phase [s].
        sync: the policy of the first drawing.
        contention: the limit of a link of the first drawing; None without one.
    """

    time_s: float
    waiting_s: float
    sync: str
    contention: int | None


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the chart: its name, messages of a rank, the machine, a factory of its drawings."""

    name: str
    degree: int
    machine: Machine
    draw: Callable[[], list[Pattern]]


@dataclass(frozen=True)
class RegionOptions:
    """How one method is compiled and timed.

    Attributes:
        options: options of its compile.
        policies: the only ones to take; without any those that can be the best.
        rank_by: `formula` or a model; None: the machine's model of each method.
        reuse: uses of a schedule for each compile.
        sweep_link_limit: whether every limit of contention that is worth a try is compiled.
    """

    options: CompileOptions
    policies: Sequence[str]
    rank_by: str | None
    reuse: float
    sweep_link_limit: bool


def degrees_of(ranks: int) -> tuple[int, ...]:
    """Return powers of two from 4 (or 1, where ranks are few) to half the ranks.

    And three quarters.

    These are the densities of the paper.
    """
    first = 4 if ranks >= 16 else 1
    powers = [1 << k for k in range(ranks.bit_length()) if first <= 1 << k <= ranks // 2]
    return tuple(sorted({*powers, 3 * ranks // 4} - {0, ranks}))


def chart_regions(
    generator: str,
    machine: Machine,
    methods: Sequence[str],
    options: CompileOptions,
    *,
    policies: PolicyChoice = (),
    rank_by: str | None = None,
    reuse: float = inf,
    sizes: Sequence[int] = SIZES,
    watch: Watch = quiet,
) -> Regions:
    """Return the best of `methods` for patterns of `generator` over degrees and sizes.

    Args:
        generator: a pattern with an argument `degree`, by its name.
        machine: what it costs.
        methods: names in the table.
        options: options of every compile.
        policies: the only ones to take, of all methods or by method; without any those that can be
            the best.
        rank_by: `formula`, or the model by which every schedule is simulated: `flow`, `wormhole`,
            `circuit`; None: the machine's, instead of which the formula is used where the densest
            pattern is too large.
        reuse: uses of a schedule for each compile.
        sizes: [B].
        watch: progress callback.

    Raises:
        UsageError: an unknown model, or more messages than the one that was asked for ranks.
        InputError: none of the methods applies to a pattern; says why the first does not.
    """
    ranks = machine.ranks(options.ranks_per_node)

    def drawings(degree: int) -> list[Pattern]:
        spec = f"{generator}:degree={degree},size=1"
        return [
            parse_pattern(spec, topology=machine.topology, ranks=ranks, seed=options.seed + k)
            for k in range(SAMPLES)
        ]

    rows = [
        Row(f"degree {degree}", degree, machine, partial(drawings, degree))
        for degree in degrees_of(ranks)
    ]
    how = RegionOptions(options, (), rank_by, reuse, sweep_link_limit=False)
    return _chart(rows, machine, methods, how, policies, tuple(sizes), watch)


def chart_exchanges(
    machines: Sequence[Machine],
    methods: Sequence[str],
    options: CompileOptions,
    *,
    policies: PolicyChoice = (),
    rank_by: str | None = None,
    reuse: float = inf,
    sizes: Sequence[int] = SIZES,
    watch: Watch = quiet,
) -> Regions:
    """Return the best of `methods` for complete exchanges over machines and sizes.

    Arguments and errors as `chart_regions`.
    """

    def exchange(machine: Machine, ranks: int) -> list[Pattern]:
        return [parse_pattern("alltoall:size=1", topology=machine.topology, ranks=ranks)]

    counts = [machine.ranks(options.ranks_per_node) for machine in machines]
    rows = [
        Row(machine.name, ranks - 1, machine, partial(exchange, machine, ranks))
        for machine, ranks in zip(machines, counts, strict=True)
    ]
    how = RegionOptions(options, (), rank_by, reuse, not options.has_user_limits)
    rows_with_ranks = rows if counts[-1] > 1 else []
    regions = _chart(rows_with_ranks, machines[-1], methods, how, policies, tuple(sizes), watch)
    return replace(regions, machines=tuple(machine.name for machine in machines))


def _chart(
    rows: Sequence[Row],
    largest: Machine,
    methods: Sequence[str],
    how: RegionOptions,
    policies: PolicyChoice,
    sizes: tuple[int, ...],
    watch: Watch,
) -> Regions:
    """Return the chart of rows, the last of which has most messages, on the largest machine."""
    rank_by, effort = how.rank_by, how.options.effort
    check_ranking(rank_by)
    if not rows:
        ranks = largest.ranks(how.options.ranks_per_node)
        raise InputError(f"{largest.name}: a map needs at least 2 ranks, given {ranks}")
    most = rows[-1].draw()[0]
    require_affordable(most, rank_by, effort)
    model, stands_in = deciding(largest, rank_by, most.messages, effort)
    own = {
        method: () if AUTO in chosen else tuple(chosen)
        for method in methods
        for chosen in [policies.get(method, ()) if isinstance(policies, Mapping) else policies]
    }
    skipped: dict[str, str] = {}
    times: list[dict[str, list[Timed]]] = []
    for row in counted(rows):
        patterns = row.draw()
        times.append({})
        for method in counted([method for method in methods if method not in skipped]):
            ways = replace(
                how,
                options=replace(how.options, method=method),
                policies=own[method],
                rank_by=FORMULA if model == FORMULA else rank_by,
            )
            with watch(f"{row.name} by {method}"):
                try:
                    times[-1][method] = _times(patterns, row.machine, ways, sizes)
                except (InputError, NoScheduleError) as error:
                    skipped[method] = str(error)
    left = tuple(method for method in methods if method not in skipped)
    if not left:
        raise InputError(next(iter(skipped.values())))
    return Regions(
        tuple(row.degree for row in rows),
        sizes,
        left,
        how.reuse,
        tuple(
            _cell(row, size, {method: timed[method][column] for method in left})
            for row, timed in zip(rows, times, strict=True)
            for column, size in enumerate(sizes)
        ),
        tuple({"method": method, "reason": reason} for method, reason in skipped.items()),
        model,
        {method: own[method] for method in left},
        stands_in,
    )


def _times(
    patterns: Sequence[Pattern], machine: Machine, ways: RegionOptions, sizes: Sequence[int]
) -> list[Timed]:
    """Return what one method takes at each size, means over the patterns."""
    by_pattern: list[list[Timed]] = []
    method = ways.options.method
    for pattern in patterns:
        tried = [ways.options]
        if ways.sweep_link_limit and sweeps_link_limit(method):
            limits = contentions(method, pattern, machine)
            tried = [replace(ways.options, contention=contention) for contention in limits]
        schedules = [compile_pattern(pattern, machine, options) for options in tried]
        # sums in another order are one time: the first of equals
        by_pattern.append(
            [
                min(
                    (_time(schedule, ways, size) for schedule in schedules),
                    key=lambda timed: float(f"{timed.time_s:.9g}"),
                )
                for size in sizes
            ]
        )
    return [
        column[0]._replace(
            time_s=float(np.mean([timed.time_s for timed in column])),
            waiting_s=float(np.mean([timed.waiting_s for timed in column])),
        )
        for column in zip(*by_pattern, strict=True)
    ]


def _time(schedule: Schedule, ways: RegionOptions, size: int) -> Timed:
    share = 0.0
    if ways.reuse != inf and schedule.report is not None:
        share = schedule.report.compile_s / ways.reuse
    sent = replace(
        schedule.pattern, size=np.broadcast_to(np.int64(size), schedule.pattern.messages)
    )
    if schedule.parts is not None or schedule.timetable is not None:  # phases depend on sizes
        schedule = compile_pattern(sent, schedule.machine, ways.options)
    else:
        schedule = replace(schedule, pattern=sent)
    trials = [
        best_trial(schedule, sync, rank_by=ways.rank_by, effort=ways.options.effort)
        for sync in ways.policies or (None,)
    ]
    best = min(trials, key=lambda trial: trial.time_s)
    waiting_s = predict(schedule, sync="barrier").time_s
    return Timed(best.time_s + share, waiting_s + share, best.sync, Entry(schedule).contention)


def _cell(row: Row, size: int, times: Mapping[str, Timed]) -> Cell:
    least = min(timed.time_s for timed in times.values()) * REL_TOL
    equals = [method for method in times if times[method].time_s <= least]
    best = min(equals, key=lambda method: times[method].waiting_s)
    others = sorted(
        (method for method in times if method != best), key=lambda method: times[method][:2]
    )
    chosen = times[best]
    second = others[0] if others else ""
    margin = 0.0
    if others and chosen.time_s > 0:
        margin = max(times[second].time_s / chosen.time_s - 1, 0.0)
    return Cell(
        row.degree,
        size,
        best,
        chosen.sync,
        chosen.time_s,
        second,
        0.0 if margin < REL_TOL - 1 else margin,
        {method: timed.time_s for method, timed in times.items()},
        chosen.contention,
        row.machine.name,
    )


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
    unlimited = replace(options, contention=None, channels=None, limits=None, rank_by=None)
    # schedules are compared, each under several policies
    options = replace(unlimited, method="bounded", sync="barrier")
    pairs = list(_pairs(pattern, machine, options, watch))
    naive = compile_pattern(pattern, machine, replace(options, method="naive", sync="none"))
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
