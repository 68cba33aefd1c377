"""Words: what a new user types, and the line that says what to type instead."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.console import Console

import conset
from conset.base.errors import InputError, shortened
from conset.base.units import count_of
from conset.cli.inputs import explain
from conset.cli.main import COMMANDS, in_order, run
from conset.pattern.spec import parse_pattern
from conset.report.sections import Table
from conset.report.terminal import fitted_table, joined_lines

ROOT = Path(__file__).resolve().parents[2]
MESH = ["--on", "mesh:4x4"]
LONG = "a" * 300


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """A folder with a schedule, a program, a matrix and a fat tree; the test runs inside it."""
    monkeypatch.chdir(tmp_path)
    assert (
        run(["compile", "alltoall", "--on", "mesh:2x2", "--method", "first-fit", "-o", "s.json"])
        == 0
    )
    Path("p.toml").write_text('[[block]]\npattern = "shift"\n')
    assert run(["compile", "p.toml", "--on", "mesh:2x2", "-o", "p.json"]) == 0
    Path("real.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 -0.5\n2 3 1\n"
    )
    Path("deep.json").write_text('{"a":' * 100_000)
    Path("nested.json").write_text(f"[{'[' * 900}{']' * 900}]")
    Path("digits.txt").write_text("9" * 5000)
    Path("digits.json").write_text(f"[{'9' * 4000}{', 1' * 15}]")
    capsys.readouterr()
    return tmp_path


CASES = [
    (["compile", "alltoall", "mesh:4x4"], 2, "Missing option '--on': put --on before mesh:4x4"),
    (
        ["bound", "alltoall", "mesh:4x4,link=1GB/s"],
        2,
        "Missing option '--on': put --on before mesh:4x4,link=1GB/s",
    ),
    (
        ["compile", "alltoall"],
        2,
        "Missing option '--on': a machine is required, as --on mesh:4x4; `conset machines`",
    ),
    (
        ["show", "alltoall", "mesh:4x4"],
        2,
        "Got unexpected extra argument(s) (mesh:4x4): put --on before mesh:4x4",
    ),
    (
        ["compile", "alltoall", "--on", "mesh:4,4"],
        2,
        "'mesh:4,4': sides are joined by x: did you mean mesh:4x4?",
    ),
    (
        ["compile", "alltoall", "--on", "torus,4,4,link=1GB/s"],
        2,
        "did you mean torus:4x4,link=1GB/s?",
    ),
    (
        ["compile", "alltoall", "--on", "fat-tree:8,link=1GB/s"],
        2,
        "did you mean fat-tree:k=8,link=1GB/s?",
    ),
    (["compile", "alltoall", "--on", "hyperx:sides=3,3"], 2, "did you mean hyperx:sides=3x3?"),
    (
        ["compile", "alltoall", "--on", "fat-tree:k=5"],
        2,
        "conset: fat-tree: k=5: half of a switch's ports",
    ),
    (
        ["compile", "alltoall", "--on", "fat-tree:k=x"],
        2,
        "conset: fat-tree: k=x: must be a whole number",
    ),
    (
        ["compile", "alltoall", "--on", "slim-fly:q=6"],
        2,
        "conset: slim-fly: q=6: must be a prime power",
    ),
    (
        ["compile", "alltoall", "--on", "leaf-spine:widths=1;2;3"],
        2,
        "conset: leaf-spine: widths=1;2;3: 3 values",
    ),
    (
        ["compile", "mesh:4x4", *MESH],
        2,
        "unknown pattern 'mesh': mesh:4x4 is a machine: put --on before it",
    ),
    (
        ["compile", "alltoall", "--on", "shift:by=2"],
        2,
        "unknown machine 'shift': shift:by=2 is a pattern: it stands",
    ),
    (
        ["--on", "mesh:4x4", "compile", "alltoall"],
        2,
        "No such option: --on: options of a command stand after it",
    ),
    (
        ["predict"],
        2,
        "Missing argument FILE: `conset help predict` shows what is due, with examples",
    ),
    (
        ["compile", "alltoall", *MESH, "--methods", "lp"],
        2,
        "No such option: --methods: did you mean --method?",
    ),
    (["methods", "--pattern", "shift"], 2, "--pattern shift: goes with --on MACHINE"),
    (["compile", "alltoall", *MESH, "--word", "4"], 2, "pattern 'alltoall': --word is for .mtx"),
    (["show", "s.json", "--seed", "3"], 2, "--seed 3: is for a pattern, 's.json' is a schedule"),
    (["show", "p.json", "--word", "4"], 2, "--word 4: is for a pattern, 'p.json' is a program"),
    (
        ["show", "mesh:2x2", "--ranks-per-node", "2"],
        2,
        "--ranks-per-node 2: is for a pattern, 'mesh:2x2' is a machine",
    ),
    (
        ["show", "alltoall,ranks=4", "--ranks-per-node", "2"],
        2,
        "--ranks-per-node 2: goes with --on MACHINE",
    ),
    (
        ["simulate", "s.json", "--lanes", "2"],
        2,
        "--lanes 2: is for model wormhole, circuit, flit, given flow",
    ),
    (["simulate", "s.json", "--queue", "2"], 2, "--queue 2: is for model connections, given flow"),
    (
        ["simulate", "s.json", "--model", "circuit", "--fairness", "rtt"],
        2,
        "--fairness rtt: is for model flow, given",
    ),
    (
        ["simulate", "s.json", "--model", "flit", "--receives", "2"],
        2,
        "--receives 2: is for model flow, wormhole",
    ),
    (["simulate", "s.json", "--cycles", "200"], 2, "--cycles 200: goes with --load"),
    (["simulate", "s.json", "--seed", "2"], 2, "--seed 2: goes with --load"),
    (
        ["simulate", "random", *MESH, "--model", "flit", "--load", "0.1", "--sync", "none"],
        2,
        "does not go with --load",
    ),
    (["compile", "alltoall", "--on", "mesh:4x4,link=16Gbps"], 2, "did you mean 'Gb/s'?"),
    (["compile", "alltoall", "--on", "mesh:4x4,link=16"], 2, "a unit is required"),
    (["compile", "alltoall:size=4kb", *MESH], 2, "did you mean 'kB'?"),
    (["predict", "s.json", "--set", "overhead=2"], 2, "a unit is required"),
    (
        ["predict", "alltoall"],
        3,
        "alltoall: no such file; predict takes a file, as `conset compile alltoall --on",
    ),
    (
        ["verify", "mesh:4x4"],
        3,
        "mesh:4x4: no such file; verify takes a file, as `conset compile PATTERN --on MACHINE",
    ),
    (["simulate", "alltoall", *MESH], 2, "simulate takes a file, as `conset compile alltoall"),
    (["predict", "none.json"], 3, "none.json: no such file"),
    (
        ["compile", "alltoall", *MESH, "--contention", "one"],
        2,
        "--contention 'one': a whole number is required",
    ),
    (
        ["compile", "alltoall", *MESH, "--contention=1.5"],
        2,
        "--contention '1.5': a whole number is required",
    ),
    (["compile", "alltoall", *MESH, "--effort", "0"], 2, "--effort '0': must be at least 1"),
    (["compile", "alltoall", *MESH, "--effort", "9" * 23], 2, "must be at most 2147483647"),
    (
        ["compile", "alltoall", *MESH, "--limits", "send=²"],
        2,
        "limit 'send=²': must be a whole number",
    ),
    (
        ["compile", "alltoall", *MESH, "--contention", "9" * 20],
        2,
        "must be at most 2147483647, or none",
    ),
    (
        ["compile", "alltoall", *MESH, "--channels", "9" * 20],
        2,
        "must be at most 2147483647, or none",
    ),
    (["compile", "alltoall", *MESH, "--limits", "link=" + "9" * 5000], 2, "must be a whole number"),
    (["compile", "shift:by=1_1", *MESH], 2, "by '1_1': a whole number required"),
    (["compile", "shift:by=²", *MESH], 2, "by '²': a whole number required"),
    (["compile", LONG, *MESH], 2, "(300 letters)"),
    (["compile", f"alltoall:{LONG}=1", *MESH], 2, "(300 letters)"),
    (["compile", "alltoall", "--on", LONG], 2, "(300 letters)"),
    (["compile", "alltoall", *MESH, "--method", LONG], 2, "(300 letters)"),
    (["compile", "alltoall", *MESH, "--placement", LONG], 2, "(300 letters)"),
    (["compile", "alltoall", *MESH, "--sync", LONG], 2, "(300 letters)"),
    (
        ["compile", "alltoall", *MESH, "-o", f"{LONG}.json"],
        3,
        "(305 letters): cannot be written: File name too long",
    ),
    (
        ["show", "mesh:2x2", "-o", f"{LONG}.svg"],
        3,
        "(304 letters): cannot be written: File name too long",
    ),
    (["show", LONG], 2, "(300 letters)"),
    (["help", "compil"], 2, "unknown command 'compil': did you mean 'compile'?"),
    (["methods", "naiv"], 2, "unknown method 'naiv': did you mean 'naive'?"),
    (["patterns", "alltoal"], 2, "unknown pattern 'alltoal': did you mean 'alltoall'?"),
    (
        ["run", "s.json", "--mpiexec", "mpiexec -n 4"],
        2,
        "leave out -n: -n and the schedule's ranks are added",
    ),
    (["run", "s.json", "--mpiexec", "srun --ntasks=4"], 2, "leave out --ntasks=4"),
    (
        ["compile", "real.mtx", *MESH],
        3,
        "--rows-to N or --parts N distributes a matrix over N ranks",
    ),
    (["compile", "real.mtx", *MESH, "--rows-to", "2", "--parts", "2"], 2, "exclude each other"),
    (
        ["bound", "p.json", *MESH],
        3,
        "p.json: is a program, bound takes a pattern; `conset report p.json` says its",
    ),
    (
        ["compare", "s.json", *MESH],
        3,
        "s.json: is a schedule, compare takes a pattern; `conset report s.json`",
    ),
    (
        ["compile", "p.toml", *MESH, "--parts", "2"],
        2,
        "--parts: is for one pattern; in p.toml a block says parts",
    ),
    (
        ["compile", "p.toml", *MESH, "--rows-to", "2"],
        2,
        "--rows-to: is for one pattern; in p.toml a block says",
    ),
    (
        ["compile", "p.toml", *MESH, "--word", "4"],
        2,
        "--word: is for one pattern; in p.toml a block says word",
    ),
    (
        ["compare", "p.toml", *MESH],
        3,
        "p.toml: compare takes a pattern; of a program, `conset compile p.toml",
    ),
    (
        ["show", "s.json", "--partners", "-o", "x.svg"],
        2,
        "--partners: is text only; -o x.svg draws the schedule",
    ),
    (["show", "s.json", "--linkage", "0", "-o", "x.svg"], 2, "--linkage 0: is text only"),
    (["show", "s.json", "--guarantees", "-o", "x.svg"], 2, "--guarantees: is text only"),
    (["show", "p.json", "--phase", "0"], 2, "--phase 0: is for a schedule, 'p.json' is a program"),
    (["show", "p.json", "--partners"], 2, "--partners: is for a schedule, 'p.json' is a program"),
    (["show", "p.json", *MESH], 2, "--on mesh:4x4: is for a pattern, 'p.json' is a program"),
    (["show", "p.json", "--parts", "2"], 2, "--parts 2: is for a pattern, 'p.json' is a program"),
    (
        ["show", "p.json", "--linkage", "0", "-o", "x.svg"],
        2,
        "--linkage 0: is text only; -o x.svg draws the program",
    ),
    (
        ["show", "p.json", "--guarantees", "-o", "x.svg"],
        2,
        "--guarantees: is text only; -o x.svg draws the program",
    ),
    (["show", "p.json", "--linkage", "²"], 2, "--linkage '²': a node or `all` required"),
    (
        ["show", "p.json", "--message", "0", "-o", "x.svg"],
        2,
        "a program of building blocks forwards nothing",
    ),
    (
        ["show", "s.json", "--phase", "all", "-o", "x.svg"],
        2,
        "--phase all: -o x.svg draws one phase; a page (.html)",
    ),
    (["show", "s.json", "--phase", "²"], 2, "--phase '²': a whole number or all is required"),
    (["show", "s.json", "--linkage", "²"], 2, "--linkage '²': a node or `all` required"),
    (
        ["show", "s.json", "--phase", "9" * 400],
        2,
        "9 (400 letters)': a whole number or all is required",
    ),
    (["show", "s.json", "--linkage", "9" * 400], 2, "9 (400 letters)': a node or `all` required"),
    (
        ["simulate", "s.json", "--in-flight", str(10**30)],
        2,
        "must be a whole number from 1 to 999999999, or all",
    ),
    (
        ["run", "s.json", "--in-flight", str(10**9)],
        2,
        "must be a whole number from 1 to 999999999, or all",
    ),
    (
        ["compile", "alltoall", *MESH, "--placement", "deep.json"],
        3,
        "(500000 letters)': one node id per line required",
    ),
    (
        ["compile", "alltoall", *MESH, "--placement", "nested.json"],
        3,
        "nested.json: [0] = list: a node id required",
    ),
    (
        ["compile", "alltoall", *MESH, "--placement", "digits.txt"],
        3,
        "(5000 letters)': one node id per line required",
    ),
    (
        ["compile", "alltoall", *MESH, "--placement", "digits.json"],
        3,
        "(4000 letters) of rank 0: must be from 0 to 15",
    ),
]


@pytest.mark.parametrize(
    ("words", "code", "line"), CASES, ids=[" ".join(case[0])[:60] for case in CASES]
)
def test_the_line_says_what_to_type(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, line: str
) -> None:
    before = sorted(folder.iterdir())
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert line in err
    assert "internal error" not in err
    assert sorted(folder.iterdir()) == before


def test_a_guarantee_of_next_to_nothing_limits_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "compile",
        "alltoall",
        "--on",
        "mesh:3x3",
        "--min-bandwidth",
        "1e-300 GB/s",
        "--json",
        "-o",
        "o.json",
    ]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    assert run(["verify", "o.json"]) == 0


def test_a_network_of_switches_is_no_box_with_holes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = "\n".join(
        ["graph [", *(f'node [ id {k} type "{"switch" if k > 3 else "host"}" ]' for k in range(7))]
        + [
            f"edge [ source {a} target {b} ]"
            for a, b in [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)]
        ]
        + ["]"]
    )
    Path("tree.gml").write_text(tree)
    assert run(["compile", "alltoall", "--on", "tree.gml", "--method", "bounded"]) == 3
    assert (
        "requires a mesh or torus, dead nodes or not, given a graph of 3 switches"
        in capsys.readouterr().err
    )


def test_json_may_stand_before_the_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--json", "verify", "s.json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "conset/verify@1"
    assert in_order(["--json"], COMMANDS) == ["--json"]
    assert in_order(["--json", "help", "verify"], COMMANDS) == ["verify", "--help", "--json"]
    assert in_order(["help", "testbed", "up"], COMMANDS) == ["testbed", "up", "--help"]


@pytest.mark.parametrize("words", [["help"], []])
def test_help_is_a_command(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run(words) == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert command in text


def test_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "verify"]) == 0
    asked = capsys.readouterr().out
    assert run(["verify", "--help"]) == 0
    assert asked == capsys.readouterr().out
    assert "--window" in asked


def test_one_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods", "naive", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in shown["methods"]] == ["naive"]
    assert shown["manifest"]["command"] == "conset methods naive"


def test_every_pattern_is_listed_with_what_its_spec_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["patterns", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    for row in shown["patterns"]:
        words = [
            f"{word}={each['default']}"
            for word, each in row["arguments"].items()
            if each["default"] != []
        ]
        spec = ",".join(["sides=4x4", *words] if "sides" in row["arguments"] else words)
        machine = conset.load_machine("mesh:4x4")
        assert parse_pattern(f"{row['name']}:{spec}", topology=machine.topology).ranks == 16, row[
            "name"
        ]
    assert {row["suffix"] for row in shown["files"]} >= {".csv", ".su2"}
    assert run(["patterns", "random"]) == 0
    text = capsys.readouterr().out
    assert "degree      distinct others each rank sends to (default: 4)" in text
    assert "alltoall" not in text


def test_a_matrix_is_distributed_by_metis_on_its_graph(tmp_path: Path) -> None:
    """A path of six vertices in three parts.

    Neighbours exchange the vertex at their border, one word.
    """
    path = tmp_path / "path.mtx"
    rows = "\n".join(f"{k + 1} {k} -0.5" for k in range(1, 6))
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n6 6 5\n{rows}\n")
    pattern = parse_pattern(str(path), parts=3, word=4)
    assert pattern.ranks == 3
    degrees = sorted(np.bincount(pattern.target, minlength=3).tolist())
    assert degrees == [1, 1, 2]
    assert set(pattern.size.tolist()) == {4}


def test_the_placement_that_was_chosen_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "compile",
        "random:degree=3",
        *MESH,
        "--method",
        "first-fit",
        "--placement",
        "auto",
        "--json",
    ]
    assert run(words) == 0
    out, err = capsys.readouterr()
    name = json.loads(out)["placement"]
    assert name not in (None, "identity"), "an instance where another placement wins"
    assert f"  placement  {name}\n" in err


def test_one_of_a_thing_is_no_plural(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "shift:ranks=1", "--on", "mesh:1x1", "-o", "o.json"]) == 0
    assert run(["compile", "hotspot:ranks=2", "--on", "mesh:1x2", "-o", "o.json"]) == 0
    assert run(["verify", "o.json"]) == 0
    assert run(["bound", "hotspot:ranks=2", "--on", "mesh:1x2"]) == 0
    assert run(["show", "o.json", "--phase", "0"]) == 0
    text = capsys.readouterr().out
    assert "1 message in 1 phase;" in text
    for plural in ("1 messages", "1 phases", "1 ranks", "1 transfers"):
        assert f" {plural}" not in text
    assert [count_of(n, "switch", "switches") for n in (0, 1, 1024)] == [
        "0 switches",
        "1 switch",
        "1,024 switches",
    ]


def test_a_rule_is_named_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = json.loads(Path("s.json").read_text())
    wrong["figures"]["phase_bytes"] += 1
    Path("s.json").write_text(json.dumps(wrong))
    assert run(["verify", "s.json"]) == 4
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("figures: ")
    assert not line.startswith("figures: figures:")


@pytest.mark.parametrize(
    ("words", "pictures"),
    [
        (["s.json"], 1),
        (["s.json", "--phase", "0"], 2),
        (["s.json", "--phase", "all"], 4),
        (["mesh:2x2"], 1),
        (["alltoall", "--on", "mesh:2x2"], 1),
    ],
)
def test_a_page_has_facts_and_pictures(folder: Path, words: list[str], pictures: int) -> None:
    assert run(["show", *words, "-o", "x.html"]) == 0
    page = Path("x.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<figure>") == pictures
    ids = [piece.split('"', 1)[0] for piece in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    used = {piece.split(")", 1)[0] for piece in page.split("url(#")[1:]}
    used |= {piece.split('"', 1)[0] for piece in page.split('xlink:href="#')[1:]}
    assert used <= set(ids)


def test_a_page_of_a_timeline_has_no_markup_of_the_terminal(folder: Path) -> None:
    assert run(["simulate", "s.json", "-o", "t.json"]) == 0
    assert run(["show", "t.json", "-o", "t.html"]) == 0
    page = Path("t.html").read_text()
    assert "mean latency" in page
    assert "[/]" not in page


def test_every_phase_as_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    phases = conset.read("s.json").phases
    assert run(["show", "s.json", "--phase", "all", "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["shown_phases"]) == phases > 1
    for phase in range(phases):
        assert f"phase {phase} of {phases}" in err


def test_the_interface_is_shown() -> None:
    """`dir` before anything is loaded, `help` in a process of its own, whose pager is none."""
    assert set(conset.__all__) <= set(dir(conset))
    code = (
        "import conset; before = dir(conset); assert set(conset.__all__) <= set(before); "
        "help(conset)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(conset.__file__).parents[1]), "PATH": "", "PAGER": "cat"},
    ).stdout
    for name in (
        "compile(pattern: 'PatternLike'",
        "class Schedule",
        "simulate(",
        "class UsageError",
    ):
        assert name in shown


def test_messages_of_the_parser_that_nobody_foresaw_stay_as_they_are() -> None:
    assert explain(typer.BadParameter("Something else"), ["compile"]) == (
        "Invalid value: Something else"
    )
    missing = InputError("x.json: no such file", what="file", given="x.json")
    assert explain(missing, ["compile", "x.json"]) == "x.json: no such file"
    assert shortened("short") == "short"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    "text", ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
)
def test_every_command_of_the_texts_can_be_pasted(text: str) -> None:
    """Parentheses of a spec are the shell's where nobody quotes them."""
    lines = [
        line.strip()
        for line in (ROOT / text).read_text().splitlines()
        if line.strip().startswith("conset ")
    ]
    checked = subprocess.run(["bash", "-n"], input="\n".join(lines), capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("width", [40, 60, 200])
def test_a_table_too_wide_for_its_terminal_is_stacked(width: int) -> None:
    """No value is cut and no column is lost."""
    columns = ["method", "phases", "sync", "predicted by a long name", "compiled in"]
    rows = [
        ["lp", "15", "barrier", "152.4 us", "1.2 ms"],
        ["first-fit", "1,024", "local", "80 us", "12 s"],
    ]
    table = fitted_table(Table(columns, rows, (0, 2)))
    out = io.StringIO()
    Console(file=out, width=width, soft_wrap=False).print(table)
    text = out.getvalue()
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    for word in (*columns[1:], *rows[0], *rows[1]):
        assert word in text
    assert ("sync barrier," in text) == (width < 200)


def test_lines_are_joined_within_a_width() -> None:
    assert joined_lines(["a 1", "b 2", "c 3"], 9) == ["a 1, b 2,", "c 3"]
    assert joined_lines(["longer than it may be", "x"], 5) == ["longer than it may be,", "x"]
    assert joined_lines([], 5) == []


def test_help_imports_nothing_that_takes_long() -> None:
    """Arrays, the core and what draws are for commands that need them."""
    code = (
        "import sys\nfrom conset.cli.main import run\nassert run(['--help']) == 0\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'markdown_it', 'pydantic', 'mpi4py'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(conset.__file__).parents[1]), "PATH": ""},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "..." not in ended.stdout.split("Commands:")[1], "no summary is cut"
