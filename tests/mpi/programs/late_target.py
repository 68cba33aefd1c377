"""Rank 1 comes 0.4 s late; rank 2 says whether rank 0's message to it came before, for each number in flight."""

import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.execution.executor import Executor
from conset.execution.plan import Plan

if __name__ == "__main__":
    folder, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    late = {}
    for file in sorted(folder.glob("plan-*.npz")):
        plan = Plan.load(file)
        send, receive = (np.zeros(size[comm.rank], np.uint8) for size in (plan.send_bytes, plan.receive_bytes))
        with Executor(comm, plan, send, receive, timeout_s=20) as executor:
            comm.Barrier()
            if comm.rank == 1:
                time.sleep(0.4)
            began = time.monotonic()
            executor.exchange()
            ended = time.monotonic()
            began = comm.bcast(began, root=1)
            late[str(plan.in_flight)] = ended >= began  # one machine, one clock
    everybody = comm.gather(late)
    if everybody is not None:
        (folder / "late.json").write_text(json.dumps(everybody))
