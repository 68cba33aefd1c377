"""A rank of a job that measures run-time scheduling.

On rank 1 a byte changes after each use of one variant.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.job import run_rank
from conset.studies.run_time.trial import measure_run_time


def tamper(variant: str, repetition: int, received: NDArray[np.uint8]) -> None:
    if MPI.COMM_WORLD.rank == 1 and (variant, repetition) == ("naive, none", 1):
        received[0] ^= 0xFF


if __name__ == "__main__":
    run_rank(partial(measure_run_time, tamper=tamper), Path(sys.argv[1]))
