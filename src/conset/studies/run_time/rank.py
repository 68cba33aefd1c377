"""One rank of a job that measures run-time scheduling.

`python -m mpi4py -m conset.studies.run_time.rank FOLDER`.

The folder holds the messages of the pattern, of which a rank keeps its own row, and the orders.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mpi4py import MPI

from conset.execution.exchange import require_ranks
from conset.execution.job_progress import Tell
from conset.execution.measure import Tamper
from conset.execution.measured_job import measure_as_rank
from conset.execution.run_time.row import MESSAGES, RankRow
from conset.studies.run_time.trial import measure_run_time


def run_rank(folder: Path, *, tamper: Tamper | None = None) -> None:
    """Measures the orders in `folder` on COMM_WORLD.

    An error ends all ranks after one line on stderr.
    """
    comm = MPI.COMM_WORLD

    def measure(orders: dict[str, Any], tell: Tell) -> dict[str, Any] | None:
        row = RankRow.load(folder / MESSAGES, comm.rank)
        require_ranks(comm, row.sendcounts.size, "pattern")
        return measure_run_time(comm, row, orders, tell=tell, tamper=tamper)

    measure_as_rank(folder, comm, measure)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
