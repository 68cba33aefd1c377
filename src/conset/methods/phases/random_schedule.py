"""Randomised partial permutations of Wang and Ranka.

Rs-n (RS_N) free of node contention, rs-nl (RS_NL) of links' too.

Problem: cut a pattern in which a node has up to d messages into few phases with one send and one
receive per node, fast enough to do it at run time; rs-nl for a machine whose routes are fixed and
whose links carry one message at a time.
Idea: keep each node's unsent messages as a row in random order. For every phase start at a random
node x and go round: from row x take the first message whose target receives nothing yet in this
phase, and close the gap with the last message of the row. Random rows keep the expected number of
collisions bounded. rs-nl takes the first message whose path, too, crosses no link that is claimed
in this phase, and claims its path. Before that it looks in row x for a message that one in another
row answers, x → y and y → x, where both paths are free, and takes both: exchanges are what machines
with half-duplex nodes overlap.
Invariant: within a phase every row gives at most one message and every target takes at most one; of
rs-nl every link carries at most `link` messages per unit of width.
Complexity: rs-n expected O(d log d) per node, O(messages) in memory; rs-nl O(d · hops) for a node
and phase at worst, O(messages + links) in memory. No guarantee: about d + log₂ d phases of rs-n on
average where every node sends and receives d messages. Means of 50 regular patterns on 64 nodes
(the 6-cube) at d = 4, 8, 16, 32, 48: rs-n 5.9, 10.7, 19.3, 36.0, 52.2; rs-nl 7.0, 11.8, 20.6, 37.4,
54.6 (5 patterns), of whose messages 3, 9, 21, 46 and 70 % meet their exchange.
When to use them: as the text's reference, rs-nl on circuit-switched networks. `coloring` keeps the
limits of rs-n in exactly d phases and is as fast; `first-fit` needs no more phases than rs-nl on
most networks.
Departures: rows and ports are those of nodes, which may hold several ranks; messages inside a node
go along with the next phase; under an order a message enters its row, at a random place, when all
before it are in earlier phases. Of rs-nl: PATHS is reset with every permutation; the text's Figure
4 resets it once, outside Repeat, so that links would stay claimed for ever. "As many
pairwise exchanges as possible" is read as a search, both messages at once: a node that only answers
what it receives already meets 1 to 12 % and is up to 1.2 times slower (d = 48, 128 KiB, ready). A
link may be asked to carry more than one message.
Reference: Wang, Ranka: Scheduling of unstructured communication on the Intel iPSC/860, Section 4.2,
Figure 3, and Section 5, Figure 4.
Notation: Tsend, Trecv, CCOM and prt of the figures are the phases, `sender_to_`, `row_` and
`length_` of the core.
"""

from __future__ import annotations

from conset.methods.phases.core import schedule_random
from conset.methods.phases.problem import Phases, Problem


def schedule_rs_n(problem: Problem) -> Phases:
    """Random partial permutations of the nodes; keeps an order."""
    return schedule_random(problem, exchanges=False)


def schedule_rs_nl(problem: Problem) -> Phases:
    """Random partial permutations of the nodes over free paths, exchanges first; keeps an order."""
    return schedule_random(problem, exchanges=True)
