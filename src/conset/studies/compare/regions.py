"""Regions: which method is best over density and message size, or over machine and message size.

As the Wang-Ranka text's Figure 5: for every degree d the pattern is drawn a few times, each drawing
compiled once by each method; phases do not depend on size where all sizes are equal, so each
schedule takes its time at every size under the policies that can be its best
(`conset.compilation`). As Figure 11 of Bokhari and Nicol: for complete exchanges on machines of
several sizes; a method that keeps a limit of contention is compiled at all that are worth a try.
Times are those of the machine's model, of another, or of the formula, which also stands in above a
counted size. A cell takes the least mean time; among equals the least predicted with a barrier
after every phase, as `auto` does; its margin is how much longer the next method takes. A schedule
that is used R times before the next compile carries the R-th part of the time its compile took here
and now; R = ∞ is the text's figure. References: Wang, Ranka: Scheduling of unstructured
communication on the Intel iPSC/860, Figure 5; Bokhari, Nicol: Balancing contention and
synchronization on the Intel Paragon (1997), Figure 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from conset.base.errors import InputError, NoScheduleError
from conset.base.progress import counted
from conset.compilation.auto import best_trial
from conset.compilation.candidates import CANDIDATES, contentions
from conset.compilation.options import AUTO, FORMULA, CompileOptions, check_ranking
from conset.compilation.pipeline import compile_pattern
from conset.compilation.ranking import require_affordable
from conset.compilation.trial import REL_TOL
from conset.machine.machine import Machine
from conset.models.formula import predict
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.schedule import Schedule
from conset.studies.compare.rows import Watch, contention_of, quiet
from conset.studies.compare.times import deciding

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
        rank_by: `formula`, or the model that says what methods take.
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


Timed = tuple[float, float, str, "int | None"]
"""Time and predicted time with barriers [s], policy, contention."""


@dataclass(frozen=True)
class RegionOptions:
    """How one method is compiled and timed; attributes as the arguments of `chart_regions`.

    With `own` the machine's model of each method says its times.
    """

    options: CompileOptions
    policies: Sequence[str]
    rank_by: str
    reuse: float
    own: bool = False
    sweep_link_limit: bool = False


def degrees_of(ranks: int) -> tuple[int, ...]:
    """Powers of two from 4 (or 1, where ranks are few) to half the ranks, and three quarters.

    The text's densities.
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
    watch: Watch | None = None,
) -> Regions:
    """The best of `methods` for patterns of `generator` over degrees and sizes.

    Args:
        generator: a pattern with an argument `degree`, by its name.
        machine: what it costs.
        methods: names in the table.
        options: options of every compile.
        policies: the only ones to take, of all methods or by method; without any those that can be
            the best.
        rank_by: `formula`, or the model by which every schedule is simulated: `flow`, `wormhole`,
            `circuit`; None: the machine's, for which the formula stands in where the densest
            pattern is too large.
        reuse: uses of a schedule for each compile.
        sizes: [B].
        watch: called with what is done next.

    Raises:
        UsageError: an unknown model, or more messages than the one that was asked for ranks.
        InputError: none of the methods applies to a pattern; says why the first does not.
    """
    check_ranking(rank_by)
    ranks = machine.topology.endpoints * options.ranks_per_node
    degrees = degrees_of(ranks)
    if not degrees:
        raise InputError(f"{machine.name}: a map needs at least 2 ranks, given {ranks}")
    densest = _drawings(generator, machine, options, degrees[-1])[0]
    require_affordable(densest, rank_by, options.effort)
    model, stands_in = deciding(machine, rank_by, densest.messages, options.effort)

    def drawn() -> Iterator[Row]:
        for degree in counted(degrees):
            yield Row(
                f"degree {degree}", degree, machine, _drawings(generator, machine, options, degree)
            )

    common = RegionOptions(options, (), model, reuse, own=rank_by is None and model != FORMULA)
    return replace(
        _chart(drawn(), methods, common, policies, tuple(sizes), watch or quiet),
        stands_in=stands_in,
    )


def chart_exchanges(
    machines: Sequence[Machine],
    methods: Sequence[str],
    options: CompileOptions,
    *,
    policies: PolicyChoice = (),
    rank_by: str | None = None,
    reuse: float = inf,
    sizes: Sequence[int] = SIZES,
    watch: Watch | None = None,
) -> Regions:
    """The best of `methods` for complete exchanges over machines and sizes.

    Arguments and errors as `chart_regions`.
    """
    check_ranking(rank_by)
    largest = machines[-1]
    ranks = largest.topology.endpoints * options.ranks_per_node
    if ranks < 2:
        raise InputError(f"{largest.name}: a map needs at least 2 ranks, given {ranks}")
    whole = parse_pattern("alltoall:size=1", topology=largest.topology, ranks=ranks)
    require_affordable(whole, rank_by, options.effort)
    model, stands_in = deciding(largest, rank_by, whole.messages, options.effort)

    def exchanges() -> Iterator[Row]:
        for machine in counted(machines):
            count = machine.topology.endpoints * options.ranks_per_node
            pattern = parse_pattern("alltoall:size=1", topology=machine.topology, ranks=count)
            yield Row(machine.name, count - 1, machine, [pattern])

    own = rank_by is None and model != FORMULA
    common = RegionOptions(
        options, (), model, reuse, own, sweep_link_limit=not options.has_user_limits
    )
    regions = _chart(exchanges(), methods, common, policies, tuple(sizes), watch or quiet)
    return replace(
        regions, stands_in=stands_in, machines=tuple(machine.name for machine in machines)
    )


@dataclass(frozen=True, eq=False)
class Row:
    """A row to be: what is done, messages of a rank, the machine, the drawings."""

    name: str
    degree: int
    machine: Machine
    patterns: Sequence[Pattern]


def _chart(
    rows: Iterable[Row],
    methods: Sequence[str],
    common: RegionOptions,
    policies: PolicyChoice,
    sizes: tuple[int, ...],
    watching: Watch,
) -> Regions:
    left, skipped = list(methods), {}
    done: list[tuple[Row, list[dict[str, Timed]]]] = []
    for row in rows:
        times: list[dict[str, Timed]] = [{} for _ in sizes]
        for method in counted(tuple(left)):
            options = replace(common.options, method=method)
            ways = replace(common, options=options, policies=_policies_of(policies, method))
            with watching(f"{row.name} by {method}"):
                try:
                    found = _times(row.patterns, row.machine, ways, sizes)
                except (InputError, NoScheduleError) as error:
                    left.remove(method)
                    skipped[method] = str(error)
                    continue
            for column, timed in enumerate(found):
                times[column][method] = timed
        done.append((row, times))
    if not left:
        raise InputError(next(iter(skipped.values())))
    cells = [
        _cell(row, size, {method: times[column][method] for method in left})
        for row, times in done
        for column, size in enumerate(sizes)
    ]
    own = {method: tuple(_policies_of(policies, method)) for method in left}
    refused = tuple({"method": method, "reason": reason} for method, reason in skipped.items())
    degrees = tuple(row.degree for row, _ in done)
    return Regions(
        degrees, sizes, tuple(left), common.reuse, tuple(cells), refused, common.rank_by, own
    )


def _drawings(
    generator: str, machine: Machine, options: CompileOptions, degree: int
) -> list[Pattern]:
    ranks = machine.topology.endpoints * options.ranks_per_node
    return [
        parse_pattern(
            f"{generator}:degree={degree},size=1", topology=machine.topology, ranks=ranks, seed=seed
        )
        for seed in range(options.seed, options.seed + SAMPLES)
    ]


def _policies_of(policies: PolicyChoice, method: str) -> Sequence[str]:
    chosen = policies.get(method, ()) if isinstance(policies, Mapping) else policies
    return () if AUTO in chosen else chosen


def _times(
    patterns: Sequence[Pattern], machine: Machine, ways: RegionOptions, sizes: Sequence[int]
) -> list[Timed]:
    """What one method takes at each size, means over the patterns."""
    each: list[list[Timed]] = []
    for pattern in patterns:
        schedules = [
            compile_pattern(pattern, machine, options)
            for options in _options_of(pattern, machine, ways)
        ]
        each.append(
            [min((_time(s, ways, size) for s in schedules), key=_rounded) for size in sizes]
        )
    return [
        (
            float(np.mean([t[0] for t in column])),
            float(np.mean([t[1] for t in column])),
            *column[0][2:],
        )
        for column in zip(*each, strict=True)
    ]


def _rounded(timed: Timed) -> float:
    """Sums in another order are one time: the first of equals."""
    return float(f"{timed[0]:.9g}")


def _options_of(pattern: Pattern, machine: Machine, ways: RegionOptions) -> list[CompileOptions]:
    """One for each limit of contention that is worth a try, where a map is to find it."""
    listed = [
        candidate
        for candidate in CANDIDATES
        if candidate.method == ways.options.method and candidate.sweep_link_limit
    ]
    if not ways.sweep_link_limit or not listed:
        return [ways.options]
    tried = contentions(listed[0], pattern, machine)
    return [replace(ways.options, contention=contention) for contention in tried]


def _time(schedule: Schedule, ways: RegionOptions, size: int) -> Timed:
    share = (
        0.0
        if ways.reuse == inf or schedule.report is None
        else schedule.report.compile_s / ways.reuse
    )
    schedule = _resized(schedule, ways.options, size)
    effort = ways.options.effort
    rank_by = None if ways.own else ways.rank_by
    trials = [
        best_trial(schedule, sync, rank_by=rank_by, effort=effort)
        for sync in ways.policies or (None,)
    ]
    best = min(trials, key=lambda trial: trial.time_s)
    waiting = predict(schedule, sync="barrier").time_s
    return best.time_s + share, waiting + share, best.sync, contention_of(schedule)


def _resized(schedule: Schedule, options: CompileOptions, size: int) -> Schedule:
    """The same phases with messages of `size` bytes.

    Compiled again where the phases depend on sizes.
    """
    pattern = schedule.pattern
    pattern = replace(pattern, size=np.broadcast_to(np.int64(size), pattern.messages))
    if schedule.parts is not None or schedule.timetable is not None:
        return compile_pattern(pattern, schedule.machine, options)
    return replace(schedule, pattern=pattern)


def _cell(row: Row, size: int, times: dict[str, Timed]) -> Cell:
    least = min(timed[0] for timed in times.values()) * REL_TOL
    equals = [method for method in times if times[method][0] <= least]
    best = min(equals, key=lambda method: times[method][1])
    others = sorted(
        (method for method in times if method != best), key=lambda method: times[method][:2]
    )
    time, _, sync, contention = times[best]
    second = others[0] if others else ""
    margin = max(times[second][0] / time - 1, 0.0) if others and time > 0 else 0.0
    margin = 0.0 if margin < REL_TOL - 1 else margin
    spread = {method: times[method][0] for method in times}
    return Cell(
        row.degree, size, best, sync, time, second, margin, spread, contention, row.machine.name
    )
