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


def circle(vertices: int) -> Iterator[list[tuple[int, int]]]:
    """The factors of the complete graph by the circle method; entry k is pair k, (i, i) the vertex i left out.

    Even: q = vertices - 1 factors, pair 0 is {i, q}. Odd: q = vertices factors, entry 0 is i alone. Pair k is
    {i + 2k, i - 2k} mod q.
    """
    even = vertices % 2 == 0
    q = vertices - 1 if even else vertices
    for i in range(q):
        first = (i, q) if even else (i, i)
        yield [first] + [((i + 2 * k) % q, (i - 2 * k) % q) for k in range(1, (q + 1) // 2)]


def build_factors(side: int, cycle: bool, *, ties_up: bool = False) -> Factors:
    """The factors of a path or cycle of `side` nodes; `ties_up`: vertices left out always flip upwards."""
    factor, block, kind = (np.full((side, side), fill, np.int32) for fill in (-1, 0, 0))
    half = side // 2
    vertices = half + side % 2
    start = 1 if side % 4 == 0 else 0  # the identity factor comes first
    count = 0

    def put(f: int, k: int, t: int, x: int, y: int) -> None:
        factor[x, y], block[x, y], kind[x, y] = f, k, t

    for i, pairs in enumerate(circle(vertices)):
        for k, (u, v) in enumerate(pairs):
            u, v = min(u, v), max(u, v)
            if u == v:
                flip = u % 2 if cycle and not ties_up else int(not cycle)
                for t, x, y in _left_out(side, cycle, u, flip):
                    put(i, 0, t, x, y)
                continue
            nodes = _tile(side, cycle, u, v)
            for x, y in zip(nodes, nodes[1:] + nodes[:1], strict=True):
                put(i + start, k, 0, x, y)
                put(i + start, k, 1, y, x)
            if start and i == 0:
                for x, t in ((u, 0), (v, 1)) if not cycle or u % 2 == 0 else ((v, 0), (u, 1)):
                    bar = _bar(side, cycle, x)
                    for a, b in ((x, bar), (bar, x)):
                        put(0, k, t, a, b)
                        put(0, k, 1 - t, a, a)
        count = i + start + 1
    return Factors(side, cycle, factor, block, kind, count, (vertices + 1) // 2)


def _bar(side: int, cycle: bool, u: int) -> int:
    return u + side // 2 if cycle else side - 1 - u


def _tile(side: int, cycle: bool, u: int, v: int) -> list[int]:
    """The nodes of the tile {u, v}, u < v, in the order of type 0."""
    far = _bar(side, cycle, u)
    if side % 2 == 1 and v == side // 2:  # z
        return [u, far, side - 1] if cycle else [u, v, far]
    return [u, v, far, _bar(side, cycle, v)]


def _left_out(side: int, cycle: bool, u: int, flip: int) -> list[tuple[int, int, int]]:
    """(type, x, y) of a vertex left out: stays, and for n even flips in type `flip`."""
    if side % 2 == 1:
        z = side // 2
        nodes = [u, _bar(side, cycle, u)] if u != z else [side - 1 if cycle else z]
        return [(0, x, x) for x in nodes]
    bar = _bar(side, cycle, u)
    return [(flip, u, bar), (flip, bar, u), (1 - flip, u, u), (1 - flip, bar, bar)]
