"""Draws `stages.svg` and `tradeoff.svg`, pictures of combined messages.

`python docs/pictures/stages.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conset.compilation.combining import compile_along
from conset.compilation.options import CompileOptions
from conset.machine.spec import parse_machine
from conset.methods.paths.table import parse_combine, paths_of
from conset.pattern.spec import parse_pattern
from conset.report.program_pictures import picture_message
from conset.report.style import save
from conset.report.sweeps import tradeoff_section
from conset.schedule.schedule import Manifest
from conset.studies.compare.comparison import compare_stages

NAIVE = CompileOptions(method="naive")


def draw_stages(folder: Path) -> None:
    """A complete exchange of 16 ranks along rows, then columns."""
    machine = parse_machine("mesh:4x4")
    pattern = parse_pattern("alltoall:size=8", topology=machine.topology, ranks=16)
    paths = paths_of(parse_combine("4x4"), pattern, machine)
    program, _ = compile_along(paths, machine, NAIVE, None, Manifest())
    save(lambda: picture_message(program), folder / "stages.svg")


def draw_trade(folder: Path) -> None:
    """The complete exchange on an 8×8 Paragon, by the model `flow`."""
    machine = parse_machine("paragon:8x8")
    pattern = parse_pattern("alltoall", topology=machine.topology, ranks=64)
    rows = compare_stages(pattern, machine, NAIVE, sizes=(8, 32, 128, 512, 2048, 8192), by="flow")
    section = tradeoff_section(rows, pattern.name, machine.name)
    save(section.draws[0], folder / "tradeoff.svg")


if __name__ == "__main__":
    where = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent
    draw_stages(where)
    draw_trade(where)
