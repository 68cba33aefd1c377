"""Ranks of a paired measurement that spoil a byte of one contender."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.job import run_rank
from conset.execution.measure import measure_plans


def tamper(name: str, repetition: int, received: NDArray[np.uint8]) -> None:
    if name in ("ready", "auto") and repetition == 2 and MPI.COMM_WORLD.rank == 1:
        received[0] ^= 0xFF


run_rank(partial(measure_plans, tamper=tamper), Path(sys.argv[1]))
