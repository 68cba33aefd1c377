"""Layouts: who owns what, seen from the file by other code, and an exchange replayed on global
values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import coo_matrix, csr_matrix, random_array

import conset
from conset import Layout, Partition, _core
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.execution.plan import plan_items, write_plan_file
from conset.execution.planner import make_plan
from support.reading import PACK

GRID = 6


def mesh_file(folder: Path) -> Path:
    """A METIS mesh of quadrilaterals, its nodes numbered from 11 with a gap."""
    at = [[GRID * y + x + (11 if y < 3 else 51) for x in range(GRID)] for y in range(GRID)]
    cells = [
        [at[y][x], at[y][x + 1], at[y + 1][x + 1], at[y + 1][x]]
        for y in range(GRID - 1)
        for x in range(GRID - 1)
    ]
    path = folder / "grid.mesh"
    path.write_text("\n".join([str(len(cells)), *(" ".join(map(str, cell)) for cell in cells)]))
    return path


def cells_of(path: Path) -> list[set[int]]:
    """Nodes of every cell, from 0 as the layout numbers them."""
    return [{int(word) - 1 for word in line.split()} for line in path.read_text().splitlines()[1:]]


def matrix_file(folder: Path, *, symmetric: bool) -> Path:
    rng = np.random.default_rng(3)
    matrix = coo_matrix(random_array((40, 40), density=0.08, rng=rng))
    path = folder / "m.mtx"
    mmwrite(path, matrix + matrix.T if symmetric else matrix, symmetry="general")
    return path


def graph_file(folder: Path) -> Path:
    """A ring of 12 with a chord."""
    joined = {frozenset((v, (v + 1) % 12)) for v in range(12)} | {frozenset((0, 5))}
    rows = [sorted(next(iter(edge - {v})) + 1 for edge in joined if v in edge) for v in range(12)]
    path = folder / "ring.graph"
    path.write_text("\n".join([f"12 {len(joined)}", *(" ".join(map(str, row)) for row in rows)]))
    return path


def pack_file(folder: Path) -> Path:
    path = folder / "two.pack"
    path.write_text(PACK)
    return path


def partitions(folder: Path) -> dict[str, Partition]:
    return {
        "mesh": conset.partition(mesh_file(folder), parts=4),
        "rows": conset.partition(matrix_file(folder, symmetric=False), rows_to=5, word=16),
        "graph of a matrix": conset.partition(matrix_file(folder, symmetric=True), parts=4, seed=2),
        "graph": conset.partition(graph_file(folder), parts=3, word=4),
        "pack": conset.partition(pack_file(folder)),
    }


def replay(partition: Partition, values: np.ndarray) -> list[np.ndarray]:
    """What ranks hold after an exchange of buffers as a plan has them.

    Ghosts, or nodes with what was added.
    """
    layout, pattern = partition.layout, partition.pattern
    lists = [layout.local(rank) for rank in range(layout.ranks)]
    sent = [
        values[layout.owned(r) if layout.kind == "ghost" else layout.nodes(r)]
        for r in range(layout.ranks)
    ]
    items = pattern.size // layout.word
    at = np.zeros(layout.ranks, np.int64)
    arrived: list[list[np.ndarray]] = [[] for _ in range(layout.ranks)]
    for m in range(
        pattern.messages
    ):  # sorted by source, then target: both buffers are filled in their order
        source, target = int(pattern.source[m]), int(pattern.target[m])
        positions = lists[source][0][at[source] : at[source] + items[m]]
        at[source] += items[m]
        arrived[target].append(sent[source][positions])
    held = []
    for rank in range(layout.ranks):
        brought = np.concatenate([np.zeros(0), *arrived[rank]])
        positions = lists[rank][1]
        assert brought.size == positions.size
        held.append(
            np.full(layout.ghost(rank).size, np.nan)
            if layout.kind == "ghost"
            else sent[rank].copy()
        )
        if layout.add:
            np.add.at(held[-1], positions, brought)
        else:
            held[-1][positions] = brought
    return held


@pytest.mark.parametrize("name", ["mesh", "rows", "graph of a matrix", "graph", "pack"])
def test_an_exchange_brings_what_ranks_need(tmp_path: Path, name: str) -> None:
    partition = partitions(tmp_path)[name]
    layout = partition.layout
    most = 1 + max(int(layout.items(m).max()) for m in range(layout.messages))
    numbers = [
        layout.owned(r) if layout.kind == "ghost" else layout.nodes(r) for r in range(layout.ranks)
    ]
    values = np.random.default_rng(1).random(max(most, *(int(own.max()) + 1 for own in numbers)))
    held = replay(partition, values)
    if layout.kind == "ghost":
        assert all(np.array_equal(held[r], values[layout.ghost(r)]) for r in range(layout.ranks))
        return
    copies = np.bincount(np.concatenate(numbers), minlength=values.size)
    assert all(np.allclose(held[r], (values * copies)[numbers[r]]) for r in range(layout.ranks))
    assert copies.max() > 1


def test_nodes_of_a_mesh_are_those_of_its_cells(tmp_path: Path) -> None:
    path = mesh_file(tmp_path)
    layout = conset.partition(path, parts=4).layout
    cells = cells_of(path)
    assert layout.part.size == len(cells)
    nodes = [
        sorted(set().union(*(cell for cell, of in zip(cells, layout.part, strict=True) if of == r)))
        for r in range(4)
    ]
    assert [layout.nodes(r).tolist() for r in range(4)] == nodes
    for m in range(layout.messages):
        both = set(nodes[layout.source[m]]) & set(nodes[layout.target[m]])
        assert layout.items(m).tolist() == sorted(both)
    assert layout.messages == sum(
        1 for a in range(4) for b in range(4) if a != b and set(nodes[a]) & set(nodes[b])
    )


@pytest.mark.parametrize(("options", "symmetric"), [({"rows_to": 7}, False), ({"parts": 4}, True)])
def test_ghosts_are_the_columns_of_a_ranks_rows(
    tmp_path: Path, options: dict[str, int], symmetric: bool
) -> None:
    path = matrix_file(tmp_path, symmetric=symmetric)
    matrix = csr_matrix(mmread(path))
    partition = conset.partition(path, **options)
    layout = partition.layout
    assert partition.pattern == conset.load_pattern(path, **options)
    for rank in range(layout.ranks):
        rows = np.flatnonzero(layout.part == rank)
        assert layout.owned(rank).tolist() == rows.tolist()
        foreign = set(matrix[rows].indices.tolist()) - set(rows.tolist())
        assert layout.ghost(rank).tolist() == sorted(foreign, key=lambda k: (layout.part[k], k))
        # a product with a vector needs nothing else
        x, y = np.arange(40.0), np.zeros(40)
        known = np.concatenate([layout.owned(rank), layout.ghost(rank)])
        y[known] = x[known]
        assert np.array_equal(matrix[rows] @ y, matrix[rows] @ x)


def test_a_pack_carries_its_partition(tmp_path: Path) -> None:
    layout = conset.partition(pack_file(tmp_path)).layout
    assert (layout.kind, layout.part.tolist(), layout.ranks) == ("shared", [0, 1], 2)
    assert [layout.nodes(r).tolist() for r in range(2)] == [[0, 1, 2], [1, 2, 3]]
    assert [layout.items(m).tolist() for m in range(2)] == [[1, 2], [1, 2]]
    broken = tmp_path / "broken.pack"
    broken.write_text(PACK.replace("2 0 1\n0\n", "2 0 2\n0\n"))
    assert conset.load_pattern(broken).messages == 2  # as ever: how many they share
    with pytest.raises(InputError, match="share other nodes one way than the other"):
        conset.partition(broken)


@pytest.mark.parametrize("name", ["mesh", "rows", "graph"])
def test_a_file_says_the_same(tmp_path: Path, name: str) -> None:
    partition = partitions(tmp_path)[name]
    partition.layout.write(tmp_path / "a.npz")
    assert conset.read_layout(tmp_path / "a.npz") == partition.layout
    conset.read_layout(tmp_path / "a.npz").write(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as arrays:
        kind = partition.layout.kind
        per_rank = {"owned", "ghost"} if kind == "ghost" else {"nodes"}
        wanted = {"kind", "word", "part", "source", "target"}
        wanted |= {f"{each}_{r}" for each in per_rank for r in range(partition.layout.ranks)}
        assert {*arrays} == wanted | {f"items_{m}" for m in range(partition.pattern.messages)}
        assert str(arrays["kind"]) == kind
        size = [
            arrays[f"items_{m}"].size * partition.layout.word
            for m in range(partition.pattern.messages)
        ]
    assert size == partition.pattern.size.tolist()


@pytest.mark.parametrize(
    ("entry", "value", "line"),
    [
        ("kind", np.array("both"), "kind must be ghost or shared, is 'both'"),
        ("kind", None, "kind is missing"),
        ("word", np.array(0), "word = 0: must be at least 1 B"),
        ("part", np.array([0, 1, 9]), "part[2] = 9: must be from 0 to 2"),
        ("owned_1", np.array([0]), "owned_r: must be the rows that part gives to rank r"),
        ("owned_1", None, "owned_1 is missing"),
        ("ghost_0", np.array([[1]]), "ghost_0 has shape (1, 1): 1 dimension required"),
        ("ghost_0", np.array([9, 9]), "ghost_r: must be rows of other ranks"),
        ("items_0", np.array([400]), "item_numbers[0] = 400: must be from 0 to 11"),
        ("items_0", None, "items_0 is missing"),
        ("source", np.array([1.5]), "source[0] = 1.5: must be an integer"),
        ("target", np.array([0]), "target has 1 entry, source 4: must agree"),
    ],
)
def test_broken_files_are_refused_in_one_line(
    tmp_path: Path, entry: str, value: Any, line: str
) -> None:
    path = tmp_path / "x.npz"
    conset.partition(graph_file(tmp_path), parts=3).layout.write(path)
    arrays = dict(np.load(path))
    if value is None:
        del arrays[entry]
    else:
        arrays[entry] = value
    np.savez(path, **arrays)
    with pytest.raises(InputError) as error:
        conset.read_layout(path)
    assert str(error.value).startswith(f"{path}: ")
    assert line in str(error.value)


@pytest.mark.parametrize(
    ("name", "options", "error", "line"),
    [
        ("alltoall", {}, InputError, "pattern 'alltoall': has no layout"),
        ("a.csv", {}, InputError, "a.csv: has no layout: it contains messages"),
        ("ring.graph", {}, UsageError, "parts N required"),
        ("ring.graph", {"rows_to": 2}, UsageError, "rows_to is for .mtx only"),
        ("ring.graph", {"parts": 13}, InputError, "must be at most its 12"),
        ("m.mtx", {}, UsageError, "one of them is required"),
        ("m.mtx", {"parts": 2, "rows_to": 2}, UsageError, "exclude each other"),
        ("m.mtx", {"rows_to": 41}, InputError, "must be at most its 40 rows"),
    ],
)
def test_what_has_no_layout(
    tmp_path: Path, name: str, options: dict[str, int], error: type[Exception], line: str
) -> None:
    graph_file(tmp_path)
    matrix_file(tmp_path, symmetric=False)
    (tmp_path / "a.csv").write_text("0,8\n8,0\n")
    with pytest.raises(error, match=line):
        conset.partition(name if name == "alltoall" else tmp_path / name, **options)


def test_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a mesh to a plan file with index lists, as the core reads it."""
    monkeypatch.chdir(tmp_path)
    mesh_file(tmp_path)
    words = ["compile", "grid.mesh", "--parts", "4", "--on", "torus:2x2", "--method", "first-fit"]
    assert run([*words, "--layout", "h.npz", "-o", "s.json"]) == 0
    assert run(["plan", "s.json", "--layout", "h.npz", "-o", "x.plan", "--json"]) == 0
    layout = conset.read_layout("h.npz")
    for rank in range(4):
        found = _core.read_plan_file("x.plan", rank, 4)
        sends, receives = layout.local(rank)
        assert np.array_equal(found.send_items, sends)
        assert np.array_equal(found.receive_items, receives)
        assert (found.item_bytes, found.item_type, found.add) == (8, 4, True)
        assert found.send_bytes == 8 * (int(sends.max()) + 1)
    capsys.readouterr()
    for more, code, line in (
        (
            ["compile", "alltoall", "--on", "torus:2x2", "--layout", "n.npz"],
            3,
            "pattern 'alltoall': has no layout",
        ),
        ([*words, "--layout", "n.txt"], 2, "a layout file ends in .npz"),
        (
            ["plan", "s.json", "--layout", "h.npz", "--element", "float16"],
            2,
            "unknown element 'float16'",
        ),
        (
            ["plan", "s.json", "--element", "int32"],
            2,
            "--element int32: is for the arrays of --layout",
        ),
        (
            ["plan", "s.json", "--layout", "h.npz", "--element", "complex128"],
            2,
            "must be whole elements",
        ),
        (["plan", "s.json", "-o", "x.json"], 2, "a plan file ends in .plan"),
        (["plan", "missing.json"], 3, "missing.json: no such file"),
        (["plan", "s.json", "--sync", "late"], 2, "unknown sync 'late'"),
        (["verify", "x.plan"], 3, "x.plan: is a plan, a schedule is required"),
    ):
        assert run(more) == code
        assert line in capsys.readouterr().err
    assert not (tmp_path / "n.npz").exists()


def test_a_layout_of_another_pattern(tmp_path: Path) -> None:
    partition = conset.partition(graph_file(tmp_path), parts=3)
    plan = make_plan(conset.compile(partition.pattern, "ring:3", method="first-fit"))
    write_plan_file(plan, tmp_path / "x.plan", plan_items(partition.pattern, partition.layout))
    sizes = partition.pattern.size.copy()
    sizes[1] += 8
    with pytest.raises(InputError, match=r"layout: message 1 is .* the pattern's .*: must agree"):
        plan_items(replace(partition.pattern, size=sizes), partition.layout)
    with pytest.raises(
        InputError, match="layout of 3 ranks and 4 messages, the pattern has 4 and 12"
    ):
        plan_items(conset.load_pattern("alltoall:ranks=4"), partition.layout)
    wide = conset.partition(graph_file(tmp_path), parts=3, word=12)
    with pytest.raises(UsageError, match="element: required where a word has 12 B"):
        plan_items(wide.pattern, wide.layout)
    assert plan_items(wide.pattern, wide.layout, "float32")["item_bytes"] == 12


def test_repr_and_rank(tmp_path: Path) -> None:
    layout: Layout = conset.partition(graph_file(tmp_path), parts=3).layout
    assert repr(layout).startswith("Layout(ghost, ranks=3, messages=4")
    with pytest.raises(UsageError, match="nodes: is of kind shared, the layout is of kind ghost"):
        layout.nodes(0)
    with pytest.raises(UsageError, match="rank 3: must be from 0 to 2"):
        layout.local(3)
