"""Grid: the coordinates over which ranks exchange with rows, columns and stencils."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from conset.pattern.generators.partners import Partners, Setting, partners_of_pairs, require, require_messages
from conset.units import count_of


@dataclass(frozen=True)
class Grid:
    """Ranks on a box: rank `r` is number `r % per_node` on node `r // per_node`, nodes are row-major.

    Attributes:
        sides: nodes along each dimension.
        wraps: whether sides are cycles.
        per_node: ranks on each node.
    """

    sides: tuple[int, ...]
    wraps: bool
    per_node: int

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return prod(self.sides)


def describe_network(setting: Setting) -> str:
    """The network and the ranks, for an error: `16 ranks on hypercube 2x2x2`."""
    topology = setting.topology
    if topology is None:
        return f"{count_of(setting.ranks, 'rank')} and no network"
    sides = "x".join(str(side) for side in topology.sides) or f"of {topology.endpoints} endpoints"
    return f"{count_of(setting.ranks, 'rank')} on {topology.kind} {sides}"


def ranks_per_node(setting: Setting) -> int:
    """Ranks on each endpoint of the network, 0 where the ranks do not fill it evenly or there is none."""
    if setting.topology is None or setting.ranks % setting.topology.endpoints:
        return 0
    return setting.ranks // setting.topology.endpoints


def box_of(setting: Setting) -> Grid | None:
    """The network's own grid, or None where it is no mesh, torus or ring or the ranks do not fill it evenly."""
    topology = setting.topology
    if topology is None or not topology.is_box or not ranks_per_node(setting):
        return None
    return Grid(topology.sides, topology.wraps, ranks_per_node(setting))


def grid_of(setting: Setting, name: str, sides: tuple[int, ...]) -> Grid:
    """The grid a pattern lies on: `sides` where given (one rank a place), else the network's.

    Raises:
        InputError: the sides do not hold the ranks, or the network is no box that the ranks fill evenly.
    """
    if sides:
        shape = "x".join(str(side) for side in sides)
        require(
            prod(sides) == setting.ranks,
            name,
            f"sides that multiply to {setting.ranks} ranks",
            f"{shape} = {prod(sides)}",
        )
        return Grid(sides, setting.topology is not None and setting.topology.wraps, 1)
    box = box_of(setting)
    wanted = "sides= or a mesh, torus or ring whose nodes the ranks fill evenly"
    require(box is not None, name, wanted, describe_network(setting))
    return box or Grid((), False, 1)


def partners_of_nodes(
    grid_nodes: int, per_node: int, source: NDArray[np.integer], target: NDArray[np.integer]
) -> Partners:
    """Partners from pairs of nodes: rank number k of a node sends to rank number k of the other."""
    number = np.arange(per_node)
    spread = [(end.astype(np.int64)[:, None] * per_node + number).ravel() for end in (source, target)]
    return partners_of_pairs(grid_nodes * per_node, spread[0], spread[1])


def partners_in_lines(grid: Grid, axis: int, name: str) -> Partners:
    """Everybody with everybody else on the same line of nodes along `axis`."""
    ranks = grid.nodes * grid.per_node
    size = grid.sides[axis] * grid.per_node
    require_messages(ranks * (size - 1), name)
    ids = np.arange(ranks, dtype=np.int64).reshape(*grid.sides, grid.per_node)
    line = np.moveaxis(ids, axis, -2).reshape(-1, size)
    source = np.repeat(line, size, axis=1).ravel()
    target = np.tile(line, (1, size)).ravel()
    return partners_of_pairs(ranks, source, target)
