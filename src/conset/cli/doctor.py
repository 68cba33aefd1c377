"""`conset doctor`: what is installed or missing, whether MPI starts ranks, and how to mend it."""

from __future__ import annotations

import platform
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated

from conset.base import ConsetError
from conset.cli.options import JsonOption, opt
from conset.cli.output import console, print_json, progress
from conset.execution import explain_end, find_job, find_launcher, start_job
from conset.report import checks_text
from conset.schedule import Manifest

REQUIRED = ("numpy", "scipy", "pydantic", "typer", "rich", "jinja2")
EXTRAS = {
    "mpi4py": ("mpi", "conset run"),
    "pymetis": ("mesh", "meshes and graphs, --parts"),
    "meshio": ("mesh", "meshes"),
    "matplotlib": ("draw", "pictures, show -o"),
}
"""Optional libraries: the extra that brings each, and what it is for."""
TIMEOUT_S = 60.0
"""Two ranks take a second; on a machine that is busy many."""
_JOB = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank + 1)
name, version = MPI.get_vendor()
if comm.rank == 0:
    print("ranks", comm.size, "sum", total, "of", name, ".".join(map(str, version)))
"""
_SAID = re.compile(r"^ranks (\d+) sum (\d+) of (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """One line.

    Attributes:
        name: library or program.
        ok: present and working.
        detail: version, path, or what is wrong.
        fix: the command that brings it; empty where nothing is missing.
        required: whether conset cannot work without it.
        purpose: what it is for.
        broken: whether it is there and does not work.
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = False
    purpose: str = ""
    broken: bool = False


def command(
    deep: Annotated[bool, opt("--deep", "Import every library, which takes seconds.")] = False,
    mpiexec: Annotated[
        str | None,
        opt("--mpiexec CMD", "Another launcher of the ranks than the wheel's."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List what is installed, what is missing, and the command that installs it.

    Start two MPI ranks.
    """
    checks = [check_python(), *check_libraries(deep), check_core(), check_launcher(mpiexec)]
    if checks[-1].ok:
        with progress(f"starting 2 ranks, at most {TIMEOUT_S:g} s"):
            checks.append(check_job(mpiexec))
    ok = all(check.ok for check in checks if check.required)
    rows = [asdict(check) for check in checks]
    if json:
        body = {"ok": ok, "complete": all(check.ok for check in checks), "checks": rows}
        print_json(
            "conset/doctor@1",
            body,
            Manifest(command="conset doctor --deep" if deep else "conset doctor"),
        )
    console(json).print(checks_text(rows))


def check_python() -> Check:
    """The interpreter is new enough, or this would not run."""
    return Check(
        "python",
        sys.version_info >= (3, 11),
        platform.python_version(),
        "Python 3.11 or newer",
        True,
    )


def check_libraries(deep: bool = False) -> list[Check]:
    """Required libraries, then those of extras; `deep` imports them."""
    required = [
        _library(name, deep, "pip install --force-reinstall conset", required=True)
        for name in REQUIRED
    ]
    extras = [
        _library(name, deep, f"pip install 'conset[{extra}]'", what)
        for name, (extra, what) in EXTRAS.items()
    ]
    return required + extras


def _library(
    name: str, deep: bool, fix: str, purpose: str = "", *, required: bool = False
) -> Check:
    try:
        version = metadata.version(name)
        if deep:
            # mpi4py alone loads no MPI; `check_job` does, in processes of its own
            import_module(name)
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed", fix, required, purpose)
    except Exception as error:
        detail = f"installed, but its import fails: {_line(error)}"
        return Check(name, False, detail, fix, required, purpose, broken=True)
    return Check(name, True, version, "", required, purpose)


def check_core() -> Check:
    """The compiled core.

    It comes with the package, so a compiler is needed to build a wheel, never to run.
    """
    try:
        from conset import _core  # noqa: F401
    except ImportError as error:
        return Check("C++ core", False, _line(error), "pip install --force-reinstall conset", True)
    return Check("C++ core", True, "built; no compiler is needed to run", "", True)


def check_launcher(mpiexec: str | None = None) -> Check:
    """The `mpiexec` of an MPI wheel, as `conset run` finds it, or another one."""
    try:
        return Check("mpiexec", True, " ".join(find_launcher(mpiexec)), purpose="conset run")
    except ConsetError as error:
        detail = "none of an MPI wheel" if mpiexec is None else _line(error)
        return Check("mpiexec", False, detail, "pip install 'conset[mpi]'", purpose="conset run")


def check_job(mpiexec: str | None = None) -> Check:
    """Starts two ranks that add up their numbers."""
    job = find_job()
    if job is not None:
        return _job_fails(
            f"not tried: this is rank {job[0]} of an MPI job", "run conset doctor outside of a job"
        )
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            ended = start_job(
                find_launcher(mpiexec), 2, ["-c", _JOB], folder=Path(folder), timeout_s=TIMEOUT_S
            )
    except ConsetError as error:
        return _job_fails(_line(error))
    said = _SAID.findall(ended.out)
    if ended.timed_out or ended.status != 0 or not said:
        return _job_fails(_line(explain_end(ended, TIMEOUT_S)))
    ranks, total, library = said[0]
    if ranks != "2":
        return _job_fails(
            f"every rank is alone: the launcher is not of the library that mpi4py loads ({library})"
        )
    if total != "3":
        return _job_fails(f"{library}: the sum of 1 and 2 over 2 ranks is {total}")
    return Check(
        "2 MPI ranks", True, f"{library}: started, added up and ended", purpose="conset run"
    )


def _job_fails(detail: str, fix: str = "") -> Check:
    fix = fix or (
        "pip install --force-reinstall 'conset[mpi]', or name a launcher: conset doctor "
        "--mpiexec CMD"
    )
    return Check("2 MPI ranks", False, detail, fix, purpose="conset run", broken=True)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
