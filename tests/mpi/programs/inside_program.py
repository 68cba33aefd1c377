"""`run_compiled` called by every rank of a job that runs already."""

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import conset
from conset.execution.run import run_compiled
from conset.schedule.program import Program
from support.hand_made_programs import forwarding, random_paths, random_pattern

if __name__ == "__main__":
    rng = np.random.default_rng(7)
    program = forwarding(random_paths(random_pattern(4, rng, largest=9000), 2, rng), rng)
    result = run_compiled(program, repeat=1)
    blocks = run_compiled(
        Program.of(conset.compile("alltoall:size=900", "mesh:2x2", method="lp")), repeat=1
    )
    both = [found.to_object() for found in (result, blocks)]
    Path(sys.argv[1], f"rank-{MPI.COMM_WORLD.rank}").write_text(json.dumps(both))
