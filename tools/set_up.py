"""Set up the environment: install libraries, compile the C++ core, and show progress on stderr.

    python tools/set_up.py VENV/bin/python

Only the standard library is available yet. Ninja writes the files to compile into
`build/*/build.ninja` and a line for every finished one into `.ninja_log`; progress is read from
both.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
TOOLS = ("scikit-build-core>=0.10", "nanobind>=2.4", "cmake>=3.26", "ninja>=1.11")
"""Build tools, kept in the environment: an isolated build would compile everything again."""
CORE = ("--no-build-isolation", "--no-deps", "-e", ".")
"""conset itself: pip compiles the C++ core."""
PAPERS = ("--no-build-isolation", "--no-deps", "-e", "./papers")
"""The reproduction of the papers, for `conset reproduce`."""
EXTRAS = ("all", "test")
"""Optional dependencies of conset that are installed."""
COMPILE_S = 240.0
"""CPU time to compile everything, measured on a core of a small server [s]."""
LIBRARIES_S = 45.0
"""Time to download and install the libraries [s]."""
POLL_S = 0.5
"""Interval between two looks at the build [s]."""
REPORT_S = 20.0
"""Interval between two lines of progress where stderr is no terminal [s]."""


def main(python: str) -> int:
    """Install tools, then libraries beside the core; return the first code not 0, else 0."""
    cores = len(os.sched_getaffinity(0))
    work_s = LIBRARIES_S + (0.0 if compiled()[0] else COMPILE_S)
    expected_s = max(LIBRARIES_S, work_s / cores)
    print(
        f"setting up {Path(python).parents[1].name}: libraries and the C++ core on {cores} cores; "
        f"about {duration(expected_s)}",
        flush=True,
    )
    began = time.monotonic()
    for at_once in ((("--upgrade", "pip"),), (TOOLS,), (CORE, tuple(libraries())), (PAPERS,)):
        code = watch([[python, *PIP, *arguments] for arguments in at_once], began)
        if code:
            return code
    return 0


def libraries() -> list[str]:
    """Return the requirements of conset and of its EXTRAS, extras of conset among them resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found, wanted = list(project["dependencies"]), list(EXTRAS)
    while wanted:
        for requirement in project["optional-dependencies"][wanted.pop()]:
            own = re.fullmatch(r"conset\[(.*)\]", requirement)
            if own:
                wanted += own[1].split(",")
            else:
                found.append(requirement)
    return found


def compiled() -> tuple[int, int]:
    """Return the number of object files that the newest build has finished, and of all."""
    plans = sorted((ROOT / "build").glob("*/build.ninja"), key=lambda plan: plan.stat().st_mtime)
    if not plans:
        return 0, 0
    objects = set(re.findall(r"^build (\S+\.o): ", plans[-1].read_text(), re.MULTILINE))
    try:
        log = plans[-1].with_name(".ninja_log").read_text()
    except OSError:
        return 0, len(objects)
    return len(objects & set(re.findall(r"\t(\S+\.o)\t", log))), len(objects)


def watch(commands: list[list[str]], began: float) -> int:
    """Run commands side by side, show how far the compilation is; return the first code not 0."""
    terminal = sys.stderr.isatty()
    shown = time.monotonic()
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(subprocess.Popen(each, cwd=ROOT)) for each in commands]
        while any(process.poll() is None for process in started):
            time.sleep(POLL_S)
            now = time.monotonic()
            if terminal:
                print(f"\r\x1b[K{progress(now - began)}", end="", file=sys.stderr, flush=True)
            elif now - shown >= REPORT_S:
                shown = now
                print(progress(now - began), file=sys.stderr, flush=True)
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return next((process.returncode for process in started if process.returncode), 0)


def progress(elapsed_s: float) -> str:
    """Return one line: compiled files of all, and the time since the start."""
    done, total = compiled()
    what = f"{done} of {total} C++ files compiled" if total else "installing libraries"
    return f"{what}, {elapsed_s:.0f} s"


def duration(seconds: float) -> str:
    """Return a time as text: `40 s`, `3 min`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
