"""`conset compare --simulate`.

Each row's predicted time beside what models say, and what this host measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conset.machine.machine import Machine
    from conset.pattern.pattern import Pattern
    from conset.schedule.program import Program
    from conset.schedule.schedule import Schedule
    from conset.studies.compare import Comparison
    from conset.studies.contender import Entry

RANKS_PER_CORE = 32
"""Most ranks that share a core where times are measured: beyond it, an exchange takes minutes."""
REPEAT = 5
"""Repetitions that are timed; the median counts."""


@dataclass(frozen=True)
class TimingOptions:
    """What stands beside the prediction.

    Attributes:
        models: that simulate; () for none.
        measure: whether each schedule is run over MPI on this host.
    """

    models: tuple[str, ...] = ()
    measure: bool = False

    def __bool__(self) -> bool:
        return bool(self.models) or self.measure


def parse_timing_options(
    simulate: bool, models: str | None, measure: bool, pairs: Sequence[tuple[Pattern, Machine]]
) -> TimingOptions:
    """What the options ask for.

    `--models` means `--simulate`, whose models are those of all machines.

    Raises:
        UsageError: an unknown model. InputError: more ranks than this host can measure.
    """
    from conset.studies.times import parse_models

    named: dict[str, None] = {}
    for pattern, machine in pairs:
        if measure:
            require_cores(pattern.ranks)
        if simulate or models is not None:
            named |= dict.fromkeys(parse_models(models, machine))
    return TimingOptions(tuple(named), measure)


def require_cores(ranks: int) -> None:
    """Raises `InputError` where this host has too few cores to measure so many ranks."""
    import os

    from conset.base.errors import InputError

    cores = len(os.sched_getaffinity(0))
    if ranks > cores * RANKS_PER_CORE:
        raise InputError(
            f"--measure: {ranks} ranks on the {cores} cores of this host, at most "
            f"{cores * RANKS_PER_CORE} "
            f"({RANKS_PER_CORE} a core) are measured"
        )


def complete(result: Comparison, timing: TimingOptions, machine: Machine) -> Comparison:
    """Return the rows with what was measured of each, if asked for, and the errors of all times."""
    from conset.cli.output import progress

    def measured(entry: Entry) -> dict[str, Any] | None:
        if not timing.measure:
            return None
        schedule = entry.whole
        with progress(
            f"running {schedule.method} under {schedule.sync} on {schedule.pattern.ranks} ranks"
        ):
            return measure(schedule, entry.program)

    return result.with_errors(machine, measured)


def measure(schedule: Schedule, program: Program | None = None) -> dict[str, Any]:
    """What running a schedule or a program over MPI takes here, and on what it was run.

    Raises:
        UsageError: no MPI. ExecutionError: the job did not end. VerificationError: bytes arrived
            wrong.
    """
    from conset.base.errors import VerificationError
    from conset.base.units import count_of
    from conset.execution.run import run_program, run_schedule

    result = (
        run_schedule(schedule, repeat=REPEAT)
        if program is None
        else run_program(program, repeat=REPEAT)
    )
    if result.mismatches:
        raise VerificationError(
            f"{schedule.method} under {schedule.sync}: {result.mismatches:,} wrong bytes over MPI"
        )
    where = (
        f"{count_of(result.cores, 'core')} of this host" if result.one_machine else "several hosts"
    )
    note = (
        f"{result.ranks} ranks on {where} by {result.mpi}, median of {result.repeat}; "
        f"not {schedule.machine.name}, which is what is predicted and simulated"
    )
    return {
        "median_s": result.median_s,
        "min_s": min(result.times_s["schedule"]),
        "repeat": result.repeat,
        "ranks": result.ranks,
        "mpi": result.mpi,
        "cores": result.cores,
        "one_machine": result.one_machine,
        "bytes_checked": result.bytes_checked,
        "note": note,
    }
