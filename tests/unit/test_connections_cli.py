"""connections on the command line.

Routers, objectives, bandwidths, linkage and guarantees, exit codes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conset.cli import main as conset_main


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = conset_main.run(words)
    out, err = capsys.readouterr()
    return code, out, err


def objects(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_compile_verify_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "a.json")
    words = ("alltoall", "--on", "iwarp:4x4", "--router", "orbits", "--objective", "phases")
    compiled = objects(capsys, "compile", *words, "-o", path)
    assert compiled["method"] == "connections"
    assert compiled["verified"]
    # 15 displacements of 47 channels in all: 4 phases of 12
    assert compiled["phases"] == compiled["bound"]["phases"] == 4
    assert compiled["guaranteed"]["bandwidth_Bps"] == pytest.approx(10e6)
    assert objects(capsys, "verify", path)["ok"]
    shown = objects(capsys, "show", path, "--linkage", "3", "--guarantees")
    assert {row["node"] for row in shown["linkage"]} == {3}
    assert len(shown["linkage"]) == 47
    assert len(shown["guarantees"]) == 240
    code, out, _ = run(capsys, "show", path, "--linkage", "3")
    assert code == 0
    assert "linkage of node 3 (0, 3): 47 channels in use over 4 phases" in out
    code, out, _ = run(capsys, "show", path, "--linkage", "all", "--guarantees")
    assert code == 0
    assert "720 more rows" in out
    assert "10 MB/s" in out


def test_the_same_words_give_the_same_bytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("a.json", "b.json"):
        run(
            capsys,
            "compile",
            "random:degree=4",
            "--on",
            "iwarp:4x4",
            "--method",
            "connections",
            "-o",
            str(tmp_path / name),
        )
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("--router", "orbit"), 2, "unknown router 'orbit': did you mean 'orbits'?"),
        (
            ("--router", "orbits", "--method", "rs-n"),
            2,
            "--router orbits: is for method connections, given rs-n",
        ),
        (("--objective", "fast"), 2, "unknown objective 'fast'"),
        (("--min-bandwidth", "fast"), 2, "--min-bandwidth 'fast'"),
        (("--min-bandwidth", "none.csv"), 3, "none.csv"),
        (
            ("--min-bandwidth", "50MB/s"),
            5,
            "message 0 (rank 0 → 1): a bandwidth of 50 MB/s is asked for, at most 40 MB/s",
        ),
        (
            ("--router", "closed-form", "--channels", "4"),
            3,
            "router closed-form requires 5 channels a node, given 4",
        ),
    ],
)
def test_one_line_and_the_right_code(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, line: str
) -> None:
    found, out, err = run(capsys, "compile", "alltoall", "--on", "iwarp:8x8", *words)
    assert (found, out) == (code, "")
    assert line in err
    assert err.count("\n") == 1


def test_linkage_of_what_has_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "a.json")
    run(capsys, "compile", "neighbor", "--on", "torus:4x4", "--method", "first-fit", "-o", path)
    assert run(capsys, "show", path, "--linkage", "1")[0] == 3
    assert run(capsys, "show", path, "--linkage", "one")[0] == 2
    assert run(capsys, "show", "torus:4x4", "--linkage", "1")[0] == 2
