"""Channel sum: few phases must be full, and full phases have high loads.

Statement: let C be the channels that all routes take together (hops + 1 each), K the limit of a node's channels, N the
nodes, E those that may hold ranks, W the widths of all links together. A phase whose largest load is L carries at most
min(K · N, L · (W + E)) channels, so ΣL in P phases is at least the least ΣL_p with Σ min(K · N, L_p · (W + E)) ≥ C.
Proof: the phase has at most L · E messages and L · W hops, and K · N channels. The gain of one more unit of load never
grows, so the least sum fills every phase evenly. Class: whole or split messages, any routes or the machine's; of the
schedule's own number of phases, or of any. Witness: the sums. O(sum of hops).
The complete exchange on an 8×8 torus with 12 channels: C = 20416, K · N = 768, W + E = 320: 79 at 27 phases, 76 at 28,
64 from 32 on; 79 and 64 are reached. Source: the argument for that case in the notes on connection sets, made general.
"""

from __future__ import annotations

import numpy as np

from conset.bounds.channels import count_visits
from conset.bounds.question import BoundProblem, BoundValue


def bound_channel_sum(problem: BoundProblem) -> BoundValue | None:
    """Least ΣL of so many phases; None without links or messages between nodes."""
    topology = problem.topology
    if topology.links == 0 or problem.source.size == 0:
        return None
    needed = count_channels(problem)
    per_load = int(topology.widths()[topology.link_exists].sum(dtype=np.int64)) + topology.endpoints
    limit, phases = problem.limits.channels, problem.phases
    if limit is None or phases is None:
        return BoundValue(-(-needed // per_load), f"routes take {needed} channels, a load of 1 carries {per_load}")
    most = limit * topology.nodes
    full, rest = divmod(most, per_load)
    total = -(-needed // per_load)
    if total > phases * full and rest:
        total = phases * full + -(-(needed - phases * full * per_load) // rest)
    witness = f"routes take {needed} channels, a load of 1 carries {per_load}, each of {phases} phases {most}"
    return BoundValue(total, witness)


def count_channels(problem: BoundProblem) -> int:
    """Channels that all routes take together: one in every node visited; the fewest where routes are free."""
    if problem.free:
        return int(problem.least_hops.sum(dtype=np.int64)) + problem.source.size
    return int(count_visits(problem).sum())
