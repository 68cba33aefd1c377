"""pex: pairwise exchange with the partner whose number differs by XOR, on a power of two of ranks.

Problem: a complete exchange (or any part of one) in steps in which every rank exchanges with one partner.
Idea: in step i = 1 … p - 1 rank x exchanges with rank x XOR i. Links may contend: what the machine's excess bandwidth
carries at once need not be taken apart.
Invariant: x ↦ x XOR i is a permutation and its own inverse: one send, one receive, one partner per rank and step.
Contention: on a mesh 2^⌊lg max(i mod c, ⌊i/c⌋)⌋ messages on the busiest link of step i, at most half the longer side:
see `thakur_contention`. On a hypercube none; there `lp`, the same steps, also promises it.
Complexity: O(messages) in time and memory; p - 1 steps.
When to use it: dense patterns on a power of two of ranks where links have bandwidth to spare and exchanges are cheap.
`bounded` needs as many phases at contention ⌈n/4⌉, half of what pex puts on a link.
Departures: the floors in the contention formula, which the scan shows as ceilings; steps without messages vanish, so
a sparse pattern may take fewer.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.1, Figure 1.
"""

from __future__ import annotations

from conset.methods.domain import refuse_limits, refuse_order, refuse_shared_nodes, require
from conset.methods.problem import Phases, Problem


def applies_pex(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "pex")
        or refuse_shared_nodes(problem, "pex")
        or refuse_limits(problem, "pex", "send", "receive", "duplex")
        or _refuse_sides(problem)
    )


def schedule_pex(problem: Problem) -> Phases:
    """Step source XOR target of every message, empty steps left out.

    Raises:
        InputError: the ranks, or the sides of a mesh or torus, are no powers of two; two ranks share a node; the
            pattern has an order; links or channels are limited.
    """
    require(applies_pex(problem))
    pattern = problem.pattern
    return Phases.of((pattern.source ^ pattern.target) - 1)


def _refuse_sides(problem: Problem) -> str | None:
    topology = problem.machine.topology
    for side in topology.sides if topology.is_box else ():
        if side & (side - 1):
            return f"method pex requires sides that are powers of two, given {side}: pex-gen takes any"
    ranks = problem.pattern.ranks
    if ranks & (ranks - 1):
        return f"method pex requires a power of two of ranks, given {ranks}: pex-gen takes any"
    return None
