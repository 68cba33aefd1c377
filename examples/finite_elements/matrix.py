"""A matrix in parts: every rank has the elements of its part and a value for each of their nodes.

A node on the border of parts stands on all of them, with the same value. A product is local, row by
row; rows of border nodes are sums over parts, which the exchange adds. So these rows come first,
the exchange starts, and all other rows are computed while it goes on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from conjugate_gradients import Vector
from elements import assemble
from halo import Halo
from mpi4py import MPI
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array


@dataclass
class Times:
    """Where a rank's time went, one entry for each product, which begins an iteration [s].

    Attributes:
        began: by the clock.
        product: computation of the product.
        exchange: the halo exchange, as far as nothing was computed meanwhile.
        reduction: inner products over all ranks, from this product to the next.
    """

    began: list[float] = field(default_factory=list)
    product: list[float] = field(default_factory=list)
    exchange: list[float] = field(default_factory=list)
    reduction: list[float] = field(default_factory=list)

    def medians(self) -> tuple[float, float, float, float, float]:
        """Product, exchange, reductions, what is left of an iteration, and all of it [s].

        Of medians: where ranks share cores, an iteration now and then is long by another rank's
        turn.
        """
        if len(self.began) < 2:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        shares = np.array([self.product, self.exchange, self.reduction])[
            :, :-1
        ]  # the last iteration has no end
        iteration = np.diff(self.began)
        rows = np.vstack([shares, iteration - shares.sum(axis=0), iteration])
        product, exchange, reduction, rest, whole = np.median(rows, axis=1).tolist()
        return product, exchange, reduction, rest, whole


@dataclass(frozen=True, eq=False)
class Part:
    """What one rank has of a problem.

    Nodes are counted from 0 in ascending order of their global numbers.

    Attributes:
        nodes: shape=(nodes), int64: global numbers.
        points: shape=(nodes, coordinates).
        blocks: kind → shape=(elements, corners), the part's elements.
        fixed: shape=(nodes), bool: where the value is given.
        given: shape=(nodes): that value; elsewhere 0.
        load: shape=(nodes): right side per area or volume.
        mass: weight of the mass term, 0 or 1.
    """

    nodes: NDArray[np.int64]
    points: NDArray[np.float64]
    blocks: dict[str, NDArray[np.int64]]
    fixed: NDArray[np.bool_]
    given: Vector
    load: Vector
    mass: float


@dataclass(frozen=True, eq=False)
class System:
    """The equations of some elements: A x = b where nothing is given, x = 0 where something is.

    Of a part, diagonal and right side are its share only: sums over parts are the whole's.
    """

    matrix: csr_array
    diagonal: Vector
    right: Vector

    @staticmethod
    def of(part: Part) -> System:
        """Assembled matrix: rows and columns of given values are empty.

        What they gave is on the right side.
        """
        stiffness, size = assemble(part.points, part.blocks)
        whole = (stiffness + diags_array(part.mass * size)).tocsr()
        free = diags_array((~part.fixed).astype(float))
        right = np.where(part.fixed, 0.0, part.load * size - whole @ part.given)
        matrix = (free @ whole @ free).tocsr()
        matrix.eliminate_zeros()
        return System(matrix, np.where(part.fixed, 0.0, whole.diagonal()), right)


@dataclass(eq=False)
class DistributedMatrix:
    """The matrix of all parts, of which this rank multiplies its own."""

    comm: MPI.Intracomm
    matrix: csr_array
    halo: Halo
    shared: NDArray[np.int64]
    counted: Vector
    times: Times = field(default_factory=Times)

    def __post_init__(self) -> None:
        """Splits rows into those of the border and those inside."""
        inside = np.ones(self.matrix.shape[0], bool)
        inside[self.shared] = False
        self._inside = np.flatnonzero(inside)
        self._border_rows, self._inside_rows = self.matrix[self.shared], self.matrix[self._inside]

    def multiply(self, x: Vector) -> Vector:
        """The product, on every rank's nodes.

        The array is the exchange's and changes with the next product.
        """
        halo, times = self.halo, self.times
        began = time.perf_counter()
        border = self._border_rows @ x
        halo.send[self.shared] = border
        halo.receive[self.shared] = border
        border_done = time.perf_counter()
        halo.start()
        started = time.perf_counter()
        inside = self._inside_rows @ x
        inside_done = time.perf_counter()
        halo.progress()
        halo.wait()
        ended = time.perf_counter()
        halo.receive[self._inside] = (
            inside  # not before: the receive buffer belongs to the exchange
        )
        times.began.append(began)
        times.product.append(
            border_done - began + inside_done - started + time.perf_counter() - ended
        )
        times.exchange.append(started - border_done + ended - inside_done)
        times.reduction.append(0.0)
        return halo.receive

    def add(self, values: Vector) -> Vector:
        """Sums over all parts that have a node, of what each of them has."""
        self.halo.send[:] = values
        self.halo.receive[:] = values
        self.halo.start()
        self.halo.wait()
        return self.halo.receive.copy()

    def dots(self, *pairs: tuple[Vector, Vector]) -> list[float]:
        """Inner products over all ranks; a node of several parts counts on one of them."""
        found = np.array([(a * self.counted) @ b for a, b in pairs])
        began = time.perf_counter()
        self.comm.Allreduce(MPI.IN_PLACE, found)
        if self.times.reduction:
            self.times.reduction[-1] += time.perf_counter() - began
        return found.tolist()
