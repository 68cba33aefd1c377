"""The communication of programs as text in C: what the tables say, read back from the text; names.

What is refused.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.base.errors import InputError, UsageError
from conset.cli.main import run
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.execution.c_program import CProgramHead, c_program_text, write_c_program
from conset.execution.connection_entries import connection_entries
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.document import MAX_REPEAT
from conset.schedule.files.compiled import document_of, write_compiled
from conset.schedule.program import Program
from support.c_programs import find_compiler

HEAD = CProgramHead("p.json", "conset plan p.json --c -o p.c", "1.0", "mesh:2x2", 3)
HEADER = Path(__file__).resolve().parents[2] / "cpp" / "capi"


def blocks(*names_patterns: tuple[str, str, int], method: str = "first-fit") -> Program:
    machine, options = parse_machine("mesh:2x2"), CompileOptions(method=method)
    specs = [
        BlockSpec(
            name, parse_pattern(text, topology=machine.topology, ranks=4, seed=0), count, options
        )
        for name, text, count in names_patterns
    ]
    return compile_program(specs, machine, options)


def text_of(program: Program, file: str = "p.c") -> str:
    return c_program_text(connection_entries(program), HEAD, file)


def tables(text: str) -> dict[str, list[list[tuple[str, int, int]]]]:
    """By table, for every rank.

    (`TO` or `FROM`, peer, bytes), as a reader of the text sees them.
    """
    found = {}
    form = r"(?:#define BYTES (\d+)\n)?static const \w+ (\w+)\[\w+\]\[(\d+)\] = \{\n(.*?)\n\};"
    for size, name, columns, body in re.findall(form, text, re.S):
        rows = re.findall(r"/\* +(\d+) \*/ \{(.*?)END\}", body, re.S)
        assert [int(rank) for rank, _ in rows] == list(range(len(rows)))
        found[name] = [
            [
                (way, int(peer), int(own or size))
                for way, peer, own in re.findall(
                    r"(TO|FROM)(?:_OF)?\((\d+), \d+(?:, (\d+))?\)", row
                )
            ]
            for _, row in rows
        ]
        assert max(map(len, found[name])) == int(columns) - 1
    return found


def test_tables_hold_every_message_at_both_ends() -> None:
    program = blocks(
        ("transpose", "alltoall:size=300", 3), ("shift", "shift:size=log-uniform(1,9000)", 2)
    )
    found = tables(text_of(program))
    for stage in program.stages:
        schedule, sent = program.schedules[stage.schedule], {}
        for p in range(schedule.phases):
            rows = found[f"{stage.name}_{p}_of"]
            received = {
                (peer, r): size
                for r, row in enumerate(rows)
                for way, peer, size in row
                if way == "FROM"
            }
            sent_here = {
                (r, peer): size
                for r, row in enumerate(rows)
                for way, peer, size in row
                if way == "TO"
            }
            assert received == sent_here
            message = schedule.message[schedule.phase(p)]
            assert set(sent_here) == set(
                zip(schedule.pattern.source[message], schedule.pattern.target[message])  # noqa: B905
            )
            sent |= sent_here
        pattern = schedule.pattern
        pairs = zip(
            pattern.source.tolist(), pattern.target.tolist(), pattern.size.tolist(), strict=True
        )
        assert sent == {(source, target): size for source, target, size in pairs}


def test_rows_are_in_posting_order() -> None:
    program = blocks(("all", "alltoall:size=300", 1))
    entries = connection_entries(program)
    rows = tables(text_of(program))["all_0_of"]
    for rank, row in enumerate(rows):
        own = np.arange(entries.offsets[rank], entries.offsets[rank + 1])
        own = own[entries.phase[own] == 0]
        own = own[np.argsort(entries.order[own])]
        ways = ["TO" if send else "FROM" for send in entries.send[own]]
        assert [(way, peer) for way, peer, _ in row] == list(
            zip(ways, entries.peer[own].tolist(), strict=True)
        )


def test_the_same_program_gives_the_same_text() -> None:
    named = (("a", "alltoall", 2), ("b", "shift", 1))
    assert text_of(blocks(*named)) == text_of(blocks(*named))


def test_blocks_of_one_schedule_share_its_tables() -> None:
    text = text_of(blocks(("there", "shift", 1), ("all", "alltoall", 1), ("again", "shift", 2)))
    assert list(tables(text)).count("there_0_of") == 1
    assert "again_0_of" not in text
    assert "run_phase(program, there_0_of[rank], step, use)" in text.split("int p_again_0(")[1]
    assert "{2, repetition, 0}" in text


def test_long_rows_are_broken() -> None:
    machine = parse_machine("crossbar:64")
    schedule = conset.compile(
        parse_pattern("alltoall", topology=machine.topology), machine, method="naive"
    )
    text = c_program_text(connection_entries(schedule), HEAD)
    assert max(len(line) for line in text.splitlines() if "TO(" in line) <= 120
    assert [len(row) for row in tables(text)["alltoall_0_of"]] == [126] * 64


NAMES = ("run", "run", "phase", "a 1", "a", "größe */ \\ ??/ x", "7", "", "int", "step")


@pytest.mark.parametrize("file", ["p.c", "run.c", "conset.c", "16 ranks.c", "check.c", "while.c"])
@pytest.mark.parametrize("main", [True, False])
def test_any_names_compile(file: str, main: bool, tmp_path: Path) -> None:
    program = blocks(
        *((name, f"shift:by={1 + k % 3},size={100 + k}", 1 + k % 2) for k, name in enumerate(NAMES))
    )
    compile_text(text_of(program, file), tmp_path / file, main=main)


def test_nothing_to_send_compiles(tmp_path: Path) -> None:
    machine = parse_machine("mesh:2x2")
    empty = Pattern.from_messages(
        np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), 4
    )
    text = c_program_text(connection_entries(conset.compile(empty, machine)), HEAD)
    compile_text(text, tmp_path / "p.c", main=True)


def test_one_rank_is_one_rank(tmp_path: Path) -> None:
    text = c_program_text(connection_entries(conset.compile("shift:by=1", "crossbar:1")), HEAD)
    compile_text(text, tmp_path / "p.c", main=True)
    assert "1 block for 1 rank on" in text
    assert "1 ranks" not in text


FAILING = """
int conset_instantiate(conset_program *program, int block, int phase) { (void)program; return \
block + phase + 7; }
int conset_connection_by_id(conset_program *p, int id, struct conset_connection **c)
{ (void)p, (void)id, (void)c; return 1; }
int conset_lib_send_elements(struct conset_connection *c, const void *at, int64_t count, uint64_t \
type)
{ (void)c, (void)at, (void)count, (void)type; return 1; }
int conset_lib_receive_elements(struct conset_connection *c, void *at, int64_t count, uint64_t type)
{ (void)c, (void)at, (void)count, (void)type; return 1; }
int conset_phase_end(conset_program *program) { (void)program; return 1; }
int main(void) { const p_application use = {0, 0, 0}; return p_run(NULL, 0, &use); }
"""
"""A library whose phases cannot be opened, and a program that runs everything."""


def test_an_error_ends_all_repetitions(tmp_path: Path) -> None:
    source, run_it = tmp_path / "p.c", tmp_path / "p"
    source.write_text(
        text_of(blocks(("all", "alltoall", MAX_REPEAT), ("more", "shift:by=1", 2))) + FAILING
    )
    command = [
        str(find_compiler("mpicc")),
        "-std=c99",
        "-O0",
        f"-I{HEADER}",
        str(source),
        "-o",
        str(run_it),
    ]
    subprocess.run(command, check=True)
    assert (
        subprocess.run([str(run_it)], timeout=3, check=False).returncode == 7
    )  # of its first phase, and at once


def compile_text(text: str, source: Path, *, main: bool) -> None:
    """As C99, without a warning."""
    source.write_text(text)
    macro = next(line for line in text.splitlines() if line.startswith("#ifdef ")).split()[1]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O0"]
    command = [
        str(find_compiler("mpicc")),
        *strict,
        f"-I{HEADER}",
        *([f"-D{macro}"] if main else []),
    ]
    done = subprocess.run(
        [*command, "-c", str(source), "-o", str(source.with_suffix(".o"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, file = blocks(("all", "alltoall", 2)), tmp_path / "prog.json"
    write_compiled(document_of(program), file)
    assert run(["plan", str(file), "--c", "-o", str(tmp_path / "a.c"), "--json"]) == 0
    assert '"connections": 12' in capsys.readouterr().out
    assert run(["plan", str(file), "-o", str(tmp_path / "b.c")]) == 0
    one, other = ((tmp_path / name).read_text() for name in ("a.c", "b.c"))
    assert "prog.json: 1 block for 4 ranks on mesh:2x2." in one
    assert tables(one) == tables(other)
    assert str(tmp_path) not in one


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--c"], "--c: -o x.c says where to write"),
        (["--c", "-o", "x.plan"], "a C source ends in .c"),
        (["--c", "-o", "x.c", "--sync", "local"], "is of the plan, which --c leaves out"),
        (
            ["--connections", "-o", "x.c"],
            "--connections: is of the plan, a C source has nothing else",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prog.json"
    write_compiled(document_of(blocks(("all", "alltoall", 1))), file)
    assert run(["plan", str(file), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_program_that_forwards_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = conset.compile("alltoall:size=8", "mesh:2x2", combine="2x2")
    assert isinstance(program, Program)
    write_compiled(document_of(program), tmp_path / "prog.json")
    assert run(["plan", str(tmp_path / "prog.json"), "--c", "-o", str(tmp_path / "p.c")]) == 2
    assert "--c: the program forwards messages" in capsys.readouterr().err
    assert not (tmp_path / "p.c").exists()


def test_what_nobody_reads_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    program = blocks(("all", "alltoall", 5))
    monkeypatch.setattr("conset.execution.c_program.MAX_ENTRIES", 23)
    with pytest.raises(InputError, match="12 connections in all phases, in a C source at most 11"):
        text_of(program)
    monkeypatch.setattr("conset.execution.c_program.MAX_ENTRIES", 24)
    assert text_of(program)


def test_only_c_sources_are_written() -> None:
    entries = connection_entries(conset.compile("shift:by=1", "mesh:2x2"))
    with pytest.raises(UsageError, match=r"x\.h: a C source ends in \.c"):
        write_c_program(entries, HEAD, "x.h")


def test_an_order_between_messages_is_kept_by_using_one_connection_after_the_other(
    tmp_path: Path,
) -> None:
    pattern = Pattern.from_messages(np.array([0, 1]), np.array([1, 2]), np.array([9000, 9000]), 4)
    ordered = replace(pattern, before=np.array([[0, 1]], np.int32))
    machine, options = parse_machine("mesh:2x2"), CompileOptions(method="first-fit")
    for sent, function in ((ordered, "move_all"), (pattern, "move_pieces")):
        program = compile_program([BlockSpec("chain", sent, 2, options)], machine, options)
        write_compiled(document_of(program), tmp_path / "prog.json")
        assert run(["plan", str(tmp_path / "prog.json"), "--c", "-o", str(tmp_path / "p.c")]) == 0
        text = (tmp_path / "p.c").read_text()
        assert function in text
        assert ("which keeps the order that the patterns have" in text) == (sent is ordered)
        compile_text(text, tmp_path / "p.c", main=True)
        comment = text.split("*/")[0].splitlines()[1:-1]
        assert all(line.startswith(" *") for line in comment)
