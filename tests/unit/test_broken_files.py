"""Files that others broke: what `verify` says of each, and that no command ends in an exception."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conset.cli.main import run

WRONG = {
    "tt0": {"timetable-length"},
    "cyc": {"pattern", "timetable-length"},
    "big": {"pattern"},
    "nowrap_verify_ok_predict_refuses": {"route-link"},
    "verify_indexerror_route_node": {"message-bytes", "route-node"},
    "verify_overflowerror_c2": {"route-node"},
    "c1": {"route-node"},
    "eqdup": {"message-bytes", "send", "receive"},
    "verify_indexerror": {"message-bytes"},
}


@pytest.fixture
def broken(shared_data: Path) -> Path:
    folder = shared_data / "broken"
    if not folder.is_dir():
        pytest.skip("no broken files beside the checkout")
    return folder


def test_a_program_whose_bytes_wrapped(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is of a form of before stages held their schedules.

    What is wrong with it is said of today's form.
    """
    assert run(["verify", str(broken / "pwrap.json")]) == 3
    assert "program: unknown key 'blocks'" in capsys.readouterr().err
    found = json.loads((broken / "pwrap.json").read_text())
    blocks, contexts, schedules = (found.pop(key) for key in ("blocks", "contexts", "schedules"))
    first = [[block["schedule"] for block in blocks].index(k) for k in range(len(schedules))]
    for k, block in enumerate(blocks):
        own = block["schedule"]
        if first[own] == k:
            block |= {"contexts": contexts[own], "schedule": schedules[own]}
        else:
            block["schedule"] = first[own]
    path = tmp_path / "wrapped.json"
    path.write_text(json.dumps({**found, "sync": "barrier", "stages": blocks}))
    assert run(["verify", str(path)]) == 4
    assert {"pattern", "program-stage"} <= {
        line.split(":")[0] for line in capsys.readouterr().out.splitlines()
    }
    assert run(["show", str(path)]) == 3
    assert run(["predict", str(path)]) == 3


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_file_is_told_by_its_rules(
    broken: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(broken / f"{name}.json")
    assert run(["verify", file]) == 4
    rules = {line.split(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert rules >= WRONG[name]
    assert run(["show", file]) in (0, 3)
    assert run(["predict", file]) in (0, 3)
    assert "internal error" not in "".join(capsys.readouterr())


def test_a_machine_that_is_a_path_is_not_opened(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("verify", "show", "predict"):
        assert run([command, str(broken / "m1.json")]) == 3
        assert "a file carries the whole object" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "predict", "simulate"])
def test_a_route_along_no_link_is_told_with_its_file(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    free = ["--method", "negotiated", "--routes", "free"]
    assert run(["compile", "alltoall", "--on", "torus:4x3", *free, "-o", str(path)]) == 0
    stated = json.loads(path.read_text())
    path.write_text(json.dumps({**stated, "machine": "torus:4x3,routing=no-wrap"}))
    capsys.readouterr()
    assert run([command, str(path)]) == 3
    line = capsys.readouterr().err
    assert line.startswith(f"conset: {path}: route: nodes ")
    assert line.endswith("are not joined by a link\n")
