"""The programs of `docs/connections.md`, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.execution.job import JobEnd, find_launcher, start_job
from support.c_programs import compile_program, run_program

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "connections.md"
NAMES = {"toml": "blocks.toml", "python": "ring.py", "c": "ring.c"}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sources of the document, where its commands have run."""
    text = DOCUMENT.read_text()
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert set(blocks) == {*NAMES, "bash"}
    for language, name in NAMES.items():
        (tmp_path / name).write_text(blocks[language])
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^conset (.*)$", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert run(command.split()) == 0
    return tmp_path


def check(ended: JobEnd) -> None:
    """Every rank has seen what it had to, after the same switches.

    A line may begin in that of another rank.
    """
    assert (ended.status, ended.err) == (0, "")
    said = sorted(re.findall(r"rank (\d+): (\w+), (\d+) switches", ended.out))
    switches = said[0][2]
    assert switches == "0"  # all phases of the page share a context
    assert said == [(str(rank), "right", switches) for rank in range(4)]


@pytest.mark.openmpi
def test_in_python(written: Path) -> None:
    check(start_job(find_launcher(), 4, ["-m", "mpi4py", "ring.py"], folder=written, timeout_s=60))


@pytest.mark.openmpi
def test_in_c(written: Path) -> None:
    program = compile_program(written / "ring.c", written / "ring")
    check(run_program(program, folder=written))
