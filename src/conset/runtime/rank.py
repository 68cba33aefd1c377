"""One rank of a job that measures run-time scheduling: `python -m mpi4py -m conset.runtime.rank FOLDER`.

The folder holds the messages of the pattern, of which a rank keeps its own row, and the orders; rank 0 writes the
result last, beside it first, then renamed: the parent believes nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from conset.errors import ConsetError
from conset.execution.exchange import require_ranks
from conset.execution.leftovers import end_with_parent, note_held
from conset.execution.measure import Tamper
from conset.execution.rank import abort
from conset.runtime.row import MESSAGES, ORDERS, RESULT, RankRow
from conset.runtime.trial import measure_run_time


def run_rank(folder: Path, *, tamper: Tamper | None = None) -> None:
    """Measures the orders in `folder` on COMM_WORLD; an error ends all ranks after one line on stderr."""
    comm = MPI.COMM_WORLD
    try:
        note_held(folder, comm.rank)
        if comm.rank == 0:
            end_with_parent(folder)
        row = RankRow.load(folder / MESSAGES, comm.rank)
        require_ranks(comm, row.sendcounts.size, "pattern")
        found = measure_run_time(comm, row, json.loads((folder / ORDERS).read_text()), tamper=tamper)
    except ConsetError as error:
        abort(comm, str(error), error.exit_code)
    except OSError as error:
        abort(comm, f"rank {comm.rank}: {error} (TMPDIR must be a folder that all machines share)", 3)
    else:
        if found is not None:
            beside = folder / f".{RESULT}"
            beside.write_text(json.dumps(found))
            beside.replace(folder / RESULT)


if __name__ == "__main__":
    run_rank(Path(sys.argv[1]))
