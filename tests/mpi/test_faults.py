"""What goes wrong ends: ranks that stop or die, refused exchanges.

And what ends well leaves nothing.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from conset.execution.job import JobEnd, find_launcher, noted_files, start_job
from support.c_programs import compile_program, run_program

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

DEADLINE_S = 1.0
"""Of exchanges in which a rank stops, as in the programs."""
SLOW_S = 10.0
"""The others are to be ended 3 s after a rank was lost; a busy machine has more time here."""


def python(program: Path, *words: object, folder: Path) -> JobEnd:
    words = ("-m", "mpi4py", program, *words)
    return start_job(
        find_launcher(), 4, [str(word) for word in words], folder=folder, timeout_s=120
    )


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(__file__).parent / "c" / "ends.c"
    return compile_program(source, tmp_path_factory.mktemp("ends") / "ends")


@pytest.mark.openmpi
def test_exchanges_leave_nothing_and_refused_ones_send_nothing(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    ended = python(programs / "counted.py", tmp_path, folder=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    assert [(tmp_path / f"rank-{r}").read_text() for r in range(4)] == ["right"] * 4
    assert not list(temporary.iterdir())
    assert not any(Path(file.path).exists() for file in noted_files(tmp_path))


@pytest.mark.openmpi
def test_a_rank_that_stops_is_named_within_the_deadline(programs: Path, tmp_path: Path) -> None:
    ended = python(programs / "lost.py", tmp_path, folder=tmp_path)
    since = time.monotonic() - float((tmp_path / "lost").read_text())
    assert ended.status != 0
    assert not ended.timed_out
    assert since < DEADLINE_S + SLOW_S
    said = [
        (tmp_path / f"rank-{r}").read_text() for r in (0, 2, 3) if (tmp_path / f"rank-{r}").exists()
    ]
    assert said  # one of them ends the job
    for line in said:
        seconds, _, words = line.partition(" ")
        assert DEADLINE_S <= float(seconds) < DEADLINE_S + SLOW_S
        assert re.fullmatch(
            r"rank [023]: .*(data from|data not taken by) 1(;.*)? after \d+\.\d s", words
        )


@pytest.mark.openmpi
def test_a_c_program_leaves_nothing(ends: Path, tmp_path: Path) -> None:
    ended = run_program(ends, "right", folder=tmp_path)
    assert (ended.status, ended.err, ended.out) == (0, "", "right\n")


@pytest.mark.openmpi
@pytest.mark.parametrize("how", ["stops", "dies"])
def test_a_c_program_that_loses_a_rank(ends: Path, tmp_path: Path, how: str) -> None:
    ended = run_program(ends, how, folder=tmp_path)
    lost = re.search(r"lost at ([\d.]+)", ended.out)
    assert lost
    assert time.monotonic() - float(lost[1]) < SLOW_S
    assert ended.status != 0
    assert not ended.timed_out
    said = re.findall(r"^timeout: (.*)$", ended.err, re.MULTILINE)
    assert bool(said) == (how == "stops")
    for line in said:
        assert re.search(r"(data from|data not taken by) 1\b", line)
