"""Meshes in XML (XDMF, DOLFIN) and WKT whose texts are read here.

For XDMF meshio asks for h5py even where all data stand in the file. Its reader of DOLFIN opens
other files of the folder, and its grammar of WKT takes years over a number that it does not know.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import numpy as np

from conset.base.errors import InputError
from conset.base.files import read_text
from conset.pattern.readers.mesh_formats import require_library, require_no_doctype

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
