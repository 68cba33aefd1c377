"""Linear elements: stiffness of each, and the matrix that they make together.

An element is the image of a reference element under x(ξ) = Σ N_c(ξ) x_c. With J = dx/dξ and G = JᵀJ
its stiffness is ∫ ∇N_c · ∇N_d dx = Σ_q w_q √det G · dN_c G⁻¹ dN_dᵀ, which holds for triangles of a
surface in space as well as for those of a plane. One point integrates triangles and tetrahedra
exactly; quadrilaterals and hexahedra take 2 Gauss points along each side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from conset.base.errors import InputError


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference element.

    Attributes:
        weights: shape=(points), of the quadrature.
        gradients: shape=(points, corners, dimension): dN/dξ.
        sides: corners of each side, whose nodes no other element has where the side is on the
            boundary.
    """

    weights: NDArray[np.float64]
    gradients: NDArray[np.float64]
    sides: tuple[tuple[int, ...], ...]


def _simplex(dimension: int, sides: tuple[tuple[int, ...], ...]) -> Reference:
    gradients = np.vstack([-np.ones(dimension), np.eye(dimension)])
    return Reference(np.array([1 / (2 if dimension == 2 else 6)]), gradients[None], sides)


def _cube(corners: tuple[tuple[int, ...], ...], sides: tuple[tuple[int, ...], ...]) -> Reference:
    """On [-1, 1]^d: N_c(ξ) = Π (1 + ξ_i c_i) / 2 for a corner c of ±1."""
    at = np.array(corners, float)
    dimension = at.shape[1]
    points = np.array(list(product((-1, 1), repeat=dimension))) / np.sqrt(3)
    factors = (1 + points[:, None] * at) / 2
    gradients = np.empty((len(points), *at.shape))
    for i in range(dimension):
        others = np.delete(factors, i, axis=2).prod(axis=2)
        gradients[:, :, i] = others * at[:, i] / 2
    return Reference(np.ones(len(points)), gradients, sides)


_SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1))
REFERENCES: Mapping[str, Reference] = {
    "triangle": _simplex(2, ((0, 1), (1, 2), (2, 0))),
    "quad": _cube(_SQUARE, ((0, 1), (1, 2), (2, 3), (3, 0))),
    "tetra": _simplex(3, ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))),
    "hexahedron": _cube(
        tuple((*corner, z) for z in (-1, 1) for corner in _SQUARE),
        ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    ),
}
"""By meshio's name of the kind, corners in its order."""


def stiffness(
    kind: str, corners: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stiffness and size of elements of one kind.

    Args:
        kind: of `REFERENCES`.
        corners: shape=(elements, corners, coordinates).

    Returns:
        shape=(elements, corners, corners), and shape=(elements): area or volume.

    Raises:
        InputError: an element without area or volume.
    """
    reference = REFERENCES[kind]
    count, nodes, _ = corners.shape
    matrices, measure = np.zeros((count, nodes, nodes)), np.zeros(count)
    for weight, gradients in zip(reference.weights, reference.gradients, strict=True):
        jacobian = np.einsum("ecx,cr->exr", corners, gradients)
        metric = np.einsum("exr,exs->ers", jacobian, jacobian)
        determinant = np.linalg.det(metric)
        longest = np.trace(metric, axis1=1, axis2=2)
        flat = np.flatnonzero(determinant <= 1e-24 * longest ** metric.shape[1])
        if flat.size:
            raise InputError(f"{kind} {flat[0]}: has no area or volume")
        scale = weight * np.sqrt(determinant)
        matrices += scale[:, None, None] * (gradients @ np.linalg.inv(metric) @ gradients.T)
        measure += scale
    return matrices, measure


def assemble(
    points: NDArray[np.float64], blocks: Mapping[str, NDArray[np.int64]]
) -> tuple[csr_array, NDArray[np.float64]]:
    """The matrix of -Δ of all elements, and the size that each node has of them (the lumped mass).

    Args:
        points: shape=(nodes, coordinates).
        blocks: kind → shape=(elements, corners), numbers of nodes.

    Raises:
        InputError: an element without area or volume.
    """
    rows, columns, values = [], [], []
    mass = np.zeros(len(points))
    for kind, elements in blocks.items():
        matrices, measure = stiffness(kind, points[elements])
        corners = elements.shape[1]
        rows.append(np.repeat(elements, corners, axis=1).ravel())
        columns.append(np.tile(elements, corners).ravel())
        values.append(matrices.ravel())
        np.add.at(mass, elements.ravel(), np.repeat(measure / corners, corners))
    entries = (np.concatenate([np.zeros(0), *values]), (_join(rows), _join(columns)))
    return coo_array(entries, shape=(len(points), len(points))).tocsr(), mass


def _join(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *parts])
