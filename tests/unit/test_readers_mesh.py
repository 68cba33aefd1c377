"""Readers of meshes and graphs.

What parts exchange, on cases whose partition does not matter or is forced.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from conset.base.errors import InputError, MissingExtraError, UsageError
from conset.pattern.pattern import Pattern
from conset.pattern.readers import partition
from conset.pattern.readers.metis_text import parse_metis_graph
from conset.pattern.readers.partition import Cells, Graph
from conset.pattern.spec import parse_pattern

pytest.importorskip("pymetis", reason="METIS is not installed: pip install 'conset[mesh]'")
meshio = pytest.importorskip("meshio", reason="meshio is not installed: pip install 'conset[mesh]'")


def refused(path: Path, content: str | bytes | None = None, **options: Any) -> str:
    """The one line an `InputError` says, which names the file, without its folder."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        parse_pattern(str(path), **{"parts": 2, **options})
    line = str(caught.value)
    assert "\n" not in line
    return line.removeprefix(f"{path.parent}/")


def strip(squares: int) -> tuple[np.ndarray, np.ndarray]:
    """(points, quads) of a row of unit squares."""
    x = np.repeat(np.arange(squares + 1.0), 2)
    points = np.column_stack([x, np.tile([0.0, 1.0], squares + 1), np.zeros(x.size)])
    first = 2 * np.arange(squares)
    return points, np.column_stack([first, first + 2, first + 3, first + 1])


def write(path: Path, points: np.ndarray, cells: list[tuple[str, np.ndarray]]) -> Path:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        meshio.Mesh(points, cells).write(
            path, **({"file_format": "gmsh22"} if path.suffix == ".msh" else {})
        )
    return path


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu"])
def test_a_strip_of_squares(tmp_path: Path, suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Four squares in four parts: neighbours share two nodes.

    Edges beside them, of less dimension, are left out.
    """
    points, quads = strip(4)
    path = write(tmp_path / f"a{suffix}", points, [("line", quads[:, :2]), ("quad", quads)])
    pattern = parse_pattern(str(path), parts=4)
    assert (pattern.ranks, pattern.messages, pattern.bytes) == (4, 6, 6 * 2 * 8)
    assert pattern.name == f"a{suffix}"
    assert capfd.readouterr() == ("", ""), "nothing is printed"
    assert parse_pattern(str(path), parts=1).messages == 0
    assert parse_pattern(str(path), parts=4, word=3).bytes == 6 * 2 * 3


def test_cells_of_two_kinds(tmp_path: Path) -> None:
    points, quads = strip(3)
    triangles = np.array([quads[2, [0, 1, 2]], quads[2, [0, 2, 3]]])
    path = write(tmp_path / "a.vtk", points, [("quad", quads[:2]), ("triangle", triangles)])
    # square, square, triangle, triangle in a row; both triangles touch the second square: by two
    # nodes and by one
    assert parse_pattern(str(path), parts=4).bytes == 8 * 2 * (2 + 2 + 1 + 2)


def test_halo_of_a_mesh_against_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    cells = [random.choice(12, size=3, replace=False) for _ in range(15)]
    part = random.integers(4, size=15)
    monkeypatch.setattr(partition, "partition_graph", lambda *_: part)
    mesh = Cells(np.arange(16) * 3, np.concatenate(cells), np.full(15, 3), 2)
    matrix = partition.partition_cells(mesh, 4, 8, 0, "x", "x").pattern.matrix()
    nodes = [
        {int(n) for cell, p in zip(cells, part, strict=True) if p == a for n in cell}
        for a in range(4)
    ]
    for a in range(4):
        for b in range(4):
            assert matrix[a, b] == (0 if a == b else 8 * len(nodes[a] & nodes[b]))


def test_halo_of_a_graph_against_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    upper = np.triu(random.random((20, 20)) < 0.2, 1)
    joined = upper | upper.T
    part = random.integers(3, size=20)
    monkeypatch.setattr(partition, "partition_graph", lambda *_: part)
    graph = Graph(np.concatenate([[0], np.cumsum(joined.sum(axis=1))]), np.nonzero(joined)[1])
    matrix = partition.partition_rows(graph, 3, 8, 0, "x", "x").pattern.matrix()
    for a in range(3):
        for b in range(3):
            sent = sum(1 for v in np.flatnonzero(part == a) if joined[v, part == b].any())
            assert matrix[a, b] == (0 if a == b else 8 * sent)


PATH = "4 3\n2\n1 3\n2 4\n3\n"


@pytest.mark.parametrize(
    "text",
    [
        PATH,
        f"% a path of four\n{PATH}\n",
        "4 3 001\n2 7\n1 7 3 7\n2 7 4 7\n3 7\n",
        "4 3 011\n5 2 7\n5 1 7 3 7\n5 2 7 4 7\n5 3 7\n",
        "4 3 10 2\n1 1 2\n1 1 1 3\n1 1 2 4\n1 1 3\n",
        "4 3 110 1\n9 1 2\n9 1 1 3\n9 1 2 4\n9 1 3\n",
    ],
)
@pytest.mark.parametrize("suffix", [".graph", ".mgraph"])
def test_metis_graph(tmp_path: Path, text: str, suffix: str) -> None:
    """A path of four in two halves: one vertex of each has a neighbour in the other."""
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    pattern = parse_pattern(str(path), parts=2)
    assert pattern.matrix().tolist() == [[0, 8], [8, 0]]


@pytest.mark.parametrize(("fmt", "sized"), [("010", ""), ("110", "5")])
def test_weights_are_balanced(tmp_path: Path, fmt: str, sized: str) -> None:
    """A path of 100 whose first 10 vertices weigh 9 each, the others 1.

    Halves of 90 are 10 and 90 vertices.
    """
    ends = [" ".join(str(n) for n in (v - 1, v + 1) if 1 <= n <= 100) for v in range(1, 101)]
    # a size stands before the weight and is not balanced
    rows = "".join(f"{sized} {9 if v < 10 else 1} {joined}\n" for v, joined in enumerate(ends))
    path = tmp_path / "a.graph"
    path.write_text(f"100 99 {fmt}\n{rows}")
    part = partition.partition_graph(parse_metis_graph(path), 2, 0, "a")
    assert 8 <= int((part == part[0]).sum()) <= 20


@pytest.mark.parametrize(
    "text", ["2\n1 2 3\n2 3 4\n", "% x\n2 1\n1 2 3\n2 3 4\n", "2 1\n5 1 2 3\n5 2 3 4\n\n"]
)
def test_metis_mesh(tmp_path: Path, text: str) -> None:
    """Two triangles share two nodes.

    Headers of manual 5.1, of 4.0 (type 1: triangles), and with a weight each.
    """
    path = tmp_path / "a.mesh"
    path.write_text(text)
    assert parse_pattern(str(path), parts=2).matrix().tolist() == [[0, 16], [16, 0]]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.graph", "x 3\n", "a.graph, line 1: whole numbers required, given 'x 3'"),
        (
            "a.graph",
            "4\n",
            "a.graph, line 1: header 'vertices edges [fmt [ncon]]' required, given '4'",
        ),
        ("a.graph", "4 3 012\n", "a.graph, line 1: fmt must be three digits 0 or 1, given '012'"),
        ("a.graph", "% only\n", "a.graph: holds no header"),
        ("a.graph", b"\xff\xfe", "a.graph: is not UTF-8 text (byte 0)"),
        (
            "a.graph",
            "4 3\n2\n1 3\n2 4\n",
            "a.graph: truncated: the header says 4 vertices, the file has 3 lines of them",
        ),
        (
            "a.graph",
            f"{PATH}1\n",
            "a.graph: the header says 4 vertices, the file has 5 lines of them",
        ),
        (
            "a.graph",
            PATH.replace("2 4", "2 5"),
            "a.graph, line 4: neighbour 5: must be another vertex from 1 to 4",
        ),
        (
            "a.graph",
            PATH.replace("2 4", "3 4"),
            "a.graph, line 4: neighbour 3: must be another vertex from 1 to 4",
        ),
        (
            "a.graph",
            PATH.replace("2 4", "2"),
            "a.graph, line 4: neighbour 4 is missing: vertex 4 names 3",
        ),
        (
            "a.graph",
            PATH.replace("4 3", "4 4", 1),
            "a.graph: the header says 4 edges, the lines hold 3: must agree",
        ),
        ("a.graph", "2 1 1\n2 7\n1\n", "a.graph, line 3: a weight after every neighbour required"),
        (
            "a.graph",
            "2 1 1\n2 0\n1 0\n",
            "a.graph: weights of edges must be at least 1, the least is 0",
        ),
        ("a.graph", "1 0\n\n", "a.graph: parts 2: must be at most its 1 cells or vertices"),
        (
            "a.mesh",
            "2\n1 2 3\n",
            "a.mesh: truncated: the header says 2 elements, the file has 1 lines of them",
        ),
        ("a.mesh", "2\n1 2 3\n0 2 3\n", "a.mesh: element 2: node 0: nodes are counted from 1"),
        (
            "a.mesh",
            "2\n1 2 3\n-1 2 3\n",
            "a.mesh, line 3: numbers from 0 to 2^31 - 1 required, given '-1 2 3'",
        ),
        ("a.mesh", "0\n", "a.mesh, line 1: header 'elements [ncon]' required, given '0'"),
        (
            "a.mesh",
            "2 2\n1 2 3\n1 2\n",
            "a.mesh: element 2: 2 weights and a node required, given 2",
        ),
        (
            "a.msh",
            "$MeshFormat\n2.2 0 8\n",
            "a.msh: no Gmsh mesh, or truncated: its last line must be $End…",
        ),
    ],
)
def test_refused(tmp_path: Path, name: str, text: str | bytes, line: str) -> None:
    assert refused(tmp_path / name, text) == line


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu"])
def test_truncated_anywhere(tmp_path: Path, suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    points, quads = strip(40)
    content = write(tmp_path / f"a{suffix}", points, [("quad", quads)]).read_bytes()
    for length in (1, 20, 60, len(content) // 3, len(content) // 2, len(content) - 40):
        line = refused(tmp_path / f"b{suffix}", content[:length])
        assert line.startswith(f"b{suffix}: no ")
        assert "truncated" in line
    assert capfd.readouterr() == ("", ""), (
        "meshio prints errors and ends the process: neither may come out"
    )


def test_a_cell_without_nodes(tmp_path: Path) -> None:
    head = (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty double x\nproperty double y\n"
        "property double z\n"
    )
    faces = (
        "element face 2\nproperty list uint8 int32 vertex_indices\nend_header\n0 0 0\n1 0 0\n"
        "0 1 0\n0\n0\n"
    )
    assert (
        refused(tmp_path / "a.ply", head + faces)
        == "a.ply: cell 0 (polygon) has 0 nodes, must have at least 1"
    )


def test_an_off_file_without_counts(tmp_path: Path) -> None:
    """Meshio looks for them without end."""
    assert (
        refused(tmp_path / "a.off", "OFF\n# note\n\n")
        == "a.off: no OFF mesh, or truncated: no line of counts"
    )


def test_a_node_beyond_any_number(tmp_path: Path) -> None:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
    assert (
        refused(tmp_path / "a.obj", f"{corners}f 1 2 {2**70}\n")
        == "a.obj: a cell names a node beyond 2^63"
    )


def test_no_cells(tmp_path: Path) -> None:
    path = write(tmp_path / "a.vtk", np.zeros((1, 3)), [("vertex", np.zeros((1, 1), int))])
    assert refused(path, parts=1) == "a.vtk: the mesh has no cells (edges, triangles, tetrahedra …)"


@pytest.mark.parametrize("name", ["a.msh", "a.vtk", "a.vtu", "a.mesh", "a.graph", "a.mgraph"])
def test_parts_are_required(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(PATH)
    with pytest.raises(UsageError, match=f"{name}: parts N required"):
        parse_pattern(str(tmp_path / name))


@pytest.mark.parametrize(("name", "library"), [("a.graph", "pymetis"), ("a.vtk", "meshio")])
def test_missing_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / name).write_text(PATH)
    with pytest.raises(
        MissingExtraError, match=rf"{library} is not installed: pip install 'conset\[mesh\]'"
    ):
        parse_pattern(str(tmp_path / name), parts=2)


def _example() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "examples" / "make_mesh.py"
    spec = importlib.util.spec_from_file_location("make_mesh", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_mesh(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """11,000 nodes and 20,998 triangles: the ConSet text's m11k, Table 4.

    By Euler's formula 2 n - 2 - b.
    """
    example = _example()
    patterns: list[Pattern] = []
    for suffix in ("msh", "mesh"):
        path = tmp_path / f"m11k.{suffix}"
        assert example.main([str(path)]) == 0
        assert capfd.readouterr() == (f"{path}: 11000 nodes, 20998 triangles\n", "")
        patterns.append(parse_pattern(str(path), parts=16))
    one, other = patterns
    # the same mesh in two formats, partitioned by the same seed
    assert np.array_equal(one.matrix(), other.matrix())
    assert np.array_equal(one.matrix(), one.matrix().T)
    assert one.ranks == 16
    assert (np.diff(one.offsets) >= 2).all(), "every part has neighbours"
    # 16 squares would share 24 sides of 2 * 26 nodes: a partition is within a factor of two
    assert 500 < one.bytes / 8 < 2500


def test_the_demo_mesh_refuses_other_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _example().main([str(tmp_path / "x.txt")]) == 2
    assert (
        capfd.readouterr().err
        == "make_mesh.py: one file name that ends in .msh or .mesh required\n"
    )


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("scikit-fem/box.msh", 1105),
        ("scikit-fem/mixedtriquad.msh", 52),
        ("metis/metis.mesh", 7434),
        ("metis/test.mgraph", 766),
    ],
)
def test_files_by_others(shared_data: Path, name: str, cells: int) -> None:
    path = str(shared_data / "meshes" / name)
    one, again = (parse_pattern(path, parts=8, seed=4) for _ in range(2))
    assert np.array_equal(one.matrix(), again.matrix()), "the same seed gives the same parts"
    assert one.ranks == 8
    assert one.messages >= 8
    with pytest.raises(InputError, match=f"parts {cells + 1}: must be at most its {cells} cells"):
        parse_pattern(path, parts=cells + 1)
