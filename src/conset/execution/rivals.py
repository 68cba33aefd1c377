"""Rivals: what an application would call without a schedule, on the same buffers.

- `naive`: all receives, then all sends, in rank order, one message per pair of ranks; wait for everything.
- `alltoallv`: `MPI_Alltoallv`.
- `neighbor_alltoallv`: `MPI_Neighbor_alltoallv` on a graph communicator of the pairs that there are.

The two collectives are the library's own blocking calls: how they wait is part of what is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from conset.execution.plan import PairRanges, Plan
from conset.execution.wait import Waiter

Bytes = NDArray[np.uint8]


class Exchange(Protocol):
    """Anything that delivers the bytes of a plan."""

    def exchange(self) -> None:
        """Delivers everything once."""

    def close(self) -> None:
        """Frees what MPI holds."""


class Naive:
    """Posts everything in rank order, as halo exchanges are mostly written."""

    def __init__(self, comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes, waiter: Waiter) -> None:
        sends, receives = plan.pair_ranges(comm.rank)
        self._comm = comm.Dup()
        self._waiter = waiter
        self._receives = _views(receives, recvbuf)
        self._sends = _views(sends, sendbuf)

    def exchange(self) -> None:
        """Irecv of all, Isend of all, and a look at one after the other until they end."""
        self._waiter.begin()
        requests = [self._comm.Irecv([view, MPI.BYTE], peer) for peer, view in self._receives]
        requests += [self._comm.Isend([view, MPI.BYTE], peer) for peer, view in self._sends]
        for request in requests:
            self._waiter.wait(request, self._missing)

    def _missing(self) -> str:
        return f"rank {self._comm.rank}: naive exchange: messages are missing"

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


class Alltoallv:
    """`MPI_Alltoallv` over all ranks, zero counts included."""

    def __init__(self, comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes, waiter: Waiter) -> None:
        sends, receives = plan.pair_ranges(comm.rank)
        self._comm = comm.Dup()
        self._out = [sendbuf, *_dense(sends, plan.ranks), MPI.BYTE]
        self._in = [recvbuf, *_dense(receives, plan.ranks), MPI.BYTE]

    def exchange(self) -> None:
        """The collective."""
        self._comm.Alltoallv(self._out, self._in)

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


class NeighborAlltoallv:
    """`MPI_Neighbor_alltoallv` over the pairs that exchange anything."""

    def __init__(self, comm: MPI.Intracomm, plan: Plan, sendbuf: Bytes, recvbuf: Bytes, waiter: Waiter) -> None:
        sends, receives = plan.pair_ranges(comm.rank)
        self._comm = comm.Create_dist_graph_adjacent(receives.peer.tolist(), sends.peer.tolist(), reorder=False)
        self._out = [sendbuf, sends.bytes.tolist(), sends.offset.tolist(), MPI.BYTE]
        self._in = [recvbuf, receives.bytes.tolist(), receives.offset.tolist(), MPI.BYTE]

    def exchange(self) -> None:
        """The collective."""
        self._comm.Neighbor_alltoallv(self._out, self._in)

    def close(self) -> None:
        """Frees the communicator."""
        self._comm.Free()


BASELINES: dict[str, Callable[[MPI.Intracomm, Plan, Bytes, Bytes, Waiter], Exchange]] = {
    "naive": Naive,
    "alltoallv": Alltoallv,
    "neighbor_alltoallv": NeighborAlltoallv,
}
"""All rivals by the name in results."""


def _views(ranges: PairRanges, buffer: Bytes) -> list[tuple[int, Bytes]]:
    columns = zip(ranges.peer.tolist(), ranges.offset.tolist(), ranges.bytes.tolist(), strict=True)
    return [(peer, buffer[offset : offset + size]) for peer, offset, size in columns]


def _dense(ranges: PairRanges, ranks: int) -> tuple[list[int], list[int]]:
    counts, displacements = np.zeros((2, ranks), np.int64)
    counts[ranges.peer] = ranges.bytes
    displacements[ranges.peer] = ranges.offset
    return counts.tolist(), displacements.tolist()
