"""One rank of a job that `conset calibrate` has started.

`python -m mpi4py -m conset.studies.calibrate.rank FOLDER`.

The folder holds a plan for each probe and the orders.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mpi4py import MPI

from conset.execution.job_progress import Tell
from conset.execution.measured_job import measure_as_rank
from conset.execution.plan import Plan
from conset.studies.calibrate.timing import Task, time_tasks


def run_rank(folder: Path) -> None:
    """Times the probes in `folder` on COMM_WORLD.

    An error ends all ranks after one line on stderr.
    """
    comm = MPI.COMM_WORLD

    def measure(orders: dict[str, Any], tell: Tell) -> dict[str, Any] | None:
        tasks = [
            Task(task["name"], Plan.load(folder / f"plan-{k}.npz"), task["watch"], task["late_s"])
            for k, task in enumerate(orders["tasks"])
        ]
        return time_tasks(
            comm,
            tasks,
            budget_s=orders["budget_s"],
            timeout_s=orders["timeout_s"],
            seed=orders["seed"],
            tell=tell,
        )

    measure_as_rank(folder, comm, measure)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
