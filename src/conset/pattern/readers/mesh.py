"""Meshes and graphs (Gmsh, VTK, METIS …), partitioned.

One adapter, cells in, the halo exchange of their parts out.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import ConsetError, InputError, MissingExtraError, UsageError
from conset.pattern.layout import Partition
from conset.pattern.readers.entries import ReadOptions
from conset.pattern.readers.mesh_text import (
    MESHES,
    check_before_reading,
    opened,
    read_dolfin,
    read_tin,
    read_xdmf,
    require_library,
    require_no_doctype,
)
from conset.pattern.readers.metis_text import parse_metis_graph, parse_metis_mesh
from conset.pattern.readers.partition import Cells, partition_cells, partition_rows

_CORNERS = {
    "line": 2,
    "triangle": 3,
    "quad": 4,
    "tetra": 4,
    "pyramid": 5,
    "wedge": 6,
    "hexahedron": 8,
    "polygon": 0,
    "polyhedron": 0,
}
"""Kind of cell without its number of nodes → corners, which come first; 0: all nodes are."""


_HEAD = 4096
"""Bytes in which a file has said what it is."""
_OWN: dict[str, Callable[[Path], Any]] = {
    "xdmf": read_xdmf,
    "dolfin-xml": read_dolfin,
    "wkt": read_tin,
}
"""Formats that are not meshio's to read."""


def _parts(path: Path, options: ReadOptions) -> int:
    if options.parts is None:
        raise UsageError(
            f"{path}: parts N required: a mesh or graph is no pattern before it is partitioned",
            options=["parts"],
        )
    return options.parts


def partition_gmsh(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a Gmsh or Ansys Fluent mesh.

    Gmsh's versions are 2.2, 4.0, 4.1; text or binary.

    Raises:
        UsageError: no `parts`.
        InputError: no valid mesh, or fewer cells than parts.
        MissingExtraError: meshio or METIS is not installed.
    """
    _parts(path, options)
    if _head(path).lstrip().startswith(b"("):
        return _read_cells(path, "ansys", options)
    # A Gmsh file ends in `$End…`, text or binary
    with path.open("rb") as handle:
        handle.seek(max(0, path.stat().st_size - 200))
        last = handle.read().rstrip().splitlines()[-1:]
    if not last or not last[0].lstrip().startswith(b"$End"):
        raise InputError(f"{path}: no Gmsh mesh, or truncated: its last line must be $End…")
    return _read_cells(path, "gmsh", options)


def _head(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(_HEAD)


def partition_vtk(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a VTK mesh; raises what `partition_gmsh` raises."""
    return _read_cells(path, "vtk", options)


def partition_vtu(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a VTK mesh in XML; raises what `partition_gmsh` raises."""
    require_no_doctype(path)
    return _read_cells(path, "vtu", options)


def partition_mesh(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a mesh of `MESHES`; raises what `partition_gmsh` raises."""
    found = MESHES[path.suffix.lower()]
    _parts(path, options)
    require_library(found.library)
    check_before_reading(path, found)
    return _read_cells(path, found.name, options)


def partition_packed(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a Netgen mesh as `.vol.gz`; raises what `partition_gmsh` raises."""
    if not path.name.lower().endswith(".vol.gz"):
        raise InputError(f"{path}: of compressed meshes only .vol.gz is read")
    return _read_cells(path, "netgen", options)


def partition_metis_mesh(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a METIS mesh, or of one of Medit, which says so.

    Raises:
        UsageError: no `parts`.
        InputError: no valid mesh, or fewer elements than parts.
        MissingExtraError: METIS is not installed.
    """
    parts = _parts(path, options)
    if b"MeshVersionFormatted" in _head(path):
        return _read_cells(path, "medit", options)
    return partition_cells(
        parse_metis_mesh(path), parts, options.word, options.seed, str(path), path.name
    )


def partition_metis_graph(path: Path, options: ReadOptions) -> Partition:
    """The halo exchange of a METIS graph.

    Raises:
        UsageError: no `parts`.
        InputError: no valid graph, or fewer vertices than parts.
        MissingExtraError: METIS is not installed.
    """
    parts = _parts(path, options)
    return partition_rows(
        parse_metis_graph(path), parts, options.word, options.seed, str(path), path.name
    )


def _read_cells(path: Path, file_format: str, options: ReadOptions) -> Partition:
    parts = _parts(path, options)
    cells = cells_of_blocks(_read_meshio(path, file_format), path)
    return partition_cells(cells, parts, options.word, options.seed, str(path), path.name)


def _read_meshio(path: Path, file_format: str) -> Any:
    """Meshio's mesh, quietly: it prints remarks, and ends the process on some errors."""
    try:
        import meshio
    except ImportError:
        raise MissingExtraError("meshio", "mesh") from None
    said = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            np.errstate(all="ignore"),
        ):
            if file_format in _OWN:
                return _OWN[file_format](path)
            with opened(path, file_format) as source:
                return meshio.read(source, file_format=file_format)
    except ConsetError:
        raise
    except (Exception, SystemExit) as error:
        # whatever a third party's parser trips over is a broken file; before it ends the process it
        # says why
        words = " ".join((said.getvalue() if isinstance(error, SystemExit) else str(error)).split())
        reason = next(
            (piece.strip() for piece in words.split("Error: ") if piece.strip()),
            type(error).__name__,
        )
        raise InputError(f"{path}: no valid {file_format} mesh, or truncated: {reason}") from None


def cells_of_blocks(mesh: Any, path: Path) -> Cells:
    """The cells of the highest dimension of a meshio mesh.

    Raises:
        InputError: no cells of dimension 1 or more, or a node out of range.
    """
    dimension = max((block.dim for block in mesh.cells if len(block.data)), default=0)
    blocks = [block for block in mesh.cells if block.dim == dimension and len(block.data)]
    if dimension < 1:
        raise InputError(f"{path}: the mesh has no cells (edges, triangles, tetrahedra …)")
    rows: list[tuple[Any, int]] = []
    for block in blocks:
        known = _CORNERS.get(block.type.rstrip("0123456789"), 0)
        rows.extend((row, known) for row in block.data)
    count = np.array([len(row) for row, _ in rows], np.int64)
    if not count.all():
        raise InputError(
            f"{path}: cell {int(np.argmin(count))} has 0 nodes, at least 1 is required"
        )
    corners = np.array([known for _, known in rows], np.int64)
    try:
        nodes = np.concatenate([np.asarray(row, np.int64) for row, _ in rows])
    except OverflowError:
        raise InputError(f"{path}: a cell names a node beyond 2^63") from None
    points = len(np.atleast_1d(mesh.points))  # of a broken file it may be one number
    wrong = np.flatnonzero((nodes < 0) | (nodes >= points))
    if wrong.size:
        raise InputError(
            f"{path}: a cell names node {nodes[wrong[0]]}: must be from 0 to {points - 1}"
        )
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    return Cells(offsets, nodes, np.where(corners == 0, count, corners), dimension)
