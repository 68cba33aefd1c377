"""A rank of `conset run` whose receive buffer is changed behind its back."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.execution.job import run_rank
from conset.execution.measure import measure_plans

if __name__ == "__main__":
    # of the variant that is named, or of two others
    wrong = [(sys.argv[1], 1)] if len(sys.argv) > 2 else [("schedule", 1), ("alltoallv", 2)]

    def tamper(variant: str, repetition: int, received: np.ndarray) -> None:
        if MPI.COMM_WORLD.rank == 2 and (variant, repetition) in wrong:
            received[5] ^= 0x40

    run_rank(partial(measure_plans, tamper=tamper), Path(sys.argv[-1]))
