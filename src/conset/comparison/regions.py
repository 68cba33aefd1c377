"""Regions: which method is best over density and message size, as the Wang-Ranka text's Figure 5.

For every degree d the pattern is drawn a few times, each drawing compiled once by each method; phases do not depend on
size where all sizes are equal, so each schedule is predicted at every size under the policies that can be its best
(`conset.choice`), or simulated by a model where one is to rank. A cell takes the least mean time; among equals the
least predicted with a barrier after every phase, as `auto` does; its margin is how much longer the next method takes.
A schedule that is used R times before the next compile carries the R-th part of the time its compile took here and now;
R = ∞ is the text's figure.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from conset.choice import best_trial
from conset.choice.simulated import FORMULA, check_ranking, require_affordable
from conset.choice.trial import REL_TOL
from conset.comparison.curve import Watch
from conset.compiler import AUTO, Request, compile_pattern
from conset.errors import InputError, NoScheduleError
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.prediction import predict
from conset.schedule.schedule import Schedule

SIZES = tuple(1 << k for k in range(4, 18))
"""Message sizes [B]: 16 B to 128 KiB, the axes of the text's figures."""
SAMPLES = 3
"""Drawings of each degree; the text took 50."""
Asked = Sequence[str] | Mapping[str, Sequence[str]]
"""The policies that may be taken, by all methods or by each one named; of a method without any, or `auto`, its best."""


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
    """

    degree: int
    size: int
    method: str
    sync: str
    time_s: float
    second: str
    margin: float
    times: dict[str, float]


@dataclass(frozen=True)
class Regions:
    """A chart of the best methods.

    Attributes:
        degrees: rows.
        sizes: columns [B].
        methods: those that apply everywhere, in the order given.
        reuse: how often a schedule is used before the next compile; infinite for the text's figure.
        cells: row by row.
        skipped: `method` and `reason` of each that does not apply.
        rank_by: `formula`, or the model that says what methods take.
        policies: method → the only policies it was to take; a method without any took its best.
    """

    degrees: tuple[int, ...]
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    reuse: float
    cells: tuple[Cell, ...]
    skipped: tuple[dict[str, str], ...] = ()
    rank_by: str = FORMULA
    policies: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def cell(self, row: int, column: int) -> Cell:
        """The cell of `degrees[row]` and `sizes[column]`."""
        return self.cells[row * len(self.sizes) + column]

    def to_object(self) -> dict[str, Any]:
        """As in `compare --json`."""
        return {
            "degrees": list(self.degrees), "sizes": list(self.sizes), "methods": list(self.methods),
            "reuse": "inf" if self.reuse == inf else self.reuse, "samples": SAMPLES, "rank_by": self.rank_by,
            "policies": {method: list(asked) for method, asked in self.policies.items() if asked},
            "cells": [self._cell_object(cell) for cell in self.cells],
        }  # fmt: skip

    def _cell_object(self, cell: Cell) -> dict[str, Any]:
        """The cell with its time under the name of what it is."""
        name = "predicted_s" if self.rank_by == FORMULA else "simulated_s"
        return {name if key == "time_s" else key: value for key, value in asdict(cell).items()}


@dataclass(frozen=True)
class Ways:
    """How one method is compiled and judged; attributes as the arguments of `chart_regions`."""

    request: Request
    policies: Sequence[str]
    rank_by: str
    reuse: float


def degrees_of(ranks: int) -> tuple[int, ...]:
    """Powers of two from 4 (or 1, where ranks are few) to half the ranks, and three quarters: the text's densities."""
    first = 4 if ranks >= 16 else 1
    powers = [1 << k for k in range(ranks.bit_length()) if first <= 1 << k <= ranks // 2]
    return tuple(sorted({*powers, 3 * ranks // 4} - {0, ranks}))


def chart_regions(
    generator: str,
    machine: Machine,
    methods: Sequence[str],
    request: Request,
    *,
    policies: Asked = (),
    rank_by: str = FORMULA,
    reuse: float = inf,
    sizes: Sequence[int] = SIZES,
    watch: Watch | None = None,
) -> Regions:
    """The best of `methods` for patterns of `generator` over degrees and sizes.

    Args:
        generator: a pattern with an argument `degree`, by its name.
        machine: what it costs.
        methods: names in the table.
        request: options of every compile.
        policies: the only ones to take, of all methods or by method; without any those that can be the best.
        rank_by: `formula`, or the model by which every schedule is simulated: `flow`, `wormhole`, `circuit`.
        reuse: uses of a schedule for each compile.
        sizes: [B].
        watch: called with what is done next.

    Raises:
        UsageError: an unknown model, or more messages than it ranks.
        InputError: none of the methods applies to a pattern; says why the first does not.
    """
    check_ranking(rank_by)
    watching = watch or (lambda what: nullcontext())
    ranks = machine.topology.endpoints * request.ranks_per_node
    degrees = degrees_of(ranks)
    if not degrees:
        raise InputError(f"{machine.name}: a map needs at least 2 ranks, given {ranks}")
    require_affordable(_drawings(generator, machine, request, degrees[-1])[0], rank_by, request.effort)
    left, skipped = list(methods), {}
    rows: list[list[dict[str, tuple[float, float, str]]]] = []
    for degree in degrees:
        row: list[dict[str, tuple[float, float, str]]] = [{} for _ in sizes]
        patterns = _drawings(generator, machine, request, degree)
        for method in tuple(left):
            ways = Ways(replace(request, method=method), _policies_of(policies, method), rank_by, reuse)
            with watching(f"degree {degree} by {method}"):
                try:
                    times = _times(patterns, machine, ways, sizes)
                except (InputError, NoScheduleError) as error:
                    left.remove(method)
                    skipped[method] = str(error)
                    continue
            for column, time in enumerate(times):
                row[column][method] = time
        rows.append(row)
    if not left:
        raise InputError(next(iter(skipped.values())))
    cells = [
        _cell(degree, size, {method: row[column][method] for method in left})
        for degree, row in zip(degrees, rows, strict=True)
        for column, size in enumerate(sizes)
    ]
    asked = {method: tuple(_policies_of(policies, method)) for method in left}
    refused = tuple({"method": method, "reason": reason} for method, reason in skipped.items())
    return Regions(degrees, tuple(sizes), tuple(left), reuse, tuple(cells), refused, rank_by, asked)


def _drawings(generator: str, machine: Machine, request: Request, degree: int) -> list[Pattern]:
    ranks = machine.topology.endpoints * request.ranks_per_node
    return [
        parse_pattern(f"{generator}:degree={degree},size=1", topology=machine.topology, ranks=ranks, seed=seed)
        for seed in range(request.seed, request.seed + SAMPLES)
    ]


def _policies_of(policies: Asked, method: str) -> Sequence[str]:
    asked = policies.get(method, ()) if isinstance(policies, Mapping) else policies
    return () if AUTO in asked else asked


def _times(
    patterns: Sequence[Pattern], machine: Machine, ways: Ways, sizes: Sequence[int]
) -> list[tuple[float, float, str]]:
    """(time, predicted time with barriers, policy) of one method at each size, means over the patterns."""
    each: list[list[tuple[float, float, str]]] = []
    for pattern in patterns:
        schedule = compile_pattern(pattern, machine, ways.request)
        each.append([_time(schedule, ways, size) for size in sizes])
    return [
        (float(np.mean([t[0] for t in column])), float(np.mean([t[1] for t in column])), column[0][2])
        for column in zip(*each, strict=True)
    ]


def _time(schedule: Schedule, ways: Ways, size: int) -> tuple[float, float, str]:
    share = 0.0 if ways.reuse == inf else schedule.compile_s / ways.reuse
    schedule = _resized(schedule, ways.request, size)
    trials = [best_trial(schedule, policy, rank_by=ways.rank_by) for policy in ways.policies or (None,)]
    best = min(trials, key=lambda trial: trial.time_s)
    return best.time_s + share, predict(schedule, sync="barrier").time_s + share, best.sync


def _resized(schedule: Schedule, request: Request, size: int) -> Schedule:
    """The same phases with messages of `size` bytes; compiled again where the phases depend on sizes."""
    pattern = schedule.pattern
    pattern = replace(pattern, size=np.broadcast_to(np.int64(size), pattern.messages))
    if schedule.parts is not None or schedule.timetable is not None:
        return compile_pattern(pattern, schedule.machine, request)
    return replace(schedule, pattern=pattern)


def _cell(degree: int, size: int, times: dict[str, tuple[float, float, str]]) -> Cell:
    least = min(time for time, _, _ in times.values()) * REL_TOL
    equals = [method for method in times if times[method][0] <= least]
    best = min(equals, key=lambda method: times[method][1])
    others = sorted((method for method in times if method != best), key=lambda method: times[method][:2])
    time, _, sync = times[best]
    second = others[0] if others else ""
    margin = max(times[second][0] / time - 1, 0.0) if others and time > 0 else 0.0
    margin = 0.0 if margin < REL_TOL - 1 else margin
    return Cell(degree, size, best, sync, time, second, margin, {method: times[method][0] for method in times})
