"""Stencil: every rank sends to all places around it, diagonals included."""

from __future__ import annotations

from itertools import product

import numpy as np

from conset.pattern.generators.grid import grid_of, partners_of_nodes
from conset.pattern.generators.partners import Partners, Setting, require_messages


def generate_stencil(setting: Setting, *, reach: int, sides: tuple[int, ...]) -> Partners:
    """To every place whose coordinates all differ by at most `reach`: (2 reach + 1)^n - 1 of them in n dimensions.

    Wraps around where the network does, stops at the border of a mesh. A place that several steps reach on a short
    cycle is one partner.
    """
    grid = grid_of(setting, "stencil", sides)
    steps = [_steps(side, reach, grid.wraps) for side in grid.sides]
    require_messages(grid.nodes * (int(np.prod([len(s) for s in steps], dtype=object)) - 1), "stencil")
    at = np.stack(np.unravel_index(np.arange(grid.nodes), grid.sides))
    side = np.array(grid.sides)[:, None]
    sources, targets = [], []
    for step in product(*steps):
        moved = at + np.array(step)[:, None]
        if grid.wraps:
            moved %= side
        inside = np.flatnonzero(((moved >= 0) & (moved < side)).all(axis=0))
        sources.append(inside)
        targets.append(np.ravel_multi_index(tuple(moved[:, inside]), grid.sides))
    return partners_of_nodes(grid.nodes, grid.per_node, np.concatenate(sources), np.concatenate(targets))


def _steps(side: int, reach: int, wraps: bool) -> list[int]:
    """The steps along one side that can matter: all residues of a cycle at most, the length of a path at most."""
    if wraps and 2 * reach + 1 >= side:
        return list(range(side))
    reach = min(reach, side - 1)
    return list(range(-reach, reach + 1))
