"""Synthetic meshes and graphs.

Adaptively refined blocks, and graphs with power-law degrees, over ranks.

Adaptive refinement (`generate_amr`)
Problem: halos of a simulation whose blocks are halved where something happens: neighbours differ in
level, and ranks have unequal surfaces.
Idea: a spherical front, its centre and radius drawn by the seed; blocks that it crosses are halved,
level by level; then blocks are halved until neighbours across a face differ by one level at most
(2:1). Ranks take equal numbers of blocks along a Morton curve.
How: blocks are (level, coordinates) in a set; a face between equals is sent from each to the other,
one between a block and a finer one as the cells of the coarser block, each way.
Invariant: the blocks tile the box after every halving.
Source: C. Burstedde, L. C. Wilcox, O. Ghattas, "p4est", SIAM J. Sci. Comput. 33 (2011), for balance
and curve.

Partitioned graphs (`generate_partition`): a vertex is sent once to every other rank that has a
neighbour of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, prod, sqrt

import numpy as np

from conset.base import Floats, Ints
from conset.pattern.generators.partners import (
    Partners,
    Setting,
    partners_of_volumes,
    require,
    require_bytes,
)
from conset.pattern.generators.random import generate_power_law

MAX_BLOCKS = 2**18
Block = tuple[int, tuple[int, ...]]
"""Level and coordinates; halving (l, c) gives (l + 1, 2 c) and its neighbours."""


def generate_amr(
    setting: Setting,
    *,
    sides: tuple[int, ...],
    levels: int,
    cells: int,
    ghosts: int,
    word: int,
    step: int,
) -> Partners:
    """Ghost cells across the faces of blocks, both ways; between blocks of one rank they are local.

    Raises:
        InputError: more than three sides, an odd number of cells, more ghosts than half of them,
            too many blocks, or fewer blocks than ranks.
    """
    ranks = setting.ranks
    sides = sides or (ceil(sqrt(2 * ranks)),) * 2
    shape = "x".join(map(str, sides))
    require(len(sides) <= 3, "amr", "one to three sides", shape)
    require(cells % 2 == 0, "amr", "an even number of cells", f"{cells}")
    require(2 * ghosts <= cells, "amr", f"at most {cells // 2} ghosts", f"{ghosts}")
    require(levels <= 20, "amr", "at most 20 levels", f"{levels}")
    require(prod(sides) <= MAX_BLOCKS, "amr", f"at most {MAX_BLOCKS} blocks", shape)
    least = min(sides)
    centre = np.array(sides) * setting.random.uniform(0.25, 0.75, len(sides))
    radius = least * setting.random.uniform(0.15, 0.4) + step / 4
    blocks = _balanced(_refined(sides, levels, centre, radius), sides)
    require(
        len(blocks) >= ranks, "amr", f"at most as many ranks as {len(blocks)} blocks", f"{ranks}"
    )
    curve = sorted(blocks, key=lambda block: _morton(block, levels))
    rank = {block: k * ranks // len(curve) for k, block in enumerate(curve)}
    same = cells ** (len(sides) - 1) * ghosts * word
    require_bytes(same, "amr")
    half = (cells // 2) ** (len(sides) - 1) * ghosts * word
    rows = []
    for block in curve:
        for other in _across(block, sides):
            if other in rank:
                rows.append((rank[block], rank[other], same))
            elif _parent(other) in rank:
                coarse = rank[_parent(other)]
                rows += [(rank[block], coarse, half), (coarse, rank[block], half)]
    source, target, size = np.array(rows, np.int64).reshape(-1, 3).T
    return partners_of_volumes(ranks, source, target, size)


def _refined(sides: tuple[int, ...], levels: int, centre: Floats, radius: float) -> set[Block]:
    """The blocks after halving, level by level, those that the front crosses."""
    blocks: set[Block] = {(0, at) for at in product(*(range(side) for side in sides))}
    newest = list(blocks)
    for level in range(levels):
        crossed = [block for block in newest if _crosses(block, level, centre, radius)]
        require(
            len(blocks) + len(crossed) * 2 ** len(sides) <= MAX_BLOCKS,
            "amr",
            f"at most {MAX_BLOCKS} blocks",
            "more",
        )
        newest = [child for block in crossed for child in _children(block)]
        blocks.difference_update(crossed)
        blocks.update(newest)
    return blocks


def _crosses(block: Block, level: int, centre: Floats, radius: float) -> bool:
    """Whether the sphere has points inside and outside of a block's reach."""
    low = np.array(block[1]) / 2**level
    high = low + 1 / 2**level
    near = np.maximum(np.maximum(low - centre, centre - high), 0)
    far = np.maximum(abs(low - centre), abs(high - centre))
    return bool((near**2).sum() <= radius**2 <= (far**2).sum())


def _balanced(blocks: set[Block], sides: tuple[int, ...]) -> set[Block]:
    """Halves what has a neighbour across a face that is more than one level finer."""
    waiting = sorted(blocks, reverse=True)
    while waiting:
        block = waiting.pop()
        if block not in blocks:
            continue
        for other in _across(block, sides):
            cover = other
            while cover[0] >= 0 and cover not in blocks:
                cover = _parent(cover)
            if 0 <= cover[0] < block[0] - 1:
                blocks.remove(cover)
                children = _children(cover)
                blocks.update(children)
                waiting += [block, *children]
                break
    return blocks


def _across(block: Block, sides: tuple[int, ...]) -> Iterator[Block]:
    """The places of a block's size on the other side of its faces, inside the box."""
    level, at = block
    for axis, side in enumerate(sides):
        for to in (at[axis] - 1, at[axis] + 1):
            if 0 <= to < side << level:
                yield level, (*at[:axis], to, *at[axis + 1 :])


def _children(block: Block) -> list[Block]:
    level, at = block
    return [
        (level + 1, tuple(2 * a + b for a, b in zip(at, bits, strict=True)))
        for bits in product((0, 1), repeat=len(at))
    ]


def _parent(block: Block) -> Block:
    return block[0] - 1, tuple(a // 2 for a in block[1])


def _morton(block: Block, levels: int) -> int:
    """Bits of the first corner's coordinates at the finest level, interleaved."""
    level, at = block
    fine = [a << (levels - level) for a in at]
    code = 0
    for bit in range(max(fine).bit_length()):
        for k, a in enumerate(reversed(fine)):
            code |= (a >> bit & 1) << (bit * len(fine) + k)
    return code


def generate_partition(
    setting: Setting, *, vertices: int, degree: int, alpha: float, word: int, parts: str
) -> Partners:
    """Ghosts of a random graph of power-law degrees, its vertices dealt to ranks.

    As `power-law` draws it.

    Raises:
        InputError: fewer vertices than ranks, or a degree that is not below their number.
        MissingExtraError: METIS is asked for and not installed.
    """
    ranks = setting.ranks
    count = vertices or 64 * ranks
    require(count >= ranks, "partition", f"at least {ranks} vertices", f"{count}")
    require(
        degree < count, "partition", f"a degree of at most vertices - 1 = {count - 1}", f"{degree}"
    )
    graph = generate_power_law(Setting(count, None, setting.random), degree=degree, alpha=alpha)
    owner = _owners(graph, ranks, parts, setting.random)
    vertex = np.repeat(np.arange(count), np.diff(graph.offsets))
    reader = owner[graph.target]
    ghost = np.unique(
        vertex[owner[vertex] != reader] * np.int64(ranks) + reader[owner[vertex] != reader]
    )
    source, target = owner[ghost // ranks], ghost % ranks
    return partners_of_volumes(ranks, source, target, np.full(ghost.size, word, np.int64))


def _owners(graph: Partners, ranks: int, parts: str, random: np.random.Generator) -> Ints:
    """shape=(vertices): the rank of each."""
    count = graph.offsets.size - 1
    even = np.arange(count) * ranks // count
    if parts == "block":
        return even
    if parts == "hash":
        return even[random.permutation(count)]
    from conset.pattern.readers.partition import Graph, partition_graph

    edges = Graph(graph.offsets, graph.target.astype(np.int64))
    return partition_graph(edges, ranks, int(random.integers(2**31)), "partition")
