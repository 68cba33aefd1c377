"""Writes the demo's mesh.

11,000 nodes and 20,998 triangles in the unit square, the size of the ConSet text's m11k.

Usage: python examples/make_mesh.py OUT.msh (Gmsh, text) or OUT.mesh (METIS).

10,000 uniform random points inside and 1,000 evenly spaced on the boundary, Delaunay triangles. By
Euler's formula n points of which b lie on the convex hull have 2 n - 2 - b triangles: 2 * 11,000 -
2 - 1,000 = 20,998, whatever the random points are. The boundary points must all be corners of
triangles for that, which rounding could spoil: it is checked.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import ConsetError, UsageError
from conset.base.files import replacing

INSIDE, BOUNDARY, TRIANGLES, SEED = 10_000, 1_000, 20_998, 0


def make_points() -> NDArray[np.float64]:
    """The points inside, then those on the boundary, in order from the lower left corner.

    shape=(11000, 2).
    """
    inside = np.random.default_rng(SEED).random((INSIDE, 2))
    along = np.arange(BOUNDARY // 4) / (BOUNDARY // 4)
    zero, one = np.zeros_like(along), np.ones_like(along)
    sides = [(along, zero), (one, along), (1 - along, one), (zero, 1 - along)]
    return np.concatenate([inside, *(np.stack(side, axis=1) for side in sides)])


def make_triangles(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """shape=(20998, 3): corners of the Delaunay triangles.

    Raises:
        RuntimeError: another number of triangles or of nodes in them.
    """
    from scipy.spatial import Delaunay

    triangles = Delaunay(points).simplices.astype(np.int64)
    nodes = np.unique(triangles).size
    if len(triangles) != TRIANGLES or nodes != len(points):
        raise RuntimeError(
            f"{len(triangles)} triangles over {nodes} nodes: {TRIANGLES} over "
            f"{len(points)} required"
        )
    return triangles


def write_gmsh(path: Path, points: NDArray[np.float64], triangles: NDArray[np.int64]) -> None:
    """Gmsh 2.2 in text, by meshio (which wants three coordinates)."""
    import meshio

    flat = np.column_stack([points, np.zeros(len(points))])
    # without tags meshio writes zeros and says so
    tags = {
        key: [np.ones(len(triangles), np.int64)] for key in ("gmsh:physical", "gmsh:geometrical")
    }
    mesh = meshio.Mesh(flat, [("triangle", triangles)], cell_data=tags)
    meshio.gmsh.write(path, mesh, fmt_version="2.2", binary=False)


def write_metis(path: Path, points: NDArray[np.float64], triangles: NDArray[np.int64]) -> None:
    """METIS: the number of elements, then their nodes from 1, a line each."""
    np.savetxt(path, triangles + 1, fmt="%d", header=str(len(triangles)), comments="")


WRITERS = {".msh": write_gmsh, ".mesh": write_metis}


def main(arguments: list[str]) -> int:
    """Writes the mesh; returns the exit code."""
    try:
        if len(arguments) != 1 or Path(arguments[0]).suffix not in WRITERS:
            raise UsageError("make_mesh.py: one file name that ends in .msh or .mesh required")
        points = make_points()
        triangles = make_triangles(points)
        with replacing(arguments[0]) as temporary:
            WRITERS[temporary.suffix](temporary, points, triangles)
    except ConsetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{arguments[0]}: {len(points)} nodes, {len(triangles)} triangles")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
