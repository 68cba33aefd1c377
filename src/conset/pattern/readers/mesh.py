"""Meshes and graphs (Gmsh, VTK, METIS …), partitioned.

One adapter, cells in, the halo exchange of their parts out.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from conset.base import ConsetError, InputError, UsageError, import_extra
from conset.pattern.layout import Partition
from conset.pattern.readers.decks import CORNERS, read_gmsh, read_inp, read_nastran, read_ucd
from conset.pattern.readers.entries import ReadOptions
from conset.pattern.readers.mesh_text import (
    MESHES,
    check_before_reading,
    read_xdmf,
    require_library,
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
}
"""Kind of cell without its number of nodes → corners, which come first; of others all nodes are."""
_HEAD = 4096
"""Bytes at the beginning of a file that decide its format."""
_BINARY = re.compile(rb"\s*\$MeshFormat\s+\S+\s+1\s")
_OWN: dict[str, Callable[[Path], Cells]] = {
    "gmsh": read_gmsh,
    "abaqus": read_inp,
    "nastran": read_nastran,
    "avsucd": read_ucd,
    "metis": parse_metis_mesh,
}
"""Formats that are not meshio's to read."""


def _parts(path: Path, options: ReadOptions) -> int:
    if options.parts is None:
        raise UsageError(
            f"{path}: parts N required: a mesh or graph is no pattern before it is partitioned",
            options=["parts"],
        )
    return options.parts


def partition_mesh(path: Path, options: ReadOptions) -> Partition:
    """Return the halo exchange of a mesh whose suffix is one of `MESHES`.

    Raises:
        UsageError: no `parts`.
        InputError: no valid mesh, or fewer cells than parts.
        MissingExtraError: meshio or METIS is not installed.
    """
    parts = _parts(path, options)
    found = MESHES[path.suffix.lower()]
    require_library(found.library)
    with path.open("rb") as handle:
        head = handle.read(_HEAD)
    name = found.name
    if name == "gmsh" and head.lstrip().startswith(b"("):
        raise InputError(f"{path}: an Ansys mesh contains faces, not cells: a Gmsh mesh required")
    if name == "metis" and b"MeshVersionFormatted" in head:
        name = "medit"
    if path.suffix.lower() == ".gz" and not path.name.lower().endswith(".vol.gz"):
        raise InputError(f"{path}: of compressed meshes only .vol.gz is read")
    is_binary = name == "gmsh" and _BINARY.match(head) is not None
    if is_binary and b"$PartitionedEntities" in path.read_bytes():
        raise InputError(f"{path}: a partitioned Gmsh mesh in binary is not read: save it as text")
    if name in _OWN and not is_binary:
        cells = _OWN[name](path)
    else:
        cells = cells_of_blocks(_read_meshio(path, name), path)
    return partition_cells(cells, parts, options.word, options.seed, str(path), path.name)


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


def _read_meshio(path: Path, file_format: str) -> Any:
    """Meshio's mesh, quietly: it prints remarks, and ends the process on some errors."""
    meshio = import_extra("meshio", "mesh")
    said = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            np.errstate(all="ignore"),
        ):
            check_before_reading(path, file_format)
            if file_format == "xdmf":
                return read_xdmf(path)
            mesh = meshio.read(path, file_format=file_format)
            if "could not parse" in said.getvalue():
                raise ValueError(said.getvalue().partition("could not parse")[2])
            return mesh
    except ConsetError:
        raise
    except (Exception, SystemExit) as error:
        # whatever a third party's parser trips over is a broken file; before it ends the process it
        # says why
        text = " ".join((said.getvalue() if isinstance(error, SystemExit) else str(error)).split())
        reason = next(
            (piece.strip() for piece in text.split("Error: ") if piece.strip()),
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
        kind = block.type.rstrip("0123456789")
        known = _CORNERS.get(kind, 0)
        allowed = [n for n, corners in CORNERS.get(block.dim, {}).items() if corners == known]
        if known and block.type != kind:
            allowed = [int(block.type.removeprefix(kind))]
        for row in block.data:
            if not len(row) or (known and len(row) not in allowed):
                rule = f"must have {' or '.join(map(str, allowed)) or 'at least 1'}"
                raise InputError(
                    f"{path}: cell {len(rows)} ({block.type}) has {len(row)} nodes, {rule}"
                )
            rows.append((row, known))
    count = np.array([len(row) for row, _ in rows], np.int64)
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
