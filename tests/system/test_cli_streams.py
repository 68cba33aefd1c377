"""What goes out: closed, full or left by its reader, and what third parties would print there."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import InputError
from conset.base.files import replacing
from conset.cli.main import run
from conset.pattern.readers.partition import Graph, partition_graph

SOURCE = Path(conset.__file__).parents[1]
RUN = [sys.executable, "-c", "from conset.cli.main import main; main()"]
FULL = Path("/dev/full")


def environment() -> dict[str, str]:
    """The tests' own, with the sources under test."""
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """A folder with a schedule that verifies and one that does not; the test runs inside it."""
    monkeypatch.chdir(tmp_path)
    assert (
        run(
            ["compile", "alltoall", "--on", "mesh:4x4", "--method", "first-fit", "-o", "right.json"]
        )
        == 0
    )
    wrong = json.loads(Path("right.json").read_text())
    wrong["phases"][0].append(wrong["phases"][1].pop())
    Path("wrong.json").write_text(json.dumps(wrong))
    capsys.readouterr()
    return tmp_path


def ran(words: list[str], redirect: str) -> subprocess.CompletedProcess[str]:
    """The command under a shell's redirections.

    `-` after the words of Python keeps them apart from the command's.
    """
    line = f'"$0" "$@" {redirect}'
    return subprocess.run(
        ["/bin/sh", "-c", line, *RUN, *words],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )


@pytest.mark.parametrize(("file", "code"), [("right.json", 0), ("wrong.json", 4)])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_keeps_the_verdict(
    folder: Path, file: str, code: int, options: list[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*RUN, "verify", file, *options],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
    finally:
        os.close(writing)
    assert ended.returncode == code
    assert "internal error" not in ended.stderr
    assert "Broken pipe" not in ended.stderr


def test_a_reader_that_leaves_does_not_end_what_is_written(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [
        "compile",
        "alltoall",
        "--on",
        "mesh:3x3",
        "--method",
        "first-fit",
        "--json",
        "-o",
        "o.json",
    ]
    ended = subprocess.run(
        [*RUN, *words], stdout=writing, stderr=subprocess.PIPE, text=True, env=environment()
    )
    os.close(writing)
    assert ended.returncode == 0
    assert Path("o.json").is_file()


@pytest.mark.parametrize(
    ("file", "redirect", "code"),
    [
        ("right.json", ">&-", 0),
        ("wrong.json", ">&-", 4),
        ("right.json", ">&- 2>&- <&-", 0),
        ("none.json", "2>&-", 3),
        ("none.json", "2>/dev/full", 3),
    ],
)
def test_a_closed_output_is_nobodys(folder: Path, file: str, redirect: str, code: int) -> None:
    if "/dev/full" in redirect and not FULL.exists():
        pytest.skip("no /dev/full here")
    assert ran(["verify", file], redirect).returncode == code


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize(("file", "code"), [("right.json", 3), ("wrong.json", 4)])
def test_a_full_disk_behind_stdout_is_one_line(folder: Path, file: str, code: int) -> None:
    ended = ran(["verify", file], ">/dev/full")
    assert ended.returncode == code
    assert "conset: standard output: cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["compile", "alltoall", "--on", "mesh:8x8", "--method", "first-fit", "-o", "o.json"],
        ["compile", "random:degree=63", "--on", "mesh:8x8", "--method", "first-fit", "-o", "o.npz"],
        ["show", "mesh:4x4", "-o", "o.svg"],
        ["show", "mesh:4x4", "-o", "o.png"],
        ["show", "mesh:4x4", "-o", "o.html"],
        ["simulate", "right.json", "-o", "o.json"],
        ["compare", "alltoall", "--on", "mesh:2x2", "--methods", "naive,lp", "-o", "o.md"],
    ],
)
@pytest.mark.parametrize("most_B", [0, 100])
def test_a_limit_of_file_sizes_is_one_line_and_leaves_nothing(
    folder: Path, words: list[str], most_B: int
) -> None:
    before = sorted(folder.iterdir())
    ended = subprocess.run(
        [*RUN, *words],
        capture_output=True,
        text=True,
        # bytecode that is cut off would be read by others
        env=environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_B, most_B)),
    )
    assert ended.returncode == 3
    assert ended.stderr == f"conset: {words[-1]}: cannot be written: File too large\n"
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "o.json"

    def write() -> None:
        with replacing(path), FULL.open("w") as full:
            full.write("x")
            full.flush()

    with pytest.raises(InputError, match=r"o\.json: cannot be written: No space left on device"):
        write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("make", "rule"), [(os.mkfifo, "is a device or a pipe"), (os.mkdir, "is a directory")]
)
def test_only_files_are_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None], rule: str
) -> None:
    path = tmp_path / "o.json"
    make(path)
    assert run(["compile", "alltoall", "--on", "mesh:2x2", "-o", str(path)]) == 3
    assert rule in capsys.readouterr().err
    assert not path.is_file()


def test_metis_works_silently(capfd: pytest.CaptureFixture[str]) -> None:
    """It prints `***Cannot bisect a graph with 0 vertices!` where weights are uneven and parts
    small."""
    graph = Graph(np.zeros(40, np.int64), np.zeros(0, np.int64), np.zeros(39, np.int64))
    os.write(1, b"before\n")
    part = partition_graph(graph, 13, 0, "x")
    os.write(1, b"after\n")
    assert part.size == 39
    assert capfd.readouterr() == ("before\nafter\n", "")
