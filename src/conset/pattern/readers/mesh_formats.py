"""Which suffix is read how, and what must hold before a third party's parser may see a file.

Parsers of meshio look for the next line without end where a file is cut short, and trust counts;
what they would trip over so that no error comes back is refused here.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conset.base.errors import InputError, MissingExtraError
from conset.base.files import require_file


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

_HEAD = 1 << 16
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
        while not begun and (part := handle.read(_HEAD)):
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
