"""`simulate --check` and `verify` of a timeline's file.

What they say of right and of edited timelines.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import conset
from conset.cli.main import run
from conset.models.table import MODELS
from conset.models.timeline import write_timeline


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    schedule = conset.compile("alltoall", "mesh:2x3", method="first-fit", sync="barrier")
    conset.write(schedule, tmp_path / "s.json")
    (tmp_path / "t.csv").write_text(
        "id,time,src,dst,bytes,deps\n0,0,0,3,160,\n1,2.5,1,2,320,0\n2,0,2,2,64,0;1\n"
    )
    return tmp_path


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize(
    "what", ["s.json", "t.csv --on mesh:2x3", "s.json --on paragon:2x3 --sync local"]
)
def test_what_is_simulated_is_possible(
    folder: Path, model: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", *what.split(), "--model", model, "--check", "--json", "-o", "x.npz"]
    if model == "connections" and "local" in what:
        assert run(words) == 2
        assert "sync must be barrier, is local" in capsys.readouterr().err
        return
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["check"] == {
        "ok": True,
        "violations": [],
        "rates": model not in ("flit", "connections", "packet"),
        "unchecked": ["events", "figures", "method"],
    }
    assert run(["verify", "x.npz"]) == 0
    bounds = (
        "policies and bounds hold; rates were not kept"
        if model == "packet"
        else "policies, bounds and "
    )
    assert capsys.readouterr().out.startswith(f"x.npz: ok, starts, deliveries, {bounds}")


def test_worms_cut_into_packets_are_possible(folder: Path) -> None:
    assert run(["simulate", "s.json", "--model", "flit", "--packet", "64", "--check"]) == 0


def test_what_if_is_checked_as_if(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file says that barriers were free."""
    assert run(["simulate", "s.json", "--set", "synchronization=0", "-o", "x.json"]) == 0
    assert run(["verify", "x.json"]) == 0
    body = json.loads((folder / "x.json").read_text())
    (folder / "x.json").write_text(json.dumps(body | {"changed": None}))
    assert run(["verify", "x.json"]) == 0  # the machine itself says so
    (folder / "x.json").write_text(
        json.dumps(body | {"changed": None, "machine_spec": body["machine_spec"]["name"]})
    )
    assert run(["verify", "x.json"]) == 4
    assert "policy: message " in capsys.readouterr().out


def test_an_edited_timeline_is_found_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "s.json", "-o", "x.json"]) == 0
    body = json.loads((folder / "x.json").read_text())
    body["end_s"][0] = 1e-9
    (folder / "x.json").write_text(json.dumps(body))
    capsys.readouterr()
    assert run(["verify", "x.json", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["ok"]) == ("conset/verify@1", False)
    assert found["violations"][0]["rule"] == "latency"
    assert run(["verify", "x.json"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("conset: x.json: 4 violations")


def test_a_file_that_says_too_little_cannot_be_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_timeline(conset.simulate(conset.read("s.json")), "x.json")
    assert run(["verify", "x.json"]) == 3
    assert (
        "x.json: the timeline cannot be checked: it does not say its machine"
        in capsys.readouterr().err
    )
    assert run(["verify", "x.json", "--window", "2"]) == 2
