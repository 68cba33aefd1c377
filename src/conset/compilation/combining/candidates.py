"""Many ways to combine one pattern, each with its cost by the machine's model, the best first.

Problem: which way is best depends on the pattern, the sizes and the machine; `evaluate` is fast
enough to ask for all.
Idea: direct; boxes of every number of stages, along the network's sides and over rank numbers,
those with the least sum of sides; digits around the ring where the ranks are no power; node-aware
where nodes hold several ranks; virtual grids for patterns that are not dense; and what others hand
in.
Bound: moves of messages (messages × stages), not seconds, so that the same input gives the same
candidates everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from conset.base import Ints32
from conset.machine import Machine
from conset.methods import (
    Candidate,
    balanced_sides,
    evaluate,
    factorisations,
    matched_cells,
    multiphase,
    node_aware,
    radix,
    ranks_on_nodes,
    virtual_grid,
    written,
)
from conset.pattern import Pattern
from conset.schedule import Paths, direct

MAX_MOVES = 2**25
"""Messages × stages tried in all, the direct way apart."""
ROUNDS = 2
"""Boxes tried of each number of stages and kind."""
SPARSE = 0.5
"""Share of all pairs of ranks above which no grids by traffic are tried.

From there on their order hardly matters.
"""

Make = Callable[[], Paths]
Way = tuple[str, int, Make]
"""Name, stages, function that makes the paths."""


def candidates(
    pattern: Pattern,
    machine: Machine,
    placement: Ints32 | None = None,
    *,
    more: Iterable[Way] = (),
    moves: int = MAX_MOVES,
    part_s: float = 0.0,
) -> list[Candidate]:
    """Ways to combine a pattern, sorted by estimated time.

    Ties are in the order in which they were tried.

    Args:
        pattern: what is sent.
        machine: whose costs and network count.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        more: (name, stages, function that makes the paths) of further ways, tried after the direct
            one.
        moves: messages × stages tried at most; the direct way always is.
        part_s: as in `evaluate` [s].

    Raises:
        InputError: messages that have an order, or more ranks than nodes without a placement.
    """

    def judged(name: str, paths: Paths) -> Candidate:
        estimate = evaluate(paths, machine, placement, part_s=part_s)
        return Candidate(
            name, replace(paths), estimate
        )  # without the bundles that it remembers: there are many

    found = [judged("none", direct(pattern))]
    if pattern.messages == 0:
        return found
    left = moves
    for name, stages, make in _all(pattern, machine, placement, more):
        if pattern.messages * stages <= left:
            left -= pattern.messages * stages
            found.append(judged(name, make()))
    return sorted(found, key=lambda each: each.estimate.time_s)


def _all(
    pattern: Pattern, machine: Machine, placement: Ints32 | None, more: Iterable[Way]
) -> Iterator[Way]:
    """Ways to combine, nothing made yet.

    First the best boxes of every number of stages, then the second best.
    """
    yield from more
    node = np.arange(pattern.ranks) if placement is None else placement
    crowd = ranks_on_nodes(node)[1]
    if crowd > 1:
        yield "node-aware", 3, partial(node_aware, pattern, placement)
        yield "node-aware:2", 2, partial(node_aware, pattern, placement, steps=2)
    along = _by_stages(_along(pattern.ranks, machine, placement, crowd))
    plain = _by_stages(factorisations(pattern.ranks))
    most = max(1, pattern.ranks.bit_length() - 1, *along)
    for number in range(ROUNDS):
        for stages in range(2, most + 1):
            for sides in along.get(stages, [])[number : number + 1]:
                cells, order = matched_cells(machine, placement, sides) or (None, None)
                yield (
                    written(sides),
                    stages,
                    partial(multiphase, pattern, sides, cells=cells, order=order),
                )
            yield from _boxes(
                pattern,
                machine,
                placement,
                stages,
                plain.get(stages, [])[number : number + 1],
                number,
            )


def _along(
    ranks: int, machine: Machine, placement: Ints32 | None, crowd: int
) -> list[tuple[int, ...]]:
    """Sides of boxes along the network's routes, where ranks fill at least half of it."""
    topology = machine.topology
    if topology.endpoints * crowd > 2 * ranks:
        return []
    found = factorisations(
        topology.endpoints * crowd, (*(topology.sides or (topology.endpoints,)), crowd)
    )
    return [sides for sides in found if matched_cells(machine, placement, sides) is not None]


def _by_stages(factored: Iterable[tuple[int, ...]]) -> dict[int, list[tuple[int, ...]]]:
    found: dict[int, list[tuple[int, ...]]] = {}
    for sides in factored:
        found.setdefault(len(sides), []).append(sides)
    return found


def _boxes(
    pattern: Pattern,
    machine: Machine,
    placement: Ints32 | None,
    stages: int,
    exact: Sequence[tuple[int, ...]],
    number: int,
) -> Iterator[Way]:
    """Boxes over rank numbers and over traffic.

    And where the ranks do not factor well, digits around the ring.
    """
    ranks = pattern.ranks
    balanced = balanced_sides(ranks, stages)
    loose = number == 0 and prod(balanced) > ranks and 1 << stages <= ranks
    for sides in [*exact, balanced] if loose and not exact else exact:
        follows = matched_cells(machine, placement, sides) is not None
        word = f"virtual-grid:{written(sides)}:identity" if follows else written(sides)
        yield word, stages, partial(multiphase, pattern, sides, name=word)
        if pattern.messages < SPARSE * ranks * (ranks - 1):
            yield (
                f"virtual-grid:{written(sides)}",
                stages,
                partial(virtual_grid, pattern, sides, machine, placement),
            )
    if loose:
        yield f"radix:{written(balanced)}", stages, partial(radix, pattern, balanced)
