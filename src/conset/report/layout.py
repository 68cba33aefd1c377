"""Layout: where the nodes of a network stand in a drawing.

A formula of the topology, so always the same.

Boxes stand on their coordinates, rings and crossbars on a circle, small hypercubes in projection,
larger ones on a grid in Gray order (neighbours are near), graphs where distances on paper follow
distances in links (stress majorization: Gansner, Koren, North 2004, doi
10.1007/978-3-540-31843-9_25).
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from conset.machine.network.topology import Topology

_CUBE = np.array([(1.0, 0.0), (0.0, 1.0), (0.42, 0.30), (2.15, 0.62)])
"""Steps on paper for the bits of a small hypercube; the fourth makes two cubes of it."""
GRAPH_LIMIT = 800
"""Largest graph whose layout is computed (memory grows with the square).

Larger ones stand on a circle.
"""

Positions = NDArray[np.float64]


def positions(topology: Topology) -> Positions:
    """shape=(nodes, 2): the place of each node; neighbours stand about 1 apart, y grows upwards."""
    if topology.kind == "hypercube":
        return _hypercube(topology.dimensions)
    if topology.kind == "graph":
        return _graph(topology)
    if topology.kind in ("ring", "crossbar") or (topology.wraps and len(topology.sides) == 1):
        return _circle(topology.nodes)
    return _box(topology)


def _circle(nodes: int) -> Positions:
    angle = np.pi / 2 - 2 * np.pi * np.arange(nodes) / nodes
    radius = max(nodes / (2 * np.pi), 0.5)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _box(topology: Topology) -> Positions:
    at = topology.coordinates.astype(np.float64)
    sides = topology.sides
    if len(sides) == 1:
        return np.stack([at[:, 0], np.zeros(len(at))], axis=1)
    if len(sides) == 3:
        depth = at[:, 0]
        x, y = _depth_step(sides[0])
        return np.stack([at[:, 2] + x * depth, y * depth - at[:, 1]], axis=1)
    # planes of planes: dimensions go to x and y in turn, outer ones in wider steps
    place = np.zeros((len(at), 2))
    step = [1.0, 1.0]
    for k in reversed(range(len(sides))):
        axis = (len(sides) - 1 - k) % 2
        place[:, axis] += step[axis] * at[:, k]
        step[axis] *= sides[k] + 0.8
    return place * (1, -1)


def _depth_step(layers: int) -> tuple[float, float]:
    """The step between layers that keeps nodes farthest from other layers' nodes and lines."""
    step = np.arange(0.22, 0.52, 0.01)
    x, y = (grid.ravel() for grid in np.meshgrid(step, step, indexing="ij"))
    layer = np.arange(1, max(layers, 2))[:, None]
    off_x, off_y = (np.abs(layer * s - np.round(layer * s)) for s in (x, y))
    free = np.minimum(np.hypot(off_x, off_y), 2.5 * np.minimum(off_x, off_y)).min(axis=0)
    best = int(np.argmax(np.round(free, 6)))
    return float(x[best]), float(y[best])


def _hypercube(bits: int) -> Positions:
    node = np.arange(1 << bits)
    if bits <= len(_CUBE):
        corner: Positions = ((node[:, None] >> np.arange(bits)) & 1) @ _CUBE[:bits]
        return corner
    low = ceil(bits / 2)
    row, column = node >> low, node & ((1 << low) - 1)
    return np.stack([_gray_place(column), -_gray_place(row)], axis=1).astype(np.float64)


def _gray_place(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of `code` in the Gray sequence, so that many neighbours differ in one place."""
    place = code.copy()
    shift = 1
    while shift < 64:
        place ^= place >> shift
        shift *= 2
    return place


def _graph(topology: Topology) -> Positions:
    nodes = topology.nodes
    if nodes <= 2 or nodes > GRAPH_LIMIT:
        return _circle(nodes)
    levels = _levels(topology)
    if levels is not None:
        return _layered(topology, levels)
    far = _distances(topology)
    return _turned(separated(_majorized(_scaled(far), far), 0.6))


def _levels(topology: Topology) -> NDArray[np.int64] | None:
    """shape=(nodes): links from the nearest endpoint, where the network is a tree of switches.

    Else None.
    """
    if topology.nodes == topology.endpoints:
        return None
    source, target = topology.ends
    level = np.where(np.arange(topology.nodes) < topology.endpoints, 0, topology.nodes)
    while True:
        nearer = level.copy()
        np.minimum.at(nearer, target, level[source] + 1)
        np.minimum.at(nearer, source, level[target] + 1)
        if np.array_equal(nearer, level):
            break
        level = nearer
    if level.max() < 2 or level.max() == topology.nodes or (level[source] == level[target]).any():
        return None
    return level


def _layered(topology: Topology, level: NDArray[np.int64]) -> Positions:
    """Endpoints at the bottom, switches above what they join.

    In the order of its mean place.
    """
    source, target = topology.ends
    place = np.zeros((topology.nodes, 2))
    width = float(np.bincount(level).max())
    uplink = np.full(topology.nodes, topology.nodes)
    up = level[target] > level[source]
    np.minimum.at(uplink, source[up], target[up])
    for height in range(int(level.max()) + 1):
        members = np.flatnonzero(level == height)
        if height == 0:
            key = uplink[members].astype(np.float64)
        else:
            below = (level[target] == height) & (level[source] == height - 1)
            total = np.bincount(target[below], place[source[below], 0], topology.nodes)
            key = total[members] / np.maximum(
                np.bincount(target[below], minlength=topology.nodes)[members], 1
            )
        ordered = members[np.lexsort((members, np.round(key, 6)))]
        place[ordered, 0] = (np.arange(members.size) + 0.5) * width / members.size
        place[ordered, 1] = height * max(1.0, width / 6)
    return place


def separated(place: Positions, least: float, sweeps: int = 80) -> Positions:
    """Pairs nearer than `least` pushed apart, as far as so many sweeps do it.

    Twins otherwise lie on each other.

    Memory and time of a sweep grow with the square of the nodes.
    """
    for _ in range(sweeps):
        step = place[:, None, :] - place[None, :, :]
        apart = np.hypot(step[..., 0], step[..., 1])
        np.fill_diagonal(apart, least)
        if apart.min() >= 0.98 * least:
            break
        push = np.where(apart < least, (least - apart) / 4, 0) / np.maximum(apart, 1e-6)
        place = place + (push[..., None] * step).sum(axis=1)
    return place


def _distances(topology: Topology) -> NDArray[np.float64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    ends = topology.ends
    graph = coo_array((np.ones(ends[0].size), ends), shape=(topology.nodes, topology.nodes)).tocsr()
    far = shortest_path(graph, directed=False, unweighted=True)
    reach = far[np.isfinite(far)].max()
    return np.where(np.isfinite(far), far, reach + 1)


def _scaled(far: NDArray[np.float64]) -> Positions:
    """Classical scaling: the start; a small spiral keeps twins (equal distances to all) apart."""
    square = far**2
    inner = -(square - square.mean(0) - square.mean(1)[:, None] + square.mean()) / 2
    value, vector = np.linalg.eigh(inner)
    place = vector[:, -2:][:, ::-1] * np.sqrt(np.maximum(value[-2:][::-1], 1e-9))
    # the sign of an eigenvector is the library's choice: make the largest entry positive
    place *= np.sign(place[np.abs(place).argmax(axis=0), [0, 1]])
    turn = np.arange(len(far)) * 2.399963
    apart: Positions = place + 0.15 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return apart


def _majorized(place: Positions, far: NDArray[np.float64], sweeps: int = 120) -> Positions:
    """Guttman transforms with weights 1 / distance².

    Near pairs are so kept at their distance first.
    """
    nodes = len(far)
    weight = 1 / np.where(far > 0, far, 1) ** 2
    np.fill_diagonal(weight, 0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1 / nodes) - 1 / nodes
    for _ in range(sweeps):
        apart = np.hypot(*(place[:, None, :] - place[None, :, :]).transpose(2, 0, 1))
        pull = weight * far / np.maximum(apart, 1e-6)
        place = inverse @ (np.diag(pull.sum(axis=1)) - pull) @ place
    return place


def _turned(place: Positions) -> Positions:
    """Lying along its longer axis: pictures are wider than high."""
    centred = place - place.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    turned: Positions = centred @ axes[:, ::-1]
    turned *= np.where(turned[np.abs(turned).argmax(axis=0), [0, 1]] < 0, -1, 1)
    return turned
