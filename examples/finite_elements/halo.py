"""The exchange of shared nodes: what a rank has of them is sent, what others have is added.

Three ways with one interface: `send` and `receive` hold a value for every node of the rank. Between
`start` and `wait` the rank may compute; then every shared node of `receive` has the sum over all
ranks, if it held the rank's own before.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import conset
from conset.execution.exchange import CommPlan
from conset.pattern.layout import Layout

WORD_B = 8


class Halo(Protocol):
    """An exchange that can be repeated."""

    send: NDArray[np.float64]
    receive: NDArray[np.float64]

    def start(self) -> None:
        """Begins; `send` and `receive` belong to the exchange until `wait`."""

    def progress(self) -> bool:
        """Goes on without waiting; True at the end."""

    def wait(self) -> None:
        """Ends."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class ConsetHalo:
    """Over a compiled schedule."""

    def __init__(self, comm: MPI.Intracomm, plan: CommPlan, layout: Layout) -> None:
        count = layout.nodes(comm.rank).size
        self.send, self.receive = np.zeros(count), np.zeros(count)
        self._exchange = plan.exchange(self.send, self.receive, layout=layout)
        self.start = self._exchange.start
        self.progress = self._exchange.progress
        self.wait = self._exchange.wait

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exchange.__exit__(kind, error, trace)


class NeighborHalo:
    """By MPI_Neighbor_alltoallv of values gathered before and added after, all in NumPy."""

    def __init__(
        self, comm: MPI.Intracomm, pattern: conset.Pattern, layout: Layout, *, overlap: bool
    ) -> None:
        count = layout.nodes(comm.rank).size
        self.send, self.receive = np.zeros(count), np.zeros(count)
        self._out, self._in = layout.local(comm.rank)
        self._packed, self._arrived = np.zeros(self._out.size), np.zeros(self._in.size)
        # one message a pair; sends stand by target, receives by source
        sent = np.flatnonzero(pattern.source == comm.rank)
        sent = sent[np.argsort(pattern.target[sent])]
        received = np.flatnonzero(pattern.target == comm.rank)
        out_counts, in_counts = (
            pattern.size[messages].astype(int) // WORD_B for messages in (sent, received)
        )
        sources, targets = pattern.source[received].tolist(), pattern.target[sent].tolist()
        self._graph = comm.Create_dist_graph_adjacent(sources, targets, reorder=False)
        self._buffers = (
            [self._packed, (out_counts, _starts(out_counts)), MPI.DOUBLE],
            [self._arrived, (in_counts, _starts(in_counts)), MPI.DOUBLE],
        )
        self._overlap = overlap
        self._request = MPI.REQUEST_NULL

    def start(self) -> None:
        """Gathers; begins the collective where it may overlap."""
        np.take(self.send, self._out, out=self._packed)
        if self._overlap:
            self._request = self._graph.Ineighbor_alltoallv(*self._buffers)

    def progress(self) -> bool:
        """Looks whether the collective has ended."""
        return self._overlap and self._request.Test()

    def wait(self) -> None:
        """Ends the collective, or is all of it; adds."""
        if self._overlap:
            self._request.Wait()
        else:
            self._graph.Neighbor_alltoallv(*self._buffers)
        np.add.at(self.receive, self._in, self._arrived)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._graph.Free()


def _starts(counts: NDArray[np.int_]) -> NDArray[np.int_]:
    return np.cumsum(counts) - counts
