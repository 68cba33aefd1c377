"""One rank comes 0.4 s late to one exchange of each plan.

Each rank says whether it ended after that rank began.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.execution.exchange import Exchange
from conset.execution.plan import read_plan_file

if __name__ == "__main__":
    folder, who, comm = Path(sys.argv[1]), int(sys.argv[2]), MPI.COMM_WORLD
    late = {}
    for file in sorted(folder.glob("*.plan")):
        plan = read_plan_file(file)
        send, receive = (
            np.zeros(size[comm.rank], np.uint8) for size in (plan.send_bytes, plan.receive_bytes)
        )
        with Exchange(comm, plan, send, receive, timeout_s=20) as exchange:
            comm.Barrier()
            if comm.rank == who:
                time.sleep(0.4)
            began = time.monotonic()
            exchange.exchange()
            ended = time.monotonic()
            began = comm.bcast(began, root=who)
            late[file.stem] = ended >= began  # one machine, one clock
    everybody = comm.gather(late)
    if everybody is not None:
        (folder / "late.json").write_text(json.dumps(everybody))
