"""`conset doctor`: what is installed, what is missing, and the command that brings it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from conset.cli.options import JsonOption

SCHEMA = "conset/doctor@1"
REQUIRED = ("numpy", "scipy", "pydantic", "typer", "rich")
EXTRAS = {
    "mpi4py": ("mpi", "conset run"),
    "pymetis": ("mesh", "meshes and graphs, --parts"),
    "meshio": ("mesh", "meshes"),
    "matplotlib": ("draw", "pictures, show -o"),
}
"""Optional libraries: the extra that brings each, and what it is for."""
TIMEOUT_S = 60.0
_JOB = "from mpi4py import MPI; c = MPI.COMM_WORLD; assert c.allreduce(c.rank) == 1; c.rank or print('sum', c.size)"


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
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = False
    purpose: str = ""


DeepOption = Annotated[bool, typer.Option("--deep", help="Import every library and start a job of two MPI ranks.")]


def command(deep: DeepOption = False, json: JsonOption = False) -> None:
    """List what is installed, what is missing, and the command that installs it."""
    from conset.cli.output import console, print_json
    from conset.report.catalogue import checks_text
    from conset.schedule.manifest import Manifest

    checks = [check_python(), *check_libraries(deep), check_core(), check_launcher()]
    if deep:
        checks.append(check_job())
    ok = all(check.ok for check in checks if check.required)
    rows = [asdict(check) for check in checks]
    if json:
        body = {"ok": ok, "complete": all(check.ok for check in checks), "checks": rows}
        print_json(SCHEMA, body, Manifest(command="conset doctor --deep" if deep else "conset doctor"))
    console(json).print(checks_text(rows))


def check_python() -> Check:
    """The interpreter is new enough, or this would not run."""
    import platform
    import sys

    return Check("python", sys.version_info >= (3, 11), platform.python_version(), "Python 3.11 or newer", True)


def check_libraries(deep: bool = False) -> list[Check]:
    """Required libraries, then those of extras; `deep` imports them."""
    required = [_library(name, deep, "pip install --force-reinstall conset", required=True) for name in REQUIRED]
    extras = [_library(name, deep, f"pip install 'conset[{extra}]'", what) for name, (extra, what) in EXTRAS.items()]
    return required + extras


def _library(name: str, deep: bool, fix: str, purpose: str = "", *, required: bool = False) -> Check:
    from importlib import import_module, metadata

    try:
        version = metadata.version(name)
        if deep:
            # mpi4py alone loads no MPI; `check_job` does, in processes of its own
            import_module(name)
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed", fix, required, purpose)
    except Exception as error:
        return Check(name, False, f"installed, but its import fails: {_line(error)}", fix, required, purpose)
    return Check(name, True, version, "", required, purpose)


def check_core() -> Check:
    """The compiled core; it comes with the package, so a compiler is needed to build a wheel, never to run."""
    try:
        from conset import _core  # noqa: F401
    except ImportError as error:
        return Check("C++ core", False, _line(error), "pip install --force-reinstall conset", True)
    return Check("C++ core", True, "built; no compiler is needed to run", "", True)


def check_launcher() -> Check:
    """The `mpiexec` of an MPI wheel, as `conset run` finds it."""
    from conset.errors import ConsetError
    from conset.execution.launcher import find_launcher

    try:
        return Check("mpiexec", True, " ".join(find_launcher()), purpose="conset run")
    except ConsetError:
        return Check("mpiexec", False, "none of an MPI wheel", "pip install 'conset[mpi]'", purpose="conset run")


def check_job() -> Check:
    """Starts two ranks that add up their numbers."""
    import tempfile
    from pathlib import Path

    from conset.errors import ConsetError
    from conset.execution.launcher import find_launcher, start_job

    fix = "pip install --force-reinstall 'conset[mpi]', or name a launcher: conset run --mpiexec CMD"
    try:
        with tempfile.TemporaryDirectory() as folder:
            ended = start_job(find_launcher(), 2, ["-c", _JOB], folder=Path(folder), timeout_s=TIMEOUT_S)
    except ConsetError as error:
        return Check("job of 2 ranks", False, _line(error), fix, purpose="conset run")
    if ended.timed_out:
        return Check("job of 2 ranks", False, f"did not end within {TIMEOUT_S:g} s", fix, purpose="conset run")
    if ended.status != 0 or "sum 2" not in ended.out:
        last = next((line for line in reversed((ended.out + ended.err).splitlines()) if line.strip()), "no output")
        return Check("job of 2 ranks", False, f"status {ended.status}: {last.strip()}", fix, purpose="conset run")
    return Check("job of 2 ranks", True, "started, added up and ended", purpose="conset run")


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
