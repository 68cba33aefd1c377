"""Translations: everybody sends to the node at one displacement, N - 1 phases, for links that carry half a side.

Problem: links are unlimited, or carry so much that only ports count.
Idea: phase by phase one vector of displacements, coordinates modulo the sides: a permutation of the nodes.
Invariant: along a line a displacement d puts at most min(d, side - d) messages on a link in each direction.
Guarantee: N - 1 phases, the port bound, where the contention is at least half of the largest side, rounded down.
Complexity: O(messages).
Reference: the linear exchange of Thakur, Choudhary, Fox (SHPCC 1994), GEN, with coordinates in place of node numbers.
"""

from __future__ import annotations

import numpy as np

from conset import _core
from conset.methods.complete_exchange.box import Box
from conset.methods.problem import Phases


def applies_translations(box: Box) -> bool:
    """Any box whose links carry half of the largest side."""
    return box.contention >= max(box.sides) // 2


def schedule_translations(box: Box, seed: int) -> Phases:
    """One phase for each displacement other than none."""
    node = np.arange(box.nodes)
    step = np.empty((box.nodes, box.nodes - 1), np.int32)
    coordinate = np.stack(np.unravel_index(node, box.sides))
    for source in range(box.nodes):
        away = [(c - c[source]) % side for c, side in zip(coordinate, box.sides, strict=True)]
        step[source] = np.delete(np.ravel_multi_index(away, box.sides), source) - 1
    return Phases(*_core.group_phases(step.ravel()))
