"""gen: in step i every rank sends i places up and receives from i places down, on any number of ranks.

Problem: a complete exchange on any number p of ranks in p - 1 steps.
Idea: in step i = 1 … p - 1 rank x sends to (x + i) mod p and receives from (x - i) mod p.
Invariant: x ↦ x + i mod p is a permutation: one send and one receive per rank and step.
Contention: on an r × c mesh max(min(j, c - j), V) messages on the busiest link of step i: see `thakur_contention`.
Complexity: O(messages) in time and memory; p - 1 steps, the fewest any schedule with one send per step has.
When to use it: any number of ranks, on machines where exchanges are not cheaper than other pairs of sends and
receives. On a ring of processes it is what MPI libraries do. `bounded` needs as many phases at contention ⌈n/4⌉, half
of what gen puts on a link.
Departures: the exact contention in place of the text's upper bound; steps without messages vanish.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.4, Figure 5.
"""

from __future__ import annotations

from conset.methods.domain import refuse_limits, refuse_order, refuse_shared_nodes, require
from conset.methods.problem import Phases, Problem


def applies_gen(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "gen")
        or refuse_shared_nodes(problem, "gen")
        or refuse_limits(problem, "gen", "send", "receive")
    )


def schedule_gen(problem: Problem) -> Phases:
    """Step (target - source) mod ranks of every message, empty steps left out.

    Raises:
        InputError: two ranks share a node, the pattern has an order, or links, channels or duplex are limited.
    """
    require(applies_gen(problem))
    pattern = problem.pattern
    return Phases.of((pattern.target - pattern.source) % pattern.ranks - 1)
