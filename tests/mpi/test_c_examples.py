"""The examples in C and C++, compiled as their users do, on 4 ranks."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from conset.machine.flat_file import write_machine
from conset.machine.spec import parse_machine
from support.c_programs import compile_program, find_compiler, run_program

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def write_mesh(path: Path, side: int = 24) -> None:
    """Squares of a grid, each cut into two triangles, in METIS' form."""
    corner = np.arange((side + 1) ** 2).reshape(side + 1, side + 1) + 1
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]
    triangles = np.concatenate(
        [np.stack(three, -1).reshape(-1, 3) for three in ((a, b, c), (b, d, c))]
    )
    np.savetxt(path, triangles, fmt="%d", header=str(len(triangles)), comments="")


@pytest.mark.openmpi
def test_the_halo_exchange_of_a_mesh_from_a_plan_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_program(EXAMPLES / "c" / "halo.c", tmp_path / "halo")
    mesh, layout, part, plan = (
        tmp_path / name for name in ("plate.mesh", "halo.npz", "plate.part", "halo.plan")
    )
    write_mesh(mesh)
    words = [
        str(mesh),
        "--parts",
        "4",
        "--on",
        "mesh:2x2",
        "--layout",
        str(layout),
        "-o",
        str(tmp_path / "halo.json"),
    ]
    command(["compile", *words])
    command(["plan", str(tmp_path / "halo.json"), "--layout", str(layout), "-o", str(plan)])
    script = EXAMPLES / "c" / "write_parts.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(layout), str(part)])
    runpy.run_path(str(script), run_name="__main__")
    ended = run_program(program, mesh, part, plan, folder=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == "halo: 625 nodes, 1152 elements, 0 wrong values\n"


def command(words: list[str]) -> None:
    from conset.cli.main import run

    assert run(words) == 0


@pytest.fixture(scope="module")
def alltoallv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(
        EXAMPLES / "c" / "alltoallv.c", tmp_path_factory.mktemp("alltoallv") / "alltoallv"
    )


@pytest.mark.openmpi
@pytest.mark.parametrize(
    ("ranks", "options", "combine"),
    [
        (4, "timeout=30s", "none"),
        (4, "machine=torus:2x2;method=rs-nl;sync=ready;timeout=30s", "none"),
        (8, "machine=slow.machine;ranks_per_node=2;timeout=30s", "node-aware"),
    ],
)
def test_an_alltoallv_that_is_scheduled_at_run_time(
    alltoallv: Path, tmp_path: Path, ranks: int, options: str, combine: str
) -> None:
    machine = parse_machine("crossbar:4,startup=100us,overhead=1us")
    write_machine(tmp_path / "slow.machine", machine)
    options = options.replace("slow.machine", str(tmp_path / "slow.machine"))
    ended = run_program(alltoallv, options, folder=tmp_path, ranks=ranks)
    assert (ended.status, ended.err) == (0, "")
    said = rf"alltoallv: method \S+, combine {combine}, sync \S+, \d+ phases, 0 wrong values\n"
    assert re.fullmatch(said, ended.out)


@pytest.mark.openmpi
def test_neighbors_of_a_graph_in_cpp(tmp_path: Path) -> None:
    program = compile_program(EXAMPLES / "cpp" / "halo.cpp", tmp_path / "halo")
    for ranks, shape in ((4, "2 x 2"), (3, "3 x 1")):
        ended = run_program(program, folder=tmp_path, ranks=ranks)
        assert (ended.status, ended.err) == (0, "")
        assert ended.out == f"halo: {shape} ranks, 0 wrong values\n"


def test_the_standard_binary_interface(tmp_path: Path) -> None:
    """One library for programs of another MPI: MPICH's wheel has the standard's too."""
    find_compiler("mpicc_abi")
    program = compile_program(EXAMPLES / "c" / "alltoallv.c", tmp_path / "alltoallv", "mpicc_abi")
    ended = run_program(program, folder=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.endswith(", 0 wrong values\n")


@pytest.mark.openmpi
def test_a_product_on_a_ring_whose_sums_are_never_stored(tmp_path: Path) -> None:
    program = compile_program(EXAMPLES / "c" / "connections.c", tmp_path / "connections")
    command(["compile", "shift:by=1", "--on", "ring:4", "-o", str(tmp_path / "ring.json")])
    command(["plan", str(tmp_path / "ring.json"), "-o", str(tmp_path / "ring.plan")])
    ended = run_program(program, tmp_path / "ring.plan", folder=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == "connections: 2048 rows, 0 wrong values\n"
