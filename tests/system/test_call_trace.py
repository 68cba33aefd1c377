"""The way of a compile through the package: how many functions it passes, and how deep it goes.

Reading the parameters of a plain compile must stay small beside the compile itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import conset

ROOT = str(Path(conset.__file__).parent)
MAX_FUNCTIONS, MAX_FILES, MAX_DEPTH = 86, 27, 12


def compile_again() -> conset.Schedule:
    return conset.compile("alltoall", "mesh:4x4", method="first-fit", sync="barrier")


def traced(call: Callable[[], object]) -> tuple[set[CodeType], int]:
    """Functions of the package that a call passes through, comprehensions too, and its depth."""
    passed: set[CodeType] = set()
    depth = deepest = 0

    def look(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth, deepest
        if event in ("call", "return") and frame.f_code.co_filename.startswith(ROOT):
            passed.add(frame.f_code)
            depth += 1 if event == "call" else -1
            deepest = max(deepest, depth)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return passed, deepest


def test_a_plain_compile_passes_through_few_functions() -> None:
    """In an interpreter of its own: what other tests loaded or cached is no part of the path."""
    here = Path(__file__)
    program = f"import {here.stem} as trace; trace.print_figures()"
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=here.parent, capture_output=True, text=True, check=True
    )
    functions, files, depth = map(int, found.stdout.split())
    assert 20 < functions <= MAX_FUNCTIONS
    assert files <= MAX_FILES
    assert 5 < depth <= MAX_DEPTH


def print_figures() -> None:
    compile_again()
    passed, depth = traced(compile_again)
    print(len(passed), len({code.co_filename for code in passed}), depth)  # noqa: T201
