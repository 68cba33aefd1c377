"""scott: a complete exchange on a square mesh in n³/4 phases without contention.

That is the fewest there can be.

Problem: a complete exchange on an n × n mesh with routes along the row first, no link used twice in
a phase. Idea: fold each side; a pair of folded nodes makes two cycles of four nodes that load every
link between them exactly once in each direction. Each phase combines one such cycle in every row
with one in every column: 4n nodes are active, a fraction 4/n. Invariant: one send, one receive per
node and one message per link in every phase; every pair of nodes once. Guarantee: n³/4 phases, the
bisection bound: the n links across the middle carry n⁴/4 messages each way. Complexity: O(messages)
in time and memory; the core walks the phases by formula. When to use it: where a link must carry
one message at a time and nothing else counts. `bounded` merges c of these phases into one and has
any other side as well. Departures: Scott's own list of phases is in neither text; this is the
closed form of `bounded` at contention 1, which equals the phases that Bokhari and Nicol print up to
their order. Parts of a complete exchange are taken too: phases without messages vanish. Reference:
Bokhari, Nicol: Balancing contention and synchronization on the Intel Paragon (1997), section 4,
after Scott: Efficient all-to-all communication patterns in hypercube and mesh topologies (1991).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset import _core
from conset.methods.phases.method import (
    refuse_limits,
    refuse_order,
    refuse_repeated_pairs,
    refuse_shared_nodes,
    require,
)
from conset.methods.phases.problem import Phases, Problem


def applies_scott(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "scott")
        or refuse_shared_nodes(problem, "scott")
        or refuse_limits(problem, "scott", "send", "receive", "link")
        or _refuse_network(problem)
        or refuse_repeated_pairs(problem, "scott")
    )


def schedule_scott(problem: Problem) -> Phases:
    """The phase of every message in the closed form for n × n nodes, empty phases left out.

    Raises:
        InputError: the network is no n × n mesh with 4 | n; two ranks share a node; the pattern has
            an order or several messages from one rank to another one; channels or duplex are
            limited.
    """
    require(applies_scott(problem))
    side = problem.machine.topology.sides[0]
    found = _core.SquareExchange(side).phases(1)
    offsets, message = found.offsets, found.message
    nodes = side * side
    source, target = problem.source_node.astype(np.int64), problem.target_node.astype(np.int64)
    if problem.placement is None and source.size == message.size:
        return Phases(offsets, message)
    phase: NDArray[np.int32] = np.empty(message.size, np.int32)
    phase[message] = np.repeat(np.arange(offsets.size - 1, dtype=np.int32), np.diff(offsets))
    return Phases.of(phase[source * (nodes - 1) + target - (target > source)])


def _refuse_network(problem: Problem) -> str | None:
    topology = problem.machine.topology
    wraps = topology.wraps and problem.machine.routing.rule != "no-wrap"
    square = topology.is_box and len(topology.sides) == 2 and topology.sides[0] == topology.sides[1]
    if square and not wraps and topology.sides[0] % 4 == 0:
        return None
    given = "x".join(map(str, topology.sides)) or f"{topology.nodes} nodes"
    return (
        f"method scott requires an n x n mesh with n divisible by 4, given {topology.kind} {given}"
    )
