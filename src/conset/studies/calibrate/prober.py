"""Prober: who executes probes.

An MPI job of its own, started as `conset run` starts one, or the running job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from conset.base.errors import ExecutionError, InputError
from conset.execution.job import Given, run_job
from conset.execution.planner import make_plan
from conset.machine.machine import Machine
from conset.studies.calibrate.heldback import held_back_probes
from conset.studies.calibrate.measurements import Measurements
from conset.studies.calibrate.probes import SMALLEST_B, Probe, Scale, first_look, make_probes

_TASK = "conset.studies.calibrate.timing:time_tasks"
MESSAGE_S = 50e-3
"""About how long the longest message should take [s].

Long against everything but bytes, short against minutes.

What a token bucket lets pass at once (some packets) is then a few per cent of it.
"""
Say = Callable[[str], None]
"""Told how far a calibration is."""


def all_probes(structure: Machine, ranks: int, scale: Scale, *, quick: bool) -> list[Probe]:
    """What a calibration executes: probes to fit, and exchanges held back to be predicted."""
    return [
        *make_probes(structure, ranks, scale, quick=quick),
        *held_back_probes(structure, ranks, scale, quick=quick),
    ]


def measure(
    structure: Machine,
    ranks: int,
    *,
    mpiexec: str | None = None,
    quick: bool = False,
    budget_s: float = 90.0,
    seed: int = 0,
    say: Say | None = None,
) -> Measurements:
    """Looks at the machine, chooses the sizes, and times all probes.

    Args:
        structure: the network that is stated.
        ranks: of the job; rank r runs on node r.
        mpiexec: another launcher than the wheel's.
        quick: fewer probes.
        budget_s: of all repetitions together [s].
        seed: of the order of probes.
        say: told how far it is.

    Raises:
        UsageError: no launcher, or a launcher inside a job. InputError: the running job has other
            ranks.
        ExecutionError: a rank died, or a deadline passed.
    """
    job = _Job(mpiexec, seed, say or (lambda text: None))
    look = first_look(structure, ranks)
    job.what = "first look"
    found = job.run(look, budget_s=2.0)
    times = {name: min(row) for name, row in found["times_s"].items()}
    per = {
        probe.size: times[probe.name] / probe.schedule.transfers
        for probe in sorted(look, key=lambda probe: probe.schedule.transfers)
    }
    sizes = sorted(per)
    rate = (sizes[-1] - sizes[-2]) / max(per[sizes[-1]] - per[sizes[-2]], 1e-9)
    scale = Scale.of(per[SMALLEST_B], rate, MESSAGE_S)
    probes = all_probes(structure, ranks, scale, quick=quick)
    job.what = f"{len(probes)} probes"
    found = job.run(probes, budget_s=budget_s)
    return Measurements(
        structure.to_spec(),
        ranks,
        found["mpi"],
        {name: tuple(row) for name, row in found["times_s"].items()},
        quick,
        scale.large,
        scale.alone_s,
        scale.rate_Bps,
        found["retransmissions"],
        found["cores"],
        found["local_ranks"],
        found["elapsed_s"],
    )


class _Job:
    """Where probes are executed."""

    def __init__(self, mpiexec: str | None, seed: int, say: Say) -> None:
        self.mpiexec, self.seed, self.say, self.what = mpiexec, seed, say, ""

    def run(self, probes: Sequence[Probe], *, budget_s: float) -> dict[str, Any]:
        """What `time_tasks` finds."""
        tasks = [
            {"name": probe.name, "watch": probe.watch, "late_s": probe.late_s} for probe in probes
        ]
        orders = {"tasks": tasks, "budget_s": budget_s, "timeout_s": 60.0, "seed": self.seed}
        plans = {probe.name: make_plan(probe.schedule) for probe in probes}
        ranks = max(probe.ranks for probe in probes)
        return run_job(
            _TASK,
            ranks,
            Given(orders, plans),
            timeout_s=120.0 + 2 * ranks + 4 * budget_s,
            mpiexec=self.mpiexec,
            say=lambda text: self.say(f"{self.what}: {text}"),
        )


def probes_of(data: Measurements, structure: Machine) -> list[Probe]:
    """The probes whose times are in `data`.

    Raises:
        InputError: a probe that conset makes has no times there: the data are of another version.
    """
    scale = Scale(data.alone_s, data.rate_Bps, data.large)
    probes = all_probes(structure, data.ranks, scale, quick=data.quick)
    missing = [probe.name for probe in probes if probe.name not in data.times_s]
    if missing:
        raise InputError(
            f"measurements: no times of '{missing[0]}' and {len(missing) - 1} more: of "
            "another version?"
        )
    return [replace(probe) for probe in probes]


__all__ = ["ExecutionError", "all_probes", "measure", "probes_of"]
