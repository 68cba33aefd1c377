"""Exchanges that are scheduled at run time.

What arrives, and what every rank is told when one is wrong.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conset.execution.job import find_launcher, start_job
from conset.machine.flat_file import write_machine
from conset.machine.spec import parse_machine

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

OTHER_OPTIONS = (
    "InputError: rank 1: machine, ranks_per_node, method, sync, seed, compute, effort, combine, "
    "memory, measure, or whether a schedule is given or sources are known, are not those of "
    "rank 0: must agree"
)
SAID = [
    "InputError: rank 1: sendcounts[2] = -1: must be at least 0",
    "InputError: rank 1: sendcounts has shape (3,): one entry for each of 4 peers required",
    "InputError: rank 0 expects 8 B from rank 1, which sends 16 B",
    "InputError: rank 1: recvbuf has 24 bytes: its block 3, 1 elements from 3 on, takes "
    "bytes 24 to 32",
    "InputError: rank 1: recvbuf: must not overlap sendbuf, whose bytes would be overwritten "
    "before they are sent",
    "InputError: rank 1: recvbuf: elements are float32, those of sendbuf float64: must be the same",
    "InputError: rank 1: elements are int64, not those of lower ranks: must agree",
    OTHER_OPTIONS,
    "UsageError: rank 1: machine 'torus:9x9x': sizes are whole numbers of at least 1 joined by x, "
    "as in mesh:4x4, "
    "given '9x9x'",
    "UsageError: method 'best': must be one of lp gen bounded pex-gen-shift rs-n rs-nl coloring "
    "first-fit decreasing negotiated event-list half-duplex naive or auto",
    "UsageError: rank 1: timeout_s -1: must be above 0, and finite",
    "InputError: rank 1: recvbuf has 8 bytes: 32 arrive",
    OTHER_OPTIONS,
    "ExecutionError: start: the exchange before has not ended, call wait first",
    "ExecutionError: close: an exchange is running, call wait first",
    "ExecutionError: rank 0: update: an exchange is running, call wait first",
]


@pytest.mark.openmpi
def test_scheduled_at_run_time(tmp_path: Path, programs: Path) -> None:
    said = tmp_path / "said"
    program = ["-m", "mpi4py", str(programs / "rows.py"), str(said)]
    ended = start_job(find_launcher(), 4, program, folder=tmp_path, timeout_s=120)
    assert (ended.status, ended.err) == (0, "")
    *lines, late, closed = said.read_text(encoding="utf-8").splitlines()
    assert lines == SAID
    assert re.fullmatch(r"ExecutionError: rank 1: phase \d, sync barrier: .* after \d\.\d s", late)
    assert closed == "ExecutionError: start: the exchange is closed"


@pytest.mark.openmpi
@pytest.mark.parametrize(
    ("ranks", "per_node", "spec", "combine"),
    [
        (12, 1, "torus:2x3x2,send_overhead=2us,receive_overhead=2us", r"\S*\d+x\d+\S*"),
        (8, 2, "crossbar:4,startup=100us,overhead=1us", "node-aware"),
    ],
)
def test_ranks_pass_on_bundles_where_that_pays(
    ranks: int, per_node: int, spec: str, combine: str, tmp_path: Path, programs: Path
) -> None:
    """On machines whose processors, or ports out of nodes, take long for each message."""
    write_machine(tmp_path / "slow.machine", parse_machine(spec))
    words = [str(programs / "stages.py"), str(tmp_path / "slow.machine"), str(per_node)]
    program = ["-m", "mpi4py", *words]
    ended = start_job(find_launcher(), ranks, program, folder=tmp_path, timeout_s=240)
    assert (ended.status, ended.err) == (0, "")
    *lines, derived = ended.out.split("\n")[:13]
    assert derived == "none"
    for staged in (lines[:3], lines[6:9]):
        assert staged[0] == staged[1]
        assert all(re.fullmatch(f"{combine} True False", line) for line in staged)
    for direct in (lines[3:6], lines[9:12]):
        assert direct == ["none False False", "none False True", "none False False"]


def test_an_error_of_all_ranks_is_one_line_of_the_job(tmp_path: Path) -> None:
    program = tmp_path / "solver.py"
    program.write_text(
        "import numpy as np\nfrom mpi4py import MPI\n\nimport conset\n\n"
        "ones = np.ones(4, int)\n"
        "ones[2] -= 2 * (MPI.COMM_WORLD.rank == 1)\n"
        "conset.alltoallv_init(MPI.COMM_WORLD, np.zeros(4), ones)\n",
        encoding="utf-8",
    )
    ended = start_job(find_launcher(), 4, [str(program)], folder=tmp_path, timeout_s=60)
    assert ended.status == 1
    line = f"{program}:8: InputError: rank 1: sendcounts[2] = -1: must be at least 0"
    assert [text for text in ended.err.splitlines() if "Error" in text] == [line]
    assert "Traceback" not in ended.err
