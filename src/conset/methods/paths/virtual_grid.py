"""Virtual grid: a box of ranks in an order made for the pattern or the machine.

For irregular patterns.

Problem: in an irregular pattern neighbours have any numbers; in a box over rank numbers nearly
every message changes every coordinate, takes as many hops as there are stages and shares its
bundles with few. Idea: number ranks so that those who talk to each other lie near in the box: they
share all coordinates but one or two, and travel fewer hops. Then every rank sends at most
sum(side - 1) bundles, however many partners it has. Orders: `identity`; `machine`, by nodes, laid
along the network's routes where the box fits it; `gray`, by the machine's order with neighbours in
it differing in one bit; `traffic`, reverse Cuthill-McKee on who talks to whom. Complexity:
O(messages · stages), and O(messages log messages) for `traffic`. Sources: O. Selvitopi and C.
Aykanat, "Regularizing irregularly sparse point-to-point communications", SC'19, for the virtual
process topology; E. Cuthill and J. McKee, "Reducing the bandwidth of sparse symmetric matrices",
1969, for the order, which is theirs reversed (J. A. George).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from conset.base.errors import unknown_name
from conset.machine.machine import Machine
from conset.methods.paths.multiphase import matched_cells, multiphase, written
from conset.pattern.pattern import Pattern
from conset.schedule.paths import Paths

Order = Literal["identity", "machine", "gray", "traffic"]


def virtual_grid(
    pattern: Pattern,
    sides: Sequence[int],
    machine: Machine,
    placement: NDArray[np.int32] | None = None,
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


def rank_order(
    pattern: Pattern, placement: NDArray[np.int32] | None, order: Order
) -> NDArray[np.int64]:
    """shape=(ranks): the ranks in an order.

    Args:
        pattern: who talks to whom.
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
        return _by_traffic(pattern)
    by_node = ranks if placement is None else np.lexsort((ranks, placement))
    if order == "machine":
        return by_node
    # codes beyond the last rank are left out, which keeps the others in their order
    bits = max(pattern.ranks - 1, 1).bit_length()
    every = np.arange(1 << bits, dtype=np.int64)
    code = every ^ (every >> 1)
    return np.asarray(by_node[code[code < pattern.ranks]])


def _by_traffic(pattern: Pattern) -> NDArray[np.int64]:
    """Reverse Cuthill-McKee.

    Breadth first from a rank at the rim, those with few partners first.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ones = np.ones(pattern.messages, np.int8)
    talks = csr_matrix(
        (ones, pattern.target, pattern.offsets), shape=(pattern.ranks, pattern.ranks)
    )
    return np.asarray(
        reverse_cuthill_mckee((talks + talks.T).tocsr(), symmetric_mode=True), np.int64
    )
