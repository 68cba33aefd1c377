"""Combining: paths along which many small messages travel together, and what they cost.

A pattern of many small messages pays an overhead for every one. Sent by way of other ranks, messages with a part of
their way in common share a bundle, and fewer, longer messages remain. Each compiler of paths is one file; `evaluate`
estimates any paths by a machine's words; `table` reads the words of `--combine`.
"""

from __future__ import annotations

from conset.combining.candidates import Candidate, candidates
from conset.combining.evaluate import Estimate, evaluate
from conset.combining.multiphase import balanced_sides, factorisations, matched_cells, multiphase, radix
from conset.combining.node_aware import node_aware
from conset.combining.table import Combine, parse_combine, paths_of
from conset.combining.virtual_grid import rank_order, virtual_grid

__all__ = [
    "Candidate", "Combine", "Estimate", "balanced_sides", "candidates", "evaluate", "factorisations", "matched_cells",
    "multiphase", "node_aware", "parse_combine", "paths_of", "radix", "rank_order", "virtual_grid",
]  # fmt: skip
