"""Meshes: those of the ConSet text, Spark98 packs, and whatever meshio reads."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from elements import REFERENCES
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.base.files import replacing

TEXT_MESHES = ("m11k", "c10k", "c100k", "q20k")
_DIMENSION = {"triangle": 2, "quad": 2, "tetra": 3, "hexahedron": 3}
_MESHIO_ORDER = [0, 4, 6, 2, 1, 5, 7, 3]
"""Corners of a cube in meshio's order, of those counted in binary (x first)."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Elements in the order of their file, kind after kind.

    Attributes:
        name: for people.
        points: shape=(nodes, coordinates), float64.
        blocks: (kind, shape=(elements, corners) int64), in the order of the file.
    """

    name: str
    points: NDArray[np.float64]
    blocks: tuple[tuple[str, NDArray[np.int64]], ...]

    @property
    def count(self) -> int:
        """Number of elements."""
        return sum(len(elements) for _, elements in self.blocks)

    @property
    def dimension(self) -> int:
        """2 for triangles, 3 for tetrahedra."""
        return _DIMENSION[self.blocks[0][0]]

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Nodes that an element has, ascending: files may hold more points."""
        return np.unique(np.concatenate([elements.ravel() for _, elements in self.blocks]))

    def select(self, chosen: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
        """Kind → elements for which `chosen` (shape=(elements)) is true."""
        ends = np.cumsum([len(elements) for _, elements in self.blocks])
        kinds: dict[str, list[NDArray[np.int64]]] = {}
        for (kind, elements), own in zip(self.blocks, np.split(chosen, ends[:-1]), strict=True):
            kinds.setdefault(kind, []).append(elements[own])
        return {kind: np.concatenate(found) for kind, found in kinds.items()}

    def sides(
        self, chosen: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sides that one element alone has, and that element: the boundary.

        Args:
            chosen: shape=(elements): the elements that count; None: all.

        Returns:
            shape=(sides, corners): numbers of nodes, rows padded by their last one; shape=(sides).
        """
        rows, owners, first = [], [], 0
        most = max(len(corners) for kind, _ in self.blocks for corners in REFERENCES[kind].sides)
        for kind, elements in self.blocks:
            own = (
                np.arange(len(elements))
                if chosen is None
                else np.flatnonzero(chosen[first : first + len(elements)])
            )
            for corners in REFERENCES[kind].sides:
                side = elements[own][:, corners]
                rows.append(np.pad(side, ((0, 0), (0, most - side.shape[1])), mode="edge"))
                owners.append(own + first)
            first += len(elements)
        sides = np.concatenate(rows)
        _, where, count = np.unique(
            np.sort(sides, axis=1), axis=0, return_index=True, return_counts=True
        )
        alone = where[count == 1]
        return sides[alone], np.concatenate(owners)[alone]


def write_text_mesh(name: str, path: Path) -> None:
    """Writes a mesh of the ConSet text's Table 4 as a Gmsh file.

    It is made again as `conset reproduce` makes it.
    """
    import meshio

    from conset_papers.conset_iwarp.finite_elements import make_mesh

    made = make_mesh(name)
    cube = made.elements.shape[1] == 8
    elements = made.elements[:, _MESHIO_ORDER] if cube else made.elements
    points = np.pad(made.points, ((0, 0), (0, 3 - made.points.shape[1])))
    tags = {
        key: [np.ones(len(elements), np.int64)] for key in ("gmsh:physical", "gmsh:geometrical")
    }
    mesh = meshio.Mesh(points, [("hexahedron" if cube else "triangle", elements)], cell_data=tags)
    with replacing(path) as temporary:
        meshio.gmsh.write(temporary, mesh, fmt_version="2.2", binary=True)


def read_mesh(path: Path) -> Mesh:
    """A mesh of linear elements.

    Raises:
        InputError: elements of another kind, or none of two or three dimensions.
    """
    return read_pack(path) if path.suffix == ".pack" else _read_meshio(path)


def _read_meshio(path: Path) -> Mesh:
    import meshio

    with contextlib.redirect_stdout(io.StringIO()):  # it prints an empty line
        mesh = meshio.read(path)
    highest = max((block.dim for block in mesh.cells if len(block.data)), default=0)
    blocks = tuple(
        (block.type, np.asarray(block.data, np.int64))
        for block in mesh.cells
        if block.dim == highest and len(block)
    )
    for kind, _ in blocks:
        if kind not in REFERENCES:
            raise InputError(
                f"{path}: elements of kind {kind}: must be one of {', '.join(REFERENCES)}"
            )
    if not blocks:
        raise InputError(f"{path}: the mesh has no elements, at least 1 is required")
    points = np.asarray(mesh.points, np.float64)
    if np.ptp(points[:, -1]) == 0 and highest == 2:
        points = points[:, :2]
    return Mesh(path.name, points, blocks)


def read_pack(path: Path) -> Mesh:
    """The mesh of a Spark98 pack, elements by their numbers.

    `conset.pattern.readers.spark98` describes the format.
    """
    numbers = np.array(path.read_bytes().split(), np.float64)
    (count, dimension, _, corners, parts), whole = numbers[:5].astype(int), numbers.astype(np.int64)
    at = 6
    nodes = whole[at : at + 3 * parts].reshape(parts, 3)[:, 0]
    at += 3 * parts
    points, own = np.zeros((count, dimension)), []
    for size in nodes:
        rows = numbers[at : at + size * (1 + dimension)].reshape(size, 1 + dimension)
        own.append(rows[:, 0].astype(np.int64) - 1)
        points[own[-1]] = rows[:, 1:]
        at += rows.size
    elements_of = whole[at : at + parts]
    at += parts
    elements = np.zeros((int(elements_of.sum()), corners), np.int64)
    for r, size in enumerate(elements_of):
        rows = whole[at : at + size * (1 + corners)].reshape(size, 1 + corners)
        elements[rows[:, 0] - 1] = own[r][rows[:, 1:]]
        at += rows.size
    return Mesh(path.name, points, (({3: "triangle", 4: "tetra"}[corners], elements),))
