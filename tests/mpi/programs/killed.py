"""Exchanges again and again, until rank 2 is killed after one second."""

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.execution.exchange import Exchange
from conset.execution.plan import read_plan_file

if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    plan = read_plan_file(folder / "0.plan")
    send, receive = (
        np.zeros(size[comm.rank], np.uint8) for size in (plan.send_bytes, plan.receive_bytes)
    )
    if comm.rank == 2:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGKILL)).start()
    with Exchange(comm, plan, send, receive) as exchange:
        while True:
            exchange.exchange()
