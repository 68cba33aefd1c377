"""Runs what sets the environment up and shows its progress.

Beforehand what it will take, and on a terminal how far the compiler is.

    python tools/set_up.py VENV/bin/python

Nothing but the standard library is there yet. The compiler writes a line for every file that is
done into `build/*/.ninja_log`; how many files there are, the sources say.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
TOOLS = ("scikit-build-core>=0.10", "nanobind>=2.4", "cmake>=3.26", "ninja>=1.11")
"""What builds stays in the environment.

In one that pip makes for each build all is compiled again.
"""
PACKAGES = ("--no-build-isolation", "-e", ".[all,test]", "-e", "./papers")
"""conset itself, and the papers that `conset reproduce` makes again."""
FILE_S = 1.5
"""Of one core, for a file of C++, in the mean of all: measured on a core of a small server [s]."""
LIBRARIES_S = 45.0
"""To download and install what is needed [s]."""
BESIDE = 20
"""Files and links that a build has beside the sources: nanobind, libraries, programs."""
LOOK_S = 0.5


def main(python: str) -> int:
    """The exit code of the first command that fails."""
    sources = [
        path
        for name in ("src", "bindings", "capi", "testbed")
        for path in (ROOT / "cpp" / name).rglob("*.cpp")
    ]
    files, cores = len(sources) + BESIDE, len(os.sched_getaffinity(0))
    left = max(files - compiled(), 0)
    expected_s = LIBRARIES_S + left * FILE_S / cores
    what = (
        f"{left} of {files} files of C++ to compile on {cores} cores"
        if left
        else "what has changed of C++"
    )
    print(
        f"setting up {Path(python).parents[1].name}: libraries, {what}; about "
        f"{duration(expected_s)}",
        flush=True,
    )
    for words in (("--upgrade", "pip"), TOOLS, PACKAGES):
        code = watch([python, *PIP, *words], files, expected_s)
        if code:
            return code
    return 0


def compiled() -> int:
    """Files that a build has done."""
    logs = (ROOT / "build").glob("*/.ninja_log")
    return max((len({line.split("\t")[3] for line in lines(log)}) for log in logs), default=0)


def lines(log: Path) -> list[str]:
    """The entries of a log."""
    try:
        return [line for line in log.read_text().splitlines() if line.count("\t") == 4]
    except OSError:
        return []


def watch(command: list[str], files: int, expected_s: float) -> int:
    """Runs a command; its exit code. What is done is said on a terminal."""
    began, before = time.monotonic(), compiled()
    with subprocess.Popen(command, cwd=ROOT) as process:
        while True:
            try:
                code = process.wait(LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if sys.stderr.isatty():
                    say(compiled(), before, files, time.monotonic() - began, expected_s)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return code


def say(done: int, before: int, files: int, gone_s: float, expected_s: float) -> None:
    """How far it is, in one line that the next one takes the place of."""
    text = f"{gone_s:.0f} s of about {expected_s:.0f} s"
    if done > before:
        left_s = gone_s / (done - before) * max(files - done, 0)
        text = (
            f"{min(done, files)} of {files} files of C++ compiled, {gone_s:.0f} s, about "
            f"{duration(left_s)} left"
        )
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """`40 s`, `3 min`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
