"""Channels: a node lets a limited number of routes through.

Statement: phases ≥ ⌈routes that visit v / channels⌉ for every node v, its own messages' ends included. Proof: a phase
holds at most `channels` of them. Class: the machine's routes, whole or split messages. Witness: the node. A route
visits its source and enters one node over each of its links, so visits are messages out of v plus messages on the
links into v: O(links) beside the loads of links.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.bounds.question import Found, Question


def bound_channels(question: Question) -> Found | None:
    """The node most routes visit; None without a limit or with free routes."""
    limit = question.limits.channels
    if limit is None or question.free:
        return None
    visits = count_visits(question)
    node = int(visits.argmax())
    words = f"{question.topology.node_name(node)} is visited by {visits[node]} routes, {limit} at once"
    return Found(-(-int(visits[node]) // limit), words)


def count_visits(question: Question) -> NDArray[np.int64]:
    """shape=(nodes): routes that visit each node, ends included; at least their ends where there are no links."""
    if question.topology.link_slots == 0:
        return question.sends + question.receives
    entered = np.zeros(question.topology.nodes, np.int64)
    np.add.at(entered, question.topology.ends[1], question.link_messages)
    return question.sends + entered
