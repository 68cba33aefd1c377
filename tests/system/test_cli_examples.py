"""Examples: the lines at the end of every help are there and do what they say.

Those of jobs are in `tests/mpi`.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from conset.cli import testbed
from conset.cli.config import LIBRARY
from conset.cli.examples import EXAMPLES
from conset.cli.main import COMMANDS, run
from support.example_inputs import write_inputs

OF_JOBS = ("run", "calibrate", "record", "intercept")
"""Commands whose examples start jobs of several ranks, or a network."""
HERE = {
    command: lines
    for command, lines in EXAMPLES.items()
    if command.split()[0] not in (*OF_JOBS, "testbed")
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the first examples, which write what others read, have been executed."""
    folder = tmp_path_factory.mktemp("examples")
    write_inputs(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (*EXAMPLES["compile"], *EXAMPLES["simulate"]):
            assert run(shlex.split(line)[1:]) == 0, line
    assert {path.name for path in folder.iterdir()} >= {"s.json", "ring.json", "p.json", "t.json"}
    return folder


@pytest.fixture
def c_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As installed; a checkout may lack the library."""
    for name in ("include/conset.h", f"lib/{LIBRARY}"):
        (tmp_path / "conset" / name).parent.mkdir(parents=True)
        (tmp_path / "conset" / name).touch()
    monkeypatch.setattr("conset.cli.config.search_folders", lambda: [tmp_path / "conset"])


@pytest.mark.parametrize(
    "line",
    [line for name, lines in HERE.items() if name not in ("compile", "simulate") for line in lines],
)
def test_every_example_does_what_it_says(
    written: Path,
    c_library: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
) -> None:
    monkeypatch.chdir(written)
    words = shlex.split(line)[1:]
    output = Path(words[words.index("-o") + 1]) if "-o" in words else None
    assert run(words) == 0
    assert capsys.readouterr().out.strip()
    assert output is None or output.exists()


def test_every_command_has_examples() -> None:
    of_testbed = {
        f"testbed {each.name or each.callback.__name__}" for each in testbed.app.registered_commands
    }  # type: ignore[union-attr]
    assert set(EXAMPLES) == {*COMMANDS, *of_testbed}
    for command, lines in EXAMPLES.items():
        assert lines
        for line in lines:
            assert line.startswith("conset ")
            assert command.split()[0] in line


@pytest.mark.parametrize("command", EXAMPLES)
def test_they_end_its_help_uncut(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["help", *command.split()]) == 0
    _, _, shown = capsys.readouterr().out.partition("Examples:\n")
    assert tuple(line.strip() for line in shown.strip().splitlines()) == EXAMPLES[command]
