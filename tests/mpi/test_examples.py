"""The examples, in small: what ranks find together is what plain NumPy finds alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

EXAMPLES = Path(__file__).parents[2] / "examples"
SOLVER = EXAMPLES / "finite_elements" / "main.py"
TOLERANCE = 1e-8


def run_example(program: Path, *words: object) -> str:
    command = [sys.executable, str(program), *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def write_square(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A mesh of the unit square: a grid of 9 × 9 nodes, those inside moved at random."""
    import meshio
    from scipy.spatial import Delaunay

    n = 9
    points = np.stack(np.divmod(np.arange(n * n), n), axis=1) / (n - 1)
    inside = ~on_boundary(points)
    points[inside] += np.random.default_rng(5).uniform(-0.3, 0.3, (inside.sum(), 2)) / (n - 1)
    triangles = Delaunay(points).simplices.astype(np.int64)
    meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), [("triangle", triangles)]).write(path)
    return points, triangles


def on_boundary(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ((points == 0) | (points == 1)).any(axis=1)


def cotangent_matrix(
    points: NDArray[np.float64], triangles: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The stiffness of linear triangles, angle by angle.

    An edge has -(cot α + cot β) / 2 of the angles opposite.
    """
    matrix = np.zeros((len(points), len(points)))
    for corners in triangles.tolist():
        for i in range(3):
            at, j, k = (corners[(i + step) % 3] for step in range(3))
            u, v = points[j] - points[at], points[k] - points[at]
            half = (u @ v) / abs(u[0] * v[1] - u[1] * v[0]) / 2
            matrix[j, k] -= half
            matrix[k, j] -= half
            matrix[j, j] += half
            matrix[k, k] += half
    return matrix


def first_iterates(
    matrix: NDArray[np.float64], b: NDArray[np.float64], count: int
) -> list[NDArray[np.float64]]:
    """Of conjugate gradients with Jacobi's preconditioner, from 0."""
    x, r, found = np.zeros_like(b), b.copy(), []
    p = z = r / matrix.diagonal()
    for _ in range(count):
        step = (r @ z) / (p @ matrix @ p)
        x = x + step * p
        found.append(x)
        new = r - step * (matrix @ p)
        new_z = new / matrix.diagonal()
        p = new_z + (new @ new_z) / (r @ z) * p
        r, z = new, new_z
    return found


def test_four_ranks_solve_what_one_does(tmp_path: Path) -> None:
    points, triangles = write_square(tmp_path / "square.vtk")
    said = run_example(
        SOLVER,
        tmp_path / "square.vtk",
        "--parts",
        4,
        "--tolerance",
        TOLERANCE,
        "--repeat",
        1,
        "--on",
        "mesh:2x2",
        "-o",
        tmp_path,
    )
    fixed = on_boundary(points)
    given = np.sin(4 * points[:, 0]) * np.sinh(4 * points[:, 1])
    given /= np.abs(given).max()
    whole = cotangent_matrix(points, triangles)
    matrix, b = whole[~fixed][:, ~fixed], -whole[~fixed][:, fixed] @ given[fixed]
    expected = np.linalg.solve(matrix, b)
    arrays = np.load(tmp_path / "result.npz")
    for x, alone in zip(arrays["iterates"], first_iterates(matrix, b, 10), strict=True):
        assert np.abs(x[~fixed] - alone).max() <= 1e-10 * np.abs(alone).max()
    assert np.array_equal(arrays["x"][fixed], given[fixed])
    assert np.linalg.norm(arrays["x"][~fixed] - expected) <= 10 * TOLERANCE * np.linalg.norm(
        expected
    )
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["ranks"], result["elements"], result["nodes"]) == (
        4,
        len(triangles),
        len(points),
    )
    assert result["messages"] >= 8  # three neighbours in a row have four
    assert {"conset", "MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv"} == set(result["ways"])
    for row in result["ways"].values():
        assert (
            min(
                row["product_s"],
                row["exchange_s"],
                row["iteration_s"],
                row["mflops"],
                row["bandwidth_Bps"],
            )
            > 0
        )
    assert "MPI_Neighbor_alltoallv" in said
    for picture in ("solution.png", "convergence.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_a_spark98_pack(shared_data: Path, tmp_path: Path) -> None:
    pack = shared_data / "meshes" / "spark98" / "tiny.2.pack"
    run_example(SOLVER, pack, "--no-pictures", "--repeat", 0, "-o", tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    # tiny.2.count: 2 messages, 30 words
    assert (result["ranks"], result["messages"], result["bytes"]) == (2, 2, 30 * 8)
    assert result["iterates_apart"] <= 1e-10
    assert result["solution_apart"] <= 10 * TOLERANCE


@pytest.mark.parametrize(
    ("pack", "entries"), [("tiny.1", 735), ("tiny.4", 735), ("sf10.8", 97_138)]
)
def test_entries_of_assembled_packs(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, pack: str, entries: int
) -> None:
    # the pack files' README has these numbers of entries
    monkeypatch.syspath_prepend(SOLVER.parent)
    from elements import assemble
    from meshes import read_mesh

    mesh = read_mesh(shared_data / "meshes" / "spark98" / f"{pack}.pack")
    matrix, size = assemble(mesh.points, mesh.select(np.ones(mesh.count, bool)))
    assert matrix.nnz == entries
    assert abs(matrix @ np.ones(len(size))).max() < 1e-12  # a constant has no gradient
    assert size.sum() == pytest.approx(
        np.ptp(mesh.points, axis=0).prod(), rel=1e-3
    )  # both are boxes


@pytest.mark.parametrize("kind", ["triangle", "quad", "tetra", "hexahedron"])
def test_elements_are_right_for_linear_functions(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.syspath_prepend(SOLVER.parent)
    from elements import REFERENCES, stiffness

    gradients = REFERENCES[kind].gradients
    corners, dimension = gradients.shape[1:]
    # the reference element itself, up to where it stands: its corners are where the shape functions
    # are 1
    reference = {3: [[0, 0], [1, 0], [0, 1]]}.get(corners) or np.vstack([np.zeros(3), np.eye(3)])
    if kind in ("quad", "hexahedron"):
        reference = np.sign(gradients.sum(axis=0))
    rng = np.random.default_rng(1)
    turn = np.eye(dimension) + rng.uniform(-0.3, 0.3, (dimension, dimension))
    points = np.asarray(reference, float) @ turn.T
    matrix, size = stiffness(kind, points[None])
    slope = rng.standard_normal(dimension)
    # ∫ ∇u · ∇u of u = slope · x
    assert (points @ slope) @ matrix[0] @ (points @ slope) == pytest.approx(slope @ slope * size[0])
    reference_size = {"triangle": 1 / 2, "tetra": 1 / 6}.get(kind, 2.0**dimension)
    assert size[0] == pytest.approx(abs(np.linalg.det(turn)) * reference_size)
    assert abs(matrix[0] @ np.ones(corners)).max() < 1e-12


def test_a_transform_by_transposes() -> None:
    said = run_example(
        EXAMPLES / "fft_transpose.py", 50, "--ranks", 4, "--on", "torus:2x2", "--repeat", 2
    )
    found = re.search(
        r"differs from numpy.fft.fft2 by (\S+)", said
    )  # rows are 12 and 13: counts differ
    assert found
    assert float(found[1]) <= 1e-10
