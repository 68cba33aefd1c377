"""`conset doctor` starts two ranks, and says in a line why it cannot."""

from __future__ import annotations

import json

import pytest

from conset.cli import doctor
from conset.cli.main import run

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


@pytest.mark.openmpi
def test_two_ranks_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    job = found["checks"][-1]
    assert (job["name"], job["ok"], job["broken"]) == ("2 MPI ranks", True, False), job
    assert job["detail"].endswith(": started, added up and ended")


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        ("sh -c 'echo no host here >&2; exit 3'", "status 3 and left no result: no host here"),
        (
            "sh -c 'shift; exec \"$@\"'",
            "every rank is alone: the launcher is not of the library that mpi4py loads",
        ),
        ("sh -c 'sleep 600'", "did not end within 1 s and was ended"),
        ("/nonexistent/mpiexec", "launcher '/nonexistent/mpiexec': No such file or directory"),
    ],
)
def test_why_no_ranks_can_be_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], launcher: str, said: str
) -> None:
    if "sleep" in launcher:
        monkeypatch.setattr(doctor, "TIMEOUT_S", 1.0)
    assert run(["doctor", "--mpiexec", launcher]) == 0
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if "2 MPI ranks" in line)
    assert line.split()[0] == "fails"
    assert said in line
    assert "or name a launcher: conset doctor --mpiexec CMD" in printed


def test_inside_a_job_none_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "4")
    assert run(["doctor", "--json"]) == 0
    assert (
        json.loads(capsys.readouterr().out)["checks"][-1]["detail"]
        == "not tried: this is rank 1 of an MPI job"
    )
