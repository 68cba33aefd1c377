"""Conjugate gradients with Jacobi's preconditioner, over any operator.

One rank's matrix or one in parts.

When to stop. The energy norm |e|² = (e, A e) of the error falls by a known amount in every
iteration: |e_k|² - |e_(k+1)|² = α_k (r_k, z_k). So the sum over the last iterations estimates the
error before them, and the sum over all the norm of the solution; a residual says less, by as much
as A is badly conditioned. Reference. Hestenes and Stiefel, Methods of conjugate gradients for
solving linear systems, 1952, https://doi.org/10.6028/jres.049.044; Strakoš and Tichý, On error
estimation in the conjugate gradient method and why it works in finite precision computations, 2002,
https://eudml.org/doc/123279.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

DELAY = 10
"""Iterations over which the error is estimated."""
ROUNDING = 1e-15
"""A residual below is nothing but rounding."""
Vector = NDArray[np.float64]


class Operator(Protocol):
    """A symmetric positive definite matrix, and the inner product of its vectors."""

    def multiply(self, x: Vector) -> Vector:
        """The product with x."""

    def dots(self, *pairs: tuple[Vector, Vector]) -> list[float]:
        """An inner product for each pair, all in one reduction."""


@dataclass(frozen=True, eq=False)
class OneRank:
    """The whole matrix on one rank."""

    matrix: csr_array

    def multiply(self, x: Vector) -> Vector:
        """The product with x."""
        return self.matrix @ x

    def dots(self, *pairs: tuple[Vector, Vector]) -> list[float]:
        """An inner product for each pair."""
        return [float(a @ b) for a, b in pairs]


@dataclass(eq=False)
class Solution:
    """Where an iteration ended.

    Attributes:
        x: the last iterate.
        residuals: |r| / |b| before the first iteration and after each.
        errors: |e| / |x| in the energy norm before the first iteration and after each, estimated
            `DELAY` later.
        falls: of |e|² in each iteration.
        iterates: the first ones.
    """

    x: Vector
    residuals: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    falls: list[float] = field(default_factory=list)
    iterates: list[Vector] = field(default_factory=list)

    @property
    def iterations(self) -> int:
        """How many there were."""
        return len(self.residuals) - 1

    def goes_on(self, tolerance: float, most: int) -> bool:
        """Whether another iteration is needed, makes sense and is allowed."""
        needed = not self.errors or self.errors[-1] > tolerance
        return needed and self.residuals[-1] > ROUNDING and self.iterations < most


def conjugate_gradients(
    operator: Operator, b: Vector, diagonal: Vector, *, tolerance: float, most: int, keep: int = 0
) -> Solution:
    """Solves A x = b from x = 0, until the error is estimated to be at most the tolerance.

    Args:
        operator: A.
        b: right side.
        diagonal: of A, the preconditioner.
        tolerance: of the error, relative to the solution, in the energy norm.
        most: iterations at most.
        keep: how many iterates are kept.
    """
    x, r = np.zeros_like(b), b.copy()
    z = r / diagonal
    p = z.copy()
    rz, rr = operator.dots((r, z), (r, r))
    whole = rr**0.5 or 1.0
    solution = Solution(x, [rr**0.5 / whole])
    while solution.goes_on(tolerance, most):
        q = operator.multiply(p)
        (pq,) = operator.dots((p, q))
        step = rz / pq
        x += step * p
        r -= step * q
        np.divide(r, diagonal, out=z)
        before = rz
        rz, rr = operator.dots((r, z), (r, r))
        p *= rz / before
        p += z
        solution.residuals.append(rr**0.5 / whole)
        solution.falls.append(step * before)
        if solution.iterations >= DELAY:
            solution.errors.append((sum(solution.falls[-DELAY:]) / sum(solution.falls)) ** 0.5)
        if solution.iterations <= keep:
            solution.iterates.append(x.copy())
    return solution
