"""Candidates: many ways to combine one pattern, each with what it costs by the machine's words, the best first.

Problem: which way is best depends on the pattern, the sizes and the machine; `evaluate` is fast enough to ask for all.
Idea: direct; boxes of every number of stages, along the network's sides and over rank numbers, the least sum of sides
first; digits around the ring where the ranks do not factor; node-aware where nodes hold several ranks; virtual grids
for patterns with few partners; and what others hand in.
Bound: moves of messages (messages × stages), not seconds, so that the same input gives the same candidates everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import log2

import numpy as np
from numpy.typing import NDArray

from conset.combining.evaluate import Estimate, evaluate
from conset.combining.multiphase import (
    balanced_sides,
    factorisations,
    matched_cells,
    multiphase,
    radix,
    ranks_on_nodes,
    written,
)
from conset.combining.node_aware import node_aware
from conset.combining.virtual_grid import virtual_grid
from conset.machine.machine import Machine
from conset.pattern.pattern import Pattern
from conset.program.paths import Paths, direct

MAX_MOVES = 2**25
"""Messages × stages tried in all, the direct way apart."""
PER_STAGES = 2
"""Boxes tried of each number of stages, those along the network apart."""
MAX_MATCHED = 12
"""Boxes tried along the network."""
SPARSE = 0.5
"""Share of all pairs of ranks from which on their order hardly matters, and no grids by traffic are tried."""

Make = Callable[[], Paths]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to combine.

    Attributes:
        name: as `--combine` takes it; what others hand in as they name it.
        paths: where the messages go.
        estimate: what it costs.
    """

    name: str
    paths: Paths
    estimate: Estimate


def candidates(
    pattern: Pattern,
    machine: Machine,
    placement: NDArray[np.int32] | None = None,
    *,
    more: Iterable[tuple[str, int, Make]] = (),
    moves: int = MAX_MOVES,
    part_s: float = 0.0,
) -> list[Candidate]:
    """Ways to combine a pattern, sorted by estimated time, ties in the order in which they were tried.

    Args:
        pattern: what is sent.
        machine: whose costs and network count.
        placement: shape=(ranks), int32: the node of each rank; None: rank r on node r.
        more: (name, stages, function that makes the paths) of further ways, tried after the direct one.
        moves: messages × stages tried at most; the direct way always is.
        part_s: as in `evaluate` [s].
    """

    def judged(name: str, paths: Paths) -> Candidate:
        return Candidate(name, paths, evaluate(paths, machine, placement, part_s=part_s))

    found = [judged("none", direct(pattern))]
    if pattern.before is not None or pattern.messages == 0:
        return found
    left = moves
    for name, stages, make in _all(pattern, machine, placement, more):
        if pattern.messages * stages > left:
            continue
        left -= pattern.messages * stages
        found.append(judged(name, make()))
    return sorted(found, key=lambda each: each.estimate.time_s)


def _all(
    pattern: Pattern, machine: Machine, placement: NDArray[np.int32] | None, more: Iterable[tuple[str, int, Make]]
) -> Iterator[tuple[str, int, Make]]:
    """(name, stages, function that makes the paths), nothing made yet."""
    yield from more
    node = np.arange(pattern.ranks) if placement is None else placement
    crowd = ranks_on_nodes(node)[1]
    if crowd > 1:
        yield "node-aware", 3, partial(node_aware, pattern, placement)
        yield "node-aware:2", 2, partial(node_aware, pattern, placement, steps=2)
    yield from _matched(pattern, machine, placement, crowd)
    yield from _boxes(pattern, machine, placement)


def _matched(
    pattern: Pattern, machine: Machine, placement: NDArray[np.int32] | None, crowd: int
) -> Iterator[tuple[str, int, Make]]:
    """Boxes along the network's routes."""
    network = (*machine.topology.sides, crowd) if machine.topology.sides else (machine.topology.endpoints, crowd)
    tried = 0
    for sides in factorisations(crowd * machine.topology.endpoints, network):
        matched = matched_cells(machine, placement, sides)
        if matched is not None and tried < MAX_MATCHED:
            tried += 1
            make = partial(multiphase, pattern, sides, cells=matched[0], order=matched[1])
            yield written(sides), len(sides), make


def _boxes(pattern: Pattern, machine: Machine, placement: NDArray[np.int32] | None) -> Iterator[tuple[str, int, Make]]:
    """Boxes over rank numbers and over traffic, and digits around the ring."""
    ranks = pattern.ranks
    factored = factorisations(ranks)
    sparse = pattern.messages < SPARSE * ranks * (ranks - 1)
    for stages in range(2, max(int(log2(ranks)), 1) + 1):
        balanced = balanced_sides(ranks, stages)
        exact = [sides for sides in factored if len(sides) == stages][:PER_STAGES]
        for sides in exact if exact and sum(exact[0]) <= 1.5 * sum(balanced) else [*exact[:1], balanced]:
            follows = matched_cells(machine, placement, sides) is not None
            word = f"virtual-grid:{written(sides)}:identity" if follows else written(sides)
            yield word, stages, partial(multiphase, pattern, sides, name=word)
            if sparse:
                make = partial(virtual_grid, pattern, sides, machine, placement)
                yield f"virtual-grid:{written(sides)}", stages, make
        if balanced not in exact:
            yield f"radix:{written(balanced)}", stages, partial(radix, pattern, balanced)
