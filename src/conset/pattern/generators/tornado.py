"""Tornado: nearly half-way round every side, the pattern that loads one direction of a torus."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.grid import Grid, box_of
from conset.pattern.generators.partners import Partners, Setting, partners_of_map


def generate_tornado(setting: Setting) -> Partners:
    """Coordinate x of a side of k places goes to (x + ⌈k/2⌉ - 1) mod k, on all sides at once.

    On the network's sides where it is a box with one above 2 that the ranks fill evenly (number k of a node sends to
    number k); else over the ranks as one cycle.
    """
    grid = box_of(setting)
    if grid is None or max(grid.sides) <= 2:
        grid = Grid((setting.ranks,), True, 1)
    sides = np.array(grid.sides)[:, None]
    at = np.stack(np.unravel_index(np.arange(grid.nodes), grid.sides))
    node = np.ravel_multi_index(tuple((at + (sides + 1) // 2 - 1) % sides), grid.sides)
    target = node[:, None] * grid.per_node + np.arange(grid.per_node)
    return partners_of_map(target.ravel())
