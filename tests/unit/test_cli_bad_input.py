"""Bad input gets one line, the right exit code, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conset.cli.main import run

MESH = ["--on", "mesh:4x4"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files with something wrong in each; the test runs inside it."""
    (tmp_path / "empty.csv").touch()
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "truncated.mtx").write_text(
        "%%MatrixMarket matrix coordinate integer general\n4 4 3\n1 2 5\n"
    )
    (tmp_path / "truncated.pack").write_text("75 3\n192 4\n4\n4\n27 27 12\n")
    (tmp_path / "truncated.npz").write_bytes(b"PK\x03\x04 half of it")
    (tmp_path / "rectangular.mtx").write_text(
        "%%MatrixMarket matrix coordinate integer general\n4 5 1\n1 2 5\n"
    )
    (tmp_path / "rectangular.csv").write_text("0,1,2\n3,0,4\n")
    (tmp_path / "negative.csv").write_text("source,target,bytes\n0,1,5\n1,2,-7\n")
    (tmp_path / "nan.csv").write_text("source,target,bytes\n0,1,nan\n")
    (tmp_path / "overflow.csv").write_text("source,target,bytes\n0,1,99999999999999999999\n")
    (tmp_path / "range.csv").write_text("source,target,bytes\n0,1,5\n0,99,5\n")
    (tmp_path / "cyclic.csv").write_text("source,target,bytes,after\n0,1,5,1\n1,2,5,2\n2,0,5,0\n")
    np.savez(tmp_path / "negative.npz", matrix=np.array([[0, -1], [1, 0]]))
    machine = 'name = "m"\n[network]\nkind = "mesh"\nsides = [4, 4]\n[costs]\n'
    (tmp_path / "misspelt.toml").write_text(machine + 'overhed = "2 us"\n')
    (tmp_path / "unit.toml").write_text(machine + 'link = "25 parsecs"\n')
    (tmp_path / "bandwidth.toml").write_text(machine + 'link = "-25 GB/s"\n')
    (tmp_path / "broken.toml").write_text('name = "m"\n[network\n')
    (tmp_path / "apart.edges").write_text("0 1\n2 3\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


CASES = [
    (["compile", "missing.csv", *MESH], 3, ["missing.csv", "no such file"]),
    (["compile", "empty.csv", *MESH], 3, ["empty.csv", "empty"]),
    (["compile", "folder.csv", *MESH], 3, ["folder.csv", "directory"]),
    (["compile", "truncated.mtx", *MESH], 3, ["truncated.mtx"]),
    (["compile", "truncated.pack", *MESH], 3, ["truncated.pack"]),
    (["compile", "truncated.npz", *MESH], 3, ["truncated.npz"]),
    (["compile", "rectangular.mtx", *MESH], 3, ["rectangular.mtx", "4", "5"]),
    (["compile", "rectangular.csv", *MESH], 3, ["rectangular.csv", "2", "3"]),
    (["compile", "negative.csv", *MESH], 3, ["negative.csv", "-7"]),
    (["compile", "negative.npz", *MESH], 3, ["negative.npz", "-1"]),
    (["compile", "nan.csv", *MESH], 3, ["nan.csv", "nan"]),
    (["compile", "overflow.csv", *MESH], 3, ["overflow.csv", "99999999999999999999"]),
    (["compile", "range.csv", "--on", "mesh:4x4"], 3, ["99"]),
    (["compile", "cyclic.csv", *MESH], 3, ["cyclic"]),
    (["compile", "alltoall:ranks=20", *MESH], 3, ["20", "16", "--ranks-per-node"]),
    (["compile", "alltoal", *MESH], 2, ["alltoal", "did you mean 'alltoall'?"]),
    (["compile", "alltoall", "--on", "mehs:4x4"], 2, ["did you mean 'mesh'?"]),
    (["compile", "alltoall", "--on", "mesh:0x4"], 2, ["mesh:0x4"]),
    (["compile", "alltoall", "--on", "mesh:4x4,tei=plus"], 2, ["did you mean 'tie'?"]),
    (["compile", "alltoall:size=-4", *MESH], 2, ["-4"]),
    (["compile", "alltoall:sice=4", *MESH], 2, ["did you mean 'size'?"]),
    (["compile", "alltoall", *MESH, "--method", "colouring"], 2, ["did you mean 'coloring'?"]),
    (["compile", "alltoall", *MESH, "--metod", "lp"], 2, ["--metod", "--method"]),
    (["compile", "alltoall", *MESH, "--limits", "sent=1"], 2, ["did you mean 'send'?"]),
    (["compile", "alltoall", *MESH, "--limits", "send=0"], 2, ["send"]),
    (["compile", "alltoall", *MESH, "--sync", "barier"], 2, ["did you mean 'barrier'?"]),
    (["compile", "alltoall", *MESH, "--placement", "graye"], 2, ["did you mean 'gray'?"]),
    (["compile", "alltoall", *MESH, "-o", "x.pdf"], 2, [".pdf", ".json"]),
    (["compile", "alltoall", *MESH, "-o", "no/such/folder.json"], 3, ["no/such"]),
    (["compile", "alltoall:ranks=32", *MESH, "--method", "lp", "--ranks-per-node", "2"], 3, ["lp"]),
    (["compile", "transpose:ranks=8", *MESH], 3, ["8"]),
    (
        ["compile", "alltoall", *MESH, "--method", "coloring", "--contention", "2"],
        3,
        ["coloring", "link"],
    ),
    (
        ["compile", "alltoall", "--on", "misspelt.toml"],
        3,
        ["misspelt.toml", "did you mean 'overhead'?"],
    ),
    (["compile", "alltoall", "--on", "unit.toml"], 3, ["unit.toml", "parsecs"]),
    (["compile", "alltoall", "--on", "bandwidth.toml"], 3, ["bandwidth.toml", "-2.5e+10"]),
    (["compile", "alltoall", "--on", "broken.toml"], 3, ["broken.toml"]),
    (["compile", "alltoall", "--on", "apart.edges"], 3, ["disconnected", "0", "2"]),
    (["compile", "alltoall", "--on", "missing.toml"], 3, ["missing.toml", "no such file"]),
    (["verify", "missing.json"], 3, ["missing.json"]),
    (["verify", "truncated.npz"], 3, ["truncated.npz"]),
    (["compil", "alltoall", *MESH], 2, ["did you mean 'compile'?"]),
    (["compile", "alltoall"], 2, ["--on"]),
]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("words", "code", "parts"), CASES, ids=[" ".join(c[0]) for c in CASES])
def test_one_line_the_right_code_and_nothing_written(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    parts: list[str],
    as_json: bool,
) -> None:
    before = sorted(folder.rglob("*"))
    if "-o" not in words and words[0] == "compile":
        words = [*words, "-o", "out.json"]
    assert run([*words, "--json"] if as_json else words) == code
    out, err = capsys.readouterr()
    lines = err.strip().splitlines()
    assert len(lines) == 1, lines
    for part in parts:
        assert part in lines[0]
    assert sorted(folder.rglob("*")) == before
    if as_json:
        answer = json.loads(out)
        assert answer["schema"] == "conset/error@1"
        assert answer["exit"] == code
    else:
        assert out == ""


def test_an_edited_schedule_is_judged_with_all_its_violations(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compile", "alltoall", *MESH, "--method", "first-fit", "-o", "s.json"]) == 0
    edited = json.loads(Path("s.json").read_text())
    edited["phases"][0].append(edited["phases"][1].pop())
    edited["figures"]["phase_bytes"] += 1
    Path("s.json").write_text(json.dumps(edited))
    capsys.readouterr()
    assert run(["verify", "s.json", "--json"]) == 4
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ok"]
    assert {v["rule"] for v in answer["violations"]} >= {"figures"}
    assert any(v["phase"] == 0 for v in answer["violations"])


def test_a_compile_that_fails_late_keeps_the_old_file(folder: Path) -> None:
    assert run(["compile", "alltoall", *MESH, "-o", "s.json"]) == 0
    old = Path("s.json").read_bytes()
    assert run(["compile", "cyclic.csv", *MESH, "-o", "s.json"]) == 3
    assert Path("s.json").read_bytes() == old
