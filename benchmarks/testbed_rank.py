"""One rank of `testbed_exchanges.py`.

Exchanges scheduled inside the program, beside MPI's own on the same counts.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

import conset

REPEAT = 3
LARGEST = 2000


def main() -> None:
    """Rank 0 prints what was exchanged, and how many values were wrong on all ranks."""
    comm = MPI.COMM_WORLD
    values, wrong = 0, 0
    counts = np.random.default_rng(5).integers(0, LARGEST, (comm.size, comm.size))
    counts[counts < LARGEST // 4] = 0
    sent, received = counts[comm.rank], counts[:, comm.rank]
    send = np.random.default_rng(100 + comm.rank).random(int(sent.sum()))
    right, got = np.zeros(int(received.sum())), np.zeros(int(received.sum()))
    comm.Alltoallv(
        [send, sent, starts(sent), MPI.DOUBLE], [right, received, starts(received), MPI.DOUBLE]
    )
    with conset.alltoallv_init(
        comm, send, sent, None, got, received, None, machine="torus:4x4"
    ) as exchange:
        for _ in range(REPEAT):
            got[:] = -1
            exchange.start()
            exchange.wait()
            wrong += int((got != right).sum())
            values += got.size
        method, sync = exchange.method, exchange.sync
    up, down = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    graph = comm.Create_dist_graph_adjacent([down, up], [up, down], reorder=False)
    sent = received = np.array([300, 500])  # a ring: what goes up comes from below
    send = np.arange(800.0) + 1000 * comm.rank
    right, got = np.zeros(800), np.zeros(800)
    graph.Neighbor_alltoallv(
        [send, (sent, starts(sent)), MPI.DOUBLE], [right, (received, starts(received)), MPI.DOUBLE]
    )
    with conset.neighbor_alltoallv_init(
        graph, send, sent, None, got, received, machine="torus:4x4"
    ) as exchange:
        for _ in range(REPEAT):
            got[:] = -1
            exchange.exchange()
            wrong += int((got != right).sum())
            values += got.size
    graph.Free()
    values, wrong = comm.allreduce(values), comm.allreduce(wrong)
    if comm.rank == 0:
        print(
            f"alltoallv_init ({method}, {sync}) and neighbor_alltoallv_init: {values:,} values, "
            f"{wrong} wrong"
        )
    sys.exit(int(wrong > 0))


def starts(counts: np.ndarray) -> np.ndarray:
    """Where each block begins."""
    return np.cumsum(counts) - counts


if __name__ == "__main__":
    main()
