"""pex-gen-shift: pairwise exchange on any number of ranks; those that are missing are spread over all steps.

Problem: pex-gen crowds: where p is just above half of q = 2^⌈lg p⌉, nearly all ranks exchange in its first q/2 - 1
steps, few in the others.
Idea: rank x takes the virtual number v = x + ⌊(q - p)/2⌋, so the numbers that nobody has lie at both ends of 0 … q -
1; in step j = 1 … q - 1 v exchanges with v XOR j where somebody has that number.
Invariant: one send, one receive, one partner per rank and step.
Contention: no formula; it is counted. It exceeds pex's where pex-gen's does (see there).
Complexity: O(messages) in time and memory; at most q - 1 steps.
When to use it: as the text's reference, where exchanges are cheap and p is just below a power of two.
Departures: the text's pseudo-code takes the virtual number modulo p, which breaks the symmetry: partners disagree
about each other and ranks send to themselves. Its words and its example (20 ranks are numbered 6 to 25) need modulo
q, which never acts, as p - 1 + ⌊(q - p)/2⌋ < q. Steps without messages vanish.
Reference: Thakur, Choudhary, Fox: Complete exchange on a wormhole routed mesh (1993), section 3.3, Figures 3 and 4.
"""

from __future__ import annotations

import numpy as np

from conset.methods.domain import refuse_limits, refuse_order, refuse_shared_nodes, require
from conset.methods.problem import Phases, Problem


def applies_pex_gen_shift(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return (
        refuse_order(problem, "pex-gen-shift")
        or refuse_shared_nodes(problem, "pex-gen-shift")
        or refuse_limits(problem, "pex-gen-shift", "send", "receive", "duplex")
    )


def schedule_pex_gen_shift(problem: Problem) -> Phases:
    """Step (source + shift) XOR (target + shift) of every message, empty steps left out.

    Raises:
        InputError: two ranks share a node, the pattern has an order, or links or channels are limited.
    """
    require(applies_pex_gen_shift(problem))
    pattern = problem.pattern
    ranks = pattern.ranks
    shift = np.int32(((1 << (ranks - 1).bit_length()) - ranks) // 2)
    return Phases.of(((pattern.source + shift) ^ (pattern.target + shift)) - 1)
