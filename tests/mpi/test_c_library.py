"""The C interface as a program meets it.

Compiled with the wheel's `mpicc`, linked as `conset config` says, run.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conset.base import VERSION
from conset.cli.config import CLibrary, find_c_library
from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_pattern
from conset.compilation.programs import compile_program, read_program
from conset.execution.connection_entries import connection_entries
from conset.execution.job import find_launcher
from conset.execution.plan import Plan, write_plan_file
from conset.execution.planner import make_plan
from conset.machine.flat_file import write_machine
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern

pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install 'conset[mpi]'")

SOURCES = Path(__file__).parent / "c"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


@pytest.fixture(scope="module")
def library() -> CLibrary:
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    return find_c_library()


def compiler(name: str) -> str:
    """A compiler of the library that the launcher belongs to."""
    return str(Path(find_launcher()[0]).with_name(name))


def run(*command: str, environment: dict[str, str] | None = None) -> str:
    """What a command prints; it ends well and has nothing to say on stderr."""
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | (environment or {}),
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    return ended.stdout


def flags(library: CLibrary) -> list[str]:
    """By pkg-config, as users do, where there is one."""
    if not shutil.which("pkg-config"):
        return shlex.split(f"{library.cflags} {library.libs}")
    path = {"PKG_CONFIG_PATH": str(library.pkg_config)}
    return shlex.split(run("pkg-config", "--cflags", "--libs", "conset", environment=path))


def test_programs_in_c_exchange_what_mpi_does_and_hear_of_what_is_wrong(
    library: CLibrary, tmp_path: Path
) -> None:
    machine = parse_machine("crossbar:4")
    pattern = parse_pattern("alltoall:size=1000", topology=machine.topology)
    plan = make_plan(compile_pattern(pattern, machine, CompileOptions(method="lp")))
    write_plan_file(plan, tmp_path / "x.plan")
    write_machine(
        tmp_path / "slow.machine", parse_machine("crossbar:4,overhead=1ms,processors=one")
    )
    sources = [str(SOURCES / name) for name in ("library.c", "exchanges.c", "faults.c")]
    run(
        compiler("mpicc"),
        "-std=c99",
        *STRICT,
        *sources,
        *flags(library),
        "-o",
        str(tmp_path / "library"),
    )
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for sync in ("none", "ready", "barrier"):
        write_plan_file(ordered_alltoall(sync), tmp_path / f"{sync}.plan")
    for name in ("x", "none", "ready", "barrier"):
        command = [
            *find_launcher(),
            "-n",
            "4",
            str(tmp_path / "library"),
            str(tmp_path / f"{name}.plan"),
            str(tmp_path / "slow.machine"),
        ]
        assert run(*command, environment=root) == "right\n"


def ordered_alltoall(sync: str) -> Plan:
    """One phase: rank r sends to r XOR 2 when it has what r XOR 1 sends, and r XOR 3 sends to it
    when it has that."""
    rows = [(source, target) for source in range(4) for target in range(4) if source != target]
    row = {pair: k for k, pair in enumerate(rows)}
    before = [(row[r ^ 1, r], row[r, r ^ 2]) for r in range(4)] + [
        (row[r ^ 2, r], row[r ^ 3, r]) for r in range(4)
    ]
    source, target = np.array(rows).T
    pattern = Pattern.from_messages(source, target, np.full(len(rows), 1000), 4, before=before)
    plan = make_plan(
        compile_pattern(pattern, parse_machine("crossbar:4"), CompileOptions(method="connections")),
        sync,
    )
    assert plan.phases == 1
    assert plan.needs is not None
    assert plan.signals is not None
    return plan


def test_programs_in_c_open_connections_and_hear_of_what_is_wrong(
    library: CLibrary, tmp_path: Path
) -> None:
    machine = parse_machine("crossbar:4")
    pattern = parse_pattern("alltoall:size=1000", topology=machine.topology)
    schedule = compile_pattern(pattern, machine, CompileOptions(method="lp"))
    write_plan_file(
        make_plan(schedule), tmp_path / "x.plan", connections=connection_entries(schedule)
    )
    two = tmp_path / "two.toml"
    blocks = ("first", "alltoall:size=700", 3), ("second", "shift:size=10", 2)
    blocks = *blocks, ("twice", "shift:by=2,size=9", 1), ("twice", "alltoall:size=8", 2)
    two.write_text(
        "\n".join(
            f'[[block]]\nname = "{name}"\npattern = "{text}"\nrepeat = {repeat}'
            for name, text, repeat in blocks
        )
    )
    options = CompileOptions(method="lp")
    program = compile_program(read_program(two, machine, options), machine, options)
    write_plan_file(
        make_plan(program), tmp_path / "two.plan", connections=connection_entries(program)
    )
    run(
        compiler("mpicc"),
        *(
            "-std=c99",
            *STRICT,
            str(SOURCES / "connections.c"),
            *flags(library),
            "-o",
            str(tmp_path / "connections"),
        ),
    )
    source = np.repeat(np.arange(4), 2)
    twice = Pattern.from_messages(source, (source + 1) % 4, [8000] * 8, 4, ids=70 - np.arange(8))
    schedule = compile_pattern(twice, machine, CompileOptions(method="naive"))
    write_plan_file(None, tmp_path / "twice.plan", connections=connection_entries(schedule))
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    files = [str(tmp_path / name) for name in ("connections", "x.plan", "twice.plan", "two.plan")]
    command = [*find_launcher(), "-n", "4", *files]
    assert program.stages[0].turns
    assert make_plan(program).phases < program.phases  # some share a context
    steps = [
        f"{block} {repetition} {phase}\n"
        for block, stage in enumerate(program.stages)
        for repetition in range(stage.repeat)
        for phase in sorted(
            range(program.schedules[stage.schedule].phases),
            reverse=stage.turns and repetition % 2 == 1,
        )
    ]
    assert run(*command, environment=root) == "".join([*steps, "right\n"])


@pytest.mark.parametrize(
    ("name", "language"), [("mpicc", ("c", "c99")), ("mpicxx", ("c++", "c++17"))]
)
def test_the_header_is_clean(library: CLibrary, name: str, language: tuple[str, str]) -> None:
    if not shutil.which("c++"):
        pytest.skip("there is no C++ compiler")
    language_flags = ["-x", language[0], f"-std={language[1]}", "-fsyntax-only"]
    assert (
        run(compiler(name), *language_flags, *STRICT, library.cflags, str(SOURCES / "header.cpp"))
        == ""
    )


def test_a_project_with_cmake_finds_the_library(library: CLibrary, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    cmake = shutil.which("cmake", path=path)
    if not cmake:
        pytest.skip("there is no cmake")
    found = [f"-Dconset_DIR={library.cmake}", f"-DCMAKE_C_COMPILER={compiler('mpicc')}"]
    run(cmake, "-S", str(SOURCES / "consumer"), "-B", str(tmp_path), *found)
    run(cmake, "--build", str(tmp_path))
    assert run(str(tmp_path / "version")) == f"{VERSION}\n"
