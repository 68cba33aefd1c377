"""A run in which rank 2 is killed after the first exchange.

Which files the ranks had noted goes beside the folder.
"""

import os
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.job import run_rank
from conset.execution.measure import measure_plans

FOLDER = Path(sys.argv[1])


def kill(name: str, repetition: int, received: NDArray[np.uint8]) -> None:
    if MPI.COMM_WORLD.rank == 2:
        shutil.copy(FOLDER / "held-2", FOLDER.parent / "noted")
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    run_rank(partial(measure_plans, tamper=kill), FOLDER)
