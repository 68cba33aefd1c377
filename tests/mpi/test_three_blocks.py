"""The acceptance of connections.

A program of three blocks (transpose, halo, reduction tree up and down) on 16 ranks.

It runs 100 times through the C interface, by hand and as the text that `conset plan --c` writes,
and through the Python interface; every value, or byte, is compared. What is wrong must be found:
sources with a mistake are.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conset.cli.main import run
from conset.execution.job import find_launcher, start_job
from conset.schedule.files.compiled import read_compiled
from conset.schedule.program import Program
from support.c_programs import compile_program, run_program

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "connections"
RANKS, RUNS, LIMIT_S = 16, 100, 100.0
VALUES = 2 * 64 * 64 + 4 * 64 * 64 + 2 * 8 * 16
"""Compared in one run: a matrix twice, a grid four times, sums on all ranks twice."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `program.json`, `program.plan` and `program.c`."""
    folder = tmp_path_factory.mktemp("three-blocks")
    program = str(folder / "program.json")
    assert run(["compile", str(EXAMPLE / "program.toml"), "--on", "iwarp:4x4", "-o", program]) == 0
    assert run(["plan", program, "-o", str(folder / "program.plan")]) == 0
    assert run(["plan", program, "--c", "-o", str(folder / "program.c")]) == 0
    return folder


@pytest.fixture(scope="module")
def program(folder: Path) -> Program:
    return read_compiled(folder / "program.json")


def switches_of(program: Program, runs: int) -> int:
    """Of runs one after the other: the context of the first phase is entered again."""
    first, last = program.contexts[0][0], program.contexts[2][-1]
    assert first != last
    return runs * (program.switches + 1) - 1


def check_report(text: str, program: Program, runs: int) -> None:
    """What the examples print."""
    assert f"three_blocks: {runs} runs, {runs * VALUES} values checked, 0 wrong\n" in text
    switches = switches_of(program, runs)
    assert f"  {runs * program.phases} phases, {switches} switches in " in text


def test_the_program_has_contexts_to_switch_and_to_keep(program: Program) -> None:
    assert [stage.name for stage in program.stages] == ["transpose", "halo", "reduction"]
    assert [stage.repeat for stage in program.stages] == [2, 4, 2]
    assert program.phases - 1 > program.switches > 2
    assert program.stages[0].turns


def test_the_written_program_in_c(folder: Path, program: Program) -> None:
    binary = compile_program(folder / "program.c", folder / "generated", None, "-DPROGRAM_MAIN")
    ended = run_program(
        binary, folder / "program.plan", RUNS, folder=folder, ranks=RANKS, timeout_s=LIMIT_S
    )
    assert (ended.status, ended.err) == (0, "")
    first, _, last = ended.out.splitlines()
    expected = (
        f"program: 16 ranks, {RUNS * program.phases} phases, "
        f"{switches_of(program, RUNS)} switches, "
    )
    assert first.startswith(expected)
    assert last == f"  {RUNS * program.figures()['bytes']} bytes checked, 0 wrong"


def test_the_example_in_c(folder: Path, program: Program) -> None:
    binary = compile_program(EXAMPLE / "three_blocks.c", folder / "by_hand")
    ended = run_program(
        binary, folder / "program.plan", RUNS, folder=folder, ranks=RANKS, timeout_s=LIMIT_S
    )
    assert (ended.status, ended.err) == (0, "")
    check_report(ended.out, program, RUNS)


def test_the_example_in_python(folder: Path, program: Program) -> None:
    command = [
        "-m",
        "mpi4py",
        str(EXAMPLE / "three_blocks.py"),
        str(folder / "program.plan"),
        str(RUNS),
    ]
    ended = start_job(find_launcher(), RANKS, command, folder=folder, timeout_s=LIMIT_S)
    assert (ended.status, ended.err) == (0, "")
    check_report(ended.out, program, RUNS)


MISTAKES = {
    "transpose": ("&part->turned[j][ROWS * peer + i]", "&part->turned[i][ROWS * peer + j]"),
    "halo": ("down == 1 ? last : first", "down == 1 ? first : last"),
    "reduction": ("*(*at)++ += from[k];", "*(*at)++ = from[k];"),
}


@pytest.mark.parametrize("block", MISTAKES)
def test_a_mistake_in_a_block_is_seen(block: str, folder: Path) -> None:
    right, wrong = MISTAKES[block]
    text = (EXAMPLE / "three_blocks.c").read_text()
    assert text.count(right) == 1
    source = folder / f"{block}.c"
    source.write_text(text.replace(right, wrong))
    ended = run_program(
        compile_program(source, folder / block), folder / "program.plan", folder=folder, ranks=RANKS
    )
    found = re.search(r"(\d+) values checked, (\d+) wrong", ended.out)
    assert found
    assert int(found[1]) == VALUES
    assert int(found[2]) > 0
    assert ended.status != 0


def test_a_connection_that_carries_another_rank_s_bytes_is_seen(folder: Path) -> None:
    text = (folder / "program.c").read_text()
    right = "int source = sends ? check->rank : connection->peer"
    assert text.count(right) == 1
    source = folder / "another.c"
    source.write_text(text.replace(right, "int source = sends ? 0 : connection->peer"))
    binary = compile_program(source, folder / "another", None, "-DPROGRAM_MAIN")
    ended = run_program(binary, folder / "program.plan", folder=folder, ranks=RANKS)
    assert ended.status != 0
    assert re.search(r"98048 bytes checked, [1-9]\d* wrong", ended.out)


def test_a_phase_without_the_connection_is_named(folder: Path) -> None:
    # the table of another phase: the first rank to ask for what is not open ends the job
    source = folder / "table.c"
    text = (folder / "program.c").read_text()
    source.write_text(
        text.replace(
            "run_phase(program, halo_0_of[rank]", "run_phase(program, transpose_1_of[rank]"
        )
    )
    binary = compile_program(
        source,
        folder / "table",
        None,
        "-DPROGRAM_MAIN",
        "-Wno-unused-const-variable",
        "-Wno-unused-variable",
    )
    ended = run_program(binary, folder / "program.plan", folder=folder, ranks=RANKS)
    assert ended.status != 0
    assert re.search(
        r"block 'halo', phase 0: no connection \d+ at rank \d+ \(node \d+\)",
        ended.err,
    )


def test_the_command_runs_it_through_connections(folder: Path, program: Program) -> None:
    from conset.execution.run import run_compiled as run_through_mpi

    result = run_through_mpi(program, repeat=3, timeout=LIMIT_S)
    assert (result.mismatches, result.bytes_checked) == (0, 5 * 4 * program.figures()["bytes"])
    assert result.switch is not None
    assert result.switch.count == program.switches
