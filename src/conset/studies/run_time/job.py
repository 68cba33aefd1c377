"""Job: measures run-time scheduling over MPI, in a job of its own or in the running one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conset.base.errors import InputError
from conset.base.units import count_of
from conset.execution.job import DIRECT, Given, JobResult, check_measuring, run_job
from conset.execution.plan import MAX_BYTES
from conset.execution.planner import plan_direct
from conset.execution.run_time import check_methods, machine_word, temporary_folders
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.studies.run_time.costs import RunTimeCosts, RunTimeRow

COMPARED = ("naive", "rs-n", "rs-nl", "lp", "coloring", "first-fit")
"""Measured and predicted unless others are named."""
DEFAULT_REPEAT = 20
_TASK = "conset.studies.run_time.trial:measure_run_time"


@dataclass(frozen=True)
class RunTimeResult(JobResult):
    """What scheduling at run time costs: measured in a job, predicted for other numbers of ranks.

    Attributes:
        measured: in the job; None: none was started.
        predicted: a table for each number of ranks.
        repeat: repetitions that were timed; 0: no job.
    """

    measured: RunTimeCosts | None
    predicted: tuple[RunTimeCosts, ...] = ()
    repeat: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the times do and do not say, in sentences."""
        notes = []
        if self.measured is not None and self.one_machine:
            notes.append(
                "On one machine there is no network to contend for, unless namespaces make one: "
                "posting everything is "
                "usually fastest."
            )
        if self.local_ranks > self.cores:
            notes.append(
                f"{self.local_ranks} ranks share {count_of(self.cores, 'core')}: where every rank "
                "computes, a core computes "
                "several times over, and waiting measures the operating system's scheduler."
            )
        if self.measured is not None and not self.one_machine:
            notes.append(
                "On several hosts: where they have no common clock, a time is the longest of "
                "the ranks' own."
            )
        return tuple(notes)

    def to_object(self) -> dict[str, Any]:
        """As `conset run --at-run-time --json` prints it."""
        job = {
            "repeat": self.repeat,
            "cores": self.cores,
            "one_machine": self.one_machine,
            "bytes_checked": self.bytes_checked,
            "mismatches": self.mismatches,
            "wrong": list(self.wrong),
        }
        return {
            "measured": None if self.measured is None else self.measured.to_object() | job,
            "predicted": [costs.to_object() for costs in self.predicted],
            "elapsed_s": self.elapsed_s,
            "notes": list(self.notes),
        }


def measure_job(
    pattern: Pattern,
    machine: Machine,
    *,
    methods: Sequence[str] = COMPARED,
    repeat: int = DEFAULT_REPEAT,
    seed: int = 0,
    mpiexec: str | None = None,
    timeout: float | None = None,
    entry: Sequence[str] = (),
) -> RunTimeResult:
    """Measures run-time scheduling of a pattern, a rank of the job for each of its ranks.

    Starts a job by the wheel's own launcher; inside a running MPI job every rank calls this and
    takes part instead, and every rank has the result.

    Args:
        pattern: what is sent; rank r lives on node r of the machine.
        machine: what schedules are made for.
        methods: as `alltoallv_init` knows them.
        repeat: repetitions that count; one more goes before and is dropped.
        seed: of every random choice.
        mpiexec: another launcher, as a shell would split it.
        timeout: longest time of the whole job, start-up included [s]; None: derived from bytes and
            messages.
        entry: as `run_job` has it.

    Raises:
        UsageError: a method that is not known at run time, no launcher, a launcher inside a job.
        InputError: sizes or ranks do not fit. ExecutionError: a rank died or a deadline passed.
    """
    check_methods(methods)
    check_measuring(repeat, timeout)
    _check(pattern, machine)
    exchange_s = 10.0 + 100 * (pattern.bytes / 1e9 + pattern.messages * 40e-6)
    if timeout is not None:
        exchange_s = min(exchange_s, timeout)
    total_s = timeout or 120.0 + pattern.ranks + 10 * len(methods) * (repeat + 1) * exchange_s
    orders = {"methods": list(methods), "seed": seed, "repeat": repeat, "timeout_s": exchange_s}
    with temporary_folders() as folder:
        found = run_job(
            _TASK,
            pattern.ranks,
            Given(
                orders | {"machine": machine_word(machine, folder)}, {DIRECT: plan_direct(pattern)}
            ),
            timeout_s=total_s,
            mpiexec=mpiexec,
            entry=entry,
        )
    costs = RunTimeCosts(
        ranks=int(found["ranks"]),
        pattern=pattern.name,
        machine=machine.name,
        messages=pattern.messages,
        bytes=pattern.bytes,
        by=str(found["mpi"]),
        is_measured=True,
        rows=tuple(_row(row) for row in found["rows"]),
        skipped=tuple((method, reason) for method, reason in found["skipped"]),
    )
    return RunTimeResult(costs, repeat=repeat, **JobResult.facts(found))


def _check(pattern: Pattern, machine: Machine) -> None:
    if pattern.ranks > machine.topology.endpoints:
        raise InputError(
            f"{count_of(pattern.ranks, 'rank')} on the "
            f"{count_of(machine.topology.endpoints, 'node')} of {machine.name}"
        )
    if pattern.before is not None:
        raise InputError(f"{pattern.name} has an order of messages: rows of ranks have none")
    for what, ends in (("send", pattern.source), ("receive", pattern.target)):
        most = int(np.bincount(ends, weights=pattern.size, minlength=1).max())
        if most > MAX_BYTES:
            raise InputError(f"a rank has {most} bytes to {what}: counts of MPI go to {MAX_BYTES}")


def _row(found: dict[str, Any]) -> RunTimeRow:
    times = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    return RunTimeRow(**{**found, **times})
