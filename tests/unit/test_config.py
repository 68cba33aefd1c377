"""`conset config`: what it prints, and that it says where nothing is installed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from conset.base import VERSION
from conset.cli.config import LIBRARY
from conset.cli.main import run


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editable install: the sources lie elsewhere."""
    folder = tmp_path / "site packages" / "conset"
    for name in ("include/conset.h", f"lib/{LIBRARY}"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    monkeypatch.setattr(
        "conset.cli.config.search_folders", lambda: [tmp_path / "src" / "conset", folder]
    )
    return folder


def test_flags_are_one_line_for_a_shell(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "--cflags", "--libs"]) == 0
    lib = prefix / "lib"
    flags = [f"-I{prefix / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}", "-lconset"]
    assert shlex.split(capsys.readouterr().out) == flags
    assert run(["config", "--version"]) == 0
    assert capsys.readouterr().out == f"{VERSION}\n"


def test_everything_is_told_where_nothing_is_asked(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config"]) == 0
    shown = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert shown["prefix"] == str(prefix)
    assert shown["cmake"] == str(prefix / "lib/cmake/conset")
    assert shown["pkg-config"] == str(prefix / "lib/pkgconfig")
    assert run(["config", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["schema"], body["prefix"]) == ("conset/config@1", str(prefix))


def test_where_it_is_not_installed_one_line_says_so(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (prefix / "include/conset.h").unlink()
    assert run(["config", "--libs"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(
        "conset: conset.h and libconset.so are not installed with this package"
    )
    assert captured.err.count("\n") == 1
