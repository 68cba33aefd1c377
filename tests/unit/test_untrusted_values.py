"""Values in files that no product of ours writes: control characters, infinities, empty windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conset.base.errors import InputError, UsageError, printable, require_texts
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.machine.network.graph_files import read_graph
from conset.machine.spec import parse_machine


@pytest.fixture
def change(tmp_path: Path) -> Callable[[Callable[[Any], object]], Path]:
    """A schedule's file, changed."""
    path = tmp_path / "s.json"
    command = ["compile", "random:degree=3", "--on", "mesh:4x4", "--method", "event-list"]
    assert run([*command, "-o", str(path)]) == 0

    def changed(edit: Callable[[Any], object]) -> Path:
        found = json.loads(path.read_text())
        edit(found)
        path.write_text(json.dumps(found))
        return path

    return changed


@pytest.mark.parametrize("figure", ["Infinity", "1e999", "1.0000000005"])
def test_stated_figures_have_no_tolerance_where_loads_are_whole(
    change: Callable[[Callable[[Any], object]], Path], figure: str
) -> None:
    path = change(lambda found: found["figures"]["load"].update(link="HERE"))
    path.write_text(path.read_text().replace('"HERE"', figure))
    assert run(["verify", str(path)]) == (3 if figure == "Infinity" else 4)


def test_a_window_without_length_holds_no_bytes_however_late(
    change: Callable[[Callable[[Any], object]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = change(
        lambda found: found.update(
            timetable=[[[1e6, 1e6] for _ in phase] for phase in found["phases"]]
        )
    )
    assert run(["verify", str(path)]) == 4
    out = capsys.readouterr()
    assert "timetable-length" in out.out + out.err


@pytest.mark.parametrize("text", ["a\x1b]0;title\x07", "a\x00", "a\x9b31m", "\u202eabc"])
def test_texts_of_files_are_printable(
    change: Callable[[Callable[[Any], object]], Path], tmp_path: Path, text: str
) -> None:
    with pytest.raises(InputError, match="contains the control character 0x"):
        require_texts({"notes": ["fine", text]}, "m.toml")
    graph = tmp_path / "g.gml"
    graph.write_text(f'graph [ node [ id 0 label "{text}" ] node [ id 1 ] ]')
    with pytest.raises(InputError, match="control character"):
        read_graph(graph)
    for key in ("method", "manifest"):
        wrong = text if key == "method" else {"command": text}
        path = change(
            lambda found, key=key, wrong=wrong: found.update(
                {key: wrong if key == "method" else {**found[key], **wrong}}
            )
        )
        assert run(["verify", str(path)]) == 3
    assert printable(text).isprintable()


def test_names_are_bounded(
    change: Callable[[Callable[[Any], object]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = change(lambda found: found.update(method="m" * 5_000_000))
    capsys.readouterr()
    assert run(["report", str(path)]) == 3
    assert len(capsys.readouterr().err) < 300
    path = change(lambda found: found.update(method="lp", machine="mesh:5" + "x1" * 100_000))
    assert run(["verify", str(path)]) == 3
    assert "100001 of them, at most 32" in capsys.readouterr().err


def test_packets_without_number_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.json"
    command = ["compile", "shift:size=1000TB", "--on", "ring:5", "--method", "first-fit"]
    assert run([*command, "-o", str(path)]) == 0
    assert run(["simulate", str(path), "--model", "packet"]) == 3
    assert "packets of 1448 B, at most 1e+09" in capsys.readouterr().err


def test_an_unknown_sync_lists_what_the_option_takes() -> None:
    with pytest.raises(UsageError, match="known: auto, barrier"):
        CompileOptions(sync="always")


def test_unknown_option_of_a_network_lists_its_parameters() -> None:
    with pytest.raises(UsageError, match="known: ") as found:
        parse_machine("fat-tree:hosts=32")
    assert "'hop'" not in str(found.value)


def test_a_popularity_that_no_float_holds_is_the_least_one(
    recwarn: pytest.WarningsRecorder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bound", "moe:skew=1e300,tokens=64", "--on", "crossbar:8"]) == 0
    assert not recwarn.list
    assert capsys.readouterr().err == ""
