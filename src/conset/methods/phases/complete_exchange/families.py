"""The ordered pairs of one side as permutations whose arcs are labelled, ready for the product.

Problem: use every link of a path (or cycle) of n nodes equally while each ordered pair of nodes is
served once.

Factors, of blocks, each block of two types. Fold the side. On a path vertex u < h = ⌊n/2⌋ stands
for the nodes u and ū = n-1-u, on a cycle for u and ū = u+h; where n is odd, vertex z is the node
left over (path: h, cycle: n-1). For an edge {u, v}, u < v, of the complete graph on the vertices,
the tile of type 0 is the cycle of nodes u → v → ū → v̄ → u, of type 1 its inverse; for {u, z}: u →
z → ū → u (path), u → ū → z → u (cycle).
Lemma, path: a tile puts exactly one message on every link between u and ū, in each direction, and
none elsewhere.
Lemma, cycle: type 0 goes once round upwards, type 1 once round downwards, every hop a shortest
path. The tiles of all edges cover every ordered pair except, for n even, the flips u ↔ ū and the
stays x → x, for n odd the stays. A 1-factorization of the complete graph (circle method) makes
disjoint edges, a factor, of them; an odd number of vertices leaves one vertex out of each factor. n
= 4m factors of m tiles, and an identity factor on the pairs of the first: type 0: the smaller
vertex (cycle: the even one) flips and the other stays, type 1: the other way round. n = 4m+2 h
factors of m tiles and the vertex left out, as block 0: it stays in one type and flips in the other.
n = 4m+3 h factors of m+1 tiles; the stays belong to no factor. n = 4m+1 h+1 factors of m tiles; the
vertex left out stays, as type 0 of block 0.
On a cycle flips are ties: under `parity` those of an even vertex go up, of an odd one down, which
is what type 0 and 1 want.

Families. Arcs of a permutation with one label share no link in either direction, so a permutation
needs as many labels as it loads its busiest link.
- `folded_family`, path: factor and type make a permutation; its blocks are the labels, in an order
  in which label k of a factor meets only the labels k and k+1 of the factor before, so that
  products walked boustrophedon can be merged in windows.
- `folded_family`, cycle: a permutation takes every other block in type 0 (upwards) and the rest in
  type 1 (downwards): both directions of the links work, ⌈blocks/2⌉ labels.
- `full_family`, path of 4m+1 nodes: the folded family has n+1 permutations that leave nodes out;
  here are n full ones of load at most m+1, made from a transversal: see
  `cpp/include/conset/scheduling/complete_exchange/transversal.hpp`.
- `reflected_family`, cycle of 4k+1 nodes: the reflections, n full permutations, for a side that has
  links to spare.

Complexity: O(n²) time and memory, the size of the tables.
Reference: Bokhari, Nicol (1997), section 5; Scott (1991), both for factors of 4 | n on a path. The
other sides, the cycles and the families are new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from conset import _core
from conset.base import Bools, Ints, Ints32

LARGEST_FULL = 257
"""Longer sides have their folded family only: full ones serve short sides and large contention."""


@dataclass(frozen=True, eq=False)
class Factors:
    """Where each ordered pair (x, y) of a side stands.

    Attributes:
        side: nodes.
        cycle: whether the side is a cycle.
        factor: shape=(side, side), int32: the factor of x → y; -1 for the stays where n = 4m+3.
        block: shape=(side, side), int32: the block within the factor, from 0; 0 is the vertex left
            out, if any.
        kind: shape=(side, side), int32: 0 or 1, the type of the block.
        count: number of factors.
        blocks: number of blocks in a factor, the vertex left out included.
    """

    side: int
    cycle: bool
    factor: Ints32
    block: Ints32
    kind: Ints32
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


def circle_method(vertices: int) -> Iterator[Ints]:
    """The factors of the complete graph by the circle method, shape=(pairs, 2).

    (i, i) is the vertex i left out.

    Even: q = vertices - 1 factors, pair 0 is {i, q}. Odd: q = vertices factors, entry 0 is i alone.
    Pair k is {i + 2k, i - 2k} mod q.
    """
    even = vertices % 2 == 0
    q = vertices - 1 if even else vertices
    twice = 2 * np.arange((q + 1) // 2)
    for i in range(q):
        pairs = np.stack([(i + twice) % q, (i - twice) % q], axis=1)
        pairs[0, 1] = q if even else i
        yield pairs


def build_factors(side: int, cycle: bool, *, ties_up: bool = False) -> Factors:
    """The factors of a path or cycle of `side` nodes.

    `ties_up`: vertices left out always flip upwards.
    """
    factor, block, kind = (np.full((side, side), fill, np.int32) for fill in (-1, 0, 0))
    vertices = side // 2 + side % 2
    start = 1 if side % 4 == 0 else 0  # the identity factor comes first

    def put(f: int, k: Ints, t: int, x: Ints, y: Ints) -> None:
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


def _bar(side: int, cycle: bool, u: Ints) -> Ints:
    return u + side // 2 if cycle else side - 1 - u


def _tiles(side: int, cycle: bool, u: Ints, v: Ints) -> Iterator[tuple[Bools, Ints]]:
    """(which pairs, shape=(nodes, pairs).

    Their nodes in the order of type 0), for edges {u, v} and {u, z}.
    """
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


@dataclass(frozen=True, eq=False)
class Family:
    """A side's ordered pairs as labelled permutations.

    Attributes:
        side: nodes.
        permutation: shape=(side, side), int32: the permutation that takes x to y.
        label: shape=(side, side), int32: from 0.
        load: shape=(permutations), int64: labels of each permutation; 0 for the identity.
        factor: shape=(permutations), int64, rising: permutations of one factor have the same
            blocks.
    """

    side: int
    permutation: Ints32
    label: Ints32
    load: Ints
    factor: Ints

    @property
    def count(self) -> int:
        """Number of permutations."""
        return int(self.load.size)


def folded_family(side: int, cycle: bool) -> Family:
    """Factors and types as permutations."""
    factors = build_factors(side, cycle)
    if cycle:
        permutation, label = (
            2 * factors.factor + (factors.kind ^ (factors.block & 1)),
            factors.block >> 1,
        )
        label = _without_left_out(factors, permutation, label)
    else:
        permutation, label = 2 * factors.factor + factors.kind, path_label(factors)
    stays = factors.factor < 0
    count = 2 * factors.count + bool(stays.any())
    permutation = np.where(stays, count - 1, permutation).astype(np.int32)
    return _family(
        side, permutation, np.where(stays, 0, label).astype(np.int32), count, np.arange(count) // 2
    )


def path_label(factors: Factors) -> Ints32:
    """shape=(side, side): the label of every arc of a path, from its block and factor."""
    side, k = factors.side, factors.block
    i = np.maximum(factors.factor - (side % 4 == 0), 0)
    if side % 4 == 2:  # tiles before the special block, whose stays need no label
        return np.where(k == 0, np.where(factors.kind == 1, factors.blocks - 1, 0), k - 1).astype(
            np.int32
        )
    labels = factors.blocks - factors.leaves_one
    turned = np.where(i % 2 == 0, k, -k) - (i // 2 if side % 4 == 1 else (i + 1) // 2)
    return (turned % max(labels, 1)).astype(np.int32)


def _without_left_out(factors: Factors, permutation: Ints32, label: Ints32) -> Ints32:
    """Labels of a cycle counted again where block 0 does not move.

    The blocks of a direction are numbered from 0.
    """
    if not factors.leaves_one:
        return label
    result = label.copy()
    side = factors.side
    moving = ~np.eye(side, dtype=bool)
    for p in range(2 * factors.count):
        for kind in (0, 1):
            chosen = (permutation == p) & moving & (factors.kind == kind)
            result[chosen] = np.unique(factors.block[chosen], return_inverse=True)[1]
    return result


def _family(
    side: int,
    permutation: Ints32,
    label: Ints32,
    count: int,
    factor: Ints,
) -> Family:
    """A family with its loads: one more than the largest label of an arc that moves."""
    load = np.zeros(count, np.int64)
    moving = ~np.eye(side, dtype=bool)
    np.maximum.at(load, permutation[moving], label[moving].astype(np.int64) + 1)
    label = np.where(moving, label, label % np.maximum(load, 1)[permutation]).astype(np.int32)
    return Family(
        side,
        np.ascontiguousarray(permutation),
        np.ascontiguousarray(label),
        load,
        factor.astype(np.int64),
    )


def full_family(side: int, seed: int) -> Family | None:
    """The n full permutations of a path of n = 4m+1 nodes, of load at most m+1.

    None where no transversal was found.

    One arc x → y is taken out of each of the n-1 permutations of the path of n-1 nodes, all sources
    and targets distinct; the new middle node z goes into its place as x → z → y, which adds at most
    1 to any link; the arcs taken out and z → z are the n-th permutation.
    """
    if side < 5 or side % 4 != 1:
        return None
    inner = folded_family(side - 1, False)
    target = _core.find_transversal(
        side - 1, inner.permutation.ravel(), side // 4 + 1, seed % 2**64
    )
    if not target.size:
        return None
    middle = side // 2
    old = np.delete(np.arange(side), middle)
    permutation = np.zeros((side, side), np.int32)
    permutation[np.ix_(old, old)] = inner.permutation
    source = np.arange(side - 1)
    symbol = inner.permutation[source, target]
    permutation[old[source], middle] = symbol
    permutation[middle, old[target]] = symbol
    permutation[old[source], old[target]] = side - 1
    permutation[middle, middle] = side - 1
    return _family(side, permutation, interval_labels(permutation, side), side, np.arange(side))


def reflected_family(side: int) -> Family:
    """The n reflections x → a - x of a cycle of odd length, all full, of load ⌈(n-1)/4⌉.

    With 2c = a the nodes c + j and c - j change places: for small j across c, else across the
    opposite link, so the arcs are two bundles of nested intervals that do not meet; both directions
    carry the same.
    """
    x, y = np.divmod(np.arange(side * side), side)
    center = (x + y) * ((side + 1) // 2) % side
    away = (x - center) % side
    away = np.minimum(away, side - away)
    near = away <= (side - 1) // 4
    label = np.where(near, np.maximum(away - 1, 0), side // 2 - away).reshape(side, side)
    permutation = ((x + y) % side).reshape(side, side).astype(np.int32)
    return _family(side, permutation, label.astype(np.int32), side, np.arange(side))


def interval_labels(permutation: Ints32, count: int) -> Ints32:
    """shape=(side, side): fewest labels for each permutation of a path, by colouring intervals.

    Arcs that go up, and arcs that go down, are intervals of links; swept from the left each takes
    the lowest free label, which needs no more labels than the busiest link has arcs.
    """
    side = permutation.shape[0]
    label = np.zeros((side, side), np.int32)
    source, target = np.divmod(np.arange(side * side), side)
    order = np.lexsort((np.minimum(source, target), permutation.ravel()))
    free_at: dict[tuple[int, bool], list[int]] = {}
    for arc in order.tolist():
        x, y = divmod(arc, side)
        if x == y:
            continue
        ends = free_at.setdefault((int(permutation[x, y]), x < y), [])
        low, high = min(x, y), max(x, y)
        for k, end in enumerate(ends):
            if end <= low:
                ends[k] = high
                break
        else:
            k = len(ends)
            ends.append(high)
        label[x, y] = k
    return label


def families_of(side: int, cycle: bool, seed: int) -> list[Family]:
    """The families of a side, the folded one first."""
    folded = folded_family(side, cycle)
    if side % 4 != 1 or not 1 < side <= LARGEST_FULL:
        return [folded]
    full = reflected_family(side) if cycle else full_family(side, seed)
    return [folded] if full is None else [folded, full]
