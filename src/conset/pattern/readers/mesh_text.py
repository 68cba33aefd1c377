"""Meshes that meshio reads: their suffixes, and what must hold before its parsers see a file.

For XDMF meshio asks for h5py even where all data are in the file, so its reader is changed here.
Parsers of meshio search for the next line without end where a file is cut short; files that they
would not return from are refused here.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from conset.base import InputError, MissingExtraError, require_file


def read_xdmf(path: Path) -> Any:
    """Read a meshio mesh of XDMF whose data are in the file, or in HDF5 beside it.

    Raises:
        InputError: data that are in other files. MissingExtraError: HDF5, and h5py is not
            installed.
    """
    from meshio.xdmf.common import xdmf_to_numpy_type
    from meshio.xdmf.main import XdmfReader

    require_no_doctype(path)

    class Reader(XdmfReader):  # type: ignore[misc]  # meshio has no types
        def _read_data_item(self, data_item: ElementTree.Element, root: Any = None) -> Any:
            form = data_item.attrib.get("Format", "XML")
            if form == "HDF":
                require_library("h5py")
                require_file(path.parent / (data_item.text or "").strip().split(":")[0])
                return super()._read_data_item(data_item, root)
            if form != "XML" or "Reference" in data_item.attrib:
                raise InputError(
                    f"{path}: data of format {form[:20]} are elsewhere and not read: XML "
                    "or HDF required"
                )
            kind = data_item.attrib.get("DataType", data_item.attrib.get("NumberType", "Float"))
            dtype = np.dtype(xdmf_to_numpy_type[kind, data_item.attrib.get("Precision", "4")])
            values = np.array((data_item.text or "").split(), dtype)
            return values.reshape([int(side) for side in data_item.attrib["Dimensions"].split()])

        def read_information(self, c_data: str) -> dict[str, Any]:
            return {}  # XML inside XML, of which nothing is used

    return Reader(str(path)).read()


@dataclass(frozen=True)
class MeshFormat:
    """How a mesh is read.

    Attributes:
        name: meshio's name of the format.
        summary: what the file contains, one line.
        library: what must be installed beside meshio; empty: nothing.
    """

    name: str
    summary: str
    library: str = ""


MESHES = {
    ".msh": MeshFormat("gmsh", "Gmsh mesh"),
    ".vtk": MeshFormat("vtk", "VTK mesh"),
    ".vtu": MeshFormat("vtu", "VTK mesh, XML"),
    ".su2": MeshFormat("su2", "SU2 mesh"),
    ".inp": MeshFormat("abaqus", "Abaqus mesh; AVS-UCD mesh"),
    ".bdf": MeshFormat("nastran", "Nastran mesh"),
    ".nas": MeshFormat("nastran", "Nastran mesh"),
    ".fem": MeshFormat("nastran", "Nastran mesh"),
    ".vol": MeshFormat("netgen", "Netgen mesh"),
    ".meshb": MeshFormat("medit", "Medit mesh"),
    ".avs": MeshFormat("avsucd", "AVS-UCD mesh"),
    ".off": MeshFormat("off", "OFF mesh"),
    ".stl": MeshFormat("stl", "STL mesh"),
    ".ply": MeshFormat("ply", "PLY mesh"),
    ".obj": MeshFormat("obj", "Wavefront mesh"),
    ".xdmf": MeshFormat("xdmf", "XDMF mesh"),
    ".xmf": MeshFormat("xdmf", "XDMF mesh"),
    ".node": MeshFormat("tetgen", "TetGen mesh"),
    ".ele": MeshFormat("tetgen", "TetGen mesh"),
    ".ugrid": MeshFormat("ugrid", "UGRID mesh"),
    ".med": MeshFormat("med", "MED mesh", "h5py"),
    ".e": MeshFormat("exodus", "Exodus mesh", "netCDF4"),
    ".exo": MeshFormat("exodus", "Exodus mesh", "netCDF4"),
    ".ex2": MeshFormat("exodus", "Exodus mesh", "netCDF4"),
    ".gz": MeshFormat("netgen", "Netgen mesh, compressed: .vol.gz"),
    ".mesh": MeshFormat("metis", "METIS mesh: elements by their nodes; Medit mesh"),
}
"""Suffix → format."""

_PREFIX = 1 << 16
"""Bytes in which a mesh in XML has begun, but for long comments."""


def require_library(name: str) -> None:
    """Checks that what a format needs, if anything, is installed; raises MissingExtraError."""
    if name and importlib.util.find_spec(name) is None:
        raise MissingExtraError(name, "hdf")


def require_no_doctype(path: Path) -> None:
    """Checks that an XML file declares no document type.

    A few entities that name each other fill any memory.

    Raises:
        InputError: it does.
    """
    from xml.parsers.expat import ExpatError, ParserCreate

    def refuse(*_: object) -> None:
        raise InputError(f"{path}: a document type declaration is not read")

    begun: list[str] = []
    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, _: begun.append(tag)
    with path.open("rb") as handle:
        while not begun and (part := handle.read(_PREFIX)):
            try:
                parser.Parse(part)
            except ExpatError:
                return  # for the reader itself to say


def require_line(path: Path, what: str, *, skip: int = 0) -> None:
    """Checks that a file has a line that is neither blank nor a comment; raises InputError."""
    with path.open("rb") as handle:
        for _ in range(skip):
            handle.readline()
        if not any(line.strip() and not line.strip().startswith(b"#") for line in handle):
            raise InputError(f"{path}: no {what}, or truncated: no line of counts")


def check_before_reading(path: Path, name: str) -> None:
    """Check that meshio's parser of a format would return.

    Raises:
        InputError: it would not.
    """
    if name == "vtu":
        require_no_doctype(path)
    if name == "off":
        require_line(path, "OFF mesh", skip=1)
    if name == "tetgen":
        for suffix in (".node", ".ele"):
            require_line(require_file(path.with_suffix(suffix)), "TetGen mesh")
