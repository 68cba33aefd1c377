"""A plan that nobody checked.

Rank 1 receives fewer bytes than rank 0 sends, and says what MPI thinks of it.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.base.errors import ExecutionError
from conset.execution.exchange import Exchange
from conset.execution.plan import Operations, Plan
from conset.schedule.policy import Sync

if __name__ == "__main__":
    comm = MPI.COMM_WORLD
    one = np.zeros(1, int)
    sends = Operations([0, 1, 1], one, one + 1, one, one + 64, one)  # type: ignore[arg-type]
    receives = Operations([0, 0, 1], one, one, one, one + 8, one)  # type: ignore[arg-type]
    size = np.full(2, 64)
    exchange = Exchange(
        comm, Plan(1, Sync("none"), sends, receives, size, size), bytes(64), bytearray(64)
    )
    try:
        exchange.exchange()
    except ExecutionError as error:
        Path(sys.argv[1], f"rank-{comm.rank}").write_text(str(error))
        comm.Abort(4)
    comm.Barrier()
