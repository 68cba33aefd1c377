"""Ranks of a paired measurement that spoil a byte of one contender."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.paired_rank import run_rank


def tamper(name: str, repetition: int, received: NDArray[np.uint8]) -> None:
    if name in ("ready", "auto") and repetition == 2 and MPI.COMM_WORLD.rank == 1:
        received[0] ^= 0xFF


run_rank(Path(sys.argv[1]), tamper)
