"""Examples of help that start jobs of several ranks, and those of a testbed, as a shell executes
them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import conset
import conset_testbed
from conset.base.errors import ConsetError
from conset.cli.examples import EXAMPLES
from conset.cli.main import run
from conset_testbed import beds
from support.example_inputs import write_inputs

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

NAME = f"e{os.getpid()}"
WRITES = next(line for line in EXAMPLES["compile"] if "ring.json" in line)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the schedule that jobs execute; the test runs inside it."""
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(WRITES)[1:]) == 0
    return tmp_path


@pytest.mark.parametrize("line", [*EXAMPLES["run"], *EXAMPLES["calibrate"]])
def test_every_example_does_what_it_says(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    words = shlex.split(line)[1:]
    assert run(words) == 0
    assert capsys.readouterr().out.strip()
    if "-o" in words:
        assert conset.load_machine(words[words.index("-o") + 1]).topology.endpoints == 2


@pytest.fixture
def name() -> Iterator[str]:
    """Of a testbed of this process alone, gone afterwards whatever happens."""
    permission = conset_testbed.check()
    if permission.kernel:
        pytest.skip(f"no testbed: {permission.text}")
    yield NAME
    with suppress(ConsetError):
        beds.down(NAME)


@pytest.mark.testbed
def test_those_of_a_testbed(folder: Path, name: str) -> None:
    """In the order of the table, in which one builds what the next uses."""
    for command, lines in EXAMPLES.items():
        for line in lines if command.startswith("testbed") else ():
            run_in_shell(folder, line.replace("lab", name))


def test_those_of_unmodified_programs(folder: Path) -> None:
    for line in (*EXAMPLES["record"], *EXAMPLES["intercept"]):
        run_in_shell(folder, line)
    assert (folder / "calls" / "plans.txt").exists()
    assert '"plans"' in (folder / "gain.json").read_text()


def run_in_shell(folder: Path, line: str) -> None:
    """Run a line that succeeds and prints, with the `conset` and `mpiexec` of this interpreter."""
    bin_ = folder / "bin"
    bin_.mkdir(exist_ok=True)
    script = bin_ / "conset"
    script.write_text(f"#!{sys.executable}\nfrom conset.cli.main import main\nmain()\n")
    script.chmod(0o755)
    path = os.pathsep.join(
        [str(bin_), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(conset.__file__).parents[1])}
    ended = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, env=environment, timeout=240
    )
    assert ended.returncode == 0, (line, ended.stderr)
    assert ended.stdout.strip(), line
