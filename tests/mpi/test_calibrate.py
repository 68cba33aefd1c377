"""`conset calibrate` over MPI.

A job that ends with a machine file, and times from which it is made again.
"""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.inputs import load_machine

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


@pytest.mark.openmpi
def test_a_job_ends_with_a_machine_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, data = tmp_path / "machine.toml", tmp_path / "raw.json"
    words = [
        "calibrate",
        "--ranks",
        "3",  # of which one sends nothing where neighbours exchange, and is at the barriers
        "--quick",
        "--time",
        "1s",
        "--data",
        str(data),
        "-o",
        str(file),
        "--json",
    ]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "conset/calibrate@1"
    assert found["machine"] == file.read_text()
    machine = load_machine(file)
    assert machine.topology.endpoints == 3
    costs = machine.costs
    # ranks on one machine: no message takes a second, and bytes cost time, however little a
    # second of probes shows
    assert 0 < costs.send_overhead.at(8) + costs.inject.at(8) + costs.receive_overhead.at(8) < 1
    assert min(costs.port_out_Bps, costs.port_in_Bps) < inf
    assert {row["word"] for row in found["words"]} >= {
        "send_overhead",
        "receive_overhead",
        "port",
        "eager",
    } - {"port"}
    assert found["held_back"]
    # the same times give the same file, without a job
    again = tmp_path / "again.toml"
    assert run(["calibrate", "--data", str(data), "-o", str(again), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machine"] == found["machine"]
    assert again.read_bytes() == file.read_bytes()
    assert run(["compile", "alltoall", "--on", str(file), "--json"]) == 0
