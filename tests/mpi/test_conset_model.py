"""What docs/conset-model.md shows over MPI, on 16 ranks: switches in their parts.

A program of elements.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.execution.job import find_launcher, start_job

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 120


PAGE = (ROOT / "docs/conset-model.md").read_text()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of `program.json`, `program.plan` and what the page shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    blocks = str(ROOT / "examples/connections/program.toml")
    assert run(["compile", blocks, "--on", "iwarp:4x4", "-o", "program.json"]) == 0
    assert run(["plan", "program.json", "-o", "program.plan"]) == 0
    return tmp_path


def test_switches_are_counted_and_timed(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(r"\| `(conset run [^`]+)` \| `([^`]+)` \|", PAGE)
    assert shown
    for command, printed in shown:
        assert run(shlex.split(command)[1:]) == 0
        assert printed in capfd.readouterr().out


def test_the_program_of_elements_runs(program: Path) -> None:
    found = re.search(r"```python\n(# elements\.py: .*?)```", PAGE, re.DOTALL)
    assert found is not None
    (program / "elements.py").write_text(found[1])
    ended = start_job(
        find_launcher(), 16, ["-m", "mpi4py", "elements.py"], folder=program, timeout_s=TIMEOUT_S
    )
    assert (ended.status, ended.timed_out) == (0, False), ended.err
    assert re.match(
        r"14 phases, 8 switches, drain \S+ s, synchronization \S+ s, set-up \S+ s$",
        ended.out.strip(),
    )
