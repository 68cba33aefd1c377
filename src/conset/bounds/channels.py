"""Channels: a node lets a limited number of routes through.

Statement: phases ≥ ⌈routes that visit v / channels⌉ for every node v, its own messages' ends included. Proof: a phase
holds at most `channels` of them. Class: the machine's routes, whole or split messages. Witness: the node. A route
visits its source and enters one node over each of its links, so visits are messages out of v plus messages on the
links into v: O(links) beside the loads of links.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.bounds.question import BoundProblem, BoundValue
from conset.units import count_of


def bound_channels(problem: BoundProblem) -> BoundValue | None:
    """The node most routes visit; None without a limit or with free routes."""
    limit = problem.limits.channels
    if limit is None or problem.free:
        return None
    visits = count_visits(problem)
    node = int(visits.argmax())
    witness = (
        f"{problem.topology.node_name(node)} is visited by {count_of(int(visits[node]), 'route')}, {limit} at once"
    )
    return BoundValue(-(-int(visits[node]) // limit), witness)


def count_visits(problem: BoundProblem) -> NDArray[np.int64]:
    """shape=(nodes): routes that visit each node, ends included; at least their ends where there are no links."""
    if problem.topology.link_slots == 0:
        return problem.sends + problem.receives
    entered = np.zeros(problem.topology.nodes, np.int64)
    np.add.at(entered, problem.topology.ends[1], problem.link_messages)
    return problem.sends + entered
