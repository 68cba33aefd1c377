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
    [*(f"m{suffix}" for suffix in WITHOUT_LIBRARIES), "m.vol.gz"],
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


@pytest.mark.parametrize("suffix", sorted({*MESHES} - {*WITHOUT_LIBRARIES} - {".gz"}))
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
        ("m.ele", "1 4 0\n", "no such file"),
        ("m.node", "# nothing\n\n", "no TetGen mesh, or truncated: no line of counts"),
        ("m.msh", "(2 3)\n(10 (0 1 9 0))\n", "an Ansys mesh contains faces, not cells"),
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


def test_a_mesh_in_hdf5_beside_xdmf(tmp_path: Path) -> None:
    (tmp_path / "m.xdmf").write_text(XDMF.format(form="HDF"))
    if importlib.util.find_spec("h5py"):
        given = refused(tmp_path, "m.xdmf", XDMF.format(form="HDF"), parts=2)
        assert "m.h5: no such file" in given
        return
    with pytest.raises(MissingExtraError, match="h5py is not installed"):
        parse_pattern(str(tmp_path / "m.xdmf"), parts=2)
