"""Programs in C and C++: compiled with the MPI wheel's compilers, and run."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from conset.cli.config import find_c_library
from conset.execution.job import JobEnd, find_launcher, start_job

_EXEC = ("-I", "-S", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])")
"""`start_job` starts Python."""


def find_compiler(name: str) -> Path:
    """`mpicc` or `mpicxx` of the wheel whose launcher is used.

    Skips the test where there is none.
    """
    compiler = Path(find_launcher()[0]).with_name(name)
    if not compiler.exists() or not shutil.which("c++" if name == "mpicxx" else "cc"):
        pytest.skip(f"no {name}: the MPI wheel brings none, or there is no compiler behind it")
    return compiler


def compile_program(
    source: Path, program: Path, compiler: str | None = None, *options: str
) -> Path:
    """Compiles with warnings as errors."""
    name = compiler or ("mpicxx" if source.suffix == ".cpp" else "mpicc")
    standard = "-std=c++17" if source.suffix == ".cpp" else "-std=c99"
    library = find_c_library()
    command = [
        str(find_compiler(name)),
        standard,
        "-D_DEFAULT_SOURCE",
        "-O0",
        "-Wall",
        "-Wextra",
        "-Werror",
        *options,
    ]
    command += [
        *shlex.split(library.cflags),
        str(source),
        "-o",
        str(program),
        *shlex.split(library.libs),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return program


def run_program(
    program: Path, *words: object, folder: Path, ranks: int = 4, timeout_s: float = 120
) -> JobEnd:
    """Runs it on ranks of the wheel's MPI."""
    command = [*_EXEC, str(program), *map(str, words)]
    return start_job(find_launcher(), ranks, command, folder=folder, timeout_s=timeout_s)
