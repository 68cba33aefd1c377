"""Run: executes a schedule or a program beside its baselines.

Or many plans beside each other, over MPI.

The parent's side: plans and orders for the ranks, which `conset.execution.measure` carries out, and
what they found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

import numpy as np

from conset.base import UsageError, count_of
from conset.execution.connection_entries import connection_entries, keeps_order
from conset.execution.job import (
    CONNECTED,
    DIRECT,
    SCHEDULE,
    Given,
    TimedResult,
    check_measuring,
    in_job,
    run_job,
)
from conset.execution.plan import Plan
from conset.execution.planner import make_plan, plan_baseline
from conset.execution.stopping import Ratio, Stopping
from conset.models import SwitchParts
from conset.pattern import Pattern
from conset.schedule import Compiled, InFlight, Program, Sync

VARIANTS = (SCHEDULE, "naive", "alltoallv", "neighbor_alltoallv")
"""What every run executes, in the order of its table."""
DEFAULT_REPEAT = 20
"""Timed repetitions unless asked otherwise."""
_TASK = "conset.execution.measure:measure_plans"


@dataclass(frozen=True, kw_only=True)
class RunResult(TimedResult):
    """Times of a schedule and its baselines in one job, and the check of every byte.

    Times are by variant: `VARIANTS`, and `CONNECTED` of programs of blocks.

    Attributes:
        sync: the policy that was executed.
        in_flight: sends a rank kept open at once; None: all.
        phases: of the schedule; of a program of blocks those that it executes.
        stages: of a program, repetitions counted; None: a schedule was run.
        work_bytes: largest work area of a rank [B], where it puts bundles together and takes them
            apart.
        switch: of a program of blocks run through connections: its switches in their parts, of each
            repetition the slowest rank's, in the median; None: of anything else.
    """

    sync: str
    in_flight: int | None
    phases: int
    stages: int | None = None
    work_bytes: int = 0
    switch: SwitchParts | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        """What was executed, in the order of the table."""
        return (
            VARIANTS if CONNECTED not in self.times_s else (VARIANTS[0], CONNECTED, *VARIANTS[1:])
        )

    @property
    def repeat(self) -> int:
        """Repetitions that were timed."""
        return len(self.times_s["schedule"])

    @property
    def median_s(self) -> float:
        """Median time of the schedule [s]."""
        return self.median_of("schedule")

    def median_of(self, variant: str) -> float:
        """Median time of a variant [s]."""
        return float(np.median(self.times_s[variant]))

    def ratio_of(self, variant: str) -> Ratio:
        """Time of a variant over that of naive."""
        return Ratio.of(self.times_s[variant], self.times_s["naive"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the times do and do not say, in sentences."""
        notes = (
            (
                self.one_machine and self.ratio_of("schedule").high >= 1,
                "On one machine there is no network to contend for, unless namespaces make one: "
                "the naive exchange is usually fastest here; what this proves is correctness and "
                "overhead.",
            ),
            (
                self.local_ranks > self.cores,
                f"{self.local_ranks} ranks share {count_of(self.cores, 'core')}: waiting, and "
                "above all barriers, measures the operating system's scheduler.",
            ),
            (
                self.stages is not None,
                "The baselines send the messages of the program directly, stage by stage where "
                "they are its own; naive with persistent requests, as the program.",
            ),
            (
                self.switch is not None,
                "Through connections every phase of every repetition ends, and contexts are "
                "switched; as one schedule the program has one phase for what follows in one "
                "context. Every end of a phase waits for its drain.",
            ),
            (
                not self.one_machine,
                "On several hosts: where they have no common clock, a time is the longest of "
                "the ranks' own.",
            ),
        )
        return tuple(text for applies, text in notes if applies)

    def to_object(self) -> dict[str, Any]:
        """As `conset run --json` prints it."""
        return {
            "ranks": self.ranks,
            "mpi": self.mpi,
            "sync": self.sync,
            "in_flight": "all" if self.in_flight is None else self.in_flight,
            "phases": self.phases,
            **(
                {}
                if self.stages is None
                else {"stages": self.stages, "work_bytes": self.work_bytes}
            ),
            "repeat": self.repeat,
            "median_s": self.median_s,
            "min_s": min(self.times_s["schedule"]),
            **{f"{name}_median_s": self.median_of(name) for name in self.variants[1:]},
            **{f"{name}_min_s": min(self.times_s[name]) for name in self.variants[1:]},
            **({} if self.switch is None else {"switch": self.switch.to_object()}),
            "ratio_to_naive": {
                name: self.ratio_of(name).to_object() for name in self.variants if name != "naive"
            },
            "times_s": self.times_s,
            "bytes_checked": self.bytes_checked,
            "mismatches": self.mismatches,
            "wrong": list(self.wrong),
            "cores": self.cores,
            "one_machine": self.one_machine,
            "elapsed_s": self.elapsed_s,
            "notes": list(self.notes),
        }


def run_compiled(
    what: Compiled,
    *,
    sync: Sync | str | None = None,
    in_flight: InFlight | None = None,
    repeat: int = DEFAULT_REPEAT,
    mpiexec: str | None = None,
    timeout: float | None = None,
) -> RunResult:
    """Executes a schedule or a program beside its baselines, every received byte checked.

    Starts a job by the wheel's own launcher; inside a running MPI job every rank calls this and
    takes part instead, and every rank has the result. Nothing is verified here:
    `conset.verification` does that.

    Args:
        what: the schedule or program. A program of blocks is executed as one schedule of all its
            messages, and through the connections of its phases.
        sync: the policy of the whole; None: its own.
        in_flight: sends a rank keeps open at once, in posting order, or `all`; None: the
            schedule's, else its machine's, else all.
        repeat: repetitions that count; one more goes before and is dropped.
        mpiexec: another launcher, as a shell would split it.
        timeout: longest time of the whole job, start-up included [s]; None: derived from bytes,
            messages and barriers.

    Returns:
        Times of all variants, and the number of wrong bytes: 0 unless plan, executor or library is
            broken.

    Raises:
        UsageError: an unknown policy, no launcher, a launcher inside a job.
        InputError: parts, sizes or ranks do not fit.
        VerificationError: the plan would not end.
        ExecutionError: a rank died or a deadline passed.
    """
    check_measuring(repeat, timeout)
    plan = make_plan(what, sync, in_flight=in_flight)
    program = what if isinstance(what, Program) else None
    direct = None if program is None else plan_baseline(program)
    opened = program if what.paths is None else None
    result = run_plan(
        plan, direct=direct, opened=opened, repeat=repeat, mpiexec=mpiexec, timeout=timeout
    )
    if program is None:
        return result
    stages = sum(stage.repeat for stage in program.stages)
    work = 0 if plan.work_bytes is None else int(plan.work_bytes.max())
    return replace(result, stages=stages, work_bytes=work)


@dataclass(frozen=True, kw_only=True)
class PairedResult(TimedResult):
    """Times of contenders, paired by repetition.

    Fewer of those that were clearly slower than the best.

    Attributes:
        stopped: why repetitions ended: `precision`, `most` or `time`.
        measuring_s: from the first exchange to the last [s].
        before_s: times of the repetitions before those that count, as `times_s` [s].
    """

    stopped: str
    measuring_s: float
    before_s: dict[str, list[float]]


def run_plan(
    plan: Plan,
    *,
    direct: Plan | None = None,
    opened: Program | None = None,
    repeat: int,
    mpiexec: str | None = None,
    timeout: float | None = None,
    entry: Sequence[str] = (),
) -> RunResult:
    """Executes a plan beside its baselines.

    `direct` is what the baselines send, None: what the plan says; `opened` the program of blocks
    that the plan executes, where it is to run through connections too; `entry` as `run_job` has it.
    """
    plans = {SCHEDULE: plan} | ({} if direct is None else {DIRECT: direct})
    exchange_s = max(map(exchange_deadline_s, plans.values()))
    total_s = timeout or 60.0 + plan.ranks + (1 + len(VARIANTS)) * (repeat + 1) * exchange_s
    connections = None if opened is None else connection_entries(opened)
    orders = {
        "baselines": VARIANTS[1:],
        "staged": direct is not None,
        "fixed": [],
        "ordered": opened is not None and keeps_order(opened),
        "stopping": asdict(Stopping(least=repeat, most=repeat, drop=0, time_s=inf)),
        "timeout_s": exchange_s if timeout is None else min(exchange_s, timeout),
    }
    given = Given(orders, plans, connections)
    found = run_job(_TASK, plan.ranks, given, timeout_s=total_s, mpiexec=mpiexec, entry=entry)
    parts = found["switch_parts"]
    return RunResult(
        sync=str(plan.sync),
        in_flight=plan.in_flight,
        phases=plan.phases if opened is None else opened.phases,
        switch=None if parts is None else SwitchParts.median(np.array(parts)),
        **TimedResult.facts(found),
    )


def run_paired(
    direct: Plan,
    plans: Mapping[str, Plan],
    baselines: Sequence[str],
    stopping: Stopping,
    *,
    fixed: Collection[str] = (),
    mpiexec: str | None = None,
    timeout: float | None = None,
    entry: Sequence[str] = (),
) -> PairedResult:
    """Measures plans and baselines side by side in a job of its own.

    Every received byte is checked.

    Args:
        direct: every message directly (`plan_direct`); what the baselines send.
        plans: by name.
        baselines: names that `make_baselines` knows, `naive` among them.
        stopping: when repetitions end.
        fixed: contenders that are repeated to the end, however slow.
        mpiexec: another launcher than the wheel's, as a shell would split it.
        timeout: longest time of the whole job, start-up included [s]; None: derived from `stopping`
            and the plans.
        entry: as `run_job` has it.

    Raises:
        UsageError: inside a running MPI job, no launcher. InputError: ranks do not fit.
        ExecutionError: a rank died or a deadline passed.
    """
    if in_job(mpiexec):
        raise UsageError("a campaign starts jobs of its own: run it outside mpiexec and srun")
    exchange_s = max(exchange_deadline_s(plan) for plan in (direct, *plans.values()))
    contenders = len(plans) + len(baselines)
    total_s = timeout or 60.0 + direct.ranks + 5 * stopping.time_s + contenders * exchange_s
    orders = {
        "baselines": list(baselines),
        "staged": False,
        "fixed": sorted(fixed),
        "ordered": False,
        "stopping": asdict(stopping),
        "timeout_s": exchange_s,
    }
    given = Given(orders, {DIRECT: direct, **plans})
    found = run_job(_TASK, direct.ranks, given, timeout_s=total_s, mpiexec=mpiexec, entry=entry)
    return PairedResult(**PairedResult.facts(found))


def exchange_deadline_s(plan: Plan) -> float:
    """Longest time of one exchange [s].

    10 s and a hundred times what a slow, oversubscribed machine may take.

    1 GB/s through shared memory, 20 us a message with its signal, 0.1 ms a rank and barrier:
    measured figures on two loaded cores, rounded up.
    """
    barriers = plan.sync.barriers(plan.phases)
    carried = int(plan.receives.bytes.sum())
    return 10.0 + 100 * (carried / 1e9 + plan.transfers * 20e-6 + barriers * plan.ranks * 1e-4)


def why_no_alltoall(pattern: Pattern) -> str | None:
    """Why `MPI_Alltoall` cannot carry a pattern, or None where it can."""
    pairs, sizes = pattern.ranks * (pattern.ranks - 1), np.unique(pattern.size)
    others = np.count_nonzero(pattern.source != pattern.target)
    if others != pattern.messages or pattern.messages != pairs:
        return (
            f"takes a message between any two of {pattern.ranks} ranks ({pairs:,}), given "
            f"{pattern.messages:,}"
        )
    if sizes.size > 1:
        return f"takes messages of one size, given {sizes[0]} to {sizes[-1]} B"
    return None
