"""Programs that forward, made by hand: a complete exchange along rows, then columns."""

from __future__ import annotations

import numpy as np

from conset.compilation.options import CompileOptions
from conset.compilation.pipeline import compile_placed
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths
from conset.schedule.program import Program
from conset.schedule.schedule import Manifest


def alltoall(ranks: int, size: int = 8) -> Pattern:
    """A complete exchange."""
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    return Pattern.from_messages(
        source, target, np.full(ranks * ranks, size), ranks, name="alltoall"
    )


def rows_then_columns(
    machine: Machine, sides: tuple[int, int], size: int = 8, method: str = "naive"
) -> Program:
    """Rank r of the grid in its row, then in the target's column.

    Stages by a method, all posted at once.
    """
    pattern = alltoall(sides[0] * sides[1], size)
    between = pattern.source // sides[1] * sides[1] + pattern.target % sides[1]
    paths = Paths(
        pattern, np.column_stack((pattern.source, between, pattern.target)).astype(np.int32)
    )
    options = CompileOptions(method=method, sync="none")
    schedules = [
        compile_placed(paths.bundles(j).pattern, machine, options, None, Manifest())
        for j in range(2)
    ]
    return Program.of_schedules(paths, schedules, "none", Manifest())
