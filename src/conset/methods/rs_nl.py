"""rs-nl: randomised partial permutations, free of node and link contention (RS_NL).

Problem: as for rs-n, with a machine whose routes are fixed and whose links carry one message at a time.
Idea: as rs-n, but from row x take the first message whose target is free and whose path crosses no link that is
claimed in this phase; then claim its path. A node that already receives from y in this phase tries to send to y first:
exchanges are what machines with half-duplex nodes overlap.
Invariant: within a phase one message per send port and receive port, and at most `link` messages per unit of width on
every link.
Complexity: O(d · hops) for a node and phase at worst, O(messages + links) in memory. Means of 50 regular patterns on
the 6-cube: 7.0, 11.9, 20.9, 37.8, 54.6 phases at d = 4, 8, 16, 32, 48; no guarantee.
When to use it: as the text's reference on circuit-switched networks. `first-fit` needs no more phases on most of them.
Departures: PATHS is reset with every permutation; the text's Figure 4 resets it once, outside Repeat, so that links
would stay claimed for ever. The priority for exchanges is passive (x → y is tried when y → x is there already), the
reading that reproduces the text's counts; placing both at once changes the counts by less than 0.4. A link may be
asked to carry more than one message. The others are those of rs-n.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Section 5, Figure 4.
"""

from __future__ import annotations

from conset.methods.core import schedule_random
from conset.methods.domain import refuse_limits, require
from conset.methods.problem import Phases, Problem


def applies_rs_nl(problem: Problem) -> str | None:
    """Why this problem is outside of the domain, None where it is inside."""
    return refuse_limits(problem, "rs-nl", "send", "receive", "link")


def schedule_rs_nl(problem: Problem) -> Phases:
    """Random partial permutations of the nodes over free paths, exchanges first; keeps an order.

    Raises:
        InputError: a limit other than those of ports and links is to be kept.
    """
    require(applies_rs_nl(problem))
    return schedule_random(problem, exchanges=True)
