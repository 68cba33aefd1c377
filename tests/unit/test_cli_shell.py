"""The command line in its shell.

What it completes, what fits a narrow terminal, what its help explains.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

import conset
from conset.cli import options as o
from conset.cli.main import COMMANDS, run
from conset.machine.file import PRESETS
from conset.methods.phases.table import table
from conset.pattern.generators.table import GENERATORS
from conset.report.facts import bound_section
from conset.report.machine import families_table, machine_table, networks_table, presets_table
from conset.report.terminal import folded_table
from conset.schedule.policy import KINDS


def completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> list[str]:
    """What typer's script for bash gets for the last word of a line."""
    words = line.split(" ")
    monkeypatch.setenv("_CONSET_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as ended:
        run([])
    assert ended.value.code == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("conset comp", ["compile", "compare"]),
        ("conset compile all", ["allgather", "alltoall", "alltoallv"]),
        ("conset compile alltoall --on tor", ["torus"]),
        ("conset compile alltoall --on mesh:4x4 --method rs", ["rs-n", "rs-nl"]),
        ("conset compile alltoall --on mesh:4x4 --sync ", [*KINDS, "auto"]),
        ("conset predict s.json --by worm", ["wormhole"]),
        ("conset simulate s.json --model conn", ["connections"]),
        ("conset compare alltoall --methods naive,neg", ["naive,negotiated"]),
        ("conset methods bou", ["bounded"]),
        ("conset show parag", ["paragon"]),
        ("conset compile alltoall --placement annealed-b", ["annealed-bytes"]),
        ("conset compile alltoall --router closed", ["closed-form"]),
        ("conset compile alltoall --rows", ["--rows-to"]),
        ("conset testbed u", ["up"]),
    ],
)
def test_shells_complete_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, found: list[str]
) -> None:
    wanted = [name for name in found if name in GENERATORS] if "all" in found[0] else found
    assert completed(monkeypatch, capsys, line) == wanted


def test_completions_are_the_tables() -> None:
    assert o.completing(*o.PATTERNS)("") == list(GENERATORS)
    assert o.completing(*o.METHODS)("") == list(table())
    assert set(o.completing(*o.MACHINES)("")) >= {*PRESETS, "mesh", "fat-tree"}
    assert o.completing(*o.RANKINGS)("form") == ["formula"]
    models = o.completing(*o.MODELS)("")
    assert o.completing(*o.MODELS, several=True)("flow,") == [f"flow,{name}" for name in models]
    assert o.completing(*o.SYNCS, also=["auto"], several=True)("none,au") == ["none,auto"]


def test_the_script_of_a_shell_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_CONSET_COMPLETE", "source_bash")
    with pytest.raises(SystemExit):
        run([])
    assert "_CONSET_COMPLETE=complete_bash" in capsys.readouterr().out


def tried(bounds: conset.Bounds) -> Table:
    """The table of every bound that was tried."""
    table = bound_section("transpose", "mesh:4x4", bounds).parts[0].table
    assert table is not None
    return folded_table(table)


TABLES: dict[str, Callable[[], Table]] = {
    "bound": lambda: tried(conset.bound("transpose", "mesh:4x4")),
    "machine": lambda: machine_table(conset.load_machine("paragon:4x4")),
    "presets": lambda: presets_table("machines", PRESETS),
    "networks": networks_table,
    "families": families_table,
}


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_cut_in_sixty_columns(name: str) -> None:
    def letters(width: int) -> str:
        out = io.StringIO()
        Console(file=out, width=width).print(TABLES[name]())
        text = out.getvalue()
        assert all(len(line) <= width for line in text.splitlines())
        return "".join(sorted(letter for letter in text if letter.isalnum()))

    assert letters(60) == letters(400)


@pytest.mark.parametrize(
    "command", ["compile", "compare", "predict", "simulate", "run", "plan", "bound"]
)
def test_policies_are_explained_where_they_stand(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split()).replace(
        "zero- byte", "zero-byte"
    )  # lines end at hyphens
    for words in (
        "none: post everything in schedule order",
        "local: a rank ends its own phase first",
        "ready: local, and a zero-byte signal for each message",
        "barrier[:K]: a barrier after every K phases",
    ):
        assert words in shown


def test_help_says_where_more_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "conset help COMMAND" in shown
    assert "--install-completion" in shown
    assert all(command in shown for command in COMMANDS)


def test_a_schedule_or_a_program_is_read_by_one_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    conset.write(conset.compile("shift", "mesh:2x2", method="first-fit"), "s.json")
    Path("p.toml").write_text('[[block]]\npattern = "shift"\n')
    assert run(["compile", "p.toml", "--on", "mesh:2x2", "-o", "p.json"]) == 0
    assert type(conset.read("s.json")).__name__ == "Schedule"
    assert type(conset.read("p.json")).__name__ == "Program"
    with pytest.raises(conset.InputError, match=r"none\.json: no such file"):
        conset.read("none.json")
