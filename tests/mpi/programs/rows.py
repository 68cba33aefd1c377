"""Exchanges that ranks schedule at run time, beside MPI's own on the same counts."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import conset

Ints = NDArray[np.int64]


def starts(counts: Ints) -> Ints:
    return np.cumsum(counts) - counts


def random_counts(ranks: int, seed: int) -> Ints:
    """counts[s, t]: zeros, a few, thousands; ranks have something for themselves."""
    rng = np.random.default_rng(seed)
    counts: Ints = rng.integers(0, 6, (ranks, ranks)) * rng.choice([1, 700], (ranks, ranks))
    counts[rng.random((ranks, ranks)) < 0.4] = 0
    return counts


def expected(comm: MPI.Intracomm, send: NDArray[Any], sent: Ints, received: Ints) -> NDArray[Any]:
    got = np.zeros(int(received.sum()), send.dtype)
    comm.Alltoallv(
        [send, (sent, starts(sent)), MPI.DOUBLE],
        [got, (received, starts(received)), MPI.DOUBLE],
    )
    return got


def check_counts(comm: MPI.Intracomm) -> None:
    """Every method and policy, sources known or not, against Alltoallv."""
    choices: list[dict[str, Any]] = [
        {},
        {"method": "rs-n", "sync": "ready", "compute": "all"},
        {"method": "coloring", "sync": "barrier", "compute": "one", "machine": "torus:2x2"},
        {
            "method": "first-fit",
            "sync": "local",
            "machine": conset.load_machine("mesh:2x2,link=1GB/s"),
        },
    ]
    for seed, choice in enumerate(choices):
        # counts are of numbers, whatever the array's dimensions
        columns = 1 + seed % 2
        counts = columns * random_counts(comm.size, seed)
        sent, received = counts[comm.rank], counts[:, comm.rank]
        send = np.random.default_rng(100 + comm.rank).random((int(sent.sum()) // columns, columns))
        right = expected(comm, send, sent, received)
        receive = np.full_like(right, -1)
        with conset.alltoallv_init(
            comm, send, sent, starts(sent), receive, received, starts(received), **choice
        ) as ex:
            for _ in range(2):
                receive[:] = -1
                ex.start()
                ex.progress()
                ex.wait()
                assert (receive == right).all()
            assert ex.recvbuf is receive
            assert ex.method == choice.get("method", ex.method)
            assert ex.sync == choice.get("sync", ex.sync)
        with conset.alltoallv_init(comm, send, sent, **choice) as ex:
            ex.exchange()
            assert (ex.recvbuf == right).all()
            assert (ex.sources == np.flatnonzero(received)).all()
            assert (ex.recvcounts == received[received > 0]).all()


def check_compiled(comm: MPI.Intracomm, folder: Path) -> None:
    """Schedules that were compiled before, in memory and in files, with gaps, parts and updates."""
    counts = random_counts(comm.size, 11)
    sent, received = counts[comm.rank], counts[:, comm.rank]
    send = np.random.default_rng(comm.rank).random(int(sent.sum()))
    right = expected(comm, send, sent, received)
    sizes = 8 * counts
    np.fill_diagonal(sizes, 0)
    machine = "torus:2x2"
    whole = conset.compile(sizes, machine, method="first-fit", sync="local")
    # every message in two parts of whole numbers, the second ones after all first ones
    first = whole.size // 16 * 8
    split = replace(
        whole,
        phase_offsets=np.append(whole.phase_offsets, whole.phase_offsets[1:] + whole.transfers),
        message=np.append(whole.message, whole.message),
        parts=np.append(first, whole.size - first),
        sync="barrier",
    )
    file = folder / f"{comm.rank}.json"
    conset.write(whole, file)
    for schedule in (whole, split, file):
        receive = np.full_like(right, -1)
        with conset.alltoallv_init(
            comm, send, sent, None, receive, received, schedule=schedule
        ) as ex:
            ex.exchange()
            assert (receive == right).all()
            more = sent + (comm.rank == 1) * (np.arange(comm.size) == 2)
            long = np.append(send, 0.0)
            text = refusal(partial(ex.update, long, more, None, receive, received))
            planned, own = sizes[1, 2], sizes[1, 2] + 8
            assert (
                text == f"InputError: rank 1 sends {own} B to rank 2, the schedule has {planned} B"
            ), text
            ex.update(2 * send, sent, None, receive, received)
            ex.exchange()
            assert (receive == 2 * right).all()
        with conset.alltoallv_init(comm, send, sent, schedule=schedule) as ex:
            ex.exchange()
            assert (ex.recvbuf == right).all()
    text = refusal(
        lambda: conset.alltoallv_init(comm, send, sent, schedule=whole, method="lp", seed=3)
    )
    assert "options: schedule: is compiled already" in text, text


def check_gaps(comm: MPI.Intracomm) -> None:
    """Blocks with gaps in between, in reverse order: nothing else is written."""
    send = np.arange(3.0 * comm.size) + 100 * comm.rank
    receive = np.full(3 * comm.size, -1.0)
    ones = np.full(comm.size, 2)
    back = 3 * np.arange(comm.size)[::-1]
    with conset.alltoallv_init(comm, send, ones, back, receive, ones, back) as ex:
        ex.exchange()
    right = np.full((comm.size, 3), -1.0)
    first = 3.0 * (comm.size - 1 - comm.rank) + 100 * np.arange(comm.size)
    right[::-1, :2] = first[:, None] + [0, 1]
    assert (receive == right.ravel()).all()


def check_datatypes(comm: MPI.Intracomm) -> None:
    """Columns of a matrix become rows of its transpose, also of a rank to itself."""
    ranks = comm.size
    matrix = np.arange(2.0 * ranks).reshape(2, ranks) + 100 * comm.rank
    column = MPI.DOUBLE.Create_vector(2, 1, ranks).Create_resized(0, 8).Commit()
    rows = np.zeros((ranks, 2))
    ones = np.ones(ranks, int)
    with conset.alltoallv_init(
        comm, [matrix, column], ones, None, rows, 2 * ones, None, method="first-fit"
    ) as ex:
        column.Free()
        ex.exchange()
    assert (
        rows == np.array([[comm.rank, ranks + comm.rank]]) + 100 * np.arange(ranks)[:, None]
    ).all()


def check_neighbors(comm: MPI.Intracomm) -> None:
    """A graph with an edge twice and one to itself, against Neighbor_alltoallv."""
    ranks, rank = comm.size, comm.rank
    up, down = (rank + 1) % ranks, (rank - 1) % ranks
    graph = comm.Create_dist_graph_adjacent(
        [down, rank, down, up], [up, down, rank, up], reorder=False
    )
    sent, received = np.array([3, 5, 2, 1]), np.array([3, 2, 1, 5])
    send = np.arange(11.0) + 100 * rank
    right, receive = np.zeros(11), np.zeros(11)
    graph.Neighbor_alltoallv(
        [send, (sent, starts(sent)), MPI.DOUBLE], [right, (received, starts(received)), MPI.DOUBLE]
    )
    with conset.neighbor_alltoallv_init(
        graph, send, sent, None, receive, received, method="decreasing"
    ) as ex:
        ex.exchange()
        assert (receive == right).all()
    graph.Free()


def check_updates(comm: MPI.Intracomm) -> None:
    """Twenty patterns, each near the one before, in new buffers."""
    for compute in ("all", "one"):
        counts = random_counts(comm.size, 7)
        ex = None
        for step in range(11):
            rng = np.random.default_rng(step)
            if step:
                for _ in range(3):
                    counts[rng.integers(comm.size), rng.integers(comm.size)] = rng.integers(0, 4)
            sent, received = counts[comm.rank], counts[:, comm.rank]
            send = rng.random(int(sent.sum())) + comm.rank
            right = expected(comm, send, sent, received)
            receive = np.full_like(right, -1)
            if ex is None:
                ex = conset.alltoallv_init(
                    comm, send, sent, None, receive, received, None, compute=compute
                )
            else:
                ex.update(send, sent, None, receive, received, None)
            ex.exchange()
            assert (receive == right).all()
        assert ex is not None
        more = sent + (comm.rank == 1)
        text = refusal(partial(ex.update, send, more, None, receive, received))
        assert len({*comm.allgather(text)}) == 1, text
        receive[:] = -1
        ex.exchange()
        assert (receive == right).all()
        ex.update(send, sent, None, receive, received)
        ex.exchange()
        assert (receive == right).all()
        ex.close()


def refusal(call: Any) -> str:
    try:
        call()
    except conset.ConsetError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("not refused")


def check_refusals(comm: MPI.Intracomm) -> list[str]:
    """What is wrong on rank 1 is the same error everywhere."""
    ranks, rank = comm.size, comm.rank
    ones = np.ones(ranks, int)
    send, receive = np.zeros(ranks), np.zeros(ranks)
    wrong = rank == 1
    bad = ones.copy()
    bad[2] = -1
    two = ones.copy()
    two[0] = 2
    kind = np.int64 if wrong else np.float64
    calls = [
        lambda: conset.alltoallv_init(comm, send, bad if wrong else ones, None, receive, ones),
        lambda: conset.alltoallv_init(comm, send, ones[1:] if wrong else ones, None, receive, ones),
        lambda: conset.alltoallv_init(
            comm, np.zeros(ranks + 1), two if wrong else ones, None, receive, ones
        ),
        lambda: conset.alltoallv_init(comm, send, ones, None, receive[: ranks - wrong], ones),
        lambda: conset.alltoallv_init(comm, send, ones, None, send if wrong else receive, ones),
        lambda: conset.alltoallv_init(
            comm, send, ones, None, receive.astype("f4") if wrong else receive, ones
        ),
        lambda: conset.alltoallv_init(
            comm, send.astype(kind), ones, None, receive.astype(kind), ones
        ),
        lambda: conset.alltoallv_init(comm, send, ones, None, receive, ones, seed=int(wrong)),
        lambda: conset.alltoallv_init(
            comm, send, ones, None, receive, ones, machine="torus:9x9x" if wrong else None
        ),
        lambda: conset.alltoallv_init(comm, send, ones, None, receive, ones, method="best"),
        lambda: conset.alltoallv_init(
            comm, send, ones, None, receive, ones, timeout_s=-1 if wrong else None
        ),
        lambda: conset.alltoallv_init(comm, send, ones, None, receive[: 1 if wrong else ranks]),
        lambda: conset.alltoallv_init(comm, send, ones, None, receive, None if wrong else ones),
    ]
    texts = [refusal(call) for call in calls]
    assert all(other == texts for other in comm.allgather(texts)), comm.allgather(texts)
    assert not receive.any()
    return texts


def check_states(comm: MPI.Intracomm) -> list[str]:
    """Started twice, closed while it runs, updated while it runs, used after its end.

    A deadline.
    """
    ranks, rank = comm.size, comm.rank
    ones = np.ones(ranks, int)
    send, receive = np.full(ranks, 1.0 + rank), np.zeros(ranks)
    ex = conset.alltoallv_init(
        comm, send, ones, None, receive, ones, timeout_s=0.2, method="first-fit", sync="barrier"
    )
    texts = []
    if rank != 2:
        ex.start()
        texts.append(refusal(ex.start))
        texts.append(refusal(ex.close))
    texts.append(refusal(lambda: ex.update(send, ones, None, receive, ones)))
    if rank != 2:
        texts.append(refusal(ex.wait))
    comm.Barrier()
    if rank == 2:
        ex.start()
    ex.timeout_s = None
    ex.wait()
    assert (receive == 1 + np.arange(ranks)).all()
    ex.close()
    ex.close()
    texts.append(refusal(ex.start))
    return texts


def main() -> None:
    comm = MPI.COMM_WORLD
    check_compiled(comm, Path(sys.argv[1]).parent)
    for check in (check_counts, check_gaps, check_datatypes, check_neighbors, check_updates):
        check(comm)
    lines = [*check_refusals(comm), *check_states(comm)]
    if comm.rank == 1:
        Path(sys.argv[1]).write_text("\n".join(lines), encoding="utf-8")


main()
