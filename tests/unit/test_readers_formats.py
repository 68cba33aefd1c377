"""Meshes in every format that meshio reads: the same cells are the same pattern.

What cannot be read is said.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from conset.base.errors import MissingExtraError
from conset.pattern.readers.mesh_text import MESHES
from conset.pattern.spec import parse_pattern
from support.mesh_files import SOLID, WITHOUT_LIBRARIES, write_mesh
from support.reading import refused

meshio = pytest.importorskip("meshio", reason="meshio is not installed: pip install 'conset[mesh]'")
pytest.importorskip("pymetis", reason="METIS is not installed: pip install 'conset[mesh]'")

POINTS = np.array([[x, y, 0.0] for y in range(5) for x in range(5)])
TRIANGLES = np.array(
    [[a, a + 1, a + 6] for a in range(19) if a % 5 < 4]
    + [[a, a + 6, a + 5] for a in range(19) if a % 5 < 4]
)
HEIGHT = np.array([[0.0, 0.0, 1.0]])
TETRAHEDRA = np.column_stack([TRIANGLES, TRIANGLES[:, 0] + len(POINTS)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [*(f"m{suffix}" for suffix in WITHOUT_LIBRARIES), "m.vtu", "m.msh", "m.mesh", "m.vol.gz"],
)
def test_the_same_cells_have_the_same_halo_exchange(tmp_path: Path, name: str) -> None:
    solid = Path(name).suffix in SOLID
    points = np.concatenate([POINTS, POINTS + HEIGHT]) if solid else POINTS
    for path in (tmp_path / "o.vtk", tmp_path / name):
        write_mesh(path, points, *(("tetra", TETRAHEDRA) if solid else ("triangle", TRIANGLES)))
    expected, found = (parse_pattern(str(tmp_path / each), parts=4) for each in ("o.vtk", name))
    assert expected.messages > 0
    assert found.target.tolist() == expected.target.tolist()
    assert found.size.tolist() == expected.size.tolist()


@pytest.mark.parametrize("suffix", sorted({*MESHES} - {*WITHOUT_LIBRARIES}))
def test_what_another_library_reads(tmp_path: Path, suffix: str) -> None:
    library = MESHES[suffix].library
    if importlib.util.find_spec(library):
        assert f"m{suffix}: no valid" in refused(tmp_path, f"m{suffix}", "x", parts=2)
        return
    (tmp_path / f"m{suffix}").write_text("x")
    with pytest.raises(
        MissingExtraError, match=rf"{library} is not installed: pip install 'conset\[hdf\]'"
    ):
        parse_pattern(str(tmp_path / f"m{suffix}"), parts=2)


XDMF = """<Xdmf Version="3.0"><Domain><Grid><Geometry GeometryType="XYZ">
<DataItem Dimensions="1 3" \
Format="{form}">m.h5:/data0</DataItem></Geometry></Grid></Domain></Xdmf>"""
ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        (
            "m.xdmf",
            XDMF.format(form="Binary"),
            "data of format Binary are elsewhere and not read: XML or HDF required",
        ),
        ("m.xdmf", ENTITIES + "<Xdmf/>", "a document type declaration is not read"),
        ("m.xmf", "<Xdmf Version='3.0'>", "no valid xdmf mesh, or truncated: no element found"),
        ("m.xml", ENTITIES + "<dolfin/>", "a document type declaration is not read"),
        (
            "m.xml",
            "<dolfin><mesh celltype='triangle' dim='2'><vertices size='3'/></mesh></dolfin>",
            "3 vertices are promised, the file has 0 by number",
        ),
        (
            "m.xml",
            "<dolfin><mesh celltype='quadrilateral' dim='2'/></dolfin>",
            "no valid dolfin-xml mesh",
        ),
        ("m.wkt", "TIN (((0 0 0, 1 0 0, 1 1 0, 0 0 1)))", "triangle 0: ((a, b, c, a)) required"),
        (
            "m.wkt",
            "TIN (((0 0 0, 1 0 0, 0 0 0)))",
            "four points of three numbers required, given 3",
        ),
        ("m.wkt", "TIN (((0 0 0, 1 0 0", "no WKT mesh: TIN ((( … ))) required"),
        ("m.wkt", "POINT (1 2)", "no WKT mesh: TIN ((( … ))) required"),
        ("m.wkt", "TIN (((" + "1" * 60 + " 0 0, 1 0 0, 1 1 x, 0 0 1)))", "no valid wkt mesh"),
        ("m.ele", "1 4 0\n", "no such file"),
        ("m.node", "# nothing\n\n", "no TetGen mesh, or truncated: no line of counts"),
        (
            "m.msh",
            '(2 3)\n(10 (0 1 9 0))\n(0 "',
            "no valid ansys mesh, or truncated: the file ends too early",
        ),
        (
            "m.dat",
            'VARIABLES = "X", "Y"\nZONE NODES=3, ELEMENTS=1, ZONETYPE=FETRIANGLE, '
            "DATAPACKING=POINT\n0 0\n",
            "no valid tecplot mesh, or truncated",
        ),
        (
            "m.mdpa",
            "Begin Nodes\n1 0 0 0\n",
            "no valid mdpa mesh, or truncated: the file ends too early",
        ),
        ("m.gz", "x", "of compressed meshes only .vol.gz is read"),
        ("m.mesh", "MeshVersionFormatted 2\nDimension 3\nVertices\n9\n", "no valid medit mesh"),
    ],
)
def test_broken_meshes_are_refused_in_one_line(
    tmp_path: Path, name: str, content: str, line: str
) -> None:
    if name == "m.node":
        (tmp_path / "m.ele").write_text("1 4 0\n1 1 2 3 4\n")
    given = (
        refused(tmp_path, name, content, parts=2)
        if name != "m.ele"
        else _refusal_of(tmp_path, name, content)
    )
    assert line in given


def _refusal_of(folder: Path, name: str, content: str) -> str:
    """Of a file that lacks the one beside it, which the line names."""
    (folder / name).write_text(content)
    with pytest.raises(Exception, match="no such file") as caught:
        parse_pattern(str(folder / name), parts=2)
    return str(caught.value)


def test_numbers_with_exponents_in_wkt(tmp_path: Path) -> None:
    corners = ["0 0 0", "1e1 0 0", "1E1 1 0", "0 1 0"]
    rows = [
        f"(({', '.join(corners[k] for k in (*row, row[0]))}))" for row in ((0, 1, 2), (0, 2, 3))
    ]
    (tmp_path / "m.wkt").write_text(f"TIN ({', '.join(rows)})")
    assert parse_pattern(str(tmp_path / "m.wkt"), parts=2).size.tolist() == [16, 16]


def test_a_mesh_in_hdf5_beside_xdmf(tmp_path: Path) -> None:
    (tmp_path / "m.xdmf").write_text(XDMF.format(form="HDF"))
    if importlib.util.find_spec("h5py"):
        assert "no valid xdmf mesh" in refused(tmp_path, "m.xdmf", XDMF.format(form="HDF"), parts=2)
        return
    with pytest.raises(MissingExtraError, match="h5py is not installed"):
        parse_pattern(str(tmp_path / "m.xdmf"), parts=2)
