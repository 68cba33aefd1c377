"""`show`, `compare`, `methods` and `doctor` as typed.

What they print, what they refuse, what they write.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from conset.base.errors import ConsetError, InputError
from conset.cli import compare, doctor, methods, show
from conset.cli.inputs import spell_options
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.machine.spec import parse_machine
from conset.methods.phases.table import table
from conset.pattern.spec import parse_pattern
from conset.schedule.files.compiled import write_compiled
from conset.studies.compare.comparison import compare as compare_methods

COMMANDS = {"show": show, "compare": compare, "methods": methods, "doctor": doctor}


class Ran:
    """One command as typed; errors of the tree stay exceptions, as `conset.cli.main` takes them."""

    def __init__(self, words: str) -> None:
        name, *arguments = words.split()
        app = typer.Typer()
        app.command()(COMMANDS[name].command)
        result = CliRunner().invoke(app, arguments)
        if isinstance(result.exception, ConsetError):
            raise result.exception
        assert result.exit_code == 0, result.output
        self.out = result.stdout

    @property
    def object(self) -> Any:
        """The one object on stdout."""
        return json.loads(self.out)


@pytest.fixture(scope="module")
def schedule_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    machine = parse_machine("mesh:2x3")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    path = tmp_path_factory.mktemp("schedules") / "s.json"
    schedule = compile_pattern(pattern, machine, CompileOptions(method="first-fit"))
    write_compiled(schedule, path)
    write_compiled(schedule, path.with_suffix(".npz"))
    return path


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_a_schedule_is_known_by_its_file(schedule_file: Path, suffix: str) -> None:
    shown = Ran(f"show {schedule_file.with_suffix(suffix)} --json --phase 1 --partners").object
    assert (shown["schema"], shown["kind"], shown["method"]) == (
        "conset/show@1",
        "schedule",
        "first-fit",
    )
    per_phase = shown["per_phase"]
    assert sum(per_phase["transfers"]) == 30
    assert sum(per_phase["bytes"]) == shown["pattern"]["bytes"] == 30 * 1024
    assert max(per_phase["link"]) == shown["load"]["link"] == 1
    phase = shown["shown_phase"]
    for (source, target, _, _), route in zip(phase["transfers"], phase["routes"], strict=True):
        assert (route[0], route[-1]) == (source, target)
        out, into = shown["partners"][source][1], shown["partners"][target][1]
        assert target in out["to"]
        assert source in into["from"]
    assert sum(link["load"] for link in phase["links"]) == sum(
        len(route) - 1 for route in phase["routes"]
    )
    assert "compile_s" not in shown


def test_a_pattern_archive_is_no_schedule(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    np.savez(path, matrix=np.array([[0, 5], [7, 0]]))
    shown = Ran(f"show {path} --json").object
    assert (shown["kind"], shown["messages"], shown["bytes"]) == ("pattern", 2, 12)


@pytest.mark.parametrize(
    ("words", "kind", "key", "value"),
    [
        ("show torus:4x4", "machine", "name", "torus:4x4"),
        ("show paragon:4x4", "machine", "name", "paragon:4x4"),
        ("show alltoall,ranks=5", "pattern", "messages", 20),
        ("show neighbor --on mesh:2x2", "pattern", "messages", 8),
    ],
)
def test_words_name_a_machine_or_a_pattern(words: str, kind: str, key: str, value: object) -> None:
    shown = Ran(f"{words} --json").object
    assert (shown["kind"], shown[key]) == (kind, value)
    assert set(shown["manifest"]) == {"version", "seed", "command", "input_sha256"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("show mash:4x4", 2, "unknown pattern or machine 'mash': did you mean 'mesh'?"),
        ("show altoall", 2, "unknown pattern or machine 'altoall': did you mean 'alltoall'?"),
        ("show mesh:2x2 --phase 0", 2, "--phase 0: is for a schedule, 'mesh:2x2' is a machine"),
        (
            "show mesh:2x2 --on mesh:2x2",
            2,
            "--on mesh:2x2: is for a pattern, 'mesh:2x2' is a machine",
        ),
        ("show mesh:2x2 -o x.pdf", 2, "x.pdf: a picture ends in .svg or .png, given '.pdf'"),
        ("show missing.json", 3, "missing.json: no such file"),
        ("show missing.npz", 3, "missing.npz: no such file"),
        (
            "compare alltoall --on mesh:2x2 --methods rs_m",
            2,
            "unknown method 'rs_m': did you mean 'rs-n'?",
        ),
        (
            "compare alltoall --on mesh:2x2 -o x.pdf",
            2,
            "x.pdf: a comparison ends in .md, .csv, .parquet, .svg or .png",
        ),
        ("compare alltoall --on mesh:2x2 --sync often", 2, "unknown sync 'often'"),
        (
            "compare alltoall,ranks=9 --on mesh:2x2",
            3,
            "9 ranks need --ranks-per-node 3 on 4 nodes, given 1",
        ),
    ],
)
def test_what_does_not_fit_is_refused(words: str, code: int, message: str) -> None:
    with pytest.raises(ConsetError) as error:
        Ran(words)
    assert error.value.exit_code == code
    assert message in spell_options(str(error.value), error.value.options)


def test_a_phase_that_is_not_there_is_refused(schedule_file: Path) -> None:
    with pytest.raises(ConsetError, match="phase 99: the schedule has phases 0 to"):
        Ran(f"show {schedule_file} --phase 99")


def test_a_schedule_that_breaks_rules_is_shown_with_a_warning(
    schedule_file: Path, tmp_path: Path
) -> None:
    document = json.loads(schedule_file.read_text())
    phases = document["phases"]
    phases[0] += phases.pop()
    document["figures"]["phases"] -= 1
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(document))
    assert "breaks rules" in " ".join(Ran(f"show {edited}").out.split())


def test_pictures_are_written_where_asked(schedule_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'conset[draw]'")
    Ran(f"show {schedule_file} -o {tmp_path / 's.svg'}")
    Ran(f"show {schedule_file} --phase 0 -o {tmp_path / 'p.png'}")
    Ran(f"compare alltoall --on mesh:2x2 --methods lp,naive -o {tmp_path / 'c.svg'}")
    assert "first-fit on mesh:2x3" in (tmp_path / "s.svg").read_text()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.svg", "p.png", "s.svg"]


def test_compare_has_a_row_for_each_method_and_policy() -> None:
    found = Ran(
        "compare alltoall --on mesh:2x2 --methods lp,coloring --sync none,barrier --json"
    ).object
    rows = [(row["sync"], row["method"], row["phases"]) for row in found["rows"]]
    # a complete exchange on 4 ranks: 3 phases by XOR partners, and the largest degree is 3;
    # barriers take longer
    assert rows == [
        ("none", "lp", 3),
        ("none", "coloring", 3),
        ("barrier", "lp", 3),
        ("barrier", "coloring", 3),
    ]
    assert found["skipped"] == []
    assert all(row["verified"] for row in found["rows"])


def test_compare_lists_methods_that_do_not_apply() -> None:
    found = Ran(
        "compare alltoall --on mesh:2x2 --methods lp,first-fit --limits link=2 --json"
    ).object
    assert [row["method"] for row in found["rows"]] == ["first-fit"]
    assert [row["method"] for row in found["skipped"]] == ["lp"]
    assert "link" in found["skipped"][0]["reason"]
    assert (
        "lp: does not apply"
        in Ran("compare alltoall --on mesh:2x2 --methods lp,first-fit --limits link=2").out
    )


def test_compare_says_why_nothing_applies() -> None:
    machine = parse_machine("mesh:2x2")
    pattern = parse_pattern("alltoall", topology=machine.topology)
    with pytest.raises(InputError, match="lp"):
        compare_methods(pattern, machine, CompileOptions(limits="link=2"), {"lp": ()})


def test_markdown_goes_to_a_file_or_the_screen(tmp_path: Path) -> None:
    words = "compare alltoall --on mesh:2x2 --methods lp,naive --markdown"
    assert Ran(words).out.startswith("**alltoall on mesh:2x2**\n\n| method | phases |")
    Ran(f"compare alltoall --on mesh:2x2 --methods lp -o {tmp_path / 'x.md'}")
    assert (tmp_path / "x.md").read_text().count("| lp |") == 1


def test_methods_are_the_table() -> None:
    rows = Ran("methods --json").object["methods"]
    assert [row["name"] for row in rows] == list(table())
    assert all(
        row["domain"] and row["guarantee"] and row["complexity"] and row["reference"]
        for row in rows
    )
    text = Ran("methods").out
    assert all(name in text for name in table())


@pytest.fixture
def without_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor, "check_job", lambda _: doctor.Check("2 MPI ranks", True, "none, this is a test")
    )


@pytest.mark.usefixtures("without_a_job")
def test_doctor_names_the_command_that_brings_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from importlib import metadata

    version = metadata.version

    def without_matplotlib(name: str) -> str:
        if name == "matplotlib":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_matplotlib)
    found = Ran("doctor --json").object
    missing = [check for check in found["checks"] if check["name"] == "matplotlib"]
    assert [(check["ok"], check["fix"]) for check in missing] == [
        (False, "pip install 'conset[draw]'")
    ]
    assert (found["ok"], found["complete"]) == (True, False)
    assert "pip install 'conset[draw]'" in Ran("doctor").out


@pytest.mark.usefixtures("without_a_job")
def test_doctor_knows_the_core_and_required_libraries() -> None:
    checks = {check["name"]: check for check in Ran("doctor --json").object["checks"]}
    assert checks["C++ core"]["ok"]
    assert {name for name, check in checks.items() if check["required"]} >= {
        "python",
        "numpy",
        "scipy",
        "rich",
    }
    assert checks["numpy"]["detail"] == np.__version__
