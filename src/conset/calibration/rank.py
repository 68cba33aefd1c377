"""One rank of a job that `conset calibrate` has started: `python -m mpi4py -m conset.calibration.rank FOLDER`.

The folder holds a plan for each probe and the orders; rank 0 writes beside them how far it is.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from mpi4py import MPI

from conset.calibration.timing import Task, time_tasks
from conset.execution.measured_job import measure_as_rank
from conset.execution.plan import Plan

PROGRESS = "progress"
"""How far the job is, in the folder, in words."""
_EVERY_S = 0.3


class _Publisher:
    """Writes how far it is, not too often."""

    def __init__(self, path: Path) -> None:
        self.path, self.last = path, 0.0

    def __call__(self, text: str) -> None:
        if time.monotonic() - self.last > _EVERY_S:
            self.last = time.monotonic()
            self.path.write_text(text)


def run_rank(folder: Path) -> None:
    """Times the probes in `folder` on COMM_WORLD; an error ends all ranks after one line on stderr."""
    comm = MPI.COMM_WORLD

    def measure(orders: dict[str, Any]) -> dict[str, Any] | None:
        tasks = [
            Task(task["name"], Plan.load(folder / f"plan-{k}.npz"), task["watch"], task["late_s"])
            for k, task in enumerate(orders["tasks"])
        ]
        return time_tasks(
            comm, tasks, budget_s=orders["budget_s"], timeout_s=orders["timeout_s"], seed=orders["seed"],
            publish=_Publisher(folder / PROGRESS),
        )  # fmt: skip

    measure_as_rank(folder, comm, measure)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
