"""One rank of a job: `python -m mpi4py -m conset.execution.rank MODULE:FUNCTION FOLDER`.

The function is the job's task, the folder holds what it is given (`conset.execution.job`). Only
what a rank needs is imported: 16 of them may start on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conset.execution.job import load_task, run_rank

if __name__ == "__main__":
    run_rank(load_task(sys.argv[1]), Path(sys.argv[2]))
