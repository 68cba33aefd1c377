"""Meshes in XML (XDMF, DOLFIN) and WKT whose texts are read here.

For XDMF meshio asks for h5py even where all data stand in the file. Its reader of DOLFIN opens
other files of the folder, and its grammar of WKT takes years over a number that it does not know.

Which suffix is read how, and what must hold before a third party's parser may see a file.

Parsers of meshio look for the next line without end where a file is cut short, and trust counts;
what they would trip over so that no error comes back is refused here.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import numpy as np

from conset.base import InputError, MissingExtraError, read_text, require_file

_DOLFIN = {"interval": ("line", 2), "triangle": ("triangle", 3), "tetrahedron": ("tetra", 4)}
"""Kind of cell → that of meshio, nodes."""
_TIN = re.compile(r"[(),]|[^\s(),]+")


def read_xdmf(path: Path) -> Any:
    """A meshio mesh of XDMF whose data stand in the file, or in HDF5 beside it.

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


def read_dolfin(path: Path) -> Any:
    """A meshio mesh of DOLFIN's XML: vertices and cells by their index.

    Raises:
        InputError: an index twice or none, or another number of them than is said.
    """
    import meshio

    require_no_doctype(path)
    with path.open("rb") as file:
        kind, points, cells, said = _dolfin_entries(file)
    for name, found in (("vertices", points), ("cells", cells)):
        if sorted(found) != list(range(said.get(name, 0))):
            raise InputError(
                f"{path}: {said.get(name, 0)} {name} are promised, the file has "
                f"{len(found)} by number"
            )
    return meshio.Mesh(
        np.array([points[k] for k in range(len(points))]),
        [(kind, np.array([cells[k] for k in range(len(cells))]))],
    )


def _dolfin_entries(
    file: IO[bytes],
) -> tuple[str, dict[int, list[float]], dict[int, list[int]], dict[str, int]]:
    """(meshio's kind of cell, vertices and cells by index, how many of both there must be)."""
    points: dict[int, list[float]] = {}
    cells: dict[int, list[int]] = {}
    said: dict[str, int] = {}
    kind, tag, count = "", "", 0
    for _, element in ElementTree.iterparse(file, events=("start",)):
        attributes = element.attrib
        if element.tag == "mesh":
            tag = attributes["celltype"]
            kind, count = _DOLFIN[tag]
        elif element.tag in ("vertices", "cells"):
            said[element.tag] = int(attributes["size"])
        elif element.tag == "vertex":
            points[int(attributes["index"])] = [float(attributes.get(axis, 0.0)) for axis in "xyz"]
        elif tag and element.tag == tag:
            cells[int(attributes["index"])] = [int(attributes[f"v{k}"]) for k in range(count)]
        element.clear()
    return kind, points, cells, said


def read_tin(path: Path) -> Any:
    """A meshio mesh of the triangles of a WKT text `TIN (((x y z, x y z, x y z, x y z)), …)`.

    Raises:
        InputError: another text, or a triangle that is not closed.
    """
    import meshio

    words = _TIN.findall(read_text(path))
    numbers: dict[tuple[float, ...], int] = {}
    triangles: list[list[int]] = []
    if [word.upper() for word in words[:2]] != ["TIN", "("] or words[-1] != ")":
        raise InputError(f"{path}: no WKT mesh: TIN ((( … ))) required")
    at = 2
    while at < len(words) - 1:
        end = words.index(")", at)
        corners = _corners(words[at + 2 : end], path)
        if (
            words[at : at + 2] != ["(", "("]
            or words[end : end + 2] != [")", ")"]
            or corners[0] != corners[-1]
        ):
            raise InputError(f"{path}: triangle {len(triangles)}: ((a, b, c, a)) required")
        triangles.append([numbers.setdefault(corner, len(numbers)) for corner in corners[:3]])
        at = end + 2
        at += words[at] == ","
    return meshio.Mesh(np.array(list(numbers)), [("triangle", np.array(triangles).reshape(-1, 3))])


def _corners(words: list[str], path: Path) -> list[tuple[float, ...]]:
    """Four points of three or four numbers, commas between them."""
    points: list[list[float]] = [[]]
    for word in words:
        if word == ",":
            points.append([])
        else:
            points[-1].append(float(word))
    if (
        len(points) != 4
        or len({len(point) for point in points}) != 1
        or len(points[0]) not in (3, 4)
    ):
        raise InputError(f"{path}: four points of three numbers required, given {len(points)}")
    return [tuple(point) for point in points]


@dataclass(frozen=True)
class MeshFormat:
    """How a mesh is read.

    Attributes:
        name: meshio's name of the format.
        title: its name for people.
        library: what must be installed beside meshio; empty: nothing.
    """

    name: str
    title: str
    library: str = ""


MESHES = {
    ".su2": MeshFormat("su2", "SU2"),
    ".inp": MeshFormat("abaqus", "Abaqus"),
    ".bdf": MeshFormat("nastran", "Nastran"),
    ".nas": MeshFormat("nastran", "Nastran"),
    ".fem": MeshFormat("nastran", "Nastran"),
    ".vol": MeshFormat("netgen", "Netgen"),
    ".meshb": MeshFormat("medit", "Medit"),
    ".avs": MeshFormat("avsucd", "AVS-UCD"),
    ".off": MeshFormat("off", "OFF"),
    ".stl": MeshFormat("stl", "STL"),
    ".ply": MeshFormat("ply", "PLY"),
    ".obj": MeshFormat("obj", "Wavefront"),
    ".xdmf": MeshFormat("xdmf", "XDMF"),
    ".xmf": MeshFormat("xdmf", "XDMF"),
    ".xml": MeshFormat("dolfin-xml", "DOLFIN"),
    ".f3grid": MeshFormat("flac3d", "FLAC3D"),
    ".mdpa": MeshFormat("mdpa", "Kratos"),
    ".post": MeshFormat("permas", "PERMAS"),
    ".dato": MeshFormat("permas", "PERMAS"),
    ".dat": MeshFormat("tecplot", "Tecplot"),
    ".tec": MeshFormat("tecplot", "Tecplot"),
    ".node": MeshFormat("tetgen", "TetGen"),
    ".ele": MeshFormat("tetgen", "TetGen"),
    ".ugrid": MeshFormat("ugrid", "UGRID"),
    ".wkt": MeshFormat("wkt", "WKT"),
    ".cgns": MeshFormat("cgns", "CGNS", "h5py"),
    ".h5m": MeshFormat("h5m", "MOAB", "h5py"),
    ".hmf": MeshFormat("hmf", "HMF", "h5py"),
    ".med": MeshFormat("med", "MED", "h5py"),
    ".e": MeshFormat("exodus", "Exodus", "netCDF4"),
    ".exo": MeshFormat("exodus", "Exodus", "netCDF4"),
    ".ex2": MeshFormat("exodus", "Exodus", "netCDF4"),
}
"""Suffix → format of what meshio reads, beside Gmsh and VTK."""

_PREFIX = 1 << 16
"""Bytes in which a mesh in XML has begun, but for long comments."""
_AT_END = 1000
"""Reads at the end of a file after which a parser would go on without end."""


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
        raise InputError(
            f"{path}: no valid {path.suffix[1:]} mesh: a document type declaration is not read"
        )

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


def check_before_reading(path: Path, mesh_format: MeshFormat) -> None:
    """Refuses what meshio's parser of a format would not come back from.

    Raises:
        InputError: such a file.
    """
    if mesh_format.name == "off":
        require_line(path, "OFF mesh", skip=1)
    if mesh_format.name == "tetgen":
        for suffix in (".node", ".ele"):
            require_line(require_file(path.with_suffix(suffix)), "TetGen mesh")


class _EndingBytes(io.BufferedReader):
    """A file that ends: who goes on reading behind its end is stopped."""

    at_end = 0

    def read(self, size: int | None = -1, /) -> bytes:
        return self._counted(super().read(size), size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._counted(super().readline(size), size)

    def _counted(self, got: bytes, size: int | None) -> bytes:
        self.at_end += not got and size != 0
        if self.at_end > _AT_END:
            raise EOFError("the file ends too early")
        return got


class _EndingText(io.TextIOWrapper):
    """The same of text."""

    at_end = 0

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        got = super().readline(size)
        self.at_end += not got
        if self.at_end > _AT_END:
            raise EOFError("the file ends too early")
        return got


_ENDING = {"ansys": "rb", "mdpa": "rb", "tecplot": "r", "permas": "r"}
"""Formats whose parsers look for what is not there without end → how they open a file."""


@contextmanager
def opened(path: Path, name: str) -> Iterator[Any]:
    """What meshio is given to read: a path, or a file that ends."""
    if name not in _ENDING:
        yield path
        return
    with _EndingBytes(io.FileIO(path)) as binary:
        yield binary if _ENDING[name] == "rb" else _EndingText(binary)
