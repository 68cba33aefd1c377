"""The functions that make exchanges at run time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from conset.base.errors import UsageError, python_interface
from conset.execution.run_time.alltoallv import RowExchange, ScheduleOptions
from conset.execution.run_time.sides import Arguments
from conset.machine.machine import Machine

if TYPE_CHECKING:
    from mpi4py import MPI

BufferLike = Any
"""A contiguous array, a buffer, an array of a device, or `[array, datatype]`.

A buffer is anything with the buffer protocol.
"""


@python_interface
def alltoallv_init(
    comm: MPI.Intracomm,
    sendbuf: BufferLike,
    sendcounts: ArrayLike,
    sdispls: ArrayLike | None = None,
    recvbuf: BufferLike | None = None,
    recvcounts: ArrayLike | None = None,
    rdispls: ArrayLike | None = None,
    *,
    machine: Machine | str | Path | None = None,
    method: str = "auto",
    sync: str = "auto",
    timeout_s: float | None = None,
    seed: int = 0,
    compute: str = "auto",
) -> RowExchange:
    """A persistent `Alltoallv` in the phases of a schedule, which the ranks make together now.

    Collective.

        exchange = conset.alltoallv_init(comm, send, sendcounts, sdispls, receive, recvcounts,
        rdispls) with exchange:
            exchange.start()
            ...
            exchange.wait()

    Buffers are contiguous arrays (NumPy, anything with the buffer protocol, or
    `__cuda_array_interface__` where the MPI library can reach it), or `[array, datatype]` as mpi4py
    has it, and stay where they are until the exchange is closed. Nothing is sent where something is
    wrong on some rank: every rank then has the same error.

    Args:
        comm: duplicated; the application's own messages do not meet the exchange's.
        sendbuf: what is sent.
        sendcounts: shape=(ranks): elements for each rank: rows of an array, or items of the
            datatype. A block of none is no message; what a rank has for itself is copied.
        sdispls: shape=(ranks): elements before each block; None: one block after the other.
        recvbuf: where blocks arrive, elements like those of sendbuf; shares no byte with it. None,
            where recvcounts is None: an array is made, `exchange.recvbuf`.
        recvcounts: shape=(ranks): elements from each rank; what they send, byte for byte. None on
            all ranks: not known; blocks then lie in recvbuf by source, one after the other, see
            `exchange.sources` and `exchange.recvcounts`.
        rdispls: shape=(ranks): elements before each block; None: one block after the other.
        machine: what the schedule is for: rank r is on node r; None: a crossbar.
        method: of the schedule: lp, rs-n, rs-nl, coloring, first-fit, decreasing, negotiated,
            event-list, naive, or auto: the best that can be found in the time.
        sync: none, local, ready, barrier, barrier:k, or auto.
        timeout_s: longest time of one exchange, and of each collective of this call [s]; None: no
            limit.
        seed: of every random choice.
        compute: all: every rank computes the schedule; one: rank 0 does, and gives each its part;
            auto: one where ranks exceed cores and messages × ranks are at least 2^18.

    Raises:
        UsageError: an option. InputError: counts, displacements, buffers or the machine; what one
            rank sends is not what another expects. NoScheduleError: no schedule within the limits,
            or a method that does not apply.
        ExecutionError: MPI failed, or the deadline has passed.
    """
    peers = np.arange(comm.size, dtype=np.int32)
    arguments = Arguments(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls)
    return RowExchange(
        comm,
        peers,
        peers,
        arguments,
        ScheduleOptions(machine, method, sync, timeout_s, seed, compute),
    )


@python_interface
def neighbor_alltoallv_init(
    comm: MPI.Distgraphcomm,
    sendbuf: BufferLike,
    sendcounts: ArrayLike,
    sdispls: ArrayLike | None = None,
    recvbuf: BufferLike | None = None,
    recvcounts: ArrayLike | None = None,
    rdispls: ArrayLike | None = None,
    *,
    machine: Machine | str | Path | None = None,
    method: str = "auto",
    sync: str = "auto",
    timeout_s: float | None = None,
    seed: int = 0,
    compute: str = "auto",
) -> RowExchange:
    """`alltoallv_init` with the neighbours of a distributed graph only; collective.

    Counts and displacements are in the order of the graph's lists of this rank: shape=(targets) of
    what is sent, shape=(sources) of what is received. A neighbour may stand there several times,
    and be the rank itself: blocks of one pair are matched in their order. All else is as there.

    Args:
        comm: a distributed graph; duplicated.
        sendbuf: what is sent.
        sendcounts: shape=(targets): elements for each.
        sdispls: shape=(targets): elements before each block; None: one block after the other.
        recvbuf: where blocks arrive; None where recvcounts is None: an array is made.
        recvcounts: shape=(sources): elements from each; None on all ranks: not known.
        rdispls: shape=(sources): elements before each block; None: one block after the other.
        machine: what the schedule is for; None: a crossbar.
        method: of the schedule.
        sync: how phases are kept apart.
        timeout_s: longest time of one exchange, and of each collective of this call [s]; None: no
            limit.
        seed: of every random choice.
        compute: all, one or auto.

    Raises:
        UsageError, InputError, NoScheduleError, ExecutionError: as `alltoallv_init`; a UsageError
            where `comm` is no distributed graph.
    """
    if not hasattr(comm, "Get_dist_neighbors"):
        raise UsageError(
            f"comm: must be a distributed graph of mpi4py, is {type(comm).__name__}",
            options=["comm"],
        )
    sources, targets, _ = comm.Get_dist_neighbors()
    arguments = Arguments(sendbuf, sendcounts, sdispls, recvbuf, recvcounts, rdispls)
    return RowExchange(
        comm,
        np.array(targets, np.int32),
        np.array(sources, np.int32),
        arguments,
        ScheduleOptions(machine, method, sync, timeout_s, seed, compute),
    )
