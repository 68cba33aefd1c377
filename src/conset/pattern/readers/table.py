"""The table of all readers: which file is read how; the help, the errors and the tests read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from conset.pattern.pattern import Pattern
from conset.pattern.readers.csv import read_csv
from conset.pattern.readers.entries import ReadOptions
from conset.pattern.readers.matrix_market import read_matrix_market
from conset.pattern.readers.mesh import (
    MESHES,
    read_gmsh,
    read_mesh,
    read_metis_graph,
    read_metis_mesh,
    read_vtk,
    read_vtu,
)
from conset.pattern.readers.npz import read_npz
from conset.pattern.readers.spark98 import read_spark98


@dataclass(frozen=True)
class Reader:
    """A row of the table.

    Attributes:
        function: file and options to pattern.
        summary: what the file holds, one line.
        takes: options of the command line that matter; others are refused.
    """

    function: Callable[[Path, ReadOptions], Pattern]
    summary: str
    takes: tuple[str, ...] = ()


READERS: Mapping[str, Reader] = {
    ".mtx": Reader(
        read_matrix_market, "Matrix Market: entries are bytes, or a matrix that is distributed", ("rows_to", "parts")
    ),
    ".npz": Reader(read_npz, "NumPy archive: matrix, or source, target, bytes"),
    ".csv": Reader(read_csv, "a square matrix, or messages under source,target,bytes[,after]"),
    ".pack": Reader(read_spark98, "Spark98: a partitioned mesh with its communication"),
    ".msh": Reader(read_gmsh, "Gmsh mesh", ("parts",)),
    ".vtk": Reader(read_vtk, "VTK mesh", ("parts",)),
    ".vtu": Reader(read_vtu, "VTK mesh, XML", ("parts",)),
    **{suffix: Reader(read_mesh, f"{name} mesh", ("parts",)) for suffix, (_, name) in MESHES.items()},
    ".mesh": Reader(read_metis_mesh, "METIS mesh: elements by their nodes", ("parts",)),
    ".graph": Reader(read_metis_graph, "METIS graph: vertices by their neighbours", ("parts",)),
    ".mgraph": Reader(read_metis_graph, "METIS graph", ("parts",)),
}
"""Suffix → reader."""
