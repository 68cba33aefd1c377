"""Rows: a complete exchange inside every row of the network."""

from __future__ import annotations

from conset.pattern.generators.grid import grid_of, partners_in_lines
from conset.pattern.generators.partners import Partners, Setting


def generate_rows(setting: Setting, *, sides: tuple[int, ...]) -> Partners:
    """Everybody with everybody on the same line of the last dimension (x); all ranks of these nodes take part."""
    grid = grid_of(setting, "rows", sides)
    return partners_in_lines(grid, len(grid.sides) - 1, "rows")
