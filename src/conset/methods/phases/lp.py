"""lp: linear permutations, pairwise exchanges with the XOR partner.

Problem: cut any pattern on N ranks into phases in which a rank sends to one and receives from one,
its partner. Idea: in phase k = 1 … 2^⌈lg N⌉ - 1 rank i exchanges with rank i XOR k. Every pair of
ranks meets exactly once, so a message from i to j belongs to phase i XOR j and nothing has to be
searched. Invariant: i ↦ i XOR k is a permutation and its own inverse: one send, one receive, one
partner per rank and phase. On a hypercube with e-cube routes no link is taken twice either: a route
that leaves node u across bit b comes from the one source whose upper bits are those of u and whose
bits below b are those of u XOR k. Complexity: O(messages) in time and memory. When to use it: dense
patterns, and machines where only an exchange overlaps sending with receiving. Sparse ones pay
nearly all of the 2^⌈lg N⌉ - 1 phases. Departures: any number of ranks (absent partners are skipped)
and phases without messages vanish; a pair has one message. Ranks need not be on the nodes of their
numbers: a placement that is linear over bits, as Gray code, leaves a hypercube's links free too.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Section 4.1,
Figure 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from conset.machine.limits import Limits
from conset.machine.network.topology import Topology
from conset.methods.phases.method import (
    refuse_limits,
    refuse_order,
    refuse_repeated_pairs,
    refuse_shared_nodes,
    require,
)
from conset.methods.phases.problem import Phases, Problem


def limits_lp(topology: Topology) -> Limits:
    """One partner per node, and on a hypercube one message per link."""
    return Limits(send=1, receive=1, link=1 if topology.kind == "hypercube" else None)


def applies_lp(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "lp")
        or refuse_shared_nodes(problem, "lp")
        or refuse_limits(problem, "lp", "send", "receive", "link", "duplex")
        or _refuse_links(problem)
        or refuse_repeated_pairs(problem, "lp")
    )


def schedule_lp(problem: Problem) -> Phases:
    """Phase (source XOR target) - 1 of every message, empty phases left out.

    Raises:
        InputError: the pattern has an order or several messages from one rank to another one, two
            ranks share a node, or links are limited and the network is no hypercube or the
            placement not linear over bits.
    """
    require(applies_lp(problem))
    pattern = problem.pattern
    return Phases.of((pattern.source ^ pattern.target) - np.int32(1))


def _refuse_links(problem: Problem) -> str | None:
    topology = problem.machine.topology
    if problem.limits.link is None or not topology.link_slots:
        return None
    if topology.kind != "hypercube":
        return f"method lp with a limit on links requires a hypercube, given a {topology.kind}"
    if problem.placement is None or _is_linear(problem.placement):
        return None
    return (
        "method lp with a limit on links requires a placement that is linear over bits (identity, "
        "gray), given "
        "another one: place so, or lift the limit (link=none)"
    )


def _is_linear(placement: NDArray[np.int32]) -> bool:
    """Whether node(i) = node(0) XOR the sum of one constant for each bit of i."""
    rank = np.arange(placement.size, dtype=np.int32)
    expected = np.full(placement.size, placement[0])
    for bit in range(int(placement.size - 1).bit_length()):
        expected ^= ((rank >> bit) & 1) * (placement[1 << bit] ^ placement[0])
    return bool(np.array_equal(expected, placement))
