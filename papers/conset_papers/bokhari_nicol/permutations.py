"""Permutations of a mesh.

As the text prints them (row,column of each target) and as phases of a schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import conset
from conset.pattern.pattern import Pattern
from conset.schedule.loads import phase_loads
from conset.schedule.schedule import Schedule
from conset_papers.grids import IDLE
from conset_papers.item import read_published


@dataclass(frozen=True, eq=False)
class PrintedRow:
    """A row of a printed permutation.

    Attributes:
        permutation: its number in the figure; 1 where there is one.
        row: from the top.
        target: shape=(columns printed, 2): row and column each node sends to, from the left.
    """

    permutation: int
    row: int
    target: NDArray[np.int64]

    @property
    def columns(self) -> NDArray[np.int64]:
        """The columns that send: a tile's own targets, as the scan lost the blanks between them."""
        return np.sort(self.target[:, 1])

    def nodes(self, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(senders, receivers), row-major."""
        return self.row * side + self.columns, self.target[:, 0] * side + self.target[:, 1]

    @property
    def label(self) -> str:
        """As printed."""
        return "  ".join(f"{row},{column}" for row, column in self.target)


def printed_rows(figure: str) -> list[PrintedRow]:
    """The readable rows of `published/<figure>.csv`."""
    rows = []
    for row in read_published("bokhari_nicol", figure):
        target = np.array(
            [[int(part) for part in cell.split(",")] for cell in row["targets"].split()], np.int64
        )
        rows.append(PrintedRow(int(row.get("permutation", 1)), int(row["row"]), target))
    return rows


def is_tile(source: NDArray[np.int64], target: NDArray[np.int64], side: int) -> bool:
    """Whether a map of coordinates is a cycle u → v → n-1-u → n-1-v → u or back.

    Twice it is the reflection.
    """
    step = dict(zip(source.tolist(), target.tolist(), strict=True))
    closed = len(step) == 4 and set(step) == set(step.values())
    return closed and all(step[x] != x and step[step[x]] == side - 1 - x for x in step)


def phase_matrix(schedule: Schedule) -> NDArray[np.int64]:
    """shape=(nodes, nodes): the phase in which a node sends to another; -1 on the diagonal."""
    nodes = schedule.machine.topology.nodes
    phase = np.full((nodes, nodes), -1, np.int64)
    phase[schedule.source_node, schedule.target_node] = schedule.phase_of
    return phase


def grid_of(schedule: Schedule, phase: int) -> NDArray[np.int64]:
    """shape=(side, side): the target of every node in a phase, `IDLE` where it does not send."""
    return grid_from(
        schedule.source_node[schedule.phase(phase)],
        schedule.target_node[schedule.phase(phase)],
        schedule.machine.topology.sides[0],
    )


def grid_from(
    source: NDArray[np.integer], target: NDArray[np.integer], side: int
) -> NDArray[np.int64]:
    """shape=(side, side): the target of every node, `IDLE` where it does not send."""
    grid = np.full(side * side, IDLE, np.int64)
    grid[source] = target
    return grid.reshape(side, side)


def largest_loads(grid: NDArray[np.int64]) -> tuple[int, int]:
    """(most messages at a port, on a link) of a permutation alone, over the mesh's routes."""
    side = grid.shape[0]
    source = np.flatnonzero(grid.ravel() >= 0)
    pattern = Pattern.from_messages(
        source, grid.ravel()[source], np.ones(source.size, np.int64), side * side
    )
    loads = phase_loads(conset.compile(pattern, f"mesh:{side}x{side}", method="naive"))
    return int(max(loads.send.max(initial=0), loads.receive.max(initial=0))), int(
        loads.link.max(initial=0)
    )
