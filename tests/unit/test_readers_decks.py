"""Meshes in text: every dialect gives the same halo exchange, what is not read is refused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conset.base.errors import InputError
from conset.pattern.spec import parse_pattern
from support.reading import refused

pytest.importorskip("pymetis", reason="METIS is not installed: pip install 'conset[mesh]'")
meshio = pytest.importorskip("meshio", reason="meshio is not installed: pip install 'conset[mesh]'")

Rows = list[list[int]]
BASE = 1000
"""Nodes are numbered from here on, so that lines of cells are known by their numbers."""
DIALECTS: dict[str, Callable[[Rows, int], str]] = {}
"""Suffix and dialect → the text of a mesh: rows of nodes from 1, number of nodes."""


def dialect(name: str) -> Callable[[Callable[[Rows, int], str]], Callable[[Rows, int], str]]:
    def keep(write: Callable[[Rows, int], str]) -> Callable[[Rows, int], str]:
        DIALECTS[name] = write
        return write

    return keep


def lines_of(*parts: object) -> str:
    return "\n".join(str(part) for part in parts) + "\n"


def grids(nodes: int) -> list[str]:
    return [f"{n} {n} {n % 2} 0" for n in range(BASE + 1, BASE + nodes + 1)]


def spaced(*values: object) -> str:
    return " ".join(map(str, values))


@dialect("1.msh")
def gmsh_1(rows: Rows, nodes: int) -> str:
    kind = {4: 3, 8: 5, 20: 17}[len(rows[0])]
    cells = [spaced(k, kind, 1, 1, len(row), *row) for k, row in enumerate(rows, 1)]
    return lines_of("$NOD", nodes, *grids(nodes), "$ENDNOD", "$ELM", len(rows), *cells, "$ENDELM")


@dialect("22.msh")
def gmsh_22(rows: Rows, nodes: int) -> str:
    """Partitioned: four tags for each element."""
    kind = {4: 3, 8: 5, 20: 17}[len(rows[0])]
    cells = [spaced(k, kind, 4, 1, 1, 1, 2, *row) for k, row in enumerate(rows, 1)]
    head = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "1", '2 1 "a b"']
    return lines_of(
        *head,
        "$EndPhysicalNames",
        "$Nodes",
        nodes,
        *grids(nodes),
        "$EndNodes",
        "$Elements",
        len(rows),
        *cells,
        "$EndElements",
    )


def gmsh_4(version: str, rows: Rows, node_lines: list[str]) -> str:
    kind = {4: 3, 8: 5, 20: 17}[len(rows[0])]
    half = len(rows) // 2
    blocks: list[str] = []
    cells = [spaced(k, *row) for k, row in enumerate(rows, 1)]
    for entity, block in ((5, cells[:half]), (6, cells[half:])):
        blocks += [f"2 {entity} {kind} {len(block)}", *block]
    count = f"2 {len(rows)}" + (f" 1 {len(rows)}" if version == "4.1" else "")
    return lines_of(
        "$MeshFormat",
        f"{version.removesuffix('.0')} 0 8",
        "$EndMeshFormat",
        "$PartitionedEntities",
        2,
        0,
        "0 0 2 0",
        "5 2 1 1 1 0 0 0 1 1 0 0 0",
        "6 2 1 1 2 0 0 0 1 1 0 0 0",
        "$EndPartitionedEntities",
        "$Nodes",
        *node_lines,
        "$EndNodes",
        "$Elements",
        count,
        *blocks,
        "$EndElements",
    )


@dialect("40.msh")
def gmsh_40(rows: Rows, nodes: int) -> str:
    """Nodes on surfaces with their parameters."""
    lines = [f"{line} 0.5 0.5" for line in grids(nodes)]
    return gmsh_4("4.0", rows, [f"1 {nodes}", f"5 2 1 {nodes}", *lines])


@dialect("41.msh")
def gmsh_41(rows: Rows, nodes: int) -> str:
    """Partitioned, in two blocks of nodes."""
    tags = [line.split()[0] for line in grids(nodes)]
    places = [line.partition(" ")[2] for line in grids(nodes)]
    first = [f"2 5 0 {nodes - 2}", *tags[:-2], *places[:-2]]
    second = ["2 6 0 2", *tags[-2:], *places[-2:]]
    return gmsh_4("4.1", rows, [f"2 {nodes} 1 {nodes}", *first, *second])


@dialect("ucd.inp")
def ucd(rows: Rows, nodes: int) -> str:
    kind = {4: "quad", 8: "hex"}[len(rows[0])]
    cells = [spaced(k, 0, kind, *row) for k, row in enumerate(rows, 1)]
    data = ["1 1", "t, K", *(f"{n} 0.5" for n in range(BASE + 1, BASE + nodes + 1))]
    return lines_of("# UCD", f"{nodes} {len(rows)} 1 0 0", *grids(nodes), *cells, *data)


@dialect("plain.inp")
def abaqus(rows: Rows, nodes: int) -> str:
    """Plane strain, which meshio does not know; what is no mesh around it; two blocks of nodes."""
    kind = {4: "CPE4R", 8: "C3D8I", 20: "C3D20R"}[len(rows[0])]
    places = [line.replace(" ", ", ") for line in grids(nodes)]
    cells: list[str] = []
    for k, row in enumerate(rows, 1):
        words = [str(word) for word in (k, *row)]
        cells.append(", ".join(words[:16]) + ("," if len(words) > 16 else ""))
        cells += [", ".join(words[16:])] if len(words) > 16 else []
    return lines_of(
        "*Heading",
        "1, 2, 3, 4",
        "*Node, Nset=a",
        *places[:3],
        "** a note",
        "*NODE,",
        "NSET=b",
        *places[3:],
        f"*Element, type={kind}, elset=e",
        *cells,
        "*Nset, nset=c, generate",
        "1, 3, 1",
        "*Step",
        "*Node Output",
        "U",
        "*End Step",
    )


@dialect("parts.inp")
def abaqus_of_parts(rows: Rows, nodes: int) -> str:
    """One part with one instance, as Abaqus/CAE writes every model."""
    mesh = abaqus(rows, nodes).partition("*Node")[2].partition("*Step")[0]
    return lines_of(
        "*Part, name=P",
        f"*Node{mesh}*End Part",
        "*Assembly, name=A",
        "*Instance, name=P-1, part=p",
        "0., 1., 0.",
        "*End Instance",
        "*Node",
        "1, 9., 9., 9.",
        "*End Assembly",
    )


CARDS = {4: "CQUAD4", 8: "CHEXA", 20: "CHEXA"}


def nastran(rows: Rows, nodes: int, join: Callable[[list[str]], list[str]]) -> str:
    points = [
        line
        for n in range(BASE + 1, BASE + nodes + 1)
        for line in join(["GRID", str(n), "", f"{n}.", "0.", "0."])
    ]
    cells: list[str] = []
    for k, row in enumerate(rows, 1):
        more = ["30.", "0.5"] if len(row) == 4 else []
        cells += join([CARDS[len(row)], str(k), "1", *map(str, row), *more])
    return lines_of("SOL 101", "CEND", "BEGIN BULK", *points, *cells, "PSHELL,1,1,.1", "ENDDATA")


def fields_in(width: int, first: str, blank: str) -> Callable[[list[str]], list[str]]:
    def join(words: list[str]) -> list[str]:
        name, *fields = words
        count = 64 // width
        groups = [fields[k : k + count] for k in range(0, len(fields), count)]
        heads = [f"{name}{first}", *[blank] * (len(groups) - 1)]
        return [
            f"{head:8}" + "".join(f"{word:>{width}}" for word in group)
            for head, group in zip(heads, groups, strict=True)
        ]

    return join


@dialect("small.bdf")
def nastran_small(rows: Rows, nodes: int) -> str:
    return nastran(rows, nodes, fields_in(8, "", ""))


@dialect("plus.nas")
def nastran_plus(rows: Rows, nodes: int) -> str:
    return nastran(rows, nodes, fields_in(8, "", "+")).lower().replace("begin bulk", "begin bulk $")


@dialect("large.fem")
def nastran_large(rows: Rows, nodes: int) -> str:
    return nastran(rows, nodes, fields_in(16, "*", "*"))


@dialect("free.bdf")
def nastran_free(rows: Rows, nodes: int) -> str:
    def join(words: list[str]) -> list[str]:
        name, *fields = words
        groups = [fields[k : k + 8] for k in range(0, len(fields), 8)]
        marks = [f",+{k}" if k + 1 < len(groups) else "" for k in range(len(groups))]
        heads = [name, *(f"+{k}" for k in range(len(groups) - 1))]
        padded = [group + [""] * (8 - len(group)) for group in groups]
        return [
            f"{head},{','.join(group)}{mark}"
            for head, group, mark in zip(heads, padded, marks, strict=True)
        ]

    return nastran(rows, nodes, join)


def strip(count: int, size: int, random: np.random.Generator) -> tuple[Rows, int]:
    """(rows, nodes) of cells in a row, neighbours sharing half of their corners, renumbered."""
    half = {4: 2, 8: 4, 20: 4}[size]
    number = (random.permutation(half * (count + 1)) + BASE + 1).tolist()
    rows = []
    for k in range(count):
        low, high = (
            number[half * k : half * k + half],
            number[half * k + half : half * k + 2 * half],
        )
        rows.append(low + (high[::-1] if size == 4 else high))
    nodes = len(number)
    if size == 20:  # twelve nodes of its own on the edges of each
        for row in rows:
            row += range(BASE + nodes + 1, BASE + nodes + 13)
            nodes += 12
    return rows, nodes


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(DIALECTS)),
    st.sampled_from([4, 8, 20]),
    st.integers(2, 9),
    st.integers(0, 2**32),
)
def test_every_dialect_of_a_strip(
    tmp_path: Path, name: str, size: int, count: int, seed: int
) -> None:
    """Cells in a row in as many parts: neighbours share half of their corners, nobody else."""
    size = 8 if name == "ucd.inp" and size == 20 else size
    rows, nodes = strip(count, size, np.random.default_rng(seed))
    path = tmp_path / name
    path.write_text(DIALECTS[name](rows, nodes))
    pattern = parse_pattern(str(path), parts=count, word=1)
    assert (pattern.messages, pattern.bytes) == (
        2 * (count - 1),
        2 * (count - 1) * (2 if size == 4 else 4),
    )


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(DIALECTS)), st.data())
def test_no_line_of_a_mesh_is_lost_in_silence(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    """Without one of the lines of its cells a mesh is refused, or has one cell less."""
    rows, nodes = strip(5, 8, np.random.default_rng(3))
    lines = DIALECTS[name](rows, nodes).splitlines()
    numbers = [[int(word) for word in re.findall(r"\d{4}", line)] for line in lines]
    del lines[data.draw(st.sampled_from([k for k, row in enumerate(numbers) if len(row) > 1]))]
    text = "\n".join(lines) + "\n"
    if name in ("1.msh", "22.msh", "40.msh", "41.msh", "ucd.inp"):
        assert name in refused(tmp_path, name, text, parts=4)
        return
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"{name}(, line|: parts 5: must be at most its 4 cells)"):
        parse_pattern(str(tmp_path / name), parts=5)


NODES = "".join(f"{n}, 0., {n}.\n" for n in range(1, 9))
GRID = "".join(f"GRID,{n},,{n}.,0.,0.\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("m.inp", "*INCLUDE, INPUT=/dev/zero\n", "m.inp, line 1: *INCLUDE: included or generated"),
        ("m.inp", "*NODE, INPUT=n.txt\n", "m.inp, line 1: *NODE: included or generated"),
        ("m.inp", "*NODE\n1,0,0\n*NGEN\n1,5,1\n", "m.inp, line 3: *NGEN: included or generated"),
        ("m.inp", "*NODE\n1,0\n2,0\n1,0\n", "m.inp, line 4: node 1 is defined twice"),
        (
            "m.inp",
            f"*NODE\n{NODES}*ELEMENT, TYPE=S4\n1,1,2,3\n2,4,5,6,7\n",
            "m.inp, line 11: S4: 4 nodes required, given 3",
        ),
        (
            "m.inp",
            f"*NODE\n{NODES}*ELEMENT, TYPE=S4\n1,1,2,3,4,5\n",
            "m.inp, line 11: S4: 4 nodes required, given 5",
        ),
        (
            "m.inp",
            f"*NODE\n{NODES}*ELEMENT, TYPE=S4\n1,1,2,3,9\n",
            "m.inp, line 11: node 9 is not defined",
        ),
        ("m.inp", "*NODE\n1,0\n*ELEMENT, TYPE=U7\n1,1\n", "line 3: *ELEMENT: unknown type 'U7'"),
        (
            "m.inp",
            "*NODE\n1,0\n2,1\n*ELEMENT, TYPE=T3D2\n1,1,2\n*ELEMENT, TYPE=SPRINGA\n2,1,2\n",
            "m.inp, line 6: SPRINGA is not read beside cells of one dimension",
        ),
        (
            "m.inp",
            f"*PART, NAME=A\n*NODE\n{NODES}*ELEMENT, TYPE=S4\n1,1,2,3,4\n*END PART\n"
            "*INSTANCE, NAME=I, PART=A\n*END INSTANCE\n*INSTANCE, NAME=J, PART=A\n",
            "m.inp, line 16: *INSTANCE: 'A' is no part, or has two",
        ),
        (
            "m.inp",
            f"*PART, NAME=A\n*END PART\n*PART, NAME=B\n*NODE\n{NODES}*ELEMENT, TYPE=S4\n"
            "1,1,2,3,4\n*END PART\n*INSTANCE, NAME=I, PART=A\n*END INSTANCE\n",
            "m.inp: 2 parts, 1 instances: must agree",
        ),
        ("m.inp", "6 1 0 0 0\n1 0 0 0\n", "m.inp: truncated: 6 nodes and 1 cells are promised"),
        ("m.avs", "1 1 0 0 0\n1 0 0 0\n1 0 quad 1\n2 0 pt 1\n", "m.avs: 1 nodes and 1 cells are"),
        (
            "m.avs",
            "1 1 0 0 0\n1 0 0 0\n1 0 quad 1 1 1 1 1\n",
            "m.avs, line 3: number, material, type and nodes required",
        ),
        ("m.avs", "x\n", "m.avs: no AVS-UCD mesh: a first line of five counts required"),
        ("m.bdf", "INCLUDE 'x'\nGRID,1\n", "m.bdf, line 1: INCLUDE: other files are not read"),
        (
            "m.bdf",
            GRID + "CHEXA,1,1,1,2,3,4,5,6\n",
            "m.bdf, line 9: CHEXA: 8 or 20 nodes required, given 6",
        ),
        (
            "m.bdf",
            GRID + "CQUADX,1,1,1,2,3,4\n",
            "m.bdf, line 9: unknown card of an element: CQUADX",
        ),
        (
            "m.bdf",
            GRID + "CROD,1,1,1,2\nCELAS2,2,1.,1,1,2,1\n",
            "m.bdf, line 10: CELAS2 is not read",
        ),
        ("m.bdf", GRID + "CROD,1,1,1,2\nCROD,1,1,2,3\n", "m.bdf, line 10: cell 1 is defined twice"),
        ("m.bdf", GRID + "=,*(1),=,*(1),*(1)\n", "m.bdf, line 9: unknown card of an element: ="),
        ("m.bdf", GRID + "CROD,1,1,1,9\n", "m.bdf, line 9: node 9 is not defined"),
        (
            "m.bdf",
            GRID + "CHEXA,1,1,1,2,3,4,5,6,+A\n+B,7,8\n",
            "m.bdf, line 10: continues 'B', not 'A'",
        ),
        ("m.bdf", "$ nothing\n", "m.bdf: the mesh has no cells"),
        (
            "m.msh",
            "$MeshFormat\n3 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1\n"
            "1 15 0 1\n$EndElements\n",
            "m.msh: Gmsh version 3: 1, 2 or 4 required",
        ),
        (
            "m.msh",
            "$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n1\n1 15 1 1 1 1\n2 15 1 1 1 1\n$ENDELM\n",
            "m.msh, line 6: 1 entries are promised, the section has 1 in 2 lines",
        ),
        (
            "m.msh",
            "$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n1\n1 3 1 1 3 1 1 1\n$ENDELM\n",
            "m.msh, line 7: element of type 3: 4 nodes required, given 3 nodes",
        ),
        (
            "m.msh",
            "$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n1\n1 99 1 1 1 1\n$ENDELM\n",
            "m.msh, line 7: element of type 99: unknown type",
        ),
        ("m.msh", "$NOD\nx\n$ENDNOD\n$ELM\n1\n$ENDELM\n", "m.msh: no valid Gmsh mesh of version 1"),
        ("m.msh", "$NOD\n$ENDNOD\n", "m.msh: no Gmsh mesh: sections of nodes and of elements"),
        (
            "m.su2",
            "NDIME= 2\nNPOIN= 3\n0 0\n1 0\n0 1\nNELEM= 1\n5 0 1 2\n5 1 2 0\n",
            "m.su2: no valid su2 mesh, or truncated: line 5 1 2 0",
        ),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, name: str, content: str, line: str) -> None:
    assert line in refused(tmp_path, name, content, parts=1)


def test_two_parts_have_nodes_of_their_own(tmp_path: Path) -> None:
    """The same numbers in two parts: four cells, and nothing between the parts."""
    body = f"*NODE\n{NODES}*ELEMENT, TYPE=CPS4\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n*END PART\n"
    path = tmp_path / "m.inp"
    path.write_text(f"*PART, NAME=A\n{body}*PART, NAME=B\n{body}")
    pattern = parse_pattern(str(path), parts=4)
    assert (pattern.messages, pattern.bytes) == (4, 64)


def test_binary_gmsh_meshes(tmp_path: Path) -> None:
    """As in text; the entities of partitions are not read there."""
    points = np.array([[k % 3, k // 3, 0.0] for k in range(6)])
    mesh = meshio.Mesh(points, [("quad", np.array([[0, 1, 4, 3], [1, 2, 5, 4]]))])
    for version in ("gmsh22", "gmsh"):
        mesh.write(tmp_path / "m.msh", file_format=version, binary=True)
        pattern = parse_pattern(str(tmp_path / "m.msh"), parts=2)
        assert pattern.matrix().tolist() == [[0, 16], [16, 0]]
    content = (tmp_path / "m.msh").read_bytes()
    more = b"$PartitionedEntities\n\0\n$EndPartitionedEntities\n$Nodes"
    line = refused(tmp_path, "m.msh", content.replace(b"$Nodes", more, 1), parts=2)
    assert "a partitioned Gmsh mesh in binary is not read: save it as text" in line


def test_a_vtk_cell_without_its_nodes(tmp_path: Path) -> None:
    points, quads = np.zeros((6, 3)), np.array([[0, 1, 2, 3, 4, 5]])
    meshio.Mesh(points, [("wedge", quads)]).write(
        tmp_path / "m.vtk", file_format="vtk42", binary=False
    )
    text = (tmp_path / "m.vtk").read_text()
    wrong = text.replace("CELL_TYPES 1\n13", "CELL_TYPES 1\n12")
    assert wrong != text
    assert "m.vtk: " in refused(tmp_path, "m.vtk", wrong, parts=1)


def test_a_fifo_beside_xdmf_is_not_opened(tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    os.mkfifo(tmp_path / "m.h5")
    text = (
        '<Xdmf Version="3.0"><Domain><Grid><Geometry GeometryType="XYZ"><DataItem Dimensions="1 3" '
        'Format="HDF">m.h5:/data0</DataItem></Geometry></Grid></Domain></Xdmf>'
    )
    assert "m.h5: is a FIFO" in refused(tmp_path, "m.xdmf", text, parts=1)
