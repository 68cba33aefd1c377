"""Factors: the ordered pairs of one side, cut into factors of blocks, each block of two types.

Problem: use every link of a path (or cycle) of n nodes equally while each ordered pair of nodes is served once.
Idea: fold the side. On a path vertex u < h = ⌊n/2⌋ stands for the nodes u and ū = n-1-u, on a cycle for u and
ū = u+h; where n is odd, vertex z is the node left over (path: h, cycle: n-1). For an edge {u, v}, u < v, of the
complete graph on the vertices, the tile of type 0 is the cycle of nodes u → v → ū → v̄ → u, of type 1 its inverse; for
{u, z}: u → z → ū → u (path), u → ū → z → u (cycle).
    Lemma, path: a tile puts exactly one message on every link between u and ū, in each direction, and none elsewhere.
    Lemma, cycle: type 0 goes once round upwards, type 1 once round downwards, every hop a shortest path.
The tiles of all edges cover every ordered pair except, for n even, the flips u ↔ ū and the stays x → x, for n odd the
stays. A 1-factorization of the complete graph (circle method) makes disjoint edges, a factor, of them; an odd number of
vertices leaves one vertex out of each factor.
    n = 4m    factors of m tiles, and an identity factor on the pairs of the first: type 0: the smaller vertex (cycle:
              the even one) flips and the other stays, type 1: the other way round.
    n = 4m+2  h factors of m tiles and the vertex left out, as block 0: it stays in one type and flips in the other.
    n = 4m+3  h factors of m+1 tiles; the stays belong to no factor.
    n = 4m+1  h+1 factors of m tiles; the vertex left out stays, as type 0 of block 0.
On a cycle flips are ties: under `parity` those of an even vertex go up, of an odd one down, which is what type 0 and 1
want.

Complexity: O(n²) time and memory, the size of the tables.
Reference: Bokhari, Nicol (1997), section 5; Scott (1991), both for 4 | n on a path. The other sides and the cycles are
new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Factors:
    """Where each ordered pair (x, y) of a side stands.

    Attributes:
        side: nodes.
        cycle: whether the side is a cycle.
        factor: shape=(side, side), int32: the factor of x → y; -1 for the stays where n = 4m+3.
        block: shape=(side, side), int32: the block within the factor, from 0; 0 is the vertex left out, if any.
        kind: shape=(side, side), int32: 0 or 1, the type of the block.
        count: number of factors.
        blocks: number of blocks in a factor, the vertex left out included.
    """

    side: int
    cycle: bool
    factor: NDArray[np.int32]
    block: NDArray[np.int32]
    kind: NDArray[np.int32]
    count: int
    blocks: int

    @property
    def has_identity(self) -> bool:
        """Whether the stays belong to no factor (n = 4m+3)."""
        return self.side % 4 == 3

    @property
    def leaves_one(self) -> bool:
        """Whether block 0 of every factor is a vertex left out (n = 4m+1, 4m+2)."""
        return self.side % 4 in (1, 2)


def circle_method(vertices: int) -> Iterator[Indices]:
    """The factors of the complete graph by the circle method, shape=(pairs, 2); (i, i) is the vertex i left out.

    Even: q = vertices - 1 factors, pair 0 is {i, q}. Odd: q = vertices factors, entry 0 is i alone. Pair k is
    {i + 2k, i - 2k} mod q.
    """
    even = vertices % 2 == 0
    q = vertices - 1 if even else vertices
    twice = 2 * np.arange((q + 1) // 2)
    for i in range(q):
        pairs = np.stack([(i + twice) % q, (i - twice) % q], axis=1)
        pairs[0, 1] = q if even else i
        yield pairs


def build_factors(side: int, cycle: bool, *, ties_up: bool = False) -> Factors:
    """The factors of a path or cycle of `side` nodes; `ties_up`: vertices left out always flip upwards."""
    factor, block, kind = (np.full((side, side), fill, np.int32) for fill in (-1, 0, 0))
    vertices = side // 2 + side % 2
    start = 1 if side % 4 == 0 else 0  # the identity factor comes first

    def put(f: int, k: Indices, t: int, x: Indices, y: Indices) -> None:
        factor[x, y], block[x, y], kind[x, y] = f, k, t

    for i, pairs in enumerate(circle_method(vertices)):
        k = np.arange(len(pairs))
        u, v = pairs.min(axis=1), pairs.max(axis=1)
        for chosen, nodes in _tiles(side, cycle, u, v):
            following = np.roll(nodes, -1, axis=0)
            put(i + start, k[chosen], 0, nodes, following)
            put(i + start, k[chosen], 1, following, nodes)
        if u[0] == v[0]:
            flip = int(u[0]) % 2 if cycle and not ties_up else int(not cycle)
            for t, x, y in _left_out(side, cycle, int(u[0]), flip):
                factor[x, y], block[x, y], kind[x, y] = i + start, 0, t
        if start and i == 0:
            first = u if not cycle else np.where(u % 2 == 0, u, v)
            for t, x in ((0, first), (1, u + v - first)):
                bar = _bar(side, cycle, x)
                put(0, k, t, np.stack([x, bar]), np.stack([bar, x]))
                put(0, k, 1 - t, np.stack([x, bar]), np.stack([x, bar]))
    count = vertices - 1 + vertices % 2 + start
    return Factors(side, cycle, factor, block, kind, count, (vertices + 1) // 2)


def _bar(side: int, cycle: bool, u: Indices) -> Indices:
    return u + side // 2 if cycle else side - 1 - u


def _tiles(side: int, cycle: bool, u: Indices, v: Indices) -> Iterator[tuple[NDArray[np.bool_], Indices]]:
    """(which pairs, shape=(nodes, pairs): their nodes in the order of type 0), for edges {u, v} and {u, z}."""
    z = side // 2 if side % 2 == 1 else side
    far = _bar(side, cycle, u)
    chosen = (u != v) & (v != z)
    yield chosen, np.stack([u, v, far, _bar(side, cycle, v)])[:, chosen]
    chosen = (u != v) & (v == z)
    last = np.full_like(u, side - 1)
    yield chosen, np.stack([u, far, last] if cycle else [u, v, far])[:, chosen]


def _left_out(side: int, cycle: bool, u: int, flip: int) -> list[tuple[int, int, int]]:
    """(type, x, y) of a vertex left out: stays, and for n even flips in type `flip`."""
    bar = u + side // 2 if cycle else side - 1 - u
    if side % 2 == 1:
        z = side // 2
        nodes = [u, bar] if u != z else [side - 1 if cycle else z]
        return [(0, x, x) for x in nodes]
    return [(flip, u, bar), (flip, bar, u), (1 - flip, u, u), (1 - flip, bar, bar)]
