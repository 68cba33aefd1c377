"""Multiphase: messages through a box of ranks, one dimension at a time.

And around a ring, one digit at a time.

Problem: every rank has small messages for many others, and each costs an overhead at both ends.
Idea: ranks are cells of a box. In stage j every message goes to the cell that has its target's
coordinate in dimension j and its own in all others, so that a rank sends to at most side - 1 others
in a stage: all-to-all on N ranks takes sum(side - 1) bundles a rank instead of N - 1. `radix` does
the same with the digits of the distance (target - source) modulo N, which needs no box (Bruck).
Invariant: after stage j a message has its target's coordinates in the first j dimensions.
Complexity: O(messages · stages) time and memory; of a complete exchange of equal sizes that fills
the box O(bundles), as its bundles follow from the box (`conset.schedule.Box`).
When: dense patterns of small messages. When not: few partners, or messages so long that their
bytes, which travel up to once a stage, cost more than overheads.
Departure: a box may have more cells than ranks; a message whose next cell is empty stays, and the
stage after corrects both coordinates.
Matched boxes: with dimension-ordered routes, where a coordinate of the box is one or several whole
dimensions of the network and stages follow the order of routing, the routes of a path laid end to
end are the direct route; every link carries exactly the bytes that it would carry directly. A
coordinate inside a dimension keeps a stage in its line.
Sources: S. H. Bokhari, "Multiphase complete exchange", IEEE Trans. Computers 45 (1996); J. Bruck,
C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all communications
in multiport message-passing systems", IEEE Trans. Parallel Distrib. Syst. 8 (1997).

Virtual grid: a box of ranks in an order made for the pattern or the machine.

For irregular patterns.

Problem: in an irregular pattern neighbours have any numbers; in a box over rank numbers nearly
every message changes every coordinate, takes as many hops as there are stages and shares its
bundles with few.
Idea: number ranks so that those who talk to each other lie near in the box: they share all
coordinates but one or two, and travel fewer hops. Then every rank sends at most sum(side - 1)
bundles, however many partners it has.
Orders: `identity`; `machine`, by nodes, laid along the network's routes where the box fits it;
`gray`, by the machine's order with neighbours in it differing in one bit; `traffic`, reverse
Cuthill-McKee on which ranks communicate.
Complexity: O(messages · stages), and O(messages log messages) for `traffic`.
Sources: O. Selvitopi and C. Aykanat, "Regularizing irregularly sparse point-to-point
communications", SC'19, for the virtual process topology; E. Cuthill and J. McKee, "Reducing the
bandwidth of sparse symmetric matrices", 1969, for the order, which is theirs reversed (J. A.
George).

Node-aware: what one node sends another travels in one message.

In three steps, or in one message per sending rank (two steps).

Problem: with several ranks on a node every rank sends to ranks of the same other nodes, and each
message costs overheads, injection and its share of the node's port.
Idea: gather on the sending node what goes to one node at one rank, send it, scatter it on the
receiving node. Who carries is spread: nodes that a node sends to, the most bytes first, are dealt
to its ranks forwards and backwards in turns; nodes that it receives from likewise, beginning at the
last rank. In two steps a rank itself sends what it has for a node to one rank there, and nothing is
gathered. Messages inside a node go directly in the first stage, together with what is gathered
there.
Complexity: O(messages log messages) time, O(messages) memory.
When: many ranks on a node, patterns in which pairs of nodes have many messages. When not: one rank
on a node.
Source: A. Bienz, W. D. Gropp and L. N. Olson, "Reducing communication in algebraic multigrid with
multi-step node aware communication", Int. J. High Perform. Comput. Appl. 34 (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal, get_args

import numpy as np

from conset import _core
from conset.base import InputError, Integers, Ints, Ints32, unknown_name
from conset.machine import Machine
from conset.pattern import Pattern
from conset.schedule import MAX_STAGES, NO_POSITIONS, Box, Paths

MAX_CELLS = 2**26
"""Of a box: 256 MiB for the rank in each cell."""


def multiphase(
    pattern: Pattern,
    sides: Sequence[int],
    *,
    order: Sequence[int] | None = None,
    cells: Integers | None = None,
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
    box = Box(sides, order, _cells(cells, pattern.ranks, prod(sides)))
    if min(sides) > 1 and prod(sides) == pattern.ranks and pattern.is_complete:
        return Paths(pattern, NO_POSITIONS, name=name or written(sides), box=box)
    positions = box.positions(pattern.source, pattern.target)
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


def _cells(cells: Integers | None, ranks: int, count: int) -> Ints:
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
    machine: Machine, placement: Ints32 | None, sides: Sequence[int]
) -> tuple[Ints, tuple[int, ...]] | None:
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
    order = tuple(_core.fitted_order(sides, [r for r in radices if r > 1]))
    if len(order) != len(sides):
        return None
    place = node * crowd + local
    cells, weight = np.zeros(place.size, np.int64), 1
    for d in order:
        cells += place // weight % sides[d] * prod(sides[d + 1 :])
        weight *= sides[d]
    return cells, order


def box_network(
    machine: Machine, node: Integers, *, fill: int = 2, by_traffic: bool = False
) -> _core.BoxNetwork:
    """The network as boxes see it.

    Args:
        machine: whose sides and routes boxes may follow.
        node: shape=(ranks): the node of each rank.
        fill: boxes along it have at most so many times as many cells as ranks; 1: ranks fill all.
        by_traffic: whether boxes are tried over traffic, too.
    """
    topology, crowd = machine.topology, ranks_on_nodes(node)[1]
    return _core.BoxNetwork(
        places=topology.endpoints * crowd,
        sides=[*(topology.sides or (topology.endpoints,)), crowd],
        follows=crowd > 1 or topology.is_box or topology.kind == "hypercube",
        fill=fill,
        crowd=crowd,
        by_traffic=by_traffic,
    )


def ranks_on_nodes(node: Integers) -> tuple[Ints, int]:
    """(number of each rank among those of its node, most ranks on a node)."""
    if not node.size:
        return np.zeros(0, np.int64), 1
    order = np.argsort(node, kind="stable")
    first = np.r_[True, np.diff(node[order]) != 0]
    begin = np.flatnonzero(first)
    local = np.empty(node.size, np.int64)
    local[order] = np.arange(node.size) - begin[np.cumsum(first) - 1]
    return local, int(local.max()) + 1


Order = Literal["identity", "machine", "gray", "traffic"]


def virtual_grid(
    pattern: Pattern,
    sides: Sequence[int],
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    order: Order = "traffic",
) -> Paths:
    """Paths through a box whose cells are filled by ranks in an order.

    Args:
        pattern: what is sent.
        sides: of the box; their product is at least the number of ranks.
        machine: whose network `machine` and `gray` follow.
        placement: shape=(ranks): the node of each rank; None: rank r on node r.
        order: how the ranks are numbered.

    Raises:
        UsageError: an unknown order.
        InputError: a box that does not hold the ranks.
    """
    name = f"virtual-grid:{written(sides)}" + ("" if order == "traffic" else f":{order}")
    matched = matched_cells(machine, placement, sides) if order == "machine" else None
    if matched is not None:
        return multiphase(pattern, sides, cells=matched[0], order=matched[1], name=name)
    cells = np.empty(pattern.ranks, np.int64)
    cells[rank_order(pattern, placement, order)] = np.arange(pattern.ranks)
    return multiphase(pattern, sides, cells=cells, name=name)


def rank_order(pattern: Pattern, placement: Ints32 | None, order: Order) -> Ints:
    """shape=(ranks): the ranks in an order.

    Args:
        pattern: which ranks communicate.
        placement: shape=(ranks): the node of each rank; None: rank r on node r.
        order: its name.

    Raises:
        UsageError: an unknown order.
    """
    if order not in get_args(Order):
        raise unknown_name("order of ranks", order, get_args(Order))
    ranks = np.arange(pattern.ranks, dtype=np.int64)
    if order == "identity":
        return ranks
    if order == "traffic":
        ends = map(np.ascontiguousarray, (pattern.source, pattern.target))
        return _core.ranks_by_traffic(pattern.ranks, *ends).astype(np.int64)
    by_node = ranks if placement is None else np.lexsort((ranks, placement))
    if order == "machine":
        return by_node
    # codes beyond the last rank are left out, which keeps the others in their order
    bits = max(pattern.ranks - 1, 1).bit_length()
    every = np.arange(1 << bits, dtype=np.int64)
    code = every ^ (every >> 1)
    return np.asarray(by_node[code[code < pattern.ranks]])


def node_aware(pattern: Pattern, placement: Ints32 | None, *, steps: Literal[2, 3] = 3) -> Paths:
    """Paths by way of the nodes of a placement.

    Args:
        pattern: what is sent.
        placement: shape=(ranks): the node of each rank; None: rank r on node r, one rank each.
        steps: 3: gather, exchange, scatter; 2: exchange, scatter.

    Raises:
        InputError: no node holds several ranks, or a placement of another number of ranks.
    """
    node = np.arange(pattern.ranks) if placement is None else placement.astype(np.int64)
    if node.shape != (pattern.ranks,):
        raise InputError(
            f"placement has shape {node.shape}: one node for each of {pattern.ranks} ranks required"
        )
    if ranks_on_nodes(node)[1] < 2:
        raise InputError("node-aware: nodes with 2 or more ranks required, every node has 1")
    positions = _core.positions_by_nodes(
        np.ascontiguousarray(pattern.source),
        np.ascontiguousarray(pattern.target),
        np.ascontiguousarray(pattern.size),
        np.ascontiguousarray(node, np.int32),
        steps,
    ).reshape((pattern.messages, steps + 1), order="F")
    return Paths(pattern, positions, name="node-aware" if steps == 3 else "node-aware:2")
