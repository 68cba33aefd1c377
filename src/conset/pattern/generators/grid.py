"""Patterns over the coordinates of ranks: neighbours, stencils, rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

import numpy as np

from conset.base import Integers, Ints, count_of
from conset.machine.network.topology import Topology
from conset.pattern.generators.partners import (
    Partners,
    Setting,
    partners_of_pairs,
    require,
    require_messages,
)


@dataclass(frozen=True)
class Grid:
    """Rank `r` is number `r % per_node` on node `r // per_node`, nodes are row-major.

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
    """Ranks on each endpoint; 0 where the ranks do not fill it evenly or there is none."""
    if setting.topology is None or setting.ranks % setting.topology.endpoints:
        return 0
    return setting.ranks // setting.topology.endpoints


def box_of(setting: Setting) -> Grid | None:
    """The network's own grid, or None.

    None where it is no mesh, torus or ring or the ranks do not fill it evenly.
    """
    topology = setting.topology
    if topology is None or not topology.is_box or not ranks_per_node(setting):
        return None
    return Grid(topology.sides, topology.wraps, ranks_per_node(setting))


def grid_of(setting: Setting, name: str, sides: tuple[int, ...]) -> Grid:
    """The grid a pattern lies on: `sides` where given (one rank a place), else the network's.

    Raises:
        InputError: the sides do not hold the ranks, or the network is no box that the ranks fill
            evenly.
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
    grid_nodes: int, per_node: int, source: Integers, target: Integers
) -> Partners:
    """Partners from pairs of nodes: rank number k of a node sends to rank number k of the other."""
    number = np.arange(per_node)
    spread = [
        (end.astype(np.int64)[:, None] * per_node + number).ravel() for end in (source, target)
    ]
    return partners_of_pairs(grid_nodes * per_node, spread[0], spread[1])


def partners_in_lines(grid: Grid, axis: int, name: str) -> Partners:
    """Everybody with everybody else on the same line of nodes along `axis`."""
    ranks = grid.nodes * grid.per_node
    size = grid.sides[axis] * grid.per_node
    require_messages(ranks * (size - 1), name)
    ids = np.arange(ranks, dtype=np.int64).reshape(*grid.sides, grid.per_node)
    line = np.moveaxis(ids, axis, -2).reshape(-1, size)
    source = np.repeat(line, size, axis=1).ravel()
    return partners_of_pairs(ranks, source, np.tile(line, (1, size)).ravel())


def generate_neighbor(setting: Setting) -> Partners:
    """To the ends of the own node's links; number k of a node sends to number k of each neighbour.

    In a graph these are the endpoints at the least number of hops: those linked directly, else
    those behind the same switch, and so on. Where every node is as near as any other (a crossbar,
    or no network) ranks stand in a ring.

    Raises:
        InputError: the ranks do not fill the network evenly.
    """
    topology = setting.topology
    if topology is None or topology.kind == "crossbar":
        rank = np.arange(setting.ranks, dtype=np.int64)
        return partners_of_pairs(
            setting.ranks,
            np.tile(rank, 2),
            np.concatenate([(rank + 1) % setting.ranks, (rank - 1) % setting.ranks]),
        )
    per_node = ranks_per_node(setting)
    require(
        per_node > 0,
        "neighbor",
        f"a multiple of {topology.endpoints} ranks",
        describe_network(setting),
    )
    if topology.kind == "graph":
        source, target = _nearest_endpoints(topology)
    else:
        source, target = (end[topology.link_exists].astype(np.int64) for end in topology.ends)
    return partners_of_nodes(topology.endpoints, per_node, source, target)


def _nearest_endpoints(topology: Topology) -> tuple[Ints, Ints]:
    """Pairs of endpoints: breadth first from each one until a level holds other endpoints."""
    start = np.searchsorted(topology.link_source, np.arange(topology.nodes + 1))
    after = [topology.link_target[a:b].tolist() for a, b in pairwise(start)]
    pairs: list[tuple[int, int]] = []
    for endpoint in range(topology.endpoints):
        seen, level, near = {endpoint}, [endpoint], list[int]()
        while level and not near:
            level = sorted({node for at in level for node in after[at]} - seen)
            seen.update(level)
            near = [node for node in level if node < topology.endpoints]
        pairs.extend((endpoint, node) for node in near)
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def generate_stencil(setting: Setting, *, reach: int, sides: tuple[int, ...]) -> Partners:
    """To every place whose coordinates all differ by at most `reach`.

    (2 reach + 1)^n - 1 of them in n dimensions.

    Wraps around where the network does, stops at the border of a mesh. A place that several steps
    reach on a short cycle is one partner.
    """
    grid = grid_of(setting, "stencil", sides)
    steps = [_steps(side, reach, grid.wraps) for side in grid.sides]
    require_messages(
        grid.nodes * (int(np.prod([len(s) for s in steps], dtype=object)) - 1), "stencil"
    )
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
    return partners_of_nodes(
        grid.nodes, grid.per_node, np.concatenate(sources), np.concatenate(targets)
    )


def _steps(side: int, reach: int, wraps: bool) -> list[int]:
    """The steps along one side that can matter.

    All residues of a cycle at most, the length of a path at most.
    """
    if wraps and 2 * reach + 1 >= side:
        return list(range(side))
    reach = min(reach, side - 1)
    return list(range(-reach, reach + 1))


def generate_rows(setting: Setting, *, sides: tuple[int, ...]) -> Partners:
    """Everybody with everybody on the same line of the last dimension (x).

    All ranks of these nodes take part.
    """
    grid = grid_of(setting, "rows", sides)
    return partners_in_lines(grid, len(grid.sides) - 1, "rows")


def generate_columns(setting: Setting, *, sides: tuple[int, ...]) -> Partners:
    """Everybody with everybody on the same line of the dimension before the last (y).

    A column of a matrix.

    Raises:
        InputError: fewer than two sides.
    """
    grid = grid_of(setting, "columns", sides)
    require(len(grid.sides) >= 2, "columns", "at least two sides", describe_network(setting))
    return partners_in_lines(grid, len(grid.sides) - 2, "columns")
