"""Multiphase: messages through a box of ranks, one dimension at a time.

And around a ring, one digit at a time.

Problem: every rank has small messages for many others, and each costs an overhead at both ends.
Idea: ranks are cells of a box. In stage j every message goes to the cell that has its target's
coordinate in dimension j and its own in all others, so that a rank sends to at most side - 1 others
in a stage: all-to-all on N ranks takes sum(side - 1) bundles a rank instead of N - 1. `radix` does
the same with the digits of the distance (target - source) modulo N, which needs no box (Bruck).
Invariant: after stage j a message has its target's coordinates in the first j dimensions.
Complexity: O(messages · stages) time and memory. When: dense patterns of small messages. When not:
few partners, or messages so long that their bytes, which travel up to once a stage, cost more than
overheads. Departure: a box may have more cells than ranks; a message whose next cell is empty
stays, and the stage after corrects both coordinates. Matched boxes: with dimension-ordered routes,
where a coordinate of the box is one or several whole dimensions of the network and stages follow
the order of routing, the routes of a path laid end to end are the direct route; every link carries
exactly the bytes that it would carry directly. A coordinate inside a dimension keeps a stage in its
line. Sources: S. H. Bokhari, "Multiphase complete exchange", IEEE Trans. Computers 45 (1996); J.
Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all
communications in multiport message-passing systems", IEEE Trans. Parallel Distrib. Syst. 8 (1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import InputError
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.schedule.paths import MAX_STAGES, Paths

MAX_CELLS = 2**26
"""Of a box: 256 MiB for the rank in each cell."""


def multiphase(
    pattern: Pattern,
    sides: Sequence[int],
    *,
    order: Sequence[int] | None = None,
    cells: NDArray[np.integer] | None = None,
    name: str = "",
) -> Paths:
    """Paths through a box of ranks, one stage for each dimension.

    Args:
        pattern: what is sent.
        sides: of the box, cells numbered row by row (the last coordinate varies fastest); their
            product is at least the number of ranks.
        order: the dimension that each stage corrects; None: as in `sides`.
        cells: shape=(at least ranks): the cell of each rank, all distinct; None: rank r in cell r.
        name: for people; "": the sides.

    Raises:
        InputError: a box that does not hold the ranks, too many cells or stages, an order that
            leaves out a dimension, or cells that are out of range or taken twice.
    """
    sides = tuple(int(side) for side in sides)
    order = tuple(range(len(sides))) if order is None else tuple(int(d) for d in order)
    _check_box(sides, pattern.ranks)
    if sorted(order) != list(range(len(sides))):
        raise InputError(f"order = {order}: each of the {len(sides)} dimensions once required")
    cell = _cells(cells, pattern.ranks, prod(sides))
    rank_in = np.full(prod(sides), -1, np.int32)
    rank_in[cell] = np.arange(pattern.ranks, dtype=np.int32)
    wish, end = cell[pattern.source], cell[pattern.target]
    positions = np.empty((pattern.messages, len(sides) + 1), np.int32, order="F")
    positions[:, 0] = pattern.source
    for stage, d in enumerate(order):
        weight = prod(sides[d + 1 :])
        wish = wish + (end // weight % sides[d] - wish // weight % sides[d]) * weight
        there = rank_in[wish]
        positions[:, stage + 1] = np.where(there < 0, positions[:, stage], there)
    return Paths(pattern, positions, name=name or written(sides))


def radix(pattern: Pattern, radices: Sequence[int], *, name: str = "") -> Paths:
    """Paths around the ring of ranks.

    Stage j adds digit j of (target - source) modulo ranks, in mixed radix.

    Args:
        pattern: what is sent.
        radices: of the digits, the least first; their product is at least the number of ranks.
        name: for people; "": the radices.

    Raises:
        InputError: too small a product, or too many stages.
    """
    radices = tuple(int(each) for each in radices)
    _check_box(radices, pattern.ranks)
    distance = (pattern.target.astype(np.int64) - pattern.source) % pattern.ranks
    positions = np.empty((pattern.messages, len(radices) + 1), np.int32, order="F")
    positions[:, 0] = pattern.source
    weight = 1
    for stage, base in enumerate(radices):
        weight *= base
        positions[:, stage + 1] = (pattern.source + distance % weight) % pattern.ranks
    return Paths(pattern, positions, name=name or f"radix:{written(radices)}")


def radices_of(ranks: int, base: int) -> tuple[int, ...]:
    """`base` as often as needed for a product of at least `ranks`, at least once."""
    count, product = 1, base
    while product < ranks:
        count, product = count + 1, product * base
    return (base,) * count


def written(sides: Sequence[int]) -> str:
    """`4x8`."""
    return "x".join(str(side) for side in sides)


def _check_box(sides: tuple[int, ...], ranks: int) -> None:
    if not 1 <= len(sides) <= MAX_STAGES or min(sides) < 1:
        raise InputError(
            f"box {written(sides)}: 1 to {MAX_STAGES} sides of at least 1 required, given "
            f"{len(sides)}"
        )
    cells = prod(sides)
    if cells < ranks:
        raise InputError(
            f"box {written(sides)}: {cells} cells for {ranks} ranks: at least as many required"
        )
    if cells > max(MAX_CELLS, 2 * ranks):
        raise InputError(
            f"box {written(sides)}: {cells} cells, at most {max(MAX_CELLS, 2 * ranks)}"
        )


def _cells(cells: NDArray[np.integer] | None, ranks: int, count: int) -> NDArray[np.int64]:
    """shape=(ranks), int64: the cell of each rank, checked."""
    if cells is None:
        return np.arange(ranks, dtype=np.int64)
    if cells.ndim != 1 or cells.size < ranks:
        raise InputError(f"cells has shape {cells.shape}: one for each of {ranks} ranks required")
    cell = cells[:ranks].astype(np.int64)
    wrong = np.flatnonzero((cell < 0) | (cell >= count))
    if wrong.size:
        raise InputError(f"cells[{wrong[0]}] = {cell[wrong[0]]}: must be from 0 to {count - 1}")
    order = np.argsort(cell, kind="stable")
    twice = np.flatnonzero(np.diff(cell[order]) == 0)
    if twice.size:
        one, other = order[twice[0]], order[twice[0] + 1]
        raise InputError(
            f"cells[{other}] = {cell[other]}: rank {one} has it, every cell holds one rank"
        )
    return cell


def matched_cells(
    machine: Machine, placement: NDArray[np.int32] | None, sides: Sequence[int]
) -> tuple[NDArray[np.int64], tuple[int, ...]] | None:
    """(cell of each rank, order of dimensions) of a box laid along the network's routes.

    None where none fits.

    A side of the box is a divisor inside a dimension of the network, or whole dimensions that
    follow each other; the ranks of a node are a dimension of their own, the first of all. Stages
    correct dimensions in the order in which routes do: the last coordinate first.

    Args:
        machine: its network and how it routes.
        placement: shape=(ranks): the node of each rank; None: rank r on node r.
        sides: of the box, in any order.
    """
    topology = machine.topology
    node = np.arange(topology.endpoints) if placement is None else placement.astype(np.int64)
    local, crowd = ranks_on_nodes(node)
    if crowd == 1 and not (topology.is_box or topology.kind == "hypercube"):
        return None  # no routes to follow: ports only, or a graph
    radices = [crowd, *reversed(topology.sides)] if topology.sides else [crowd, topology.endpoints]
    order = _fitted(tuple(sides), tuple(r for r in radices if r > 1))
    if order is None:
        return None
    place = node * crowd + local
    cells, weight = np.zeros(place.size, np.int64), 1
    for d in order:
        cells += place // weight % sides[d] * prod(sides[d + 1 :])
        weight *= sides[d]
    return cells, order


def ranks_on_nodes(node: NDArray[np.integer]) -> tuple[NDArray[np.int64], int]:
    """(number of each rank among those of its node, most ranks on a node)."""
    if not node.size:
        return np.zeros(0, np.int64), 1
    order = np.argsort(node, kind="stable")
    first = np.r_[True, np.diff(node[order]) != 0]
    begin = np.flatnonzero(first)
    local = np.empty(node.size, np.int64)
    local[order] = np.arange(node.size) - begin[np.cumsum(first) - 1]
    return local, int(local.max()) + 1


def _fitted(sides: tuple[int, ...], radices: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order in which the sides fill the radices, the fastest first.

    Divisors of one, or several whole ones.
    """
    if prod(sides) != prod(radices):
        return None

    @cache
    def fill(left: tuple[int, ...], rest: int, at: int) -> tuple[int, ...] | None:
        """`left` are the dimensions to place, `rest` what remains of radix `at`."""
        if not left:
            return ()
        tried = set()
        for d in sorted(left, key=lambda d: (sides[d] != rest, -d)):  # whole dimensions first
            if sides[d] in tried:
                continue
            tried.add(sides[d])
            after = _taken(sides[d], rest, at, radices)
            if after is None:
                continue
            others = fill(tuple(other for other in left if other != d), *after)
            if others is not None:
                return (d, *others)
        return None

    return fill(tuple(range(len(sides))), radices[0] if radices else 1, 0)


def _taken(side: int, rest: int, at: int, radices: tuple[int, ...]) -> tuple[int, int] | None:
    """(what remains, of which radix) after a side has taken its share.

    None where it does not fit.
    """
    whole = side > rest or (side == rest and rest > 1)
    while whole and side > 1:
        if side % rest:
            return None
        side //= rest
        at += 1
        rest = radices[at] if at < len(radices) else 1
        if side > 1 and rest == 1:
            return None
    return (rest // side, at) if rest % side == 0 else None


def factorisations(number: int, sides: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """All ways to write a number as a product of factors above 1, the least sum first.

    There are 2 to log2(number) factors.

    Only boxes whose sides are as equal as the stages allow can be the best on a network without
    structure, so the least sum leads. Factors rise. Of a number without such factors there are
    none.

    Args:
        number: at least 1.
        sides: of a network: of the factorisations only those that split its sides, or take several
            in a row whole.
    """
    if sides:
        split = _splits(tuple(side for side in sides if side > 1))
        found = [each for each in split if len(each) > 1 and prod(each) == number]
    else:
        found = [each for each in _factors(number, 2) if len(each) > 1]
    return sorted(found, key=lambda each: (sum(each), len(each), each))


def _factors(number: int, least: int) -> Iterator[tuple[int, ...]]:
    """Rising factors of at least `least`."""
    factor = least
    while factor * factor <= number:
        if number % factor == 0:
            for rest in _factors(number // factor, factor):
                yield (factor, *rest)
        factor += 1
    if number >= least:
        yield (number,)


def _splits(sides: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Rising factors: those of single sides, and products of several sides in a row."""
    found: list[set[tuple[int, ...]]] = [{()}]
    for end in range(1, len(sides) + 1):
        here: set[tuple[int, ...]] = set()
        for begin in range(end):
            own = (
                list(_factors(sides[begin], 2)) if begin == end - 1 else [(prod(sides[begin:end]),)]
            )
            here |= {tuple(sorted(before + each)) for before in found[begin] for each in own}
        found.append(here)
    return found[-1]


def balanced_sides(ranks: int, stages: int) -> tuple[int, ...]:
    """Rising sides as equal as possible whose product is at least `ranks`.

    As small as that allows.
    """
    side = max(1, round(ranks ** (1 / stages)))
    while side**stages > ranks:
        side -= 1
    sides = [max(side, 1)] * stages
    for d in reversed(range(stages)):
        if prod(sides) >= ranks:
            break
        sides[d] += 1
    return tuple(sides)
