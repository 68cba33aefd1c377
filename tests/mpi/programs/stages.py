"""Exchanges that ranks schedule in stages at run time, beside MPI's own on the same counts."""

import sys
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import conset

Ints = NDArray[np.int64]


def starts(counts: Ints, gap: int = 0) -> Ints:
    return np.cumsum(counts) - counts + gap * np.arange(counts.size)


def counts_of(ranks: int, seed: int) -> Ints:
    """Nearly all pairs, of sizes that differ, and one that is the same for all."""
    rng = np.random.default_rng(seed)
    counts: Ints = rng.integers(1, 5, (ranks, ranks)) if seed % 2 else np.full((ranks, ranks), 2)
    counts[rng.random((ranks, ranks)) < 0.1 * (seed % 2)] = 0
    return counts


def check(comm: MPI.Intracomm, seed: int, **options: Any) -> str:
    """Several exchanges, an update with other counts and one more; what was said of the first."""
    said, exchange = "", None
    for other in (seed, seed, seed + 2):
        counts = counts_of(comm.size, other)
        sent, received = counts[comm.rank], counts[:, comm.rank]
        gap = 1 + seed % 2
        send = np.random.default_rng(100 + comm.rank + other).random(
            int(sent.sum()) + 2 * sent.size
        )
        right = np.full(int(received.sum()) + 2 * received.size, -1.0)
        comm.Alltoallv(
            [send, (sent, starts(sent, gap)), MPI.DOUBLE],
            [right, (received, starts(received, gap)), MPI.DOUBLE],
        )
        receive = np.full_like(right, -1)
        sides = (send, sent, starts(sent, gap), receive, received, starts(received, gap))
        if exchange is None:
            exchange = conset.alltoallv_init(comm, *sides, **options)
            where = exchange.combine, exchange.memory > 0, exchange.left_out > 0
            assert comm.allgather(where) == [where] * comm.size
            said = " ".join(map(str, where))
        else:
            exchange.update(*sides)
            assert (exchange.combine == "none") == (where[0] == "none")
        for _ in range(3):
            receive[:] = -1
            exchange.exchange()
            assert (receive == right).all()
    assert exchange is not None
    exchange.close()
    # sources that are not known
    with conset.alltoallv_init(comm, send, sent, starts(sent, gap), **options) as ex:
        ex.exchange()
        kept = [right[b : b + n] for b, n in zip(starts(received, gap), received, strict=True)]
        assert (ex.recvbuf == np.concatenate(kept)).all()
    return said


def check_measured(comm: MPI.Intracomm, where: dict[str, Any]) -> None:
    """MPI's own in place of the schedule where it was faster in the rounds that were run."""
    counts = counts_of(comm.size, 1)
    sent, received = counts[comm.rank], counts[:, comm.rank]
    send, right = np.random.default_rng(comm.rank).random(sent.sum()), np.empty(received.sum())
    comm.Alltoallv([send, sent], [right, received])
    receive = np.empty_like(right)
    slow = {"method": "coloring", "sync": "barrier"}
    for options in ({}, {"combine": "none"}, slow):
        with conset.alltoallv_init(
            comm, send, sent, None, receive, received, **where, measure=3, **options
        ) as exchange:
            for _ in range(2):
                receive[:] = -1
                exchange.exchange()
                assert (receive == right).all()
            times, own = exchange.times, exchange.method == "MPI_Ialltoallv"
            found = (own, times.schedule_run_s, times.mpi_run_s)
            assert comm.allgather(found) == [found] * comm.size
            assert min(found[1:]) > 0
            assert own == (times.mpi_run_s < times.schedule_run_s)
            assert own or options is not slow
            exchange.update(send, sent, None, receive, received)
            assert exchange.times.mpi_run_s > 0
    with conset.alltoallv_init(comm, send, sent, **where, measure=3) as exchange:
        exchange.exchange()
        assert (exchange.recvbuf == right).all()
        assert exchange.times.mpi_run_s == 0


def main() -> None:
    comm, where = MPI.COMM_WORLD, {"machine": sys.argv[1], "ranks_per_node": int(sys.argv[2])}
    said = [
        check(comm, seed, **where, **options)
        for seed in (0, 1)
        for options in (
            {},
            {"compute": "one"},
            {"sync": "local"},
            {"combine": "none"},
            {"memory": 16},
            {"method": "coloring"},
        )
    ]
    check_measured(comm, where)
    # derived types, and what is not to be copied, go directly
    column = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
    send, receive = np.arange(4.0 * comm.size), np.zeros(2 * comm.size)
    ones = np.ones(comm.size, int)
    with conset.alltoallv_init(
        comm,
        [send, column],
        ones,
        None,
        receive,
        2 * ones,
        **where,
    ) as ex:
        said.append(ex.combine)
        ex.exchange()
    if comm.rank == 0:
        sys.stdout.write("\n".join(said))


main()
