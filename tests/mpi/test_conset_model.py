"""The program of docs/conset-model.md sends and receives element by element on 16 ranks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.execution.launcher import find_launcher, start_job

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120


def test_the_program_of_elements_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/conset-model.md").read_text()
    found = re.search(r"```python\n(# elements\.py: .*?)```", page, re.DOTALL)
    assert found is not None
    (tmp_path / "elements.py").write_text(found[1])
    monkeypatch.chdir(tmp_path)
    blocks = str(ROOT / "examples/connections/program.toml")
    assert run(["compile", blocks, "--on", "iwarp:4x4", "-o", "program.json"]) == 0
    assert run(["plan", "program.json", "-o", "program.plan"]) == 0
    ended = start_job(find_launcher(), 16, ["-m", "mpi4py", "elements.py"], folder=tmp_path, timeout_s=TIMEOUT_S)
    assert (ended.status, ended.timed_out) == (0, False), ended.err
    assert re.match(r"14 phases, 8 switches, drain \S+ s, synchronization \S+ s, set-up \S+ s$", ended.out.strip())
