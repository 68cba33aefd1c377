"""Finite-element meshes of the sizes that Table 4 gives; the text's own are lost.

m11k: 10,000 random points in the unit square and 1,000 evenly spaced on its boundary. c10k, c100k: 337 and 5,125 on the
boundary, the density inside as distance^-1.5 to a crack from the left edge to the centre. All three are Delaunay
triangles, whose number Euler's formula gives: 2 · nodes - 2 - nodes on the boundary. q20k: hexahedra 40 × 25 × 20, the
only elements of which 20,000 have about 22,451 nodes. Cells are cut into 64 parts by bisection of the wider coordinate
or by METIS; part a sends part b one word for every node that both have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from conset.errors import UsageError
from conset.pattern.pattern import Pattern
from conset.pattern.readers.cells import Cells
from conset.pattern.readers.partition import dual_graph, halo_exchange, partition_graph

PARTS = 64
WORD_B = 4
TRIANGLES = {"m11k": (11_000, 1_000), "c10k": (10_240, 337), "c100k": (105_000, 5_125)}
"""Nodes in all and on the boundary."""
BOXES = {"q20k": (40, 25, 20)}
"""Cells along each side."""
NEAREST = 0.002
"""Within this distance of a crack the density is even."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Elements with the same number of corners.

    Attributes:
        points: shape=(nodes, dimensions), float64.
        elements: shape=(elements, corners), int64.
    """

    points: NDArray[np.float64]
    elements: NDArray[np.int64]

    @property
    def cells(self) -> Cells:
        """As the readers of meshes have them: two elements are next to each other by a side."""
        count, corners = self.elements.shape
        offsets = np.arange(0, count * corners + 1, corners)
        common = self.points.shape[1] if corners == 3 else 4
        return Cells(offsets, self.elements.ravel(), np.full(count, corners, np.int64), common)

    @property
    def centres(self) -> NDArray[np.float64]:
        """shape=(elements, dimensions), float64."""
        centres: NDArray[np.float64] = self.points[self.elements].mean(axis=1)
        return centres


@lru_cache(maxsize=8)
def make_mesh(name: str) -> Mesh:
    """The mesh called `name`, the same every time."""
    if name in BOXES:
        return make_box(BOXES[name])
    nodes, boundary = TRIANGLES[name]
    inside = nodes - boundary
    points = np.random.default_rng(0).random((inside, 2)) if name == "m11k" else _around_crack(inside, nodes)
    return _triangulate(np.concatenate([points, _square(boundary)]))


def _triangulate(points: NDArray[np.float64]) -> Mesh:
    from scipy.spatial import Delaunay

    return Mesh(points, Delaunay(points).simplices.astype(np.int64))


def _square(count: int) -> NDArray[np.float64]:
    """shape=(count, 2): evenly spaced on the boundary of the unit square, from the lower left corner on."""
    at = np.arange(count) * 4
    side, step = at // count, at % count / count
    zero, one = np.zeros(count), np.ones(count)
    x = np.choose(side, [step, one, 1 - step, zero])
    y = np.choose(side, [zero, step, one, 1 - step])
    return np.stack([x, y], axis=1)


def _around_crack(count: int, seed: int) -> NDArray[np.float64]:
    """shape=(count, 2): random points, dense along the crack from (0, 1/2) to (1/2, 1/2)."""
    random = np.random.default_rng(seed)
    kept = [np.zeros((0, 2))]
    while sum(map(len, kept)) < count:
        points = random.random((1_000_000, 2))
        along = np.clip(points[:, 0], 0.0, 0.5)
        distance = np.hypot(points[:, 0] - along, points[:, 1] - 0.5)
        kept.append(points[random.random(len(points)) < (NEAREST / np.maximum(distance, NEAREST)) ** 1.5])
    return np.concatenate(kept)[:count]


def make_box(sides: tuple[int, int, int]) -> Mesh:
    """A box of unit cubes."""
    nx, ny, nz = sides
    x, y, z = (axis.ravel() for axis in np.meshgrid(*(np.arange(n) for n in sides), indexing="ij"))
    corners = [((x + i) * (ny + 1) + y + j) * (nz + 1) + z + k for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    grid = np.meshgrid(*(np.arange(n + 1.0) for n in (nx, ny, nz)), indexing="ij")
    return Mesh(np.stack([axis.ravel() for axis in grid], axis=1), np.stack(corners, axis=1).astype(np.int64))


def cut(mesh: Mesh, how: str) -> NDArray[np.int64]:
    """shape=(elements), int64: the part of each, of 64.

    Args:
        mesh: what is cut.
        how: `bisection` or `metis`.

    Raises:
        UsageError: another way.
        MissingExtraError: METIS is not installed.
    """
    if how == "bisection":
        return _bisect(mesh.centres)
    if how != "metis":
        raise UsageError(f"parts by '{how}': must be bisection or metis")
    return partition_graph(dual_graph(mesh.cells), PARTS, 0, "mesh")


def _bisect(centre: NDArray[np.float64]) -> NDArray[np.int64]:
    """Halves by the median of the wider coordinate, six times."""
    part = np.zeros(len(centre), np.int64)
    for _ in range(PARTS.bit_length() - 1):
        halves = np.zeros_like(part)
        for p in np.unique(part):
            own = np.flatnonzero(part == p)
            wide = int(np.argmax(np.ptp(centre[own], axis=0)))
            order = own[np.argsort(centre[own, wide], kind="stable")]
            halves[order[len(order) // 2 :]] = 1
        part = 2 * part + halves
    return part


def halo(mesh: Mesh, part: NDArray[np.int64], name: str) -> Pattern:
    """What the parts exchange after an iteration, in bytes of 4-byte words."""
    return halo_exchange(mesh.cells, part, PARTS, WORD_B, name)
