"""One exchange of each kind that conset has, executed by its library on a contended network.

Every byte checked.

    python benchmarks/testbed_exchanges.py [--fabric credit] [--rate 20mbit]

A 4 x 4 torus of namespaces: schedules under every policy, a program of blocks as one schedule and
through connections in Python and C, a program that forwards, exchanges scheduled inside the program
in Python, C and, where compilers are there, Fortran. What is wrong ends the script with code 1;
what cannot be had is skipped with the reason.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import conset
import conset_testbed
from conset.cli.config import find_c_library
from conset.cli.main import run as run_command
from conset.execution.job import find_launcher, start_job
from conset.execution.run import RunResult, run_compiled

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
NETWORK, RANKS = "torus:4x4", 16
TIMEOUT_S = 120.0
_EXEC = ("-I", "-S", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])")
"""`start_job` starts Python."""


class SkippedError(Exception):
    """What an exchange needs is not there."""


@dataclass
class Place:
    """Where exchanges are executed.

    Attributes:
        mpiexec: on the testbed.
        folder: for files.
    """

    mpiexec: str
    folder: Path


def described(result: RunResult) -> str:
    """What a run found; a wrong byte is an error."""
    if result.mismatches:
        raise AssertionError(f"{result.mismatches} wrong bytes: {'; '.join(result.wrong)}")
    times = ", ".join(f"{name} {result.median_of(name) * 1e3:.0f} ms" for name in result.variants)
    return f"{result.bytes_checked:,} bytes right; {times}"


def schedule(sync: str) -> Callable[[Place], str]:
    """A compiled schedule under a policy."""

    def execute(place: Place) -> str:
        made = conset.compile(
            "alltoall:size=4KiB", NETWORK, contention=1, objective="phases", sync=sync
        )
        return described(run_compiled(made, repeat=3, mpiexec=place.mpiexec, timeout=TIMEOUT_S))

    return execute


def forwarding(place: Place) -> str:
    """Small messages that travel together over two stages."""
    file = str(place.folder / "forwarding.json")
    command(["compile", "alltoall:size=256", "--on", NETWORK, "--combine", "4x4", "-o", file])
    return described(run_compiled(file, repeat=3, mpiexec=place.mpiexec, timeout=TIMEOUT_S))


def blocks(place: Place) -> str:
    """A transpose, a halo and a reduction, as one schedule and through connections."""
    result = run_compiled(_blocks(place), repeat=3, mpiexec=place.mpiexec, timeout=TIMEOUT_S)
    if result.unopened is not None:
        raise AssertionError(f"not through connections: {result.unopened}")
    return described(result)


def blocks_in_c(place: Place) -> str:
    """The same by a program in C, element by element through `conset_send_elements`."""
    file, plan = _blocks(place), str(place.folder / "blocks.plan")
    command(["plan", file, "-o", plan])
    program = compiled(EXAMPLES / "connections" / "three_blocks.c", place)
    return printed(place, [*_EXEC, str(program), plan, "3"])


def _blocks(place: Place) -> str:
    file = str(place.folder / "blocks.json")
    command(
        ["compile", str(EXAMPLES / "connections" / "program.toml"), "--on", "iwarp:4x4", "-o", file]
    )
    return file


def at_run_time(place: Place) -> str:
    """`alltoallv_init` and `neighbor_alltoallv_init` in Python, beside MPI's own."""
    return printed(place, ["-m", "mpi4py", str(Path(__file__).with_name("testbed_rank.py"))])


def at_run_time_in_c(place: Place) -> str:
    """`conset_alltoallv_init` of libconset."""
    program = compiled(EXAMPLES / "c" / "alltoallv.c", place)
    return printed(place, [*_EXEC, str(program), f"machine={NETWORK};timeout=60s"])


def at_run_time_in_fortran(place: Place) -> str:
    """The same through the module `conset`."""
    compiler = Path(find_launcher()[0]).with_name("mpif90")
    if not compiler.exists() or not shutil.which("gfortran"):
        raise SkippedError("no mpif90 beside the launcher, or no gfortran behind it")
    library = find_c_library()
    sources = library.prefix / "share" / "conset" / "fortran"
    program, border = place.folder / "fortran", place.folder / "conset_f.o"
    shell(
        [
            str(compiler.with_name("mpicc")),
            *shlex.split(library.cflags),
            "-c",
            str(sources / "conset_f.c"),
            "-o",
            str(border),
        ]
    )
    source = EXAMPLES / "fortran" / "alltoallv.f90"
    words = [
        str(compiler),
        "-J",
        str(place.folder),
        str(sources / "conset.f90"),
        str(source),
        str(border),
    ]
    shell([*words, *shlex.split(library.libs), "-o", str(program)])
    return printed(place, [*_EXEC, str(program)])


KINDS: dict[str, Callable[[Place], str]] = {
    **{f"schedule, {sync}": schedule(sync) for sync in ("none", "local", "ready", "barrier")},
    "program that forwards": forwarding,
    "program of blocks": blocks,
    "program of blocks, C": blocks_in_c,
    "run time, Python": at_run_time,
    "run time, C": at_run_time_in_c,
    "run time, Fortran": at_run_time_in_fortran,
}


def compiled(source: Path, place: Place) -> Path:
    """A program in C with the compiler of the wheel's MPI."""
    compiler = Path(find_launcher()[0]).with_name("mpicc")
    if not compiler.exists() or not shutil.which("cc"):
        raise SkippedError("no mpicc beside the launcher, or no compiler behind it")
    library, program = find_c_library(), place.folder / source.stem
    words = [
        str(compiler),
        "-std=c99",
        "-D_DEFAULT_SOURCE",
        "-O1",
        *shlex.split(library.cflags),
        str(source),
    ]
    shell([*words, "-o", str(program), *shlex.split(library.libs), "-lm"])
    return program


def shell(words: list[str]) -> None:
    """A command that must end well."""
    import subprocess

    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{words[0]}: {done.stderr.strip()[:400]}")


def command(words: list[str]) -> None:
    """A command of conset that must end well, without what it says."""
    with _quiet():
        code = run_command(words)
    if code:
        raise AssertionError(f"conset {shlex.join(words)}: code {code}")


@contextmanager
def _quiet() -> Iterator[None]:
    from contextlib import redirect_stdout
    from io import StringIO

    with redirect_stdout(StringIO()):
        yield


def printed(place: Place, words: list[str]) -> str:
    """What a job prints that checks itself: its status, and no wrong value."""
    ended = start_job(
        shlex.split(place.mpiexec), RANKS, words, folder=place.folder, timeout_s=TIMEOUT_S
    )
    said = " ".join(ended.out.split())
    if ended.status != 0 or " 0 wrong" not in said:
        raise AssertionError(f"status {ended.status}: {said} {' '.join(ended.err.split())[:400]}")
    return said


def main() -> int:
    """Executes all kinds; 1 where one was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fabric", default="credit")
    parser.add_argument("--rate", default="20mbit")
    given = parser.parse_args()
    wrong = 0
    try:
        with (
            conset_testbed.bed(NETWORK, fabric=given.fabric, rate=given.rate, ttl_s=600) as bed,
            tempfile.TemporaryDirectory() as name,
        ):
            print(
                f"{bed.settings.title}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
                flush=True,
            )
            for what, execute in KINDS.items():
                began = time.monotonic()
                try:
                    said = execute(Place(bed.mpiexec, Path(name)))
                except SkippedError as reason:
                    said = f"skipped: {reason}"
                except (conset.ConsetError, AssertionError) as error:
                    said, wrong = f"WRONG: {error}", wrong + 1
                print(f"{what:<24}{said} ({time.monotonic() - began:.1f} s)", flush=True)
            lost = bed.stats().lost
            print(f"packets lost: {lost}")
    except conset_testbed.UnavailableError as error:
        print(f"no testbed: {error}")
        return 0
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
