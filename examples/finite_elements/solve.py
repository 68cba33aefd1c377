"""One job: every rank assembles its part, all solve together, rank 0 compares with one rank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from conjugate_gradients import OneRank, Solution, Vector, conjugate_gradients
from halo import WORD_B, ConsetHalo, Halo, NeighborHalo
from matrix import DistributedMatrix, Part, System, Times
from mpi4py import MPI
from numpy.typing import NDArray
from problem import Problem

import conset
from conset.execution.exchange import CommPlan
from conset.pattern.layout import Layout

KEPT = 10
"""First iterates that are compared with one rank's."""
MOST = 10_000
"""Iterations at most."""
TIMED = 200
"""Iterations at most of a timed round."""
CONSET, NEIGHBOR, INEIGHBOR = "conset", "MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv"
Gathered = tuple[NDArray[np.int64], Vector]
WAYS = (CONSET, NEIGHBOR, INEIGHBOR)


@dataclass(frozen=True, eq=False)
class Shares:
    """What all ranks know of the exchange."""

    layout: Layout
    pattern: conset.Pattern
    plan: CommPlan


@contextmanager
def distributed(
    comm: MPI.Intracomm, shares: Shares, system: System, way: str
) -> Iterator[DistributedMatrix]:
    """The matrix of all parts, its halo exchanged in one of `WAYS`."""
    layout = shares.layout
    _, arriving = layout.local(comm.rank)
    received = shares.pattern.target == comm.rank
    sources = np.repeat(
        shares.pattern.source[received], shares.pattern.size[received] // WORD_B
    )  # ascending
    counted = np.ones(layout.nodes(comm.rank).size)
    counted[arriving[sources < comm.rank]] = (
        0.0  # a node of several parts counts on the first of them
    )
    with open_halo(comm, shares, way) as halo:
        yield DistributedMatrix(comm, system.matrix, halo, np.unique(arriving), counted)


def open_halo(comm: MPI.Intracomm, shares: Shares, way: str) -> Halo:
    """The exchange in one of `WAYS`."""
    if way == CONSET:
        return ConsetHalo(comm, shares.plan, shares.layout)
    return NeighborHalo(comm, shares.pattern, shares.layout, overlap=way == INEIGHBOR)


def solve(
    matrix: DistributedMatrix,
    system: System,
    part: Part,
    *,
    tolerance: float,
    most: int,
    keep: int = 0,
) -> Solution:
    """The solution on this rank's nodes, given values included."""
    diagonal, right = matrix.add(system.diagonal), matrix.add(system.right)
    diagonal[part.fixed] = 1.0
    found = conjugate_gradients(matrix, right, diagonal, tolerance=tolerance, most=most, keep=keep)
    found.x += part.given
    return found


def solve_on_one(problem: Problem, tolerance: float, keep: int) -> tuple[Solution, System, Part]:
    """The same by one rank, and its equations."""
    part = problem.whole()
    system = System.of(part)
    diagonal = np.where(part.fixed, 1.0, system.diagonal)
    found = conjugate_gradients(
        OneRank(system.matrix), system.right, diagonal, tolerance=tolerance, most=MOST, keep=keep
    )
    found.x += part.given
    return found, system, part


def collect(comm: MPI.Intracomm, nodes: NDArray[np.int64], values: Vector) -> Gathered | None:
    """Rank 0: nodes and their values, of all ranks; a node of several parts stands there for each.

    Others: None.
    """
    pieces = comm.gather((nodes, values))
    if pieces is None:
        return None
    return np.concatenate([where for where, _ in pieces]), np.concatenate(
        [what for _, what in pieces]
    )


def measure(
    comm: MPI.Intracomm, shares: Shares, system: System, part: Part, *, iterations: int, repeat: int
) -> dict[str, dict[str, float]]:
    """Way → medians over `repeat` rounds in which the ways take turns; the same on every rank.

    Times are a rank's median of its iterations, and of ranks the mean [s]; `iteration_s` is the
    slowest rank's. `mflops` is the sum of the ranks' own rates in the product; `bandwidth_Bps` as
    in the ConSet text: ranks times the bytes of the rank that sends most, over the time of the
    exchange.
    """
    rounds: dict[str, list[tuple[float, ...]]] = {way: [] for way in WAYS}
    for _ in range(repeat):
        for way in WAYS:
            with distributed(comm, shares, system, way) as matrix:
                solve(matrix, system, part, tolerance=0.0, most=1)  # connections open
                matrix.times = Times()
                comm.Barrier()
                solve(matrix, system, part, tolerance=0.0, most=iterations)
                rounds[way].append(_over_ranks(comm, matrix))
    if not repeat:
        return {}
    most = np.bincount(shares.pattern.source, shares.pattern.size, comm.size).max(initial=0)
    return {way: _row(np.median(rounds[way], axis=0), comm.size * float(most)) for way in WAYS}


def _over_ranks(comm: MPI.Intracomm, matrix: DistributedMatrix) -> tuple[float, ...]:
    own = matrix.times.medians()
    product, exchange, reduction, rest, _ = (comm.allreduce(value) / comm.size for value in own)
    rate = comm.allreduce(2 * matrix.matrix.nnz / own[0] if own[0] else 0.0)
    return product, exchange, reduction, rest, comm.allreduce(own[-1], op=MPI.MAX), rate


def _row(medians: NDArray[np.float64], sent: float) -> dict[str, float]:
    product, exchange, reduction, vectors, iteration, rate = medians.tolist()
    return {
        "product_s": product,
        "mflops": rate / 1e6,
        "exchange_s": exchange,
        "bandwidth_Bps": sent / exchange if exchange else 0.0,
        "reduction_s": reduction,
        "vectors_s": vectors,
        "iteration_s": iteration,
    }
