"""Meshes written in every format that is read, for tests.

By meshio, and by hand where it cannot.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from conset.pattern.readers.mesh_text import MESHES

SOLID = (".node", ".ele")
"""Formats of tetrahedra: they have no triangles of their own."""
WITHOUT_LIBRARIES = sorted(
    suffix for suffix, found in MESHES.items() if not found.library and suffix != ".gz"
)
_OTHERS = {".msh": "gmsh22", ".mesh": "medit"}
_CLOCK = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+|^\* \w{3} \w{3} .*\d\d:\d\d:\d\d.*$", re.MULTILINE)
_XDMF = """<Xdmf Version="3.0"><Domain><Grid Name="Grid">
<Geometry GeometryType="XYZ"><DataItem DataType="Float" Dimensions="{points} 3" Format="XML" \
Precision="8">
{numbers}
</DataItem></Geometry>
<Topology TopologyType="{kind}" NumberOfElements="{cells}">
<DataItem DataType="Int" Dimensions="{cells} {corners}" Format="XML" Precision="8">
{nodes}
</DataItem></Topology></Grid></Domain></Xdmf>
"""


def write_mesh(path: Path, points: Any, kind: str, cells: Any, **words: Any) -> None:
    """Writes cells of one kind as the suffix says (`.msh`: Gmsh 2.2 in text, `.mesh`: Medit).

    No clock is in the file.
    """
    import meshio

    points, cells = np.asarray(points), np.asarray(cells)
    suffix = path.suffix
    if path.name.endswith(".vol.gz"):
        write_mesh(path.with_suffix(""), points, kind, cells)
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes(), mtime=0))
        return
    if suffix in (".xdmf", ".xmf"):
        lines = [
            "\n".join(" ".join(map(str, row)) for row in rows.tolist()) for rows in (points, cells)
        ]
        name = {"triangle": "Triangle", "tetra": "Tetrahedron"}[kind]
        path.write_text(
            _XDMF.format(
                points=len(points),
                numbers=lines[0],
                kind=name,
                cells=len(cells),
                corners=cells.shape[1],
                nodes=lines[1],
            )
        )
        return
    flat = points[:, :2] if suffix == ".su2" and kind == "triangle" else points
    form = _OTHERS.get(suffix, MESHES[suffix].name)
    more = {"binary": False} if suffix == ".msh" else {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        meshio.Mesh(flat, [(kind, cells)]).write(path, file_format=form, **more, **words)
    content = _CLOCK.sub(b"", path.read_bytes())
    path.write_bytes(
        re.sub(rb"np\.\w+\(([^)]*)\)", rb"\1", content)
    )  # its writer of UGRID, with NumPy 2
