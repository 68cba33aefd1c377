"""Rank 1 stops in the middle of an exchange made at run time; the others wait for it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import conset
from conset.base.errors import ExecutionError

if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    counts = np.full(comm.size, 1000)
    send, receive = np.zeros(1000 * comm.size), np.zeros(1000 * comm.size)
    comm.Barrier()  # the deadline is of making it too
    exchange = conset.alltoallv_init(
        comm, send, counts, recvbuf=receive, recvcounts=counts, sync="none", timeout_s=1.0
    )
    exchange.exchange()
    comm.Barrier()
    if comm.rank == 1:
        (folder / "lost").write_text(str(time.monotonic()))
        os.kill(os.getpid(), signal.SIGSTOP)
    began = time.monotonic()
    try:
        exchange.exchange()
    except ExecutionError as error:
        (folder / f"rank-{comm.rank}").write_text(f"{time.monotonic() - began} {error}")
        time.sleep(0.2)  # the others say theirs too
        comm.Abort(4)
