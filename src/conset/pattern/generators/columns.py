"""Columns: a complete exchange inside every column of the network."""

from __future__ import annotations

from conset.pattern.generators.grid import describe_network, grid_of, partners_in_lines
from conset.pattern.generators.partners import Partners, Setting, require


def generate_columns(setting: Setting, *, sides: tuple[int, ...]) -> Partners:
    """Everybody with everybody on the same line of the dimension before the last (y): a column of a matrix.

    Raises:
        InputError: fewer than two sides.
    """
    grid = grid_of(setting, "columns", sides)
    require(len(grid.sides) >= 2, "columns", "at least two sides", describe_network(setting))
    return partners_in_lines(grid, len(grid.sides) - 2, "columns")
