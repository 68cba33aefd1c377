"""Paired job: starts the job in which plans of one pattern are measured beside each other."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from conset.base.errors import UsageError
from conset.execution.job import check_buffers, exchange_deadline_s
from conset.execution.launcher import find_launcher
from conset.execution.measured_job import (
    DIRECT,
    TimedResult,
    in_job,
    measure_in_own_job,
    timed_facts,
)
from conset.execution.plan import Plan
from conset.execution.stopping import Stopped, Stopping
from conset.pattern.pattern import Pattern

_ENTRY = ("-m", "conset.execution.paired_rank")


@dataclass(frozen=True, kw_only=True)
class PairedResult(Stopped, TimedResult):
    """Times of contenders, paired by repetition.

    Fewer of those that were clearly slower than the best.
    """


def run_paired(
    direct: Plan,
    plans: Mapping[str, Plan],
    baselines: Sequence[str],
    stopping: Stopping,
    *,
    fixed: Collection[str] = (),
    mpiexec: str | None = None,
    timeout: float | None = None,
    entry: tuple[str, ...] = _ENTRY,
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
        entry: what `python -m mpi4py` runs on each rank, given the folder.

    Raises:
        UsageError: inside a running MPI job, no launcher. InputError: ranks do not fit.
        ExecutionError: a rank died or a deadline passed.
    """
    if in_job(mpiexec):
        raise UsageError("a campaign starts jobs of its own: run it outside mpiexec and srun")
    began = time.monotonic()
    check_buffers(direct)
    exchange_s = max(exchange_deadline_s(plan) for plan in (direct, *plans.values()))
    contenders = len(plans) + len(baselines)
    total_s = timeout or 60.0 + direct.ranks + 5 * stopping.time_s + contenders * exchange_s
    orders = {
        "plans": {name: f"plan-{k}.npz" for k, name in enumerate(plans)},
        "baselines": list(baselines),
        "stopping": asdict(stopping),
        "fixed": sorted(fixed),
        "timeout_s": exchange_s,
    }
    launcher = find_launcher(mpiexec)
    with tempfile.TemporaryDirectory(prefix="conset-paired-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        direct.save(folder / DIRECT)
        for k, plan in enumerate(plans.values()):
            plan.save(folder / f"plan-{k}.npz")
        found = measure_in_own_job(
            direct.ranks, orders, folder=folder, launcher=launcher, entry=entry, total_s=total_s
        )
    return PairedResult(
        stopped=str(found["stopped"]),
        measuring_s=float(found["measuring_s"]),
        **timed_facts(found, began),
    )


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
