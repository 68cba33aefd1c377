"""Programs of blocks for tests of connections, and a schedule whose messages are split."""

from __future__ import annotations

import numpy as np

from conset.compilation.options import CompileOptions
from conset.compilation.programs import BlockSpec, compile_program
from conset.machine.costs import Limits
from conset.machine.spec import parse_machine
from conset.pattern.pattern import Pattern
from conset.pattern.spec import parse_pattern
from conset.schedule.program import Program
from conset.schedule.schedule import Schedule

MESH = parse_machine("mesh:2x2")


def program_of_blocks() -> Program:
    """A shift of four repetitions, a complete exchange that turns and the shift again, on a
    torus of 4 × 2."""
    machine = parse_machine("torus:4x2")
    options = CompileOptions(method="connections", limits="channels=3")
    blocks = [
        BlockSpec(name, parse_pattern(spec, ranks=8), repeat, options)
        for name, spec, repeat in (
            ("halo", "shift:by=1,size=24", 4),
            ("all\nto all", "alltoall:size=16", 2),
            ("again", "shift:by=1,size=24", 1),
        )
    ]
    return compile_program(blocks, machine, CompileOptions())


def split_schedule() -> Schedule:
    """Messages in parts, of which several are in one phase, with a timetable that starts them in
    another order."""
    pattern = Pattern.from_messages([0, 0, 1, 2], [1, 2, 0, 0], [10, 6, 7, 9], 4)
    rows = [
        (0, 0, 4, 3.0),
        (0, 2, 7, 1.0),
        (0, 0, 6, 0.5),
        (1, 1, 6, 0.0),
        (1, 3, 4, 0.0),
        (1, 3, 5, 2.0),
    ]
    phase, message, part, start = (np.array(column) for column in zip(*rows, strict=True))
    table = np.column_stack((start, start + 1)) * 1e-6
    offsets = np.searchsorted(phase, np.arange(3))
    return Schedule(
        pattern,
        MESH,
        "naive",
        Limits(),
        offsets,
        message,
        part,
        np.array([3, 1, 0, 2]),
        timetable=table,
    )
