"""An application of its own.

The executor on float64 buffers, beside messages of its own with the same tags.
"""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from conset.base.errors import ExecutionError, InputError
from conset.execution.exchange import Exchange
from conset.execution.plan import Operations, Plan
from conset.schedule.policy import Sync


def ring(ranks: int) -> Plan:
    """Every rank sends 8 doubles to the next in phase 0 and 4 to the one before in phase 1."""
    here = np.arange(ranks)
    up, down = (here + 1) % ranks, (here - 1) % ranks
    # a send buffer in the order of targets, a receive buffer in that of sources
    words = {(r, p): (8 if p == up[r] else 4) for r in here for p in (up[r], down[r])}

    def start(r: int, p: int, table: dict[tuple[int, int], int]) -> int:
        return 8 * sum(count for (own, peer), count in table.items() if own == r and peer < p)

    into = {(r, p): words[p, r] for r, p in words}
    rows = [
        (ph, p, start(r, p, words), 8 * words[r, p], 2 * r + ph)
        for r in here
        for ph, p in ((0, up[r]), (1, down[r]))
    ]
    back = [
        (ph, p, start(r, p, into), 8 * into[r, p], 2 * p + ph)
        for r in here
        for ph, p in ((0, down[r]), (1, up[r]))
    ]
    offsets = 2 * np.arange(ranks + 1)
    size = np.full(ranks, 96)
    return Plan(
        2,
        Sync("ready"),
        Operations(offsets, *np.array(rows).T),
        Operations(offsets, *np.array(back).T),
        size,
        size,
    )


def refused(call: object, *arguments: object) -> bool:
    try:
        call(*arguments)  # type: ignore[operator]
    except (InputError, ExecutionError):
        return True
    return False


if __name__ == "__main__":
    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    plan = ring(ranks)
    up, down = (rank + 1) % ranks, (rank - 1) % ranks
    send, receive = np.empty(12), np.empty(12)
    found = []
    found.append(refused(Exchange, comm, plan, send[:11], receive))
    found.append(refused(Exchange, comm, plan, send, receive.tobytes()))
    found.append(refused(Exchange, comm, plan, np.empty((12, 2))[:, 0], receive))
    both = np.empty(23)
    found.append(refused(Exchange, comm, plan, send, send))
    found.append(refused(Exchange, comm, plan, both[:12], both[11:]))
    with Exchange(comm, plan, send, receive) as exchange:
        for step in range(50):
            send[:] = rank * 1000 + step
            receive[:] = -1
            own = comm.irecv(source=down, tag=1)
            exchange.start()
            if step == 0:
                found.append(refused(exchange.start))
                found.append(refused(exchange.close))
            comm.send(step, dest=up, tag=1)
            while step % 2 and not exchange.progress():
                pass
            exchange.wait()
            expected = np.empty(12)
            sources = sorted(((down, 8), (up, 4)))
            expected[: sources[0][1]] = sources[0][0] * 1000 + step
            expected[sources[0][1] :] = sources[1][0] * 1000 + step
            found.append(bool((receive == expected).all()) and own.wait() == step)
    Path(sys.argv[1], f"rank-{rank}").write_text("right" if all(found) else str(found))
