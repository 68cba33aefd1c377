"""Rank 1 makes its executor and then never comes to the exchange.

The others have a deadline of one second.
"""

import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.base.errors import ExecutionError
from conset.execution.exchange import Exchange
from conset.execution.job import abort
from conset.execution.plan import read_plan_file

if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    plan = read_plan_file(folder / "0.plan")
    send, receive = (
        np.zeros(size[comm.rank], np.uint8) for size in (plan.send_bytes, plan.receive_bytes)
    )
    exchange = Exchange(comm, plan, send, receive, timeout_s=1.0)
    if comm.rank == 1:
        time.sleep(60)
    try:
        exchange.exchange()
        time.sleep(
            60
        )  # a rank that needs nothing from rank 1 must not end the job before the others complain
    except ExecutionError as error:
        abort(comm, str(error), 4)
