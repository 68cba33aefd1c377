"""`conset bound` and `conset predict`: the words in, one JSON object or text out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from conset.base.errors import InputError, UsageError
from conset.cli import bound, predict
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.schedule.files.compiled import write_compiled
from conset.schedule.schedule import Schedule


def invoke(command: Callable[..., None], *words: str) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command)
    result = CliRunner().invoke(app, list(words))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def schedule_file(tmp_path: Path) -> Path:
    """Two messages over the middle of a line, in a phase each."""
    pattern = Pattern.from_messages([0, 1], [2, 3], [10_000, 10_000], 4)
    machine = parse_machine("paragon:1x4")
    schedule = Schedule(
        pattern, machine, "first-fit", Limits(1, 1, 1), np.array([0, 1, 2]), np.array([0, 1])
    )
    path = tmp_path / "line.json"
    write_compiled(schedule, path)
    return path


def test_bound_prints_witness_and_all_candidates() -> None:
    text = invoke(bound.command, "alltoall", "--on", "mesh:4x4").stdout
    assert "phases  at least 16: link 1 (0, 1) → 2 (0, 2) carries 16 messages at 1 a phase" in text
    for name in (
        "port degree",
        "link load",
        "port time",
        "link time",
    ):
        assert name in text
    first, *_ = (line for line in text.splitlines() if "at least" in line)
    assert first.startswith("  time    at least 1.755 us"), "the time of any schedule comes first"
    assert "at least 138.8 us" in text, "that of barriers is a stricter class"


def test_bound_as_an_object() -> None:
    body = json.loads(
        invoke(bound.command, "alltoall", "--on", "mesh:4x4", "--contention", "4", "--json").stdout
    )
    assert body["schema"] == "conset/bound@1"
    keys = {"phases", "phases_witness", "phases_class", "time_s", "time_witness", "time_class"}
    keys |= {"load_sum", "load_sum_witness", "load_sum_class"}
    assert set(body["bound"]) == keys
    assert {key: body[key] for key in keys} == body["bound"]
    assert body["phases"] == 15, "the ports decide where links take 4"
    assert (body["limits"]["link"], body["sync"]) == (4, "barrier")
    (strict,) = body["classes"]
    assert strict["time_s"] > body["time_s"], "barriers take longer than any schedule must"
    assert body["manifest"]["command"].startswith("conset bound alltoall --on mesh:4x4")
    assert {c["what"] for c in body["candidates"]} == {"phases", "time", "load"}


def test_bound_of_free_routes_and_channels() -> None:
    limits = "send=none,receive=none,link=none,channels=12"
    words = ("alltoall", "--on", "torus:8x8", "--routes", "free", "--limits", limits, "--json")
    assert json.loads(invoke(bound.command, *words).stdout)["phases"] == 27


def test_bound_of_one_phase_needs_no_barrier() -> None:
    body = json.loads(
        invoke(bound.command, "alltoall", "--on", "mesh:4x4", "--method", "naive", "--json").stdout
    )
    assert (body["phases"], body["sync"]) == (1, "none")


def test_bound_refuses_unknown_words() -> None:
    with pytest.raises(UsageError, match="unknown routes"):
        invoke(bound.command, "alltoall", "--on", "mesh:4x4", "--routes", "fixd")
    with pytest.raises(UsageError, match="unknown method"):
        invoke(bound.command, "alltoall", "--on", "mesh:4x4", "--method", "fristfit")


def test_predict_prints_terms_and_formula(schedule_file: Path) -> None:
    text = invoke(predict.command, str(schedule_file)).stdout
    assert "under sync barrier" in text
    assert "synchronization" in text
    assert "port out of node" in text
    assert "for every phase: synchronization + set-up" in text


def test_predict_as_an_object(schedule_file: Path) -> None:
    """003: 231 us + 0.022 us/B, 0.04 us a hop.

    Barriers of 137 · log2(4) - 134 = 140 us, before both phases.
    """
    body = json.loads(invoke(predict.command, str(schedule_file), "--json").stdout)
    assert body["schema"] == "conset/predict@1"
    assert body["machine"] == "paragon:1x4"
    assert body["phase_s"] == pytest.approx([591.08e-6, 591.08e-6])
    assert body["terms"] == pytest.approx(
        {"synchronization": 280e-6, "setup": 0, "transfer": 902.16e-6}
    )
    assert body["time_s"] == pytest.approx(1182.16e-6)
    assert (body["sync"], body["warnings"]) == ("barrier", [])
    assert body["manifest"]["command"] == "conset predict line.json"


def test_predict_what_if(schedule_file: Path) -> None:
    words = ("--sync", "none", "--set", "overhead=31us", "--json")
    assert json.loads(invoke(predict.command, str(schedule_file), *words).stdout)[
        "time_s"
    ] == pytest.approx(251.08e-6)
    free = ("--set", "synchronization=0", "--json")
    assert json.loads(invoke(predict.command, str(schedule_file), *free).stdout)[
        "time_s"
    ] == pytest.approx(902.16e-6)


def test_predict_on_another_machine(schedule_file: Path) -> None:
    body = json.loads(
        invoke(predict.command, str(schedule_file), "--on", "delta:2x2", "--json").stdout
    )
    assert body["machine"] == "delta:2x2"
    assert any("barrier is unknown" in line for line in body["warnings"])
    assert "warning" in invoke(predict.command, str(schedule_file), "--on", "delta:2x2").stdout
    with pytest.raises(InputError, match="mesh:1x2 has 2 endpoints"):
        invoke(predict.command, str(schedule_file), "--on", "mesh:1x2")
