"""Set up the environment: install libraries, compile the C++ core, and show progress on stderr.

    python tools/set_up.py VENV/bin/python

Only the standard library is available yet. Ninja writes the files to compile into
`build/*/build.ninja` and a line for every finished one into `.ninja_log`; progress is read from
both.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
TOOLS = ("scikit-build-core>=0.10", "nanobind>=2.4", "cmake>=3.26", "ninja>=1.11")
"""Build tools, kept in the environment: an isolated build would compile everything again."""
PACKAGES = ("--no-build-isolation", "-e", ".[all,test]", "-e", "./papers")
"""conset itself, and the reproduction of the papers for `conset reproduce`."""
COMPILE_S = 150.0
"""CPU time to compile everything, measured on a core of a small server [s]."""
LIBRARIES_S = 45.0
"""Time to download and install the libraries [s]."""
POLL_S = 0.5
"""Interval between two looks at the build [s]."""
REPORT_S = 20.0
"""Interval between two lines of progress where stderr is no terminal [s]."""


def main(python: str) -> int:
    """Run the three installations; return the exit code of the first that fails, else 0."""
    cores = len(os.sched_getaffinity(0))
    expected_s = LIBRARIES_S + (0.0 if compiled()[0] else COMPILE_S / cores)
    print(
        f"setting up {Path(python).parents[1].name}: libraries and the C++ core on {cores} cores; "
        f"about {duration(expected_s)}",
        flush=True,
    )
    began = time.monotonic()
    for arguments in (("--upgrade", "pip"), TOOLS, PACKAGES):
        code = watch([python, *PIP, *arguments], began)
        if code:
            return code
    return 0


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


def watch(command: list[str], began: float) -> int:
    """Run a command, show how far the compilation is, and return the exit code."""
    terminal = sys.stderr.isatty()
    shown = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT) as process:
        while True:
            try:
                code = process.wait(POLL_S)
                break
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                if terminal:
                    print(f"\r\x1b[K{progress(now - began)}", end="", file=sys.stderr, flush=True)
                elif now - shown >= REPORT_S:
                    shown = now
                    print(progress(now - began), file=sys.stderr, flush=True)
    if terminal:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return code


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
