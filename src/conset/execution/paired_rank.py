"""One rank of a job that measures plans beside each other.

`python -m mpi4py -m conset.execution.paired_rank DIR`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mpi4py import MPI

from conset.execution.job_progress import Tell
from conset.execution.measure import Tamper
from conset.execution.measured_job import DIRECT, measure_as_rank
from conset.execution.paired import measure_paired
from conset.execution.plan import Plan
from conset.execution.stopping import Stopping


def run_rank(folder: Path, tamper: Tamper | None = None) -> None:
    """Measures the plans in `folder` on COMM_WORLD.

    An error ends all ranks after one line on stderr.
    """
    comm = MPI.COMM_WORLD

    def measure(orders: dict[str, Any], tell: Tell) -> dict[str, Any] | None:
        plans = {name: Plan.load(folder / file) for name, file in orders["plans"].items()}
        measurement = measure_paired(
            comm,
            Plan.load(folder / DIRECT),
            plans,
            orders["baselines"],
            Stopping(**orders["stopping"]),
            fixed=orders["fixed"],
            timeout_s=orders["timeout_s"],
            tamper=tamper,
        )
        return None if measurement is None else measurement.to_object()

    measure_as_rank(folder, comm, measure)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
