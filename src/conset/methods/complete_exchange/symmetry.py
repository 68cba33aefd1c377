"""Symmetries of a box that keep its routes, and the orbits of messages under them.

Where a group G of node permutations takes every route to a route, a packing of one message per orbit into K phases
becomes, with its images, |G| K phases of all messages: the search is |G| times smaller. On a mesh the half turn keeps
routes; on a cycle of odd length all translations do, on one of even length those that agree with the rule for ties,
which is checked line by line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from conset.methods.complete_exchange.box import Box


@dataclass(frozen=True, eq=False)
class Orbits:
    """Messages by orbits.

    Attributes:
        order: |G|.
        offsets: shape=(orbits + 1), int64.
        message: shape=(messages), int32: orbit i is `message[offsets[i] : offsets[i + 1]]`.
        images: shape=(|G|, messages), int32: where each element of G takes each message.
    """

    order: int
    offsets: NDArray[np.int64]
    message: NDArray[np.int32]
    images: NDArray[np.int32]

    def expand(self, phase: NDArray[np.int32], chosen: NDArray[np.int64]) -> NDArray[np.int32]:
        """shape=(messages), int32: the phase of every message, from that of each orbit and the message it chose."""
        result = np.full(self.images.shape[1], -1, np.int32)
        for g, image in enumerate(self.images):
            target = image[self.message[chosen]]
            free = result[target] < 0
            result[target[free]] = phase[free] * self.order + g
        return result


def build_orbits(box: Box, group: NDArray[np.int64]) -> Orbits:
    """Orbits under `group`, shape=(|G|, nodes), closed under composition; O(|G| · messages)."""
    nodes = box.nodes
    source, rest = np.divmod(np.arange(box.messages), nodes - 1)
    target = rest + (rest >= source)
    images = np.stack([box.message_ids(g[source], g[target]) for g in group])
    first = images.min(axis=0)
    order = np.argsort(first, kind="stable")
    starts = np.flatnonzero(np.diff(first[order], prepend=-1))
    offsets = np.append(starts, order.size).astype(np.int64)
    return Orbits(len(group), offsets, order.astype(np.int32), images.astype(np.int32))


def symmetry_groups(box: Box, most: int) -> list[NDArray[np.int64]]:
    """Groups worth trying, at most `most` elements each: the half turn of a mesh, translations along each cycle."""
    if not box.ties_by_line:
        return []
    if box.is_mesh:
        return [np.stack([np.arange(box.nodes), np.arange(box.nodes)[::-1]])] if box.nodes > 1 else []
    groups: dict[bytes, NDArray[np.int64]] = {}
    steps = [_translations(box, k) for k in range(len(box.sides))]
    node = np.arange(box.nodes)
    coordinate = np.stack(np.unravel_index(node, box.sides))
    for one in range(len(box.sides)):
        for step in steps[one]:
            by = [[0] if k != one else list(range(0, box.sides[k], step)) for k in range(len(box.sides))]
            for other in range(one, len(box.sides)):
                for more in steps[other] if other > one else [box.sides[one]]:
                    both = list(by)
                    if other > one:
                        both[other] = list(range(0, box.sides[other], more))
                    if 1 < prod(len(b) for b in both) <= most:
                        group = _products(box, coordinate, both)
                        groups.setdefault(group.tobytes(), group)
    return sorted(groups.values(), key=len)


def _translations(box: Box, axis: int) -> list[int]:
    """Divisors d of a cycle, the side itself included, such that moving by d keeps the routes of a line."""
    side = box.sides[axis]
    if not box.cycles[axis]:
        return [side]
    source, target = (a.astype(np.int32) for a in np.divmod(np.arange(side * side), side))
    line = box.line(axis)
    offsets, nodes = line.route_nodes(source, target)
    kept = []
    for d in (d for d in range(1, side) if side % d == 0):
        moved_offsets, moved = line.route_nodes((source + d) % side, (target + d) % side)
        if np.array_equal(offsets, moved_offsets) and np.array_equal((nodes + d) % side, moved):
            kept.append(d)
    return [*kept, side]


def _products(box: Box, coordinate: NDArray[np.int64], by: list[list[int]]) -> NDArray[np.int64]:
    """shape=(elements, nodes): all sums of one displacement from each list."""
    grid = np.stack(np.meshgrid(*by, indexing="ij"), axis=-1).reshape(-1, len(box.sides))
    moved = [(coordinate + d[:, None]) % np.array(box.sides)[:, None] for d in grid]
    return np.stack([np.ravel_multi_index(tuple(m), box.sides) for m in moved])
