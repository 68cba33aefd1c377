"""One rank of a job that `conset run` has started.

`python -m mpi4py -m conset.execution.rank FOLDER`.

The folder holds the plan, what its baselines send where that is another plan, the connections where
it runs through them too, and the orders. Only what a rank needs is imported, 16 of them may start
on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mpi4py import MPI

from conset.execution.connected import open_plan_file
from conset.execution.job_progress import Tell
from conset.execution.measure import Tamper, measure_plan
from conset.execution.measured_job import DIRECT, OPENED, PLAN, measure_as_rank
from conset.execution.plan import Plan


def run_rank(folder: Path, tamper: Tamper | None = None) -> None:
    """Measures the plan in `folder` on COMM_WORLD.

    An error ends all ranks after one line on stderr.
    """
    comm = MPI.COMM_WORLD

    def measure(orders: dict[str, Any], tell: Tell) -> dict[str, Any] | None:
        direct = Plan.load(folder / DIRECT) if (folder / DIRECT).exists() else None
        opening = open_plan_file(folder / OPENED) if (folder / OPENED).exists() else None
        measurement = measure_plan(
            comm,
            Plan.load(folder / PLAN),
            direct=direct,
            opening=opening,
            ordered=orders["ordered"],
            repeat=orders["repeat"],
            timeout_s=orders["timeout_s"],
            tell=tell,
            tamper=tamper,
        )
        return None if measurement is None else measurement.to_object()

    measure_as_rank(folder, comm, measure)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
