"""Rank 1 stops, or is killed, in the middle of an exchange made at run time; the others wait for it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import conset
from conset.errors import ExecutionError

if __name__ == "__main__":
    folder, number, comm = Path(sys.argv[1]), signal.Signals[sys.argv[2]], MPI.COMM_WORLD
    counts = np.full(comm.size, 1000)
    send, receive = np.zeros(1000 * comm.size), np.zeros(1000 * comm.size)
    deadline = 1.0 if number == signal.SIGSTOP else None
    exchange = conset.alltoallv_init(
        comm, send, counts, recvbuf=receive, recvcounts=counts, sync="none", timeout_s=deadline
    )
    exchange.exchange()
    comm.Barrier()
    if comm.rank == 1:
        (folder / "lost").write_text(str(time.monotonic()))
        os.kill(os.getpid(), number)
    began = time.monotonic()
    try:
        exchange.exchange()
    except ExecutionError as error:
        (folder / f"rank-{comm.rank}").write_text(f"{time.monotonic() - began} {error}")
        time.sleep(0.3)  # the others say theirs too
        comm.Abort(4)
