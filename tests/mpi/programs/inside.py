"""`run_compiled` called by every rank of a job that runs already."""

import json
import sys
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conftest import random_schedule
from conset.execution.run import run_compiled

if __name__ == "__main__":
    result = run_compiled(random_schedule(), sync="barrier:2", repeat=1)
    Path(sys.argv[1], f"rank-{MPI.COMM_WORLD.rank}").write_text(json.dumps(result.to_object()))
