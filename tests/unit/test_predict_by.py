"""`predict`: by the machine's model, by another, by formula.

What stands in, and that the output says so.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conset import api
from conset.base.errors import InputError, NoScheduleError, UsageError
from conset.cli.main import run
from conset.models import predict
from conset.schedule.schedule import Schedule
from conset.studies import time_schedule


def schedule_of(on: str, pattern: str = "alltoall:size=9KiB", **options: Any) -> Schedule:
    return api.compile(pattern, on, **{"method": "lp", **options})


@pytest.mark.parametrize(
    "on", ["paragon:4x4", "ipsc860:16", "iwarp:4x4", "mesh:4x4", "crossbar:8,model=circuit"]
)
@pytest.mark.parametrize("sync", ["none", "local", "ready", "barrier", "barrier:4"])
def test_the_machines_model_decides_and_phases_and_terms_add_up(on: str, sync: str) -> None:
    schedule = replace(schedule_of(on), sync=sync)
    timing = time_schedule(schedule)
    model = schedule.machine.costs.model
    timeline = api.simulate(schedule, model=model)
    assert (timing.by, timing.time_s, timing.stands_in) == (model, timeline.time_s, "")
    assert timing.phase_s.shape == (schedule.phases,)
    assert timing.phase_s.min() >= 0
    np.testing.assert_allclose(np.cumsum(timing.phase_s), timeline.phase_end_s)
    assert sum(timing.terms.values()) == pytest.approx(timing.time_s)
    assert timing.terms["synchronization"] == predict(schedule).terms["synchronization"]
    assert min(timing.terms.values()) >= 0


def test_by_formula_is_the_prediction() -> None:
    schedule = schedule_of("paragon:4x4")
    said, formula = time_schedule(schedule, by="formula").to_object(), predict(schedule).to_object()
    assert {key: said[key] for key in formula} == formula
    assert (said["by"], said["formula_s"], said["stands_in"]) == (
        "formula",
        formula["time_s"],
        None,
    )


def test_sends_in_flight_of_the_schedule_and_another_machine_count() -> None:
    schedule = replace(schedule_of("paragon:4x4"), sync="none", in_flight=1)
    assert (
        time_schedule(schedule).time_s
        == api.simulate(schedule, model="wormhole", in_flight=1).time_s
    )
    assert time_schedule(schedule).time_s > time_schedule(replace(schedule, in_flight=3)).time_s
    bare = api.load_machine("mesh:4x4")
    moved = time_schedule(schedule, machine=bare)
    assert (moved.by, moved.prediction.machine) == ("flow", "mesh:4x4")
    assert moved.time_s == api.simulate(schedule, bare, model="flow").time_s


def test_nothing_is_sent_in_no_time() -> None:
    timing = time_schedule(schedule_of("paragon:1x1", "alltoall", method="naive"))
    assert (timing.time_s, timing.phase_s.sum()) == (0.0, 0.0)


def test_the_formula_stands_in_for_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = schedule_of("paragon:4x4")  # 240 messages
    monkeypatch.setattr("conset.studies.times.WORK", 100)
    timing = time_schedule(schedule)
    assert (timing.by, timing.time_s) == ("formula", predict(schedule).time_s)
    assert timing.stands_in.startswith(
        "the formula is used instead of wormhole, which takes more than 100 steps"
    )
    assert time_schedule(schedule, by="wormhole").by == "wormhole"
    monkeypatch.setattr("conset.compilation.trial.MAX_MESSAGES", {"wormhole": 200})
    monkeypatch.setattr("conset.studies.times.MAX_MESSAGES", {"wormhole": 200})
    timing = time_schedule(schedule)
    reason = "the formula is used instead of wormhole above 200 messages, given 240"
    assert timing.stands_in == reason
    assert timing.to_object()["stands_in"] == timing.stands_in


def test_the_formula_stands_in_for_what_cannot_run_unless_the_model_was_asked_for() -> None:
    crowded = schedule_of("paragon:14x14", "alltoall", method="naive")
    timing = time_schedule(crowded)
    assert timing.by == "formula"
    assert "by which it cannot run: " in timing.stands_in
    assert "195 receives posted" in timing.stands_in
    with pytest.raises(InputError, match="195 receives posted"):
        time_schedule(crowded, by="wormhole")
    ring = schedule_of("torus:8x8", "alltoall", method="naive")
    with pytest.raises(NoScheduleError, match="deadlock"):
        time_schedule(ring, by="circuit")
    with pytest.raises(UsageError, match="did you mean 'flow'"):
        time_schedule(ring, by="flwo")


def test_the_command_says_by_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.json"
    assert (
        run(
            [
                "compile",
                "alltoall:size=9KiB",
                "--on",
                "paragon:4x4",
                "--method",
                "lp",
                "--sync",
                "barrier",
                "-o",
                str(file),
            ]
        )
        == 0
    )
    capsys.readouterr()
    found = {}
    for by in (None, "formula", "flow", "wormhole", "circuit"):
        options = [] if by is None else ["--by", by]
        assert run(["predict", str(file), "--json", *options]) == 0
        captured = capsys.readouterr()
        found[by] = json.loads(captured.out)
        assert found[by]["schema"] == "conset/predict@1"
        assert found[by]["by"] == (by or "wormhole")
        assert f" by {by or 'wormhole'} on paragon:4x4 under sync barrier" in captured.err
        assert set(found[by]["terms"]) == {"synchronization", "setup", "transfer"}
        assert len(found[by]["phase_s"]) == 15
    assert found[None]["time_s"] == found["wormhole"]["time_s"]
    assert found["formula"]["time_s"] == found["wormhole"]["formula_s"]
    assert found["flow"]["manifest"]["command"] == "conset predict s.json --by flow"
    assert run(["predict", str(file), "--by", "flwo"]) == 2
    assert "did you mean 'flow'" in capsys.readouterr().err


def test_a_program_is_predicted_by_formula_and_by_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two repetitions in one context.

    The formula adds them up, in a model the second does not wait for the first.
    """
    words = tmp_path / "p.toml"
    words.write_text(
        '[[block]]\nname = "a"\npattern = "shift:by=1"\nrepeat = 2\n', encoding="utf-8"
    )
    file = tmp_path / "p.json"
    assert run(["compile", str(words), "--on", "mesh:2x2", "-o", str(file)]) == 0
    capsys.readouterr()
    found = {}
    for options in ([], ["--by", "flow"]):
        assert run(["predict", str(file), "--json", *options]) == 0
        said = json.loads(capsys.readouterr().out)
        found[said["by"]] = said["time_s"]
    assert list(found) == ["formula", "flow"]
    assert found["formula"] / 2 <= found["flow"] < found["formula"]
    assert run(["predict", str(file), "--sync", "local"]) == 2
    assert "--by names a model" in capsys.readouterr().err
    assert run(["predict", str(file), "--sync", "local", "--by", "flow"]) == 0
