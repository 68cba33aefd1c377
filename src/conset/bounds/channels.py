"""Bounds of logical channels: at the ends of routes, along them, in all nodes together.

A route takes one channel in every node it visits, both ends included: the reading of Feldmann,
Stricker, Warfel, ConSet. All hold for split messages as for whole ones.

Channel ends: a node's own messages take its channels, whatever the routes.
    Statement: phases ≥ ⌈(messages out of v + into v) / channels⌉ for every node v. Proof: every
    route has a channel in both its ends. Class: any routes. Witness: the node. O(messages).

Channel supply: a phase has only so many channels, whatever the routes.
    Statement: phases ≥ ⌈Σ (shortest hops + 1) / (nodes · channels)⌉. Proof: a route visits one more
    node than its hops. Class: free routes. Witness: both sums. O(sum of hops). The complete
    exchange on an 8×8 torus with 12 channels: 20416 / 768, 27 phases, which is reached.

Channels: a node lets a limited number of routes through.
    Statement: phases ≥ ⌈routes that visit v / channels⌉ for every node v, its own messages' ends
    included. Proof: a phase holds at most `channels` of them. Class: the machine's routes. Witness:
    the node. A route visits its source and enters one node over each of its links, so visits are
    messages out of v plus messages on the links into v: O(links) beside the loads of links.

Channel sum: few phases must be full, and full phases have high loads.
    Statement: let C be the channels that all routes take together (hops + 1 each), K the limit of a
    node's channels, N the nodes, E those that may hold ranks, W the widths of all links together. A
    phase whose largest load is L carries at most min(K · N, L · (W + E)) channels, so ΣL in P
    phases is at least the least ΣL_p with Σ min(K · N, L_p · (W + E)) ≥ C. Proof: the phase has at
    most L · E messages and L · W hops, and K · N channels. The gain of one more unit of load never
    grows, so the least sum fills every phase evenly. Class: any routes or the machine's; of the
    schedule's own number of phases, or of any. Witness: the sums. O(sum of hops). The complete
    exchange on an 8×8 torus with 12 channels: C = 20416, K · N = 768, W + E = 320: 79 at 27 phases,
    76 at 28, 64 from 32 on; 79 and 64 are reached. Source: the argument for that case in the notes
    on connection sets, made general.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.base.units import count_of
from conset.bounds.problem import BoundProblem, BoundValue


def bound_channel_ends(problem: BoundProblem) -> BoundValue | None:
    """The node with most messages of its own.

    None without a limit, or where routes through it are counted too.
    """
    limit = problem.limits.channels
    if limit is None or not problem.free:
        return None
    own = problem.sends + problem.receives
    node = int(own.argmax())
    witness = (
        f"{problem.topology.node_name(node)} is an end of {count_of(int(own[node]), 'message')}, "
        f"{limit} at once"
    )
    return BoundValue(-(-int(own[node]) // limit), witness)


def bound_channel_supply(problem: BoundProblem) -> BoundValue | None:
    """All visits over all channels; None without a limit or with the machine's routes."""
    limit = problem.limits.channels
    if limit is None or not problem.free:
        return None
    messages = problem.source.size
    hops = int(problem.least_hops.sum(dtype=np.int64)) if problem.topology.link_slots else messages
    supply = limit * problem.topology.nodes
    witness = (
        f"routes take {count_of(hops + messages, 'channel')} at least, "
        f"all {problem.topology.nodes} nodes have {supply} a phase"
    )
    return BoundValue(-(-(hops + messages) // supply), witness)


def bound_channels(problem: BoundProblem) -> BoundValue | None:
    """The node most routes visit; None without a limit or with free routes."""
    limit = problem.limits.channels
    if limit is None or problem.free:
        return None
    visits = count_visits(problem)
    node = int(visits.argmax())
    witness = (
        f"{problem.topology.node_name(node)} is visited by "
        f"{count_of(int(visits[node]), 'route')}, {limit} at once"
    )
    return BoundValue(-(-int(visits[node]) // limit), witness)


def count_visits(problem: BoundProblem) -> NDArray[np.int64]:
    """shape=(nodes): routes that visit each node, ends included.

    At least their ends where there are no links.
    """
    if problem.topology.link_slots == 0:
        return problem.sends + problem.receives
    entered = np.zeros(problem.topology.nodes, np.int64)
    np.add.at(entered, problem.topology.ends[1], problem.link_messages)
    return problem.sends + entered


def bound_channel_sum(problem: BoundProblem) -> BoundValue | None:
    """Least ΣL of so many phases; None without links or messages between nodes."""
    topology = problem.topology
    if topology.links == 0 or problem.source.size == 0:
        return None
    needed = count_channels(problem)
    per_load = int(topology.widths()[topology.link_exists].sum(dtype=np.int64)) + topology.endpoints
    limit, phases = problem.limits.channels, problem.phases
    if limit is None or phases is None:
        return BoundValue(
            problem.per_supply(needed, per_load),
            f"routes take {needed} channels, a load of 1 carries {per_load}",
        )
    most = limit * topology.nodes
    full, rest = divmod(most, per_load)
    total = -(-needed // per_load)
    if total > phases * full and rest:
        total = phases * full + -(-(needed - phases * full * per_load) // rest)
    witness = (
        f"routes take {needed} channels, a load of 1 carries {per_load}, each of "
        f"{count_of(phases, 'phase')} {most}"
    )
    return BoundValue(total, witness)


def count_channels(problem: BoundProblem) -> int:
    """Channels that all routes take together: one in every node visited.

    The fewest where routes are free.
    """
    if problem.free:
        return int(problem.least_hops.sum(dtype=np.int64)) + problem.source.size
    return int(count_visits(problem).sum())
