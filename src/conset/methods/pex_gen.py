"""pex-gen: pairwise exchange with the XOR partner on any number of ranks; absent partners are skipped.

Problem: as for pex, with a number p of ranks that is no power of two.
Idea: the steps of the next power of two q: in step j = 1 … q - 1 rank x exchanges with x XOR j where that is below p.
Invariant: one send, one receive, one partner per rank and step.
Contention: no formula; it is counted. The text says it never exceeds that of pex; off powers of two it does: 9
against 8 on a 16×14 mesh, 18 against 16 on 16×30, in 62 of 255 and 266 of 511 steps. Where the number of columns is a
power of two it holds.
Complexity: O(messages) in time and memory; q - 1 steps, up to twice p - 1, with many ranks idle where p is just above
q/2.
When to use it: as the text's reference; `gen` takes p - 1 steps, `pex-gen-shift` spreads the idle ranks over all
steps.
Departures: steps without messages vanish.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.2, Figure 2.
"""

from __future__ import annotations

from conset.methods.domain import refuse_limits, refuse_order, refuse_shared_nodes, require
from conset.methods.problem import Phases, Problem


def applies_pex_gen(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "pex-gen")
        or refuse_shared_nodes(problem, "pex-gen")
        or refuse_limits(problem, "pex-gen", "send", "receive", "duplex")
    )


def schedule_pex_gen(problem: Problem) -> Phases:
    """Step source XOR target of every message, empty steps left out.

    Raises:
        InputError: two ranks share a node, the pattern has an order, or links or channels are limited.
    """
    require(applies_pex_gen(problem))
    pattern = problem.pattern
    return Phases.of((pattern.source ^ pattern.target) - 1)
