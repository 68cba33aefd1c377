"""Choose: whether messages are combined, along which paths, and how the stages are scheduled.

Problem: forwarding saves the start-up of messages and pays in bytes, copies and stages; which wins
depends on pattern, sizes and machine.
Idea: the cost model (`evaluate`) orders all candidates; the best few of them, and sending
everything directly, are compiled, and the machine's model predicts each as a whole, copying
included (`compile_along`). Combining is chosen where it gains more than `WORTH`: it needs memory
and processors that a direct exchange leaves alone.
Guarantee: by what decides not slower than the direct schedule that the same options give.
Complexity: a compile for each of `BOXES` + `MIXES` candidates, and the direct one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from conset import _core
from conset.base import InputError, NoScheduleError, format_time
from conset.compilation.auto import best_trial
from conset.compilation.combining.candidates import candidates
from conset.compilation.combining.compile import compile_along
from conset.compilation.options import AUTO, CompileOptions
from conset.compilation.pipeline import Placement, compile_pattern, placement_of
from conset.machine import Machine
from conset.methods import Candidate, mixed_candidates, parse_combine, paths_of
from conset.pattern import Pattern
from conset.schedule import Manifest, Program, Schedule

BOXES, MIXES = 4, 2
"""Candidates that are compiled per unit of effort, the best ones by the cost model.

The same paths for all, mixed.
"""
HOPEFUL = 1.5
"""Factor over the direct exchange up to which a candidate is compiled.

By the cost model.
"""
WORTH = 0.95
"""What a program may take at most of the direct time to be chosen."""


@dataclass(frozen=True)
class Tried:
    """What was compared.

    Attributes:
        name: as `--combine` says it, or `none`.
        stages: number of stages.
        estimated_s: by the cost model [s]; None where it was not asked.
        time_s: by the machine's model, or by formula where that is used instead [s].
    """

    name: str
    stages: int
    estimated_s: float | None
    time_s: float

    def to_object(self) -> dict[str, Any]:
        """As in `compile --json`."""
        return {
            "combine": self.name,
            "stages": self.stages,
            "estimated_s": self.estimated_s,
            "time_s": self.time_s,
        }


@dataclass(frozen=True, eq=False)
class Combination:
    """What a compile with `--combine` found.

    Attributes:
        combine: the word for it; `none`: every message directly.
        program: its stages; of one stage where nothing is combined.
        whole: the program as one schedule, with the report on how it was found.
        tried: what was compared, the least time first; empty where nothing was to be chosen.
    """

    combine: str
    program: Program
    whole: Schedule
    tried: tuple[Tried, ...] = ()

    @property
    def why(self) -> str:
        """The comparison in one sentence; "" where there was none."""
        if len(self.tried) < 2:
            return ""
        other = next(
            each for each in self.tried if (each.name == "none") != (self.combine == "none")
        )
        own = next(each for each in self.tried if each.name == self.combine)
        names = [
            "sending every message directly" if name == "none" else name
            for name in (own.name, other.name)
        ]
        return (
            f"{names[0]}: {format_time(own.time_s)} against {format_time(other.time_s)} "
            f"by {names[1]}"
        )


def compile_combined(
    pattern: Pattern,
    machine: Machine,
    options: CompileOptions | None = None,
    combine: str = AUTO,
    *,
    manifest: Manifest | None = None,
) -> Combination:
    """A program that delivers `pattern` in stages, or directly where that is as good.

    Args:
        pattern: the messages.
        machine: what it is for.
        options: as of `compile_pattern`, for every stage.
        combine: a value of `--combine`: `none`, `auto`, sides `K1xK2`, `radix:R`, `node-aware`,
            `virtual-grid:K1xK2`, `mixed`.
        manifest: how it is made.

    Raises:
        UsageError: an unknown word. InputError: words that do not fit the ranks; and as
            `compile_pattern`.
    """
    options = options or CompileOptions()
    manifest = manifest or Manifest(seed=options.seed)
    wanted = parse_combine(combine)
    if wanted.kind == "none" or not pattern.messages:
        return _direct(pattern, machine, options, manifest)
    if pattern.before is not None:
        raise InputError(
            f"combine {combine}: messages of {pattern.name} have an order, which stages do not keep"
        )
    if wanted.kind == AUTO:
        return _choose(pattern, machine, options, manifest)
    placement = placement_of(pattern, machine, options)
    paths = paths_of(wanted, pattern, machine, placement)
    return Combination(str(wanted), *compile_along(paths, machine, options, placement, manifest))


def _direct(
    pattern: Pattern, machine: Machine, options: CompileOptions, manifest: Manifest
) -> Combination:
    schedule = compile_pattern(pattern, machine, options, manifest=manifest)
    return Combination("none", Program.of(schedule), schedule)


def _choose(
    pattern: Pattern, machine: Machine, options: CompileOptions, manifest: Manifest
) -> Combination:
    """The least time of the direct schedule and of the best candidates."""
    direct = _direct(pattern, machine, options, manifest)
    placement = direct.whole.placement
    found = [(direct, Tried("none", 1, None, time_of(direct.whole, options)))]
    for candidate in _hopeful(pattern, machine, placement, options):
        if _core.stop_asked():
            break
        try:
            program, whole = compile_along(candidate.paths, machine, options, placement, manifest)
        except (InputError, NoScheduleError):
            continue
        seconds = candidate.estimate.time_s, time_of(whole, options)
        found.append(
            (
                Combination(candidate.name, program, whole),
                Tried(candidate.name, candidate.paths.stages, *seconds),
            )
        )
    least, best = min(found[1:], key=lambda each: each[1].time_s, default=found[0])
    chosen = least if best.time_s <= WORTH * found[0][1].time_s else direct
    order = sorted((each for _, each in found), key=lambda each: each.time_s)
    return replace(chosen, tried=tuple(order))


def _hopeful(
    pattern: Pattern, machine: Machine, placement: Placement, options: CompileOptions
) -> list[Candidate]:
    """The candidates that may win, the least estimate first.

    A few of each kind, as estimates see no contention.
    """
    every = candidates(pattern, machine, placement)
    direct_s = min(each.estimate.time_s for each in every if each.paths.stages == 1)
    mixes = sorted(
        mixed_candidates(pattern, machine, placement, seed=options.seed, effort=options.effort),
        key=lambda each: each.estimate.time_s,
    )
    boxes = _distinct(each for each in every if each.paths.stages > 1)
    chosen = [*islice(boxes, BOXES * options.effort)]
    chosen += islice(_distinct(mixes, chosen), MIXES * options.effort)
    hopeful = [each for each in chosen if each.estimate.time_s <= HOPEFUL * direct_s]
    return sorted(hopeful, key=lambda each: each.estimate.time_s)


def _distinct(found: Iterable[Candidate], known: Iterable[Candidate] = ()) -> Iterator[Candidate]:
    """The first of those with the same paths, and with none that is known."""
    seen = {each.paths.positions.tobytes() for each in known}
    for each in found:
        key = each.paths.positions.tobytes()
        if key not in seen:
            seen.add(key)
            yield each


def time_of(schedule: Schedule, options: CompileOptions) -> float:
    """What decides of a schedule.

    As it was simulated when it was chosen, else by what ranks [s].
    """
    if schedule.report is not None and schedule.report.simulated_s is not None:
        return schedule.report.simulated_s
    return best_trial(
        schedule, schedule.sync, rank_by=options.rank_by, effort=options.effort
    ).time_s
