"""Finite-element patterns of the sizes the ConSet text gives, over 64 parts; the text's own meshes are lost.

m11k: the demo's mesh (10,000 random and 1,000 boundary points, Delaunay), METIS. c10k, c100k: 337 and 5125 boundary
points, the density inside as distance^-1.5 to a crack from the left edge to the centre; coordinate bisection.
q20k: 20,000 hexahedra, 40x25x20 or 50x40x10, METIS. Part a sends part b one word for every node that both have.
The numbers of elements are the text's: 2 n - 2 - boundary triangles by Euler's formula.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.pattern.pattern import Pattern
from conset.pattern.readers.cells import Cells
from conset.pattern.readers.partition import dual_graph, partition_graph

PARTS = 64
WORD = 4
"""Bytes of a word on iWarp."""


def fem_patterns() -> dict[str, Pattern]:
    """Name → halo exchange between 64 parts; sizes in bytes of 4-byte words."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
    from make_mesh import make_points, make_triangles

    m11k = make_triangles(make_points())
    cracks = {name: _crack(nodes, edge) for name, nodes, edge in (("c10k", 10_240, 337), ("c100k", 105_000, 5125))}
    result = {"m11k": _halo(m11k, _by_metis(m11k, common=2), "m11k")}
    for name, (points, triangles) in cracks.items():
        result[name] = _halo(triangles, _by_bisection(points[triangles].mean(axis=1)), name)
    for sides in ((40, 25, 20), (50, 40, 10)):
        name = "q20k " + "x".join(map(str, sides))
        boxes = _hexahedra(*sides)
        result[name] = _halo(boxes, _by_metis(boxes, common=4), name)
    return result


def _crack(nodes: int, boundary: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(points, triangles) of the unit square, dense along the crack from (0, 1/2) to (1/2, 1/2)."""
    from scipy.spatial import Delaunay

    random = np.random.default_rng(nodes)
    inside = np.zeros((0, 2))
    least = 0.002
    while len(inside) < nodes - boundary:
        points = random.random((1_000_000, 2))
        along = np.clip(points[:, 0], 0.0, 0.5)
        distance = np.hypot(points[:, 0] - along, points[:, 1] - 0.5)
        kept = random.random(len(points)) < (least / np.maximum(distance, least)) ** 1.5
        inside = np.concatenate([inside, points[kept]])
    at = np.arange(boundary) * 4 / boundary
    side, step = at.astype(int), at % 1
    zero, one = np.zeros_like(at), np.ones_like(at)
    x = np.choose(side, [step, one, 1 - step, zero])
    y = np.choose(side, [zero, step, one, 1 - step])
    points = np.concatenate([inside[: nodes - boundary], np.stack([x, y], axis=1)])
    return points, Delaunay(points).simplices.astype(np.int64)


def _hexahedra(nx: int, ny: int, nz: int) -> NDArray[np.int64]:
    """shape=(nx * ny * nz, 8): corners of the cells of a box."""
    x, y, z = (axis.ravel() for axis in np.meshgrid(*(np.arange(n) for n in (nx, ny, nz)), indexing="ij"))
    corners = [((x + i) * (ny + 1) + y + j) * (nz + 1) + z + k for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    return np.stack(corners, axis=1).astype(np.int64)


def _by_metis(elements: NDArray[np.int64], common: int) -> NDArray[np.int64]:
    count, corners = elements.shape
    cells = Cells(
        np.arange(0, count * corners + 1, corners), elements.ravel(), np.full(count, corners, np.int64), common
    )
    return np.asarray(partition_graph(dual_graph(cells), PARTS, 0, "mesh"), np.int64)


def _by_bisection(centre: NDArray[np.float64]) -> NDArray[np.int64]:
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


def _halo(elements: NDArray[np.int64], part: NDArray[np.int64], name: str) -> Pattern:
    from scipy.sparse import coo_matrix

    pairs = np.unique(elements * PARTS + part[:, None])
    has = coo_matrix((np.ones(pairs.size, np.int64), (pairs // PARTS, pairs % PARTS))).tocsr()
    shared = coo_matrix(has.T @ has)
    apart = shared.row != shared.col
    return Pattern.from_messages(PARTS, shared.row[apart], shared.col[apart], shared.data[apart] * WORD, name=name)
