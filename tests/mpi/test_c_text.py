"""The communication that `conset plan --c` writes, compiled and run.

Every byte of every phase arrives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import conset
from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program as compile_blocks
from conset.execution.c_program import CProgramHead, write_c_program
from conset.execution.connection_entries import connection_entries
from conset.execution.plan import write_plan_file
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule
from support.c_programs import compile_program, run_program

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")


def run_text(program: Program, runs: int, folder: Path) -> str:
    """What the compiled text prints, without its times."""
    entries = connection_entries(program)
    head = CProgramHead(
        "p.json", "conset plan p.json --c -o p.c", "1.0", program.machine.name, program.switches
    )
    write_c_program(entries, head, folder / "p.c")
    write_plan_file(None, folder / "p.plan", connections=entries)
    binary = compile_program(folder / "p.c", folder / "p", None, "-DP_MAIN")
    ended = run_program(
        binary, folder / "p.plan", runs, folder=folder, ranks=program.ranks, timeout_s=60
    )
    assert (ended.status, ended.err) == (0, "")
    return re.sub(r"\d+\.\d+ s", "… s", ended.out)


def blocks() -> Program:
    """Two that share a context and one that does not, the last forth and back."""
    machine, options = parse_machine("crossbar:4"), CompileOptions(method="first-fit")
    specs = []
    for name, pairs, repeat in (
        ("a", [(0, 1)], 3),
        ("b", [(2, 3)], 2),
        ("c", [(0, 1), (0, 2), (0, 3)], 4),
    ):
        source, target = np.array(pairs).T
        size = np.arange(source.size) * 7000 + 999
        specs.append(
            BlockSpec(name, Pattern.from_messages(source, target, size, 4), repeat, options)
        )
    return compile_blocks(specs, machine, options)


@pytest.mark.openmpi
def test_messages_of_all_sizes_in_parts(
    make_schedule: Callable[..., Schedule], tmp_path: Path
) -> None:
    program = Program.of(make_schedule(ranks=6, phases=5))
    assert program.schedules[0].size.max() > 4 * 4096  # more than a connection holds
    out = run_text(program, 3, tmp_path)
    assert out.startswith(f"p: 6 ranks, 15 phases, {3 * 5 - 1} switches, ")
    assert out.endswith(f"  {3 * program.figures()['bytes']} bytes checked, 0 wrong\n")


def test_contexts_stay_open_and_phases_turn(tmp_path: Path) -> None:
    program = blocks()
    assert program.stages[2].turns
    assert program.contexts[0] == program.contexts[1]
    out = run_text(program, 1, tmp_path)
    assert out.startswith(f"p: 4 ranks, {3 + 2 + 4 * 3} phases, {program.switches} switches, ")
    assert out.endswith(f"  {program.figures()['bytes']} bytes checked, 0 wrong\n")


def test_ranks_that_say_nothing_take_part(tmp_path: Path) -> None:
    pattern = Pattern.from_messages(np.array([0, 0]), np.array([2, 3]), np.array([5000, 70_000]), 5)
    program = Program.of(conset.compile(pattern, "crossbar:5", method="lp"))
    out = run_text(program, 2, tmp_path)
    assert out.endswith(f"  {2 * program.figures()['bytes']} bytes checked, 0 wrong\n")
