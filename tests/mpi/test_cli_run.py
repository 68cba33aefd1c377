"""`conset run` as people and scripts call it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.schedule.files.compiled import write_compiled
from conset.schedule.schedule import Schedule

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

KEYS = (
    "ranks",
    "mpi",
    "sync",
    "median_s",
    "min_s",
    "naive_median_s",
    "alltoallv_median_s",
    "neighbor_alltoallv_median_s",
    "bytes_checked",
    "mismatches",
)
"""The keys that the design fixes."""


def test_json_is_one_object(
    schedule: Schedule, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_compiled(schedule, tmp_path / "s.json")
    assert (
        run(["run", str(tmp_path / "s.json"), "--sync", "barrier:2", "--repeat", "2", "--json"])
        == 0
    )
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["schema"] == "conset/run@1"
    assert set(KEYS) <= set(found)
    assert (found["ranks"], found["sync"], found["mismatches"]) == (4, "barrier:2", 0)
    assert found["manifest"]["command"] == "conset run s.json --sync barrier:2 --repeat 2"
    shown = "the naive exchange is usually fastest here" in captured.err
    assert shown == (found["ratio_to_naive"]["schedule"]["high"] >= 1)


def test_sends_in_flight_are_those_of_the_schedule(
    schedule: Schedule, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.json"
    write_compiled(replace(schedule, in_flight=2), file)
    for words, found, said in (
        ([], 2, " --in-flight 2"),
        (["--in-flight", "all"], "all", " --in-flight all"),
    ):
        assert run(["run", str(file), "--repeat", "1", "--json", *words]) == 0
        result = json.loads(capsys.readouterr().out)
        assert (result["in_flight"], result["mismatches"]) == (found, 0)
        assert result["manifest"]["command"] == "conset run s.json --sync barrier --repeat 1" + said


def test_a_schedule_that_does_not_verify_is_not_run(
    schedule: Schedule, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.json"
    write_compiled(schedule, file)
    edited = json.loads(file.read_text())
    edited["phases"][0].pop()
    file.write_text(json.dumps(edited))
    # a launcher that would fail in another way if it were reached
    assert run(["run", str(file), "--mpiexec", "false"]) == 4
    assert "does not verify" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--sync", "barier"], 2, "did you mean 'barrier'"),
        (["--repeat", "0"], 2, "--repeat"),
        (["--mpiexec", "no-such-launcher"], 2, "no-such-launcher"),
    ],
)
def test_wrong_words(
    schedule: Schedule,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    text: str,
) -> None:
    write_compiled(schedule, tmp_path / "s.json")
    assert run(["run", str(tmp_path / "s.json"), *words]) == code
    assert text in capsys.readouterr().err
    assert run(["run", str(tmp_path / "missing.json")]) == 3
