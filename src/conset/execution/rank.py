"""One rank of a job that `conset run` has started: `python -m mpi4py -m conset.execution.rank FOLDER`.

The folder holds the plan, what its baselines send where that is another plan, and the orders; rank 0 writes the result
last, beside it first, then renamed: the parent believes nothing else. Only what a rank needs is imported, 16 of them
may start on two cores.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from conset.errors import ConsetError
from conset.execution.leftovers import end_with_parent, note_held
from conset.execution.measure import Tamper, measure_plan
from conset.execution.plan import Plan

PLAN, DIRECT, ORDERS, RESULT = "plan.npz", "direct.npz", "orders.json", "result.json"


def run_rank(folder: Path, tamper: Tamper | None = None) -> None:
    """Measures the plan in `folder` on COMM_WORLD; an error ends all ranks after one line on stderr."""
    comm = MPI.COMM_WORLD
    try:
        note_held(folder, comm.rank)
        if comm.rank == 0:
            end_with_parent(folder)
        orders = json.loads((folder / ORDERS).read_text())
        direct = Plan.load(folder / DIRECT) if (folder / DIRECT).exists() else None
        measurement = measure_plan(
            comm, Plan.load(folder / PLAN), direct=direct, repeat=orders["repeat"], timeout_s=orders["timeout_s"],
            tamper=tamper,
        )  # fmt: skip
    except ConsetError as error:
        abort(comm, str(error), error.exit_code)
    except OSError as error:
        abort(comm, f"rank {comm.rank}: {error} (TMPDIR must be a folder that all machines share)", 3)
    else:
        if measurement is not None:
            beside = folder / f".{RESULT}"
            beside.write_text(json.dumps(measurement.to_object()))
            beside.replace(folder / RESULT)


def abort(comm: MPI.Comm, line: str, code: int) -> None:
    """Says why on stderr and ends all ranks: one that leaves alone would let the others wait for ever."""
    sys.stderr.write(f"conset: {line}\n")
    sys.stderr.flush()
    comm.Abort(code)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
